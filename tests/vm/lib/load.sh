# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Two hosts that send more than they may, with the marker in each frame, and a count of what leaves
# the other host's port, in windows of a second and in total. Source this after
# mesh.sh and capture.sh. The sender's grant is judged, so the policy's `accept` must be larger.
#
#   load_begin            # host1 sends LOAD_PPS frames a second, host2 half as many
#   …
#   load_end; check "…" load_within 1 4000000 70000 0.3

LOAD_PPS=800
LOAD_LATE=0.05
LOAD_PIDS=()

# 42 bytes of headers and 1008 of marker: 1050 bytes at the host port.
load_send() { # from to pps
	local payload
	payload=$(printf "$MARKER%.0s" {1..63} | od -v -An -tx1 | tr -d ' \n')
	echo "eth ip4 src=10.0.$1.2 dst=10.0.$2.2 udp dport=9 hex=$payload" >"$LAB_TMP/load.spec$1"
	nsenter --net="/run/netns/$LAB-host$1" "$FRAMES" send h0 --gw "$(tray_mac "$1" 2)" --seconds 7200 \
		--pps "$3" <"$LAB_TMP/load.spec$1" >/dev/null 2>&1 &
	LOAD_PIDS+=("$!")
	LAB_PIDS+=("$!")
}
# Prints windows, until it is stopped.
load_count() { # from to
	local file=$LAB_TMP/load.windows$1
	: >"$file"
	while in_ns "host$2" "$FRAMES" sample h0 1 >>"$file" 2>/dev/null; do :; done &
	LOAD_PIDS+=("$!")
	LAB_PIDS+=("$!")
}
load_now() { # host: "BYTES NANOSECONDS", the count is read first, so that the time at the end is not too short
	printf '%s %s\n' "$(lab_rx "host$1" h0 | cut -d ' ' -f 1)" "$(date +%s%N)"
}
# ping runs first and last: it requests time stamps from the kernel, which patches the receive path, and QEMU's
# emulation of two CPUs does not always survive that under load (observed: int3 in __netif_receive_skb_core).
load_begin() {
	LOAD_PIDS=()
	marker_start host1 10.0.2.2 0.5
	marker_start host2 10.0.1.2 0.5
	load_now 2 >"$LAB_TMP/load.from1"
	load_now 1 >"$LAB_TMP/load.from2"
	load_count 1 2
	load_count 2 1
	load_send 1 2 $LOAD_PPS
	load_send 2 1 $((LOAD_PPS / 2))
}
load_end() {
	kill "${LOAD_PIDS[@]}" 2>/dev/null
	wait "${LOAD_PIDS[@]}" 2>/dev/null
	marker_stop
	sleep 0.5 # for frames in flight
	load_now 2 >>"$LAB_TMP/load.from1"
	load_now 1 >>"$LAB_TMP/load.from2"
}
# Never more than rate × T + burst, in any window and in total; and at least a share of the rate in total, since silence
# proves nothing. A frame is counted behind two trays, after it was charged: what a window holds may have left the gate
# up to LOAD_LATE s before it began, since an emulated CPU that stands still delays frames by as much (15 ms were seen). The
# total, which begins with nothing in flight, gets no such allowance.
load_within() { # from rate burst least
	awk 'NR == 1 { b = $1; t = $2 } END { print $1 - b, 0, $2 - t }' "$LAB_TMP/load.from$1" |
		cat - "$LAB_TMP/load.windows$1" | awk -v r="$2" -v burst="$3" -v from="$1" -v least="$4" -v late=$LOAD_LATE '
		NF == 3 && $3 > 0 {
			most = r * ($3 / 1e9 + (NR > 1) * late) / 8 + burst
			if (NR == 1) {
				all = $1 * 8e9 / $3 / r
				printf "# from host%d: %d bytes in %.1f s, %.2f %% of the rate\n", from, $1, $3 / 1e9, 100 * all
			} else if ($1 / most > worst)
				worst = $1 / most
			if ($1 > most) {
				printf "# %d bytes in %.3f s: %d too many\n", $1, $3 / 1e9, $1 - most
				bad = 1
			}
		}
		END {
			printf "# %d windows, in the fullest %.1f %% of what may be\n", NR - 1, 100 * worst
			exit bad || NR < 2 || all < least
		}'
}
