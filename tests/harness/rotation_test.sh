#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Which VM test a commit draws (vm-testbed/rotation).
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tap.sh
. "$here/tap.sh"
rotation() { "$here/../../vm-testbed/rotation" "$@"; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

rotation --all >"$tmp/all"
n=$(wc -l <"$tmp/all")
for ((i = 0; i < n; i++)); do rotation "$(printf %08x $((i + 0xfedcba00)))0123"; done >"$tmp/drawn"
note "$n tests"
check "of so many hashes in a row each draws another test" cmp <(sort "$tmp/drawn") <(sort "$tmp/all")
check "the same commit draws the same" [ "$(rotation 804b6960)" = "$(rotation 804b6960ffff)" ]
refute "what is no hash is refused" rotation HEAD 2>"$tmp/err"
check "and told" grep -q 'HEAD is no hash' "$tmp/err"
# What ./run-tests runs anyway, or what another boot is for.
for t in 00_guest 40_mesh 25_strongswan6 45_charon_kills 47_power_cut 92_esp_cost; do
	refute "$t is not drawn from" grep -qx $t "$tmp/all"
done
for t in 20_strongswan 51_rdma 57_quiet; do check "$t is" grep -qx $t "$tmp/all"; done
done_testing
