#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A tray's status, signed by the key of its audit log, with the real programs: bwlimitd signs, bwlimit-sync passes it on,
# etcd stores it, bwlimit-controller and people's commands verify it. A thief of the tray's store certificate writes
# another status, an old one, another tray's: each is refused and reported, and the tray's own status is still believed.
set -uo pipefail
LAB=bwl-signedstatus-$$ LAB_DESTS=2
# shellcheck source=../harness/controller_lab.sh
. "$(dirname "${BASH_SOURCE[0]}")/../harness/controller_lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"

metric() { in_net curl -sf --max-time 5 --cacert "$pki/ca.pem" --cert "$pki/people.pem" --key "$pki/people.key" \
	"https://$AT/metrics" | grep_all -x "bwlimit_tray_$1{tray=\"tray-7\"} $2"; }
lies() { etcdctl_as tray-7 put "$PREFIX/node/tray-7/out/status" >/dev/null; } # a status, on standard input
lying() { etcdctl_as root get --print-value-only "$PREFIX/node/tray-7/out/status"; }
payload() { lying | jq -r .payload | base64 -d; }
enrolment() { # NUMBER, log key, people
	jq -n --arg r "$SHA" --arg k "${2:-}" '{tray: "tray-7", root: $r, labels: ["rack=1"]} +
		(if $k == "" then {} else {log_key: $k} end)' >"$FLEET/enrolment.json"
	people_sign "$FLEET/enrolment.json" "$FLEET/enrolment" "${3:-alice,bob}" --type enrolment --audience tray:tray-7 --name tray-7 \
		--number "$1" --for 365d
}

docs_begin || exit 1
check "control: etcd is up" controller_lab_up
docs_enrol
enrolment_put
sync_up
control_up one --serve "$AT"
check "where its enrolment names no key, its status is shown as unsigned" lab_wait_for 60 row status '.status_signature == "unsigned"'
check "for the store's readers, too" row trays '.status_signature == "unsigned" and .fresh != null'
check "and is as it was" eval 'lying | jq -e ".tray == \"tray-7\" and .number == null" >/dev/null'

note "Signed"
refute "an enrolment with something else than a log's key is not signed" enrolment 2 nonsense
check "an enrolment names the key of its audit log" enrolment 2 "$(cat "$BWLIMIT_AUDIT_DIR/key.pub")"
enrolment_put
sync_up # it tells its status when it is connected, and otherwise every 30 s
check "then its status is shown as signed" lab_wait_for 90 row status '.status_signature == "signed" and .why != null'
check "for the store's readers, too" row trays '.status_signature == "signed"'
check "it names its tray, a number and the time" eval 'payload | jq -e ".tray == \"tray-7\" and .number > 0 and .up_s > 0 and
	(.said_at - now | . > -120 and . < 5)" >/dev/null'
check "its audit log is cosigned as ever" lab_wait_for 90 eval '[[ -n $(etcdctl_as tray-7 get "$PREFIX/node/tray-7/in/cosigned") ]]'
lying >"$LAB_TMP/old"
old=$(payload | jq .number)
rises() { (($(payload | jq .number) > $1)); }
sync_up
check "the next one has a higher number" lab_wait_for 60 rises "$old"

