# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Completion for bwlimitd: options.

_bwlimitd() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}

	case $prev in
	--history-size | --flows-size | --flows-every) return ;;
	--policy) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
	--state-dir | --pin-dir) mapfile -t COMPREPLY < <(compgen -d -- "$cur"); return ;;
	--tpm) mapfile -t COMPREPLY < <(compgen -W "auto required none" -- "$cur"); return ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "--policy --state-dir --pin-dir --tpm --tpm-every --history-size --flows-size --flows-every --totals --once --json --help --version" -- "$cur")
}
complete -F _bwlimitd bwlimitd
