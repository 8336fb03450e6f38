#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Who has less right takes nothing that who has more needs: no connection, no thread, no lock. Members of bwlimit-read, the user
# of bwlimit-sync and somebody of no group hold what they can, and meanwhile ten of ten grants and revocations of an operator
# are done and in the audit log, and root's requests, events and history go on.
set -uo pipefail
# The test's own groups and users: private files mounted over /etc/group and /etc/passwd, only in its own mount namespace.
if [[ ! -v HOLD_UNSHARED ]]; then
	HOLD_UNSHARED=1 exec unshare --mount --propagation private "$0" "$@"
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-hold-$$ LAB_DESTS=1
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
lab_up || exit 1
OPERATORS=64101 READERS=64102 SYNC=64103 NOBODY=64104
grep -vE '^bwlimit(-read|-sync)?:' /etc/group >"$LAB_TMP/group"
printf 'bwlimit:x:%d:\nbwlimit-read:x:%d:\nbwlimit-sync:x:%d:\n' $OPERATORS $READERS $SYNC >>"$LAB_TMP/group"
grep -v '^bwlimit-sync:' /etc/passwd >"$LAB_TMP/passwd"
printf 'bwlimit-sync:x:%d:%d::/:/bin/false\n' $SYNC $SYNC >>"$LAB_TMP/passwd"
mount --bind "$LAB_TMP/group" /etc/group
mount --bind "$LAB_TMP/passwd" /etc/passwd
chmod 711 "$LAB_TMP"
STATE=$LAB_TMP/state
export BWLIMIT_JOURNAL_DIR=$LAB_TMP/journal BWLIMIT_AUDIT_DIR=$LAB_TMP/audit BWLIMIT_STATE_DIR=$STATE
export BWLIMIT_CTL=$CTL BWLIMIT_LOAD=$LOAD
SOCKET=/run/bwlimit/${LAB_PINS##*/}

as() { # user group command…
	setpriv --reuid "$1" --regid "$2" --groups "$2" --inh-caps=-all --bounding-set=-all --no-new-privs "${@:3}"
}
operator() { as 64121 $OPERATORS "$CTL" "$@" >"$LAB_TMP/out" 2>"$LAB_TMP/err" || { note "$(head -c 300 "$LAB_TMP/err")"; return 1; }; }
reader() { as 64131 $READERS "$CTL" "$@" >"$LAB_TMP/out" 2>"$LAB_TMP/err" || { note "$(head -c 300 "$LAB_TMP/err")"; return 1; }; }
"$CTL" journal init >/dev/null
"$CTL" audit init >/dev/null
lab_attach >/dev/null
{
	echo "peers:"
	for ((i = 1; i <= 10; i++)); do
		echo "  - { name: p$i, addresses: [10.150.$i.0/24], path: clear, via: $LAB_VIA4, grant: { rate: 1mbit } }"
	done
	lab_peer d1 1 "grant: { rate: 8mbit }"
} | lab_policy_head >"$LAB_TMP/desired.yaml"
agent() {
	lab_bg agent dpu "$AGENT" --policy "$LAB_TMP/desired.yaml" --state-dir "$STATE" --json
	AGENT_PID=$LAB_PID
}
is_ready() { "$CTL" policy show && [[ -S $SOCKET.commands && -S $SOCKET.events && -S $SOCKET.documents && -S $SOCKET.sock && -e $STATE/history.db ]]; }
until_s() { "$CTL" history d1 --since 1m --json 2>/dev/null | jq -r '.written_until // empty | fromdateiso8601'; }
history_goes_on() {
	in_host ping -c 1 -W 1 "$(lab_dest4 1)" >/dev/null
	[[ $(until_s) -gt $written ]]
}
agent
check "bwlimitd is there" lab_wait_for 60 is_ready
"$CTL" heartbeat >/dev/null

written=0
check "and writes the history" lab_wait_for 60 history_goes_on

HOLDERS=()
hold() { # user group what…: until let_go
	local n=${#HOLDERS[@]}
	: >"$LAB_TMP/hold$n"
	(ulimit -n 4096; exec setpriv --reuid "$1" --regid "$2" --groups "$2" --inh-caps=-all --bounding-set=-all --no-new-privs \
		/usr/bin/python3 "$here/hold.py" "${@:3}") <"$LAB_TMP/known" >"$LAB_TMP/hold$n" 2>"$LAB_TMP/hold$n.err" & HOLDERS+=($!)
	lab_wait_for 60 grep -q ready "$LAB_TMP/hold$n" || note "$(cat "$LAB_TMP/hold$n" "$LAB_TMP/hold$n.err")"
}
let_go() {
	kill -KILL "${HOLDERS[@]}"
	wait "${HOLDERS[@]}"
	HOLDERS=()
} 2>/dev/null
: >"$LAB_TMP/known"
round=0
records() { "$CTL" audit show --json | jq -rs --arg e "$1" '[.[] | select(.event == $e and (.text | contains("ordered by"))).text] | length'; }
all_granted() {
	local i n=0
	for ((i = 1; i <= 10; i++)); do operator grant "p$i" rate "$((round + 1))mbit" reason "round $round" || break; ((++n)); done
	[[ $n -eq 10 ]] || { note "$n of 10"; return 1; }
}
all_revoked() {
	local i n=0
	for ((i = 1; i <= 10; i++)); do operator revoke "p$i" && ((n++)); done
	[[ $n -eq 10 ]] || { note "$n of 10"; return 1; }
	[[ $("$CTL" --json peer list | jq '[.peers[] | select(.peer | startswith("p")) | select(.state == "revoked")] | length') -eq 10 ]]
}
grants_before=0 revokes_before=0
recorded() {
	local g r
	g=$(records grant) r=$(records revoke)
	[[ $((g - grants_before)) -eq 10 && $((r - revokes_before)) -eq 10 ]] || { note "grants $((g - grants_before)), revocations $((r - revokes_before)) of 10"; return 1; }
}
asks_documents() { # as root
	/usr/bin/python3 - "$SOCKET.documents" <<-'END'
	import os, socket, sys
	s = socket.socket(socket.AF_UNIX)
	s.settimeout(100)
	for end in (".root", ""):
	    if os.path.exists(sys.argv[1] + end):
	        s.connect(sys.argv[1] + end)
	        break
	s.sendall(b'{"verb":"status"}\n')
	sys.exit(b'"by"' not in s.recv(65536))
	END
}
pinged() {
	in_host ping -c 1 -W 1 10.99.9.$((1 + RANDOM % 250)) >/dev/null 2>&1
	grep -q '"event":"new-destination"' "$LAB_TMP/watched"
}
root_watches() {
	local r
	lab_bg watched dpu "$CTL" --json watch --event new-destination --count 1 --timeout 100s
	grep -q 'come from bwlimitd' <(lab_wait_for 60 grep 'come from bwlimitd' "$LAB_TMP/watched.err" && cat "$LAB_TMP/watched.err") || note "$(cat "$LAB_TMP/watched.err")"
	lab_wait_for 60 pinged
	r=$?
	lab_stop "$LAB_PID"
	return $r
}
give_up() { # what hangs now hangs each of the rest, for 100 s at a time
	let_go
	done_testing
	exit 1
}
nothing_waits() { # while whom
	((round++))
	grants_before=$(records grant) revokes_before=$(records revoke)
	check "while $1, ten of ten grants of an operator are done" all_granted
	[[ $TAP_BAD -eq 0 ]] || give_up
	check "and ten of ten revocations" all_revoked
	check "and all of them are in the audit log" recorded
	check "root's requests for signed documents are answered" asks_documents
	check "and orders" eval '"$CTL" tamper "round $round" >/dev/null 2>&1'
	"$CTL" heartbeat --lift >/dev/null 2>&1
	check "root sees events" root_watches
}
history() {
	written=$(until_s)
	check "and the history goes on" lab_wait_for 60 history_goes_on
}
nothing_waits "nobody holds anything"

sockets() { for s in commands events documents; do echo "$SOCKET.$s" "$SOCKET.$s".{root,operate,read,sync}; done; }
mapfile -t SOCKETS < <(sockets | tr ' ' '\n')
for user in 1 2 3 4; do hold 6414$user $READERS half "${SOCKETS[@]}"; done
hold $SYNC $SYNC half "${SOCKETS[@]}"
nothing_waits "readers hold half requests"
check "the page's user, another reader, is answered as well" reader peer list
let_go
for user in 1 2; do hold 6415$user $NOBODY queue "${SOCKETS[@]}"; done
nothing_waits "somebody of no group fills queues"
check "a reader is answered as well" reader peer list
let_go
hold 64151 $NOBODY linger "${SOCKETS[@]}"
nothing_waits "somebody of no group sent what takes a day to close"
check "a reader is answered as well" reader peer list
hold 64141 $READERS linger "${SOCKETS[@]}"
hold $SYNC $SYNC linger "${SOCKETS[@]}"
nothing_waits "a reader and bwlimit-sync sent what takes a day to close"
let_go

# --- locks
find "$STATE" "$BWLIMIT_JOURNAL_DIR" "$BWLIMIT_AUDIT_DIR" "$LAB_PINS" /run/bwlimit >"$LAB_TMP/known"
mapfile -t FOLDERS < <(printf '%s\n' "$STATE" "$BWLIMIT_JOURNAL_DIR" "$BWLIMIT_AUDIT_DIR" "$LAB_PINS" /run/bwlimit)
hold 64141 $READERS lock "${FOLDERS[@]}"
sed "s|$LAB_TMP|…|; s|^|# may open: |" "$LAB_TMP/hold0" | grep -v "$LAB_PINS/read" | head -20
opens() { grep -qE "$1" "$LAB_TMP/hold0"; }
refute "a reader may open nothing of the history" opens 'history\.db'
refute "nor of the ledger, the journal or the audit log" opens "ledger|^$BWLIMIT_JOURNAL_DIR|^$BWLIMIT_AUDIT_DIR"
check "control: he may open, and lock, what is written for readers" opens '/run/bwlimit/.*\.log flock posix'
nothing_waits "a reader locks all that he may open"
history
check "he is told what passed by bwlimitd" reader history d1 --since 1m --json
check "which is what root reads" eval '[[ $(jq -r .peer "$LAB_TMP/out") == d1 ]]'
check "and by check, which looks at the history" eval 'reader --json check; jq -e ".checks[] | select(.id == \"history\" and .result == \"ok\")" "$LAB_TMP/out" >/dev/null'
lab_stop "$AGENT_PID"
agent
check "bwlimitd starts meanwhile" lab_wait_for 60 is_ready
nothing_waits "it has started so"
history
let_go
lab_stop "$AGENT_PID"

# --- a history of 0.3.0, which readers could open, and one has
chmod 640 "$STATE"/history.db*
chgrp $READERS "$STATE"/history.db*
find "$STATE" -maxdepth 1 -name 'history.db*' >"$LAB_TMP/known"
hold 64141 $READERS lock "$STATE"
check "control: a reader has locked a history of 0.3.0" opens 'history\.db flock posix'
written=$(until_s)
agent
check "bwlimitd writes it nevertheless" lab_wait_for 60 history_goes_on
check "and from now on it is root's alone" eval '[[ $(stat -c %a "$STATE"/history.db* | sort -u) == 600 ]]'
let_go
live "those who held sockets and locks are killed, with bwlimitd there"
lab_stop "$AGENT_PID"
done_testing
