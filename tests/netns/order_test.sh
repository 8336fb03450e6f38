#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# bwlimit-ctl and bwlimitd in different network namespaces: an order does what the policy says and is answered;
# clients that send nothing or half a request, or hang up at once, keep no order out.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-order-$$ LAB_DESTS=2
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
lab_up || exit 1
export BWLIMIT_AUDIT_DIR=$LAB_TMP/audit
"$CTL" audit init --origin test/order >/dev/null 2>&1

desired() { # tamper
	lab_policy_head 1h <<-END
	lease: 1h
	tamper: { command: $1 }
	peers:
	$(lab_peer d1 1 "grant: { rate: 5mbit }")
	$(lab_peer d2 2 "grant: { rate: 5mbit }")
	END
}
agent() {
	lab_agent --policy "$LAB_TMP/desired.yaml" --state-dir "$LAB_TMP/state"
}
applied() { grep -c 'put in force' "$LAB_TMP/agent"; }
put() {
	local before
	before=$(applied)
	desired "$1" >"$LAB_TMP/desired.yaml.new" && mv "$LAB_TMP/desired.yaml.new" "$LAB_TMP/desired.yaml"
	is_in_force() { [[ $(applied) -gt $1 ]]; }
	lab_wait_for 30 is_in_force "$before"
}
state() { [[ $("$CTL" --json peer show "$1" | jq -r .state) == "$2" ]]; }
# From a namespace other than the agent's: that of the host's cables, only because it is another one.
away() { in_ns net "$CTL" "$@" >"$LAB_TMP/out" 2>"$LAB_TMP/err" || { note "$(cat "$LAB_TMP/out" "$LAB_TMP/err")"; false; }; }
says() { jq -e "$1" "$LAB_TMP/out" >/dev/null || { note "$(cat "$LAB_TMP/out" "$LAB_TMP/err")"; false; }; }
quiet() { ! grep -q 'acting without it' "$LAB_TMP/err"; }
# bwlimit-ctl waits a second for bwlimitd, on a busy machine in vain, and then acts alone: by alone.yaml, which only logs.
by_it() { away tamper --policy "$LAB_TMP/alone.yaml" "$@" && grep -q bwlimitd "$LAB_TMP/out"; }
tampers() { lab_wait_for 30 by_it "$@" || { note "$(cat "$LAB_TMP/out" "$LAB_TMP/err")"; false; }; }

desired log >"$LAB_TMP/desired.yaml"
cp "$LAB_TMP/desired.yaml" "$LAB_TMP/alone.yaml"
lab_attach || exit 1
agent
check "a lease is renewed from another network namespace" lab_wait_for 30 away --json lease renew
check "and bwlimitd says until when" says '.by == "bwlimitd" and .ends_in_s > 3000'
lab_wait_for 30 state d1 live
check "tamper is answered there" tampers --json the lid was opened
check "with what was done, by whom, to which peers" says '. == {"version": 1, "kind": "tamper", "action": "log", "by": "bwlimitd", "all": false, "peer_names": []}'
check "and without a word of acting alone" quiet
check "log closed nothing" state d1 live
check "log closed nothing of the other either" state d2 live
put revoke-peer
check "tamper --peer is answered" tampers --json --peer d1 its disk was pulled
check "with that peer" says '. == {"version": 1, "kind": "tamper", "action": "revoke-peer", "by": "bwlimitd", "all": false, "peer_names": ["d1"]}'
check "which is closed" state d1 revoked
check "and no other" state d2 live
check "for people too" tampers --peer d1 again
check "in one line" grep -qx 'bwlimitd: revoke-peer: d1' "$LAB_TMP/out"

# --- clients that do not behave
cat >"$LAB_TMP/clients.py" <<'END'
import socket, sys, time
path, out = sys.argv[1:]
def dial():
	s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
	s.connect(path)
	return s
keep = []
for i in range(100):
	s = dial()
	if i % 3 == 0:
		keep.append(s)				# says nothing
	elif i % 3 == 1:
		s.send(b'{"verb":"tamper","why":"half')	# says half
		keep.append(s)
	else:
		s.send(b'{"verb":"lease","for_ns":1000000000}\n')
		s.close()				# goes before the answer
s = dial()
s.send(b'{"verb":"fly"}\n')
print(s.recv(4096).decode(), file=open(out, "w"), flush=True)
for s in keep:
	s.settimeout(20)
	try:
		while s.recv(4096): pass
	except ConnectionError:
		pass
print("dropped", file=open(out, "a"), flush=True)
END
sock=$(find /run/bwlimit -name "$LAB.sock" -type s)
check "the socket is for its owner only" test "$(stat -c %a "$sock")" = 600
crowded() { # while a new crowd waits, each time
	rm -f "$LAB_TMP/fly"
	[[ -z ${clients-} ]] || wait "$clients" 2>/dev/null
	lab_bg clients net python3 "$LAB_TMP/clients.py" "$sock" "$LAB_TMP/fly"
	clients=$LAB_PID
	lab_wait_for 30 grep -q '"error"' "$LAB_TMP/fly" && by_it --json --peer d2 with a crowd
}
check "with a hundred of them the operator's order is taken" lab_wait_for 60 crowded
check "an order that there is not is answered with an error" grep -q '"error"' "$LAB_TMP/fly"
check "by bwlimitd" says '.by == "bwlimitd" and .peer_names == ["d2"]'
check "and done" state d2 revoked
check "those that say nothing or half are dropped" lab_wait_for 30 grep -q dropped "$LAB_TMP/fly"
wait "$clients" 2>/dev/null
check "and bwlimitd goes on" lab_wait_for 30 away --json lease renew
check "as nothing half said was an order" sh -c "! grep -q 'command: half' '$LAB_TMP/agent'"
in_dpu "$CTL" grant d1 reason again >/dev/null 2>&1
live "the crowds at the socket have gone, and the peer that an order closed is granted"
lab_stop "$AGENT_PID"
check "its socket goes with it" test ! -e "$sock"
done_testing
