# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Completion for bwlimit-load: commands, options, devices.

_bwlimit_load() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local i command='' words=''

	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		attach | detach | upgrade | status | verify | up | down | probe | guard | await) command=${COMP_WORDS[i]} ;;
		esac
	done
	case $prev in
	--host | --uplink | --management)
		mapfile -t COMPREPLY < <(compgen -W "$(ls /sys/class/net)" -- "$cur")
		return
		;;
	--policy) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
	--pin-dir) mapfile -t COMPREPLY < <(compgen -d -- "$cur"); return ;;
	--tc) mapfile -t COMPREPLY < <(compgen -W 'auto tcx clsact' -- "$cur"); return ;;
	--xdp) mapfile -t COMPREPLY < <(compgen -W 'auto native generic libxdp none' -- "$cur"); return ;;
	--record | --latency) mapfile -t COMPREPLY < <(compgen -W 'on off' -- "$cur"); return ;;
	--max-peers | --max-extras | --max-windows) return ;;
	esac
	case $command in
	'') words='attach detach upgrade status verify up down probe guard await help' ;;
	attach) words='--host --uplink --management --policy --tc --xdp --max-peers --max-extras --max-windows
		--tunnel --pace --record --latency --fresh-volume --republish --trust-clock --keep-down --drill' ;;
	upgrade) words='--management --tc --xdp --record --latency' ;;
	detach) words='--open --host' ;;
	verify | up) words=--management ;;
	down | guard) words='--management --uplink --policy --host' ;;
	probe) words='--host --uplink --try-hardware' ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words --json --pin-dir --help" -- "$cur")
}
complete -F _bwlimit_load bwlimit-load
