# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034 # variables are for who sources this
#
# Two trays for path offload. Tray 1's uplink is a netdevsim that holds packet-offloaded SAs and policies and sends what
# XDP redirects to it (our patch); behind it bwl-inline ("the box") encrypts and decrypts exactly by what the kernel holds
# there at that moment. Tray 2 encrypts in software. Set BWL_SOURCE and LAB and source this, which sources the rest; then:
# offload_up, the trays' policies, offload_words, offload_tray2, offload_box_up, offload_watch_up; offload_end last.

for part in tests/harness/tap vm-testbed/topo/trays vm-testbed/topo/manual_sa vm-testbed/topo/netdevsim; do
	# shellcheck source=/dev/null
	. "$BWL_SOURCE/$part.sh"
done

OFFLOAD_GRANT='grant: { rate: 100mbit, mode: police }'
offload_policy() { # [further keys of tray 2]: the policy of tray 1
	sa_tray_policy 1 "path: offload, $OFFLOAD_GRANT${1:+, $1}"
}
offload_up() { # what is skipped where the kernel has no packet offload
	trays_up 2 || exit 1
	trap 'nsim_down; echo 2 >/sys/bus/netdevsim/del_device; lab_down' EXIT
	if ! nsim_wire dpu1 box s1; then
		skip "$1" "this kernel's netdevsim has no packet offload"
		done_testing
		exit
	fi
	tray_set_mac dpu1 p0 1 3
	lab_addr dpu1 p0 192.0.2.1/24 2001:db8::1/64
	in_ns dpu1 ethtool -K pf0hpf rxvlan off
	in_ns dpu1 ethtool -K p0 gro off
	LEAK_SENDER[s1]="box w1"
	local n
	for n in 1 2; do
		# Frames are counted one by one, and have their checksums, as on a cable: no device of this path adds them.
		in_ns host$n ethtool -K h0 tx off tso off gso off tx-udp-segmentation off >/dev/null
		tray_attach $n --tunnel bwl0 || exit 1
	done
	P0=$(nsim_index dpu1 p0)
}

OFFLOAD_KEY=0x$(printf '%040d' 7)
offload_state() { # from to if_id further-words…
	echo "xfrm state add src 192.0.2.$1 dst 192.0.2.$2 proto esp spi $((0x1000 + $1)) reqid $3 mode tunnel" \
		"if_id $3 aead rfc4106(gcm(aes)) $OFFLOAD_KEY 128 flag af-unspec ${*:4}"
}
# Sets ONE and TWO, the peers' if_ids, and words of `ip` for what tray 1 has in the device: its SAs, policies for IPv4 and
# IPv6, and drop policies beneath. Those are nobody's if_id: the device knows no if_id, so it drops by them; the kernel, in
# which they would otherwise match everybody, does not.
offload_words() {
	local here there
	ONE=$(sa_if_id 1 tray-2) TWO=$(sa_if_id 2 tray-1)
	SA_OUT=$(offload_state 1 2 "$ONE" offload packet dev p0 dir out)
	SA_IN=$(offload_state 2 1 "$ONE" replay-window 64 offload packet dev p0 dir in)
	here="priority 100 if_id $ONE offload packet dev p0 tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid $ONE mode tunnel"
	there="priority 100 if_id $ONE offload packet dev p0 tmpl src 192.0.2.2 dst 192.0.2.1 proto esp reqid $ONE mode tunnel"
	POL4="xfrm policy add dir out src 10.0.1.0/24 dst 10.0.2.0/24 $here"
	POL6="xfrm policy add dir out src fd00:1::/64 dst fd00:2::/64 $here"
	POL4_IN="xfrm policy add dir in src 10.0.2.0/24 dst 10.0.1.0/24 $there"
	POL6_IN="xfrm policy add dir in src fd00:2::/64 dst fd00:1::/64 $there"
	here="if_id 0xffffffff action block priority 4294967294 offload packet dev p0 tmpl proto esp reqid 1 mode tunnel"
	BLOCK4="xfrm policy add dir out src 0.0.0.0/0 dst 0.0.0.0/0 $here"
	BLOCK6="xfrm policy add dir out src ::/0 dst ::/0 $here"
}
offload_add() { printf '%s\n' "$@" | in_ns dpu1 ip -batch - 2>/dev/null; } # words…
offload_tray2() {
	in_ns dpu2 ip -batch - < <(offload_state 1 2 "$TWO" replay-window 64; offload_state 2 1 "$TWO")
	sa_policy 2 out 2 1 "$TWO"
	sa_policy 2 in 1 2 "$TWO"
	sa_usable 2 "$TWO" 3
}
offload_box_up() {
	lab_bg box dpu1 "$LAB_BUILD/tests/harness/bwl-inline" "/run/netns/$LAB-box" w0 w1 "$P0"
	BOX=$LAB_PID
	lab_wait_for 60 grep -q ready "$LAB_TMP/box"
}
offload_watch_up() {
	BWLIMIT_PIN_DIR=$LAB_PINS/tray1 lab_bg watch dpu1 "$IPSECD" track --json
	WATCH=$LAB_PID
}
offload_end() { # SAs and policies go before the devices
	tray_ctl 1 reasons | sed 's/^/# /'
	lab_stop "$WATCH"
	in_ns dpu1 ip xfrm state flush
	in_ns dpu1 ip xfrm policy flush
	leak_end
	done_testing
}

pings() { in_ns host1 ping -q -c 3 -i 0.2 -W 2 "$1" >/dev/null; }
is_why() { [[ $(tray_ctl 1 --json peer show tray-2 | jq -r .tunnel.carried_why) == "$1" ]]; }
frames() { # port reason-pattern: so far
	tray_ctl 1 --json reasons | jq --arg p "$1" --arg r "$2" '[.reasons[] |
		select((.port + (if .hook == "gate" then " out" else "" end)) == $p and (.reason | test($r))) | .frames] | add // 0'
}
tcp() { # sender receiver address least: a megabyte, of which so many bytes arrive while it is sent
	lab_bg iperf "$2" timeout 600 iperf3 -s -1
	lab_wait_for 60 in_ns "$2" sh -c 'ss -Hltn "sport = :5201" | grep -q .'
	in_ns "$1" timeout 600 iperf3 -c "$3" -n 1M -J >"$LAB_TMP/tcp" 2>&1
	lab_stop "$LAB_PID"
	note "$1 to $3: $(jq -c '[.end.sum_received.bytes, .end.sum_sent.retransmits]' "$LAB_TMP/tcp" 2>/dev/null)"
	jq -e ".end.sum_received.bytes > $4" "$LAB_TMP/tcp" >/dev/null || { tail -n 3 "$LAB_TMP/tcp" | sed 's/^/# /'; return 1; }
}
