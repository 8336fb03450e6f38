#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Path offload end to end: what an uplink's hardware encrypts (lib/offload.sh). SAs and policies are removed at random while
# traffic flows. 27_offload_in has what it decrypts.
# vm-cost: 80
# vm-needs: netdevsim iproute2
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
REMOVALS=${REMOVALS:-40}
LAB=bwl-off-$$
# shellcheck source=lib/offload.sh
. "$BWL_SOURCE/tests/vm/lib/offload.sh"

offload_up "path offload"
check "tray 1 takes a policy with a peer of path offload" tray_apply 1 < <(offload_policy)
tray_apply 2 < <(sa_tray_policy 2 "path: xfrm, $OFFLOAD_GRANT")
offload_words
# Tray 1 has only its outbound SA and policies in the device.
gone_words() { # what was added
	case $1 in
	*" state "*) echo "xfrm state delete src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1001" ;;
	*block*) sed 's/policy add/policy delete/; s/ action .*//' <<<"$1" ;;
	*) sed 's/policy add/policy delete/; s/ priority 100//; s/ offload.*//' <<<"$1" ;;
	esac
}
gone() { offload_add "$(gone_words "$1")"; }
offload_add "$(offload_state 2 1 "$ONE" replay-window 64)"
for prefix in 0.0.0.0/0 ::/0; do
	offload_add "xfrm policy add dir in src $prefix dst $prefix if_id $ONE tmpl src 192.0.2.2 dst 192.0.2.1 proto esp reqid $ONE mode tunnel"
done
offload_tray2
offload_box_up
capture_start wire s1
offload_watch_up

check "without an SA it is not XDP that carries" lab_wait_for 60 is_why no-sa
offload_add "$SA_OUT"
offload_add "$POL4"
check "SA and policy in the device are not enough" lab_wait_for 60 is_why no-drop-beneath
refute "and nothing passes" pings 10.0.2.2
offload_add "$BLOCK4"
offload_add "$BLOCK6"
offload_add "$POL6"
check "with drop policies beneath, XDP carries" lab_wait_for 60 is_why xdp
was=$(frames "bwl0 out" ^pass-gate)
check "a ping over IPv4 passes" pings 10.0.2.2
check "a ping over IPv6 passes" pings fd00:2::2
check "the tunnel device saw none of it" test "$(frames "bwl0 out" ^pass-gate)" = "$was"
# A connection begins by TC (which lowers the MSS of its SYN), also straight to the uplink, and continues by XDP.
check "TCP over IPv4 passes" tcp host1 host2 10.0.2.2 150000
check "TCP over IPv6 passes" tcp host1 host2 fd00:2::2 150000
check "the tunnel device saw none of that either" test "$(frames "bwl0 out" ^pass-gate)" = "$was"
check "verify says so" sh -c "BWLIMIT_PIN_DIR=$LAB_PINS/tray1 nsenter --net=/run/netns/$LAB-dpu1 '$LOAD' verify --json |
	jq -e '.checks[] | select(.text | test(\"XDP carries all 1 peer\"))' >/dev/null"
gone "$SA_OUT"
check "an SA that goes is noticed" lab_wait_for 60 is_why no-sa
offload_add "$SA_OUT"
lab_wait_for 60 is_why xdp
in_ns dpu1 ethtool -K pf0hpf rxvlan on
check "a host port whose driver hides VLAN tags carries nothing by XDP" lab_wait_for 60 is_why host-xdp
in_ns dpu1 ethtool -K pf0hpf rxvlan off
lab_wait_for 60 is_why xdp
kill -KILL "$WATCH"
wait "$WATCH" 2>/dev/null
check "whoever looked after it killed, XDP stops" lab_wait_for 60 is_why untold
refute "and TC carries nothing that the device might not encrypt" pings 10.0.2.2
check "uncharged" test "$(frames pf0hpf ^device)" -gt 0
offload_watch_up
check "and goes on with the next" lab_wait_for 60 is_why xdp

# Random removals under load; a drop policy is never removed together with what is above it.
marker_start host1 10.0.2.2
cat >"$LAB_TMP/load.specs" <<-END
	eth ip4 src=10.0.1.2 dst=10.0.2.2 udp dport=9 fill=200
	eth ip6 src=fd00:1::2 dst=fd00:2::2 udp dport=9 fill=1000
	eth ip4 src=10.0.1.2 dst=10.0.2.2 udp sport=500 dport=500 fill=100
	eth ip4 src=10.0.1.2 dst=10.0.2.2 mf=1 udp dport=9 fill=64
	eth ip4 src=10.0.1.2 dst=10.9.9.9 udp dport=9 fill=100
