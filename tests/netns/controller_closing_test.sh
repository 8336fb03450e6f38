#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Closing documents are named by signed times until they end: even if one is removed from the store, and every controller
# has been restarted since. A real etcd of one member, a real bwlimit-controller.
# live: no tray here: bwlimit-controller alone is killed
set -uo pipefail
LAB=bwl-closing-$$ LAB_UP=lab_begin
# shellcheck source=../harness/controller_lab.sh
. "$(dirname "${BASH_SOURCE[0]}")/../harness/controller_lab.sh"

signed() { "$here/fake_trays.py" sign hall-3 "$@"; } # name version type body key…
given() { # type name version body key…: signed, and put for all
	signed "$2" "$3" "$1" "${@:4}" >"$FLEET/$2" && publish "$1" "$2"
}
at() { etcdctl_as root get --print-value-only "$PREFIX/$1"; }
again() { # killed: it hands over nothing
	control_down -KILL
	etcdctl_as root del "$PREFIX/all/doc/timestamp/time" >/dev/null
	etcdctl_as root del --prefix "$PREFIX/controller/leader/" >/dev/null
	control_up one
}
named() { # which names the time in the store has; jq -e says nothing of no time at all
	local said
	said=$(at all/doc/timestamp/time | doc_terms) && [[ $said ]] &&
		jq -e --argjson w "$1" '[.closing[].name] | sort == $w' <<<"$said" >/dev/null
}
copies() { [[ $(etcdctl_as root get --prefix --keys-only "$PREFIX/controller/closing/" | grep -c .) -eq $1 ]]; }

check "control: a store, a root" controller_lab_up
control_up one
check "control: the time names nothing" await 30 named '[]'
given revocation stolen 1 '{"peers": ["log"], "reason": "drill"}' "$FLEET/alice.pem"
given expulsion tray-9 1 '{"tray": "tray-9", "reason": "drill"}' "$FLEET/bob.pem"
check "the controllers keep a copy of what closes" await 30 copies 2
again
check "another one names them" await 30 named '["stolen", "tray-9"]'
etcdctl_as root del --prefix "$PREFIX/all/doc/revocation/" >/dev/null
etcdctl_as root del --prefix "$PREFIX/all/doc/expulsion/" >/dev/null
again
check "and one that never saw them in the store: somebody took them out" await 30 named '["stolen", "tray-9"]'

note "Who writes there"
signed forged 1 revocation '{"peers": ["log"], "reason": "drill"}' "$FLEET/controller.pem" >"$LAB_TMP/forged"
etcdctl_as root put "$PREFIX/controller/closing/-/$(printf 'a%.0s' {1..64})" <"$LAB_TMP/forged" >/dev/null
etcdctl_as root put "$PREFIX/controller/closing/-/$(printf 'b%.0s' {1..64})" junk >/dev/null
again
check "names nothing that people did not sign" await 30 named '["stolen", "tray-9"]'

note "A label that a tray gets later"
enrol() { # tray number labels
	signed "$1" "$2" enrolment "{\"tray\": \"$1\", \"root\": \"$(printf 'a%.0s' {1..64})\", \"labels\": $3}" \
		"$FLEET/alice.pem" "$FLEET/bob.pem" | etcdctl_as root put "$PREFIX/node/$1/in/doc/enrolment/$1" >/dev/null
}
has() { [[ -n $(at "node/$1/in/doc/revocation/$2") ]]; }
AUDIENCE=label:rack=7 signed rack 1 revocation '{"all": true, "reason": "drill"}' "$FLEET/alice.pem" >"$LAB_TMP/rack"
etcdctl_as root put "$PREFIX/node/tray-1/in/doc/revocation/rack" <"$LAB_TMP/rack" >/dev/null # as the desk does it
enrol tray-1 1 '["rack=7"]'
enrol tray-2 1 '["rack=8"]'
check "control: the controllers keep a copy" await 30 copies 5
enrol tray-2 2 '["rack=7"]'
check "a tray that is enrolled with it is given what was revoked for it" await 30 has tray-2 rack
check "as people signed it" eval '[[ $(at node/tray-2/in/doc/revocation/rack) == "$(cat "$LAB_TMP/rack")" ]]'
enrol tray-3 1 '["rack=9"]'
enrol tray-4 1 '["rack=7"]'
check "so is one that is new" await 30 has tray-4 rack
refute "and nobody else" has tray-3 rack
refute "nor is anything else given" has tray-4 stolen
AUDIENCE=label:rack=7 signed rack 999 revocation '{"peers": ["nobody"], "reason": "drill"}' "$FLEET/controller.pem" |
	etcdctl_as root put "$PREFIX/node/tray-5/in/doc/revocation/rack" >/dev/null
