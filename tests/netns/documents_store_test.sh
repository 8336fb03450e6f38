#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The whole path: documents in a real etcd, the real bwlimit-sync, the real bwlimitd, and packets. A revocation closes
# (how fast is in a note); members of the store that die or are cut off under traffic open nothing; if the store is
# cut off, what is open ends at the floor.
set -uo pipefail
LAB=bwl-docstore-$$ LAB_DESTS=2 ETCD_N=3
# shellcheck source=../harness/documents_store.sh
. "$(dirname "${BASH_SOURCE[0]}")/../harness/documents_store.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
in_store() { # jq
	etcdctl_as root get --print-value-only "$PREFIX/node/tray-7/out/status" | jq -e "$1" >/dev/null
}

opens() { time_published && lab_both "$1"; } # on a busy machine one time is too old before a packet has come

documents_store_up
sign policy base alice,bob --offline-for 20s < <(docs_text 4mbit 4mbit)
publish policy base
check "a policy comes into force by etcd and bwlimit-sync" lab_wait_for 30 rate d1 4000000
check "with what was published of the time" eval 'lab_both 1 || lab_wait_for 30 opens 1'
digest=$("$CTL" --json policy verify "$FLEET/base" --root "$FLEET/root" | jq -r .digest)
check "it is acknowledged in the store, by its digest" lab_wait_for 40 in_store \
	".tray == \"tray-7\" and .taken[\"policy/base\"].sha256 == \"$digest\" and .policy.sha256 == \"$digest\""
ETCD_AT=$(etcd_url 1) etcdctl_as root snapshot save "$ETCD_DIR/snapshot" >/dev/null 2>&1
sign policy base alice < <(docs_text 9mbit 9mbit)
publish policy base
check "one that widens and one person has signed is refused, and the store has why" lab_wait_for 40 in_store \
	'.refused["policy/base"].id == "signed-widens"'
check "and the rate is what it was" rate d1 4000000
LIFE=40m sign policy base bob --offline-for 20s < <(docs_text 3mbit 4mbit)
publish policy base
check "one that tightens is in force" lab_wait_for 10 rate d1 3000000

note "Members of the store that go, under a flood, with d1 at 3 Mbit/s and less"
lab_iperf_server d1 5201
lab_bg flood host iperf3 -c "$(lab_dest4 1)" -u -b 20M -l 1200 -t 600
FLOOD=$LAB_PID
lab_bg sample d1 "$FRAMES" sample eth0 20 --from-first
SAMPLE=$LAB_PID
tighter() { # rate, as bits, life: less each time, for a later end widens
	LIFE=$3 sign policy base bob --offline-for 20s < <(docs_text "$1" 4mbit) && publish policy base &&
		lab_wait_for 60 rate d1 "$2"
}
time_published
leader=$(etcd_leader)
MEMBER=$((leader % 3 + 1))
etcd_kill "$leader"
check "its leader killed: what tightens is in force" tighter 2mbit 2000000 35m
etcd_start "$leader"
check "control: it is back" await 60 etcdctl_as root endpoint health
cut "$leader"
check "one member cut off: what tightens is in force" tighter 1mbit 1000000 25m
heal "$leader"
wait "$SAMPLE"
lab_stop "$FLOOD"
within_limit() { # of the first policy, by the receiver's counters: 3 Mbit/s, 2 % for frames' own headers, and a burst
	note "$(<"$LAB_TMP/sample") (bytes, frames, ns) arrived"
	awk '{ exit !($1 > 200000 && $1 < 3e6 / 8 * $3 / 1e9 * 1.02 + 200000) }' "$LAB_TMP/sample"
}
check "no more arrived than the widest of these limits, and something did" within_limit

