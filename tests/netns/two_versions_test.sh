#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Two versions in one fleet: a tray whose tools, bwlimitd and bwlimit-sync are of an earlier commit, and today's
# controller and desk, with a real etcd. It takes what both know, and its status is read. What it does not know, the
# key of its audit log in an enrolment, it refuses whole, and says so.
# Debian's etcd has known holes: it is taken with --accept-etcd-holes here.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
[[ -x $(command -v etcd) && -x $(command -v etcdctl) ]] ||
	{ echo '1..0 # SKIP no etcd: packaging/install-deps fleet'; exit 77; }
LAB=bwl-versions-$$ LAB_DESTS=2
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/old.sh
. "$here/old.sh"
OLD_COMMIT=95079d2 # the last one without signed statuses
old_dir=$(old_tools "$OLD_COMMIT" sync/bwlimit-sync) || {
	echo "1..0 # SKIP its tools cannot be built here: no commit $OLD_COMMIT (a shallow clone?), or a build that fails"
	exit 77
}
lab_up || exit 1
NEW_CTL=$CTL
LOAD=$old_dir/bwlimit-load CTL=$old_dir/bwlimit-ctl AGENT=$old_dir/bwlimitd
# shellcheck source=../harness/people.sh
. "$here/people.sh"
# shellcheck source=../harness/signed_documents.sh
. "$here/signed_documents.sh"
ETCD_DIR=$LAB_TMP/etcd PREFIX=/bwl/v1 ETCD_N=1
mkdir "$ETCD_DIR"
# shellcheck source=../harness/etcd.sh
. "$here/etcd.sh"
SYNC_PID='' CONTROL_PID='' pki=$ETCD_DIR/pki AT=10.77.1.1:7444
finish() {
	[[ $TAP_BAD -eq 0 ]] || tail -n 40 "$LAB_TMP/control" "$LAB_TMP/sync" | sed 's/^/# /'
	[[ -z $SYNC_PID ]] || kill "$SYNC_PID"
	[[ -z $CONTROL_PID ]] || kill "$CONTROL_PID"
	etcd_down
	lab_down
} 2>/dev/null
trap finish EXIT

control_says() { grep -qE -- "$1" "$LAB_TMP/control"; }
fleet() { in_net "$NEW_CTL" --fleet "$@" --conf "$FLEET/fleet.conf"; }
row() { # document, jq's condition on the tray's row of it
	fleet "$1" --json 2>"$LAB_TMP/err" | jq -e ".trays[] | select(.tray == \"tray-7\") | $2" >/dev/null
}
by_desk() { # FILE, of which both signed: today's desk publishes it, and waits for the tray
	in_net "$NEW_CTL" policy publish "$1" --conf "$FLEET/fleet.conf" --timeout 30s >"$LAB_TMP/desk" 2>&1
}
enrolment() { # NUMBER, JSON that is added
	jq -n --arg r "$SHA" --argjson more "$2" '{tray: "tray-7", root: $r} + $more' >"$FLEET/enrolment.json"
	CTL=$NEW_CTL people_sign "$FLEET/enrolment.json" "$FLEET/enrolment" alice,bob --type enrolment --audience tray:tray-7 \
		--name tray-7 --number "$1" --for 365d
}
up() {
	etcd_up && etcd_auth && etcd_tray tray-7 && etcd_cert controller "IP:10.77.1.1" && etcd_cert people || return
	local who
	for who in controller people; do
		etcdctl_as root user add $who --no-password && etcdctl_as root user grant-role $who root || return
	done
} >/dev/null
docs_begin || exit 1
"$CTL" key new "$FLEET/witness.pem" >/dev/null
check "control: etcd is up, and a tray of $OLD_COMMIT is attached" up
printf '%s\n' "ca = $pki/ca.pem" "cert = $pki/people.pem" "key = $pki/people.key" "controller = https://$AT" \
	"servers = $(etcd_url 1)" "fleet = hall-3" "root = $FLEET/root" "accept-etcd-holes = yes" >"$FLEET/fleet.conf"
"$CTL" enrol "$FLEET/root" "$FLEET/enrolment" --sha256 "$SHA" >/dev/null 2>&1
etcdctl_as root put "$PREFIX/node/tray-7/in/doc/enrolment/tray-7" <"$FLEET/enrolment" >/dev/null
nsenter --net="/run/netns/$(etcd_ns net)" "$old_dir/bwlimit-sync" --servers "$(etcd_url 1)" --tray tray-7 \
	--ca "$pki/ca.pem" --cert "$pki/tray-7.pem" --key "$pki/tray-7.key" --agent "$SOCKET" --accept-etcd-holes --json \
	>>"$LAB_TMP/sync" 2>&1 &
SYNC_PID=$!
nsenter --net="/run/netns/$(etcd_ns net)" "$LAB_BUILD/fleet/controller/bwlimit-controller" --servers "$(etcd_url 1)" \
	--name one --root "$FLEET/root" --online-key "$FLEET/controller.pem" --ca "$pki/ca.pem" --cert "$pki/controller.pem" \
	--key "$pki/controller.key" --trust-clock --accept-etcd-holes --witness-key "$FLEET/witness.pem" --serve $AT --json \
	>>"$LAB_TMP/control" 2>&1 &
CONTROL_PID=$!

note "What both know"
docs_text 9mbit 9mbit | sign policy base alice,bob --audience tray:tray-7 --offline-for 10m
check "a policy of today's desk is taken, and that is heard" by_desk "$FLEET/base"
check "it is in force" lab_wait_for 20 rate d1 9000000
check "the controller's time is taken" lab_wait_for 60 status '.fresh'
check "packets pass" lab_wait_for 30 lab_both 1
check "its status is read, as unsigned" lab_wait_for 60 row status '.status_signature == "unsigned" and .fresh and .policy_name == "base"'
check "its audit log is cosigned" lab_wait_for 90 eval '[[ -n $(etcdctl_as tray-7 get "$PREFIX/node/tray-7/in/cosigned") ]]'
check "a revocation of today's desk closes" eval 'fleet revoke --tray tray-7 d2 --key "$FLEET/alice.pem" --reason drill --timeout 30s >"$LAB_TMP/desk" 2>&1 &&
	lab_wait_for 10 state d2 revoked'
check "and nothing else" lab_both 1

note "What it does not know"
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
done_testing
