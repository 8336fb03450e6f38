#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Break glass: what two people signed for an emergency is in force from a file, with bwlimitd dead and after the
# heartbeat has ended; the data plane ends it; it cannot be confirmed, used twice, or used by one person alone.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB=bwl-glass-$$ LAB_DESTS=2
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/../harness/lab.sh"
# shellcheck source=../harness/boot.sh
. "$here/../harness/boot.sh"
# shellcheck source=../harness/documents.sh
. "$here/../harness/documents.sh"
lab_up || exit 1
# shellcheck source=../harness/people.sh
. "$here/../harness/people.sh"

clock_begin
STATE=$LAB_TMP/state FILE=$LAB_TMP/desired.yaml
mkdir "$STATE"
export BWLIMIT_STATE_DIR=$STATE BWLIMIT_POLICY=$FILE BWLIMIT_JOURNAL_DIR=$STATE/journal
export BWLIMIT_AUDIT_DIR=$LAB_TMP/audit
"$CTL" audit init --origin test/glass >/dev/null 2>&1
"$CTL" journal init >/dev/null 2>&1
AGENT_PID=
ATTACH=("$LOAD" attach --drill --max-peers 4096)
policy() { # rate of d1 [heartbeat] [another line]
	lab_policy_head "${2:-1h}" <<-END
	${3-}
	peers:
	$(lab_peer d1 1 "grant: { rate: $1, burst: 1mb }")
	$(lab_peer d2 2 "grant: { rate: 1mbit }")
	END
}
agent() {
	lab_bg agent dpu "$AGENT" --policy "$FILE" --state-dir "$STATE" --tpm none --history-size 0b --totals none --json
	AGENT_PID=$LAB_PID
	lab_wait_for 30 grep -q '"event":"start"' "$LAB_TMP/agent"
}
no_agent() { [[ -z $AGENT_PID ]] || { kill -KILL "$AGENT_PID"; wait "$AGENT_PID"; AGENT_PID=; } 2>/dev/null; }
rate_is() { [[ $("$CTL" --json peer show "$1" | jq '.grant.rate_bits_per_second / 1000 | round') == "$2" ]]; }
said() { grep -q "\"event\":\"$1\".*$2" "$LAB_TMP/agent"; }
fails() { # id, command…
	[[ $("${@:2}" 2>/dev/null | jq -r .error.id) == "$1" ]] || { note "$("${@:2}" 2>&1)"; false; }
}
break_glass() { in_dpu "$CTL" --json break-glass "$@"; }
sign() { # file out who number options…
	people_sign "$1" "$LAB_TMP/$2" "$3" --name emergency --number "$4" --for "${LIFE:-1d}" --audience "${WHO:-tray:tray-7}" \
		--reason 'line 2 is down' "${@:5}"
}

policy 5mbit >"$FILE"
in_dpu "${ATTACH[@]}" --fresh-volume >/dev/null 2>&1
in_dpu "$AGENT" --policy "$FILE" --state-dir "$STATE" --tpm none --once >/dev/null 2>&1
ctl heartbeat
policy 50mbit >"$LAB_TMP/wide.yaml"
people_root && people_enrolment || exit 1
sign "$LAB_TMP/wide.yaml" two alice,bob 3 --break-glass
check "where nothing is enrolled there is no glass" sh -c "! '$CTL' break-glass '$LAB_TMP/two' 2>/dev/null"
people_enrol "$STATE" || exit 1

# --- not one person alone, nothing else
sign "$LAB_TMP/wide.yaml" one alice 3 --break-glass
check "one person breaks no glass" fails signed-untrusted break_glass "$LAB_TMP/one"
sign "$LAB_TMP/wide.yaml" other alice,bob 3
check "nor does a policy that does not say so" grep -q 'has no .break_glass' <<<"$(break_glass "$LAB_TMP/other")"
WHO=tray:tray-8 sign "$LAB_TMP/wide.yaml" elsewhere alice,bob 3 --break-glass
check "nor that of another tray" fails signed-audience break_glass "$LAB_TMP/elsewhere"
LIFE=1s sign "$LAB_TMP/wide.yaml" short alice,bob 3 --break-glass
later 2
check "nor one that has ended" fails signed-expired break_glass "$LAB_TMP/short"
sed 's/./&/; s/"payload": *"\(.\)/"payload":"X/' "$LAB_TMP/two" >"$LAB_TMP/forged"
check "nor one whose bytes were changed" fails signed-untrusted break_glass "$LAB_TMP/forged"
check "none of these used anything up" test ! -e "$STATE/broken-glass.json"
check "and none changed anything" rate_is d1 5000

