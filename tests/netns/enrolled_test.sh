#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# If a root of signed documents is enrolled, local tools can only tighten: every way in which a tool writes limits,
# the journal or the desired policy, each with the control that it works without an enrolment, and that
# tightening still works. With bwlimitd, without it, and as a member of group bwlimit.
set -uo pipefail
LAB=bwl-enrolled-$$ LAB_DESTS=3
# shellcheck source=../harness/state_lab.sh
. "$(dirname "${BASH_SOURCE[0]}")/../harness/state_lab.sh"
# shellcheck source=../harness/people.sh
. "$here/people.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"

ATTACH=("$LOAD" attach --drill --max-peers 4096)

# d1: a rate and a volume; d2: with a floor; d3: only in `more`.
policy() { # rate of d1 [more]
	lab_policy_head 1h <<-END
	tamper: { lease: log, program: revoke }
	zones:
	  ext: { rate: 50mbit }
	peers:
	$(lab_peer d1 1 "zone: ext, grant: { rate: $1, burst: 1mb }")
	$(lab_peer d2 2 "grant: { rate: 10mbit, burst: 1mb, volume: 1gb per 1d }, floor: { rate: 1mbit }")
	${2-}
	END
}
D3=$(lab_peer d3 3 "grant: { rate: 1mbit }")
rate() { "$CTL" --json peer show "$1" 2>/dev/null | jq -r '.grant.rate_bits_per_second // 0 | (. / 1000 | round) * 1000'; }
rate_is() { [[ $(rate "$1") == "$2" ]]; }
load() { in_dpu "$LOAD" "$@" >"$LAB_TMP/ctl" 2>&1; }
enrolled_widens() { [[ $("$@" 2>/dev/null | jq -r .error.id) == enrolled-widens ]]; }
policy 5mbit >"$LAB_TMP/five.yaml"
policy 4mbit >"$LAB_TMP/four.yaml"
policy 6mbit >"$LAB_TMP/six.yaml"
policy 5mbit "$D3" >"$LAB_TMP/more.yaml"
sed 's/program: revoke/program: log/' "$LAB_TMP/five.yaml" >"$LAB_TMP/tame.yaml"
{ cat "$LAB_TMP/five.yaml"; echo 'min_charge: 32'; } >"$LAB_TMP/charge.yaml"
# A peer without a grant: what it does to others.
shut() { printf '  - { name: shut, addresses: [10.104.0.0/24], %s }\n' "$1"; }
policy 5mbit "$(shut "path: clear, via: $LAB_VIA4, next_hop_mac: 02:66:66:66:66:66")" >"$LAB_TMP/hop.yaml"
policy 5mbit "$(shut 'ipsec: { remote: 203.0.113.7 }')" >"$LAB_TMP/ike.yaml"

# The state before each row: the policy of five.yaml, nothing closed, nothing lowered. Not made by a tool:
# the memory is hidden meanwhile, and the maps are new.
does() { # sentence, arguments of bwlimit-ctl…: what it said, where it fails
	local sentence=$1
	shift
	if ctl "$@"; then ok "$sentence"; else nok "$sentence"; note "$(cat "$LAB_TMP/ctl")"; fi
}
fresh() { # [enrolled]
	no_agent
	power_off
	rm -f "$STATE/signed.json"
	rm -rf "$STATE/journal" "$STATE/accepted.yaml" "$STATE/desired"
	"$CTL" journal init >/dev/null 2>&1
	cp "$LAB_TMP/five.yaml" "$FILE"
	in_dpu "${ATTACH[@]}" --fresh-volume >"$LAB_TMP/out" 2>&1 || { note "$(cat "$LAB_TMP/out")"; return 1; }
	once
	in_dpu "$CTL" heartbeat >/dev/null 2>&1
	[[ -z ${1-} ]] || people_put
}
people_put() { cp "$LAB_TMP/signed.json" "$STATE/signed.json"; }
people_enrol "$STATE" || exit 1
mv "$STATE/signed.json" "$LAB_TMP/signed.json"

