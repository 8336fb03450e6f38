#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The lab itself, without bwlimit: what the other tests take for granted.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB=bwl-labtest-$$ LAB_HOSTS=2 LAB_UPLINKS=2 LAB_MGMT=1 LAB_DESTS=4
# shellcheck source=tap.sh
. "$here/tap.sh"
# shellcheck source=lab.sh
. "$here/lab.sh"
lab_up || exit 1

pings() { in_host ping -c 1 -W 2 "$1" >/dev/null; }
refute "the DPU forwards nothing by itself" pings "$(lab_dest4 1)"
lab_sysctl dpu net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
ip_in dpu route add default via $LAB_VIA4
ip_in dpu -6 route add default via $LAB_VIA6
for i in 1 2 3 4; do
	check "destination $i answers over IPv4 when the DPU forwards" pings "$(lab_dest4 "$i")"
	check "destination $i answers over IPv6 when the DPU forwards" pings "$(lab_dest6 "$i")"
done
check "a destination answers on any address of its /64" pings fd00:102::dead:beef

lab_bg count d1 "$FRAMES" count eth0
counter=$LAB_PID
lab_wait_for 5 grep -q ready "$LAB_TMP/count"
read -r before _ < <(lab_rx d1 eth0)
thief --count 1000 >"$LAB_TMP/sent" <<END
eth ip4 src=$HOST4 dst=$(lab_dest4 1) udp dport=9 fill=100
eth ip6 src=$HOST6 dst=fd00:101::/64 udp dport=9 fill=100
END
sleep 0.3
lab_stop "$counter"
read -r after _ < <(lab_rx d1 eth0)
check "a thousand frames are sent" grep -q '^sent 1000 bytes 152000 refused 0' "$LAB_TMP/sent"
check "the counter sees the IPv4 half at one address" \
	grep -q "^0800 $(lab_dest4 1) $HOST4 500 71000$" "$LAB_TMP/count"
check "the counter sees the IPv6 half at 500 addresses" \
	[ "$(grep -c '^86dd fd00:101:' "$LAB_TMP/count")" -eq 500 ]
check "the interface counted as many bytes as the frames had" [ $((after - before)) -ge 152000 ]

lab_bg listen dpu "$FRAMES" listen 9
listener=$LAB_PID
lab_wait_for 5 grep -q ready "$LAB_TMP/listen"
thief >/dev/null <<END
eth ip4 src=$HOST4 dst=10.7.0.1 udp dport=9 fill=10
eth ip6 src=$HOST6 dst=fd00:7:0::1 udp dport=9 fill=10
eth ip4 src=$HOST4 dst=10.7.0.1 icmp fill=10
END
sleep 0.2
lab_stop "$listener"
check "the DPU's sockets would hear the host" grep -q 'udp 1 tcp 0 icmp 1' "$LAB_TMP/listen"

read -r _ before < <(lab_rx dpu hpf0)
in_host "$FLOOD" h0 0.5 "$(lab_mac dpu hpf0)" \
	"eth ip4 src=$HOST4 dst=10.99.0.1 udp fill=22" >"$LAB_TMP/flood"
read -r _ after < <(lab_rx dpu hpf0)
note "flood: $(cat "$LAB_TMP/flood"), arrived $((after - before))"
check "a flood of live frames arrives at the host port" [ $((after - before)) -ge 50000 ]

lab_iperf_server d2 5201
in_host timeout 20 iperf3 -c "$(lab_dest4 2)" -t 1 >/dev/null &
client=$!
read -r bytes frames ns < <(in_ns d2 "$FRAMES" sample eth0 0.8 --from-first)
wait $client
note "TCP: $bytes bytes, $frames frames, $ns ns"
check "TCP with GSO on arrives as frames of at most 1514 bytes" \
	[ $((bytes / frames)) -le 1514 ]
check "and mostly as full ones" [ $((bytes / frames)) -ge 1000 ]
done_testing
