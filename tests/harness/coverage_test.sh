#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tests/coverage in a tree of two programs, which include one header: what either takes is taken, and what neither takes
# is named.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tap.sh
. "$here/tap.sh"
COVERAGE=$(cd "$here/.." && pwd)/coverage
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

tree=$work/tree
export COVERAGE_SOURCE=$tree
mkdir -p "$tree"/{bpf/lib,journal}
cat >"$tree/CMakePresets.json" <<'END'
{ "version": 6, "configurePresets": [ { "name": "coverage", "generator": "Ninja", "binaryDir": "${sourceDir}/build/coverage",
    "cacheVariables": { "CMAKE_C_COMPILER": "clang", "CMAKE_C_FLAGS": "-fprofile-instr-generate -fcoverage-mapping" } } ],
  "buildPresets": [ { "name": "coverage", "configurePreset": "coverage" } ] }
END
cat >"$tree/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(two C)
enable_testing()
foreach(name few many)
	add_executable(${name} ${name}.c journal/note.c)
	target_include_directories(${name} PRIVATE .)
	add_test(NAME unit.${name} COMMAND ${name})
	set_tests_properties(unit.${name} PROPERTIES LABELS unit)
endforeach()
add_test(NAME netns.never COMMAND false)
set_tests_properties(netns.never PROPERTIES LABELS netns)
END
cat >"$tree/bpf/lib/limit.h" <<'END'
#define IS_SMALL(n) ((n) < 100)
static inline int passes(int n)
{
	if (n < 10)
		return 1;
	if (n > 90 || IS_SMALL(n))
		return 0;
	do {
		n--;
	} while (0);
	return n;
}
END
printf '%s\n' '#define UNLIKELY(x) __builtin_expect(!!(x), 0)' 'int note(int n);' 'int note(int n)' '{' \
	'	if (UNLIKELY(n == 1 && n < 0))' '		return 4;' '	switch (n) {' '	case 1:' '		return 2;' '	default:' '		return 3;' \
	'	}' '}' 'int never(int n);' 'int never(int n)' '{' '	while (1)' '		if (n++ > 5)' '			return n;' '}' >"$tree/journal/note.c"
printf '%s\n' '#include "bpf/lib/limit.h"' 'int note(int n);' 'int main(void) { return passes(5) && note(1) ? 0 : 1; }' >"$tree/few.c"
printf '%s\n' '#include "bpf/lib/limit.h"' 'int note(int n);' 'int main(void) { return passes(95) || !note(1); }' >"$tree/many.c"

covers() { "$COVERAGE" "$@" >"$work/out" 2>"$work/err"; }
says() { grep -qxF -- "$1" "$work/out"; }
row() { jq -e --arg path "$1" ".rows[] | select(.path == \$path) | $2" "$work/out" >/dev/null; } # path condition

check "--help is the use" covers --help
check "with examples" says '  tests/coverage --no-run --by-file'
refute "an unknown option is none" covers --all
refute "before a run there are no numbers" covers --no-run
check "which it says" grep -qF 'no run yet' "$work/err"

check "tests of unit run, others do not" covers -j 2
check "what either program takes of a header is taken" says \
	'| bpf/lib |     11 |       6 |  54 % |        6 |      3 |  50 % |'
check "the rest is named" covers --no-run --missing bpf/lib/limit.h --missing journal
check "a part of a condition, in a macro" says 'bpf/lib/limit.h:6:16: never true: ((n) < 100) in if (n > 90 || IS_SMALL(n))'
check "a label of a switch" says 'journal/note.c:10:2: never true: default'
check "what never ran" says 'journal/note.c:18:7: never false: n++ > 5'
refute "what the compiler decided is none, where it ran" grep -q 'limit.h:10' "$work/out"
refute "nor where it did not" grep -q 'note.c:17' "$work/out"
check "parts of a macro's argument, one by one" test "$(grep -c 'note.c:5:.*: x in ' "$work/out")" = 2
check "control: that is all" says '10 branches not taken'
check "--json" covers --no-run --json
check "has the same numbers" row bpf/lib '.branches == 6 and .branches_taken == 3'
check "and their sum" row all '.branches_taken == 8'
check "--by-file" covers --no-run --by-file --json
check "has a row for each file" row journal/note.c '.lines > 0'
refute "a folder that is not counted" covers --no-run --missing tests

sed -i 's/passes(95)/passes(5)/' "$tree/many.c"
refute "a test that fails fails it" covers -j 2
check "and yet there are numbers" grep -q '^| all' "$work/out"
check "with a word" grep -qF 'a test failed' "$work/err"
printf 'int\n' >>"$tree/few.c"
refute "a build that fails" covers -j 2
check "ends it" grep -qF 'the build failed' "$work/err"
done_testing
