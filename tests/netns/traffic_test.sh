#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Real traffic against its limit: bytes of whole frames at the destination's own interface.
# Ratios to the limit, never absolute speed.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-traffic-$$ LAB_DESTS=1 LAB_MTU=9000
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
lab_up && lab_attach || exit 1

SECONDS_EACH=${BWL_TRAFFIC_SECONDS:-6}

limit_to() { # Mbit/s
	{
		echo "peers:"
		lab_peer sink 1 "grant: { rate: ${1}mbit, mode: police }"
	} | lab_policy_head | lab_apply || exit 1
	sleep 1 # the bucket is full again: 73728 bytes are 0.6 s of 1 Mbit/s, others 0.25 s
}
# Measures what the limiter does, not what else the machine has to do.
URGENT=()
! chrt -r 1 true 2>/dev/null || URGENT=(chrt -r 1)

# Never more than the maximum; the minimum once in three tries, because a busy machine does not always send enough.
# The command sets bytes, ns, and what to subtract.
arrives() { # sentence least most Mbit/s command…
	local sentence=$1 least=$2 most=$3 rate=$4 bytes ns subtract judged text
	shift 4
	for _ in 1 2 3; do
		"$@"
		read -r judged text < <(awk -v lo="$least" -v hi="$most" -v b="$bytes" -v t="$ns" -v r="$rate" -v s="$subtract" 'BEGIN {
			may = r * 1e6 * t / 8e9
			x = (b - s) / may
			judged = x > hi ? "more" : x < lo ? "less" : "right"
			printf "%s %.2f Mbit/s arrived, %.3f %% of the limit", judged, b * 8e3 / t, b / may * 100
			printf s ? ", %.3f %% with the burst of %d bytes subtracted\n" : "\n", x * 100, s
		}')
		note "$text"
		[[ $judged == less ]] || break
	done
	check "$sentence" [ "$judged" = right ]
}
default_burst() { # Mbit/s: a quarter of a second, at least one GSO packet
	awk -v r="$1" 'BEGIN { b = r * 31250; printf "%.0f", (b < 73728 ? 73728 : b) }'
}

# At 1 Gbit/s with jumbo frames: one core has to send twice the limit, and carry it, too.
udp() { # Mbit/s address payload
	arrives "UDP at twice $1 Mbit/s to $2 arrives at 99 to 100 % of the limit" 0.99 1 "$1" udp_once "$@"
}
udp_once() {
	local client sampler frames
	limit_to "$1"
	subtract=$(default_burst "$1")
	in_ns d1 "${URGENT[@]}" "$FRAMES" sample eth0 "$SECONDS_EACH" --from-first >"$LAB_TMP/sample" &
	sampler=$!
	lab_bg udp host "${URGENT[@]}" timeout $((SECONDS_EACH + 20)) \
		iperf3 -c "$2" -u -b $(($1 * 2))M -l "$3" -t $((SECONDS_EACH + 1)) -f m
	client=$LAB_PID
	wait $sampler
	read -r bytes frames ns <"$LAB_TMP/sample"
	wait "$client"
	note "offered: $(awk '/sender/ { print $7, $8 }' "$LAB_TMP/udp") of payload, $frames frames arrived"
}

# A pause in TCP refills the bucket: one more burst is allowed.
MOST_OF_TCP=$(awk -v t="$SECONDS_EACH" 'BEGIN { print 1 + 0.25 / t }')
tcp() { # sentence least Mbit/s address port command-prefix…
	arrives "$1" "$2" "$MOST_OF_TCP" "$3" tcp_once "${@:3}"
}
tcp_once() {
	local client frames rate=$1 to=$2 port=$3
	shift 3
	limit_to "$rate"
	subtract=0
	lab_bg tcp host "${URGENT[@]}" "$@" timeout $((SECONDS_EACH + 20)) \
		iperf3 -c "$to" -M 1448 -p "$port" -t $((SECONDS_EACH + 2))
	client=$LAB_PID
	sleep 1
	read -r bytes frames ns < <(in_ns d1 "${URGENT[@]}" "$FRAMES" sample eth0 "$SECONDS_EACH")
	wait "$client"
	note "$frames frames of $((bytes / frames)) bytes; $(awk '/sender/ { print $9 }' "$LAB_TMP/tcp") retransmissions"
}

lab_iperf_server d1 5201 "${URGENT[@]}"
check "GSO is on at the host" \
	sh -c "nsenter --net=/run/netns/$LAB-host ethtool -k h0 | grep -q '^generic-segmentation-offload: on'"
note "TCP congestion control: $(in_host sysctl -n net.ipv4.tcp_congestion_control)"
udp 1 "$(lab_dest4 1)" 1400
udp 100 "$(lab_dest6 1)" 1400
udp 1000 "$(lab_dest4 1)" 8900
tcp "TCP with GSO reaches 85 % of 100 Mbit/s under police, default burst" 0.85 100 "$(lab_dest4 1)" 5201
tcp "TCP with GSO reaches 85 % of 1 Gbit/s under police, default burst" 0.85 1000 "$(lab_dest6 1)" 5201

sentence="TCP keeps 95 % of 100 Mbit/s while one core floods denied 64-byte frames"
if [[ $(nproc) -lt 2 ]]; then
	skip "$sentence" "needs two CPUs"
else
	lab_iperf_server d1 5202 "${URGENT[@]}" taskset -c 0
	flooded() { # as tcp_once
		lab_bg flood host taskset -c 1 "$FLOOD" h0 $((SECONDS_EACH + 3)) "$(lab_mac dpu hpf0)" \
			"eth ip4 src=$HOST4 dst=10.99.0.1 udp fill=22"
		local flood=$LAB_PID
		# Host and DPU share one kernel here: an idle CPU leaves its timers to a busy one (kernel 6.9),
		# TCP's retransmissions would then leave by the flooded CPU's queue and die in it.
		lab_bg awake host timeout $((SECONDS_EACH + 3)) taskset -c 0 chrt -i 0 sh -c 'while :; do :; done'
		tcp_once "$@"
		wait "$flood"
		note "flood: $(cat "$LAB_TMP/flood" "$LAB_TMP/flood.err")"
	}
	arrives "$sentence" 0.95 "$MOST_OF_TCP" 100 flooded 100 "$(lab_dest4 1)" 5202 taskset -c 0
	in_dpu "$CTL" reasons | sed 's/^/# /'
fi
done_testing