note "Revocation, by packets"
closes() { # from the publication on: what arrives after a second more than was on its way?
	local judge at end was
	lab_wait_for 30 opens 1 || return 1
	sign revocation now alice < <(echo '{"peers": ["d1"], "reason": "drill"}') || return 1
	lab_bg flow d1 "$FRAMES" count eth0 --marker $LAB_MARKER
	judge=$LAB_PID
	lab_wait_for 5 grep -q ready "$LAB_TMP/flow"
	was=$(lab_rx d1 eth0 | cut -d' ' -f2)
	flows() { (($(lab_rx d1 eth0 | cut -d' ' -f2) > was + 10)); }
	lab_bg pinger host ping -q -i 0.01 -s 64 -p $LAB_MARKER "$(lab_dest4 1)"
	local pinger=$LAB_PID
	lab_wait_for 10 flows
	at=$(date +%s%N)
	publish revocation now
	until state d1 revoked; do
		end=$(date +%s%N)
		[[ $((end - at)) -lt 180000000000 ]] || break
	done
	end=$(date +%s%N)
	lab_stop "$judge"
	note "$(((end - at) / 1000000)) ms from the publication to closed"
	awk '/^0800/ && $6 { n = $6 } END { exit !n }' "$LAB_TMP/flow" || { note "control: nothing arrived before"; kill $pinger; return 1; }
	lab_silent 1 # while the host still sends
	local r=$?
	kill $pinger 2>/dev/null
	wait $pinger 2>/dev/null
	[[ $r -eq 0 ]] && state d1 revoked
}
check "a revocation that is published closes" closes # within a second is the goal, and a note: see docs/status.md
check "and no other peer" lab_wait_for 30 opens 2
LIVE_DEST=2 live "members of the store were killed and cut off, and are back"

note "The store"
docs_die
docs_agent
check "a bwlimitd that was killed is given all again, and holds what it took" lab_wait_for 20 status_now \
	'.policy.version > 0 and .closed == ["d1"]'
check "control: with a new time it is open" lab_wait_for 30 opens 2
LIVE_DEST=2 live "bwlimitd is started again, and a new time has come"
cut 1 && cut 2 && cut 3
kill "$SYNC_PID"; wait "$SYNC_PID" 2>/dev/null; SYNC_PID=
check "cut off from the store, it is at its floor when the time is over" lab_wait_for 40 lab_silent 2
check "and says so" status '(.fresh | not) and (.alarms | index("floor"))'
heal 1 && heal 2 && heal 3
await 60 etcdctl_as root endpoint health
sync_up
begin=$SECONDS
check "healed, it is open again by a new time" lab_wait_for 60 opens 2
note "after $((SECONDS - begin)) s"
LIVE_DEST=2 live "the store is back, and a new time has come"

note "A store that is restored from a snapshot of before"
restore() {
	local i peers=
	for ((i = 1; i <= ETCD_N; i++)); do etcd_kill "$i"; rm -rf "$ETCD_DIR/data$i"; peers+=${peers:+,}m$i=https://10.77.$i.2:2380; done
	for ((i = 1; i <= ETCD_N; i++)); do
		ETCDCTL_API=3 etcdctl snapshot restore "$ETCD_DIR/snapshot" --name "m$i" --data-dir "$ETCD_DIR/data$i" \
			--initial-cluster "$peers" --initial-advertise-peer-urls "https://10.77.$i.2:2380" >/dev/null 2>&1 || return
		etcd_start "$i"
	done
	await 60 etcdctl_as root endpoint health
}
was() { [[ $(etcdctl_as root get --prefix --keys-only "$PREFIX/" | grep -c revocation) == "$1" ]]; }
check "control: the revocation is in the store" was 1
check "the snapshot is restored" restore
check "control: it knows no revocation" was 0
time_published
check "the tray hears it, and is open where it was" lab_wait_for 60 lab_both 2
lab_wait_for 30 opens 2 # its time is good for 20 s
LIVE_DEST=2 live "the store was restored, and a new time has come"
check "the policy of then is refused, as old" lab_wait_for 90 status_now '.refused["policy/base"].id == "signed-old"'
check "what tightened since holds" rate d1 1000000
check "and what was revoked since is revoked" state d1 revoked
check "with its packets" lab_silent 1
check "what is published again is in the store again" eval 'publish revocation now && was 1'
done_testing
