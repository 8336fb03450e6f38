#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# charon is killed under load, and SAs and policies are removed from the kernel: nothing leaves
# in the clear, nobody gets more than the grant, and traffic comes back by itself.
# vm-cost: 120
# vm-needs: strongswan
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-back-$$
# shellcheck source=../harness/tap.sh
. "$BWL_SOURCE/tests/harness/tap.sh"
# shellcheck source=lib/kills.sh
. "$BWL_SOURCE/tests/vm/lib/kills.sh"

MESH_IPSEC='ca: bwlimit.pem, dpd: 2s' # nothing is rekeyed by time
kills_begin
kills 5
spis() { tr -s '[:space:]"' '\n' | grep -E '^(0x)?[0-9a-f]{8}$' | sed 's/^0x//' | sort -u; }
unknown() { # tray: SPIs of the kernel's SAs that its charon does not have
	comm -23 <(in_ns "dpu$1" ip xfrm state | grep -o ' spi 0x[0-9a-f]*' | spis) \
		<("$VICI" --event list-sa "$(charon_socket "$1")" list-sas | jq -r '.. | ."spi-in"?, ."spi-out"? | strings' | spis)
}
none_unknown() { [[ $(mesh_states "$1") -gt 0 && -z $(unknown "$1") ]]; }
for n in 1 2; do
	note "tray $n: $(mesh_states $n) SAs, of which its charon does not know $(unknown $n | wc -l)"
	check "tray $n gets rid of the SAs that killed charons left" lab_wait_for 60 none_unknown $n
	check "and says so" lab_wait_for 10 \
		jq -se --arg p tray-$((3 - n)) 'any(.event == "removed" and .peer == $p)' "$LAB_TMP/keep$n"
done
in_ns dpu1 ip xfrm state flush
check "with its SAs flushed behind everybody's back a tray gets new ones" passes 10.0.2.2
in_ns dpu1 ip xfrm policy flush
check "and with its policies flushed" passes 10.0.2.2
kills_end
