#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tests/mutants: every patch applies to this tree, in one place alone, and its hole and its tests are there. And what
# `run` says of faults in a tree of one program: caught, survived, and what is neither.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tap.sh
. "$here/tap.sh"
RUN=$(cd "$here/../mutants" && pwd)/run
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if ! "$RUN" --check --ctest "${BWL_BUILD:-$here/../../build/dev}" >"$work/check"; then
	while read -r line; do note "$line"; done < <(grep -v ': ok$' "$work/check")
fi
while IFS=: read -r name word; do
	check "$name: it applies, in one place, and its hole and its tests are there" test "$word" = ' ok'
done <"$work/check"
check "there are such faults" test "$(wc -l <"$work/check")" -ge 60

# A tree of its own: a program whose two cases ask limit.h, and one that asks nothing of it.
tree=$work/tree
export MUTANTS_SOURCE=$tree MUTANTS_WORK=$work/mutants
mkdir "$MUTANTS_WORK"
mkdir -p "$tree"/{tests/{mutants,harness},docs}
cp "$here/sweep" "$tree/tests/harness/"
printf '| hole | promise |\n|---|---|\n| it grants too much | 2 |\n' >"$tree/docs/track-record.md"
cat >"$tree/CMakePresets.json" <<'END'
{ "version": 6, "configurePresets": [ { "name": "dev", "generator": "Ninja", "binaryDir": "${sourceDir}/build/dev" },
                                      { "name": "release", "generator": "Ninja", "binaryDir": "${sourceDir}/build/release" } ],
  "buildPresets": [ { "name": "dev", "configurePreset": "dev" }, { "name": "release", "configurePreset": "release" } ] }
END
cat >"$tree/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(one C)
enable_testing()
add_executable(grants grants.c)
add_executable(broken EXCLUDE_FROM_ALL broken.c) # never built: no test needs it
add_test(NAME unit.grants COMMAND grants)
set_tests_properties(unit.grants PROPERTIES TIMEOUT 5)
add_test(NAME unit.waits COMMAND grants)
add_executable(begins begins.c)
add_test(NAME unit.begins COMMAND begins)
set_tests_properties(unit.begins PROPERTIES LABELS "unit;core")
END
echo 'int' >"$tree/broken.c"
printf '/* what may pass */\n#define LIMIT 8\n/* and for how long */\n#define BEGIN 1\n' >"$tree/limit.h"
cat >"$tree/grants.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include "limit.h"
int main(void)
{
	const char *seed = getenv("MODEL_SEED");
	int bad = LIMIT > 8 && !(seed && LIMIT == 9), late = BEGIN != 1 || LIMIT > 100;

	puts("1..2");
	fflush(stdout);
	for (;BEGIN == 7;)
		;
	if (BEGIN == 8)
		abort();
	printf("%s 1 - no more than may pass\n%s 2 - it begins (MODEL_SEED=5)\n", bad ? "not ok" : "ok", late ? "not ok" : "ok");
	return bad || late;
}
END
printf '#include "limit.h"\nint main(void) { return LIMIT == 6; }\n' >"$tree/begins.c"
fault() { # name test define value…: a patch for each
	{
		printf 'What: more passes.\nHole: it grants too much\nPromise: 2\nTest: %s\n\n' "$2"
		printf -- '--- a/limit.h\n+++ b/limit.h\n'
		case $3 in
		LIMIT) printf '@@ -1,3 +1,3 @@\n /* what may pass */\n-#define LIMIT 8\n+#define LIMIT %s\n /* and for how long */\n' "$4" ;;
		BEGIN) printf '@@ -3,2 +3,2 @@\n /* and for how long */\n-#define BEGIN 1\n+#define BEGIN %s\n' "$4" ;;
		esac
	} >"$tree/tests/mutants/$1.patch"
}
only() { # faults…, or --draw N
	local n args=()
	if [[ $1 == --draw ]]; then args=("$@"); else for n in "$@"; do args+=(--only "$n"); done; fi
	"$RUN" "${args[@]}" >"$work/out" 2>&1
}
exits() { # status, faults…
	local is
	only "${@:2}"
	is=$?
	[[ $is -eq $1 ]] || { note "exit status $is"; sed 's/^/# /' "$work/out"; false; }
}
checked() { "$RUN" --check --only "$1" --ctest "$tree/build/dev" >"$work/out" 2>&1; }
says() { grep -q -- "$1" "$work/out" || { sed 's/^/# /' "$work/out"; false; }; }
fault 01_more unit.grants LIMIT 12
fault 02_less unit.grants LIMIT 7
fault 10_core unit.grants LIMIT 6
fault 03_hangs unit.grants BEGIN 7
fault 04_crashes unit.grants BEGIN 8
fault 05_no_build unit.grants LIMIT '}'
fault 06_other_seed 'unit.grants MODEL_SEED=4' LIMIT 9
fault 07_elsewhere unit.grants LIMIT 12
sed -i 's/LIMIT 8/LIMIT 88/' "$tree/tests/mutants/07_elsewhere.patch"
fault 08_all_fail unit.grants LIMIT 101
fault 09_waits unit.waits BEGIN 7

only 1
if [[ $? -eq 77 ]]; then
	skip "a fault is planted" "$(head -n 1 "$work/out")"
	done_testing
	exit
