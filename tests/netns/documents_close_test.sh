#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Signed documents that close, and the real bwlimitd: one person closes at once, two people open what was closed before they
# signed, and nothing else does: no policy, no older document, no restart, no kill. Also what is stopped or clamped here.
set -uo pipefail
LAB=bwl-docsclose-$$ LAB_DESTS=2
# shellcheck source=../harness/signed_documents.sh
. "$(dirname "${BASH_SOURCE[0]}")/../harness/signed_documents.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
clock_begin
docs_begin || exit 1
docs_enrol
sign policy base alice,bob < <(docs_text 3mbit 5mbit)
cp "$FLEET/base" "$FLEET/three"
taken 'control: a policy' policy base alice,bob < <(docs_text 5mbit 5mbit)
check "control: is open with a signed time" eval 'now_signed && lab_wait_for 30 lab_both'

note "Revocations"
closes_a_peer() {
	local at end
	sign revocation now alice < <(echo '{"peers": ["d1"], "reason": "drill"}') || return 1
	lab_arriving 1
	[[ $LAB_ARRIVED == "4 6" ]] || { note "control: $LAB_ARRIVED"; return 1; }
	at=$(date +%s%N)
	give revocation now || return 1
	end=$(date +%s%N)
	note "$(((end - at) / 1000000)) ms" # bench/fleet judges how soon
	lab_silent 1
}
check "one person closes a peer" closes_a_peer
check "and no other" lab_both 2
check "status says so" status '.closed == ["d1"] and .closed_count == 1'
check "and since when, as the journal has it" eval 'status ".closed_since.closed[0] >= $(($(date +%s) - 600)) and .closed_since.closed[0] <= $(clock_now) and .closed_since.stopped == 0"'
taken "a policy that comes later" policy base alice,bob < <(docs_text 5mbit 5mbit)
check "opens nothing that was closed" lab_silent 1
check "the journal has it" grep -q d1 <<<"$("$CTL" journal show)"
sign grant again alice < <(echo '{"peer": "d1", "limit": {"rate": "5mbit"}, "reason": "ticket", "opens": ["d1"]}')
refused "nor does one person, by name" signed-widens grant again
taken "two people open it by name" grant again alice,bob \
	< <(echo '{"peer": "d1", "limit": {"rate": "5mbit"}, "reason": "ticket", "opens": ["d1"]}')
check "and it is open" lab_wait_for 5 lab_both 1
cp "$FLEET/again" "$FLEET/again.before"
taken "one person closes it again" revocation now bob < <(echo '{"peers": ["d1"], "reason": "drill"}')
check "at once" lab_silent 1
give grant again "$FLEET/again.before"
check "and what opened it, given again, opens nothing" lab_silent 1
taken "an expulsion by one person" expulsion d2 bob < <(echo '{"tray": "d2", "reason": "stolen"}')
check "closes that tray" lab_silent 2
enrols() { jq -n --arg r "$SHA" '{tray: "d2", root: $r}' | sign enrolment d2 "$1" --audience all; }
cp "$FLEET/d2" "$FLEET/d2.expelled"
check "an enrolment of it" enrols alice,bob
cp "$FLEET/d2" "$FLEET/d2.early"
later
check "that was signed before a newer expulsion" sign expulsion d2 bob <<<'{"tray": "d2", "reason": "stolen again"}'
check "which is taken" give expulsion d2
give enrolment d2 "$FLEET/d2.early"
check "opens nothing" lab_silent 2
taken "nor does a policy that two people sign" policy base alice,bob < <(docs_text 5mbit 6mbit)
# A policy is answered when it is in force, and with it all that was to be done for those before it; an enrolment or a time is
# answered at once.
check "at once, or later" lab_silent 2
later
check "one person's enrolment" enrols alice
refused "is none" signed-untrusted enrolment d2
check "two people must enrol it again" enrols alice,bob
check "which is taken" give enrolment d2
check "and it is open" lab_wait_for 10 lab_both 2
give expulsion d2 "$FLEET/d2.expelled"
taken "control: a policy behind it" policy base alice,bob < <(docs_text 5mbit 6mbit)
check "what the store still has of its expulsion closes nothing" lab_both 2
later
taken "and is expelled again" expulsion d2 bob <<<'{"tray": "d2", "reason": "and again"}'
check "control: it is closed" lab_silent 2

