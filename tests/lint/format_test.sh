#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The layout of C: the licence's line, .clang-format, and lines of at most 100 columns. Strings are never broken, so that they can be
# searched for. And clang-tidy (preset lint) checks the headers of every folder.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_dir=${BWL_SOURCE:-${here%/*/*}}
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
cd "$source_dir" || exit 1

COLUMNS_MAX=100

if ! command -v clang-format >/dev/null; then
	echo "1..0 # SKIP no clang-format"
	exit 77
fi

sources() { find "$1" -name '*.[ch]'; } # folder
laid_out() { # folder
	local bad
	bad=$(sources "$1" | xargs clang-format --dry-run 2>&1 | grep -o '^[^:]*:[0-9]*') || return 0
	note "clang-format -i: $bad"
	return 1
}
narrow() { # folder
	local bad
	bad=$(sources "$1" | xargs awk -F '\t' -v most="$COLUMNS_MAX" '{
		columns = length($1)
		for (i = 2; i <= NF; i++) columns += 8 - columns % 8 + length($i)
		if (columns > most && !/"[^"]*"/) print FILENAME ":" FNR
	}')
	[[ -z $bad ]] || { note "$bad"; return 1; }
}
# In the first line, and by the kernel's rule: // in a .c, /* */ in a .h, which an assembler might read.
licensed() { # folder
	local f want line bad=''
	while IFS= read -r f; do
		case $f in
		maps/*) want='GPL-2.0-only OR BSD-2-Clause' ;;
		bpf/* | *.bpf.c) want=GPL-2.0-only ;;
		*) want=GPL-2.0-or-later ;;
		esac
		want="SPDX-License-Identifier: $want"
		[[ $f == *.c ]] && want="// $want" || want="/* $want */"
		IFS= read -r line <"$f"
		[[ $line == "$want" ]] || bad+=" $f:1"
	done < <(sources "$1")
	[[ -z $bad ]] || { note "not '$want':$bad"; return 1; }
}
# What clang-format leaves where a line is too long: a string in two, a comment that begins behind code and goes on below.
# Statements of SQL are in lines of their own.
unbroken() { # folder
	local bad
	bad=$(sources "$1" | grep -v -e '^history/db.c$' -e '^agent/ledger/ledger.c$' | xargs awk '
		FNR == 1 { open = 0 }
		open && /^[ \t]*"/ && !/\\[x0-7]/ { print FILENAME ":" FNR }
		{ open = /"$/ && !/\\n"$/ && !/""$/ && !/\\[x0-7]/ && !/^#/ } # bytes stand in groups
		/^[ \t]*[^ \t\/*].*[;,{)(=] *\/\*/ && !/\*\// && !/"[^"]*\/\*/ { print FILENAME ":" FNR }')
	[[ -z $bad ]] || { note "$bad"; return 1; }
}
tidied() { # folder
	sed -n "s/^HeaderFilterRegex: '(\(.*\))\/'$/\1/p" .clang-tidy | tr '|' '\n' | grep_all -x "$1"
}
for d in */; do
	d=${d%/}
	[[ $d != build && -n $(sources "$d") ]] || continue
	check "$d is laid out by .clang-format" laid_out "$d"
	check "$d has lines of at most $COLUMNS_MAX columns" narrow "$d"
	check "$d has no string or trailing comment in two lines" unbroken "$d"
	check "each file of $d begins with its licence" licensed "$d"
	check "$d is in the HeaderFilterRegex of .clang-tidy" tidied "$d"
done

done_testing