fi
check "a fault by which a case fails is caught" exits 0 1
check "and it says which" says '01_more .*caught .*no more than may pass'
check "in JSON, too" eval '"$RUN" --json --only 1 2>/dev/null | jq -e ".faults | length == 1 and .[0].result == \"caught\"" >/dev/null'
check "one by which none fails survives, and the exit status says so" exits 1 1 2
check "by its name" says '02_less .*SURVIVED'
check "beside the one that is caught" says '^1 caught, 1 survived, 0 errors'
check "then the whole core is run with it: nothing finds it" says '02_less .*the whole core .*nothing finds it'
check "or a test finds it that was not said to" exits 1 10
check "which it names" says '10_core .*the whole core .*unit.begins'
export MUTANTS_LIMIT=5
check "five that are drawn" exits 1 --draw 0
drawn() { grep -oE '^[0-9]+_' "$work/out" | sort -u | tr -d '\n'; }
check "are the same for the same number" eval 'was=$(drawn); exits 1 --draw 0 && [[ $was == "$(drawn)" && ${#was} -eq 15 ]]'
check "with which the core is not run" eval '! grep -q "the whole core  " "$work/out"'
check "by the next number" exits 1 --draw 1
check "the other five are drawn" eval '[[ $(tr _ "\n" <<<"$was$(drawn)" | sort -u | grep -c .) -eq 10 ]]'
mv "$tree/build/dev" "$work/elsewhere"
ln -s "$work/elsewhere" "$tree/build/dev"
check "no fault gets into a build tree that lies elsewhere" exits 77 1
check "which it says" says 'build/dev is not in the tree itself'
rm "$tree/build/dev"
mv "$work/elsewhere" "$tree/build/dev"
mkdir "$work/bin"
printf '#!/bin/sh\necho "upperdir is not supported" >&2\nexit 32\n' >"$work/bin/mount"
chmod +x "$work/bin/mount"
check "nor is any planted where no overlay can be" eval 'PATH=$work/bin:$PATH exits 77 1'
check "which it says" says 'no overlay over .*upperdir is not supported (TMPDIR'
check "a test that hangs is an error, not a fault that is caught" exits 1 3
check "which it says" says '03_hangs .*error .*no end within its time'
check "so is one that crashes" exits 1 4
check "which it says, too" says '04_crashes .*error .*crashed'
check "so is one by which every case fails: what it tests may not have begun" exits 1 8
check "which it says" says '08_all_fail .*error .*all of its cases fail'
check "and a build that fails" exits 1 5
check "with what the compiler says" says 'error:'
check "and a patch that does not apply" exits 1 7
check "with its name" says '07_elsewhere .*error .*does not apply'
check "a fault that another seed finds is caught" exits 0 6
check "and that seed is named" says '06_other_seed .*caught .*MODEL_SEED=5'
check "the next fault begins without the one before" exits 0 6 1
unset MUTANTS_LIMIT
hangs() { grep -q 'BEGIN 7' "$work"/mutants/*/upper/limit.h 2>/dev/null && pgrep -f "^$tree/build/dev/grants" >/dev/null; }
"$RUN" --only 9 >"$work/out" 2>&1 & runner=$!
until hangs || ! kill -0 $runner 2>/dev/null; do sleep 0.05; done
check "control: a test hangs with its fault" hangs
kill -TERM $runner
wait $runner
check "interrupted, it says so" test $? = 143
refute "the test has ended" hangs
check "nothing of the fault is left" rmdir "$work/mutants"
mkdir "$work/mutants"
check "nor was it ever in the tree itself" eval 'grep -q "BEGIN 1" "$tree/limit.h" && ! mountpoint -q "$tree"'

check "a test that fails without any fault judges none" eval 'sed -i "s/BEGIN 1/BEGIN 3/" "$tree/limit.h"; exits 1 1'
check "which it says" says 'unit.grants .*error .*without any fault'
refute "--check finds what does not apply" checked 7
check "by its name" says '07_elsewhere: WRONG: does not apply'
printf '# places\nlimits: lim*.h\n' >"$tree/tests/mutants/places"
"$RUN" --check --ctest "$tree/build/dev" >"$work/out" 2>&1
refute "a place with a fault is no error" says '^limits: WRONG'
printf 'files: grants.c\nothers: none.c\n' >>"$tree/tests/mutants/places"
refute "one without is" "$RUN" --check --ctest "$tree/build/dev"
"$RUN" --check --ctest "$tree/build/dev" >"$work/out" 2>&1
check "which it names" says '^files: WRONG: no fault is planted there: grants.c'
check "and a file that is not there" says '^others: WRONG: there is no none.c'
sed -i 's/^Test: .*/Test: unit.gone/; s/^Hole: .*/Hole: none/; /^What/d' "$tree/tests/mutants/01_more.patch"
refute "and what is not there" checked 1
check "a test, a hole, a line of the head" says 'docs/track-record.md has no such hole: none; no such test: unit.gone; no line What:'
sed -i '/^Hole/d' "$tree/tests/mutants/01_more.patch"
refute "a fault that never was needs no hole" eval 'checked 1; grep -q "Hole\|hole" "$work/out"'
printf '/* what may pass */\n#define LIMIT 8\n/* and for how long */\n' >>"$tree/limit.h"
refute "and a hunk that fits in two places" checked 2
check "by its file" says '02_less: WRONG: a hunk of limit.h has no single place'
done_testing
