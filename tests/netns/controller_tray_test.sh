#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The whole way with the real programs: bwlimit-controller, a real etcd, bwlimit-sync, bwlimitd, and packets. The
# controller's time keeps the tray open and its lease renewed; a policy with stages comes into force by a rollout, goes
# back by one, and a controller that is gone ends what is open at the floor. The tray's audit log is cosigned as it
# grows, and one that was put back is told; a policy by which SAs go down goes back.
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
		--witness-key "$FLEET/witness.pem" --soak 2s --stages 50,100 --silent-after "${1:-90s}" --json >>"$LAB_TMP/control" 2>&1 &
	CONTROL_PID=$!
}
control_says() { grep -qE -- "$1" "$LAB_TMP/control"; }
# A policy with stages, signed by both people.
stages() { # NUMBER, what `sign` made of NAME
	"$here/fake_trays.py" sign hall-3 base "$1" policy "$(jq -n --rawfile t /dev/stdin \
		'{text: $t, stages: true, lease_most: "30s", offline_for: "20s"}')" "$FLEET/alice.pem" "$FLEET/bob.pem" >"$FLEET/base"
}

docs_begin || exit 1
"$CTL" key new "$FLEET/witness.pem" >/dev/null
# The tray's log as it is cosigned, and what an auditor makes of it; its size.
cosigned() {
	etcdctl_as tray-7 get --print-value-only "$PREFIX/node/tray-7/in/cosigned" | sed '$d' >"$LAB_TMP/cosigned" &&
		"$CTL" audit verify --key "$BWLIMIT_AUDIT_DIR/key.pub" --checkpoint "$LAB_TMP/cosigned" \
			--witness "$(jq -rs 'map(select(.event == "witness"))[0].subject' "$LAB_TMP/control.first")" >/dev/null
}
cosigned_more() { cosigned && (($(sed -n 2p "$LAB_TMP/cosigned") > ${1:-0})); }
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
cp "$LAB_TMP/control" "$LAB_TMP/control.first"
check "the tray's audit log is cosigned, and an auditor believes it" lab_wait_for 60 cosigned_more
first=$(sed -n 2p "$LAB_TMP/cosigned")
cp -r "$BWLIMIT_AUDIT_DIR" "$LAB_TMP/audit.old"
"$CTL" audit checkpoint >"$LAB_TMP/kept" # the log is further by then
check "and the rollout ends" lab_wait_for 240 control_says rolled-out # each status comes 30 s after the last
check "as the log grows it is cosigned, by the tray's own proofs" lab_wait_for 90 cosigned_more "$first"
check "and what was kept meanwhile is in it" eval 'lab_wait_for 90 cosigned_more "$(sed -n 2p "$LAB_TMP/kept")" &&
	"$CTL" audit verify --key "$BWLIMIT_AUDIT_DIR/key.pub" --checkpoint "$LAB_TMP/kept" --checkpoint "$LAB_TMP/cosigned" >/dev/null'
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
note "SAs that go down"
{ docs_text 9mbit 9mbit | sed 's/^heartbeat:.*/&\nlease: 40s\nipsec: { ca: ca.pem }/'
	echo '  - { name: tray-3, addresses: [10.0.3.0/24], ipsec: { remote: 192.0.2.33 }, grant: { rate: 1mbit } }'; } | stages 1003
: >"$LAB_TMP/control"
publish base
check "a policy with a peer that gets no SA comes in stage one" lab_wait_for 30 rate d1 9000000
check "and goes back, because SAs are down" lab_wait_for 150 control_says '"back".*SAs'
check "the tray takes what was before" lab_wait_for 30 rate d1 3000000
refute "no second stage began" control_says 'base 100 %'

note "A log that was put back"
docs_die
rm -r "$BWLIMIT_AUDIT_DIR"
cp -r "$LAB_TMP/audit.old" "$BWLIMIT_AUDIT_DIR"
docs_agent
check "an audit log of before is told" lab_wait_for 90 control_says '"alarm".*tray-7.*(shorter|two histories|does not begin)'
kill "$CONTROL_PID" && wait "$CONTROL_PID" 2>/dev/null
CONTROL_PID=''
check "without a controller it is at its floor when its time is over" lab_wait_for 60 lab_silent 1
done_testing
