#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# net.core.bpf_jit_harden=2, as an operator may have it: the kernel then hides constants in programs. What loads programs or runs
# them says the same there: each test of prog and verifier. The setting is the whole machine's, so this runs alone, and it is put
# back however the test ends.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tap.sh
. "$here/tap.sh"
setting=/proc/sys/net/core/bpf_jit_harden
[[ $(id -u) -eq 0 && -w $setting ]] || { echo '1..0 # SKIP needs root, and net.core.bpf_jit_harden'; exit 77; }
build=${BWL_BUILD:-$here/../../build/dev}
was=$(cat "$setting") work=$(mktemp -d)
# In a session of its own: it outlives a test that is killed, and looks once a second.
setsid sh -c 'tail --pid="$1" -f /dev/null; echo "$2" >"$3"' sh $$ "$was" "$setting" >/dev/null 2>&1 </dev/null &
trap 'echo "$was" >"$setting"; rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

check "the setting can be made" eval 'echo 2 >"$setting" && [[ $(cat "$setting") == 2 ]]'
ran=0
while IFS= read -r test; do
	name=$(jq -r .name <<<"$test")
	mapfile -t run < <(jq -r '(.properties[]? | select(.name == "ENVIRONMENT") | .value[]), .command[]' <<<"$test")
	PATH=$build/tests/bin:$PATH env "${run[@]}" >"$work/out" 2>&1 </dev/null
	rc=$?
	ran=$((ran + 1))
	case $rc in
	0) ok "$name" ;;
	77) skip "$name" "$(grep -v '^$' "$work/out" | head -n 1)" ;;
	*)
		nok "$name: status $rc"
		grep -E '^not ok' -B 8 "$work/out" | sed 's/^/# /' | head -n 40
		tail -n 20 "$work/out" | sed 's/^/# … /'
		;;
	esac
done < <(ctest --test-dir "$build" -L '^(prog|verifier)$' --show-only=json-v1 | jq -c '.tests[]')
check "these are all of prog and verifier" [ "$ran" -gt 35 ]
check "the setting was still made" [ "$(cat "$setting")" = 2 ]
done_testing
