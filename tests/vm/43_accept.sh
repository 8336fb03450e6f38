#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Both sides (promise 8): a receiver with the default `accept`, the grant + 0.1 % and 5 ms of burst,
# refuses nothing that a sender within its grant lets out, in any mode; timed by the clock of
# instructions, because milliseconds matter. SAs are made by hand, without charon.
# vm-cost: 140
# vm-icount: yes
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-acc-$$
for part in tests/harness/tap vm-testbed/topo/trays vm-testbed/topo/manual_sa; do
	# shellcheck source=/dev/null
	. "$BWL_SOURCE/$part.sh"
done

# A short horizon: when an emulated guest pauses, all packets that waited in fq leave at once.
policy() { # own number, other number, mode
	cat <<-END
	version: 1
	node: tray-$1
	uplinks: [p0]
	host_ports: [{ dev: pf0hpf, sources: [10.0.$1.0/24, "fd00:$1::/64"] }]
	heartbeat: none
	horizon: 10ms
	peers:
	  - { name: tray-$2, addresses: [10.0.$2.0/24, "fd00:$2::/64"], ipsec: { remote: 192.0.2.$2 },
	      grant: { rate: 8mbit, mode: $3 } }
	END
}
frames() { # tray port reason
	tray_ctl "$1" --json reasons |
		jq "[.reasons[] | select((.port + (if .hook == \"gate\" then \" out\" else \"\" end)) == \"$2\" and .reason == \"$3\") | .frames] | add // 0"
}
# Twice the grant: so tray 1 lets out exactly what it may, with no gaps.
udp() { # ip4|ip6 source destination
	in_ns host1 "$FRAMES" send h0 --gw "$(tray_mac 1 2)" --seconds 2 --pps 2000 \
		<<<"eth $1 src=$2 dst=$3 udp dport=9 fill=958" >/dev/null
}
tcp() {
	in_ns host2 iperf3 -s -1 -D >/dev/null
	in_ns host1 timeout 60 iperf3 -c 10.0.2.2 -t 3 -J >/dev/null
}
nothing_refused() { # what command…
	local kept refused passed
	kept=$(frames 1 pf0hpf peer-rate) refused=$(frames 2 bwl0 accept-rate) passed=$(frames 2 bwl0 pass-accept)
	"${@:2}"
	kept=$(($(frames 1 pf0hpf peer-rate) - kept)) refused=$(($(frames 2 bwl0 accept-rate) - refused))
	passed=$(($(frames 2 bwl0 pass-accept) - passed))
	note "$1: $kept refused by tray 1; by tray 2 $passed accepted, $refused refused"
	[[ $refused -eq 0 && $passed -gt 0 ]]
}

trays_up 2 || exit 1
for n in 1 2; do
	tray_attach $n --tunnel bwl0 --pace
	check "tray $n takes a policy" tray_apply $n < <(policy $n $((3 - n)) police)
done
sa_pair 1 2
sa_usable 1 "$(sa_if_id 1 tray-2)" 3
sa_usable 2 "$(sa_if_id 2 tray-1)" 3
in_ns host1 ping -q -c 2 -W 2 10.0.2.2 >/dev/null
in_ns host1 ping -q -c 2 -W 2 fd00:2::2 >/dev/null
for mode in police shape; do
	tray_apply 1 < <(policy 1 2 $mode)
	check "$mode: UDP in IPv4 at twice the grant" nothing_refused "UDP, IPv4" udp ip4 10.0.1.2 10.0.2.2
	check "$mode: UDP in IPv6" nothing_refused "UDP, IPv6" udp ip6 fd00:1::2 fd00:2::2
	check "$mode: TCP" nothing_refused TCP tcp
done
leak_end
done_testing
