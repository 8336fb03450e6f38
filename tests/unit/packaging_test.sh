#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What is said in several places agrees: --help, manual pages and completion of each command; the
# package's control files and what the tree builds with and installs.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_dir=${BWL_SOURCE:-${here%/*/*}} build=${BWL_BUILD:-${here%/*/*}/build/release}
packaging=$source_dir/packaging
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"

# The same lines, whatever their order: what the second has and the first has not, and the other way.
same() { # words words
	local difference
	difference=$(diff <(tr ' ' '\n' <<<"$1" | sort -u) <(tr ' ' '\n' <<<"$2" | sort -u)) ||
		{ note "$difference"; return 1; }
}
within() { # words words: all of the first are in the second
	local missing
	missing=$(comm -23 <(tr ' ' '\n' <<<"$1" | sort -u) <(tr ' ' '\n' <<<"$2" | sort -u))
	[[ -z $missing ]] || { note "missing: ${missing//$'\n'/ }"; return 1; }
}
options() { sed 's/swanctl --[a-z-]*//g' | grep -oE -- '--[a-z][a-z0-9-]*' | sort -u; }
# Roff to words, without what is said of other programs.
man_text() { # program
	sed 's/\\f[A-Z]//g; s/\\-/-/g; s/\\&//g; s/" *"//g' "$packaging/$1.8"
}
man_options() { man_text "$1" | sed '/^\.SH EXAMPLES/,/^\.SH/d' | options; }

declare -A program=([bwlimit-controller]=fleet/controller [bwlimit-ctl]=ctl [bwlimit-ipsecd]=ipsec/daemon [bwlimit-load]=loader [bwlimit-sync]=sync [bwlimitd]=agent)
mapfile -t programs < <(sed -n 's/^set(programs \(.*\))$/\1/p' "$packaging/CMakeLists.txt" | tr ' ' '\n')
check "every program that is installed is known to this test" \
	same "${programs[*]}" "${!program[*]}"

# Every level of help of bwlimit-ctl.
ctl=$build/ctl/bwlimit-ctl
mapfile -t commands < <("$ctl" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]\+\( [a-z]\+\)\?\)  .*/\1/p')
mapfile -t fleet_commands < <("$ctl" --fleet --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]\+\)  .*/\1/p')
check "bwlimit-ctl names its commands to a fleet" [ ${#fleet_commands[@]} -gt 10 ]
check "bwlimit-ctl names its commands" [ ${#commands[@]} -gt 20 ]
help_of() { # program
	"$build/${program[$1]}/$1" --help
	[[ $1 != bwlimit-ctl ]] || for c in "${commands[@]}"; do
		# shellcheck disable=SC2086 # noun and verb
		"$ctl" $c --help
	done
	[[ $1 != bwlimit-ctl ]] || for c in "${fleet_commands[@]}"; do "$ctl" --fleet "$c" --help; done
}
for p in "${!program[@]}"; do
	help=$(help_of "$p" | options | grep -vxE -- '--(help|version)')
	# `policy apply --confirm` and the like appear in other programs' pages as well.
	manual=$(man_options "$p" | grep -vxE -- '--(help|version)')
	completed=$(options <"$packaging/completion/$p.bash" | grep -vxE -- '--(help|version)')
	check "the manual page of $p has every option that --help has" within "$help" "$manual"
	check "the completion of $p has every option that --help has" within "$help" "$completed"
	check "the completion of $p has no option that --help has not" within "$completed" "$help"
	strangers=$(for o in "${programs[@]}"; do help_of "$o"; done | options)
	check "the manual page of $p names no option that no program has" within "$manual" "$strangers"
done

# Words of a command in the completion: "noun" in the first list, verbs in the list of the noun.
nouns=$(printf '%s\n' "${commands[@]% *}" | sort -u)
check "the completion of bwlimit-ctl has every command" within "$nouns" \
	"$(sed -n "s|^\t/) words='\(.*\)' ;;|\1|p" "$packaging/completion/bwlimit-ctl.bash")"
for noun in $(printf '%s\n' "${commands[@]}" | awk 'NF > 1 { print $1 }' | grep -v "^grant$" | sort -u); do # grant takes a name or list
	check "and every verb of $noun" within \
		"$(printf '%s\n' "${commands[@]}" | sed -n "s/^$noun //p")" \
		"$(sed -n "s|^\t$noun/) words='\(.*\)' ;;|\1|p" "$packaging/completion/bwlimit-ctl.bash")"
done
check "and every command to a fleet" within "${fleet_commands[*]}" \
	"$(sed -n "s|^\tfleet-/) words='\(.*\)' ;;|\1|p" "$packaging/completion/bwlimit-ctl.bash")"
manual=$(man_text bwlimit-ctl | tr -d '"')
for c in "${fleet_commands[@]}"; do
	grep -qE "^\.B[IR]? --fleet .*\b$c\b" <<<"$manual" || { note "not in bwlimit-ctl.8: --fleet $c"; missing=1; }
done
for c in "${commands[@]}"; do
	grep -qE "^\.B[IR]? .*\b$c\b" <<<"$manual" || { note "not in bwlimit-ctl.8: $c"; missing=1; }
done
check "the manual page of bwlimit-ctl has every command" [ -z "${missing:-}" ]
commands_of_load=$("$build/loader/bwlimit-load" --help | sed -n '/^commands:/,/^$/s/^  \([a-z]\+\)  .*/\1/p')
check "the manual page of bwlimit-load has every command" within "$commands_of_load" \
	"$(man_text bwlimit-load | sed -n 's/^\.B \([a-z]*\)$/\1/p')"
check "the completion of bwlimit-load has every command" within "$commands_of_load" \
	"$(sed -n "s/^\t'') words='\(.*\)' ;;/\1/p" "$packaging/completion/bwlimit-load.bash")"

