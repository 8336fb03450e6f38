#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# bwlimit-sync and etcd: three members in namespaces, whatever happens to them. What counts is what the program
# in place of bwlimitd (tests/harness/fake_bwlimitd.py) was given: the right bytes, in the right order, once.
# live: fake_bwlimitd.py stands in for bwlimitd: no DPU is here
set -uo pipefail
# shellcheck source=../harness/store_lab.sh
. "$(dirname "${BASH_SOURCE[0]}")/../harness/store_lab.sh"
got=$ETCD_DIR/got
clean_up() { umount --lazy "$ETCD_DIR/data3"; } # in place of store_lab.sh's: its member still runs

# On a busy machine a call takes longer than its 3 s: it is made again. What then may come twice is in `again`.
publish() { # tray|- kind name, the document on stdin
	local end=$((SECONDS + 180))
	cat >"$ETCD_DIR/document"
	until etcd_store publish "$@" <"$ETCD_DIR/document"; do
		echo "$2-$3" >>"$ETCD_DIR/again"
		[[ $SECONDS -lt $end ]] || return 1
		sleep 0.2
	done 2>>"$ETCD_DIR/publish.err"
}
sync_start() { # [option…]: in place of the one that runs
	[[ ! -v ours[sync] ]] || stop sync
	: >"$ETCD_DIR/out"
	nsenter --net="/run/netns/$(etcd_ns net)" "$build/sync/bwlimit-sync" \
		--servers "$(etcd_url 1),$(etcd_url 2),$(etcd_url 3)" --tray tray-1 --ca "$pki/ca.pem" \
		--cert "$pki/tray-1.pem" --key "$pki/tray-1.key" --agent "$ETCD_DIR/agent" "$@" \
		>>"$ETCD_DIR/out" 2>&1 &
	ours[sync]=$!
}
agent_start() {
	[[ ! -v ours[agent] ]] || stop agent
	rm -rf "$got" && mkdir "$got"
	"$here/fake_bwlimitd.py" "$ETCD_DIR/agent" "$got" >"$ETCD_DIR/agent.out" &
	ours[agent]=$!
	await 5 grep -q ready "$ETCD_DIR/agent.out"
}
has() { compgen -G "$got/*-$1" >/dev/null; } # KIND-NAME
holds() { cmp -s "$got"/*-"$1" "$2"; }      # KIND-NAME file
says() { grep -qE -- "$1" "$ETCD_DIR/out"; }
count() { compgen -G "$got/*-$1" | wc -l; }
asked() { grep -oE 'to https://10\.77\.[0-9]' "$ETCD_DIR/out" | tail -n 1 | grep -oE '[0-9]$'; } # which member
# A published document arrives within this many seconds.
arrives() { # seconds name
	local name=revocation-$2
	echo "$2" | await 10 publish_from "$2" || { note "not published"; return 1; }
	await "$1" has "$name" || { note "$(tail -n 5 "$ETCD_DIR/out")"; return 1; }
}
after() { note "after $AWAITED s; the goal is 10, on a machine that does nothing else"; }
publish_from() { publish - revocation "$1" <<<"$1"; }

check "control: three members and etcd's roles are up" eval 'etcd_up >/dev/null && etcd_auth >/dev/null && etcd_tray tray-1 >/dev/null && etcd_tray tray-10 >/dev/null'
agent_start

note "Servers with known holes"
sync_start
check "Debian's etcd is refused, with the holes by name" await 10 says 'CVE-2026-33343'
check "and what to do" says 'accept-etcd-holes'
# A policy of 10 000 peers, as large as its envelope makes it.
awk 'BEGIN { print "version: 1\nnode: tray-1\npeers:"
	for (i = 0; i < 10000; i++)
		printf "  - name: tray-%d\n    addresses: [10.%d.%d.0/24, \"fd00:%x::/64\"]\n    ipsec: { remote: 192.0.%d.%d }\n    grant: { rate: 1gbit, mode: shape }\n", i, i / 256, i % 256, i, i / 256, i % 256
}' | base64 -w 0 >"$ETCD_DIR/big"
for d in grant/g policy/small timestamp/t root/1 expulsion/e; do
	publish - "${d%/*}" "${d#*/}" <<<"$d" >/dev/null
