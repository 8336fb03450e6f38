# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Completion for bwlimit-export: options.

_bwlimit_export() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}

	case $prev in
	--budget | --domain) return ;;
	--to) mapfile -t COMPREPLY < <(compgen -W "file: tcp: tls: udp:" -- "$cur"); return ;;
	--format) mapfile -t COMPREPLY < <(compgen -W "ipfix json" -- "$cur"); return ;;
	--device) mapfile -t COMPREPLY < <(cd /sys/class/net && compgen -G "$cur*"); return ;;
	--ca | --cert | --key | --flows | --state-dir) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "--to --format --budget --domain --device --ca --cert --key --flows --state-dir --once --help --version" -- "$cur")
}
complete -F _bwlimit_export bwlimit-export
