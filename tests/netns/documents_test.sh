#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Signed documents and the real bwlimitd: what people signed comes into force, what closes at once, and
# nothing that is older, or that too few have signed; without a signed time everything falls to its floor, whoever is dead.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-documents-$$ LAB_DESTS=2
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
lab_up || exit 1
# shellcheck source=../harness/people.sh
. "$here/people.sh"
export BWLIMIT_AUDIT_DIR=$LAB_TMP/audit BWLIMIT_JOURNAL_DIR=$LAB_TMP/journal BWLIMIT_STATE_DIR=$LAB_TMP/state
"$CTL" audit init --origin test/documents >/dev/null 2>&1
SOCKET=/run/bwlimit/${LAB_PINS##*/}.documents

text() { # rate of d1, rate of d2 [heartbeat]
	lab_policy_head "${3:-1h}" <<-END
	peers:
	$(lab_peer d1 1 "grant: { rate: $1 }")
	$(lab_peer d2 2 "grant: { rate: $2 }")
	END
}
NUMBER=0
sign() { # KIND NAME WHO OPTIONS…, the content on standard input: $FLEET/NAME
	NUMBER=$((NUMBER + 1))
	cat >"$FLEET/$2.content"
	people_sign "$FLEET/$2.content" "$FLEET/$2" "$3" --type "$1" --name "$2" --number "$NUMBER" --for "${LIFE:-1h}" "${@:4}"
}
give() { # KIND NAME [file]
	"$here/give_document.py" "$SOCKET" "$1/$2" "${3:-$FLEET/$2}" >"$LAB_TMP/said" 2>&1
}
status() { "$here/give_document.py" "$SOCKET" | jq -e ".status | $1" >/dev/null; }
taken() { # sentence KIND NAME WHO OPTIONS…, the content on standard input
	if sign "${@:2}" && give "$2" "$3"; then ok "$1"; else nok "$1"; note "$(cat "$LAB_TMP/said" "$FLEET/said")"; fi
}
says() { grep -q -- "$1" "$LAB_TMP/said" || { note "$(cat "$LAB_TMP/said")"; false; }; }
refused() { # sentence id KIND NAME [file]
	give "${@:3}"
	check "$1" says "\"id\": \"$2\""
}
now_signed() { sign timestamp time controller "$@" <<<'{}' && give timestamp time; }
agent() {
	lab_bg agent dpu "$AGENT" --policy "$LAB_TMP/desired.yaml" --state-dir "$BWLIMIT_STATE_DIR" --json
	AGENT_PID=$LAB_PID
	lab_wait_for 30 test -S "$SOCKET"
	lab_wait_for 30 grep -q '"event":"start"' "$LAB_TMP/agent"
}
die() {
	kill -KILL "$AGENT_PID"
	wait "$AGENT_PID" 2>/dev/null
	rm -f "$SOCKET"
}
rate() { [[ $("$CTL" --json peer show "$1" | jq .grant.rate_bits_per_second) == "$2" ]]; }
state() { [[ $("$CTL" --json peer show "$1" | jq -r .state) == "$2" ]]; }

text 5mbit 5mbit >"$LAB_TMP/desired.yaml"
"$CTL" journal init >/dev/null 2>&1
lab_attach || exit 1
agent
lab_wait_for 30 state d1 live
note "Enrolment"
people_root && people_enrolment || exit 1
SHA=$("$CTL" --json policy verify "$FLEET/root" | jq -r .digest)
check "before enrolment the file holds" lab_both
sign policy base alice,bob < <(text 4mbit 5mbit)
give policy base
check "and no document is taken" says 'no root is enrolled'
check "a root that is not the one that people wrote down is refused" \
	eval '! "$CTL" enrol "$FLEET/root" "$FLEET/enrolment" --sha256 "${SHA//[0-9]/0}" 2>"$LAB_TMP/said"'
check "with its digest" says "$SHA"
check "this tray is enrolled by its bwlimitd" eval '"$CTL" --json enrol "$FLEET/root" "$FLEET/enrolment" --sha256 "$SHA" | jq -e ".by == \"bwlimitd\" and .tray == \"tray-7\"" >/dev/null'
refute "and once" eval '"$CTL" enrol "$FLEET/root" "$FLEET/enrolment" --sha256 "$SHA" 2>/dev/null'

note "Policies"
check "a policy that two people signed is taken" give policy base
check "and is in force" rate d1 4000000
check "status says so" status '.policy.name == "base" and .taken["policy/base"].sha256 == .policy.sha256 and (.fresh | not)'
check "without a signed time nothing is above the floor" lab_silent
check "a signed time is taken" now_signed
check "and opens what was signed" lab_wait_for 10 lab_both
check "status says so" status '.fresh and .alarms == [] and .health.lease_s > 800'
sign policy base alice < <(text 5mbit 5mbit)
refused "one person widens nothing" signed-widens policy base
check "with what it would widen" says 'peer d1, grant'
LIFE=50m taken "one person tightens" policy base alice < <(text 3mbit 5mbit)
check "at once" rate d1 3000000
sign policy old alice,bob < <(text 4mbit 5mbit)
cp "$FLEET/base" "$FLEET/three"
taken "two people widen" policy base alice,bob < <(text 5mbit 5mbit)
check "at once" rate d1 5000000
refused "an old one is not taken again" signed-old policy base "$FLEET/three"
refused "nor one that was kept back until another was signed" signed-old policy old
sign policy base alice,bob --audience tray:tray-8 < <(text 5mbit 5mbit)
refused "nor one for another tray" signed-audience policy base
sign policy base controller < <(text 5mbit 5mbit)
refused "nor one of the controller's" signed-untrusted policy base
check "control: none of it has changed anything" rate d1 5000000
note "Grants"
sign grant more alice < <(echo '{"peer": "d1", "limit": {"rate": "9mbit"}, "reason": "ticket"}')
refused "a grant of more is not one person's" signed-widens grant more
taken "it is two people's" grant more alice,bob < <(echo '{"peer": "d1", "limit": {"rate": "9mbit"}, "reason": "ticket"}')
check "and is in force" rate d1 9000000
LIFE=50m taken "a grant of less is one person's" grant more bob < <(echo '{"peer": "d1", "limit": {"rate": "1mbit"}, "reason": "ticket"}')
check "and is in force" rate d1 1000000

note "Revocations"
closes_within_a_second() {
	local at end
	sign revocation now alice < <(echo '{"peers": ["d1"], "reason": "drill"}') || return 1
	lab_arriving 1
	[[ $LAB_ARRIVED == "4 6" ]] || { note "control: $LAB_ARRIVED"; return 1; }
	at=$(date +%s%N)
	give revocation now || return 1
	end=$(date +%s%N)
	note "$(((end - at) / 1000000)) ms"
	[[ $((end - at)) -lt 1000000000 ]] && lab_silent 1
}
check "one person closes a peer within a second" closes_within_a_second
check "and no other" lab_both 2
check "status says so" status '.closed == ["d1"] and .closed_count == 1'
taken "a policy that comes later" policy base alice,bob < <(text 5mbit 5mbit)
check "opens nothing that was closed" lab_silent 1
check "the journal has it" grep -q d1 <<<"$("$CTL" journal show)"
taken "an expulsion by one person" expulsion d2 bob < <(echo '{"tray": "d2", "reason": "stolen"}')
check "closes that tray" lab_silent 2

note "Restarts"
die
check "control: killed, what is closed stays" lab_silent 1
agent
check "a bwlimitd that comes again knows what it took" status '.policy.name == "base" and .closed_count == 2'
refused "and takes nothing old" signed-old policy base "$FLEET/three"
check "what it is given again is known" give policy base
check "and changes nothing" rate d1 5000000
taken "a new epoch by one person" revocation now alice < <(echo '{"new_epoch": 2, "reason": "a key was stolen"}')
refused "ends all that was signed before" signed-old policy base
check "everything is at its floor" lab_wait_for 5 status '.policy == null and (.alarms | index("floor"))'
done_testing
