#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# tests/in_a_row and harness/load: so many runs, a row for each, beside so many processes, of which none is left. run-tests is
# a script of a few lines here.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tap.sh
. "$here/tap.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tree"
export IN_A_ROW_SOURCE=$work/tree
loads() { pgrep -cf "^(/usr/bin/env )?bash $here/load 6 "; } # its processes, and itself
run_tests() { # body
	printf '#!/usr/bin/env bash\nhere=%q work=%q\n%s\n%s\n' "$here" "$work" "$(declare -f loads)" "$1" >"$work/tree/run-tests"
	chmod +x "$work/tree/run-tests"
}
in_a_row() { # exit status, options…
	local is
	"$here/../in_a_row" --keep "$work/keep" "${@:2}" >"$work/out" 2>&1
	is=$?
	[[ $is -eq $1 ]] || { sed 's/^/# /' "$work/out"; false; }
}
rows() { grep -c "$1" "$work/out"; }

run_tests 'echo "$*" >>"$work/ran"; echo "5 passed, 0 failed, 0 unsteady, 0 skipped"'
check "where all runs pass, the exit status is 0" in_a_row 0 --runs 3
check "each is of the core" test "$(sort "$work/ran" | uniq -c | xargs)" = '3 --core'
check "and has a row" test "$(rows '| 0 | [0-9]* | 5 passed, 0 failed')" -eq 3
run_tests '[[ $(wc -l <"$work/ran") -ne 4 ]]; rc=$?; echo x >>"$work/ran"; echo "4 passed, $rc failed"; exit $rc'
check "where one fails, it is 1" in_a_row 1 --runs 2
check "whichever it was" test "$(rows ' 4 passed, 1 failed')" -eq 1
check "and what it said is there" grep -q '4 passed, 1 failed' "$work/keep/run.2"
check "no runs are wrong use" in_a_row 2 --runs 0

run_tests 'until [[ $(loads) -eq 7 ]]; do sleep 0.05; done; echo "1 passed, 0 failed"'
check "beside six others there are six" in_a_row 0 --runs 1 --load 6
check "which its row says" test "$(rows '| 6 | [0-9]* | 1 passed')" -eq 1
refute "none of them is left" loads
run_tests 'exec sleep 600'
"$here/load" 6 "$work/tree/run-tests" & loader=$!
until [[ $(loads) -eq 7 ]] || ! kill -0 "$loader" 2>/dev/null; do sleep 0.05; done
check "control: there are six" test "$(loads)" -eq 7
kill -TERM "$loader"
wait "$loader"
check "interrupted, it says so" test $? -eq 143
refute "and leaves none" loads
done_testing