note "What is stopped or clamped here"
check "stop is local" in_dpu "$CTL" stop
check "status says so" status '.alarms == ["stopped"]'
check "and since when" status '.closed_since.stopped > 1700000000'
refute "and is not lifted here" in_dpu "$CTL" stop --off
taken "nor by a policy that does not say so" policy base alice,bob < <(docs_text 5mbit 6mbit)
check "it is stopped" eval 'now_signed && status ".alarms == [\"stopped\"]"'
later
sign policy base alice --lifts stop < <(docs_text 5mbit 6mbit)
refused "one person lifts nothing" signed-widens policy base
taken "two people do" policy base alice,bob --lifts stop < <(docs_text 5mbit 6mbit)
check "and it goes on" lab_wait_for 10 status_now '.alarms == []'
check "the journal has it" eval '! "$CTL" --json journal show | jq -e .stopped >/dev/null'
later
sign policy before alice,bob --lifts stop,clamp < <(docs_text 5mbit 6mbit)
later
in_dpu "$CTL" stop >/dev/null
check "one that was signed before the stop is taken" give policy before
check "and lifts it not" eval 'now_signed && status ".alarms == [\"stopped\"]"'
later
taken "control: one that was signed after it" policy base alice,bob --lifts stop,clamp < <(docs_text 5mbit 6mbit)
check "does" lab_wait_for 10 status_now '.alarms == []'
clamping() { docs_text 5mbit 6mbit; echo 'tamper: { command: clamp }'; }
taken "control: a policy by which that clamps" policy base alice,bob < <(clamping)
check "a clamp" in_dpu "$CTL" tamper the case was opened
check "status says so" status '.alarms | index("clamped")'
refute "is not lifted here" in_dpu "$CTL" heartbeat --lift
later
taken "two people lift it" policy base alice,bob --lifts clamp < <(clamping)
check "and grants live again" lab_wait_for 10 status_now '.alarms == []'

