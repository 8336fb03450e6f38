#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# run-tests itself: which set it runs, its reaction to tests that fail, pass the second time, or print nothing. Its tests are
# scripts of a few lines here, run by the real ctest; nothing is built.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tap.sh
. "$here/tap.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/bin" "$work/build/dev" "$work/build/release" "$work/pins"
export BWL_SWEEP_PINS=$work/pins # not this machine's
cp "$here/../../run-tests" "$work/"
printf '#!/bin/sh\n' >"$work/bin/cmake"
chmod +x "$work/bin/cmake"

# A test with label netns, of set SET; its body is bash, with `again` true in its second run.
SET=slice_1
a_test() { # name body [property value…]
	{
		printf '#!/usr/bin/env bash\nagain() { [[ $(wc -l <%q) -gt 1 ]]; }\necho run >>%q\n' "$work/tests/$1.runs" "$work/tests/$1.runs"
		printf '%s\n' "$2"
	} >"$work/tests/$1"
	chmod +x "$work/tests/$1"
	{
		printf 'add_test(netns.%s "%s")\n' "$1" "$work/tests/$1"
		printf 'set_tests_properties(netns.%s PROPERTIES LABELS "netns;%s" SKIP_RETURN_CODE 77%s)\n' "$1" "$SET" "${3:+ $3}"
	} >>"$work/build/release/CTestTestfile.cmake"
}
none() {
	rm -rf "$work"/tests "$work"/build/*/CTestTestfile.cmake "$work"/build/*/Testing
	mkdir -p "$work/tests/harness"
	cp "$here/sweep" "$here/commit_number" "$work/tests/harness/"
}
ran() { wc -l <"$work/tests/$1.runs"; }
WHAT=(--slice 1)
runs() { # expected exit status: run-tests gives it
	local is
	PATH=$work/bin:$PATH "$work/run-tests" --no-install "${WHAT[@]}" >"$work/out" 2>&1
	is=$?
	[[ $is -eq $1 ]] || { sed 's/^/# /' "$work/out"; false; }
}
last() { # line: it is the last line of the output
	[[ $(tail -n 1 "$work/out") == "$1" ]] || { note "it says: $(tail -n 1 "$work/out")"; false; }
}
says() { grep -qF -- "$1" "$work/out" || { sed 's/^/# /' "$work/out"; false; }; }
# Runs long enough for the other test to begin: ctest starts both before it waits for either.
beside='echo "ok 1 - it stands beside the other"; echo 1..1; sleep 1'
first_time='sleep 0.5; if again; then echo "ok 1 - it is in time"; echo 1..1; else echo "waited for it"; echo "not ok 1 - it is in time"; echo 1..1; exit 1; fi'

none
a_test good "$beside"
a_test skips 'echo "no such device"; exit 77'
check "where all pass, the exit status is 0" runs 0
check "passed and skipped are counted" last '1 passed, 0 failed, 0 unsteady, 1 skipped'

none
a_test bytes 'printf "ok 1 - caf\xe9\nok 2 - the next line\n1..2\n"'
LC_ALL=C.UTF-8 check "bytes that are no text lose no case" runs 0
check "all are counted" last '2 passed, 0 failed, 0 unsteady, 0 skipped'

none
a_test other "$beside"
a_test slow "$first_time"
check "a test that fails beside others and passes alone fails nothing" runs 0
check "its cases are those of the second try, and it is counted as unsteady" last '2 passed, 0 failed, 1 unsteady, 0 skipped'
check "it ran twice, the other one once" eval '[[ $(ran slow) -eq 2 && $(ran other) -eq 1 ]]'
summary() { sed -n '/^Unsteady: netns\.slow /,$p' "$work/out"; }
check "the summary names it, with what it said the first time" \
	eval 'summary | grep_all "^waited for it" && summary | grep_all "^not ok 1 - it is in time"'

none
a_test other "$beside"
a_test broken 'sleep 0.5; again && echo "the second time"; echo "not ok 1 - it works"; echo 1..1; exit 1'
check "one that fails alone, too, fails" runs 1
check "it is counted once" last '1 passed, 1 failed, 0 unsteady, 0 skipped'
check "its second output is shown" says 'the second time'
check "it ran twice" eval '[[ $(ran broken) -eq 2 ]]'