# --- every path: name
# what comes before
# the command that widens
# the reason of the refusal
revoked() { ctl revoke d1; }
stopped() { ctl stop; }
lowered() { ctl peer set d1 rate 1mbit; }
none() { :; }
rows=(
	'policy apply of a higher rate|none|policy apply FILE/six.yaml --yes|peer d1, grant: rate: 5.* -> 6'
	'policy apply of one peer more|none|policy apply FILE/more.yaml --yes|whose it is: nobody.s -> peer d3'
	'policy apply of tamper actions that do less|none|policy apply FILE/tame.yaml --yes|tamper: program: revoke -> log'
	'policy apply of a lower min_charge|none|policy apply FILE/charge.yaml --yes|min_charge: 64 -> 32'
	"policy apply of a closed peer that has the others' next hop|none|policy apply FILE/hop.yaml --yes|next hop $LAB_VIA4 at p0: next_hop_mac: asked for -> 02:66:66:66:66:66"
	'policy apply of a closed peer whose DPU may speak|none|policy apply FILE/ike.yaml --yes|DPU 203.0.113.7: IKE from there: not heard -> fqdn:shut'
	'policy apply --confirm of what is tighter, for it returns,|none|policy apply FILE/four.yaml --yes --confirm 60s|it would return by itself to a wider policy: peer d1'
	'policy apply --confirm of what is in force, which all else waits for,|none|policy apply FILE/five.yaml --yes --confirm 60s|would have to wait until the trial ends'
	'policy apply --fresh-volume|none|policy apply FILE/four.yaml --yes --fresh-volume|fresh_volume'
	'peer set of a higher rate|none|peer set d1 rate 6mbit|peer d1, grant: rate'
	'peer set of a larger burst|none|peer set d1 burst 2mb|peer d1, grant: burst'
	'peer set of a higher volume|none|peer set d2 volume 2gb per 1d|peer d2, grant: volume'
	'peer set of another window|none|peer set d2 volume 1gb per 2d|window of the volume'
	'peer set mode monitor|none|peer set d1 mode monitor|mode: police -> monitor'
	'peer set of more that may arrive|none|peer set d1 accept 900mbit|peer d1, accept: rate'
	'peer add|none|peer add d3 10.103.0.0/24 path clear via 192.0.2.254 rate 1mbit|peer d3'
	'peer add of a place within another one|none|peer add d4 10.101.0.0/26 path clear via 192.0.2.254 rate 1mbit|whose it is: peer d1 -> peer d4'
	'zone set of a higher rate|none|zone set ext rate 60mbit|zone ext: rate'
	'grant of a higher rate|none|grant d1 rate 6mbit reason test|peer d1, grant: rate'
	'grant of more volume|none|grant d2 volume 2gb per 1d reason test|peer d2, grant: volume'
	'heartbeat|none|heartbeat|bwlimitd alone keeps grants alive'
	'heartbeat --lift|none|heartbeat --lift|the clamp would end'
	'policy apply of the file, after limits were lowered,|lowered|policy apply FILE/five.yaml --yes|rate: 1.* -> 5'
	'grant --all|revoked|grant --all reason test|grant --all would open what is revoked'
	'grant of who was revoked|revoked|grant d1 reason test|revocation: closed -> open'
	'stop --off|stopped|stop --off|what was stopped would pass'
)
each() { # function
	local row
	for row in "${rows[@]}"; do
		IFS='|' read -r what before words why <<<"$row"
		read -ra argv <<<"${words//FILE/$LAB_TMP}"
		"$1"
	done
}
works() {
	ctl stop --off
	ctl policy apply "$LAB_TMP/five.yaml" --yes
	ctl grant d1 reason again
	$before
	does "control: $what works where nothing is enrolled" "${argv[@]}"
	ctl policy rollback
}
all_of_it() { "$CTL" policy show | grep -v digest; "$CTL" --json journal show | jq -c 'del(.records, .number)'; }
refused() {
	$before
	was=$(all_of_it)
	refute "$what is refused" ctl "${argv[@]}"
	grep -q -- "$why" "$LAB_TMP/ctl" || note "$(cat "$LAB_TMP/ctl")"
	check "and it says why" grep -q -- "$why" "$LAB_TMP/ctl"
	check "and nothing is changed, in the maps or the journal" test "$was" == "$(all_of_it)"
}
fresh || exit 1
each works
fresh enrolled || exit 1
note "with bwlimitd dead"
each refused

# --- tightening still works
tighter=(
	'peer set of a lower rate|peer set d1 rate 4500kbit'
	'peer set of a smaller burst|peer set d1 burst 500kb'
	'peer set of a lower volume|peer set d2 volume 900mb per 1d'
	'peer set of less that may arrive|peer set d1 accept 1mbit'
	'grant of less, that ends|grant d1 rate 4200kbit for 1h reason less'
	'grant of the same for a shorter time|grant d1 for 30m reason less'
	'zone set of a lower rate|zone set ext rate 40mbit'
	'zone set of a volume where there was none|zone set ext volume 1gb per 1d'
	'policy apply of what is within it|policy apply FILE/one.yaml --yes'
	'the same again|policy apply FILE/one.yaml --yes'
	'peer del|peer del d2'
	'revoke|revoke d1'
	'revoke --all|revoke --all'
	'stop|stop'
)
lab_policy_head >"$LAB_TMP/one.yaml" <<-END
	tamper: { lease: log, program: revoke }
	zones:
	  ext: { rate: 30mbit, volume: 1gb per 1d }
	peers:
	$(lab_peer d1 1 "zone: ext, grant: { rate: 1mbit, burst: 100kb, until: $(date -u -d '+10 min' +%FT%TZ) }, accept: { rate: 900kbit }")
	$(lab_peer d2 2 "grant: { rate: 2mbit, burst: 1mb, volume: 500mb per 1d }, floor: { rate: 1mbit }")
