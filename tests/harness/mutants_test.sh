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
	check "$name applies, in one place, and its hole and its tests are there" test "$word" = ' ok'
done <"$work/check"
check "there are such faults" test "$(wc -l <"$work/check")" -ge 20

# A tree of its own: a program whose two cases ask limit.h, and one that asks nothing of it.
tree=$work/tree
export MUTANTS_SOURCE=$tree MUTANTS_WORK=$work/mutants
mkdir -p "$tree"/{tests/{mutants,harness},docs}
cp "$here/sweep" "$tree/tests/harness/"
printf '| hole | promise |\n|---|---|\n| it grants too much | 2 |\n' >"$tree/docs/track-record.md"
cat >"$tree/CMakePresets.json" <<'END'
{ "version": 6, "configurePresets": [ { "name": "dev", "generator": "Ninja", "binaryDir": "${sourceDir}/build/dev" } ],
  "buildPresets": [ { "name": "dev", "configurePreset": "dev" } ] }
END
cat >"$tree/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(one C)
enable_testing()
add_executable(grants grants.c)
add_executable(broken broken.c) # never built: no test needs it
add_test(NAME unit.grants COMMAND grants)
set_tests_properties(unit.grants PROPERTIES TIMEOUT 5)
add_test(NAME unit.waits COMMAND grants)
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
git -C "$tree" init -q
git -C "$tree" add -A
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
only() { # faults…
	local n args=()
	for n in "$@"; do args+=(--only "$n"); done
	"$RUN" "${args[@]}" >"$work/out" 2>&1
}
exits() { # status, faults…
	local is
	only "${@:2}"
	is=$?
	[[ $is -eq $1 ]] || { note "exit status $is"; sed 's/^/# /' "$work/out"; false; }
}
checked() { "$RUN" --check --only "$1" --ctest "$work/mutants/tree/build/dev" >"$work/out" 2>&1; }
says() { grep -q -- "$1" "$work/out" || { sed 's/^/# /' "$work/out"; false; }; }
fault 01_more unit.grants LIMIT 12
fault 02_less unit.grants LIMIT 7
fault 03_hangs unit.grants BEGIN 7
fault 04_crashes unit.grants BEGIN 8
fault 05_no_build unit.grants LIMIT '}'
fault 06_other_seed 'unit.grants MODEL_SEED=4' LIMIT 9
fault 07_elsewhere unit.grants LIMIT 12
sed -i 's/LIMIT 8/LIMIT 88/' "$tree/tests/mutants/07_elsewhere.patch"
fault 08_all_fail unit.grants LIMIT 101
fault 09_waits unit.waits BEGIN 7

check "a fault by which a case fails is caught" exits 0 1
check "and it says which" says '01_more .*caught .*no more than may pass'
check "in JSON, too" eval '"$RUN" --json --only 1 2>/dev/null | jq -e ".faults | length == 1 and .[0].result == \"caught\"" >/dev/null'
check "one by which none fails survives, and the exit status says so" exits 1 1 2
check "by its name" says '02_less .*SURVIVED'
check "beside the one that is caught" says '^1 caught, 1 survived, 0 errors'
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
hangs() { grep -q 'BEGIN 7' "$work/mutants/tree/limit.h" && pgrep -f "^$work/mutants/tree/build/dev/grants" >/dev/null; }
"$RUN" --only 9 >"$work/out" 2>&1 & runner=$!
until hangs || ! kill -0 $runner 2>/dev/null; do sleep 0.05; done
check "control: a test hangs with its fault" hangs
kill -TERM $runner
wait $runner
check "interrupted, it says so" test $? = 143
refute "the test has ended" hangs
check "and the copy is without the fault" cmp -s "$tree/limit.h" "$work/mutants/tree/limit.h"

check "a test that fails without any fault judges none" eval 'sed -i "s/BEGIN 1/BEGIN 3/" "$tree/limit.h"; exits 1 1'
check "which it says" says 'unit.grants .*error .*without any fault'
refute "--check finds what does not apply" checked 7
check "by its name" says '07_elsewhere: WRONG: does not apply'
sed -i 's/^Test: .*/Test: unit.gone/; s/^Hole: .*/Hole: none/; /^What/d' "$tree/tests/mutants/01_more.patch"
refute "and what is not there" checked 1
check "a test, a hole, a line of the head" says 'docs/track-record.md has no such hole: none; no such test: unit.gone; no line What:'
printf '/* what may pass */\n#define LIMIT 8\n/* and for how long */\n' >>"$tree/limit.h"
refute "and a hunk that fits in two places" checked 2
check "by its file" says '02_less: WRONG: a hunk of limit.h has no single place'
done_testing
