#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Both ends of a pair, each a DPU with its own maps, recorder and audit log: what one reports as sent is what the
# other reports as arrived, to the byte, less what was refused on arrival and what a router between them counted as
# dropped. In the clear: tests/vm/59_both_ends.sh has ESP between them.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-ends-$$ LAB_DESTS=0
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
# shellcheck source=../harness/ends.sh
. "$here/ends.sh"
lab_up || exit 1
# The second DPU is behind the router, as destinations are: host2 ── hpf0 dpu2 p0 ── n9 net.
EAST_PINS=/sys/fs/bpf/$LAB-east
trap 'lab_down; rm -rf "$EAST_PINS"' EXIT
lab_ns dpu2
lab_sysctl dpu2 net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=0
lab_veth net n9 dpu2 p0 && lab_addr net n9 172.16.9.1/24 && lab_addr dpu2 p0 172.16.9.2/24
lab_ns host2
lab_veth host2 h0 dpu2 hpf0 && lab_addr host2 h0 10.8.0.2/24 && lab_addr dpu2 hpf0 10.8.0.1/24
ip_in host2 route add default via 10.8.0.1
ip_in net route add 10.8.0.0/24 via 172.16.9.2
in_ns net ethtool -K n9 tso off gso off tx-udp-segmentation off >/dev/null
in_ns net ethtool -K s0 tso off gso off tx-udp-segmentation off >/dev/null

west() { in_dpu "$@"; }
east() { BWLIMIT_PIN_DIR=$EAST_PINS in_ns dpu2 "$@"; }
policy() { # sources peer addresses via accept
	LAB_SOURCES=("$1")
	printf 'peers:\n  - { name: %s, addresses: [%s], path: clear, via: %s, grant: { rate: 1gbit, burst: 8mb }, accept: { %s } }\n' \
		"$2" "$3" "$4" "$5" | lab_policy_head
}
# East accepts at most 1 MB at once, west everything.
policy 10.7.0.0/24 east 10.8.0.0/24 $LAB_VIA4 'rate: 1gbit, burst: 8mb' >"$LAB_TMP/west.yaml"
policy 10.8.0.0/24 west 10.7.0.0/24 172.16.9.1 'rate: 8mbit, burst: 1mb' >"$LAB_TMP/east.yaml"
ends_up --host hpf0 --uplink p0 || exit 1

# On the way UDP to 5999 is dropped and counted: as frames, because that is what DPUs charge.
in_ns net nft -f - <<'RULES'
table ip way {
	counter dropped { }
	chain forward { type filter hook forward priority 0; udp dport 5999 counter name dropped drop; }
}
RULES
dropped() { in_ns net nft -j list counter ip way dropped | jq '.nftables[] | .counter? // empty | .bytes + 14 * .packets'; }
check "control: a ping from end to end" lab_wait_for 30 in_host ping -c1 -W1 -q 10.8.0.2
in_host ping -c20 -i0.02 -q -s 700 10.8.0.2 >/dev/null
lab_iperf_server host2 5201
check "control: 400 kB by TCP" lab_iperf 60 "$LAB_TMP/iperf" host -c 10.8.0.2 -n 400K
ends_blast host 10.8.0.2 5999 50
ends_blast host 10.8.0.2 5998 4000
LIVE_FAMILIES=4
live_path() { echo host h0 "$(lab_mac dpu hpf0)" host2 h0 $HOST4 10.8.0.2; } # in place of live.sh's
live "the flood above what east accepts has ended"
# What TCP sends now is mostly refused: GRO at east merges its segments first.
lab_iperf 4 "$LAB_TMP/iperf.merged" host -c 10.8.0.2 -t 2
ends_stop
check "control: the router has dropped 50 frames" test "$(dropped)" -eq $((50 * 1042))

check "west opens what it sent to east" ends_open west east
check "east opens what it got from west" ends_open east west
check "of what west sent the router's drops alone are unexplained" test "$(ends_reconcile west east '[.ok, .unexplained_bytes]')" == "[true,$(dropped)]"
note "$(jq -c . "$LAB_TMP/said")"
check "much of it was refused on arrival, and not all" test "$(jq '.refused_on_arrival_bytes > 500000 and .arrived_bytes > 500000' "$LAB_TMP/said")" == true
check "with the router's count nothing is" test "$(ends_reconcile west east '[.ok, .unexplained_bytes, .known_cause_bytes]' --cause "router=$(dropped)b")" == "[true,0,$(dropped)]"
check "and what came back arrived, to the byte" test "$(ends_reconcile east west '[.ok, .sent_bytes == .arrived_bytes, .sent_bytes > 10000, .unexplained_bytes]')" == '[true,true,true,0]'
ends_checks_counters east west
done_testing
