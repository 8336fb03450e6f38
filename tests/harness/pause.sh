# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Between two looks at something that is to come: sleeps at least so many microseconds, and twice as long as the last look
# took (at most 2 s), so that a test that waits takes at most a third of a CPU.
pause_since() { # microseconds, when the look began: ${EPOCHREALTIME/[.,]/}
	local us=$((2 * (${EPOCHREALTIME/[.,]/} - $2)))
	us=$((us < $1 ? $1 : us > 2000000 ? 2000000 : us))
	printf -v us '%d.%06d' $((us / 1000000)) $((us % 1000000))
	sleep "$us"
}
