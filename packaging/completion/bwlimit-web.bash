# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Completion for bwlimit-web: options.

_bwlimit_web() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}

	case $prev in
	--listen | --host | --serve-to | --name) return ;;
	--ca | --cert | --key | --crl | --commands | --conf) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
	--page) mapfile -t COMPREPLY < <(compgen -d -- "$cur"); return ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "--listen --host --ca --cert --key --crl --serve-to --page --name --commands --fleet --conf --json --help --version" -- "$cur")
}
complete -F _bwlimit_web bwlimit-web
