#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# DCTCP under mode mark: how much of the limit it gets, and what is dropped; with fq, and without.
# The round trip is 0.28 ms: two packets in each, the least that TCP sends, exceed the limit, so marks
# alone cannot hold it; without fq the limiter has to drop.
# vm-cost: 250
# leak: marks of TCP; 11_pacing has its way
# vm-icount: yes
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-dctcp-$$ TRAY_LEAK_WATCH=no
TRAY_MTU=9000
for part in tests/harness/tap vm-testbed/topo/trays vm-testbed/topo/manual_sa tests/vm/lib/pacing; do
	# shellcheck source=/dev/null
	. "$BWL_SOURCE/$part.sh"
done
marked() { # label
	check "mark at $rate Mbit/s" pacing_limits $rate mark
	for flows in 1 8; do
		check "DCTCP runs under mark" pacing_limited "mark $1, DCTCP" $flows
		note "  $(jq -n "$refused / $seen * 100") % dropped"
		[[ $1 == "with fq" ]] || continue
		check "mark, DCTCP, $flows flow(s), $rate Mbit/s: 90 % of the limit or more" at_least "$share" 0.9
		check "and never more than all of it" at_least 1.005 "$share"
		check "and under 0.1 % are dropped" test $((refused * 1000)) -lt "$seen"
	done
}

pacing_up 100us --pace || exit 1
modprobe tcp_dctcp
# Namespaces other than the first may choose only from this list.
sysctl -q -w net.ipv4.tcp_allowed_congestion_control="reno cubic dctcp"
check "the hosts speak DCTCP" pacing_hosts net.ipv4.tcp_ecn=1 net.ipv4.tcp_congestion_control=dctcp
for rate in 20 50; do marked "with fq"; done
# Here more is dropped than the goal allows: bench/README.md.
check "the hosts' cables delay by 2 ms" pacing_cables 2ms
marked "with fq, cables of 2 ms"
check "the hosts' cables delay by 100 us" pacing_cables 100us
for n in 1 2; do
	tc -n "$LAB-dpu$n" qdisc replace dev p0 root pfifo
	check "tray $n attaches again, without fq" tray_attach $n --tunnel bwl0
done
check "and says what becomes of mark" sh -c "BWLIMIT_PIN_DIR=$LAB_PINS/tray1 '$CTL' peer show tray-2 | grep -q 'mark (then drops: no fq on an uplink)'"
rate=20
marked "without fq"
done_testing
