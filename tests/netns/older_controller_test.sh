#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Two versions in one fleet, the reverse of two_versions_test.sh: today's tools, bwlimitd and bwlimit-sync on a tray,
# and a controller and a desk of an earlier commit, with a real etcd. What the older ones sign is accepted; a signed
# status cannot be read by them, and is not an acknowledgement to them.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-older-$$ LAB_DESTS=2
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
DESK=$old_dir/bwlimit-ctl CONTROL=$old_dir/bwlimit-controller

by_desk() { # FILE, of which both signed: the older desk publishes it, and waits for the tray
	in_net "$DESK" policy publish "$1" --conf "$FLEET/fleet.conf" --timeout 30s >"$LAB_TMP/desk" 2>&1
}
enrolment() { # NUMBER, JSON that is added
	jq -n --arg r "$SHA" --argjson more "$2" '{tray: "tray-7", root: $r} + $more' >"$FLEET/enrolment.json"
	people_sign "$FLEET/enrolment.json" "$FLEET/enrolment" alice,bob --type enrolment --audience tray:tray-7 \
		--name tray-7 --number "$1" --for 365d
}
docs_begin || exit 1
check "control: etcd is up, and today's tray is attached" controller_lab_up
"$CTL" enrol "$FLEET/root" "$FLEET/enrolment" --sha256 "$SHA" >/dev/null 2>&1
etcdctl_as root put "$PREFIX/node/tray-7/in/doc/enrolment/tray-7" <"$FLEET/enrolment" >/dev/null
sync_up
control_up one --serve "$AT"

note "What both know"
CTL=$DESK sign policy base alice,bob --audience tray:tray-7 --offline-for 10m < <(docs_text 9mbit 9mbit)
check "a policy of the older desk is taken, and that is heard there" by_desk "$FLEET/base"
check "the older controller's time, which names nothing, is taken" lab_wait_for 90 status '.fresh'
check "and the policy is in force" lab_wait_for 20 rate d1 9000000
check "packets pass" lab_wait_for 30 lab_both 1
check "the older controller reads its status" lab_wait_for 60 row status '.fresh and .policy_name == "base"'
check "a revocation of the older desk closes" eval 'fleet revoke --tray tray-7 d2 --key "$FLEET/alice.pem" --reason drill --timeout 30s >"$LAB_TMP/desk" 2>&1 &&
	lab_wait_for 10 state d2 revoked'
check "and nothing else" lab_both 1

note "What the older ones do not know"
check "its leader reads no checkpoint as today's trays say it, and tells so: no rollout until it is upgraded" \
	lab_wait_for 30 control_says '"trouble".*tray-7.*checkpoint'
LABELS='{"labels": ["rack=9"], "log_key": '$(jq -Rn --rawfile k "$BWLIMIT_AUDIT_DIR/key.pub" '$k | rtrimstr("\n")')'}'
check "control: an enrolment that names the key of its log" enrolment 2 "$LABELS"
etcdctl_as root put "$PREFIX/node/tray-7/in/doc/enrolment/tray-7" <"$FLEET/enrolment" >/dev/null
said_at() { etcdctl_as root get --print-value-only "$PREFIX/node/tray-7/out/status"; }
check "today's tray takes it, and signs its status" lab_wait_for 40 eval 'said_at | grep_all application/vnd.bwlimit.status+json'
CTL=$DESK sign policy base alice,bob --audience tray:tray-7 --offline-for 10m < <(docs_text 8mbit 8mbit)
refute "the older desk does not count what it cannot read as taken" by_desk "$FLEET/base"
check "but it is in force: trays, controllers and desks first, then these enrolments" lab_wait_for 20 rate d1 8000000
check "what passed, passes" lab_both 1
check "and what is closed is closed" state d2 revoked
check "control: an enrolment without it" enrolment 3 '{"labels": ["rack=8"]}'
refute "the older desk replaces nothing that it cannot read" by_desk "$FLEET/enrolment"
check "and names the key" grep -q 'log_key. is not known' "$LAB_TMP/desk"
DESK=$CTL by_desk "$FLEET/enrolment"
check "today's desk does, and the older controller reads its status again" lab_wait_for 90 row status '.fresh and .policy_name == "base"'
control_down
done_testing
