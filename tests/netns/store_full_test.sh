#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A full store: three members of a real etcd with a quota of 4 MiB raise the alarm NOSPACE and refuse each write.
# Every writer reports it, with what to do; what is in force can still be read, and ends at the floor when its time is over;
# once the store has room again everything continues, and nothing that was in it is lost.
set -uo pipefail
LAB=bwl-full-$$ LAB_DESTS=2 ETCD_N=3
# shellcheck source=../harness/controller_lab.sh
. "$(dirname "${BASH_SOURCE[0]}")/../harness/controller_lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"

told() { # file: trouble, and the next step
	jq -es 'any(.[]; (.text | test("space exceeded")) and (.todo | test("compaction.*defrag.*alarm disarm")))' "$LAB_TMP/$1" >/dev/null
}
fill() {
	local i
	head -c 100000 /dev/urandom | base64 -w 0 >"$LAB_TMP/junk"
	for ((i = 0; i < 100; i++)); do
		etcdctl_as root put "/junk/$i" <"$LAB_TMP/junk" >/dev/null 2>"$LAB_TMP/refused" ||
			! grep -q 'space exceeded' "$LAB_TMP/refused" || return 0
	done
	return 1
}
make_room() { # as docs/fleet.md has it
	local i revision
	etcdctl_as root del --prefix /junk/ >/dev/null &&
		revision=$(etcd_revision) &&
		etcdctl_as root compaction "$revision" >/dev/null || return
	for ((i = 1; i <= ETCD_N; i++)); do ETCD_AT=$(etcd_url "$i") etcdctl_as root defrag >/dev/null || return; done
	etcdctl_as root alarm disarm >/dev/null
}
keys() { etcdctl_as root get --prefix --keys-only "$PREFIX/" | grep -E "/(doc|big)/" | sort; }
revoke() { fleet revoke --tray tray-7 d2 --key "$FLEET/alice.pem" --reason drill --timeout 60s >"$LAB_TMP/desk" 2>&1; }
said() { etcdctl_as root get -w json "$PREFIX/node/tray-7/out/status" | jq '.kvs[0].mod_revision'; }
says_more() { (($(said) > $1)); }

docs_begin || exit 1
check "control: etcd is up, with 4 MiB" controller_lab_up --quota-backend-bytes 4194304
docs_enrol
enrolment_put
sync_up
control_up one
check "control: a controller leads" lab_wait_for 60 control_says '"leads"'
docs_text 4mbit 4mbit | sign policy base alice,bob --offline-for 90s
check "control: a policy is published" publish policy base
check "control: it is in force, and open" eval 'lab_wait_for 60 rate d1 4000000 && lab_wait_for 60 lab_both 1'
keys >"$LAB_TMP/before"

note "Full"
check "control: a write is refused" fill
check "control: the alarm is NOSPACE" eval 'etcdctl_as root alarm list | grep_all NOSPACE'
refute "a revocation is not published" revoke
check "the desk says why, and what to do" grep -q 'space exceeded' "$LAB_TMP/desk"
check "by commands" grep -q 'compaction.*defrag.*alarm disarm' "$LAB_TMP/desk"
check "bwlimit-sync says it" lab_wait_for 90 told sync
check "so does the controller" lab_wait_for 120 told control
check "neither takes the server for lost because of it" eval '! grep -q "\"lost\".*space exceeded" "$LAB_TMP/sync" "$LAB_TMP/control"'
check "what was in force holds, and no more" rate d1 4000000
base_taken() { grep -c '"taken".*policy/base' "$LAB_TMP/sync"; }
was=$(base_taken)
sync_up
check "who comes anew reads all" lab_wait_for 60 eval '[[ $(base_taken) -gt $was ]]'
check "without signed times it ends at the floor" lab_wait_for 180 lab_silent 1
check "and says so" status '(.fresh | not) and (.alarms | index("floor"))'

note "Room again"
before=$(said)
check "compaction, defrag, alarm disarm" make_room
begin=$SECONDS
check "the tray is open again by a new signed time" lab_wait_for 120 lab_both 1
note "after $((SECONDS - begin)) s; the goal is 10, on a machine that does nothing else"
check "it says what it has" lab_wait_for 60 says_more "$before"
live "a new signed time is taken, the store having room again"
check "nothing that was in the store is lost" eval 'keys >"$LAB_TMP/after" && [[ -s $LAB_TMP/before && -z $(comm -23 "$LAB_TMP/before" "$LAB_TMP/after") ]]'
check "the same controller leads on" eval '[[ $(grep -c "\"leads\"" "$LAB_TMP/control") == 1 ]]'
check "the revocation is published, and heard" revoke
check "it closes" state d2 revoked
check "and nothing else" lab_both 1
done_testing
