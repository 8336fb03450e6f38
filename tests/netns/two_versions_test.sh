#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Two versions in one fleet: a tray whose tools, bwlimitd and bwlimit-sync are of an earlier commit, and today's
# controller and desk, with a real etcd. It accepts what both know, and its status is read. What it does not know, such as
# closing documents in a signed time and the key of its audit log in an enrolment, it refuses as a whole, and reports it.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-versions-$$ LAB_DESTS=2
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/old.sh
. "$here/old.sh"
old_dir=$(old_tools "$OLD_FLEET_COMMIT" "${OLD_FLEET[@]}") || {
	echo "1..0 # SKIP its tools cannot be built here: no commit $OLD_FLEET_COMMIT (a shallow clone?), or a build that fails"
	exit 77
}
# shellcheck source=../harness/controller_lab.sh
. "$here/controller_lab.sh"
NEW_CTL=$CTL DESK=$CTL SYNC=$old_dir/bwlimit-sync
LOAD=$old_dir/bwlimit-load CTL=$old_dir/bwlimit-ctl AGENT=$old_dir/bwlimitd

by_desk() { # FILE, of which both signed: today's desk publishes it, and waits for the tray
	in_net "$NEW_CTL" policy publish "$1" --conf "$FLEET/fleet.conf" --timeout 30s >"$LAB_TMP/desk" 2>&1
}
enrolment() { # NUMBER, JSON that is added
	jq -n --arg r "$SHA" --argjson more "$2" '{tray: "tray-7", root: $r} + $more' >"$FLEET/enrolment.json"
	CTL=$NEW_CTL people_sign "$FLEET/enrolment.json" "$FLEET/enrolment" alice,bob --type enrolment --audience tray:tray-7 \
		--name tray-7 --number "$1" --for 365d
}
docs_begin || exit 1
check "control: etcd is up, and a tray of $OLD_FLEET_COMMIT is attached" controller_lab_up
"$CTL" enrol "$FLEET/root" "$FLEET/enrolment" --sha256 "$SHA" >/dev/null 2>&1
etcdctl_as root put "$PREFIX/node/tray-7/in/doc/enrolment/tray-7" <"$FLEET/enrolment" >/dev/null
sync_up
time_published # of before, without what closes

note "What both know"
sign policy base alice,bob --audience tray:tray-7 --offline-for 10m < <(docs_text 9mbit 9mbit)
check "a policy of today's desk is taken, and that is heard" by_desk "$FLEET/base"
check "it is in force" lab_wait_for 20 rate d1 9000000
check "a signed time that names nothing is taken" lab_wait_for 60 status '.fresh'
check "packets pass" lab_wait_for 30 lab_both 1
control_up one --serve "$AT"
check "its status is read, as unsigned" lab_wait_for 60 row status '.status_signature == "unsigned" and .fresh and .policy_name == "base"'
check "a revocation of today's desk closes" eval 'fleet revoke --tray tray-7 d2 --key "$FLEET/alice.pem" --reason drill --timeout 30s >"$LAB_TMP/desk" 2>&1 &&
	lab_wait_for 10 state d2 revoked'
check "and nothing else" lab_both 1

note "What it does not know"
check "the controller's time, which names what closes, it refuses, and says which key it does not know" lab_wait_for 90 status \
	'.refused["timestamp/time"] | .id == "signed-malformed" and (.text | test("closing"))'
check "the one before holds" status '.fresh'
check "control: an enrolment that names the key of its log" enrolment 2 "$(jq -n --rawfile k "$BWLIMIT_AUDIT_DIR/key.pub" '{labels: ["rack=9"], log_key: ($k | rtrimstr("\n"))}')"
refute "today's desk does not count it as taken" by_desk "$FLEET/enrolment"
check "and says that what the tray says is not signed, as that enrolment wants it" grep -q 'not signed, and its enrolment names a key' "$LAB_TMP/desk"
check "the tray says which key it does not know" lab_wait_for 30 status '.refused["enrolment/tray-7"] | .id == "signed-malformed" and (.text | test("log_key"))'
check "none of it is taken: the enrolment of before holds" status '.taken["enrolment/tray-7"].version == 1'
check "nor its labels" eval '! grep -q "rack=9" "$BWLIMIT_STATE_DIR/signed.json"'
check "what passed, passes" lab_both 1
check "and what is closed is closed" state d2 revoked
check "its status, which it cannot sign, is refused from then on, and told" lab_wait_for 60 control_says '"alarm".*tray-7.*not signed'
check "an enrolment without it brings all back" eval 'enrolment 3 "{\"labels\": [\"rack=8\"]}" && by_desk "$FLEET/enrolment" &&
	lab_wait_for 90 row status ".status_signature == \"unsigned\" and .labels == [\"rack=8\"]"'
LIFE=30m sign policy base alice --audience tray:tray-7 --offline-for 20s < <(docs_text 8mbit 8mbit)
digest=$(jq -r .payload "$FLEET/base" | base64 -d | sha256sum | head -c 64)
by_desk "$FLEET/base" # which says that it is not in force: the time is older
check "control: a policy that holds 20 s without a time is taken" lab_wait_for 60 status ".taken[\"policy/base\"].sha256 == \"$digest\""
check "without a time that it knows it is at its floor then: trays first, then controllers" lab_wait_for 120 lab_silent 1
done_testing