done
publish tray-10 revocation other <<<"not for us" >/dev/null
refute "and nothing of it is handed over" has 'root-1'

note "Handing over"
sync_start --accept-etcd-holes --json
check "all is handed over" await 10 has grant-g
# libcurl 7.88 mixes up answers that arrive next to a watch on the same connection.
connections() { in_net ss -Htnp state established "dport = :2379" | grep -c "pid=${ours[sync]},"; }
check "the watch has a connection of its own" await 10 eval '[[ $(connections) == 2 ]]'
check "by kind, what closes first" is "$(cd "$got" && printf '%s ' 0*)" \
	"0001-root-1 0002-timestamp-t 0003-expulsion-e 0004-policy-small 0005-grant-g "
check "byte for byte" holds timestamp-t <(echo timestamp/t)
refute "and nothing that is for tray-10" has revocation-other
check "what is said has its schema" "$here/json_check.py" --lines \
	"${BWL_SOURCE:-${here%/*/*}}/docs/schema" sync <"$ETCD_DIR/out"
check "a document that comes later is there" arrives 1 later
publish tray-1 enrolment mine <<<mine >/dev/null
check "so is one for this tray" await 1 has enrolment-mine
publish - grant forged <<<"forged" >/dev/null
check "what bwlimitd refuses is told, with why" await 5 says 'refused grant/forged: too few signatures'
publish - policy big <"$ETCD_DIR/big" >/dev/null
note "$(stat -c %s "$ETCD_DIR/big") bytes"
check "a policy of 10 000 peers arrives in parts, whole" await 20 holds policy-big "$ETCD_DIR/big"
check "the tray is seen to be alive" await 5 eval \
	"[[ \$(etcdctl_as root get --print-value-only $PREFIX/node/tray-1/out/alive) ]]"
echo '{"tray":"tray-1"}' >"$got/status"
says_itself() { [[ $(etcdctl_as root get --print-value-only "$PREFIX/node/tray-1/out/status") == '{"tray":"tray-1"}' ]]; }
check "and what it says of itself is in the store" await 15 says_itself
n=$(count '*')
agent_start
check "a bwlimitd that was started again is given everything" await 10 eval "[[ \$(count '*') == $n ]]"

note "Many at once"
lost() { grep -c '"lost"' "$ETCD_DIR/out"; }
sixty() { # round
	local i before
	before=$(lost)
	for i in $(seq 60); do publish - grant "many$1-$i" <<<"many $i" >/dev/null; done
	await 20 eval "[[ \$(count 'grant-many$1-*') -ge 60 ]]" && is "$(lost)" "$before"
}
# On a busy machine members may elect another leader meanwhile.
check "sixty documents, one after the other, and the server is not lost meanwhile" eval 'sixty 1 || sixty 2 || sixty 3'

note "A stolen certificate of a tray"
for key in all/doc/root/1 all/doc/policy/x part/x/00000 node/tray-1/in/doc/grant/x node/tray-10/out/status node/tray-1/out/x \
	node/tray-1/out/status/x node/tray-1/out/ controller/leader/1; do
	refute "cannot write $key" etcdctl_as tray-1 put "$PREFIX/$key" x
done 2>/dev/null
for key in status alive at; do
	check "control: it can write what the tray says of itself, $key" etcdctl_as tray-1 put "$PREFIX/node/tray-1/out/$key" x
done
for key in node/tray-1/out/status node/tray-10/out/status controller/ pending/; do
	refute "cannot read $key" etcdctl_as tray-1 get --prefix "$PREFIX/$key" 2>/dev/null
	refute "cannot watch $key" may_watch tray-1 "$PREFIX/$key"
done
check "control: it can watch what is for all" may_watch tray-1 "$PREFIX/all/"
refute "cannot read what is for tray-10" etcdctl_as tray-1 get --prefix "$PREFIX/node/tray-10/in/" 2>/dev/null
refute "cannot make itself a user with more rights" etcdctl_as tray-1 user grant-role tray-1 root 2>/dev/null

