# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Completion for bwlimit-sync: options.

_bwlimit_sync() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}

	case $prev in
	--servers | --tray | --prefix | --serve | --serve-to) return ;;
	--ca | --cert | --key | --crl | --agent | --commands) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "--servers --tray --ca --cert --key --prefix --agent --serve --serve-to --crl --commands --accept-etcd-holes --json --help --version" -- "$cur")
}
complete -F _bwlimit_sync bwlimit-sync
