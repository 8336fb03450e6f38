#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# vm-testbed/lib without a guest: which scripts take turns, and how a run's outputs are judged.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_dir=${BWL_SOURCE:-${here%/*/*}}
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
lib=$source_dir/vm-testbed/lib results=$tmp/results

# ---- Turns
jobs() { # turn [source]
	rm -rf "$results"
	mkdir "$results"
	VM_TURN=$1 VM_CACHE=$tmp python3 "$lib/jobs.py" "${2:-$source_dir}" "$tmp" "$results" 6.12 >"$tmp/out" 2>"$tmp/err"
}
chosen() { sed -n 's/^# turn .*): //p' "$tmp/out" | tr ' ' '\n'; }
jobs 0
groups=$(sed -n 's/^# turn 0 of \([0-9]*\) .*/\1/p' "$tmp/out")
for ((i = 0; i < groups; i++)); do
	jobs $i && chosen >"$tmp/group$i"
	[[ $(wc -l <"$tmp/group$i") -le 4 && $(find "$results" -name '*.job' | wc -l) -eq $(wc -l <"$tmp/group$i") ]] ||
		nok "group $i has four scripts at most, and a job for each"
done
cat "$tmp"/group* | sort >"$tmp/in-turn"
says() { (cd "$source_dir/tests/vm" && grep -lE "^# vm-($1)" [0-9]*.sh | sed 's/\.sh$//' | sort); }
comm -23 <(says 'long: *yes') <(says '(once|quiet|icount): *yes|cpus:|needs:.*strongswan6') >"$tmp/should"
check "each long script takes its turn once, but those that need a guest of their own, the longest, and what judges speed" \
	diff "$tmp/should" "$tmp/in-turn"
check "in five groups or more" test "$groups" -ge 5
refute "a turn that is no number is refused" jobs first
check "with the accepted ones" grep -qx "VM_TURN is 'first': commit, or a number from 0 to $((groups - 1))" "$tmp/err"

mkdir -p "$tmp/source/tests/vm"
for i in {10..19}; do printf '#!/bin/bash\n# vm-long: yes\n' >"$tmp/source/tests/vm/${i}_x.sh"; done
git_in() { git -C "$tmp/source" -c user.name=t -c user.email=t@example.org -c commit.gpgsign=false "$@" >/dev/null 2>&1; }
git_in init && git_in commit --allow-empty -m one
by_hash() { # the group that the first 60 bits of the commit's hash decide
	local hash
	hash=$(git -C "$tmp/source" rev-parse HEAD)
	jobs commit "$tmp/source" && grep -q "^# turn $((16#${hash:0:15} % 3)) of 3 (commit ${hash:0:12}): " "$tmp/out"
}
check "a commit's hash decides whose turn it is" by_hash
git_in commit --allow-empty -m two
check "that of the next commit, again" by_hash
rm -rf "$tmp/source/.git"
check "without git it is the first group's" eval 'GIT_CEILING_DIRECTORIES=$tmp jobs commit "$tmp/source" && grep -q "^# turn 0 of 3 (no commit is known)" "$tmp/out"'

# ---- Results
rm -rf "$results"
mkdir "$results"
job() { # name exit-status|'' output
	printf 360 >"$results/$1.timeout"
	[[ -z $3 ]] || printf '%b' "$3" >"$results/$1.out"
	[[ -z $2 ]] || echo "$2" >"$results/$1.rc"
}
judged() { # exit status; the TAP is in out
	python3 "$lib/results.py" "$results" >"$tmp/out"
	[[ $? -eq $1 ]]
}
line() { grep -qxE "$1" "$tmp/out" || { sed 's/^/#  /' "$tmp/out"; false; }; }
job 000-good 0 'ok 1 - it works\nok 2 - it waits # SKIP no clock\n# a note\n1..2\n'
: >"$results/done"
check "a run whose tests pass is passed" judged 0
check "its cases have their test's name" line 'ok 1 - good: it works'
check "a skipped case keeps its reason" line 'ok 2 - good: it waits # SKIP no clock'
check "notes are shown" line '# a note'
job 001-bad 1 'ok 1 - begins\nnot ok 2 - ends\n1..2\n'
job 002-short 0 'ok 1 - begins\n1..3\n'
job 003-late 1 'ok 1 - all is well\n1..1\n'
job 004-skips 77 '1..0 # SKIP no device\n'
job 005-slow 124 'ok 1 - begins\n'
job 006-cut '' 'ok 1 - begins\n'
job 007-never '' ''
job 008-silent 3 ''
check "one whose tests fail is failed" judged 1
check "a case that failed" line 'not ok [0-9]+ - bad: ends'
check "a test that ended before its last case" line 'not ok [0-9]+ - short: 1 of 3 planned cases ran'
check "one that failed after it" line 'not ok [0-9]+ - late: exit status 1 after its last case'
check "one that was skipped as a whole" line 'ok [0-9]+ - skips # SKIP no device'
check "one that took too long" line 'not ok [0-9]+ - slow: stopped after 360 s'
check "one during which the guest ended" line 'not ok [0-9]+ - cut: the guest ended while it ran'
check "one that the guest did not begin" line 'not ok [0-9]+ - never: the guest ended before it began'
check "one that says nothing and fails" line 'not ok [0-9]+ - silent: exit status 3'
check "the plan counts all of them" eval '[[ $(grep -cE "^(not )?ok " "$tmp/out") -eq $(sed -n "s/^1\.\.//p" "$tmp/out") ]]'

rm "$results"/00[1-8]*
echo 'int3: 0000 [#1] PREEMPT SMP' >"$results/console.1.log"
check "an int3 after which the guest was booted again fails nothing" judged 0
echo 'BUG: unable to handle page fault' >"$results/console.2.log"
check "what went wrong in a kernel before that does" judged 1
rm "$results"/console.*
echo 'int3: 0000 [#1] PREEMPT SMP' >"$results/console.log"
check "so does an int3 of the last boot" judged 1
check "and is named" line "not ok [0-9]+ - the guest's kernel: int3: 0000 \[#1\] PREEMPT SMP"
done_testing
