#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The flag of a reason in BWL_REASONS makes it a pass or not, for programs and tools alike. Nothing else in the tree needs a
# change.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_dir=${BWL_SOURCE:-${here%/*/*}}
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
cd "$source_dir" || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# A copy of the tree's headers in which the last row is another reason.
last_is() { # pass flag
	rm -rf "$tmp/maps"
	cp -r maps "$tmp/maps"
	awk -v pass="$1" '{ line[NR] = $0 }
		/^#define BWL_REASONS\(X\)/ { inside = 1 }
		inside && /^\tX\(/ { last = NR }
		inside && !/\\$/ { inside = 0 }
		END {
			sub(/"[^"]*", [01],/, "\"another\", " pass ",", line[last])
			for (i = 1; i <= NR; i++) print line[i]
		}' maps/reason.h >"$tmp/maps/reason.h"
	grep -q '"another"' "$tmp/maps/reason.h"
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
	awk '$1 != "another" && ($1 ~ /^pass/) != $2 { print; bad = 1 } END { exit bad }' "$tmp/said"
}
no_ranges() { # a pass is only compared with == and !=
	! grep -rnE '([<>]=? *BWL_R_PASS)|(\bBWL_R_PASS[A-Z_]* *[<>]=?)' --include='*.[ch]' bpf lib agent ctl loader export \
		ipsec journal history audit
}

check "the last reason is a refusal" eval 'last_is 0 && judge'
check "it is no pass" says "another 0"
check "the last reason is a pass" eval 'last_is 1 && judge'
check "it is one" says "another 1"
check "what is no reason is no pass" says "unknown 0"
refute "and never one" says "unknown 1"
check "what is called pass is one, and nothing else" by_name
check "nobody asks whether a reason stands before or after a pass" no_ranges

done_testing
