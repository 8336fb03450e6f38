#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# How code is laid out, by .clang-format, in the folders that obey it already. A folder is added here
# when it does: clang-format -i, and what it cannot break by hand.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_dir=${BWL_SOURCE:-${here%/*/*}}
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
cd "$source_dir" || exit 1

obey=(lib/base lib/exfil)
COLUMNS_MOST=100

if ! command -v clang-format >/dev/null; then
	echo "1..0 # SKIP no clang-format"
	exit 77
fi

sources() { find "$1" -name '*.[ch]'; } # folder
laid_out() { # folder
	local bad=0 f
	for f in $(sources "$1"); do
		clang-format "$f" | cmp -s - "$f" || { note "$f: clang-format -i"; bad=1; }
	done
	return $bad
}
# A text is never broken: one can search for it.
narrow() { # folder
	local bad
	bad=$(sources "$1" | while read -r f; do
		expand -t 8 "$f" | awk -v f="$f" -v most="$COLUMNS_MOST" \
			'length > most && !/"[^"]*"/ { print f ":" FNR }'
	done)
	[[ -z $bad ]] || { note "$bad"; return 1; }
}
for d in "${obey[@]}"; do
	check "$d has code" [ -n "$(sources "$d")" ]
	check "$d is laid out by .clang-format" laid_out "$d"
	check "$d has lines of at most $COLUMNS_MOST columns" narrow "$d"
done

done_testing