note "A stolen certificate"
freeze_process "$SYNC_PID"
payload | jq -c '.closed_count = 99 | .number += 1000' | lies
check "a status that nobody signed is refused, and told" lab_wait_for 30 control_says '"alarm".*tray-7.*not signed'
check "what the tray said before is shown" lab_wait_for 30 row status '.status_signature == "refused" and .closed_count != 99 and .alarm_count > 0 and (.why | test("not signed"))'
check "for the store's readers, too" row trays '.status_signature == "refused"'
check "and as a metric" lab_wait_for 30 metric status_refused 1
"$LAB_BUILD/tests/harness/bwl-said" "$BWLIMIT_AUDIT_DIR/key" hall-3 tray-7 <<<'{"tray": "tray-7", "number": 5, "closed_count": 99}' | lies
check "its own of before is refused" lab_wait_for 30 row status '.status_signature == "refused" and (.why | test("older"))'
"$CTL" audit init --dir "$LAB_TMP/thief" --origin test/documents >/dev/null 2>&1
"$LAB_BUILD/tests/harness/bwl-said" "$LAB_TMP/thief/key" hall-3 tray-7 <<<'{"tray": "tray-7", "number": 9000000000000000, "closed_count": 99}' | lies
check "another key's is refused" lab_wait_for 30 row status '.status_signature == "refused" and (.why | test("another key")) and .closed_count != 99'
"$LAB_BUILD/tests/harness/bwl-said" "$BWLIMIT_AUDIT_DIR/key" hall-3 tray-8 <<<'{"tray": "tray-8", "number": 9000000000000000, "closed_count": 99}' | lies
check "that of another tray is refused" lab_wait_for 30 row status '.status_signature == "refused" and (.why | test("another fleet or tray"))'
kill -CONT "$SYNC_PID"
sync_up
check "what the tray says itself is taken on" lab_wait_for 60 row status '.status_signature == "signed" and .alarm_count != null'
check "and the metric says so" lab_wait_for 30 metric status_refused 0

note "What is remembered"
before=$(payload | jq .number)
docs_die
docs_agent
sync_up
check "a bwlimitd that was killed goes on above the number before" lab_wait_for 60 rises "$before"
check "and is believed" lab_wait_for 60 row status '.status_signature == "signed"'
freeze_process "$SYNC_PID"
control_down
lies <"$LAB_TMP/old"
: >"$LAB_TMP/control"
control_up two --serve "$AT"
check "another leader knows that what lies there is old, by what was kept of the log or by when it was said" \
	lab_wait_for 60 control_says '"alarm".*tray-7.*(older than one received|s late)'
kill -CONT "$SYNC_PID"
sync_up
check "and believes the tray" lab_wait_for 90 row status '.status_signature == "signed"'
lab_wait_for 30 lab_both 1
live "bwlimitd, which was killed, and bwlimit-sync, which hung, are started again"

note "A log that was begun anew"
docs_die
rm -r "$BWLIMIT_AUDIT_DIR"
"$CTL" audit init --origin test/documents >/dev/null 2>&1
docs_agent
sync_up
check "another log's key than the enrolment's: it says that it does not sign" lab_wait_for 60 grep -q 'the status is not signed' "$LAB_TMP/agent"
check "and is refused" lab_wait_for 90 row status '.status_signature == "refused"'
check "until it is enrolled with the new key" eval 'enrolment 3 "$(cat "$BWLIMIT_AUDIT_DIR/key.pub")" && enrolment_put && sync_up &&
	lab_wait_for 120 row status ".status_signature == \"signed\""'

note "An enrolment that nobody can judge"
cp "$FLEET/enrolment" "$LAB_TMP/good"
check "one person's, put there by who writes to the store" eval 'enrolment 9 "" alice && enrolment_put'
check "then nobody can judge its status, and it is said what to do" \
	lab_wait_for 90 row status '.status_signature == "unjudged" and .fresh == null and .alarm_count > 0 and (.why | test("enrol it anew"))'
check "for the store's readers, too" row trays '.status_signature == "unjudged" and .policy_name == null and .fresh == null'
check "who are told of the enrolment" grep -q 'tampering: enrolment/tray-7' "$LAB_TMP/err"
check "it is told as an alarm" lab_wait_for 60 control_says '"alarm".*tray-7.*cannot be judged'
check "and as a metric" lab_wait_for 30 metric status_refused 1
check "an older one, that names no key" eval 'enrolment 1 && enrolment_put'
control_down
: >"$LAB_TMP/control"
control_up three --serve "$AT"
check "is none by which the next leader judges" \
	lab_wait_for 90 row status '.status_signature == "unjudged" and (.why | test("older one than before"))'
check "nor the store's readers" row trays '.status_signature == "unjudged"'
check "with the one that people signed last what it says counts again" eval 'cp "$LAB_TMP/good" "$FLEET/enrolment" && enrolment_put && sync_up &&
	lab_wait_for 120 row status ".status_signature == \"signed\" and .fresh != null"'
done_testing