note "Members that go, and come back"
leader=$(etcd_leader)
etcd_kill "$leader"
MEMBER=$((leader % 3 + 1))
check "the leader killed: news arrive" arrives 10 killed
after
etcd_start "$leader"
check "control: it is back" await 20 etcdctl_as root endpoint health
at=$(asked)
: >"$ETCD_DIR/out"
cut "$at"
MEMBER=$((at % 3 + 1))
check "the member that is asked cut off: another one is" await 10 says 'connected to'
after
check "and news arrive" arrives 5 minority
heal "$at"
await 20 etcdctl_as root endpoint health
at=$(asked)
: >"$ETCD_DIR/out"
kill -TERM "${ETCD_PID[$at]}" && wait "${ETCD_PID[$at]}"
MEMBER=$((at % 3 + 1))
check "the member that is asked takes its leave (GOAWAY): another one is" await 10 says 'connected to'
after
check "and news arrive" arrives 10 leave
etcd_start "$at"
await 20 etcdctl_as root endpoint health
: >"$ETCD_DIR/out"
cut 1 && cut 2 && cut 3
check "all cut off: it is told" await 15 says 'lost'
heal 1 && heal 2
MEMBER=1
check "a majority back: it is connected" await 10 says 'connected to'
after
check "and news arrive" arrives 10 majority
heal 3
check "control: all are back" await 20 etcdctl_as root endpoint health
: >"$ETCD_DIR/out"
at=$(etcd_leader)
freeze_process "${ETCD_PID[$at]}" "${ETCD_PID[$((at % 3 + 1))]}"
sleep_until_lost() { says 'lost|trouble|has no leader|Timeout|timed out'; }
check "two of three stopped: it is seen that nothing can be believed to be new" await 15 sleep_until_lost
kill -CONT "${ETCD_PID[$at]}" "${ETCD_PID[$((at % 3 + 1))]}"
await 20 etcdctl_as root endpoint health
check "and when they go on, news arrive" arrives 10 stopped
after

note "Compaction under the watch"
freeze_process "${ours[sync]}"
publish - revocation compacted <<<x >/dev/null
revision=$(publish - timestamp t <<<'timestamp/t2')
etcdctl_as root compaction "$revision" >/dev/null
kill -CONT "${ours[sync]}"
check "what was said before is read" await 10 has revocation-compacted
check "and what came after" await 10 eval "grep -lx timestamp/t2 $got/*-timestamp-t"
check "news arrive as before" arrives 5 after-compaction

note "A disk that is full"
etcd_kill 3
rm -rf "$ETCD_DIR/data3" && mkdir "$ETCD_DIR/data3"
mount -t tmpfs -o size=200m,mode=700 tmpfs "$ETCD_DIR/data3"
# Where it led the others elect first, and what they are told meanwhile ends without an answer.
removed() {
	local list member
	list=$(etcdctl_as root member list) || return
	member=$(sed -n 's/, started, m3,.*//p' <<<"$list")
	[[ -z $member ]] || etcdctl_as root member remove "$member"
}
added() { etcdctl_as root member list | grep_all -F 'https://10.77.3.2:2380' || etcdctl_as root member add m3 --peer-urls=https://10.77.3.2:2380; }
await 30 removed
await 30 added
etcd_start 3 --initial-cluster-state existing
check "control: a member on a small disk is one of three" await 30 etcdctl_as root endpoint health
head -c 300000000 /dev/zero >"$ETCD_DIR/data3/fill" 2>/dev/null
check "control: its disk is full" eval "! head -c 100000 /dev/zero >$ETCD_DIR/data3/more 2>/dev/null"
MEMBER=1
for i in 1 2 3 4; do head -c 1000000 /dev/urandom | publish - policy "fill$i" >/dev/null; done
check "news arrive by way of the others" arrives 10 full
etcd_kill 3
check "and after it has died of it" arrives 10 dead

stays_small sync bwlimit-sync
ends_when_told sync bwlimit-sync
n=$(compgen -G "$got/*" | grep -v status | sed 's|.*/[0-9]*-||' | sort | uniq -d | grep -vx timestamp-t | grep -vxFf <(cat "$ETCD_DIR/again" 2>/dev/null))
check "and nothing was handed over twice" test -z "$n"
done_testing
