#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tests in bash: none ends a pipe by `grep -q`, which under pipefail takes a match for none (harness/tap.sh, grep_all). A
# shell of its own, sh -c, has no pipefail.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_dir=${BWL_SOURCE:-${here%/*/*}}
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
cd "$source_dir" || exit 1

ends_early() { # file…: FILE:LINE of each such pipe
	awk 'FNR == 1 { before = "" }
		/[^|]\| *grep (-[a-zA-Z]+ )*-[a-zA-Z]*q/ && !/^[ \t]*#/ && (before $0) !~ /sh -c/ { print FILENAME ":" FNR }
		{ before = $0 }' "$@"
}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
printf '%s\n' 'set -o pipefail' 'says() { cat a b | grep -qE -- "$1"; }' 'x || grep -q y z' "sh -c 'a | grep -q b'" >"$tmp/one"
check "control: one is found" test "$(ends_early "$tmp/one")" = "$tmp/one:2"

for d in tests/*/; do
	mapfile -t scripts < <(find "$d" -name '*.sh')
	[[ ${#scripts[@]} -gt 0 ]] || continue
	bad=$(ends_early "${scripts[@]}")
	check "${d%/}: no pipe ends early" test -z "$bad"
	[[ -z $bad ]] || note "grep_all in place of grep -q: $bad"
done

much() { echo one; seq 100000; } # more than a pipe holds
quiet=-q
refute "control: a match of grep -q is none" eval 'much | grep $quiet one'
check "grep_all reads all, and it is one" eval 'much | grep_all one'
refute "and finds nothing where there is nothing" eval 'much | grep_all two'
done_testing
