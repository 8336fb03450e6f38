# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# TAP for shell tests: source this, then ok/nok/check/skip, and `done_testing` last.

# The same modes, orders and words on every machine: an operator's shell, or a unit in which tests run, may have others.
umask 022
export LC_ALL=C
unset "${!BWLIMIT_@}" COLUMNS JOURNAL_STREAM NOTIFY_SOCKET CREDENTIALS_DIRECTORY SWANCTL_DIR

TAP_N=0
TAP_BAD=0

long() { [[ ${BWL_LONG:-0} == 1 ]]; } # ./run-tests --all: a test that draws a sample does all of it

# Each line of it: verify's own begin with "ok".
note() { printf '%s\n' "$@" | sed 's/^/# /'; }
ok() { printf 'ok %d - %s\n' $((++TAP_N)) "$*"; }
nok() {
	TAP_BAD=$((TAP_BAD + 1))
	printf 'not ok %d - %s\n' $((++TAP_N)) "$*"
}
skip() { printf 'ok %d - %s # SKIP %s\n' $((++TAP_N)) "$1" "$2"; } # sentence, reason
check() { # sentence, command…
	local sentence=$1
	shift
	if "$@"; then ok "$sentence"; else nok "$sentence"; fi
}
refute() { # sentence, command that must fail…
	local sentence=$1
	shift
	if "$@"; then nok "$sentence"; else ok "$sentence"; fi
}
# grep -q for the end of a pipe, which is read to its end: grep -q ends at the first match, what still writes then dies of
# SIGPIPE, and under pipefail the match is none.
grep_all() { # options and pattern of grep…
	local n
	n=$(grep -c "$@")
}
# Stops processes, and returns when every thread stands: the signal is only sent when kill returns, and a thread that has
# work then may still answer.
freeze_process() { # pid…
	local pid task line
	kill -STOP "$@" || return
	for pid in "$@"; do
		for task in "/proc/$pid/task/"*; do
			until { read -r line <"$task/stat"; } 2>/dev/null && [[ ${line##*) } == [TtZX]* ]] || [[ ! -d $task ]]; do
				sleep 0.01
			done
		done
	done
}
done_testing() {
	printf '1..%d\n' "$TAP_N"
	[[ $TAP_BAD -eq 0 && $TAP_N -gt 0 ]]
}
# Without etcd the whole test is skipped.
etcd_wanted() {
	[[ -x $(command -v etcd) && -x $(command -v etcdctl) ]] ||
		{ echo '1..0 # SKIP no etcd: packaging/install-deps fleet'; exit 77; }
}
# A test that calls a function that does not exist ends: it would otherwise go on without it. Names of functions have an
# underscore, those of programs, whose lack a test may be ready for, mostly none. bash calls this in a subshell, whose
# output may be redirected, so the test's own stderr is opened.
command_not_found_handle() {
	echo "$1: command not found" >&2
	[[ $1 == *_* ]] || return 127
	printf '# line %s: %s: no such function: the test ends\n' "${BASH_LINENO[0]}" "$1" >>"/proc/$$/fd/2"
	kill -TERM $$
	return 127
}

# Selects kills from a list: one of every STEP, starting at a position that differs from run to run, and of a shorter list
# one. KILL_SEED=N repeats a run's choice; KILL_ALL=1, or BWL_LONG=1 as in ./run-tests --all, makes all of them.
KILL_SEED=${KILL_SEED:-$RANDOM}
KILL_ALL=${KILL_ALL:-$(long && echo 1 || echo 0)}
kills_drawn() { # step
	awk -v step="$1" -v seed="$KILL_SEED" -v all="$KILL_ALL" '{ line[NR] = $0 }
		END { if (step > NR) step = NR; for (n = 1; n <= NR; n++) if (all || n % step == seed % step) print line[n] }'
}
# Where so many kills were drawn, enough hit: a run may make fewer calls than the one that they were drawn from.
killed_enough() { [[ $1 -ge 1 && $1 -ge $(($2 * 3 / 4)) ]]; } # hits, drawn
# The terms of signed documents on standard input, and what a document's version stands for.
doc_terms() { sed -n 's/^terms: //p'; }
doc_digest() { "$(dirname "${BASH_SOURCE[0]}")/signed_document.py" "$1"; } # file
# Damages one byte of a file. It is turned over: a constant that is written there may stand there already.
flip_byte() { # file, offset
	local was
	was=$(od -An -tu1 -j"$2" -N1 "$1")
	printf '%b' "\\x$(printf %02x $((${was:-0} ^ 255)))" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
# Kills the command at the entry of the Nth call of one kind, which is then not executed. Returns true if it was killed
# there. KILL_IN is put before strace: where it runs. strace counts the calls of each thread by itself; KILL_PATH: it counts
# those alone that name this file, as the call writes it. It uses a subshell, because bash reports the death of a child
# on its stderr.
KILL_IN=() KILL_PATH=
kill_at() { # call, number, command…
	(
		# Two process switches per system call: next to busy processes, each waits for its turn.
		"${KILL_IN[@]}" nice -n -10 strace -f -qq -o /dev/null ${KILL_PATH:+-P "$KILL_PATH"} -e trace="$1" \
			-e inject="$1:signal=KILL:when=$2" "${@:3}"
		exit $?
	) >/dev/null 2>&1 </dev/null
	[[ $? -eq 137 ]]
}
