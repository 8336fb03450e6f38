#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A port that is created after the attach, with addresses and up, like a hypervisor's VF.
set -uo pipefail
LAB_DESTS=2
# shellcheck source=thief.sh
. "$(dirname "${BASH_SOURCE[0]}")/thief.sh"
attacks 1 "ports that appear later start closed"
thief_lab
uncovered() { lab_verify_finds 'device hpf9 is up but neither'; }
lab_bg guard dpu "$LOAD" guard
guard=$LAB_PID

lab_ns host9
lab_veth host9 h0 dpu hpf9
lab_addr host9 h0 10.7.0.9/24 fd00:7:9::2/64
lab_addr dpu hpf9 10.9.9.1/24 fd00:9:9::1/64
in_host9() { in_ns host9 "$@"; }
is_down() { ! lab_is_up hpf9; }
check "the new port is taken down" lab_wait_for 3 is_down

judges_on
for _ in 1 2 3; do # it is set up again and again
	ip_in dpu link set hpf9 up
	in_host9 "$FRAMES" send h0 --gw "$(lab_mac dpu hpf9)" --count 300 --pps 3000 >"$LAB_TMP/sent" <<-END
	eth ip4 src=10.7.0.9 dst=$A4 udp fill=500
	eth ip4 src=$HOST4 dst=$A4 udp fill=500
	eth ip6 src=$HOST6 dst=$A6 udp fill=500
	eth dst=$(lab_mac dpu p0) ip4 src=$HOST4 dst=$A4 udp fill=500
	eth dst=$(lab_mac net s0) ip4 src=$HOST4 dst=$A4 udp fill=500
	eth ip4 src=$HOST4 dst=$HOST4 udp fill=500
	eth type=0x88b5 fill=500
	eth ip4 src=10.7.0.9 dst=10.250.0.2 udp fill=500
	eth ip6 src=fd00:7:9::2 dst=fd00:250::2 udp fill=500
	eth ip4 src=$X4 dst=10.9.9.1 icmp fill=500
	eth ip6 src=$X6 dst=fd00:9:9::1 icmp kind=128 fill=500
	eth ip4 src=10.7.0.9 dst=10.9.9.1 udp dport=9 fill=500
	eth ip6 src=fd00:7:9::2 dst=fd00:9:9::1 udp dport=9 fill=500
	eth ip4 src=10.7.0.9 dst=10.9.9.1 tcp sport=40001 dport=9 flags=2 fill=500
	eth ip6 src=fd00:7:9::2 dst=fd00:9:9::1 tcp sport=40001 dport=9 flags=2 fill=500
	END
done
judges_off
nothing_leaves "nothing from it leaves by any device"
no_socket_heard "nor reaches a socket of the DPU"
check "it is down again" lab_wait_for 3 is_down
refute "and verify has nothing against it" uncovered

# Without the guard it may be up: then verify reports it, and still nothing leaves.
lab_stop "$guard"
ip_in dpu link set hpf9 up
check "verify reports a port that nobody covers" uncovered
judges_on
in_host9 "$FRAMES" send h0 --gw "$(lab_mac dpu hpf9)" --count 1000 --pps 3000 >"$LAB_TMP/sent" <<END
eth ip4 src=$HOST4 dst=$A4 udp fill=500
eth ip6 src=$HOST6 dst=$A6 udp fill=500
eth ip4 src=10.7.0.9 dst=192.0.2.254 udp fill=500
eth ip6 src=fd00:7:9::2 dst=2001:db8::fe udp fill=500
eth ip4 src=10.7.0.9 dst=10.250.0.2 udp fill=500
eth ip6 src=fd00:7:9::2 dst=fd00:250::2 udp fill=500
eth ip4 src=$X4 dst=10.9.9.1 icmp fill=500
eth ip6 src=$X6 dst=fd00:9:9::1 icmp kind=128 fill=500
END
judges_off
nothing_leaves "and nothing from it leaves by any device even so"
no_socket_heard "nor reaches a socket of the DPU"
granted_arrives
done_testing