none
a_test other "$beside"
a_test alone "$first_time" 'RUN_SERIAL ON'
check "a test that was alone is not given a second try" runs 1
check "it ran once" eval '[[ $(ran alone) -eq 1 ]]'
check "it is counted as failed" last '1 passed, 1 failed, 0 unsteady, 0 skipped'

none
a_test slow "$first_time"
check "nor is one that had nobody beside it, although it may" runs 1
check "it is counted as failed, too" last '0 passed, 1 failed, 0 unsteady, 0 skipped'

none
a_test other "$beside"
a_test dies.x 'sleep 0.5; echo 1..2; echo "ok 1 - it begins"; again && echo "ok 2 - it ends"'
a_test diesyx "$beside"
a_test dies.xx "$beside"
check "one that ended before its last case has a second try as well" runs 0
check "and is unsteady" last '5 passed, 0 failed, 1 unsteady, 0 skipped'
check "only it runs again" eval '[[ $(ran dies.x) -eq 2 && $(ran diesyx) -eq 1 && $(ran dies.xx) -eq 1 ]]'

none
a_test other "$beside"
a_test gone 'sleep 0.5; again && exit 77; echo "not ok 1 - it is in time"; echo 1..1; exit 1'
check "one that does not run the second time fails" runs 1
check "and is not unsteady" last '1 passed, 1 failed, 0 unsteady, 1 skipped'

none
a_test half 'echo 1..2; echo "ok 1 - it begins"; exit 77'
a_test both 'echo "not ok 1 - it works # SKIP it may not matter"; echo 1..1; exit 1'
check "one that says 77 in the middle fails" eval 'runs 1 && says "netns.half: 1 of 2 planned cases ran"'
check "and a case that failed is not skipped" says 'netns.both: it works'

none
for i in {1..6}; do a_test "slow$i" "$first_time"; done
check "where more than five fail, none has a second try" runs 1
check "and each is counted as failed" last '0 passed, 6 failed, 0 unsteady, 0 skipped'

# ---- What stands still
none
a_test still 'echo 1..2; echo "ok 1 - it begins"; echo "waits for what never comes"; sleep 600' 'TIMEOUT 1'
check "a test that stands still fails" eval 'runs 1 && says "netns.still: 1 of 2 planned cases ran: Timeout"'
check "what it said is shown" says 'waits for what never comes'

none
a_test holds "echo 1..1; echo 'ok 1 - it works'; setsid sleep 600 & echo \$! >'$work/tests/held'" 'TIMEOUT 1'
check "one that leaves something which holds its output fails, too" eval 'runs 1 && says "netns.holds: Timeout after its last case"'
kill "$(<"$work/tests/held")"

none
arrived="until grep -qs 'waits for ctest' '$work'/tmp/*/*; do sleep 0.1; done"
mkdir "$work/tmp"
a_test stops "echo 1..1; echo 'waits for ctest'; $arrived; kill -STOP \$PPID; sleep 600" 'TIMEOUT 1'
check "where ctest does not end it, the run ends all the same" \
	eval 'TMPDIR=$work/tmp BWL_LOOK_EVERY=1 BWL_STUCK_AFTER=1 runs 1 && says "netns.stops: ctest gave no result"'
check "before, it says what it waits for" eval 'grep -q "^== running: netns\.stops (" "$work/out"'
check "and shows what the test said" eval 'sed -n "/output of netns.stops/,\$p" "$work/out" | grep_all "^waits for ctest"'

# ---- Sets
none
SET=core
a_test other "$beside"
a_test slow "$first_time"
WHAT=(--core)
check "a test of the core has one try" runs 1
check "and ran once" eval '[[ $(ran slow) -eq 1 ]]'
check "what it said is shown" says 'waited for it'