# zsh asks bash: what it would offer, its own builtin replaced.
in_zsh() { # words…: what is offered for the last one
	BWLIMIT_BASH_COMPLETIONS=$packaging/completion PATH=$build/ctl:$build/loader:$PATH \
		zsh -fc 'words=("$@") CURRENT=$# service=$1
			compadd() { shift; print -l -- "$@" }
			. '"$packaging"'/completion/_bwlimit' zsh "$@"
}
offered() { # word words…
	local want=$1
	shift
	in_zsh "$@" | grep -qx -- "$want" || { note "$(in_zsh "$@")"; false; }
}
if command -v zsh >/dev/null; then
	check "zsh completes a command" offered policy bwlimit-ctl po
	check "and its verb" offered apply bwlimit-ctl policy ''
	check "and an option" offered --fresh-volume bwlimit-load attach --fr
	check "of the agent too" offered --state-dir bwlimitd --
else
	skip "zsh completes what bash does" "zsh is not installed"
fi

# The package.
debian=$source_dir/debian
check "the package has the version of the tree" [ \
	"$(sed -n '1s/.*(\(.*\)).*/\1/p' "$debian/changelog")" = \
	"$(sed -n 's/^project(bwlimit VERSION \([^ ]*\).*/\1/p' "$source_dir/CMakeLists.txt")" ]
check "its build dependencies are the tree's" same \
	"$(sed -n '/^Build-Depends:/,/^$/p' "$debian/control" | grep -v debhelper | tr -d ' ,' | sed 's/:native//')" \
	"$(awk '!/^#/ && $2 == "build" && $1 != "build-essential" { print $1 }' "$packaging/debian-deps.txt")"
check "every unit is installed" same \
	"$(sed -n 's/^set(units \(.*\))$/\1/p' "$packaging/CMakeLists.txt")" \
	"$(cd "$packaging/systemd" && printf '%s\n' *.service.in | sed 's/\.service\.in//')"
check "and the package says which of them are enabled" same \
	"$(grep -o '[a-z-]*\.service' "$debian/rules")" \
	"$(cd "$packaging/systemd" && printf '%s\n' *.service.in | sed 's/\.in//')"
check "every manual page and completion belongs to a program that is installed" same "${programs[*]}" \
	"$(cd "$packaging" && printf '%s\n' *.8 completion/*.bash | sed 's|.*/||; s/\.\(8\|bash\)$//')"
# The controller is no DPU's: a package of its own, and none of its files in the other one.
check "what the controller is made of goes into its own package" same \
	"$(sed -n 's/^CONTROLLER := //p' "$debian/rules" | tr ' ' '\n' | grep -o '[^/]*$')" \
	"$(cd "$packaging" && printf '%s\n' bwlimit-controller bwlimit-controller.8 bwlimit-controller.service bwlimit-controller.conf)
bwlimit-controller"
check "and that package is there" grep -qx 'Package: bwlimit-controller' "$debian/control"
for script in postinst prerm postrm; do
	check "its $script is a shell script" sh -n "$debian/bwlimit.$script"
done
done_testing
