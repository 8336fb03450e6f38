# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Captures what trays really put on the wire: the first 300 bytes of each frame, which include the
# marker. It captures arriving frames only, at the switch's ports, so that each frame is captured
# once. A port elsewhere is NAMESPACE:DEVICE. Source it after trays.sh.
#
#   capture_start wire s1 s2;  marker_start host1 10.0.2.2;  …  marker_stop;  capture_stop wire
#   check "only ESP, IKE, ARP and ND left the trays" capture_only_encrypted wire
#   check "the marker never passed" capture_lacks_marker wire

# 16 bytes, the longest pattern of ping -p. Hosts send it all the time.
MARKER=bwl-plain-marker

# ESP in any fragment, IKE (and ESP in UDP: RFC 3948) unfragmented, ARP, router and neighbour
# solicitations and advertisements.
CAPTURE_ND='(icmp6 and ip6[6] == 58 and ip6[40] >= 133 and ip6[40] <= 136 and ip6[7] == 255)'
CAPTURE_ALLOWED='arp or ip proto 50 or ip6 proto 50
	or udp port 500 or udp port 4500
	or '$CAPTURE_ND

CAPTURE_SNAP=300 # 0: whole frames
CAPTURE_FILTER='' # everything
capture_start() { # name port…
	local name=$1 port ns
	shift
	for port in "$@"; do
		ns=switch
		[[ $port != *:* ]] || { ns=${port%:*}; port=${port#*:}; }
		lab_bg "$name.$port.out" "$ns" tcpdump -i "$port" -Q in -s "$CAPTURE_SNAP" -U -B 65536 \
			--immediate-mode -w "$LAB_TMP/$name.$port.pcap" ${CAPTURE_FILTER:+"$CAPTURE_FILTER"}
		echo "$LAB_PID" >"$LAB_TMP/$name.$port.pid"
		lab_wait_for 30 grep -q 'listening on' "$LAB_TMP/$name.$port.out.err" || return
	done
}
# Has tcpdump written all frames that arrived? On a signal it prints their number. If that is the same
# twice, nothing is left to read. While a port is not silent this is never true.
capture_written() { # pid messages
	kill -USR1 "$1" && sleep 0.1 && [[ $(tail -n 2 "$2" | uniq | wc -l) -eq 1 ]]
}
# Fails if a frame was lost: such a capture shows nothing.
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
# One line per frame that matches. `switch` has no IPv6 and no address, so no frame is its own.
capture_list() { # name filter [port]
	local f
	for f in "$LAB_TMP/$1".${3:-*}.pcap; do tcpdump -nn -e ${CAPTURE_TIMES:+"$CAPTURE_TIMES"} -r "$f" "$2" 2>/dev/null; done
}
# When each arrived: seconds since 1970, by the guest's clock.
capture_times() { # name filter
	local f
	for f in "$LAB_TMP/$1".*.pcap; do tcpdump -nn -tt -r "$f" "$2" 2>/dev/null; done | cut -d ' ' -f 1 | sort -n
}
capture_count() { # name filter [port]
	capture_list "$@" | wc -l
}
# The captured frames, as lines for bwl-frames send; to: the MAC of their new destination. The sender's
# MAC is not kept: the switch would take that for a cable that moved.
capture_frames() { # name filter to
	local f
	for f in "$LAB_TMP/$1".*.pcap; do tcpdump -nn -t -x -r "$f" "$2" 2>/dev/null; done |
		awk -v to="$3" '
			function out() { if (hex != "") printf "eth dst=%s type=2048 hex=%s\n", to, hex; hex = "" }
			/^\t0x/ { for (i = 2; i <= NF; i++) hex = hex $i; next }
			{ out() }
			END { out() }'
}
# Also fails if there is no ESP at all: a silent wire shows nothing.
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

# A host sends the marker every INTERVAL seconds, COUNT times or until marker_stop.
MARKERS=()
marker_words() { # destination interval
	echo "-q -i $2 -W 2 -s 200 -p $(printf %s "$MARKER" | od -An -tx1 | tr -d ' \n') $1"
}
# shellcheck disable=SC2046 # split into words
marker_from() { # namespace destination count [interval]
	in_ns "$1" ping -c "$3" $(marker_words "$2" "${4:-0.05}") >/dev/null
}
# shellcheck disable=SC2046
marker_start() { # namespace destination [interval]
	lab_bg "marker.$1" "$1" ping $(marker_words "$2" "${3:-0.05}")
	MARKERS+=("$LAB_PID")
}
marker_stop() {
	local pid
	for pid in "${MARKERS[@]}"; do lab_stop "$pid"; done
	MARKERS=()
}
