#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Signed documents and the real bwlimitd: what people signed comes into force, and nothing older or signed by too few;
# without a signed time everything falls to its floor, whatever else is dead. documents_close_test.sh has what closes.
set -uo pipefail
LAB=bwl-documents-$$ LAB_DESTS=2
# shellcheck source=../harness/signed_documents.sh
. "$(dirname "${BASH_SOURCE[0]}")/../harness/signed_documents.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
clock_begin
docs_begin || exit 1
lab_wait_for 30 state d1 live
note "Enrolment"
check "before enrolment the file holds" lab_both
sign policy base alice,bob < <(docs_text 4mbit 5mbit)
give policy base
check "and no document is taken" says 'no root is enrolled'
check "a root that is not the one that people wrote down is refused" \
	eval '! "$CTL" enrol "$FLEET/root" "$FLEET/enrolment" --sha256 "${SHA//[0-9]/0}" 2>"$LAB_TMP/said"'
check "with its digest" says "$SHA"
check "this tray is enrolled by its bwlimitd" eval '"$CTL" --json enrol "$FLEET/root" "$FLEET/enrolment" --sha256 "$SHA" | jq -e ".by == \"bwlimitd\" and .tray == \"tray-7\"" >/dev/null'
refute "and once" eval '"$CTL" enrol "$FLEET/root" "$FLEET/enrolment" --sha256 "$SHA" 2>/dev/null'
check "until a signed policy comes the file holds on" lab_both

note "Policies"
check "a policy that two people signed is taken" give policy base
check "and is in force" rate d1 4000000
check "status says so" status '.policy.name == "base" and .taken["policy/base"].sha256 == .policy.sha256 and (.fresh | not)'
check "without a signed time nothing is above the floor" lab_silent
check "a signed time is taken" now_signed
check "and opens what was signed" lab_wait_for 10 lab_both
check "status says so" status '.fresh and .alarms == [] and .health.lease_s > 800'
sign policy base alice < <(docs_text 5mbit 5mbit)
refused "one person widens nothing" signed-widens policy base
check "with what it would widen" says 'peer d1, grant'
LIFE=50m taken "one person tightens" policy base alice < <(docs_text 3mbit 5mbit)
check "at once" rate d1 3000000
sign policy old alice,bob < <(docs_text 4mbit 5mbit)
cp "$FLEET/base" "$FLEET/three"
taken "two people widen" policy base alice,bob < <(docs_text 5mbit 5mbit)
check "at once" rate d1 5000000
refused "an old one is not taken again" signed-old policy base "$FLEET/three"
refused "nor one that was kept back until another was signed" signed-old policy old
sign policy base alice,bob --audience tray:tray-8 < <(docs_text 5mbit 5mbit)
refused "nor one for another tray" signed-audience policy base
sign policy base controller < <(docs_text 5mbit 5mbit)
refused "nor one of the controller's" signed-untrusted policy base
check "control: none of it has changed anything" rate d1 5000000
note "Limits that were lowered by hand"
sign policy base alice,bob < <(docs_text 6mbit 5mbit)
later 5
check "one is lowered by hand" in_dpu "$CTL" peer set d1 rate 1mbit
check "a policy that was signed before is taken" give policy base
check "and does not raise it" rate d1 1000000
check "nor does the next signed time" now_signed
check "it is as it was" rate d1 1000000
later 5
taken "a policy that is signed later raises it" policy base alice,bob < <(docs_text 5mbit 5mbit)
check "at once" rate d1 5000000
later 5
check "lowered again" in_dpu "$CTL" peer set d1 rate 1mbit
check "the next signed time raises nothing: what was due was done" now_signed
check "it stays" rate d1 1000000
later 5
taken "control: the next policy does" policy base alice,bob < <(docs_text 4mbit 5mbit)
check "as signed" rate d1 4000000
note "Grants"
sign grant more alice < <(echo '{"peer": "d1", "limit": {"rate": "9mbit"}, "reason": "ticket"}')
refused "a grant of more is not one person's" signed-widens grant more
taken "it is two people's" grant more alice,bob < <(echo '{"peer": "d1", "limit": {"rate": "9mbit"}, "reason": "ticket"}')
check "and is in force" rate d1 9000000
LIFE=50m taken "a grant of less is one person's" grant more bob < <(echo '{"peer": "d1", "limit": {"rate": "1mbit"}, "reason": "ticket"}')
check "and is in force" rate d1 1000000