END
# shellcheck disable=SC2016 # the shell's own
lab_bg load host1 sh -c 'exec "$0" send h0 --gw "$1" --pps 150 --seconds 3600 <"$2"' "$FRAMES" \
	"$(tray_mac 1 2)" "$LAB_TMP/load.specs"
load=$LAB_PID
# One process executes all the commands: starting one for each would take most of the time.
mkfifo "$LAB_TMP/xfrm" "$LAB_TMP/never"
exec {xfrm}<>"$LAB_TMP/xfrm" {never}<>"$LAB_TMP/never"
# shellcheck disable=SC2016 # the shell's own
lab_bg xfrm.out dpu1 sh -c 'exec ip -force -batch - <"$0"' "$LAB_TMP/xfrm"
pause() { read -rt "$1" <&"$never"; }
ALL=("$SA_OUT" "$POL4" "$POL6" "$BLOCK4" "$BLOCK6")
for ((i = 0; i < ${#ALL[@]}; i++)); do LESS[i]=$(gone_words "${ALL[i]}"); done
WHAT=(0 0 1 2 "0 1 2" "2 1 0" 3 4)
RANDOM=7 seen_xdp=0
for ((i = 0; i < REMOVALS; i++)); do
	what=${WHAT[RANDOM % 8]}
	for w in $what; do echo "${LESS[w]}" >&"$xfrm"; done
	pause 0.0$((RANDOM % 6))
	for w in $what; do echo "${ALL[w]}" >&"$xfrm"; done
	[[ $((i % 10)) -ne 0 ]] || { lab_wait_for 60 is_why xdp && seen_xdp=$((seen_xdp + 1)); }
	pause 0.0$((RANDOM % 6))
done
check "after every tenth removal XDP carries again" test "$seen_xdp" -eq $(((REMOVALS + 9) / 10))
marker_stop
lab_stop "$load"
live "every SA and policy that was removed from the device is back"
redirected() { in_ns dpu1 ethtool -S pf0hpf | awk '/xdp_redirect:/ { n += $2 } END { print n + 0 }'; }
went() { # sets where every charged frame is now
	charged=$(frames pf0hpf "^pass$") tunnel=$(frames "bwl0 out" "^pass-gate") gate=$(frames "p0 out" "^pass-gate")
	stopped=$(frames "p0 out" "^(gate|revoked|expired)")
	xdp=$(redirected) sent=$(ip_in dpu1 -s -j link show p0 | jq '.[0].stats64.tx.packets')
}
went
for ((i = 0; i < 60; i++)); do # until no frame is in flight
	was=$charged/$sent
	sleep 1
	went
	[[ $was != "$charged/$sent" ]] || break
done
lab_stop "$BOX"
said=$(tail -n 1 "$LAB_TMP/box")
box() { jq ".$1" <<<"$said"; }
note "$REMOVALS removals: $said"
note "charged $charged: by XDP $xdp, by TC into the tunnel device $tunnel; the last gate let out $gate and stopped $stopped"
note "the uplink sent $sent; $(ip netns exec "$LAB-dpu1" awk '/Out/ && $2 > 0 { printf "%s %d ", $1, $2 }' /proc/net/xfrm_stat)"
check "no charged frame passed the box in the clear" test "$(box clear)" = 0
check "what stood beneath was needed" test "$(($(box blocked) + $(box no_sa)))" -gt 0
check "what was charged XDP sent, or TC: to the last gate, or into the tunnel device" \
	test $((charged - xdp)) -ge "$((gate + stopped))" -a $((charged - xdp)) -le $((gate + stopped + tunnel))
check "nothing left uncharged: the box has seen what XDP sent and the last gate let out, no more, no less" \
	test "$(($(box in) + $(box lost)))" -eq $((xdp + gate))
check "and has judged every frame" test "$(box lost)" = 0
check "XDP carried its part" test "$xdp" -gt $((charged / 3))
check "the capture is whole" capture_stop wire
check "behind the box there is ESP, ARP and ND only" capture_only_encrypted wire
check "the marker never passed in the clear" capture_lacks_marker wire
offload_end
