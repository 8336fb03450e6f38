# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Completion for bwlimit-ipsecd: commands, the policy file, options.

_bwlimit_ipsecd() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}

	case $prev in
	--timeout) return ;;
	charon | --vici) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
	--dir | --pin-dir) mapfile -t COMPREPLY < <(compgen -d -- "$cur"); return ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "track charon --pin-dir --dir --vici --timeout --json --help --version" -- "$cur")
}
complete -F _bwlimit_ipsecd bwlimit-ipsecd
