#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Neighbours, with a real kernel at the host: what an honest one needs works, including duplicate address
# detection; and nobody, at the host or on the wire, can fill the DPU's table so that its management port
# stops working, or make its kernel answer what it was sent.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-neigh-$$ LAB_DESTS=1 LAB_MGMT=1 LAB_SOURCES=('10.7.0.0/16, "fd00:7::/64"')
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
lab_up && lab_attach || exit 1
{
	echo "peers:"
	lab_peer sink 1 "grant: { rate: 100mbit, burst: 10mb }, accept: { rate: 100mbit, burst: 10mb }"
} | lab_policy_head | lab_apply || exit 1

frames() { # namespace device MAC what n
	in_ns "$1" python3 "$here/neighbours.py" "${@:2}"
}
reason() { # name: frames of it at hpf0
	in_dpu "$CTL" reasons --port hpf0 --all | awk -v r="$1" '$2 == r { n += $4 } END { printf "%.0f", n }'
}
fresh_host() { # as a host that boots: every address is asked for first
	ip_in host link set h0 down
	lab_sysctl host net.ipv6.conf.h0.accept_dad=1 net.ipv6.conf.h0.dad_transmits=1 \
		net.ipv6.conf.h0.router_solicitations=1 net.ipv6.conf.h0.router_solicitation_delay=0
	[[ -z ${1:-} ]] || ip_in host link set h0 address "$1"
	ip_in host link set h0 up
	ip_in host -6 addr replace fd00:7:0::2/64 dev h0
	ip_in host -6 route replace default via fd00:7:0::1
	ip_in host route replace default via 10.7.0.1
	lab_wait_for 30 settled host h0
}
settled() { ! ip_in "$1" -6 addr show dev "$2" tentative | grep_all inet6; }
owns() { ip_in host -6 addr show dev h0 | grep 'fd00:7::2/64 scope global' | grep_all -v -e tentative -e dadfailed; }
own_again() {
	lab_wait_for 30 owns && return
	ip_in host -6 addr show dev h0 | sed 's/^/# /'
	return 1
}
known() { # namespace device address: resolved by asking
	ip_in "$1" neigh show "$3" dev "$2" | grep_all lladdr
}
asked_anew() { # namespace device address
	ip_in "$1" neigh flush dev "$2" >/dev/null
	in_ns "$1" ping -c 1 -W 1 -I "$2" "$3" >/dev/null 2>&1
	lab_wait_for 5 known "$1" "$2" "$3"
}
confirmed() { ip_in "$1" neigh show "$3" dev "$2" | grep_all REACHABLE; }
probed() { # namespace device address: the unicast question is answered
	local mac
	mac=$(ip_in "$1" neigh show "$3" dev "$2" | sed -n 's/.*lladdr \([0-9a-f:]*\).*/\1/p')
	ip_in "$1" neigh replace "$3" lladdr "$mac" dev "$2" nud probe
	lab_wait_for 5 confirmed "$1" "$2" "$3"
}
reached() { in_ns d1 ping -q -c 3 -i 0.2 -W 2 -I "$1" "$2" | grep_all ' 3 received'; }

fresh_host
gw=$(lab_link_local dpu hpf0)
check "a host has its addresses, with duplicate address detection on" own_again
check "and the DPU has kept its own" settled dpu hpf0
check "the host finds its gateway: IPv4" asked_anew host h0 10.7.0.1
check "IPv6, global" asked_anew host h0 fd00:7::1
check "IPv6, link-local" asked_anew host h0 "$gw"
for a in 10.7.0.1 fd00:7::1 "$gw"; do
	asked_anew host h0 "$a"
	check "and is told that $a is still there, when it asks that alone" probed host h0 "$a"
done
check "a packet from a peer finds the host: IPv4" reached 10.101.0.9 10.7.0.2
check "and IPv6" reached fd00:101::9 fd00:7::2
check "the DPU is told that the host is still there: IPv4" probed dpu hpf0 10.7.0.2
check "and IPv6" probed dpu hpf0 fd00:7::2
fresh_host 02:aa:bb:cc:dd:ee
check "the host is restarted with another MAC, and has its addresses" own_again
ip_in host neigh flush dev h0
in_host ping -c 1 -W 1 10.7.0.1 >/dev/null 2>&1
in_host ping -c 1 -W 1 fd00:7::1 >/dev/null 2>&1
check "it is found there: IPv4" lab_wait_for 30 reached 10.101.0.9 10.7.0.2
check "and IPv6" lab_wait_for 30 reached fd00:101::9 fd00:7::2
check "nothing that it said to its link counted as a forgery" [ "$(reason source-address)" = 0 ]
check "and it did say something" [ "$(reason local-protocol)" -gt 0 ]

# In each table: a port's share is 128, with 32 that were asked for in 4 s, which stay as failed until room is
# needed. From 512 (gc_thresh2) on the kernel would push others out.
few() { [[ $(entries 10.) -lt 512 && $(entries fd00) -lt 512 ]]; }
entries() { ip_in dpu neigh show dev hpf0 nud all | grep -c "^$1"; }
managed() { # sentence: 20 of 20 pings each, with the management's entry to be learnt again
	local a
	for a in 10.250.0.2 fd00:250::2; do
		ip_in dpu neigh flush dev mgmt0
		check "$1: 20 of 20 pings of $a" \
			eval 'in_dpu ping -q -c 20 -i 0.05 -W 2 '"$a"' | grep_all " 20 received"'
	done
}
frames host h0 "$(lab_mac dpu hpf0)" ask 2000
note "after 2000 sources each: $(entries 10.) and $(entries fd00) entries, $(reason neighbour-sources) refused"
check "2000 sources of the host's prefix push nothing out of either table" few
check "and they did come" eval '[[ $(entries 10.) -gt 60 && $(entries fd00) -gt 60 ]]'
managed "meanwhile"
frames net s0 "$(lab_mac dpu p0)" to 1000
note "after 1000 destinations each: $(entries 10.) and $(entries fd00) entries"
check "nor do 1000 destinations that do not exist" few
managed "meanwhile"
live "the floods of neighbours, of the host and of the wire, have ended"

errors() { in_dpu nstat -asz Icmp6OutDestUnreachs | awk '$1 == "Icmp6OutDestUnreachs" { print $2 }'; }
ip_in dpu -6 route add unreachable fd00:dead::/32
was=$(errors)
in_ns mgmt "$FRAMES" send eth0 --gw "$(lab_mac dpu mgmt0)" >/dev/null \
	<<<"eth ip6 src=fd00:250::2 dst=fd00:250::1 udp dport=99 fill=64"
more_errors() { [[ $(errors) -gt $was ]]; }
check "the kernel says what it cannot deliver where it may, and counts it" lab_wait_for 30 more_errors
was=$(errors) went_up=$(reason pass-neighbour)
sleep 1
frames host h0 "$(lab_mac dpu hpf0)" lost 50
lab_settle
note "$(($(reason pass-neighbour) - went_up)) went up, $(($(errors) - was)) errors were made"
check "solicitations to an address that the DPU has no way to go up" \
	[ $(($(reason pass-neighbour) - went_up)) -ge 40 ]
check "and its kernel says nothing about them" [ "$(errors)" = "$was" ]
done_testing
