#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# --help of every program, of its commands, and of the scripts that people run: asked once, on standard output, at most
# 80 columns wide, with a usage and an example. `help`, `help COMMAND` and `COMMAND --help` print the same.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_dir=${BWL_SOURCE:-${here%/*/*}} build=${BWL_BUILD:-${here%/*/*}/build/release}
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
export LC_ALL=C.UTF-8
# lint.packaging looks for leaks of --help, which takes half of the time.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0

COLUMNS_MAX=80
STDERR=$(mktemp)
trap 'rm -f "$STDERR"' EXIT

# In $text and $bad, not in a subshell: of a hundred helps each would cost another process.
ask() { # command…; $text: what it prints
	text=$("$@" 2>"$STDERR" </dev/null) || bad+=("${*##*/}: exit status $?")
	[[ ! -s $STDERR ]] || bad+=("${*##*/}: on standard error: $(head -1 "$STDERR")")
}
judge() { # command…; judges $text
	local line
	while IFS= read -r line; do
		[[ ${#line} -le $COLUMNS_MAX ]] || bad+=("${*##*/}: ${#line} columns: $line")
		[[ $line != *[[:blank:]] ]] || bad+=("${*##*/}: blanks at the end: $line")
	done <<<"$text"
	[[ ${text,,} == usage:* ]] || bad+=("${*##*/}: it begins without a usage")
	[[ ${text,,} == *$'\nexamples:\n  '* ]] || bad+=("${*##*/}: no example")
}
same_as() { # text command…; the command prints that text
	local want=$1
	shift
	ask "$@"
	[[ $text == "$want" ]] || bad+=("${*##*/}: prints something else than --help")
}
none_bad() { [[ ${#bad[@]} -eq 0 ]] || { note "${bad[@]}"; return 1; }; }
listed() { # prints the commands that the help in $text lists
	sed -n '/^[Cc]ommands:/,/^$/s/^  \([a-z][a-z-]*\( [a-z-]\+\)\?\)  .*/\1/p' <<<"$text"
}

# The judge itself.
bad=() text=$'usage: x\n\nexamples:\n  x'
judge x
check "control: a good help is good" none_bad
for text in "$(printf 'usage: %080d\n\nexamples:\n  x' 0)" $'usage: x \n\nexamples:\n  x' $'say it x\n\nexamples:\n  x' $'usage: x\n'; do
	bad=()
	judge x
	check "control: a bad help is bad: ${text:0:8}…" [ ${#bad[@]} -eq 1 ]
done

with_commands() { # least number of commands, command…; the help of a program, and of each of its commands
	local least=$1 whole c commands n=0
	shift
	bad=()
	ask "$@" --help
	judge "$@"
	whole=$text
	same_as "$whole" "$@" help
	text=$whole
	mapfile -t commands < <(listed)
	for c in "${commands[@]}"; do
		# shellcheck disable=SC2086 # noun and verb
		ask "$@" $c --help
		judge "$@" "$c"
		[[ $text != "$whole" ]] || bad+=("${*##*/} $c: has no help of its own")
		# By the same way for all, so for some.
		# shellcheck disable=SC2086
		((n++ % 6)) || same_as "$text" "$@" help $c
	done
	[[ ${#commands[@]} -ge $least ]] || bad+=("${*##*/}: lists only ${#commands[@]} commands")
	check "${*##*/} and its ${#commands[@]} commands" none_bad
}
with_commands 60 "$build/ctl/bwlimit-ctl"
with_commands 15 "$build/ctl/bwlimit-ctl" --fleet
with_commands 9 "$build/loader/bwlimit-load"

# A noun alone: the commands that begin with it, without examples.
bad=()
for noun in peer policy ipsec evidence; do
	ask "$build/ctl/bwlimit-ctl" "$noun" --help
	text+=$'\n\nexamples:\n  x'
	judge bwlimit-ctl "$noun"
done
check "bwlimit-ctl, asked about a noun" none_bad

# A wrong command shows its usage in the same width.
bad=()
text=$("$build/ctl/bwlimit-ctl" audit verify --wrong 2>&1 | sed '/^usage:/,$!d')$'\n\nexamples:\n  x'
judge bwlimit-ctl audit verify --wrong
check "the usage that follows an error" none_bad

whole() { # command; it has no commands
	bad=()
	ask "$@" --help
	judge "$@"
	check "${*##*/}" none_bad
}
for p in agent/bwlimitd web/bwlimit-web sync/bwlimit-sync export/flows/bwlimit-export fleet/controller/bwlimit-controller \
	ipsec/daemon/bwlimit-ipsecd bench/bench-{apply,cost,e2e,esp,fleet-numbers,history,machine,scale}; do
	whole "$build/$p"
done
bad=()
ask "$build/ipsec/daemon/bwlimit-ipsecd" --help
same_as "$text" "$build/ipsec/daemon/bwlimit-ipsecd" help
check "bwlimit-ipsecd help" none_bad
cd "$source_dir" || exit 1
for p in quickstart run-tests packaging/{apt-repo,build-deb} vm-testbed/{arm64,build-kernel,install,matrix,run} \
	bench/{agent,flows,page} tests/thief/run; do
	whole "./$p"
done

# No program is left out.
asked=" agent ctl web sync export/flows fleet/controller ipsec/daemon loader "
unasked() {
	local main
	while read -r main; do
		[[ $asked == *" ${main%/*} "* ]] || { note "$main"; return 0; }
	done < <(grep -lE '^int main\(' -r --include='*.c' . --exclude-dir={build,bench,tests,.git} | sed 's|^\./||')
	return 1
}
refute "a program is left out" unasked
done_testing
