#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The units of the daemons are as narrow as systemd-analyze can tell.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tap.sh
. "$here/tap.sh"
units=${BWL_BUILD:-$here/../../build/release}/packaging

command -v systemd-analyze >/dev/null || {
	skip "daemons have an exposure of at most 2.0" "no systemd-analyze"
	done_testing
	exit 0
}
exposure() { # unit file
	systemd-analyze security --offline=yes "$1" 2>/dev/null |
		sed -n 's/.*exposure level for .*: \([0-9.]*\) .*/\1/p'
}
narrow() {
	local is
	is=$(exposure "$1")
	note "$(basename "$1"): ${is:-unknown}"
	[[ -n $is ]] && awk -v is="$is" 'BEGIN { exit !(is <= 2.0) }'
}
for unit in bwlimitd bwlimit-ipsec bwlimit-charon; do
	check "$unit.service has an exposure of at most 2.0" narrow "$units/$unit.service"
done
done_testing