note "Restarts"
docs_die
check "control: killed, what is closed stays" lab_silent 1
docs_agent
check "a bwlimitd that comes again knows what it took" status '.policy.name == "base" and .closed_count == 2'
refused "and takes nothing old" signed-old policy base "$FLEET/three"
check "what it is given again is known" give policy base
check "and changes nothing" rate d1 5000000
taken "a new epoch by one person" revocation now alice < <(echo '{"new_epoch": 2, "reason": "a key was stolen"}')
refused "ends all that was signed before" signed-old policy base
check "everything is at its floor" lab_wait_for 5 status_now '.policy == null and (.alarms | index("floor"))'
note "Killed at random while documents come (KILL_SEED=$KILL_SEED)"
# Each is signed by two people and is wider or narrower than the one before; what was acknowledged is in force afterwards.
RANDOM=$KILL_SEED
STEPS=6
! long || STEPS=30
epoch_2() { sign "$@" --epoch 2; }
signed_steps=0
sign_steps() { # up to this one
	local i
	for ((i = signed_steps + 1; i <= $1; i++)); do
		epoch_2 policy "step" alice,bob < <(docs_text "$((100 + (i * 37) % 50 * 100))kbit" 5mbit)
		mv "$FLEET/step" "$FLEET/step-$i"
		STEP_RATE[i]=$(((100 + (i * 37) % 50 * 100) * 1000)) STEP_VERSION[i]=$NUMBER
	done
	signed_steps=$1
}
sign_steps "$STEPS"
acked() { grep -c '"by"' "$LAB_TMP/giving"; }
in_force() { # at least the Nth step, and the rate is that of the version that status tells
	local at
	at=$("$here/give_document.py" "$SOCKET" | jq .status.policy.version) || return 1
	for ((i = STEPS; i > 0 && STEP_VERSION[i] != at; i--)); do :; done
	[[ $i -ge $1 && $i -gt 0 ]] && rate d1 "${STEP_RATE[i]}"
}
survives() {
	local n=0 outstanding=0 done_=0 args=() after giver
	while [[ ($done_ -lt $STEPS || $outstanding -lt 3) && $n -lt 60 ]]; do
		[[ $done_ -lt $STEPS ]] || sign_steps $((STEPS += 3))
		args=()
		for ((i = done_ + 1; i <= STEPS; i++)); do args+=(policy/step "$FLEET/step-$i"); done
		: >"$LAB_TMP/giving"
		PYTHONUNBUFFERED=1 "$here/give_document.py" "$SOCKET" "${args[@]}" >"$LAB_TMP/giving" 2>/dev/null &
		giver=$! after=$((1 + RANDOM % 2))
		# Then, at any moment of what is done for the next one.
		while [[ $(acked) -lt $after ]] && kill -0 $giver 2>/dev/null; do sleep 0.005; done
		sleep "0.0$((RANDOM % 10))"
		docs_die
		wait $giver 2>/dev/null
		n=$((n + 1)) done_=$((done_ + $(acked)))
		[[ $done_ -ge $STEPS ]] || outstanding=$((outstanding + 1))
		docs_agent || return 1
		[[ $done_ -eq 0 ]] || lab_wait_for 10 in_force "$done_" ||
			{ note "after kill $n: $done_ were acknowledged, in force is $("$here/give_document.py" "$SOCKET" | jq -c .status.policy)"; return 1; }
	done
	note "$n kills, $outstanding of them with documents outstanding; $done_ of $STEPS acknowledged"
	[[ $done_ -eq $STEPS && $outstanding -ge 3 ]]
}
check "whatever was acknowledged is in force after kill -9, and no older one is" survives
give policy step "$FLEET/step-1"
check "an old one is old after all of it" says signed-old
later
sign policy step alice,bob --epoch 2 --opens d1 < <(docs_text 5mbit 5mbit)
check "two people open a peer again" eval 'give policy step && state d1 live'
sign timestamp time controller --epoch 2 <<<'{}'
check "with a new time" eval 'give timestamp time && lab_wait_for 10 lab_both 1'
live "bwlimitd was killed and started again, and people have opened the peer"
note "Expelled by any spelling of its identity"
far() { # name, number, identity
	printf '  - { name: %s, addresses: [10.20.%d.0/24], ipsec: { remote: 203.0.113.%d, id: "%s" }, grant: { rate: 1mbit } }\n' "$1" "$2" "$2" "$3"
}
spelt() {
	docs_text 5mbit 5mbit
	far f1 1 fqdn:tray-3 && far f2 2 @tray-3 && far f3 3 TRAY-3 && far f4 4 dns:tray-3 && far f5 5 tray-4
}
closed_are() {
	local peer out=''
	for peer in f1 f2 f3 f4 f5 ${2-}; do
		state "$peer" revoked && out+="$peer " && continue
		[[ $("$CTL" --json peer show "$peer" | jq -r .state) == [a-z]* ]] || { note "no $peer"; return 1; }
	done
	[[ $out == "$1" ]] || { note "closed are $out"; false; }
}
taken_now() { # sentence KIND NAME WHO, the content on standard input
	if epoch_2 "${@:2}" && give "$2" "$3"; then ok "$1"; else nok "$1"; note "$(cat "$LAB_TMP/said" "$FLEET/said")"; fi
}
later
taken_now "control: four peers are one tray, and one is another" policy step alice,bob < <(spelt)
check "control: all of them are open" closed_are ''
taken_now "an expulsion of that tray" expulsion tray-3 bob <<<'{"tray": "tray-3", "reason": "stolen"}'
check "closes each of the four, and not the other" closed_are 'f1 f2 f3 f4 '
later
taken_now "a later policy with a fifth spelling" policy step alice,bob < <(spelt && far f6 6 @Tray-3)
check "opens nothing of it" lab_wait_for 10 closed_are 'f1 f2 f3 f4 f6 ' f6
later
taken_now "two people enrol it again" enrolment tray-3 alice,bob --audience all < <(jq -n --arg r "$SHA" '{tray: "tray-3", root: $r}')
check "and it is open in each spelling" lab_wait_for 10 closed_are '' f6
checks() { # identity
	{ spelt && far f6 6 "$1"; } >"$LAB_TMP/key.yaml"
	in_dpu "$CTL" policy check "$LAB_TMP/key.yaml" >"$LAB_TMP/out" 2>&1
}
check "control: policy check accepts one" checks CN=tray-3
refute "an identity that cannot be compared with a tray's name is refused" checks keyid:tray-3
check "with the place and the reason" grep -q "peer f6: ipsec id 'keyid:tray-3' is not an identity: a key id" "$LAB_TMP/out"
note "Expelled while nobody can tell who the peers are"
docs_die
rm -f "$BWLIMIT_STATE_DIR"/documents/* "$BWLIMIT_STATE_DIR/accepted.yaml"
docs_agent
check "control: all of them are open in the maps" closed_are '' f6
later
taken_now "an expulsion is taken" expulsion tray-9 bob <<<'{"tray": "tray-9", "reason": "stolen"}'
check "and closes all peers, as any of them may be that tray" closed_are 'f1 f2 f3 f4 f5 f6 ' f6
done_testing
