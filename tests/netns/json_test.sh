#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every document that a program prints matches its kind in docs/schema, errors included. Charon's and
# the kernel's SAs are in ipsec_test and in the VM; documents that need them are checked there by the same checker.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB=bwl-json-$$ LAB_DESTS=2
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/../harness/lab.sh"
# shellcheck source=../harness/documents.sh
. "$here/../harness/documents.sh"

seen=() sentences=() kinds=()
prints() { # KIND, command…
	seen+=("$1")
	in_dpu env BWLIMIT_PIN_DIR="$BWLIMIT_PIN_DIR" "${@:2}" --json >"$LAB_TMP/doc" 2>"$LAB_TMP/err"
}
prints_well() {
	prints "$@"
	judge "$1" <"$LAB_TMP/doc" || { head -n 3 "$LAB_TMP/err" | sed 's/^/# /'; return 1; }
}
ctl() { prints_well "$1" "$CTL" "${@:2}"; }
judged_later() { # sentence, ctl or load, KIND, command…: it is judged at the end, with the others by one Python
	local program=$CTL
	[[ $2 == ctl ]] || program=$LOAD
	prints "$3" "$program" "${@:4}"
	cp "$LAB_TMP/doc" "$LAB_TMP/doc.${#kinds[@]}"
	cp "$LAB_TMP/err" "$LAB_TMP/err.${#kinds[@]}"
	sentences+=("$1") kinds+=("$3")
}
judge_all() {
	local i n=0 verdict
	while read -r verdict; do
		[[ $verdict == ok ]] || note "$verdict" "$(head -n 3 "$LAB_TMP/err.$n")"
		check "${sentences[n]}" test "$verdict" = ok
		n=$((n + 1))
	done < <(for i in "${!kinds[@]}"; do echo "${kinds[i]} $LAB_TMP/doc.$i"; done |
		"$documents/json_check.py" --each "$documents/../../docs/schema")
	check "all were judged" test $n -eq ${#kinds[@]}
}

can_judge || { echo '1..0 # SKIP no python3-jsonschema'; exit 77; }
lab_up || exit 1

# The checker itself: it finds an unknown field, a missing one, and one of another type.
good='{"version": 1, "kind": "stop", "stopped": true}'
check "a document as it should be is taken" judge stop <<<"$good"
finds() { ! judge "$1" >/dev/null; }
check "a field without a schema is found" finds stop <<<'{"version": 1, "kind": "stop", "stopped": true, "new": 1}'
check "a field that is missing is found" finds stop <<<'{"version": 1, "kind": "stop"}'
check "another type is found" finds stop <<<'{"version": 1, "kind": "stop", "stopped": 1}'
check "another kind is found" finds lease <<<"$good"
check "a kind without a schema is found" finds stop <<<'{"version": 1, "kind": "nothing"}'

cat >"$LAB_TMP/policy.yaml" <<END
version: 1
node: tray-j
uplinks: [p0]
host_ports:
  - dev: hpf0
    sources: [10.7.0.0/24, fd00:7:0::/64]
    limit: { rate: 2gbit }
heartbeat: 1h
lease: 24h
zones:
  external: { rate: 500mbit, volume: 10gb per 1d }
node_limit: { rate: 2gbit }
peers:
  - name: d1
    addresses: [10.101.0.0/24, fd00:101::/64]
    zone: external
    path: clear
    via: $LAB_VIA4
    via6: $LAB_VIA6
    from: [hpf0]
    grant: { rate: 100mbit, volume: 1gb, mode: mark }
    classes:
      ssh: { rate: 1mbit, volume: 1mb }
    floor: { rate: 10kbit }
  - name: d2
    addresses: [10.102.0.0/24]
    path: clear
    via: $LAB_VIA4
    accept: none
    contained: true
    grant: { rate: 50mbit, mode: shape }
END
sed 's/100mbit/200mbit/; s/name: d2/name: d3/' "$LAB_TMP/policy.yaml" >"$LAB_TMP/other.yaml"

judged_later "an error is a document" load error status
judged_later "so is one with a file and a line" ctl error policy diff /dev/null
judged_later "policy check of what has errors" ctl policy-checks policy check /dev/null
judged_later "and wrong use" ctl error grant
judged_later "probe" load probe probe
lab_attach || exit 1
judged_later "status before there is a policy" load status status
judged_later "a policy that is none" ctl error policy show
judged_later "policy check" ctl policy-check policy check "$LAB_TMP/policy.yaml"
judged_later "policy check of two files" ctl policy-checks policy check "$LAB_TMP/policy.yaml" "$LAB_TMP/other.yaml"
judged_later "policy diff against nothing" ctl policy-diff policy diff "$LAB_TMP/policy.yaml"
judged_later "policy apply" ctl policy-apply policy apply "$LAB_TMP/policy.yaml" --fresh-volume
judged_later "policy apply on trial" ctl policy-apply policy apply "$LAB_TMP/other.yaml" --confirm 60s
judged_later "policy show on trial" ctl policy policy show
judged_later "status on trial" load status status
judged_later "policy rollback" ctl policy-rollback policy rollback
prints policy-apply "$CTL" policy apply "$LAB_TMP/policy.yaml" --confirm 60s
judged_later "policy confirm" ctl policy-confirm policy confirm
judged_later "policy diff" ctl policy-diff policy diff "$LAB_TMP/other.yaml"
judged_later "policy show" ctl policy policy show
judged_later "verify" load verify verify

judged_later "heartbeat without a lease is an error" ctl error heartbeat
lab_bg agent dpu "$AGENT" --policy "$LAB_TMP/policy.yaml" --state-dir "$LAB_TMP/state" --tpm none --json
agent=$LAB_PID
judged_later "lease show before it is renewed" ctl lease lease show
renews() { ctl lease-renew lease renew --for 1h; }
check "lease renew" lab_wait_for 20 renews
judged_later "lease show" ctl lease lease show
judged_later "a lease that is too long is an error" ctl error lease renew --for 100d
judged_later "heartbeat" ctl heartbeat heartbeat
judged_later "tamper, by bwlimitd" ctl tamper tamper nothing happened
judged_later "tamper of nobody" ctl error tamper --peer nobody nothing happened

in_host ping -c 3 -i 0.2 -W 1 "$(lab_dest4 1)" >/dev/null 2>&1
in_host ping -c 2 -i 0.2 -W 1 10.199.0.1 >/dev/null 2>&1
judged_later "peer list" ctl peers peer list
judged_later "peer show" ctl peer peer show d1
judged_later "peer show of one that shapes" ctl peer peer show d2
judged_later "peer show of nobody" ctl error peer show nobody
judged_later "grant list" ctl grants grant list
judged_later "zone list" ctl zones zone list
judged_later "stats" ctl stats stats
judged_later "stats over a time" ctl stats stats --interval 100ms d1
judged_later "reasons" ctl reasons reasons
judged_later "reasons, zeros too" ctl reasons reasons --all
judged_later "usage" ctl usage usage
export BWLIMIT_LOAD=$LOAD # a build tree has it elsewhere than beside bwlimit-ctl
judged_later "status, which is bwlimit-load's" ctl status status
checks() { in_dpu "$CTL" --json check >"$LAB_TMP/checked"; seen+=(check); judge check <"$LAB_TMP/checked"; }
check "check, whatever it finds" checks
judged_later "explain of what passes" ctl explain explain 10.7.0.2 10.101.0.9 tcp 443
judged_later "explain of what does not" ctl explain explain 10.7.0.2 10.199.0.1
judged_later "exfil" ctl exfil exfil --size 1tb
sed '/^peers:/,$d; $a peers: []' "$LAB_TMP/policy.yaml" >"$LAB_TMP/nobody.yaml"
judged_later "exfil that never ends" ctl exfil exfil --size 1tb --policy "$LAB_TMP/nobody.yaml"
said() { jq -e "$1" "$LAB_TMP/doc" >/dev/null; }
check "which has null for a time" said '.never and .least_s == null'
top() { in_dpu "$CTL" --json top --interval 100ms --once | judge --lines top; }
check "top" top

judged_later "grant" ctl grant grant d1 rate 20mbit for 1h reason a test
judged_later "grant list with an end" ctl grants grant list
judged_later "peer set" ctl peer-set peer set d1 rate 10mbit
judged_later "peer add" ctl peer-add peer add d9 10.109.0.0/24 rate 1mbit path clear via "$LAB_VIA4"
judged_later "peer del" ctl peer-del peer del d9
judged_later "zone set" ctl zone-set zone set external rate 400mbit
export BWLIMIT_JOURNAL_DIR=$LAB_TMP/journal BWLIMIT_AUDIT_DIR=$LAB_TMP/audit
judged_later "journal init" ctl journal-init journal init
judged_later "revoke" ctl revoke revoke d2
judged_later "peer list, one revoked" ctl peers peer list
judged_later "revoke of all" ctl revoke revoke --all
judged_later "grant of all" ctl grant-all grant --all reason why
"$CTL" revoke --all >/dev/null
judged_later "journal show" ctl journal journal show
judged_later "status with a journal" load status status
judged_later "verify with a journal" load verify verify
judged_later "stop" ctl stop stop
judged_later "status when stopped" load status status
judged_later "stop --off" ctl stop stop --off

judged_later "audit init" ctl audit-init audit init
quiet() { "$CTL" "$@" >/dev/null 2>&1; }
quiet grant d1 reason again
quiet tamper nothing happened
sign() { "$CTL" --json audit show | jq -s "[.[] | select(.event == \"tamper\").n] | last"; }
judged_later "audit ack" ctl audit-ack audit ack "$(sign)" a test
judged_later "audit ack of no sign" ctl error audit ack 999999 a test
judged_later "audit checkpoint" ctl audit-checkpoint audit checkpoint
"$CTL" audit checkpoint >"$LAB_TMP/old" 2>/dev/null
quiet grant d2 reason again
judged_later "audit verify" ctl audit-verify audit verify
"$CTL" audit checkpoint --from "$LAB_TMP/old" >"$LAB_TMP/proof" 2>/dev/null
judged_later "audit verify of a proof" ctl audit-proof audit verify --proof "$LAB_TMP/proof" --checkpoint "$LAB_TMP/old" \
	--key "$LAB_TMP/audit/key.pub"
judged_later "audit prove" ctl audit-prove audit prove 0 --write "$LAB_TMP/0.tlog-proof" --record "$LAB_TMP/0.json"
check "which has the record" said '.record_line | fromjson | .n == 0'
judged_later "audit prove of no record" ctl error audit prove 999999
judged_later "audit check-proof" ctl audit-check-proof audit check-proof "$LAB_TMP/0.tlog-proof" --record "$LAB_TMP/0.json" \
	--key "$LAB_TMP/audit/key.pub"
judged_later "audit check-proof that does not hold" ctl error audit check-proof "$LAB_TMP/0.tlog-proof" --record "$LAB_TMP/old" \
	--key "$LAB_TMP/audit/key.pub"
judged_later "audit tiles" ctl audit-tiles audit tiles "$LAB_TMP/tiles"
log=("$LAB_TMP"/audit/*.log)
[[ -e ${log[0]} ]] || log=("$LAB_TMP"/audit/*[0-9]*)
sed -i 's/again/agein/' "${log[@]}" 2>/dev/null
judged_later "audit verify of a log that was changed" ctl audit-verify audit verify
check "which has a problem" said '.problems | length > 0'

judged_later "key new" ctl key key new "$LAB_TMP/alice.pem"
alice=$(jq -c '{ (.key_id): { public: .raw_public_key, owner: "alice" } }' "$LAB_TMP/doc")
judged_later "key show" ctl key key show "$LAB_TMP/alice.pem"
prints key "$CTL" key new "$LAB_TMP/bob.pem"
bob=$(jq -c '{ (.key_id): { public: .raw_public_key, owner: "bob" } }' "$LAB_TMP/doc")
prints key "$CTL" key new "$LAB_TMP/online.pem"
online=$(jq -c '{ (.key_id): { public: .raw_public_key, owner: "controller" } }' "$LAB_TMP/doc")
jq -n --argjson a "$alice" --argjson b "$bob" --argjson c "$online" '{ keys: ($a + $b + $c), roles: {
	root: { threshold: 2, keys: ($a + $b | keys) }, policy: { threshold: 2, keys: ($a + $b | keys) },
	online: { threshold: 1, keys: ($c | keys) } } }' >"$LAB_TMP/root.json"
judged_later "policy sign" ctl signed-document policy sign "$LAB_TMP/root.json" --type root --key "$LAB_TMP/alice.pem" \
	--fleet lab --name root --number 1 --for 1d --out "$LAB_TMP/root"
judged_later "policy sign again" ctl signed-document policy sign "$LAB_TMP/root" --key "$LAB_TMP/bob.pem"
judged_later "policy verify" ctl signed-document policy verify "$LAB_TMP/root"
prints signed-document "$CTL" policy sign "$LAB_TMP/other.yaml" --key "$LAB_TMP/alice.pem" --fleet lab --name p --number 1 --for 1d
prints signed-document "$CTL" policy sign "$LAB_TMP/policy.yaml" --key "$LAB_TMP/alice.pem" --fleet lab --name l --number 1 --for 1d \
	--lease-most 1h --out "$LAB_TMP/leased"
judged_later "lease sign" ctl signed-document lease sign "$LAB_TMP/leased" --for 1h --key "$LAB_TMP/online.pem"
judged_later "lease sign of more than people allowed" ctl error lease sign "$LAB_TMP/leased" --for 2h --key "$LAB_TMP/online.pem"
judged_later "approve" ctl approve approve "$LAB_TMP/other.yaml.signed" --root "$LAB_TMP/root" \
	--against "$LAB_TMP/policy.yaml" --key "$LAB_TMP/bob.pem" --yes
check "which widens and is signed" said '.widens and .signed'
check "with its times, and the reason that it gives: none" said '.issued_at < .not_after and .signed_reason == null'
sha=$("$CTL" --json policy verify "$LAB_TMP/root" | jq -r .digest)
jq -n --arg r "$sha" '{ tray: "lab", root: $r }' >"$LAB_TMP/enrolment.json"
prints signed-document "$CTL" policy sign "$LAB_TMP/enrolment.json" --type enrolment --key "$LAB_TMP/alice.pem" --fleet lab --name lab \
	--number 1 --for 1d --out "$LAB_TMP/enrolment"
prints signed-document "$CTL" policy sign "$LAB_TMP/enrolment" --key "$LAB_TMP/bob.pem"
# the audit log was changed above
enrols() { BWLIMIT_PIN_DIR=/nonexistent BWLIMIT_STATE_DIR=$LAB_TMP/fleet BWLIMIT_AUDIT_DIR= ctl enrol enrol "$@"; }
check "enrol, without bwlimitd" enrols "$LAB_TMP/root" "$LAB_TMP/enrolment" --sha256 "$sha"

judged_later "pki init" ctl pki-init pki init --ca "$LAB_TMP/ca" --name test
judged_later "pki issue" ctl pki-issue pki issue tray-1 --ca "$LAB_TMP/ca"
judged_later "pki renew" ctl pki-renew pki renew tray-1 --ca "$LAB_TMP/ca"
judged_later "pki revoke" ctl pki-revoke pki revoke tray-1 --ca "$LAB_TMP/ca"
judged_later "ipsec status without charon" ctl error ipsec status --vici /nonexistent
judged_later "ipsec render" ctl ipsec-render ipsec render "$LAB_TMP/policy.yaml" --vici /nonexistent
judged_later "ipsec track" ctl ipsec-track ipsec track --dry-run
judged_later "the drill's list" ctl drill-list drill --list

check "history of all" lab_wait_for 30 ctl history-peers history --state-dir "$LAB_TMP/state"
has() { ctl history history d1 --since 1m --state-dir "$LAB_TMP/state"; }
check "history of one" lab_wait_for 30 has
mkdir -p "$LAB_TMP/records/flows" # netns.flows has real ones
cat >"$LAB_TMP/records/flows/0000000000000001.jsonl" <<'END'
{"version":1,"kind":"flow-interval","boot":"0","tables":1,"interval":1,"final":false,"gap":null,"balanced":true}
{"kind":"flow","peer":"d1","direction":"out","port":"hpf0","class":"https","reason":"pass","ip_protocol":6,"source":"10.7.0.2","source_port":1,"destination":"10.101.0.9","destination_port":443,"queue_pair":0,"tcp_flags":2,"frames":1,"bytes":74,"charged_bytes":74,"first":"2026-11-22T05:30:00.250Z","last":"2026-11-22T05:30:00.250Z"}
{"kind":"flow-remainder","peer":"d1","direction":"out","port":"hpf0","class":"other","reason":"pass","frames":1,"bytes":74,"charged_bytes":74,"first":"2026-11-22T05:30:00.250Z","last":"2026-11-22T05:30:00.250Z"}
END
judged_later "flows" ctl flows flows --state-dir "$LAB_TMP/records"
judged_later "flows intervals" ctl flow-intervals flows intervals --state-dir "$LAB_TMP/records"
judged_later "latency on" ctl latency-on latency on d1
judged_later "latency show" ctl latency latency show
judged_later "latency off" ctl latency-off latency off --all
lab_stop "$agent"
check "what bwlimitd logs" judge --lines log <"$LAB_TMP/agent"
events() {
	in_dpu "$CTL" --json watch --timeout 3s >"$LAB_TMP/watch" 2>/dev/null &
	local pid=$! i=0
	while kill -0 $pid 2>/dev/null; do in_host ping -c 1 -W 0.1 "10.190.$((i++ % 250)).1" >/dev/null 2>&1; done # to others each time
	wait $pid
	judge --lines event <"$LAB_TMP/watch" && judge --lines event-end <"$LAB_TMP/watch"
}
check "watch" events
acts() { ctl tamper tamper --policy <(sed 's/^heartbeat/tamper: { command: log }\n&/' "$LAB_TMP/policy.yaml") nothing; }
check "tamper, without bwlimitd" acts
# shellcheck source=../harness/people.sh
. "$here/../harness/people.sh"
mkdir "$LAB_TMP/enrolled"
people_enrol "$LAB_TMP/enrolled"
people_sign "$LAB_TMP/policy.yaml" "$LAB_TMP/glass" alice,bob --break-glass --name glass --number 1 --for 1h
# its audit log was changed above
glass() { local -x BWLIMIT_STATE_DIR=$LAB_TMP/enrolled BWLIMIT_AUDIT_DIR=; ctl break-glass break-glass "$LAB_TMP/glass"; }
check "break-glass" glass
"$CTL" policy rollback >/dev/null 2>&1
judged_later "upgrade" load status upgrade
judged_later "down" load down down --host hpf0
judged_later "detach" load detach detach

note "What they printed is what its schema says"
judge_all
# Every kind has been seen, but for those that want charon, SAs, minutes, a store or a server (netns.verbs, netns.numbers, netns.recent, netns.evidence, netns.drill_live and netns.web judge these).
rest="api controller drill drill-live drill-verify event event-end event-lost evidence-export evidence-open evidence-reconcile evidence-verify fleet-closures fleet-history fleet-logs fleet-order fleet-pending fleet-rollouts fleet-status fleet-trays fleet-wait ipsec-keep ipsec-load ipsec-rekey ipsec-status ipsec-watch log log-lines sync top"
for f in "${BWL_SOURCE:-$documents/../..}"/docs/schema/*.json; do
	kind=$(basename "$f" .json)
	[[ $kind == fields || " $rest ${seen[*]} " == *" $kind "* ]] || note "not seen: $kind"
	[[ $kind == fields || " $rest ${seen[*]} " == *" $kind "* ]] || missing=1
done
check "every kind was printed" test -z "${missing:-}"

done_testing
