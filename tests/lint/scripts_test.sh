#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Tests in bash: none ends a pipe by `grep -q`, which under pipefail takes a match for none (harness/tap.sh, grep_all). A
# shell of its own, sh -c, has no pipefail. None has a function of the name of one in a file that it sources, whose other
# functions would then call that one, or the other way round; where that is meant its first line says "in place of", or that of
# the sourced one "a script may have its own".
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

# What a script sources, and what that sources, of files whose names are written out: file, then itself and these.
declare -A path_of=() sourced_by=()
for f in tests/*/*.sh; do path_of[${f##*/}]=$f; done
sources() { # file: sets sourced_by[file]
	local name
	[[ ! -v sourced_by[$1] ]] || return
	sourced_by[$1]=$1
	while read -r name; do
		[[ -v path_of[$name] ]] || continue
		sources "${path_of[$name]}"
		sourced_by[$1]+=" ${sourced_by[${path_of[$name]}]}"
	done < <(sed -nE 's@^[[:space:]]*(\.|source) .*/([a-z0-9_]+\.sh)"?( .*)?$@\2@p' "$1")
}
twice() { # file…: FILE:LINE of each function that one of those before it has
	awk '/^[a-zA-Z0-9_]+\(\)/ && !/in place of|a script may have its own/ {
			name = substr($0, 1, index($0, "(") - 1)
			if (name in has && has[name] != FILENAME) print has[name] " and " FILENAME ":" FNR ": " name
			has[name] = FILENAME
		}' "$@"
}
# It is found where the sourced one comes first, and where it comes last.
printf '%s\n' 'later() { :; }' 'mine() { # in place of theirs' 'open() { :; }' >"$tmp/script.sh"
printf '%s\n' 'later() {' '	local_() { :; }' 'mine() { :; }' 'open() { # a script may have its own' >"$tmp/people.sh"
check "control: a function that two files have is found" test "$(twice "$tmp/people.sh" "$tmp/script.sh")" = \
	"$tmp/people.sh and $tmp/script.sh:1: later"
printf '%s\n' '. "$here/tap.sh"' '	. "$(dirname "${BASH_SOURCE[0]}")/people.sh" || exit' >"$tmp/sources.sh"
path_of[people.sh]=$tmp/people.sh
sources "$tmp/sources.sh"
check "control: what a script sources is known" \
	test "${sourced_by[$tmp/sources.sh]}" = "$tmp/sources.sh tests/harness/tap.sh $tmp/people.sh"
path_of[people.sh]=tests/harness/people.sh
for d in tests/*/; do
	bad=''
	for f in "$d"*.sh; do
		[[ -e $f ]] || continue
		sources "$f"
		mapfile -t files < <(tr ' ' '\n' <<<"${sourced_by[$f]}" | awk '!seen[$0]++ { line[++n] = $0 } END { while (n) print line[n--] }')
		bad+=$(twice "${files[@]}" | sed 's/$/; /')
	done
	check "${d%/}: no function of two files has one name" test -z "$bad"
	[[ -z $bad ]] || note "another name, or \"in place of\": $(tr -d '\n' <<<"$bad")"
done

much() { echo one; seq 100000; } # more than a pipe holds
quiet=-q
refute "control: a match of grep -q is none" eval 'much | grep $quiet one'
check "grep_all reads all, and it is one" eval 'much | grep_all one'
refute "and finds nothing where there is nothing" eval 'much | grep_all two'
done_testing
