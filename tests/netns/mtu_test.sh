#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A host with jumbo frames behind an uplink without them: pings and TCP, IPv4 and IPv6, with hosts that obey
# to "too big" and with one that does not. The DPU has no route to the host.
set -uo pipefail
LAB=bwl-mtu-$$ LAB_MTU=9000 LAB_DESTS=1
. "$(dirname "$0")/../harness/tap.sh"
. "$(dirname "$0")/../harness/lab.sh"

policy() { # applied for the MTU that the uplink has now
	lab_attach && lab_policy_head < <(echo peers:; lab_peer far 1 'grant: { rate: 1gbit }') | lab_apply
}
uplink_mtu() { ip_in dpu link set p0 mtu "$1" && policy; }
big_ping() { # payload destination
	in_host ping -q -M do -c 2 -i 0.2 -W 1 -s "$1" "$2" >"$LAB_TMP/ping" 2>&1
}
told() { grep -q "mtu=$1\|mtu = $1\|too big: mtu=$1" "$LAB_TMP/ping" || in_host ip route get "$2" | grep_all "mtu $1"; }
forget() { # paths' MTUs
	in_host sh -c 'ip route flush cache; ip -6 route flush cache' 2>/dev/null
}
tcp() { # destination [options of iperf3…]: half of 100 MB at least arrives before the client ends
	# When the client has handed over everything, up to 12 MB are still on their way and not counted. The server opens
	# another socket after each client: who comes before that is refused, and comes again.
	local end=$((SECONDS + 180))
	while
		timeout 600 nsenter --net="/run/netns/$LAB-host" iperf3 -c "$1" -n 100M -J "${@:2}" >"$LAB_TMP/tcp" 2>&1
		jq -e .error "$LAB_TMP/tcp" >/dev/null 2>&1 && [[ $SECONDS -lt $end ]]
	do sleep 0.2; done
	note "$1: $(jq -c '.end | [.sum_received.bytes, .sum_received.seconds, .sum_sent.retransmits]' "$LAB_TMP/tcp")"
	jq -e '.end.sum_received.bytes > 50000000' "$LAB_TMP/tcp" >/dev/null
}
too_big() {
	in_dpu "$CTL" --json reasons | jq '[.reasons[] | select(.reason == "too-big") | .frames] | add // 0'
}
grows() { # command…: while it runs too-big is counted
	local was
	was=$(too_big)
	"$@" && [[ $(too_big) -gt $was ]]
}
# A flow that has begun before the uplink gets a smaller MTU; it waits while the port is attached again, and
# retransmits when TCP's timer expires: the longer the wait was, the later.
begun() { # destination, bytes before: a client that was refused comes again
	kill -0 "$LAB_PID" 2>/dev/null || lab_bg shrink host iperf3 -c "$1" -t 200 -J
	has_come 1000000 "$2"
}
shrinks() { # destination MTU
	local before
	before=$(come)
	lab_bg shrink host iperf3 -c "$1" -t 200 -J
	lab_wait_for 10 begun "$1" "$before"
	uplink_mtu "$2" || return
	lab_wait_for 60 has_come 1000000 "$(come)"
	local rc=$?
	lab_stop "$LAB_PID"
	note "$1: $(jq -c '[.intervals[].sum.bits_per_second / 1e6 | round]' "$LAB_TMP/shrink") Mbit/s in each second"
	return $rc
}
come() { lab_rx d1 eth0 | cut -d' ' -f1; }
has_come() { [[ $(come) -gt $(($1 + $2)) ]]; } # bytes, since there were

lab_up || exit 1
V4=$(lab_dest4 1) V6=$(lab_dest6 1)
check "the uplink has 1500, everything else 9000" uplink_mtu 1500
ip_in dpu addr flush dev hpf0
for a in 10.7.0.1 fd00:7::1; do ip_in host neigh replace $a lladdr "$(lab_mac dpu hpf0)" dev h0 nud permanent; done
for a in $HOST4 fd00:7::2; do ip_in dpu neigh replace $a lladdr "$(lab_mac host h0)" dev hpf0 nud permanent; done
lab_iperf_server d1 5201
refute "a ping of 9000 bytes does not pass" big_ping 8972 "$V4"
check "its host was told of 1500" told 1500 "$V4"
refute "nor does one of IPv6" big_ping 8952 "$V6"
check "whose host was told as well" told 1500 "$V6"
check "a ping of 1500 bytes passes" big_ping 1472 "$V4"
check "TCP over IPv4 passes" tcp "$V4"
check "TCP over IPv6 passes" tcp "$V6"
check "TCP passes the other way" tcp "$V4" -R

check "a flow that has begun goes on when the uplink shrinks to 1400" grows shrinks "$V4" 1400
check "and one of IPv6, to 1350" grows shrinks "$V6" 1350

in_host nft -f - <<'END'
table inet deaf {
	chain in {
		type filter hook input priority 0;
		icmp type destination-unreachable drop
		icmpv6 type packet-too-big drop
	}
}
END
forget
check "a host that does not listen has its TCP all the same" tcp "$V4"
check "with IPv6 too" tcp "$V6"
in_host ethtool -K h0 tso off gso off >/dev/null
check "and without GSO" tcp "$V4"
done_testing
