#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The whole way with the real programs: bwlimit-controller, a real etcd, bwlimit-sync, bwlimitd, and packets. The
# controller's time keeps the tray open and its lease renewed; a policy with stages comes into force by a rollout, goes
# back by one, and a controller that is gone ends what is open at the floor.
# Debian's etcd has known holes: it is taken with --accept-etcd-holes here.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
[[ -x $(command -v etcd) && -x $(command -v etcdctl) ]] ||
	{ echo '1..0 # SKIP no etcd: packaging/install-deps fleet'; exit 77; }
LAB=bwl-ctrltray-$$ LAB_DESTS=2
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
lab_up || exit 1
# shellcheck source=../harness/people.sh
. "$here/people.sh"
# shellcheck source=../harness/signed_documents.sh
. "$here/signed_documents.sh"
ETCD_DIR=$LAB_TMP/etcd PREFIX=/bwl/v1 ETCD_N=1
mkdir "$ETCD_DIR"
# shellcheck source=../harness/etcd.sh
. "$here/etcd.sh"
SYNC_PID='' CONTROL_PID='' pki=$ETCD_DIR/pki
finish() {
	[[ $TAP_BAD -eq 0 ]] || tail -n 40 "$LAB_TMP/control" "$LAB_TMP/sync" | sed 's/^/# /'
	[[ -z $SYNC_PID ]] || kill "$SYNC_PID"
	[[ -z $CONTROL_PID ]] || kill "$CONTROL_PID"
	etcd_down
	lab_down
} 2>/dev/null
trap finish EXIT

publish() { # NAME: the policy
	in_net "$LAB_BUILD/tests/harness/bwl-store" "$(etcd_url 1)" "$pki/ca.pem" "$pki/root.pem" "$pki/root.key" \
		"$PREFIX" publish - policy "$1" <"$FLEET/$1" >/dev/null
}
control_up() {
	nsenter --net="/run/netns/$(etcd_ns net)" "$LAB_BUILD/fleet/controller/bwlimit-controller" \
		--servers "$(etcd_url 1)" --name control-1 --root "$FLEET/root" --online-key "$FLEET/controller.pem" \
		--ca "$pki/ca.pem" --cert "$pki/root.pem" --key "$pki/root.key" --trust-clock --accept-etcd-holes \
		--soak 2s --stages 50,100 --silent-after "${1:-90s}" --json >>"$LAB_TMP/control" 2>&1 &
	CONTROL_PID=$!
}
control_says() { grep -qE -- "$1" "$LAB_TMP/control"; }
# A policy with stages, signed by both people.
stages() { # NUMBER, what `sign` made of NAME
	"$here/fake_trays.py" sign hall-3 base "$1" policy "$(jq -n --rawfile t /dev/stdin \
		'{text: $t, stages: true, lease_most: "30s", offline_for: "20s"}')" "$FLEET/alice.pem" "$FLEET/bob.pem" >"$FLEET/base"
}

docs_begin || exit 1
check "control: etcd is up" eval 'etcd_up >/dev/null && etcd_auth >/dev/null && etcd_tray tray-7 >/dev/null'
"$CTL" enrol "$FLEET/root" "$FLEET/enrolment" --sha256 "$SHA" >/dev/null 2>&1
nsenter --net="/run/netns/$(etcd_ns net)" "$LAB_BUILD/sync/bwlimit-sync" --servers "$(etcd_url 1)" --tray tray-7 \
	--ca "$pki/ca.pem" --cert "$pki/tray-7.pem" --key "$pki/tray-7.key" --agent "$SOCKET" --accept-etcd-holes --json \
	>>"$LAB_TMP/sync" 2>&1 &
SYNC_PID=$!
control_up
check "the controller leads" lab_wait_for 15 control_says '"leads"'
docs_text 4mbit 4mbit | sed 's/^heartbeat:.*/&\nlease: 40s/' | stages 1000
publish base
check "a policy with stages comes into force by a rollout" lab_wait_for 60 rate d1 4000000
check "with the controller's time and lease it is open" lab_wait_for 30 lab_both 1
check "and the rollout ends" lab_wait_for 240 control_says rolled-out # each status comes 30 s after the last
docs_text 3mbit 4mbit | sed 's/^heartbeat:.*/&\nlease: 40s/' | stages 1001
: >"$LAB_TMP/control"
publish base
check "what tightens is in force at once" lab_wait_for 15 rate d1 3000000
check "and out in one step" lab_wait_for 120 control_says 'rolled-out'
refute "without a first stage" control_says 'base 50 %'
docs_text 9mbit 9mbit | sed 's/^heartbeat:.*/&\nlease: 40s/' | stages 1002
: >"$LAB_TMP/control"
kill "$CONTROL_PID" && wait "$CONTROL_PID" 2>/dev/null
publish base
check "control: one that widens waits for its rollout" eval 'sleep 3; rate d1 3000000'
control_up 45s
check "which comes" lab_wait_for 30 rate d1 9000000
kill -STOP "$SYNC_PID"
check "a tray that says nothing any more: all goes back" lab_wait_for 120 control_says '"back".*tray-7'
kill -CONT "$SYNC_PID"
check "and it takes what was before" lab_wait_for 30 rate d1 3000000
check "and is open" lab_wait_for 30 lab_both 1
kill "$CONTROL_PID" && wait "$CONTROL_PID" 2>/dev/null
CONTROL_PID=''
check "without a controller it is at its floor when its time is over" lab_wait_for 60 lab_silent 1
done_testing
