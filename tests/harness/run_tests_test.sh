#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# run-tests itself: its reaction to tests that fail, pass the second time, or print nothing. Its tests are
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

# A test with label netns; its body is bash, with `again` true in its second run.
a_test() { # name body [RUN_SERIAL]
	{
		printf '#!/usr/bin/env bash\nagain() { [[ $(wc -l <%q) -gt 1 ]]; }\necho run >>%q\n' "$work/tests/$1.runs" "$work/tests/$1.runs"
		printf '%s\n' "$2"
	} >"$work/tests/$1"
	chmod +x "$work/tests/$1"
	{
		printf 'add_test(netns.%s "%s")\n' "$1" "$work/tests/$1"
		printf 'set_tests_properties(netns.%s PROPERTIES LABELS netns SKIP_RETURN_CODE 77%s)\n' "$1" "${3:+ RUN_SERIAL ON}"
	} >>"$work/build/release/CTestTestfile.cmake"
}
none() {
	rm -rf "$work"/tests "$work"/build/*/CTestTestfile.cmake "$work"/build/*/Testing
	mkdir -p "$work/tests/harness"
	cp "$here/sweep" "$work/tests/harness/"
}
ran() { wc -l <"$work/tests/$1.runs"; }
runs() { # expected exit status: run-tests gives it
	local is
	PATH=$work/bin:$PATH "$work/run-tests" --no-install --label netns >"$work/out" 2>&1
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
a_test alone "$first_time" RUN_SERIAL
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
for i in {1..13}; do a_test "slow$i" "$first_time"; done
check "where more than ten fail, none has a second try" runs 1
check "and each is counted as failed" last '0 passed, 13 failed, 0 unsteady, 0 skipped'

none
a_test other 'echo "ok 1 - it stands beside all"; echo 1..1; sleep 6'
for i in {1..11}; do a_test "slow$i" "$first_time"; done
check "on a slow machine eleven have one, too" eval 'BWL_TESTS_SLOW=0 runs 0'
check "and are unsteady" last '12 passed, 0 failed, 11 unsteady, 0 skipped'

none
a_test other "$beside"
for guest in guest turn; do
	printf 'add_test(vm.%s "/bin/false")\nset_tests_properties(vm.%s PROPERTIES LABELS netns)\n' $guest $guest >>"$work/build/release/CTestTestfile.cmake"
done
check "on a slow machine the emulated guests are left out" eval 'BWL_TESTS_SLOW=0 runs 0'
check "and counted as skipped" last '1 passed, 0 failed, 0 unsteady, 2 skipped'
check "with the reason" says 'vm.turn: a slow machine'
check "control: otherwise they run" runs 1
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
	BWL_STOP_TENTHS=60 PATH=$work/bin:$PATH "$work/run-tests" --no-install --label netns >"$work/out" 2>&1 &
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
