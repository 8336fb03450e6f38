#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Which of a peer's SAs a device holds, as bwlimit reads it back from the kernel.
# vm-cost: 35
# leak: no frames
# vm-needs: netdevsim iproute2
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-offl-$$ LAB_DESTS=0
# shellcheck source=../harness/tap.sh
. "$BWL_SOURCE/tests/harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$BWL_SOURCE/tests/harness/lab.sh"
# shellcheck source=lib/xfrm.sh
. "$BWL_SOURCE/tests/vm/lib/xfrm.sh"
# shellcheck source=../../vm-testbed/topo/netdevsim.sh
. "$BWL_SOURCE/vm-testbed/topo/netdevsim.sh"

trap 'nsim_down; lab_down' EXIT
lab_require
LAB_TMP=$(mktemp -d)
lab_ns dpu || exit 1
check "netdevsim makes an uplink and a representor" nsim_up dpu 1
ip_in dpu link set p0 up
lab_addr dpu p0 192.0.2.1/24
check "bwlimit attaches" attach pf0vf0
lab_policy_head < <(
	echo peers:
	encrypted one 101 192.0.2.2
) | sed 's/hpf0/pf0vf0/' | lab_apply
one=$(tunnel one | jq .if_id)
watch_up

policy out "$one" 192.0.2.2 0.0.0.0/0
sa out "$one" 0x101 192.0.2.2 offload crypto dev p0 dir out
check "an SA whose crypto the device does" becomes one '.sa_out and .offload == "crypto"'
sa out "$one" 0x102 192.0.2.2
check "beside one in software counts as in software" becomes one '.sa_out and .offload == "none"'
sa_gone 192.0.2.2 0x102
check "and alone again does not" becomes one '.sa_out and .offload == "crypto"'
sa_gone 192.0.2.2 0x101
becomes one '.sa_out == false'
sa out "$one" 0x103 192.0.2.2 offload crypto dev pf0vf0 dir out
check "an offload that the device ignored in silence is none" \
	becomes one '.sa_out and .offload == "none"'
sa_gone 192.0.2.2 0x103
becomes one '.sa_out == false'

if ! grep -q 'policies=' < <(nsim_ipsec); then
	skip "packet offload" "this kernel has none"
	done_testing
	exit
fi
sa out "$one" 0x104 192.0.2.2 offload packet dev p0 dir out
check "an SA that a device has without its policy is an alarm" lab_wait_for 20 alarms half-offload
check "and closes" is one '.sa_out == false'
policy_gone out "$one" 0.0.0.0/0
in_device() { # family-prefix further-words…: adds a policy to the device
	in_dpu ip xfrm policy add dir out src "$1" dst "$1" "${@:2}" offload packet dev p0
}
demanded() { # family-prefix
	in_dpu ip xfrm policy add dir out src "$1" dst "$1" if_id "$one" offload packet dev p0 \
		tmpl src $ME dst 192.0.2.2 proto esp reqid "$one" mode tunnel
}
demanded 0.0.0.0/0
check "with its policy in the device it is packet-offloaded" \
	becomes one '.sa_out and .offload == "packet"'
sa out "$one" 0x105 192.0.2.2
check "an SA in software beside it is none that the kernel takes" \
	becomes one '.sa_out and .offload == "packet"'
policy out "$one" 192.0.2.2 ::/0
check "a policy that is not in the device closes" becomes one '.sa_out == false'
policy_gone out "$one" ::/0
check "without it, it is open again" becomes one '.offload == "packet"'
policy_gone out "$one" 0.0.0.0/0
check "the policy, removed behind our back, closes" becomes one '.sa_out == false'
demanded 0.0.0.0/0
becomes one '.offload == "packet"'
lab_stop "$WATCH"
check "nobody watches: open, and no longer packet-offloaded" is one '.sa_out and .offload == "none"'

p0=$(ip_in dpu -j link show p0 | jq '.[0].ifindex')
check "nothing in the device drops what no SA takes" test -z "$(in_dpu "$XFRM" blocks "$p0")"
in_dpu ip xfrm policy add dir out src 0.0.0.0/0 dst 0.0.0.0/0 action block priority 9000
check "a drop policy that only the kernel has does not count" test -z "$(in_dpu "$XFRM" blocks "$p0")"
in_dpu ip xfrm policy delete dir out src 0.0.0.0/0 dst 0.0.0.0/0
in_device 10.0.0.0/8 action block priority 9000
check "nor one for some addresses" test -z "$(in_dpu "$XFRM" blocks "$p0")"
in_device 0.0.0.0/0 action block priority 9000
check "one in the device for all of IPv4 does" test "$(in_dpu "$XFRM" blocks "$p0")" = 4
in_device ::/0 action block priority 9000
check "and one for IPv6" test "$(in_dpu "$XFRM" blocks "$p0")" = 46
watch_up
beneath() { # true|false: the watcher's last statement
	[[ $(jq -s "map(select(.if_id == $one)) | last | .device_drops_rest" <"$LAB_TMP/watch") == "$1" ]]
}
check "with both, the data plane is told so" lab_wait_for 20 beneath true
in_dpu ip xfrm policy delete dir out src ::/0 dst ::/0
check "and that one of them is gone" lab_wait_for 20 beneath false
in_device ::/0 action block priority 9000
check "and is back" lab_wait_for 20 beneath true
sa out "$one" 0x106 192.0.2.2 offload packet dev p0 dir out
sa_gone 192.0.2.2 0x104
check "a rekey of packet-offloaded SAs closes nothing" \
	lab_wait_for 20 says ".if_id == $one and .spi_out == \"0x00000106\" and .device_drops_rest"
refute "in between" says ".if_id == $one and (.sa_out | not)"
check "drop leaves nothing of the peer in the device" \
	test "$(in_dpu "$XFRM" drop "$one" "$one") $(nsim_ipsec | head -n 1)" = "2 1 SA count=0 tx=0 policies=3"
lab_stop "$WATCH"
in_dpu ip xfrm policy flush
done_testing
