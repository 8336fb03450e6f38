#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Two rows of docs/fleet.md's tables of what a thief can do: with the key of the authority of all the store's certificates, and
# with a store that hides a revocation from both the tray and the controllers. A real etcd, bwlimit-controller, bwlimit-sync
# and bwlimitd, and packets.
set -uo pipefail
LAB=bwl-stolen-$$ LAB_DESTS=2
# shellcheck source=../harness/controller_lab.sh
. "$(dirname "${BASH_SOURCE[0]}")/../harness/controller_lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"

docs_begin || exit 1
check "control: etcd is up" controller_lab_up
docs_enrol
enrolment_put
sync_up
control_up one --serve "$AT"
sign policy base alice,bob --audience tray:tray-7 --offline-for 10m < <(docs_text 3mbit 3mbit)
etcdctl_as root put "$PREFIX/node/tray-7/in/doc/policy/base" <"$FLEET/base" >/dev/null
check "control: what two people signed is in force" lab_wait_for 60 rate d1 3000000
check "control: and packets pass, for the time is signed" lab_wait_for 60 lab_both 1

note "Who has the authority's key"
mkdir -p "$LAB_TMP/thief/pki"
cp "$pki/ca.pem" "$pki/ca.key" "$LAB_TMP/thief/pki"
for who in root people tray-7; do
	(ETCD_DIR=$LAB_TMP/thief && etcd_cert "$who")
done
by_thief() { ETCD_DIR=$LAB_TMP/thief etcdctl_as "$@"; }
check "is the store's root" eval 'by_thief root user list | grep_all tray-7'
check "and a tray, of which he writes the status" eval 'by_thief tray-7 put "$PREFIX/node/tray-7/out/at" "10.0.0.1:1" >/dev/null'
check "and people, to whom a controller shows its numbers" eval '[[ $(in_net curl -sS --max-time 10 -o /dev/null -w "%{http_code}" --cacert "$pki/ca.pem" \
	--cert "$LAB_TMP/thief/pki/people.pem" --key "$LAB_TMP/thief/pki/people.key" "https://$AT/v1/status") == 200 ]]'
"$CTL" key new "$FLEET/thief.pem" >/dev/null
AUDIENCE=tray:tray-7 "$here/fake_trays.py" sign hall-3 more 1 grant '{"peer": "d1", "limit": {"rate": "90mbit"}, "reason": "drill"}' \
	"$FLEET/thief.pem" "$FLEET/controller.pem" >"$LAB_TMP/more"
by_thief root put "$PREFIX/node/tray-7/in/doc/grant/more" <"$LAB_TMP/more" >/dev/null
check "but what he signs the tray refuses" lab_wait_for 30 status_now '.refused["grant/more"].id == "signed-untrusted"'
docs_text 90mbit 90mbit >"$LAB_TMP/wide"
AUDIENCE=tray:tray-7 "$here/fake_trays.py" sign hall-3 base 1000 policy "$(jq -n --rawfile t "$LAB_TMP/wide" '{text: $t}')" "$FLEET/thief.pem" >"$LAB_TMP/wide.signed"
by_thief root put "$PREFIX/node/tray-7/in/doc/policy/base" <"$LAB_TMP/wide.signed" >/dev/null
check "a policy, too" lab_wait_for 30 status_now '.refused["policy/base"].id == "signed-untrusted"'
check "and what two people signed is in force" rate d1 3000000
etcdctl_as root put "$PREFIX/node/tray-7/in/doc/policy/base" <"$FLEET/base" >/dev/null

note "A store that hides a revocation, from the controllers, too"
revoke() { # TIMEOUT: its exit code in $code
	fleet revoke --tray tray-7 d1 --key "$FLEET/alice.pem" --reason drill --timeout "$1" >"$LAB_TMP/desk" 2>&1
	code=$?
}
control_down
kill "$SYNC_PID" && wait "$SYNC_PID" 2>/dev/null
SYNC_PID=
revoke 2s
etcdctl_as root del --prefix "$PREFIX/node/tray-7/in/doc/revocation/" >/dev/null
check "the desk sees that the tray has not taken it: exit 3" eval '[[ $code == 3 ]] && grep -qE "tray-7 +silent" "$LAB_TMP/desk"'
check "and says until when the tray holds what it has" grep -q 'ends at 20' "$LAB_TMP/desk"
begin=$(date +%s)
control_up two
sync_up
newer() { etcdctl_as root get --print-value-only "$PREFIX/all/doc/timestamp/time" | doc_terms | jq -e --argjson b "$begin" '.version >= $b and .closing == []' >/dev/null; }
check "no time names it" lab_wait_for 90 newer
check "the tray takes that time" lab_wait_for 60 status_now ".fresh and .taken[\"timestamp/time\"].version >= $begin"
refute "so what it would close is not closed" state d1 revoked
revoke 120s
check "given again it closes, and is heard of" eval '[[ $code == 0 ]] && state d1 revoked'
check "by packets" lab_wait_for 10 lab_silent 1
LIVE_DEST=2 live "the store tells again what it hid, and controller and bwlimit-sync are started again"
control_down
done_testing
