# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034 # variables are for who sources this
# Two trays with SAs made by hand between them, for real programs that send through the tunnel; and
# a count of what arrives, made without bwlimit. Source this after vm-testbed/topo/*.sh.

workload_policy() { # own number, other number, rate, classes
	local grant="grant: { rate: ${3}mbit, burst: ${WORKLOAD_BURST}b, mode: ${WORKLOAD_MODE:-shape} }"
	# When an emulated guest pauses, all packets that waited in fq leave at once: only few should wait.
	sa_tray_policy "$1" "$grant, accept: { rate: 1gbit }, classes: { $4 }" | sed 's/^heartbeat:.*/&\nhorizon: 10ms/'
}
WORKLOAD_BURST=150000

workload_up() { # rate of tray 1, of tray 2, classes
	local n
	trays_up 2 || return
	for n in 1 2; do
		tray_attach $n --tunnel bwl0 --pace &&
			tray_apply $n < <(workload_policy $n $((3 - n)) "${!n}" "$3") || return
		# What a host receives is counted as frames on a cable.
		in_ns dpu$n ethtool -K pf0hpf tso off gso off tx-udp-segmentation off >/dev/null
		in_ns host$n ethtool -K h0 gro off
	done
	sa_pair 1 2
	sa_usable 1 "$(sa_if_id 1 tray-2)" 3
	sa_usable 2 "$(sa_if_id 2 tray-1)" 3
	in_ns host1 ping -q -c 2 -W 5 10.0.2.2 >/dev/null
}

# Bytes that the tray's host has sent, as its DPU charged them to the grant of its only peer.
charged_at() { # tray
	tray_ctl "$1" --json reasons |
		jq '[.reasons[] | select(.port == "pf0hpf" and .reason == "pass") | .charged_bytes] | add // 0'
}
frames_of() { # tray reason: at its host port, so far
	tray_ctl "$1" --json reasons |
		jq "[.reasons[] | select(.port == \"pf0hpf\" and .reason == \"$2\") | .frames] | add // 0"
}

# Records the frames that a host's device receives: time and length of each, by tcpdump.
arrivals_start() { # name namespace (or '': the first) device filter
	${2:+nsenter --net="/run/netns/$LAB-$2"} tcpdump -nn -tt -e -q -l -Q in -s 64 -B 16384 -i "$3" "$4" \
		>"$LAB_TMP/$1.arrivals" 2>"$LAB_TMP/$1.arrivals.err" &
	ARRIVALS_PID=$!
	LAB_PIDS+=("$ARRIVALS_PID")
	lab_wait_for 30 grep -q 'listening on' "$LAB_TMP/$1.arrivals.err"
}
# Sets arrived (bytes), lasted (s), and excess: the most bytes above rate × T that any window
# passed. One pass: the fill of a bucket that leaks at the rate.
arrivals_stop() { # name rate-in-mbit
	lab_wait_for 20 capture_written "$ARRIVALS_PID" "$LAB_TMP/$1.arrivals.err"
	lab_stop "$ARRIVALS_PID"
	read -r arrived lasted excess < <(sed -n 's/^\([0-9.]*\) .*, length \([0-9]*\):.*/\1 \2/p' "$LAB_TMP/$1.arrivals" |
		awk -v rate="$2" '
			{ if (NR == 1) first = $1; else level -= ($1 - last) * rate * 125000
			  if (level < 0) level = 0
			  level += $2; bytes += $2; last = $1
			  if (level > worst) worst = level }
			END { printf "%d %.3f %d\n", bytes, last - first, worst }')
	note "$1: $arrived bytes in $lasted s, $(awk -v b="$arrived" -v t="$lasted" 'BEGIN { printf "%.2f", t ? b * 8e-6 / t : 0 }') Mbit/s of $2, worst window $excess bytes above"
}
# What the limit lets pass above the rate in the worst window: the burst, and what the horizon (10 ms) and a
# guest with two emulated CPUs may delay: 50 ms.
burst_at() { # rate-in-mbit
	echo $((WORKLOAD_BURST + $1 * 125000 * 60 / 1000))
}
