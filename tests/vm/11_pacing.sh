#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Mode shape through ESP: what is over the burst waits in fq on the uplink for its departure time, which survives the tunnel
# device and encryption. Judged by the guest's clock, from before the first frame is sent, and by counted bytes: a slow
# machine sends later, and then nothing leaves earlier. 30_shape does it with TCP.
# vm-set: core
# vm-cost: 30
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-pacing-$$
for part in tests/harness/tap vm-testbed/topo/{trays,manual_sa}; do
	# shellcheck source=/dev/null
	. "$BWL_SOURCE/$part.sh"
done
RATE=1000000 BURST=10000 HORIZON_MS=500 # bit/s, bytes

policy() { # tray
	sa_tray_policy "$1" "grant: { rate: ${RATE}bit, burst: ${BURST}b, mode: shape }" |
		sed "s/^heartbeat:.*/&\nhorizon: ${HORIZON_MS}ms/"
}
reasons() { # reason field
	tray_ctl 1 --json reasons | jq "[.reasons[] | select(.port == \"pf0hpf\" and .reason == \"$1\") | .$2] | add // 0"
}
refused() { reasons peer-rate frames; }
charged() { reasons pass charged_bytes; }
throttled() {
	tc -n "$LAB-dpu1" -s qdisc show dev p0 | sed -n 's/.*throttled \([0-9]*\).*/\1/p' | awk '{ n += $1 } END { print n + 0 }'
}
# Sends frames as fast as the host can, and captures what leaves tray 1. Sets FRAME_BYTES (charged for each), REFUSED, HELD
# (by fq), BEGAN (s, before the first is sent) and, in times, when each left.
blast() { # capture frames
	local was_charged was_refused was_held
	capture_start "$1" s1
	was_charged=$(charged) was_refused=$(refused) was_held=$(throttled)
	BEGAN=$(date +%s.%N)
	in_ns host1 "$FRAMES" send h0 --gw "$(tray_mac 1 2)" --count "$2" \
		<<<"eth ip4 src=10.0.1.2 dst=10.0.2.2 udp dport=9 fill=958" >/dev/null
	REFUSED=$(($(refused) - was_refused))
	FRAME_BYTES=$((($(charged) - was_charged) / ($2 - REFUSED)))
	all_left() { [[ $(capture_count "$1" 'ip proto 50 and greater 1000') -ge $2 ]]; }
	lab_wait_for 60 all_left "$1" $(($2 - REFUSED))
	check "the capture is whole" capture_stop "$1"
	HELD=$(($(throttled) - was_held))
	capture_times "$1" 'ip proto 50 and greater 1000' >"$LAB_TMP/times"
	note "$2 frames of $FRAME_BYTES bytes: $REFUSED refused, fq held back $HELD," \
		"  the last left after $(awk -v b="$BEGAN" 'END { print $1 - b }' "$LAB_TMP/times") s"
}
left() { [[ $(wc -l <"$LAB_TMP/times") -eq $1 ]]; } # frames
# None left before the bucket had its bytes: by then rate × T + burst covers it and all before it.
none_early() {
	awk -v b="$BEGAN" -v rate=$RATE -v burst=$BURST -v size="$FRAME_BYTES" '
		{ most = rate / 8 * ($1 - b) + burst }
		NR * size > most + 1 && bad++ < 3 { printf "# %d bytes left in %.6f s: %d may\n", NR * size, $1 - b, most }
		END { exit bad || NR == 0 }' "$LAB_TMP/times"
}

trays_up 2 || exit 1
for n in 1 2; do
	check "tray $n attaches, with fq on its uplink" tray_attach $n --tunnel bwl0 --pace
	check "and takes a policy of mode shape" tray_apply $n < <(policy $n)
done
if ! tray_load 1 probe --json | jq -e '.features[] | select(.id == "departure-times") | .works' >/dev/null; then
	# 30_shape shows what such a kernel does instead.
	if [[ $(uname -r | awk -F. '{ print $1 * 1000 + $2 }') -ge 6011 ]]; then
		nok "this kernel keeps departure times"
	else
		skip "what is over the burst waits for its departure time" "the kernel forgets departure times"
	fi
	done_testing
	exit
fi
check "shape is in force" test "$(tray_ctl 1 --json peer show tray-2 | jq -r .mode_in_force)" = shape
check "by fq" grep -q 'qdisc fq ' <(tc -n "$LAB-dpu1" qdisc show dev p0)
sa_pair 1 2
sa_usable 1 "$(sa_if_id 1 tray-2)" 3
sa_usable 2 "$(sa_if_id 2 tray-1)" 3
warm() { in_ns host1 ping -q -c 1 -W 2 10.0.2.2 >/dev/null; }
check "a ping passes" lab_wait_for 60 warm
in_ns host1 "$FRAMES" send h0 --count 1 <<<"eth ip4 src=10.9.9.9 dst=10.0.2.2 udp" >/dev/null # it is read from the disk

blast within 40 # 40 kB: the last one waits for 240 ms of the horizon's 500
check "what fits into burst and horizon is not refused" test "$REFUSED" -eq 0
check "and all of it leaves" left 40
check "fq held it back" test "$HELD" -gt 0
check "none left before its time, by rate x T + burst" none_early

blast beyond 300
check "what would wait longer than the horizon is refused" test "$REFUSED" -gt 0
check "all else leaves" left $((300 - REFUSED))
check "and none before its time" none_early
leak_end
done_testing
