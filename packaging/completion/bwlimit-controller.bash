# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Completion for bwlimit-controller: options.

_bwlimit_controller() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}

	case $prev in
	--servers | --name | --prefix | --witness-name | --stages | --soak | --silent-after | --drops-more | --tolerate | --trays | --listen | --serve | --serve-to) return ;;
	--root | --ca | --cert | --key | --crl | --online-key | --witness-key) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
	--dev) mapfile -t COMPREPLY < <(compgen -d -- "$cur"); return ;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "--servers --name --root --online-key --witness-key --witness-name --ca --cert --key --prefix --stages --soak --silent-after --drops-more --tolerate --trust-clock --accept-etcd-holes --dev --trays --listen --serve --serve-to --crl --json --help --version" -- "$cur")
}
complete -F _bwlimit_controller bwlimit-controller