none
for SET in core slice_1 slice_2 drawn all; do a_test "$SET" 'echo "ok 1 - it runs, BWL_LONG is ${BWL_LONG:-unset}"; echo 1..1'; done
sets_ran() { # set…: these and no others, once each, and for the first time
	local at expected=" $* " found=' '
	for at in core slice_1 slice_2 drawn all; do
		[[ ! -e $work/tests/$at.runs ]] || found+="$at "
		rm -f "$work/tests/$at.runs"
	done
	[[ $found == "$expected" ]] || { note "$found ran"; sed 's/^/# /' "$work/out"; false; }
}
set_commits() { # in the work folder's history, so many
	rm -rf "$work/.git"
	git -C "$work" init -q
	for ((i = 0; i < $1; i++)); do
		git -C "$work" -c user.name=x -c user.email=x commit -q --allow-empty -m "$i"
	done
}
set_commits 2
WHAT=()
check "run-tests runs the core and a slice" runs 0
check "which is the first for an even number of commits" sets_ran core slice_1 drawn
check "it says which" says 'slice 1 of 2, for commit 2'
set_commits 3
check "for an odd number" runs 0
check "the second" sets_ran core slice_2 drawn
git clone -q --depth 1 "file://$work" "$work/shallow" && rm -rf "$work/.git" && mv "$work/shallow/.git" "$work/.git"
check "in a shallow clone the commit's hash takes turns" eval 'runs 0 && says "of a shallow clone"'
rm -rf "$work/.git" "$work/shallow" "$work"/tests/*.runs
WHAT=(--core)
check "--core" runs 0
check "runs the core alone" sets_ran core
WHAT=(--slice 2)
check "--slice" runs 0
check "runs that slice alone, and the planted faults that are drawn" sets_ran slice_2 drawn
WHAT=(--slice 3)
check "a slice that there is not is wrong use" runs 2
check "and how many there are is said" says 'there are 2 slices'
WHAT=(--label netns)
check "--label" runs 0
check "runs the core's tests of that rung" sets_ran core
WHAT=(--slice 2 --core)
check "two sets at once are wrong use" eval 'runs 2 && says "usage: run-tests"'
WHAT=(--all --table "$work/no/table")
check "a table that cannot be written is known before the tests" eval 'runs 1 && [[ ! -e $work/tests/core.runs ]]'
WHAT=(-k 'slice_.$')
check "-k" runs 0
check "runs tests of any set" sets_ran slice_1 slice_2
WHAT=(--all --table "$work/table")
check "--all" runs 0
check "runs every set, but for drawn: all has every planted fault" sets_ran core slice_1 slice_2 all
check "and counts all" last '4 passed, 0 failed, 0 unsteady, 0 skipped'
check "the table has a row for each" eval '[[ $(grep -c "^| .netns" "$work/table") -eq 4 ]]'
a_test fails 'echo "not ok 1 - it runs"; echo 1..1; echo "BWL_LONG is ${BWL_LONG:-unset}"; exit 1'
check "in it tests are asked for everything" eval 'runs 1 && says "BWL_LONG is 1"'
WHAT=(--core) SET=core
none
a_test fails 'echo "not ok 1 - it runs"; echo 1..1; echo "BWL_LONG is ${BWL_LONG:-unset}"; exit 1'
check "control: otherwise they are not" eval 'runs 1 && says "BWL_LONG is unset"'

# ---- How the rest is cut
cuts() { "$here/slices" "$work/sets.txt" >"$work/cut" 2>&1; }
cost_of() { awk -v s="$1" '$2 == s { n += $3 } END { print n + 0 }' "$work/cut"; } # slice
refuses() { # line, what is said of it
	echo "$1" >"$work/sets.txt"
	if cuts || ! grep -qF -- "$2" "$work/cut"; then sed "s|^|# |" "$work/cut"; false; fi
}
{
	echo 'netns.c core 7'
	for i in {1..40}; do echo "netns.t$i rest $((i * 37 % 150 + 1))"; done
	echo 'vm.all all 5000'
} >"$work/sets.txt"
check "sets.txt is cut" cuts
check "every test is in one set" eval '[[ $(cut -d" " -f1 "$work/cut" | sort -u | wc -l) -eq 42 && $(wc -l <"$work/cut") -eq 42 ]]'
check "the core and what is in no slice stay" eval 'grep -qx "netns.c core 7" "$work/cut" && grep -qx "vm.all all 5000" "$work/cut"'
slices_even() {
	local k n
	n=$(awk '$2 ~ /^slice_/ { print $2 }' "$work/cut" | sort -u | wc -l)
	for ((k = 1; k <= n; k++)); do
		[[ $(cost_of "slice_$k") -le 450 ]] || { note "slice $k: $(cost_of "slice_$k") s"; return 1; }
	done
	[[ $n -gt 3 ]]
}
check "no slice takes much more than another" slices_even
cp "$work/cut" "$work/cut.first"
sort -R "$work/sets.txt" -o "$work/sets.txt"
check "the order of the lines does not matter" eval 'cuts && diff <(sort "$work/cut") <(sort "$work/cut.first")'
check "a set that there is not is refused" refuses 'netns.x most 3' 'most is no set'
check "so is a cost that is none" refuses 'netns.x rest soon' 'soon is no cost'
check "and a line of two words" refuses 'netns.x rest' 'line 1'
check "and a test that is too long for a slice" refuses 'netns.x rest 226' 'netns.x is too long for a slice'
check "and one that is named twice" refuses $'netns.x rest 1\nnetns.x core 2' 'netns.x is named twice'
check "and more than ten slices" refuses "$(for i in {1..21}; do echo "netns.x$i rest 220"; done)" 'more than 10 slices'
WHAT=(--slice 1) SET=slice_1
# ---- Interrupted: tests get time to remove their labs, and the lab of a test that does not end is removed.
if [[ $(id -u) -ne 0 ]]; then
	skip "interrupted, a run leaves no lab" "it needs root"
else
	none
	ended=$(bash -c 'echo $$')
	mkdir "$work/pins/bwl-stays-$$" "$work/pins/other-1" "$work/pins/bwl-quickstart-$ended" "$work/pins/bwl-ended-$ended"
	a_test tidy "trap 'sleep 0.3; echo bye; touch \"\$BWL_SWEEP_PINS/tidied\"; exit 1' TERM; touch \"\$BWL_SWEEP_PINS/ready\"; sleep 600 & wait"
	a_test lab 'trap "" TERM; ip netns add "bwl-swept-$$-a"; mkdir "$BWL_SWEEP_PINS/bwl-swept-$$"; echo $$ >"$BWL_SWEEP_PINS/begun"; sleep 600'
	a_test waiting "trap 'touch \"\$BWL_SWEEP_PINS/waited\"; exit 1' TERM; touch \"\$BWL_SWEEP_PINS/under-way\"; timeout 600 sleep 600"
	ip netns add "bwl-stays-$$-a"
	BWL_STOP_TENTHS=60 PATH=$work/bin:$PATH "$work/run-tests" --no-install "${WHAT[@]}" >"$work/out" 2>&1 &
	run=$!
	for ((i = 0; i < 300; i++)); do [[ -s $work/pins/begun && -e $work/pins/ready && -e $work/pins/under-way ]] && break; sleep 0.1; done
	lab=$(<"$work/pins/begun")
	check "control: a lab is there" eval '[[ -e /run/netns/bwl-swept-$lab-a && -d $work/pins/bwl-swept-$lab ]]'
	kill -TERM "$run"
	wait "$run"
	check "interrupted, a run says so" [ $? -eq 143 ]
	check "a test that cleans up has the time for it" [ -e "$work/pins/tidied" ]
	check "so has one that waits for timeout(1)" [ -e "$work/pins/waited" ]
	check "one that does not end is killed" eval '[[ $(ps -o stat= -p $lab) != [^Z]* ]]'
	check "and no lab" eval '[[ ! -e /run/netns/bwl-swept-$lab-a && ! -d $work/pins/bwl-swept-$lab ]]'
	check "a lab whose script runs stays" eval '[[ -e /run/netns/bwl-stays-$$-a && -d $work/pins/bwl-stays-$$ ]]'
	check "and what is no lab" [ -d "$work/pins/other-1" ]
	check "and one that quickstart --keep left" [ -d "$work/pins/bwl-quickstart-$ended" ]
	check "control: another one whose script has ended does not" [ ! -e "$work/pins/bwl-ended-$ended" ]
	ip netns del "bwl-stays-$$-a"
fi
done_testing
