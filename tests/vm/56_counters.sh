#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Compares what an uplink and its port count as sent with what was let out, if XDP sends (path offload) and the
# card has counters of its own: a netdevsim with those of mlx5 (our patch). tests/netns/counters_test.sh has
# the rest.
# vm-cost: 130
# vm-needs: netdevsim iproute2
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-cnt-$$
for part in tests/harness/tap vm-testbed/topo/trays vm-testbed/topo/netdevsim; do
	# shellcheck source=/dev/null
	. "$BWL_SOURCE/$part.sh"
done
trays_up 1 || exit 1
trap 'nsim_down; echo 2 >/sys/bus/netdevsim/del_device; lab_down' EXIT
if ! nsim_wire dpu1 box s1; then
	skip "the counters of a port" "this kernel's netdevsim has no packet offload"
	done_testing
	exit
fi
tray_set_mac dpu1 p0 1 3
lab_addr dpu1 p0 192.0.2.1/24
in_ns dpu1 ethtool -K pf0hpf rxvlan off
ip_in dpu1 neigh replace 192.0.2.2 lladdr 02:00:00:00:02:03 dev p0 nud permanent

desired() { # action
	cat <<-END
	version: 1
	node: tray-1
	uplinks: [p0]
	host_ports: [{ dev: pf0hpf, sources: [10.0.1.0/24] }]
	heartbeat: none
	tamper: { counters: $1 }
	peers:
	  - { name: tray-2, addresses: [10.0.2.0/24], path: offload, ipsec: { remote: 192.0.2.2 },
	      grant: { rate: 100mbit, mode: police } }
	END
}
LEAK_SENDER[s1]="box w1"
tray_attach 1 --tunnel bwl0 || exit 1
check "a policy with a peer of path offload is in force" tray_apply 1 < <(desired log)
id=$(tray_ctl 1 --json peer show tray-2 | jq .tunnel.if_id)
words() { in_ns dpu1 ip -batch -; }
any="if_id 0xffffffff action block priority 4294967294 offload packet dev p0 tmpl proto esp reqid 1 mode tunnel"
words <<-END
	xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1001 reqid $id mode tunnel if_id $id aead rfc4106(gcm(aes)) 0x$(printf '%040d' 7) 128 flag af-unspec offload packet dev p0 dir out
	xfrm policy add dir out src 10.0.1.0/24 dst 10.0.2.0/24 priority 100 if_id $id offload packet dev p0 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid $id mode tunnel
	xfrm policy add dir out src 0.0.0.0/0 dst 0.0.0.0/0 $any
	xfrm policy add dir out src ::/0 dst ::/0 $any
	xfrm state add src 192.0.2.2 dst 192.0.2.1 proto esp spi 0x1002 reqid $id mode tunnel if_id $id aead rfc4106(gcm(aes)) 0x$(printf '%040d' 7) 128 flag af-unspec replay-window 64
	xfrm policy add dir in src 0.0.0.0/0 dst 0.0.0.0/0 if_id $id tmpl src 192.0.2.2 dst 192.0.2.1 proto esp reqid $id mode tunnel
END
desired log >"$LAB_TMP/desired.yaml"
BWLIMIT_PIN_DIR=$LAB_PINS/tray1 lab_bg agent dpu1 "$AGENT" --policy "$LAB_TMP/desired.yaml" \
	--state-dir "$LAB_TMP/state" --tpm none --json
agent_pid=$LAB_PID
is_why() { [[ $(tray_ctl 1 --json peer show tray-2 | jq -r .tunnel.carried_why) == "$1" ]]; }
signs() { grep -c '"event":"tamper".*counters: ' "$LAB_TMP/agent"; }
said() { grep -q "\"event\":\"tamper\".*counters: $1" "$LAB_TMP/agent"; }
past() { # frames, how
	echo "eth type=0x88b5 fill=50" | in_ns dpu1 "$FRAMES" send p0 --gw ff:ff:ff:ff:ff:ff --count "$1" "$2" >/dev/null
}
found() { # what is reported; sends a frame past the gate every four seconds until then, since the agent first needs a previous count
	local i
	for ((i = 0; i < 1200; i++)); do
		[[ $((i % 80)) -gt 0 ]] || past 1 --bypass
		said "$1" && return
		sleep 0.05
	done
	return 1
}
more() { echo $(($(cat "/sys/module/netdevsim/parameters/$1") + $2)) >"/sys/module/netdevsim/parameters/$1"; }
sent() { in_ns dpu1 ethtool -S p0 | awk "/$1:/ { print \$2 }"; }
redirected() { in_ns dpu1 ethtool -S pf0hpf | awk '/xdp_redirect:/ { n += $2 } END { print n + 0 }'; }

check "XDP carries the peer" lab_wait_for 30 is_why xdp
check "one frame past the gate is found out" found 'p0 sent 1 frame that did not pass its last gate'
was=$(signs)
echo "eth ip4 src=10.0.1.2 dst=10.0.2.2 udp dport=9 fill=1000" |
	in_ns host1 "$FRAMES" send h0 --gw "$(tray_mac 1 2)" --pps 200 --seconds "${BWL_COUNTERS_SECONDS:-20}" >/dev/null
note "XDP sent $(redirected) frames, the port $(sent tx_packets_phy), $(sent tx_bytes_phy) bytes"
check "XDP sent frames by the hundred" test "$(redirected)" -gt 300
check "none of them is a sign" test "$(signs)" -eq "$was"
past 3 --xsk
check "three frames by AF_XDP right after them are found to the frame" \
	lab_wait_for 30 said 'p0 sent 3 frames that did not pass its last gate'
more port_control 1000
more port_past 5
check "five frames of the port that the DPU never had are found, and pause frames are none of them" \
	lab_wait_for 30 said 'the port of p0 sent 5 frames that the DPU.s kernel did not let out'
more port_rdma 7
check "RDMA, which no gate sees, is found" lab_wait_for 30 said 'p0 sent 7 RDMA frames'
check "and that is all that was said" test $(($(signs) - was)) -eq 3
desired revoke >"$LAB_TMP/desired.yaml"
revoked() {
	more port_past 1
	sleep 2
	[[ $(tray_ctl 1 --json peer show tray-2 | jq -r .state) == revoked ]]
}
check "with revoke it closes" lab_wait_for 60 revoked
lab_stop "$agent_pid"
in_ns dpu1 ip xfrm state flush
in_ns dpu1 ip xfrm policy flush
leak_end
done_testing
