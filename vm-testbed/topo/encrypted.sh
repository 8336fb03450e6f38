# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# The encrypted part of ./quickstart: two trays with bwlimit and strongSwan, a capture between them,
# and what host 2 received. Source it after tests/harness/lab.sh.

# Prints what this kernel lacks for it, found by trying; nothing if it lacks nothing.
encrypted_lacks() {
	local ns=$LAB-try
	ip netns add "$ns" || return
	if ! ip -n "$ns" link add bwl0 type xfrm dev lo if_id 1 2>/dev/null; then
		echo "interfaces of type xfrm"
	elif ! ip -n "$ns" xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 1 mode tunnel \
		aead 'rfc4106(gcm(aes))' "0x$(printf '%072d' 1)" 128 2>/dev/null; then
		echo "ESP with AES-GCM"
	fi
	ip netns del "$ns"
}

ENCRYPTED_MBIT=5
# Writes rows into a file as quickstart's row() takes them: one per line, columns separated by |. It makes
# a separate lab. Call it in a subshell, which removes the lab at its end.
encrypted_rows() { # file
	local rows=$1 part n
	LAB+=-e
	LAB_PINS=/sys/fs/bpf/$LAB
	for part in vm-testbed/topo/trays tests/harness/charon vm-testbed/topo/mesh; do
		# shellcheck source=/dev/null
		. "$LAB_HERE/../../$part.sh"
	done
	check() { # instead of tap.sh's
		printf '   %s\n' "$1"
		"${@:2}" || { echo "   that failed"; exit 1; }
	}
	TRAY_LEAK_WATCH=no # the capture of everything judges
	trays_up 2 || exit
	mesh_ca || exit
	for n in 1 2; do mesh_tray_up "$n" "grant: { rate: ${ENCRYPTED_MBIT}mbit }"; done
	sed 's/^/   /' "$LAB_TMP/policy1.yaml"
	capture_start wire s1 s2
	encrypted_nothing "tray-2, before it has keys" 10.0.2.2
	check "the two charons get their connections" mesh_load_both
	check "each tray has an SA with the other" lab_wait_for 60 mesh_open
	marker_start host1 10.0.2.2
	lab_iperf_server host2 5201
	encrypted_udp "tray-2, encrypted, UDP, IPv4" 10.0.2.2 42
	encrypted_udp "tray-2, encrypted, UDP, IPv6" fd00:2::2 62
	tray_ctl 1 ipsec status --vici "$(charon_socket 1)" | sed 's/^/   /'
	tray_ctl 1 revoke tray-2 --vici "$(charon_socket 1)" 2>&1 | sed 's/^/   /'
	encrypted_nothing "tray-2, revoked" 10.0.2.2
	marker_stop
	check "what left the trays was captured whole" capture_stop wire
	encrypted_wire
}
# Sends to that address for 2 s; nothing may arrive.
encrypted_nothing() { # name address
	local counter bytes
	lab_bg count host2 "$FRAMES" count h0
	counter=$LAB_PID
	lab_wait_for 5 grep -q ready "$LAB_TMP/count"
	in_ns host1 "$FRAMES" send h0 --gw "$(tray_mac 1 2)" --seconds 2 --pps 200 >/dev/null \
		<<<"eth ip4 src=10.0.1.9 dst=$2 udp dport=5201 fill=1000"
	in_ns switch "$FRAMES" settle
	lab_stop "$counter"
	bytes=$(awk '$3 == "10.0.1.9" { n += $5 } END { print n + 0 }' "$LAB_TMP/count")
	echo "$1|0|$((200 * 1042 * 8))|$bytes|2000000000|ok" >>"$rows"
}
encrypted_refused() { [[ $(mesh_reason 1 pf0hpf peer-rate) -gt $1 ]]; } # frames
encrypted_udp() { # name address headers
	# 1300: in IPv6 1400 would not fit into the tunnel at an MTU of 1500
	local bps=$((ENCRYPTED_MBIT * 1000000)) b t was judge
	was=$(mesh_reason 1 pf0hpf peer-rate)
	lab_bg udp host1 timeout 600 iperf3 -c "$2" -p 5201 -u -b $((2 * bps)) -l 1300 -t 500
	lab_wait_for 120 encrypted_refused $((was + 100)) # the burst is spent
	judge dpu1 "$LAB_PINS/tray1" peer:tray-2 $ENCRYPTED_MBIT 1514 refusing 3 >"$LAB_TMP/verdict" &
	judge=$!
	read -r b _ t < <(in_ns host2 "$FRAMES" sample h0 4)
	wait "$judge"
	lab_stop "$LAB_PID" # the server takes one client after the other
	# This includes the marker's pings, which are charged like the rest.
	echo "$1|$bps|$((2 * bps * (1300 + $3) / 1300))|$b|$t|$(cat "$LAB_TMP/verdict")" >>"$rows"
}
# All that left both trays, and what part of it anybody can read.
encrypted_wire() {
	local all clear
	all=$(capture_list wire '' | encrypted_bytes)
	clear=$(capture_list wire "not ($CAPTURE_ALLOWED)" | encrypted_bytes)
	capture_lacks_marker wire || clear=$((clear + 1))
	echo "the wire between them, in the clear|0|$((all * 8 / 20))|$clear|20000000000|ok" >>"$rows"
}
encrypted_bytes() { awk 'match($0, /length [0-9]+/) { n += substr($0, RSTART + 7, RLENGTH - 7) } END { print n + 0 }'; }
