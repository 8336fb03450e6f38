#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The whole path with the real programs: bwlimit-controller, a real etcd, bwlimit-sync, bwlimitd, and packets. The
# controller's time keeps the tray open and its lease renewed; a policy with stages comes into force by a rollout, and is
# rolled back; if the controller is gone, what is open ends at the floor. The tray's audit log is cosigned as it
# grows, and one that was replaced by an old copy is reported; a policy that loses SAs is rolled back.
set -uo pipefail
LAB=bwl-ctrltray-$$ LAB_DESTS=2
# shellcheck source=../harness/controller_lab.sh
. "$(dirname "${BASH_SOURCE[0]}")/../harness/controller_lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"

stage_up() { # [--silent-after]
	control_up control-1 --soak 2s --stages 50,100 --silent-after "${1:-90s}"
}
# A policy with stages, signed by both people.
stages() { # NUMBER, what `sign` made of NAME
	"$here/fake_trays.py" sign hall-3 base "$1" policy "$(jq -n --rawfile t /dev/stdin \
		'{text: $t, stages: true, lease_most: "30s", offline_for: "20s"}')" "$FLEET/alice.pem" "$FLEET/bob.pem" >"$FLEET/base"
}

# A tray tells its status when it is connected, and otherwise every 30 s: it is connected anew at each look.
said_at() { etcdctl_as root get -w json "$PREFIX/node/tray-7/out/status" | jq '.kvs[0].mod_revision'; }
said_since() { [[ $(said_at) != "$1" ]]; }
told_anew() { # command…
	"$@" && return
	sync_up
	lab_wait_for 60 said_since "$(said_at)"
	"$@"
}

docs_begin || exit 1
# The tray's log as cosigned, an auditor's verdict on it, and its size.
cosigned() {
	etcdctl_as tray-7 get --print-value-only "$PREFIX/node/tray-7/in/cosigned" | sed '$d' >"$LAB_TMP/cosigned" &&
		"$CTL" audit verify --key "$BWLIMIT_AUDIT_DIR/key.pub" --checkpoint "$LAB_TMP/cosigned" \
			--witness "$(jq -rs 'map(select(.event == "witness"))[0].subject' "$LAB_TMP/control.first")" >/dev/null
}
cosigned_more() { cosigned && (($(sed -n 2p "$LAB_TMP/cosigned") > ${1:-0})); }
check "control: etcd is up" controller_lab_up
docs_enrol
sync_up
stage_up
check "the controller leads" lab_wait_for 15 control_says '"leads"'
docs_text 4mbit 4mbit | sed 's/^heartbeat:.*/&\nlease: 40s/' | stages 1000
publish policy base
check "a policy with stages comes into force by a rollout" lab_wait_for 60 rate d1 4000000
check "with the controller's time and lease it is open" lab_wait_for 30 lab_both 1
cp "$LAB_TMP/control" "$LAB_TMP/control.first"
check "the tray's audit log is cosigned, and an auditor believes it" lab_wait_for 60 told_anew cosigned_more
first=$(sed -n 2p "$LAB_TMP/cosigned")
cp -r "$BWLIMIT_AUDIT_DIR" "$LAB_TMP/audit.old"
"$CTL" audit checkpoint >"$LAB_TMP/kept" # the log is further by then
check "and the rollout ends" lab_wait_for 240 told_anew control_says rolled-out
check "as the log grows it is cosigned, by the tray's own proofs" lab_wait_for 90 told_anew cosigned_more "$first"
check "and what was kept meanwhile is in it" eval 'lab_wait_for 90 told_anew cosigned_more "$(sed -n 2p "$LAB_TMP/kept")" &&
	"$CTL" audit verify --key "$BWLIMIT_AUDIT_DIR/key.pub" --checkpoint "$LAB_TMP/kept" --checkpoint "$LAB_TMP/cosigned" >/dev/null'
docs_text 3mbit 4mbit | sed 's/^heartbeat:.*/&\nlease: 40s/' | stages 1001
: >"$LAB_TMP/control"
publish policy base
check "what tightens is in force at once" lab_wait_for 15 rate d1 3000000
check "and out in one step" lab_wait_for 120 told_anew control_says 'rolled-out'
refute "without a first stage" control_says 'base 50 %'
docs_text 9mbit 9mbit | sed 's/^heartbeat:.*/&\nlease: 40s/' | stages 1002
: >"$LAB_TMP/control"
control_down
takings() { grep -c '"taken".*policy/base' "$LAB_TMP/sync"; }
taken_since() { (($(takings) > $1)); }
before=$(takings)
publish policy base
check "control: one that widens is taken" lab_wait_for 30 taken_since "$before"
check "control: and waits for its rollout" rate d1 3000000
stage_up 45s
check "which comes" lab_wait_for 30 rate d1 9000000
freeze_process "$SYNC_PID"
check "a tray that no longer reports: all goes back" lab_wait_for 120 control_says '"back".*tray-7'
kill -CONT "$SYNC_PID"
check "and it takes what was before" lab_wait_for 30 rate d1 3000000
check "and is open" lab_wait_for 30 lab_both 1
live "bwlimit-sync that hung goes on"
note "SAs that go down"
{ docs_text 9mbit 9mbit | sed 's/^heartbeat:.*/&\nlease: 40s\nipsec: { ca: ca.pem }/'
	echo '  - { name: tray-3, addresses: [10.0.3.0/24], ipsec: { remote: 192.0.2.33 }, grant: { rate: 1mbit } }'; } | stages 1003
: >"$LAB_TMP/control"
publish policy base
check "a policy with a peer that gets no SA comes in stage one" lab_wait_for 30 rate d1 9000000
check "and goes back, because SAs are down" lab_wait_for 150 told_anew control_says '"back".*SAs'
check "the tray takes what was before" lab_wait_for 30 rate d1 3000000
refute "no second stage began" control_says 'base 100 %'

note "A log that was put back"
docs_die
rm -r "$BWLIMIT_AUDIT_DIR"
cp -r "$LAB_TMP/audit.old" "$BWLIMIT_AUDIT_DIR"
docs_agent
check "an audit log of before is told" lab_wait_for 90 told_anew control_says '"alarm".*tray-7.*(shorter|two histories|does not begin)'
control_down
check "without a controller it is at its floor when its time is over" lab_wait_for 60 lab_silent 1
stage_up
check "control: with one again it is open" lab_wait_for 60 lab_both 1
live "bwlimitd was killed and started again, and there is a controller again"
control_down
done_testing
