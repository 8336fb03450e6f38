#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Real traffic against its limit: what the limiter passed, by its counters and the kernel's clock (bwl-tokens), and the same bytes at
# the destination's own interface. Ratios to the limit, never absolute speed: what the machine has to do beside changes nothing.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-traffic-$$ LAB_DESTS=1 LAB_MTU=9000
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
lab_up && lab_attach || exit 1
TOKENS=$LAB_BUILD/tests/harness/bwl-tokens
S=3 # seconds for which a limit has to refuse
! long || S=20

limit_to() { # Mbit/s
	{
		echo "peers:"
		lab_peer sink 1 "grant: { rate: ${1}mbit, mode: police }"
	} | lab_policy_head | lab_apply || exit 1
}
default_burst() { # Mbit/s: a quarter of a second, at least one GSO packet
	echo $(($1 * 31250 < 73728 ? 73728 : $1 * 31250))
}
passed() { in_dpu "$CTL" stats sink --json | jq '.peers[0].passed_bytes'; }
at_destination() { # of the bytes at its interface, those of sink; what the kernels say to each other is not
	awk -v a="$(lab_dest4 1)" -v b="$(lab_dest6 1)" '$2 == a || $2 == b { n += $5 } END { printf "%.0f\n", n }' "$LAB_TMP/at"
}
judged() { # Mbit/s, then as for bwl-tokens; sets excess, counted (bytes), allowed (bytes)
	lab_bg tokens dpu "$TOKENS" "$LAB_PINS" hpf0 $(($1 * 1000000)) "$(default_burst "$1")" "${@:2}"
	tokens=$LAB_PID
	lab_wait_for 60 grep -q ready "$LAB_TMP/tokens" || nok "the judge is ready"
}
verdict() {
	local ns
	wait "$tokens" || note "the judge gave up: $(cat "$LAB_TMP/tokens.err")"
	read -r _ excess _ counted _ allowed _ ns < <(grep '^excess' "$LAB_TMP/tokens")
	note "passed $counted bytes of $allowed in $((ns / 1000000)) ms; in no window more than $excess bytes above the rate"
}
# What may have been charged and is not counted yet, on each CPU.
in_hand() { echo $(($(nproc) * $1)); } # bytes of the largest packet
receives_on() { # before is what the counter has then
	before=$(passed)
	lab_bg at d1 "$FRAMES" count eth0
	counter=$LAB_PID
	lab_wait_for 60 grep -q ready "$LAB_TMP/at" || nok "the destination is counted"
}
receives_off() {
	lab_settle
	lab_stop "$counter"
	grep -q '^total .* lost 0$' "$LAB_TMP/at" || nok "its judge saw everything"
	received=$(at_destination)
	grown=$(($(passed) - before))
}

lost() { # frames that found a queue of the lab full, as a busy machine has them, behind the limiter
	local d
	for d in "dpu p0" "net s0" "net n1" "d1 eth0"; do
		ip -n "$LAB-${d% *}" -s -j link show dev "${d#* }"
	done | jq -s 'map(.[0].stats64 | .rx.dropped + .tx.dropped) | add'
}
udp_once() { # as for udp
	limit_to "$1"
	lost=$(lost)
	receives_on
	judged "$1" "$size" refusing $S
	# Several times the limit, until the judge has seen enough; by one CPU, since each may hold a share of the burst.
	# shellcheck disable=SC2016
	lab_bg udp host taskset -c 0 sh -c 'exec "$0" send h0 --gw "$1" --seconds 600 --pps "$2" <"$3"' \
		"$FRAMES" "$(lab_mac dpu hpf0)" "$4" "$LAB_TMP/frames"
	verdict
	lab_stop "$LAB_PID"
	receives_off
	lost=$(($(lost) - lost))
	note "$received bytes arrived, $grown were charged, $lost frames found a queue full"
}
udp() { # Mbit/s family payload pps
	local what="UDP beyond $1 Mbit/s over IPv$2" to headers=42 most
	[[ $2 -eq 4 ]] || headers=62
	local size=$(($3 + headers)) rate=$1
	to=$("lab_dest$2" 1)
	echo "eth ip$2 src=$([[ $2 -eq 4 ]] && echo $HOST4 || echo $HOST6) dst=$to udp fill=$3" >"$LAB_TMP/frames"
	# What its kernel would answer is the peer's, too.
	ip_in d1 route add blackhole 10.7.0.0/16
	ip_in d1 -6 route add blackhole fd00:7::/32
	# Where the machine has lost more than one in a hundred it is done again: what is lost is not compared. Where it gives the
	# sender so little that the limit never has to refuse for long enough, a quarter of it shows the same.
	for _ in 1 2 3 4; do
		most=$(($(default_burst "$rate") + $(in_hand $size)))
		udp_once "$rate" "${@:2}"
		few=$((lost * size * 100 <= grown))
		if [[ $allowed -le 0 && $excess -le $most && $rate -gt 1 ]]; then
			rate=$((rate > 4 ? rate / 4 : 1))
			note "the host cannot send so much here: again with a limit of $rate Mbit/s"
			continue
		fi
		[[ $few -eq 0 && $excess -le $most ]] || break
		note "again"
	done
	check "$what: in no window more than rate x time + burst passes" [ "$excess" -le $most ]
	check "$what: while some is refused, 99 % of what the limit allows passes" [ $((allowed > 0 && counted * 100 >= allowed * 99)) -eq 1 ]
	check "$what: that is what arrives, to the byte" \
		[ $((received <= grown && received + lost * size >= grown)) -eq 1 ]
	check "$what: of which queues of the lab lost at most 1 %" [ "$few" -eq 1 ]
	ip_in d1 route del blackhole 10.7.0.0/16
	ip_in d1 -6 route del blackhole fd00:7::/32
}

