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

SECONDS_EACH=${BWL_TRAFFIC_SECONDS:-10}

limit_to() { # Mbit/s
	{
		echo "peers:"
		lab_peer sink 1 "grant: { rate: ${1}mbit, mode: police }"
	} | lab_policy_head | lab_apply || exit 1
	sleep 1 # the bucket is full again: 73728 bytes are 0.6 s of 1 Mbit/s, others 0.25 s
}
# ratio_within LEAST MOST BYTES NANOSECONDS MBIT SUBTRACT: prints it, too
ratio_within() {
	awk -v lo="$1" -v hi="$2" -v b="$3" -v t="$4" -v r="$5" -v s="$6" 'BEGIN {
		may = r * 1e6 * t / 8e9
		x = (b - s) / may
		printf "# %.2f Mbit/s arrived, %.3f %% of the limit", b * 8e3 / t, b / may * 100
		printf s ? ", %.3f %% with the burst of %d bytes subtracted\n" : "\n", x * 100, s
		exit !(x >= lo && x <= hi)
	}'
}
default_burst() { # Mbit/s: a quarter of a second, at least one GSO packet
	awk -v r="$1" 'BEGIN { b = r * 31250; printf "%.0f", (b < 73728 ? 73728 : b) }'
}

# At 1 Gbit/s jumbo frames: one core has to offer twice the limit and carry it, too.
udp() { # Mbit/s address payload
	local bytes ns client sampler frames
	limit_to "$1"
	in_ns d1 "$FRAMES" sample eth0 "$SECONDS_EACH" --from-first >"$LAB_TMP/sample" &
	sampler=$!
	lab_bg udp host timeout $((SECONDS_EACH + 20)) \
		iperf3 -c "$2" -u -b $(($1 * 2))M -l "$3" -t $((SECONDS_EACH + 1)) -f m
	client=$LAB_PID
	wait $sampler
	read -r bytes frames ns <"$LAB_TMP/sample"
	wait "$client"
	note "offered: $(awk '/sender/ { print $7, $8 }' "$LAB_TMP/udp") of payload, $frames frames arrived"
	check "UDP at twice $1 Mbit/s to $2 arrives at 99 to 100 % of the limit" \
		ratio_within 0.99 1 "$bytes" "$ns" "$1" "$(default_burst "$1")"
}

# A pause of TCP's refills the bucket: one burst above is right.
tcp() { # Mbit/s address least sentence port command-prefix…
	local bytes ns client frames rate=$1 to=$2 least=$3 sentence=$4 port=$5
	shift 5
	limit_to "$rate"
	lab_bg tcp host "$@" timeout $((SECONDS_EACH + 20)) iperf3 -c "$to" -M 1448 -p "$port" -t $((SECONDS_EACH + 2))
	client=$LAB_PID
	sleep 1
	read -r bytes frames ns < <(in_ns d1 "$FRAMES" sample eth0 "$SECONDS_EACH")
	wait "$client"
	note "$frames frames of $((bytes / frames)) bytes; $(awk '/sender/ { print $9 }' "$LAB_TMP/tcp") retransmissions"
	check "$sentence" ratio_within "$least" \
		"$(awk -v t="$SECONDS_EACH" 'BEGIN { print 1 + 0.25 / t }')" "$bytes" "$ns" "$rate" 0
}

lab_iperf_server d1 5201
check "GSO is on at the host" \
	sh -c "nsenter --net=/run/netns/$LAB-host ethtool -k h0 | grep -q '^generic-segmentation-offload: on'"
note "TCP congestion control: $(in_host sysctl -n net.ipv4.tcp_congestion_control)"
udp 1 "$(lab_dest4 1)" 1400
udp 100 "$(lab_dest6 1)" 1400
udp 1000 "$(lab_dest4 1)" 8900
tcp 100 "$(lab_dest4 1)" 0.85 "TCP with GSO reaches 85 % of 100 Mbit/s under police, default burst" 5201
tcp 1000 "$(lab_dest6 1)" 0.85 "TCP with GSO reaches 85 % of 1 Gbit/s under police, default burst" 5201

sentence="TCP keeps 95 % of 100 Mbit/s while one core floods denied 64-byte frames"
if [[ $(nproc) -lt 2 ]]; then
	skip "$sentence" "needs two CPUs"
else
	lab_iperf_server d1 5202 nice -n -10 taskset -c 0
	lab_bg flood host taskset -c 1 "$FLOOD" h0 $((SECONDS_EACH + 3)) "$(lab_mac dpu hpf0)" \
		"eth ip4 src=$HOST4 dst=10.99.0.1 udp fill=22"
	flood=$LAB_PID
	# Host and DPU share one kernel here: an idle CPU leaves its timers to a busy one (kernel 6.9),
	# TCP's retransmissions would then leave by the flooded CPU's queue and die in it.
	lab_bg awake host timeout $((SECONDS_EACH + 3)) taskset -c 0 chrt -i 0 sh -c 'while :; do :; done'
	tcp 100 "$(lab_dest4 1)" 0.95 "$sentence" 5202 nice -n -10 taskset -c 0
	wait "$flood"
	note "flood: $(cat "$LAB_TMP/flood" "$LAB_TMP/flood.err")"
	in_dpu "$CTL" reasons | sed 's/^/# /'
fi
done_testing