enrol tray-5 1 '["rack=7"]'
check "a newer one that people did not sign is not taken for it" \
	await 30 eval '[[ $(at node/tray-5/in/doc/revocation/rack) == "$(cat "$LAB_TMP/rack")" ]]'
check "and is told" await 30 grep -q '"trouble".*tray-5.*signed by 0' "$LAB_TMP/control"
etcdctl_as root del "$PREFIX/node/tray-4/in/doc/revocation/rack" >/dev/null
again
check "also where the controller was away" await 30 has tray-4 rack
etcdctl_as root del --prefix "$PREFIX/node/" >/dev/null
again
check "control: it is named, too" await 30 named '["rack", "stolen", "tray-9"]'

note "One in the place of another"
given revocation two 1 '{"peers": ["log"], "reason": "drill"}' "$FLEET/alice.pem"
cp "$FLEET/two" "$LAB_TMP/two"
check "control: the controllers keep a copy" await 30 copies 6
given revocation two 2 '{"peers": ["nobody"], "reason": "drill"}' "$FLEET/bob.pem"
check "a later one of its name that closes something else is told" await 30 grep -q '"alarm".*revocation/two.*two different documents' "$LAB_TMP/control"
# The next time comes after a minute; that of another leader comes at once.
soon() { long || again; }
soon
check "both are named" await 90 named '["rack", "stolen", "tray-9", "two", "two"]'
again_there() { etcdctl_as root get --prefix --print-value-only "$PREFIX/all/doc/revocation/two." | grep_all -F -- "$(doc_terms <"$LAB_TMP/two")"; }
check "and the first is given to the trays again, beside it" await 30 again_there

note "Two of one name that no tray had both of"
twin() { # LABEL VERSION PEER: to a tray that has that label
	AUDIENCE=label:$1 signed twin "$2" revocation "{\"peers\": [\"$3\"], \"reason\": \"drill\"}" "$FLEET/alice.pem" >"$LAB_TMP/twin-$1"
	enrol "tray-${1%=*}" 1 "[\"$1\"]"
	etcdctl_as root put "$PREFIX/node/tray-${1%=*}/in/doc/revocation/twin" <"$LAB_TMP/twin-$1" >/dev/null
}
twin a=1 2 log
twin b=1 1 web
check "control: the controllers keep a copy of both" await 30 copies 9
enrol tray-6 1 '["a=1", "b=1"]'
gets() { etcdctl_as root get --prefix --print-value-only "$PREFIX/node/tray-6/in/doc/revocation/twin" | grep_all -F -- "$(doc_terms <"$LAB_TMP/twin-$1")"; }
check "one that gets both labels is given the one" await 30 gets a=1
check "and the other, which is older" await 30 gets b=1

note "More than there is room for"
many=$(printf 'tray:%031d,' {1..25}) before=$(at all/doc/timestamp/time | doc_terms)
for i in {1..40}; do
	AUDIENCE=${many%,} given revocation "flood-$i" 1 "{\"peers\": [\"f-$i\"], \"reason\": \"drill\"}" "$FLEET/bob.pem"
done
soon
check "one person's many later ones are told: an alarm, with whose are left out" \
	await 90 grep -qE '"alarm".*timestamp/time.*[0-9]+ of bob; a tray' "$LAB_TMP/control"
names_them() { # what alice said, and of bob's as much as there is room for
	at all/doc/timestamp/time | doc_terms | jq -e '[.closing[].name] | contains(["rack", "stolen", "twin", "two"]) and
		(map(select(startswith("flood-"))) | length > 10 and length < 40)' >/dev/null
}
check "and leave nobody else's out" await 90 names_them
check "control: that is another time" eval '[[ $before != $(at all/doc/timestamp/time | doc_terms) ]]'
etcdctl_as root del --prefix "$PREFIX/all/doc/revocation/flood-" >/dev/null

note "The next root"
given root root 2 "$(cat "$FLEET/root.json")" "$FLEET/alice.pem" "$FLEET/bob.pem"
check "control: it took it" await 30 grep -q '"took"' "$LAB_TMP/control"
again
check "names what it judges good" await 30 names_them
given revocation more 1 '{"all": true, "reason": "drill", "new_epoch": 2}' "$FLEET/alice.pem"
check "control: a new epoch is kept, too" await 30 copies 50
again
check "and ends what is of the one before" await 30 named '["more"]'
done_testing