END
tightens() {
	fresh enrolled || exit 1
	[[ -z ${1-} ]] || { agent; lab_wait_for 30 "$CTL" policy show; }
	for row in "${tighter[@]}"; do
		IFS='|' read -r what words <<<"$row"
		read -ra argv <<<"${words//FILE/$LAB_TMP}"
		[[ ${argv[0]} != policy ]] || argv+=(--trust-clock)
		does "$what is done${1:+, with bwlimitd}" "${argv[@]}"
	done
	check "and holds" test "$(state_of d1)" = revoked
}
tightens
tightens yes
check "the tightened policy is what bwlimitd leaves in force" rate_is d1 1000000

# --- by bwlimitd: an order, and the file that it reads
fresh enrolled
agent
check "with bwlimitd policy apply of a higher rate is refused" enrolled_widens in_dpu "$CTL" --json policy apply "$LAB_TMP/six.yaml" --yes
# Before bwlimitd listens, which it does after it says that it starts, policy apply acts alone: it is ordered again.
ordered() {
	said policy 'six.yaml: ordered by.*not applied: this tray is enrolled.*rate: 5' ||
		{ in_dpu "$CTL" policy apply "$LAB_TMP/six.yaml" --yes; false; }
}
check "and bwlimitd says so" lab_wait_for 30 ordered
check "and the audit log" grep -q 'six.yaml.*this tray is enrolled' <<<"$("$CTL" audit show)"
desire 6mbit
check "a file that widens is refused" lab_wait_for 30 said policy '\(this tray is enrolled, where local tools only tighten: peer d1, grant: rate: 5\|no signed policy is valid\)'
check "status says that it is" lab_wait_for 30 eval '"$LOAD" status --json | jq -e ".desired.refused != null" >/dev/null'
check "and what was in force stays" rate_is d1 5000000
does "control: lowered by hand it is lower" peer set d1 rate 4mbit
check "for good" rate_is d1 4000000
no_agent
desire 5mbit "$D3"
refute "at its start it refuses a wider file, too" once
check "and what was in force stays then" rate_is d1 4000000

# --- around it
check "no environment leads around it: the maps know" enrolled_widens env BWLIMIT_STATE_DIR=/nowhere nsenter --net="/run/netns/$LAB-dpu" "$CTL" --json peer set d1 rate 5mbit
check "without its memory it stays enrolled" eval 'rm "$STATE/signed.json"; enrolled_widens in_dpu "$CTL" --json peer set d1 rate 5mbit'
people_put
check "upgrade goes on" load upgrade
check "and what it carries on is enrolled" eval 'rm "$STATE/signed.json"; enrolled_widens in_dpu "$CTL" --json peer set d1 rate 5mbit'
people_put
wide() { [[ $("$LOAD" "$@" --json 2>/dev/null | jq -r .error.id) == enrolled-widens ]]; }
check "detach --open is refused" wide detach --open
check "and the maps stay" rate_is d1 4000000
check "attach --fresh-volume is refused" wide attach --drill --fresh-volume
check "attach --trust-clock is refused" wide attach --drill --trust-clock
check "attach without a journal is refused" eval 'BWLIMIT_JOURNAL_DIR= wide attach --drill'
check "attach --republish of a wider file is refused" enrolled_widens in_dpu "$LOAD" attach --drill --republish --policy "$LAB_TMP/more.yaml" --json
check "and leaves what is in force" rate_is d1 4000000
power_off
check "after a boot a wider file than what was accepted is refused" enrolled_widens in_dpu "$LOAD" attach --drill --policy "$LAB_TMP/more.yaml" --json
refute "and the host port stays down" lab_is_up hpf0
power_off
check "after a boot what was accepted is put in force" attach
check "and holds" rate_is d1 4000000
agent
lab_wait_for 30 passes 1 4 # the port has just come up
live "the power was cut, and bwlimitd has started"
no_agent
in_dpu "$LOAD" detach >/dev/null 2>&1
mv "$STATE/accepted.yaml" "$LAB_TMP/accepted.yaml"
check "where nothing was accepted a file is refused" enrolled_widens in_dpu "$LOAD" attach --drill --policy "$LAB_TMP/four.yaml" --json
rm -rf "$STATE/journal"
"$CTL" journal init >/dev/null 2>&1
check "a journal that is begun after one was taken away has all closed" journal '.stopped and (.prefixes | length) == 2'
fresh
rm -rf "$STATE/journal"
"$CTL" journal init >/dev/null 2>&1
check "control: where nothing is enrolled it has nothing closed" journal '.stopped | not'
done_testing