# --- with bwlimitd dead, and a peer that was revoked
ctl revoke d2
check "control: what is revoked is closed" lab_wait_for 30 is_closed 2
later # signed in the second of the revocation it would open nothing
sign "$LAB_TMP/wide.yaml" opens alice,bob 4 --break-glass --opens d2
break_glass "$LAB_TMP/opens" >"$LAB_TMP/said" 2>"$LAB_TMP/stderr" || note "$(cat "$LAB_TMP/said")"
can_judge && check "its JSON is what docs/schema says" judge break-glass <"$LAB_TMP/said"
check "two people break it" jq -e '.kind == "break-glass" and .people_count == 2 and .document_version == 4' "$LAB_TMP/said"
check "for four hours at most" jq -e '.ends_in_s > 14000 and .ends_in_s <= 14400' "$LAB_TMP/said"
check "it is in force" rate_is d1 50000
check "and packets pass" lab_wait_for 30 is_open 1
check "the peer that it names is open" lab_wait_for 30 is_open 2
check "the journal has it closed all the same" journal '.peer_names == ["d2"]'
check "the audit log has who, what, how long and why" grep -q 'break-glass.*policy emergency, version 4.*signed by 2 people, for 4 h.*line 2 is down' <<<"$("$CTL" audit show)"
check "nobody confirms it" fails enrolled-widens in_dpu "$CTL" --json policy confirm
check "nobody breaks it twice at once" grep -q 'on trial, or glass is already broken' <<<"$(sign "$LAB_TMP/wide.yaml" more alice,bob 5 --break-glass; break_glass "$LAB_TMP/more")"
check "a revocation ends what it opened" ctl revoke d2
check "at once" lab_wait_for 30 is_closed 2
agent
check "bwlimitd raises an alarm" lab_wait_for 30 said break-glass 'break-glass: an emergency policy is in force for another'
check "policy rollback ends it" ctl policy rollback
check "the policy before holds" rate_is d1 5000
check "and bwlimitd says so" lab_wait_for 30 said break-glass 'has ended'
check "the same document does it no more" fails signed-old break_glass "$LAB_TMP/opens"
check "nor an older one" fails signed-old break_glass "$LAB_TMP/two"
check "what was revoked is closed again" lab_wait_for 30 is_closed 2
no_agent

# --- the data plane ends it, with every daemon dead
LIFE=15s sign "$LAB_TMP/wide.yaml" brief alice,bob 6 --break-glass --opens d2
check "one that is short" eval 'break_glass "$LAB_TMP/brief" >/dev/null'
check "is in force" rate_is d1 50000
check "with what it opens" lab_wait_for 5 is_open 2
check "and ends by itself" lab_wait_for 60 rate_is d1 5000
check "what it opened is closed then" lab_wait_for 30 is_closed 2

# --- a grant, after the heartbeat has ended: there is no beat
policy 5mbit 2s 'lease: 1h' >"$FILE"
ctl policy apply "$FILE" --yes --trust-clock
check "without a heartbeat nothing passes" lab_wait_for 30 is_closed 1
echo '{"peer": "d1", "limit": {"rate": "20mbit"}}' >"$LAB_TMP/grant.json"
people_sign "$LAB_TMP/grant.json" "$LAB_TMP/grant" alice,bob --type grant --name g1 --number 1 --for 1h --reason 'line 2' --break-glass
check "a grant breaks it, too" eval 'break_glass "$LAB_TMP/grant" >/dev/null'
check "it is in force" rate_is d1 20000
check "although no heartbeat and no lease lives" lab_wait_for 30 is_open 1
agent
lab_wait_for 30 said heartbeat 'no lease' || lab_wait_for 30 said break-glass 'an emergency policy is in force'
sleep 4 # two heartbeats of before: whatever ended with one would have ended
check "with bwlimitd, too, which has no lease to beat by" is_open 1
ctl policy rollback
check "afterwards nothing passes again" lab_wait_for 30 is_closed 1

# --- killed at any point: what is in force is used up
ctl policy apply "$FILE" --yes --trust-clock
no_agent
# shellcheck disable=SC2034 # of kill_at
KILL_IN=(nsenter --net="/run/netns/$LAB-dpu")
n=20 kills=0 wrong=0
for at in rename:1 fsync:1 fsync:2 bpf:9 bpf:23 bpf:41 bpf:57 bpf:83 bpf:120; do
	sign "$LAB_TMP/wide.yaml" killed alice,bob $((++n)) --break-glass >/dev/null
	kill_at "${at%:*}" "${at#*:}" "$CTL" break-glass "$LAB_TMP/killed" && kills=$((kills + 1))
	used=$(grep -c "\"version\":$n," "$STATE/broken-glass.json")
	rate_is d1 50000 && [[ $used -eq 0 ]] && wrong=$((wrong + 1))
	ctl policy rollback
	[[ $used -eq 0 ]] || fails signed-old break_glass "$LAB_TMP/killed" || wrong=$((wrong + 1))
	rate_is d1 5000 || wrong=$((wrong + 1))
