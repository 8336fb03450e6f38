#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `lease sign`: the lease of a signed policy, made by hand with the controller's key, as a real bwlimitd accepts it; and
# what it refuses before signing.
set -uo pipefail
LAB=bwl-leasesign-$$ LAB_DESTS=2
# shellcheck source=../harness/signed_documents.sh
. "$(dirname "${BASH_SOURCE[0]}")/../harness/signed_documents.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
clock_begin
docs_begin || exit 1
docs_enrol

leased() { docs_text 4mbit 5mbit | sed 's/^heartbeat:.*/&\nlease: 40s/'; }
lease() { # option…
	"$CTL" lease sign "$FLEET/base" --key "$FLEET/controller.pem" --out "$FLEET/lease" "$@" >"$LAB_TMP/said" 2>&1
}
refuses() { # text option…
	local text=$1
	shift
	rm -f "$FLEET/lease"
	! lease "$@" && says "$text" && [[ ! -e $FLEET/lease ]]
}
taken "control: a policy that needs a lease" policy base alice,bob --lease-most 30s --audience tray:tray-7 < <(leased)
check "control: a signed time" now_signed
check "without a lease it is at its floor" lab_silent 1
check "more than lease_most is refused, before anybody signs" refuses '30 s at most\|30s at most' --for 31s
check "so is nothing at all" refuses 'lease_most' --for 0s
check "and a number that is none" refuses 'number' --for 20s --number x
check "a lease is signed" lease --for 30s
check "for the policy's fleet and audience, under its name" eval '[[ $("$CTL" --json policy verify "$FLEET/lease" --root "$FLEET/root" --tray tray-7 |
	jq -r "[.document_type, .document_name, .audience] | join(\" \")") == "lease base tray:tray-7" ]]'
check "and taken" give lease base "$FLEET/lease"
check "it is open" lab_wait_for 10 lab_both 1
check "and for so long" status '.health.lease_s <= 30 and .health.lease_s > 0'
check "the next one has a higher version by itself" eval 'later; lease --for 30s && give lease base "$FLEET/lease"'
live "the clock has moved on, and the next lease is there"
check "an older one is refused" eval 'lease --for 30s --number 7; ! give lease base "$FLEET/lease" && says signed-old'
"$CTL" lease sign "$FLEET/base" --key "$FLEET/alice.pem" --out "$FLEET/lease" --for 30s >/dev/null
check "one that somebody else signed, too" eval '! give lease base "$FLEET/lease" && says signed-untrusted'
cp "$FLEET/base" "$FLEET/before"
sign policy other alice,bob --audience tray:tray-7 < <(docs_text 4mbit 5mbit)
check "a policy without lease_most has none" eval '! "$CTL" lease sign "$FLEET/other" --key "$FLEET/controller.pem" --for 1s >"$LAB_TMP/said" 2>&1 && says "allows no lease"'
check "what is no policy has none" eval '! "$CTL" lease sign "$FLEET/enrolment" --key "$FLEET/controller.pem" --for 1s >"$LAB_TMP/said" 2>&1 && says "a lease needs a signed policy"'
check "when it ends all is at its floor" lab_wait_for 45 lab_silent 1
done_testing
