#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# vm-testbed without a guest: the groups of scripts, what a run without a VM says, and how outputs are judged.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_dir=${BWL_SOURCE:-${here%/*/*}}
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
lib=$source_dir/vm-testbed/lib results=$tmp/results

# ---- Groups
vm=$source_dir/tests/vm groups=$source_dir/vm-testbed/groups
scripts() { (cd "$vm" && printf '%s\n' [0-9]*.sh | sed 's/\.sh$//' | sort); }
says() { (cd "$vm" && grep -lE "^# vm-$1" [0-9]*.sh | sed 's/\.sh$//' | sort); }
group() { sed -n "s/^$1 //p" "$groups" | tr ' ' '\n' | sed '/^--/d'; } # its scripts
sed '/^#/d; /^$/d; s/^[^ ]* //; s/^--icount //' "$groups" | tr ' ' '\n' | sort >"$tmp/grouped"
check "each script of tests/vm is in one group, and no other word is" diff <(scripts) "$tmp/grouped"
check "each says what it costs" diff <(scripts) <(says 'cost: *[1-9][0-9]*$')
check "the core's group has those that say so" diff <(says 'set: *core$') <(group core | sort)
check "those that count instructions are in groups of that clock" \
	diff <(says 'icount: *yes$') <(sed -n 's/^[^ ]* --icount //p' "$groups" | tr ' ' '\n' | sort)
# A script judges what its trays send at the far end (topo/leak.sh), says why not, or is another one with other words.
watching() { # folder: names that are none of it, or more than one
	local f n
	for f in "$1"/[0-9]*.sh; do
		n=0
		! grep -qE '^[[:space:]]*leak_end$|lib/kills\.sh"|lib/offload\.sh"' "$f" || n=$((n + 1))
		! grep -qE '^# leak: .' "$f" || n=$((n + 1))
		! grep -qE 'exec bash .*\.sh"' "$f" || n=$((n + 1))
		[[ $n -ge 1 ]] || basename "$f"
	done
}
unwatched=$(watching "$vm")
[[ -z $unwatched ]] || note "without a leak watch: $unwatched"
check "each watches what leaves its trays, or says why not" test -z "$unwatched"
mkdir "$tmp/vm"
printf 'trays_up 2\ndone_testing\n' >"$tmp/vm/01_blind.sh"
check "control: one that does neither is found" test "$(watching "$tmp/vm")" = 01_blind.sh
apart() { # a libc of its own
	local name
	for name in $(says 'needs:.*strongswan6'); do grep -qx "[^ ]* $name" "$groups" || return; done
}
check "what has a guest of its own is alone" apart
# A boot and its scripts: a group of a slice fits into it beside others, and --all has the rest.
BOOT=30
cost() { # group
	local name all=$BOOT
	for name in $(group "$1"); do all=$((all + $(sed -n 's/^# vm-cost: *//p' "$vm/$name.sh"))); done
	echo "$all"
}
affordable() {
	local name most rc=0
	while read -r name _; do
		case $name in core) most=150 ;; all_*) continue ;; *) most=200 ;; esac
		[[ $(cost "$name") -le $most ]] || { note "$name costs $(cost "$name") s of $most"; rc=1; }
	done < <(sed '/^#/d; /^$/d' "$groups")
	return $rc
}
check "the core costs 150 s at most, a group of a slice 200" affordable

# ---- Jobs
jobs() { # test…
	rm -rf "$results"
	mkdir "$results"
	VM_CACHE=$tmp python3 "$lib/jobs.py" "$source_dir" "$tmp" "$results" 6.12 "$@" >"$tmp/out" 2>"$tmp/err"
}
core_jobs() {
	# shellcheck disable=SC2046 # words
	jobs $(group core) && [[ $(find "$results" -name '*.job' | wc -l) -eq $(group core | wc -l) ]]
}
check "each script of the core has a job" core_jobs
refute "no time limit of theirs is below ten minutes" eval 'grep -LE "^([6-9][0-9]{2}|[0-9]{4,})$" "$results"/*.timeout | grep .'
refute "one that counts instructions is refused in another guest" jobs "$(says 'icount: *yes$' | head -n 1)"
check "with the next step" grep -q 'needs vm-testbed/run --icount$' "$tmp/err"
refute "what is no test is refused" jobs no_such_test

# ---- Without a VM
required() { # options of run…: in a cache that is empty, without a network
	BWL_VM_CACHE=$tmp/cache "$source_dir/vm-testbed/run" --no-install "$@" >"$tmp/out" 2>&1
}
required 10_tunnel
check "a run by hand that gets no VM says 77" test $? -eq 77
required --required --group core
check "one that needs it has failed" test $? -eq 1
check "with the reason first" eval 'head -n 1 "$tmp/out" | grep_all "^no VM here: "'
check "and the next step" grep -q 'packaging/install-deps vm' "$tmp/out"
required --group no_such_group
check "a group that is not there is wrong usage" test $? -eq 2

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