done
note "$kills kills"
check "killed anywhere, nothing is in force that is not used up, and the policy before is not lost" \
	test "$kills" -ge 3 -a "$wrong" -eq 0

# --- an old emergency document opens nothing that people closed later
sign "$LAB_TMP/wide.yaml" drawer alice,bob 40 --break-glass --opens d2
agent
echo '{"peers": ["d2"], "reason": "its key was stolen"}' >"$LAB_TMP/closed.json"
people_sign "$LAB_TMP/closed.json" "$FLEET/closed" alice --type revocation --name closed --number 1 --for 1d
check "bwlimitd takes a revocation" lab_wait_for 30 "$LAB_HERE/give_document.py" "/run/bwlimit/${LAB_PINS##*/}.documents" \
	revocation/closed "$FLEET/closed"
no_agent
check "what was signed before it does not open it" fails signed-old break_glass "$LAB_TMP/drawer"
check "and is not used up" eval '! grep -q "\"version\":40," "$STATE/broken-glass.json"'
later
sign "$LAB_TMP/wide.yaml" anew alice,bob 41 --break-glass --opens d2
check "control: what is signed anew does" eval 'break_glass "$LAB_TMP/anew" >/dev/null'
ctl policy rollback

# --- the document that broke the glass can be revoked like any other
agent
revoked_as() { # name, the rest of the revocation
	echo "{$2, \"reason\": \"its key was stolen\"}" >"$LAB_TMP/$1.json"
	people_sign "$LAB_TMP/$1.json" "$FLEET/$1" alice --type revocation --name "$1" --number 1 --for 1d &&
		"$LAB_HERE/give_document.py" "/run/bwlimit/${LAB_PINS##*/}.documents" "revocation/$1" "$FLEET/$1"
}
digest() { jq -r .payload "$1" | base64 -d | sha256sum | cut -c1-64; }
sign "$LAB_TMP/wide.yaml" other alice,bob 50 --break-glass
sign "$LAB_TMP/wide.yaml" digest alice,bob 51 --break-glass
check "control: it is in force" eval 'break_glass "$LAB_TMP/digest" >/dev/null && rate_is d1 50000'
check "a revocation of another document" revoked_as else "\"documents\": [\"$(digest "$LAB_TMP/other")\"]"
check "leaves it in force" rate_is d1 50000 # bwlimitd has answered: what was to be done for it is done
check "one of its digest" revoked_as it "\"documents\": [\"$(digest "$LAB_TMP/digest")\"]"
check "ends it" lab_wait_for 5 rate_is d1 5000
check "and an alarm says so" lab_wait_for 5 said break-glass 'was revoked'
sign "$LAB_TMP/wide.yaml" epoch alice,bob 52 --break-glass
check "control: another is in force" eval 'break_glass "$LAB_TMP/epoch" >/dev/null && rate_is d1 50000'
no_agent
agent
check "control: bwlimitd that comes again sees it" lab_wait_for 30 said break-glass 'an emergency policy is in force'
check "and leaves it" rate_is d1 50000
check "a new epoch" revoked_as epochs '"new_epoch": 2'
check "ends it, too" lab_wait_for 5 rate_is d1 5000
no_agent

# --- as many as can be remembered
full() { # epoch: 256 that have not ended
	python3 - "$1" >"$STATE/broken-glass.json" <<-'END'
	import hashlib, json, sys
	used = [{"type": "policy", "name": f"n{i}", "epoch": int(sys.argv[1]), "version": 1, "not_after": 4000000000} for i in range(256)]
	text = json.dumps({"count": 300, "used": used})
	print(f"# bwlimit glass 1 {hashlib.sha256(text.encode()).hexdigest()}\n{text}", end="")
	END
}
full 2
sign "$LAB_TMP/wide.yaml" many alice,bob 60 --break-glass --epoch 2
check "when 256 have not ended no more are broken" grep -q 'none has ended' <<<"$(break_glass "$LAB_TMP/many")"
full 1
check "those of an epoch that is over are forgotten" eval 'break_glass "$LAB_TMP/many" >/dev/null && rate_is d1 50000'
ctl policy rollback

# --- the memory of it cannot be bypassed
echo '#' >>"$STATE/broken-glass.json"
sign "$LAB_TMP/wide.yaml" late alice,bob 9 --break-glass --epoch 2
check "where that is damaged none is broken" grep -q 'cannot tell which documents broke glass' <<<"$(break_glass "$LAB_TMP/late")"
done_testing
