# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Stops a run of probe --try-hardware while the kernel holds something that it made. Source this after tap.sh
# and lab.sh. PROBE is then its process, CLEANER the process that removes what it made.

# shellcheck disable=SC2034 # scripts that source this use them
PROBE='' CLEANER=''

tries() { # ports…: text
	in_dpu "$LOAD" probe "$@" --try-hardware >"$LAB_TMP/out" 2>"$LAB_TMP/err"
}
# Stops it at the entry of the first system call whose line in strace matches.
probe_hold() { # regex ports…
	local regex=$1 n
	shift
	in_dpu strace -qq -e signal=none -e trace=sendto -o "$LAB_TMP/trace" \
		"$LOAD" probe "$@" --try-hardware >/dev/null 2>&1
	n=$(grep -n -m 1 "$regex" "$LAB_TMP/trace" | cut -d: -f1)
	[[ -n $n ]] || { note "no request $regex"; return 1; }
	rm -f "$LAB_TMP/pid" "$LAB_TMP/stop"
	# shellcheck disable=SC2016 # the inner shell expands it
	in_dpu strace -qq -e trace=sendto -e inject="sendto:signal=STOP:when=$n" -o "$LAB_TMP/stop" \
		sh -c 'echo $$ >"$1"; shift; exec "$@"' sh "$LAB_TMP/pid" \
		"$LOAD" probe "$@" --try-hardware >/dev/null 2>&1 &
	disown
	lab_wait_for 120 probe_is_held || return 1
	PROBE=$(<"$LAB_TMP/pid")
	CLEANER=$(pgrep -P "$PROBE")
	[[ -n $CLEANER ]]
}
probe_is_held() { grep -qs 'stopped by SIGSTOP' "$LAB_TMP/stop"; }
probe_gone() { ! kill -0 "$PROBE" 2>/dev/null && ! kill -0 "$CLEANER" 2>/dev/null; }
# Kills both, first the one that would clean up.
probe_kill_both() {
	kill -KILL "$CLEANER" && kill -KILL "$PROBE" && lab_wait_for 20 probe_gone
}
