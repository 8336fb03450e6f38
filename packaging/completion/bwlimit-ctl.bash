# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Completion for bwlimit-ctl: commands, words, options; names of peers from the policy in force.

# The names in a list, e.g. of "peer list": its first column without the heading. Nothing without pins.
_bwlimit_ctl_names() {
	bwlimit-ctl "$@" 2>/dev/null | awk 'NR > 1 { print $1 }'
}

# The classes for which a peer has a history.
_bwlimit_ctl_classes() { # peer
	bwlimit-ctl history "$1" --since 1s 2>/dev/null | sed -n 's/.*; --class: //p'
}

_bwlimit_ctl() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	local i noun='' verb='' words='' fleet=''
	local conf='--conf --servers --ca --cert --cert-key --prefix --root --accept-etcd-holes'
	local order="--key --reason --for --timeout --no-wait $conf" ask='--tray --label --controller --conf --ca --cert --cert-key'

	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		--pin-dir) ((i++)) ;;
		--fleet) [[ -n $noun ]] || fleet=fleet- ;;
		-*) ;;
		*) if [[ -z $noun ]]; then noun=${COMP_WORDS[i]}; elif [[ -z $verb ]]; then verb=${COMP_WORDS[i]}; fi ;;
		esac
	done
	case $prev in
	--ca) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
	--pin-dir | --state-dir | --out | --dir) mapfile -t COMPREPLY < <(compgen -d -- "$cur"); return ;;
	--policy | --csr | --vici | --key | --conf | --cert | --cert-key | --root | --against | --checkpoint | --proof) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
	--type) mapfile -t COMPREPLY < <(compgen -W 'root policy grant lease revocation rollout expulsion enrolment timestamp' -- "$cur"); return ;;
	--port | from | uplink) mapfile -t COMPREPLY < <(compgen -W "$(ls /sys/class/net)" -- "$cur"); return ;;
	--filter | --log-key | --volume-warning | --volume-critical | --limit | --limit-for | --ends-within | --verify-age | --history-age | --for | --witness | --sha256 | --audience | --most | --servers | --prefix | --controller | --label | --zone | --assume | --number | --epoch | --offline-for | --lease-most | --reason | --tray | --life | --crl-life | --name | --size | --compression | --trays | --confirm | --interval | --count | --timeout | rate | burst | \
		volume | via | via6 | ipsec | mark | reason | accept) return ;;
	mode) mapfile -t COMPREPLY < <(compgen -W 'police shape mark monitor' -- "$cur"); return ;;
	path) mapfile -t COMPREPLY < <(compgen -W clear -- "$cur"); return ;;
	zone) [[ $noun == peer ]] && words=$(_bwlimit_ctl_names zone list) ;;
	esac
	if [[ -n $words ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
		return
	fi
	[[ $prev != --fleet || -z $noun ]] || return
	case $fleet$noun/$verb in
	fleet-/) words='revoke expel enrol replace pending approve status top usage reasons history closures exfil trays logs rollouts' ;;
	fleet-revoke/*) words="--tray --label --all --zone --assume --unknown reason $order" ;;
	fleet-expel/*) words="--keep-user --unknown reason $order" ;;
	fleet-replace/*) words="--keep-user --log-key --unknown reason $order" ;;
	fleet-enrol/*) words="--label --log-key reason $order" ;;
	fleet-pending/*) words="--size $conf" ;;
	fleet-trays/* | fleet-logs/*) words=$conf ;;
	fleet-rollouts/*) words="--most $conf" ;;
	fleet-approve/*) words="--key --against --size --yes --timeout --no-wait $conf" ;;
	fleet-status/*) words="--sort --offset --limit $ask" ;;
	fleet-top/* | fleet-usage/* | fleet-reasons/* | fleet-history/* | fleet-closures/*) words=$ask ;;
	fleet-exfil/*) words="--size --compression $ask" ;;
	fleet-*) ;;
	/) words='status peer grant revoke zone policy stats usage history flows tap latency reasons metrics check top watch explain exfil heartbeat lease stop drill ipsec pki audit evidence tamper journal key approve break-glass enrol' ;;
	peer/) words='list show add set del' ;;
	zone/) words='list set' ;;
	policy/) words='check diff apply confirm rollback show sign verify publish' ;;
	grant/) words="list --all $(_bwlimit_ctl_names peer list)" ;;
	revoke/*) words="--all --vici --timeout reason $(_bwlimit_ctl_names peer list)" ;;
	latency/) words='show on off' ;;
	latency/*) words="--all --for $(_bwlimit_ctl_names peer list)" ;;
	tap/*) words='--for --write --most' ;;
	flows/) words='intervals --peer --port --since --most --state-dir' ;;
	evidence/) words='export open challenge verify reconcile' ;;
	evidence/export) words='--from --to --since --state-dir --dir --checkpoint' ;;
	evidence/open) words='--interval --to --flow --peer --write --state-dir --dir --checkpoint' ;;
	evidence/challenge) words='--seed-from --draws --nonce --witness --witnesses --write --state-dir --dir' ;;
	evidence/verify) words='--key --witness --witnesses --seed-from --draws --nonce --whole' ;;
	evidence/reconcile) words='--sender-key --receiver-key --witness --witnesses --cause' ;;
	flows/*) words='--peer --port --since --most --state-dir' ;;
	history/*)
		words="--class --since --until --step --all --state-dir $(bwlimit-ctl history 2>/dev/null)"
		[[ $prev != --class ]] || words=$(_bwlimit_ctl_classes "$verb")
		[[ $prev != --@(since|until|step) ]] || return
		;;
	stats/*) words="--interval $(_bwlimit_ctl_names peer list)" ;;
	peer/show) words=$(_bwlimit_ctl_names peer list) ;;
	peer/del) words="reason $(_bwlimit_ctl_names peer list)" ;;
	peer/set)
		words='rate burst volume mode mark accept reason'
		[[ $prev == set ]] && words=$(_bwlimit_ctl_names peer list)
		;;
	peer/add) words='zone rate burst volume mode mark accept path via via6 ipsec uplink from contained reason' ;;
	zone/set)
		words='rate burst volume reason'
		[[ $prev == set ]] && words=$(_bwlimit_ctl_names zone list)
		;;
	policy/check | policy/diff) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
	policy/sign)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur"; compgen -W '--key --fleet --audience --name --number --epoch --for --type --offline-for --lease-most --stages --opens --lifts --fresh-volume --break-glass --reason --out' -- "$cur")
		return
		;;
	policy/publish)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur"; compgen -W "--propose --timeout --no-wait $conf" -- "$cur")
		return
		;;
	policy/verify)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur"; compgen -W '--root --tray' -- "$cur")
		return
		;;
	key/) words='new show' ;;
	key/*) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
	break-glass/*) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
	approve/*)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur"; compgen -W '--root --key --against --size --yes' -- "$cur")
		return
		;;
	enrol/*)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur"; compgen -W '--sha256' -- "$cur")
		return
		;;
	policy/confirm | policy/rollback | journal/init) words=reason ;;
	policy/apply)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur"; compgen -W '--confirm --fresh-volume --trust-clock --yes reason' -- "$cur")
		return
		;;
	grant/--all) words='--yes reason' ;;
	grant/*)
		words='rate burst volume for mode mark reason'
		[[ $prev != for ]] || words=ever
		[[ $prev != +* ]] || words+=' once'
		;;
	reasons/*) words='--port --all' ;;
	metrics/*) words=--peers ;;
	drill/) words='live verify --list --verbose' ;;
	drill/live) words="--to --for --write" ;;
	drill/verify) mapfile -t COMPREPLY < <(compgen -f -- "$cur"; compgen -W '--key' -- "$cur"); return ;;
	drill/*) words='--list --verbose' ;;
	ipsec/) words='status load render rekey track' ;;
	ipsec/track) words='--dry-run' ;;
	ipsec/status) words="--vici --timeout $(_bwlimit_ctl_names peer list)" ;;
	ipsec/rekey) words="--all --ike --vici --timeout $(_bwlimit_ctl_names peer list)" ;;
	ipsec/load | ipsec/render)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur"; compgen -W '--dir --vici --timeout' -- "$cur")
		return
		;;
	journal/) words='init show' ;;
	audit/) words='init show ack verify checkpoint prove check-proof tiles' ;;
	audit/init) words='--dir --origin --size' ;;
	audit/show) words='--dir --since' ;;
	audit/verify) words='--dir --key --checkpoint --witness --witnesses --proof' ;;
	audit/checkpoint) words='--dir --key --from --to' ;;
	audit/prove) words='--dir --key --witnessed --write --record' ;;
	audit/check-proof)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur"; compgen -W '--key --record --witness --witnesses' -- "$cur")
		return
		;;
	audit/tiles)
		mapfile -t COMPREPLY < <(compgen -d -- "$cur"; compgen -W '--dir --key --witnessed' -- "$cur")
		return
		;;
	pki/) words='init issue renew revoke' ;;
	pki/init) words='--ca --name --life --crl-life' ;;
	pki/issue | pki/renew) words='--ca --out --csr --life --crl-life' ;;
	pki/revoke) words='--ca --crl-life' ;;
	check/*) words='--volume-warning --volume-critical --limit --limit-for --ends-within --verify-age --history-age' ;;
	top/*)
		words='--once --interval --most --sort --filter'
		[[ $prev != --sort ]] || words='now name state passes limit of drops used'
		;;
	usage/*) words=--most ;;
	watch/*)
		words='--event --reason --port --peer --class --count --timeout'
		[[ $prev == --event ]] && words='drop first-packet new-destination spoofed-source exhausted lapsed gate clock'
		[[ $prev == --reason ]] && words=$(bwlimit-ctl reasons --all 2>/dev/null | awk 'NR > 1 { print $2 }' | sort -u)
		[[ $prev == --peer ]] && words=$(_bwlimit_ctl_names peer list)
		;;
	explain/*) words='--port --size tcp udp icmp icmpv6 fragment' ;;
	exfil/*) words='--size --compression --trays --policy --records --export-state --curve' ;;
	stop/*) words='--off reason' ;;
	heartbeat/*) words='--lift reason' ;;
	lease/) words='show renew sign' ;;
	lease/sign)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur"; compgen -W '--for --key --number --out' -- "$cur")
		return ;;
	lease/renew) words="--for reason" ;;
	tamper/*)
		words='--peer --policy'
		[[ $prev == --peer ]] && words=$(_bwlimit_ctl_names peer list)
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words --json --pin-dir --fleet --help" -- "$cur")
}
complete -F _bwlimit_ctl bwlimit-ctl
