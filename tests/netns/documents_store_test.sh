#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The whole way: documents in a real etcd, the real bwlimit-sync, the real bwlimitd, and packets. A revocation closes
# within a second of its publication; a store that is cut off ends what is open at the floor.
# Debian's etcd has known holes: it is taken with --accept-etcd-holes here.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
[[ -x $(command -v etcd) && -x $(command -v etcdctl) ]] ||
	{ echo '1..0 # SKIP no etcd: packaging/install-deps fleet'; exit 77; }
LAB=bwl-docstore-$$ LAB_DESTS=2
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
SYNC_PID=
finish() {
	[[ -z $SYNC_PID ]] || kill "$SYNC_PID"
	etcd_down
	lab_down
} 2>/dev/null
trap finish EXIT

publish() { # KIND NAME, what is signed
	in_net "$LAB_BUILD/tests/harness/bwl-store" "$(etcd_url 1)" "$ETCD_DIR/pki/ca.pem" "$ETCD_DIR/pki/root.pem" \
		"$ETCD_DIR/pki/root.key" "$PREFIX" publish - "$@" <"$FLEET/$2" >/dev/null
}
sync_up() {
	[[ -z $SYNC_PID ]] || { kill "$SYNC_PID"; wait "$SYNC_PID"; } 2>/dev/null
	nsenter --net="/run/netns/$(etcd_ns net)" "$LAB_BUILD/sync/bwlimit-sync" --servers "$(etcd_url 1)" --tray tray-7 \
		--ca "$ETCD_DIR/pki/ca.pem" --cert "$ETCD_DIR/pki/tray-7.pem" --key "$ETCD_DIR/pki/tray-7.key" \
		--agent "$SOCKET" --accept-etcd-holes --json >>"$LAB_TMP/sync" 2>&1 &
	SYNC_PID=$!
}
time_published() { sign timestamp time controller <<<'{}' && publish timestamp time; }
in_store() { # jq
	etcdctl_as root get --print-value-only "$PREFIX/node/tray-7/out/status" | jq -e "$1" >/dev/null
}

docs_begin || exit 1
check "control: etcd is up" eval 'etcd_up >/dev/null && etcd_auth >/dev/null && etcd_tray tray-7 >/dev/null'
"$CTL" enrol "$FLEET/root" "$FLEET/enrolment" --sha256 "$SHA" >/dev/null 2>&1
sync_up
time_published
sign policy base alice,bob --offline-for 20s < <(docs_text 4mbit 4mbit)
publish policy base
check "a policy comes into force by etcd and bwlimit-sync" lab_wait_for 30 rate d1 4000000
check "with what was published of the time" lab_wait_for 10 lab_both 1
digest=$("$CTL" --json policy verify "$FLEET/base" --root "$FLEET/root" | jq -r .digest)
check "it is acknowledged in the store, by its digest" lab_wait_for 40 in_store \
	".tray == \"tray-7\" and .taken[\"policy/base\"].sha256 == \"$digest\" and .policy.sha256 == \"$digest\""
sign policy base alice < <(docs_text 9mbit 9mbit)
publish policy base
check "one that widens and one person has signed is refused, and the store has why" lab_wait_for 40 in_store \
	'.refused["policy/base"].id == "signed-widens"'
check "and the rate is what it was" rate d1 4000000
LIFE=40m sign policy base bob --offline-for 20s < <(docs_text 3mbit 4mbit)
publish policy base
check "one that tightens is in force" lab_wait_for 10 rate d1 3000000

note "Revocation, by packets"
closes() { # from the publication on: what arrives after a second more than was on its way?
	local judge at end
	time_published
	lab_wait_for 10 lab_both 1 || return 1
	sign revocation now alice < <(echo '{"peers": ["d1"], "reason": "drill"}') || return 1
	lab_bg flow d1 "$FRAMES" count eth0 --marker $LAB_MARKER
	judge=$LAB_PID
	lab_wait_for 5 grep -q ready "$LAB_TMP/flow"
	in_host ping -q -i 0.01 -s 64 -p $LAB_MARKER "$(lab_dest4 1)" >/dev/null 2>&1 &
	local pinger=$!
	sleep 0.3
	at=$(date +%s%N)
	publish revocation now
	until state d1 revoked; do
		end=$(date +%s%N)
		[[ $((end - at)) -lt 5000000000 ]] || break
	done
	end=$(date +%s%N)
	lab_stop "$judge"
	note "$(((end - at) / 1000000)) ms from the publication to closed"
	awk '/^0800/ && $6 { n = $6 } END { exit !n }' "$LAB_TMP/flow" || { note "control: nothing arrived before"; kill $pinger; return 1; }
	lab_silent 1 # while the host still sends
	local r=$?
	kill $pinger 2>/dev/null
	wait $pinger 2>/dev/null
	[[ $r -eq 0 && $((end - at)) -lt 1000000000 ]]
}
check "a revocation that is published closes within a second" closes
check "and no other peer" lab_both 2

note "The store"
docs_die
docs_agent
check "a bwlimitd that was killed is given all again, and holds what it took" lab_wait_for 20 status \
	'.policy.version > 0 and .closed == ["d1"]'
time_published
check "control: with a new time it is open" lab_wait_for 10 lab_both 2
cut 1
kill "$SYNC_PID"; wait "$SYNC_PID" 2>/dev/null; SYNC_PID=
check "cut off from the store, it is at its floor when the time is over" lab_wait_for 40 lab_silent 2
check "and says so" status '(.fresh | not) and (.alarms | index("floor"))'
heal 1
sync_up
time_published
check "healed, it is open again within 10 s of a new time" lab_wait_for 10 lab_both 2
done_testing