# TCP slows down by itself when it loses, so it has not always something to send; for a while it must have had, the burst not
# counted. Where the machine is too busy for twice the limit even without one, a quarter of it shows the same.
unlimited() { # address, port: Mbit/s that the host can send
	limit_to 100000
	lab_iperf 60 "$LAB_TMP/unlimited" host -c "$1" -M 1448 -p "$2" -t 5 --json
	jq '.end.sum_sent.bits_per_second // 0 | . / 1e6 | floor' "$LAB_TMP/unlimited"
}
tcp() { # sentence, per cent, Mbit/s, address, port, CPU
	local rate=$3 to=$4 port=$5 client can most on=()
	[[ -z ${6-} ]] || on=(taskset -c "$6")
	while :; do
		# One for each client: it refuses the next one for as long as it has not noticed that the last has gone.
		lab_iperf_server d1 "$port" "${on[@]}"
		limit_to "$rate"
		judged "$rate" 70000 using $S "$2"
		lab_bg tcp host "${on[@]}" iperf3 -c "$to" -M 1448 -p "$port" -t 600
		client=$LAB_PID
		verdict
		lab_stop "$client"
		most=$(($(default_burst "$rate") + $(in_hand 70000)))
		if [[ $excess -gt $most || $rate -le 4 ]] || ((allowed > 0 && counted * 100 >= allowed * $2)); then
			break
		fi
		can=$(unlimited "$to" "$port")
		note "without a limit: ${can:-0} Mbit/s"
		[[ ${can:-0} -lt $((2 * rate)) ]] || break
		lab_stop "$LAB_SERVER"
		rate=$((rate / 4))
		note "the host cannot send so much here: again with a limit of $rate Mbit/s"
	done
	lab_stop "$LAB_SERVER"
	check "$1" [ $((allowed > 0 && counted * 100 >= allowed * $2)) -eq 1 ]
	check "and in no window more than rate x time + burst" [ "$excess" -le "$most" ]
}

check "GSO is on at the host" \
	sh -c "nsenter --net=/run/netns/$LAB-host ethtool -k h0 | grep -q '^generic-segmentation-offload: on'"
note "TCP congestion control: $(in_host sysctl -n net.ipv4.tcp_congestion_control)"
udp 1 4 1400 2000
udp 100 6 1400 50000
udp 1000 4 8900 60000
tcp "TCP with GSO reaches 85 % of 100 Mbit/s under police, default burst" 85 100 "$(lab_dest4 1)" 5201
tcp "TCP with GSO reaches 85 % of 1 Gbit/s under police, default burst" 85 1000 "$(lab_dest6 1)" 5201

sentence="TCP keeps 95 % of 100 Mbit/s while one core floods denied 64-byte frames"
if [[ $(nproc) -lt 2 ]]; then
	skip "$sentence" "needs two CPUs"
else
	lab_bg flood host taskset -c 1 "$FLOOD" h0 600 "$(lab_mac dpu hpf0)" "eth ip4 src=$HOST4 dst=10.99.0.1 udp fill=22"
	flood=$LAB_PID
	# Host and DPU share one kernel here: an idle CPU leaves its timers to a busy one (kernel 6.9),
	# TCP's retransmissions would then leave by the flooded CPU's queue and die in it.
	lab_bg awake host taskset -c 0 chrt -i 0 sh -c 'while :; do :; done'
	awake=$LAB_PID
	refused_frames() { in_dpu "$CTL" reasons --json | jq '[.. | objects | select(.reason? == "no-peer") | .frames] | add // 0'; }
	floods() { [[ $(refused_frames) -gt $((flooded + 100000)) ]]; }
	flooded=$(refused_frames)
	check "one core floods denied frames" lab_wait_for 60 floods
	tcp "$sentence" 95 100 "$(lab_dest4 1)" 5202 0
	flooded=$(refused_frames)
	check "and still does" lab_wait_for 60 floods
	lab_stop "$flood"
	lab_stop "$awake"
	limit_to 100
	live "the flood of denied frames has ended"
fi
done_testing
