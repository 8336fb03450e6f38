#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# docs/tutorial.md, as a newcomer follows it: `./quickstart --keep`, then every command on the page, in the DPU and on
# the host, in their order. Each line below a command must be part of its output. TRANSCRIPT=FILE: writes what was typed
# and printed, for docs/pictures/terminal/draw.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=${here%/*/*}
export BWL_BUILD=${BWL_BUILD:-$source/build/release}
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
[[ $(id -u) -eq 0 ]] || { echo '1..0 # SKIP needs root for network namespaces'; exit 77; }
tmp=$(mktemp -d) pid='' lab=''
export TMPDIR=$tmp
finish() {
	[[ -z $pid ]] || { kill "$pid"; wait "$pid"; }
	[[ -z $lab ]] || "$source/quickstart" --remove "$lab"
	rm -rf "$tmp"
} >/dev/null 2>&1
trap finish EXIT

"$source/quickstart" --keep --no-install >"$tmp/quickstart" 2>&1 &
pid=$!
lab=bwl-quickstart-$pid
check "quickstart ends well: every row is ok" wait "$pid"
pid=
if [[ $TAP_BAD -ne 0 ]]; then
	note "$(tail -n 40 "$tmp/quickstart")"
	done_testing
	exit
fi
check "as it says itself, it is removed by its name" grep -q -- "--remove $lab" "$tmp/quickstart"

export PATH=$BWL_BUILD/ctl:$BWL_BUILD/loader:$PATH BWLIMIT_PIN_DIR=/sys/fs/bpf/$lab
side='' command='' lines=() commands=0
run() { # the command that the page showed last, now that its lines are known
	[[ -n $command ]] || return 0
	local line missing=() in_lab
	commands=$((commands + 1))
	in_lab=(nsenter --net="/run/netns/$lab-$side")
	if [[ -z ${TRANSCRIPT:-} ]]; then
		"${in_lab[@]}" bash -c "$command" >"$tmp/out" 2>&1 </dev/null
	else # on a terminal, as a person sees it
		SHELL=/bin/bash "${in_lab[@]}" script -E never -qec "stty cols 100; $command" /dev/null </dev/null | tr -d '\r' >"$tmp/out"
		{ printf '%s$ %s\n' "$side" "$command"; sed 's/^/ /' "$tmp/out"; } >>"$TRANSCRIPT"
	fi
	for line in "${lines[@]}"; do
		[[ -z ${line// /} ]] || grep -qF -- "$line" "$tmp/out" || missing+=("$line")
	done
	check "$side: $command" test ${#missing[@]} -eq 0
	[[ ${#missing[@]} -eq 0 ]] || note "not printed: ${missing[*]}" "$(tail -n 20 "$tmp/out")"
	command=''
}
while IFS= read -r line; do
	if [[ $line =~ ^(dpu|host)\$\ (.*) ]]; then
		run
		side=${BASH_REMATCH[1]} command=${BASH_REMATCH[2]} lines=()
	elif [[ $line == '```' ]]; then
		run
	elif [[ $line == '## '* && -n ${TRANSCRIPT:-} ]]; then
		echo "$line" >>"$TRANSCRIPT"
	elif [[ -n $command ]]; then
		lines+=("$line")
	fi
done <"$source/docs/tutorial.md"
check "the page has commands" test "$commands" -ge 15
check "the lab is removed" "$source/quickstart" --remove "$lab"
check "and nothing of it is left" eval '[[ ! -e /run/netns/$lab-dpu && ! -e /sys/fs/bpf/$lab ]]'
lab=
done_testing
