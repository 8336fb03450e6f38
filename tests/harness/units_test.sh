#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The units have few rights, as far as systemd-analyze can measure it. vm-testbed/install starts them.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tap.sh
. "$here/tap.sh"
units=${BWL_BUILD:-$here/../../build/release}/packaging

command -v systemd-analyze >/dev/null || {
	skip "units have an exposure of at most 2.0" "no systemd-analyze"
	done_testing
	exit 0
}
exposure() { # unit file
	systemd-analyze security --offline=yes "$1" 2>/dev/null |
		sed -n 's/.*exposure level for .*: \([0-9.]*\) .*/\1/p'
}
# The score is 2.1 with a device and without ProtectClock=. ProtectClock= would keep units from asking whether the clock is synchronised.
narrow() { # unit [most]
	local is
	is=$(exposure "$1")
	note "$(basename "$1"): ${is:-unknown}"
	[[ -n $is ]] && awk -v is="$is" -v most="${2:-2.0}" 'BEGIN { exit !(is <= most) }'
}
answers() { ! grep -q 'SystemCallFilter=~.*@privileged' "$1" || grep -qx SystemCallErrorNumber=EPERM "$1"; }
for unit in "$units"/*.service; do
	check "$(basename "$unit") has an exposure of at most 2.0" narrow "$unit"
	# A filter that kills would end a program that can go on without the call: SQLite's fchown.
	check "$(basename "$unit") answers a privileged call with an error, if at all" answers "$unit"
done
# Otherwise adjtimex(2) fails, and no clock is synchronised: no `until:`, no signed time.
asks() { # unit
	! grep -q '^ProtectClock=yes' "$units/$1.service" && grep -q '^SystemCallFilter=adjtimex clock_adjtime$' "$units/$1.service" &&
		grep -q '^CapabilityBoundingSet=' "$units/$1.service" && ! grep -q '^[^#]*CAP_SYS_TIME' "$units/$1.service"
}
for unit in bwlimit bwlimitd bwlimit-controller; do
	check "$unit.service may ask whether the clock is synchronised, and set none" asks $unit
done
with_tpm() { # unit: it stays narrow with its drop-in for a TPM
	cat "$units/$1.service" "$here/../../packaging/examples/$1-tpm.conf" >"$tmp/$1.service"
	narrow "$tmp/$1.service" 2.1
}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
check "bwlimitd.service with the drop-in for a TPM as well" with_tpm bwlimitd
check "bwlimit.service too" with_tpm bwlimit
done_testing