note "Dates that one person chooses"
sed "s|$LAB_TMP/clock|&.ahead|" "$LAB_TMP/clocked/CTL" >"$LAB_TMP/clocked/ahead" && chmod +x "$LAB_TMP/clocked/ahead"
dated() { # seconds ahead, as sign
	printf '%08d' "$((LATER + $1))" >"$LAB_TMP/clock.ahead"
	CTL=$LAB_TMP/clocked/ahead sign "${@:2}"
}
later
taken "control: a policy" policy base alice,bob < <(docs_text 5mbit 5mbit)
GRANT='{"peer": "d1", "limit": {"rate": "5mbit"}, "reason": "ticket"}'
LIFE=30m dated 58 grant soon alice <<<"$GRANT"
LIFE=30m dated 58 policy next alice < <(docs_text 5mbit 5mbit)
refused "one person's grant at the present limit, dated 58 s ahead, waits for its time" signed-early grant soon
refused "and so does a policy" signed-early policy next
later 10
LIFE=40m taken "two people tighten meanwhile" policy base alice,bob < <(docs_text 2mbit 2mbit)
check "and it holds" rate d1 2000000
later 50
refused "when their time comes the grant widens" signed-widens grant soon
refused "and so does the policy" signed-widens policy next
check "the limit of the two people is as it was" rate d1 2000000
sign policy second alice,bob < <(docs_text 1mbit 2mbit)
later 300 # in which the policy waits for its second signature
LIFE=20m taken "one person's grant at the present limit" grant more alice < <(echo '{"peer": "d1", "limit": {"rate": "2mbit"}, "reason": "ticket"}')
check "ends with the policy that was signed before it, and came after it" eval 'give policy second && rate d1 1000000'
dated 58 revocation ahead alice <<<'{"peers": ["d2"], "reason": "drill"}'
check "what closes waits for no time" eval 'give revocation ahead && state d2 revoked'
later 60
taken "and two people open again, once it has come, what it closed" policy base alice,bob --opens d2 < <(docs_text 5mbit 5mbit)
check "at once" state d2 live
now_signed

opens() { now_signed && lab_both "$1"; } # on a busy machine a time may be too old before a packet has come
note "Updates that are withheld"
sign policy base alice,bob --offline-for 8s < <(docs_text 6mbit 6mbit)
check "a policy that needs a time younger than 8 s" give policy base
check "control: is open with one" lab_wait_for 5 opens 2
docs_die
check "with every daemon dead it falls to its floor then" lab_wait_for 20 lab_silent 2
check "while the heartbeat would go on for an hour" state d2 silent
docs_agent
check "a bwlimitd that comes again opens nothing by the time of before" lab_silent 2
check "what was given before gives nothing more" eval 'give timestamp time && lab_silent 2'
check "a newer time does" lab_wait_for 5 opens 2
taken 'control: as before' policy base alice,bob < <(docs_text 5mbit 5mbit)
now_signed
LIVE_DEST=2 live "bwlimitd was killed and started again, and a new time has come"

note "One revocation that is held back"
naming() { # a signed time that names that document
	local text
	text=$(doc_terms <"$FLEET/$1" | jq -c '.issued_at |= sub("[.][0-9]+"; "")')
	jq -n --argjson d "$text" --arg h "$(doc_digest "$FLEET/$1")" \
		'{root: 1, closing: [{type: "revocation", name: $d.name, epoch: $d.epoch, version: $d.version, issued_at: $d.issued_at, sha256: $h, audience: "all"}]}' \
		>"$FLEET/naming"
	sign timestamp time controller <"$FLEET/naming" && give timestamp time
}
sign policy base alice,bob --offline-for 12s < <(docs_text 6mbit 6mbit)
check "control: a policy that needs a time younger than 12 s" give policy base
sign revocation held alice <<<'{"peers": ["d9"], "reason": "drill"}'
check "control: is open with one" lab_wait_for 5 opens 2
check "a time that names a revocation that did not come" naming held
check "is told in the status at once" status_now '.missing == ["revocation/held"]'
keeps_naming() { naming held && lab_silent 2; } # such times come all the while, and count for nothing
check "it is no fresher than the time before it: everything falls to its floor" lab_wait_for 60 keeps_naming
check "status says why" status '.alarms | index("floor")'
check "when it comes, that time counts" eval 'naming held && give revocation held'
check "and all is open again" lab_wait_for 5 lab_both 2
check "nothing is missing" status '.missing == []'
taken 'control: as before' policy base alice,bob < <(docs_text 5mbit 5mbit)
now_signed
LIVE_DEST=2 live "the revocation that was held back has come, and a new time"
done_testing
