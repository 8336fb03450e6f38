#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Break glass: what two people signed for an emergency is in force from a file, with bwlimitd dead and after the
# heartbeat has ended; the data plane ends it; it cannot be confirmed, used twice, or used by one person alone.
# glass_used_test.sh: what is remembered of it.
set -uo pipefail
LAB=bwl-glass-$$ LAB_DESTS=2
# shellcheck source=../harness/glass_lab.sh
. "$(dirname "${BASH_SOURCE[0]}")/../harness/glass_lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"

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
cp "$LAB_TMP/two" "$LAB_TMP/forged"
flip_byte "$LAB_TMP/forged" $(($(stat -c %s "$LAB_TMP/forged") - 20))
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
live "with bwlimitd dead the glass is broken"
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
number=6
over() { [[ $(in_dpu "$CTL" --json policy show | jq '.returns_in_s < 0') == true ]]; }
brief() { # life: of one that ends before it was seen on a busy machine the next is longer
	seen=
	LIFE=$1 sign "$LAB_TMP/wide.yaml" brief alice,bob $((number++)) --break-glass --opens d2
	break_glass "$LAB_TMP/brief" >/dev/null || return
	seen=broken
	until over; do
		rate_is d1 50000 && seen+=' in force'
		is_open 2 && seen+=' open' && return
	done
	ctl policy rollback
	false
}
brief 15s || brief 1m || brief 4m
check "one that is short" test "${seen:0:6}" == broken
check "is in force" eval '[[ $seen == *" in force"* ]]'
check "with what it opens" eval '[[ $seen == *" open" ]]'
check "and ends by itself" lab_wait_for 300 over
check "with everything, and what it opened" eval 'is_closed 1 && is_closed 2'
agent
check "bwlimitd brings the policy before" lab_wait_for 60 rate_is d1 5000
check "and says so" lab_wait_for 30 said policy 'not confirmed in time: the policy before is in force again'
check "what the glass opened stays closed" is_closed 2
check "what was open before is open" lab_wait_for 30 is_open 1
live "the glass has ended, and bwlimitd is started again"
no_agent

# --- a grant, after the heartbeat has ended: there is no beat
policy 5mbit 2s 'lease: 1h' >"$FILE"
ctl policy apply "$FILE" --yes --trust-clock
check "without a heartbeat nothing passes" lab_wait_for 30 is_closed 1
volume() { "$CTL" --json peer show d1 | jq .grant.volume_bytes; }
ctl grant d1 volume 1gb reason less
check "control: somebody lowered it" test "$(volume)" == 1073741824
echo '{"peer": "d1", "limit": {"rate": "20mbit"}}' >"$LAB_TMP/grant.json"
people_sign "$LAB_TMP/grant.json" "$LAB_TMP/grant" alice,bob --type grant --name g1 --number 1 --for 1h --reason 'line 2' --break-glass
check "a grant breaks it, too" eval 'break_glass "$LAB_TMP/grant" >/dev/null'
check "it is in force" rate_is d1 20000
check "what it does not name is the policy's" test "$(volume)" == null
check "although no heartbeat and no lease lives" lab_wait_for 30 is_open 1
agent
lab_wait_for 30 said heartbeat 'no lease' || lab_wait_for 30 said break-glass 'an emergency policy is in force'
# Two heartbeats of before: whatever ended with one would have ended. Nothing may happen, so there is no event to wait for;
# a longer wait only makes it stricter.
sleep 4
check "with bwlimitd, too, which has no lease to beat by" is_open 1
ctl policy rollback
check "afterwards nothing passes again" lab_wait_for 30 is_closed 1

# --- a clamp stays, whatever the emergency policy says
clamps() { [[ $(in_dpu "$CTL" --json tamper the case was opened | jq -r .action) == clamp ]]; }
policy 5mbit 2s $'lease: 1h\ntamper: { command: clamp }' >"$FILE"
check "a sign of tampering clamps" lab_wait_for 30 clamps
policy 60mbit none >"$LAB_TMP/none.yaml"
sign "$LAB_TMP/none.yaml" none alice,bob $((number++)) --break-glass
check "glass with \`heartbeat: none\` breaks" eval 'break_glass "$LAB_TMP/none" >/dev/null'
check "it is in force" rate_is d1 60000
check "and everything stays at its floor" is_closed 1
done_testing
