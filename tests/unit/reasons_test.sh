#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The flag of a reason that is appended to BWL_REASONS makes it a pass or not, for programs and tools alike. Nothing
# else in the tree needs a change.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_dir=${BWL_SOURCE:-${here%/*/*}}
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
cd "$source_dir" || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# A copy of the tree's headers with one more reason.
append() { # pass flag
	local row="X(APPENDED, \"appended\", $1, \"\", \"\")"
	rm -rf "$tmp/maps"
	cp -r maps "$tmp/maps"
	# after the last row of the list, which has no backslash at its end
	sed -i "/^#define BWL_REASONS(X)/,/[^\\\\]\$/ { /[^\\\\]\$/ s|\$| $row| }" "$tmp/maps/reason.h"
	grep -q '"appended"' "$tmp/maps/reason.h"
}
judge() {
	cat >"$tmp/judge.c" <<-'END'
		#include <stdio.h>
		#include "maps/reason.h"
		const char *bwl_reason_name(unsigned reason);
		int main(void)
		{
			for (unsigned i = 0; i < _BWL_REASON_MAX + 2 * BWL_REASON_COLUMNS; i++)
				printf("%s %d\n", bwl_reason_name(i), bwl_reason_is_pass(i));
		}
	END
	local -a flags=(-std=gnu11 -D_GNU_SOURCE -ffunction-sections "-Wl,--gc-sections" -I"$tmp" -I.)
	for d in lib/*/include; do flags+=(-I"$d"); done
	"${CC:-cc}" "${flags[@]}" -o "$tmp/judge" "$tmp/judge.c" lib/reasons/reasons.c && "$tmp/judge" >"$tmp/said"
}
says() { grep -qx "$1" "$tmp/said"; }
by_name() { # a name begins with "pass" exactly if the flag is set
	awk '$1 != "appended" && ($1 ~ /^pass/) != $2 { print; bad = 1 } END { exit bad }' "$tmp/said"
}
no_ranges() { # a pass is only compared with == and !=
	! grep -rnE '([<>]=? *BWL_R_PASS)|(\bBWL_R_PASS[A-Z_]* *[<>]=?)' --include='*.[ch]' bpf lib agent ctl loader export \
		ipsec journal history audit
}

if ! append 0 || ! judge 2>/dev/null; then
	echo "1..0 # SKIP the list is full: BWL_REASON_COLUMNS"
	exit 77
fi
check "an appended refusal is no pass" says "appended 0"
check "a pass is appended" append 1
check "and compiled with the tools' words" judge
check "it is a pass" says "appended 1"
check "what is no reason is no pass" says "unknown 0"
refute "and never one" says "unknown 1"
check "what is called pass is one, and nothing else" by_name
check "nobody asks whether a reason stands before or after a pass" no_ranges

done_testing
