# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# What trays really put on the wire, the first 300 bytes of each frame (the marker is in them): captured at the switch's ports, frames coming in only (so
# each once). Source after trays.sh.
#
#   capture_start wire s1 s2       marker_from host1 10.0.2.2 &     capture_stop wire
#   check "only ESP, IKE, ARP and ND left the trays" capture_only_encrypted wire
#   check "the marker never passed" capture_lacks_marker wire

# 16 bytes, the longest pattern of ping -p; hosts send it all the time.
MARKER=bwl-plain-marker

# ESP in any fragment, IKE (and ESP in UDP: RFC 3948) unfragmented, ARP, router and neighbour
# solicitations and advertisements.
CAPTURE_ALLOWED='arp or ip proto 50 or ip6 proto 50
	or udp port 500 or udp port 4500
	or (icmp6 and ip6[6] == 58 and ip6[40] >= 133 and ip6[40] <= 136 and ip6[7] == 255)'

capture_start() { # name port… (of the switch)
	local name=$1 port
	shift
	for port in "$@"; do
		lab_bg "$name.$port.out" switch tcpdump -i "$port" -Q in -s 300 -U -B 65536 --immediate-mode \
			-w "$LAB_TMP/$name.$port.pcap"
		echo "$LAB_PID" >"$LAB_TMP/$name.$port.pid"
		lab_wait_for 30 grep -q 'listening on' "$LAB_TMP/$name.$port.out.err" || return
	done
}
# Has tcpdump written all that came? Asked by a signal it says how many; twice the same, and it
# has nothing left to read.
capture_written() { # pid messages
	kill -USR1 "$1" && sleep 0.1 && [[ $(tail -n 2 "$2" | uniq | wc -l) -eq 1 ]]
}
# Fails when a frame was lost: such a capture shows nothing.
capture_stop() { # name
	local pid said rc=0
	for pid in "$LAB_TMP/$1".*.pid; do
		said=${pid%.pid}.out.err
		lab_wait_for 30 capture_written "$(<"$pid")" "$said" || rc=1
		lab_stop "$(<"$pid")"
		grep -q '^0 packets dropped by kernel' "$said" || rc=1
		[[ $rc -eq 0 ]] || sed 's/^/# /' "$said"
	done
	return $rc
}
# One line a frame that matches; `switch` has no IPv6 and no address, so nothing is its own.
capture_list() { # name filter
	local f
	for f in "$LAB_TMP/$1".*.pcap; do tcpdump -nn -e -r "$f" "$2" 2>/dev/null; done
}
capture_count() { # name filter
	capture_list "$@" | wc -l
}
# Fails too where there is no ESP at all: a silent wire shows nothing.
capture_only_encrypted() { # name
	local strangers
	strangers=$(capture_list "$1" "not ($CAPTURE_ALLOWED)" | head -n 10)
	[[ -z $strangers ]] || { printf '%s\n' "# in the clear: ${strangers//$'\n'/$'\n'# in the clear: }"; return 1; }
	[[ $(capture_count "$1" 'ip proto 50 or ip6 proto 50') -gt 0 ]] ||
		{ echo "# no ESP was captured"; return 1; }
}
capture_lacks_marker() { # name
	! grep -lF "$MARKER" "$LAB_TMP/$1".*.pcap | sed 's/^/# the marker is in /' | grep .
}

# The marker, sent by a host until it is stopped or COUNT are sent; every INTERVAL seconds.
marker_from() { # namespace destination [count [interval]]
	in_ns "$1" ping -q -i "${4:-0.05}" ${3:+-c "$3"} -W 2 -s 200 \
		-p "$(printf %s "$MARKER" | od -An -tx1 | tr -d ' \n')" "$2" >/dev/null
}
