#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A fleet of 0.3.0 with a real etcd is upgraded: the tray first, in place, beside a controller and a desk of 0.3.0, whose
# documents it takes; then these. What was signed before holds on. What a tray does not know it refuses as a whole, and
# reports it; that of 0.3.0 so the form in which today's tools sign.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-versions-$$ LAB_DESTS=2
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/old.sh
. "$here/old.sh"
old_wanted "two versions in one fleet" || { rc=$?; done_testing; exit $rc; }
# shellcheck source=../harness/controller_lab.sh
. "$here/controller_lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"

by_desk() { # FILE, of which both signed: the desk publishes it, and waits for the tray
	in_net "$DESK" policy publish "$1" --conf "$FLEET/fleet.conf" --timeout 60s >"$LAB_TMP/desk" 2>&1 ||
		{ note "$(tail -n 5 "$LAB_TMP/desk")"; false; }
}
enrolment() { # NUMBER, JSON that is added
	jq -n --arg r "$SHA" --argjson more "$2" '{tray: "tray-7", root: $r} + $more' >"$FLEET/enrolment.json"
	CTL=$DESK people_sign "$FLEET/enrolment.json" "$FLEET/enrolment" alice,bob --type enrolment --audience tray:tray-7 \
		--name tray-7 --number "$1" --for 365d
}
policy_of_desk() { # rate
	CTL=$DESK sign policy base alice,bob --audience tray:tray-7 --offline-for 10m < <(docs_text "$1" 9mbit) && by_desk "$FLEET/base"
}
closes() { # peer
	fleet revoke --tray tray-7 "$1" --key "$FLEET/alice.pem" --reason drill --timeout 60s >"$LAB_TMP/desk" 2>&1 &&
		lab_wait_for 10 state "$1" revoked
}

note "A fleet of $OLD_VERSION"
old
DESK=$OLD/bwlimit-ctl CONTROL=$OLD/bwlimit-controller
docs_begin || exit 1
check "control: etcd is up, and a tray of $OLD_VERSION is attached" controller_lab_up
docs_enrol
enrolment_put
sync_up
control_up one --serve "$AT"
check "a policy of the desk is taken, and that is heard" policy_of_desk 9mbit
check "it is in force" lab_wait_for 20 rate d1 9000000
check "the controller's time is taken" lab_wait_for 90 status_now '.fresh'
check "packets pass" lab_wait_for 30 lab_both 1
check "its status is read" lab_wait_for 60 row status '.fresh and .policy_name == "base"'
check "a revocation of the desk closes" closes d2
check "and nothing else" lab_both 1
check "the controller's time, which names what closes, is taken" lab_wait_for 60 status_now \
	'.fresh and .missing == [] and .refused["timestamp/time"] == null'
check "control: an enrolment that names the key of its log" enrolment 2 "$(jq -n --rawfile k "$BWLIMIT_AUDIT_DIR/key.pub" \
	'{labels: ["rack=9"], log_key: ($k | rtrimstr("\n"))}')"
check "is taken" by_desk "$FLEET/enrolment"
check "its status is signed, and believed" lab_wait_for 90 row status '.status_signature == "signed" and .labels == ["rack=9"]'

note "What it does not know"
cp "$FLEET/enrolment" "$LAB_TMP/good"
AUDIENCE=tray:tray-7 "$here/fake_trays.py" sign hall-3 tray-7 3 enrolment "$(jq -nc --arg r "$SHA" \
	'{tray: "tray-7", root: $r, labels: ["rack=1"], of_the_next_version: true}')" "$FLEET/alice.pem" "$FLEET/bob.pem" >"$FLEET/enrolment"
enrolment_put
check "the tray says which key it does not know" lab_wait_for 60 status_now \
	'.refused["enrolment/tray-7"] | .id == "signed-malformed" and (.text | test("of_the_next_version"))'
check "none of it is taken: the enrolment of before holds" status '.taken["enrolment/tray-7"].version == 2'
check "nor its labels" eval '! grep -q "rack=1\"" "$BWLIMIT_STATE_DIR/signed.json"'
check "what passed, passes" lab_both 1
check "and what is closed is closed" state d2 revoked
cp "$LAB_TMP/good" "$FLEET/enrolment"
enrolment_put
CTL=$NEW_CTL sign policy next alice,bob --audience tray:tray-7 < <(docs_text 3mbit 9mbit)
refused "it refuses what today's tools sign" signed-malformed policy next
check "and holds on what it had" rate d1 9000000

note "The tray is upgraded first, in place"
control_down
docs_die
new
check "control: today's programs are attached" eval 'in_dpu "$LOAD" attach --drill --host hpf0 --uplink p0 >"$LAB_TMP/attach" 2>&1 && docs_agent'
sync_up
check "what the tray took, holds" status '.policy.name == "base" and .closed == ["d2"] and .taken["enrolment/tray-7"].version == 2'
: >"$LAB_TMP/control"
control_up two --serve "$AT"
check "control: the controller of $OLD_VERSION leads" lab_wait_for 60 control_says '"leads"'
check "a policy of its desk is taken, and that is heard there" policy_of_desk 8mbit
check "it is in force" lab_wait_for 20 rate d1 8000000
check "its controller's time is taken" lab_wait_for 90 status_now '.fresh and .refused["timestamp/time"] == null'
check "packets pass" lab_wait_for 30 lab_both 1
live "bwlimitd was killed, and today's is started, with a controller's time"
check "which reads the tray's signed status" lab_wait_for 90 row status '.status_signature == "signed" and .fresh and .policy_name == "base"'
check "what is closed is closed" state d2 revoked

note "Then controller and desk"
control_down
"$OLD/bwlimit-ctl" policy sign "$FLEET/base.content" --key "$FLEET/alice.pem" --fleet hall-3 --audience tray:tray-7 --name half \
	--number 900 --for 1h --out "$FLEET/half" >/dev/null
refute "what one person signed with $OLD_VERSION nobody approves with today's" \
	eval '"$NEW_CTL" policy sign "$FLEET/half" --key "$FLEET/bob.pem" >"$LAB_TMP/said" 2>&1'
check "with what to do" says 'again: bwlimit-ctl policy sign'
DESK=$NEW_CTL CONTROL=''
: >"$LAB_TMP/control"
control_up three --serve "$AT"
check "control: today's controller leads" lab_wait_for 60 control_says '"leads"'
check "what the tray took, holds" rate d1 8000000
check "a policy of today's desk is taken, and that is heard" policy_of_desk 6mbit
check "it is in force" lab_wait_for 20 rate d1 6000000
check "today's controller's time is taken" lab_wait_for 90 status_now '.fresh and .missing == [] and .refused["timestamp/time"] == null'
check "packets pass" lab_wait_for 30 lab_both 1
check "the tray's signed status is read" lab_wait_for 90 row status '.status_signature == "signed" and .fresh and .policy_name == "base"'
check "what is closed is closed" state d2 revoked
check "a revocation of today's desk closes" closes d1
control_down
done_testing
