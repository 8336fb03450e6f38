#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What people type for a fleet: documents published, revocations, expulsions, enrolments with two signatures,
# and which trays have them. A real etcd, a real bwlimit-sync for each of three trays, each in its own namespace;
# bwlimitd is replaced by tests/harness/fake_bwlimitd.py, which reports in its status what it accepted.
# live: fake_bwlimitd.py stands in for bwlimitd: no DPU is here
set -uo pipefail
# shellcheck source=../harness/desk.sh
. "$(dirname "${BASH_SOURCE[0]}")/../harness/desk.sh"

run() { # command…: its exit code in $code, what it says in $ETCD_DIR/said
	"$@" >"$ETCD_DIR/said" 2>&1
	code=$?
}
ends() { # code pattern command…
	run "${@:3}"
	[[ $code == "$1" ]] && grep -qE -- "$2" "$ETCD_DIR/said" || { note "$code: $(head -c 600 "$ETCD_DIR/said")"; return 1; }
}
got() { compgen -G "$ETCD_DIR/tray-$1/*-$2" >/dev/null; } # tray KIND-NAME
value() { jq -r "$1" "$ETCD_DIR/said" | tail -n 1; }

tray_start() { # tray
	[[ -z ${ours[agent$1]:-} ]] || stop "agent$1"
	local at=$ETCD_DIR/tray-$1
	mkdir -p "$at"
	SAID=$build/tests/harness/bwl-said "$here/fake_bwlimitd.py" "$at.sock" "$at" "tray-$1" >"$at.out" 2>&1 &
	ours[agent$1]=$!
	await 5 grep -q ready "$at.out"
	sync_start "$1" --agent "$at.sock"
}
connected() { grep -q '^connected' "$ETCD_DIR/tray-$1.sync"; }
conf() { desk_conf "cert = $pki/root.pem" "key = $pki/root.key" "$@"; } # line…

check "control: a store, three trays and two people" eval \
	'etcd_up >/dev/null && etcd_auth >/dev/null && desk_people eve && for i in 1 2 3; do etcd_tray tray-$i >/dev/null && tray_net $i && tray_start $i || exit; done'
for i in 1 2 3; do check "control: tray-$i is connected" await 15 connected "$i"; done
# Who publishes waits for the trays that the store has a status of.
seen() { etcdctl_as root get --keys-only "$PREFIX/node/tray-$1/out/status" | grep_all status; }
for i in 1 2 3; do check "control: tray-$i has been seen" await 30 seen "$i"; done
conf "root = $desk/root"

note "Publishing"
cat >"$desk/p.yaml" <<'END'
version: 1
node: tray-1
uplinks: [p0]
heartbeat: 60s
host_ports: [{ dev: h0, sources: [10.0.7.0/24] }]
zones: { external: { rate: 10mbit }, mesh: { rate: 1gbit } }
peers:
  - { name: log, addresses: [192.0.2.1/32], zone: external, path: clear, via: 10.9.9.9, grant: { rate: 1mbit } }
  - { name: web, addresses: [192.0.2.2/32], zone: external, path: clear, via: 10.9.9.9, grant: { rate: 1mbit } }
  - { name: peer, addresses: [192.0.2.3/32], zone: mesh, path: clear, via: 10.9.9.9, grant: { rate: 1mbit } }
END
make() { # out number audience [how long]
	cp "$desk/p.yaml" "$desk/$1.yaml"
	sign "$desk/$1.yaml" alice --fleet hall --name p --number "$2" --audience "$3" --for "${4:-30d}"
	mv "$desk/$1.yaml.signed" "$desk/$1"
}
publish() { ctl policy publish "$@" --conf "$desk/fleet.conf"; }
check "the root is published, and all three have it" ends 0 '3 of 3 trays have it' publish "$desk/root"
make p5 5 tray:tray-1
check "a policy for one tray" ends 0 '1 of 1 tray has it' publish "$desk/p5"
check "with a warning that one signature only tightens" grep -q 'signed by 1 of the 2 who may widen' "$ETCD_DIR/said"
refute "which the others are not given" got 2 policy-p
check "control: tray-1 has it" got 1 policy-p
check "the same again is no error" ends 0 '1 of 1' publish "$desk/p5"
make p4 4 tray:tray-1
check "an older one is refused here" ends 1 'version 5 of epoch 1 is in the store' publish "$desk/p4"
cp "$desk/p.yaml" "$desk/p.yaml.was" && sed -i 's/10mbit/9mbit/' "$desk/p.yaml"
make p5x 5 tray:tray-1
check "the same version with another text, too" ends 1 'its text differs' publish "$desk/p5x"
cp "$desk/p.yaml.was" "$desk/p.yaml"
cp "$desk/p.yaml" "$desk/e.yaml"
sign "$desk/e.yaml" eve --fleet hall --name p --number 9 --audience tray:tray-1 --for 30d
check "what nobody of the root signed is refused here" ends 1 'signed by 0 of the people' publish "$desk/e.yaml.signed"
refute "and never in the store" eval '[[ -n $(etcdctl_as root get --prefix "$PREFIX/node/tray-1/in/doc/policy/" --print-value-only | grep -F "$(key_of eve key_id)") ]]'
make p6 6 tray:tray-9
check "a tray that was never seen is silent: exit code 3" ends 3 'tray-9 +silent +it has never been seen' \
	publish "$desk/p6" --timeout 2s
check "and it is said until when it holds what it has" grep -q 'ends at 20' "$ETCD_DIR/said"
awk 'BEGIN { print "version: 1\nnode: tray-1\nuplinks: [p0]\nheartbeat: 60s\nhost_ports: [{ dev: h0, sources: [10.0.7.0/24] }]\npeers:"
	for (i = 0; i < 2000; i++)
		printf "  - { name: n%d, addresses: [10.%d.%d.0/24], path: clear, via: 10.9.9.9, grant: { rate: 1mbit } }\n", i, 10 + i / 256, i % 256
}' >"$desk/p.yaml"
make p7 7 tray:tray-1
check "one that is in parts takes the place of one that is not" ends 0 '1 of 1' publish "$desk/p7" --timeout 2m
cp "$desk/p.yaml.was" "$desk/p.yaml"
make p8 8 tray:tray-1
check "and the other way" ends 0 '1 of 1' publish "$desk/p8"
check "and nothing of the larger one is left" eval \
	'[[ -z $(etcdctl_as root get --prefix --keys-only "$PREFIX/node/tray-1/in/big/") ]]'

note "Enrolling, with two people"
enrol() { fleet enrol "tray-$1" --label "rack=$2,row=b" --key "$desk/alice.pem"; }
for i in 1 2; do
	check "alice enrols tray-$i: it waits" ends 0 'waits for more signatures' enrol "$i" "$((i % 2))"
done
refute "and no tray was given it" got 1 enrolment-tray-1
check "it is among what waits" ends 0 'enrolment/tray-1.*signed by alice' fleet pending
check "with what it asks, in words" grep -qE '^  lets tray tray-1 in' "$ETCD_DIR/said"
check "whoever asks for it as JSON gets what its schema says" eval 'fleet pending --json | judge fleet-pending'
check "alice again is not enough" ends 0 'waits for more signatures|^$' fleet approve enrolment/tray-1 --key "$desk/alice.pem" --yes --no-wait
check "bob approves: it is published, and the tray has it" ends 0 '1 of 1 tray has it' \
	fleet approve enrolment/tray-1 --key "$desk/bob.pem" --yes
check "and waits no more" ends 0 'enrolment/tray-2' fleet pending
refute "not that one" grep -q 'tray-1,' "$ETCD_DIR/said"
check "the other, too" ends 0 '1 of 1' fleet approve enrolment/tray-2 --key "$desk/bob.pem" --yes
check "trays and their state are listed" ends 0 'tray-1 +yes +yes' fleet trays
check "as JSON with their labels" eval 'fleet trays --json >"$ETCD_DIR/said" && judge fleet-trays <"$ETCD_DIR/said" && [[ $(jq -c ".trays[0].labels" "$ETCD_DIR/said") == "[\"rack=1\",\"row=b\"]" ]]'
# As stored by a controller (tests/netns/controller_test.sh has one).
etcdctl_as root put "$PREFIX/controller/log/-/tray-1" <"$here/../fuzz/controller.seeds/log" >/dev/null
check "audit logs are listed, with how far they are cosigned" ends 0 'tray-1 +cosigned +1 +1 +2026' fleet logs
jq '.seen = null | .wrong = "its audit log has two histories"' "$here/../fuzz/controller.seeds/log" |
	etcdctl_as root put "$PREFIX/controller/log/-/tray-2" >/dev/null
check "and with what is wrong" ends 0 'tray-2 +wrong .*two histories' fleet logs
check "as JSON with the checkpoints" eval 'fleet logs --json >"$ETCD_DIR/said" && judge fleet-logs <"$ETCD_DIR/said" &&
	[[ $(jq -c "[.logs[].cosigned_record_count]" "$ETCD_DIR/said") == "[1,1]" ]]'
etcdctl_as root del --prefix "$PREFIX/controller/log/" >/dev/null
# The same for two rollouts (tests/netns/rollout_test.sh has a running one): one for all, one of a tray that stopped a stage earlier.
going() { jq -c '.phase = "going" | .why = "" | .version += '"$1" "$here/../fuzz/controller.seeds/rollout" | etcdctl_as root put "$PREFIX/controller/rollout/-/base" >/dev/null; }
going 0
etcdctl_as root put "$PREFIX/controller/health/-/base" <"$here/../fuzz/controller.seeds/health" >/dev/null
jq -c '.phase = "stuck" | .why = "tray-2 refuses it" | .name = "own"' "$here/../fuzz/controller.seeds/rollout" |
	etcdctl_as root put "$PREFIX/controller/rollout/tray-2/own" >/dev/null
check "rollouts are listed, what needs somebody first" ends 0 'policy/own .*tray-2 .*stuck .*refuses it' fleet rollouts
check "and how the trays fare of what goes on" grep -qE 'policy/base .* - .*going .* 20 +1 .*has not taken it' "$ETCD_DIR/said"
check "as JSON, by its schema" eval 'fleet rollouts --json >"$ETCD_DIR/said" && judge fleet-rollouts <"$ETCD_DIR/said" &&
	[[ $(jq -c "[.rollouts[] | [.tray, .phase, .unwell_count, (.stage_percents | length)]]" "$ETCD_DIR/said") == "[[\"tray-2\",\"stuck\",null,0],[null,\"going\",1,4]]" ]]'
check "no more than were asked for, and how many there are" eval '[[ $(fleet rollouts --most 1 --json | jq -c "[.rollout_count, (.rollouts | length)]") == "[2,1]" ]]'
going 1
check "what was said of the stage before is not said of this one" eval '[[ $(fleet rollouts --json | jq -c ".rollouts[1] | [.judged_count, .why]") == "[null,null]" ]]'
etcdctl_as root del --prefix "$PREFIX/controller/" >/dev/null

note "Revoking"
revoke() { fleet revoke "$@" --key "$desk/alice.pem"; }
check "a peer on all trays" ends 0 '3 of 3 trays have it' revoke --all log
payload() { cat "$ETCD_DIR/tray-$1"/*-revocation-* | doc_terms | tail -n 1; }
check "which is what was signed" eval '[[ $(payload 1 | jq -c .peers) == "[\"log\"]" ]]'
check "every grant of one tray" ends 0 '1 of 1' revoke --tray tray-2
check "which is what was signed" eval '[[ $(payload 2 | jq -c .all) == true ]]'
check "of a label" ends 0 '1 of 1' revoke --label rack=1 web
check "of a label that nobody has: an error" ends 1 'no tray in the store' revoke --label rack=77 web
orders() { etcdctl_as root get --prefix --keys-only "$PREFIX/all/doc/revocation/" "$PREFIX/all/doc/expulsion/" | sort; }
was=$(orders)
check "a peer that no policy has is an error, with the nearest" \
	ends 1 "nothing was published: lod: no policy of these trays has such a peer; did you mean 'log'" revoke --all lod
check "of one tray likewise" ends 1 'nothing was published: lod' revoke --tray tray-1 lod
check "and as JSON" eval 'revoke --all lod --json >"$ETCD_DIR/said" 2>&1; [[ $(value .error.code) == ENOENT ]]'
check "a tray that was never seen is an error" ends 1 "the store knows no tray tray-9; did you mean 'tray-[123]'.: nothing was published" revoke --tray tray-9
check "nobody expels it" ends 1 'the store knows no tray tray-9' fleet expel tray-9 --key "$desk/alice.pem"
check "nor replaces it" ends 1 'the store knows no tray tray-9' fleet replace tray-9 --key "$desk/alice.pem"
check "and nothing is in the store" test "$was" == "$(orders)"
check "one among others is left out, exit code 1" ends 1 '^lod: not ordered: no policy of these trays has such a peer' revoke --all lod log
check "the others have their lines" grep -q '^log: ordered' "$ETCD_DIR/said"
check "and all trays have what was ordered" grep -q '3 of 3 trays have it' "$ETCD_DIR/said"
check "which is that" eval '[[ $(payload 1 | jq -c .peers) == *"[\"log\"]"* ]]'
check "as JSON, and its schema's" eval 'revoke --all lod log --json >"$ETCD_DIR/said" 2>/dev/null; [[ $? == 1 ]] && grep "^{." "$ETCD_DIR/said" | judge --lines fleet-order && grep -q "\"not_revoked\":\[{\"peer\":\"lod\"" "$ETCD_DIR/said"'
check "--unknown publishes it all the same" ends 0 '3 of 3 trays have it' revoke --all lod --unknown
check "a tray, too" ends 0 '3 of 3 trays have it' fleet expel tray-9 --unknown --key "$desk/alice.pem"
etcdctl_as root del "$PREFIX/all/doc/expulsion/tray-9" >/dev/null
reasoned() { ctl --fleet "$1" "${@:2}" --key "$desk/alice.pem" --conf "$desk/fleet.conf" reason theft, ticket 4711; }
check "every grant, with a reason as everywhere" ends 0 '3 of 3 trays have it' reasoned revoke --all
check "it is the document's, and nobody's name" eval 'payload 1 | jq -se "any(.[]; .all == true and .reason == \"theft, ticket 4711\")" >/dev/null'
check "of two reasons the one at the end counts" ends 0 'given twice: the one at the end counts' reasoned revoke --all --reason loss
check "a reason that is too long is cut, and published" ends 0 'longer than 255 bytes' revoke --all log --reason "$(head -c 300 /dev/zero | tr '\0' r)"
check "of one that is no text, what is" ends 0 '3 of 3 trays have it' revoke --all log --reason $'caf\xe9'
check "an empty one is none" ends 0 'the reason is empty' revoke --all log --reason ''
check "options after the reason are options" ends 0 '3 of 3 trays have it' fleet revoke --all log reason theft --key "$desk/alice.pem"
check "of a zone, where no tray's status is signed: refused, for it is nobody's word" \
	ends 1 'tray-1 does not say what it holds' revoke --tray tray-1 --zone external
check "and it is said what to do" grep -q 'expel it, or give .--assume tray-1' "$ETCD_DIR/said"
check "somebody may take it on: it is named" ends 0 'assumed: tray-1 holds what is in the store' revoke --tray tray-1 --zone external --assume tray-1
check "nobody takes another one on by it" ends 1 'tray-1 does not say what it holds' revoke --tray tray-1 --zone external --assume tray-2,tray-11
check "without a zone nothing is assumed" ends 2 'assume needs --zone' revoke --all --assume all
log_key() { # tray: its status is signed from now on
	"$CTL" audit init --dir "$ETCD_DIR/log-$1" --origin test/verbs >/dev/null 2>&1 &&
		fleet enrol "tray-$1" --label "rack=$(($1 % 2)),row=b" --log-key "$(<"$ETCD_DIR/log-$1/key.pub")" --key "$desk/alice.pem" &&
		fleet approve "enrolment/tray-$1" --key "$desk/bob.pem" --yes --no-wait && cp "$ETCD_DIR/log-$1/key" "$ETCD_DIR/tray-$1/key"
}
signature() { [[ $(fleet trays --json | jq -r ".trays[] | select(.tray == \"tray-$1\").status_signature") == "$2" ]]; }
for i in 1 2; do check "tray-$i is enrolled with the key of its audit log" eval 'run log_key $i; ((code == 0)) || ! note "$(tail -n 3 "$ETCD_DIR/said")"'; done
waiting() { etcdctl_as root get --print-value-only "$PREFIX/pending/all/doc/enrolment/tray-1" "$PREFIX/pending/all/doc/enrolment/tray-2" | doc_terms | head -n 1 | jq -c '[.labels, (.log_key != null)]'; }
check "an enrolment that names neither keeps labels and key" eval 'fleet enrol tray-1 --key "$desk/alice.pem" >/dev/null && [[ $(waiting) == "[[\"rack=1\",\"row=b\"],true]" ]] || ! note "$(waiting)"'
check "one that names labels keeps the key" eval 'fleet enrol tray-1 --label rack=5 --key "$desk/alice.pem" >/dev/null && [[ $(waiting) == "[[\"rack=5\"],true]" ]] || ! note "$(waiting)"'
check "none of them is said" eval 'fleet enrol tray-1 --label none --log-key none --key "$desk/alice.pem" >/dev/null && [[ $(waiting) == "[null,false]" ]] || ! note "$(waiting)"'
etcdctl_as root del "$PREFIX/pending/all/doc/enrolment/tray-1" >/dev/null
for i in 1 2; do sync_start "$i" --agent "$ETCD_DIR/tray-$i.sock"; done # it tells the status when it begins, and else twice a minute
for i in 1 2; do check "and signs its status" await 60 signature "$i" signed; done
check "the peers of a zone, by the published policies" ends 0 '1 of 1' revoke --tray tray-1 --zone external
check "which are those" eval '[[ $(cat "$ETCD_DIR"/tray-1/*-revocation-* | doc_terms | jq -c .peers) == *"[\"log\",\"web\"]"* ]]'
check "of a zone that no policy has: an error" ends 1 "no policy of these trays has a peer in zone 'nowhere'" revoke --all --zone nowhere --assume tray-3
cp "$desk/p.yaml" "$desk/eve.yaml"
sign "$desk/eve.yaml" eve --fleet hall --name eve --number 1 --audience all --for 30d
for i in 1 2 3; do echo eve >"$ETCD_DIR/tray-$i/refuse"; done # as bwlimitd does
etcdctl_as root put "$PREFIX/all/doc/policy/eve" <"$desk/eve.yaml.signed" >/dev/null
check "a policy that somebody else put there names nobody's peers" ends 1 'policy eve in the store: .*signed by 0' revoke --all --zone external
check "and it is said what to do" grep -q 'revoke by name, or --all without --zone' "$ETCD_DIR/said"
etcdctl_as root del "$PREFIX/all/doc/policy/eve" >/dev/null
rm "$ETCD_DIR"/tray-[123]/refuse
held_key=$PREFIX/node/tray-1/in/doc/policy/p
sed 's/zone: external/zone: mesh/' "$desk/p.yaml" >"$desk/moved.yaml" # one person's: trays refuse it, for who leaves a zone may send more
sign "$desk/moved.yaml" alice --fleet hall --name p --number 9 --audience tray:tray-1 --for 30d
echo p >"$ETCD_DIR/tray-1/refuse"
etcdctl_as root put "$held_key" <"$desk/moved.yaml.signed" >/dev/null
check "one that a tray does not hold names nobody's peers either" \
	ends 1 'tray-1 holds policy p, version 8, which is not in the store: who is in the zone there is not known' revoke --tray tray-1 --zone external
check "nor for all" ends 1 'tray-1 holds policy p' revoke --all --zone external
etcdctl_as root put "$PREFIX/controller/was/tray-1/p" <"$desk/p8" >/dev/null
check "what controllers keep of before, while a policy is rolled out, is asked, too" eval \
	'ends 0 "1 of 1" revoke --tray tray-1 --zone external && [[ $(payload 1 | jq -c .peers) == "[\"log\",\"web\"]" ]]'
etcdctl_as root del "$PREFIX/controller/was/tray-1/p" >/dev/null
etcdctl_as root put "$held_key" <"$desk/p8" >/dev/null
rm "$ETCD_DIR/tray-1/refuse"
check "control: where it holds what lies there that suffices" ends 0 '1 of 1' revoke --tray tray-1 --zone external

# A writer to the store without a key: an older policy that enough people signed, and no lease of the tray.
sign "$desk/moved.yaml" alice --fleet hall --name p --number 2 --audience tray:tray-1 --for 30d --out "$desk/older" && sign "$desk/older" bob
cp "$desk/p8" "$desk/p8-two" && sign "$desk/p8-two" bob
echo p >"$ETCD_DIR/tray-1/refuse"
freeze_process "${ours[sync1]}"
status_key=$PREFIX/node/tray-1/out/status
etcdctl_as root get --print-value-only "$status_key" | jq -r .payload | base64 -d >"$ETCD_DIR/was"
says() { # seconds ago, jq: tray-1 says what it said, with its key
	jq -c --argjson ago "$1" ".said_at = (now | floor) - \$ago | .number += \$ago + 100000000 | ${2:-.}" "$ETCD_DIR/was" |
		"$build/tests/harness/bwl-said" "$ETCD_DIR/log-1/key" hall tray-1 | etcdctl_as root put "$status_key" >/dev/null
}
etcdctl_as root put "$held_key" <"$desk/older" >/dev/null
etcdctl_as root del "$PREFIX/node/tray-1/out/alive" >/dev/null
says 0
check "an older policy that enough signed is not what a tray holds, and its lease says nothing of that" \
	ends 1 'tray-1 holds policy p, version 8, which is not in the store' revoke --tray tray-1 --zone mesh
check "nor is that assumed, whoever is named" ends 1 'tray-1 holds policy p, version 8' revoke --tray tray-1 --zone mesh --assume tray-1
says 3600
check "the same with a status that is held back: it is late, and it says so" \
	ends 1 'tray-1 holds policy p, version 8, which is not in the store' revoke --tray tray-1 --zone mesh
check "for all nobody takes that on" ends 1 'tray-1 holds policy p, version 8' revoke --tray tray-1 --zone mesh --assume all
etcdctl_as root del "$status_key" >/dev/null
check "the same without a status" ends 1 'what tray-1 holds is not known.*it has no status in the store' revoke --tray tray-1 --zone mesh
etcdctl_as root put "$status_key" <"$ETCD_DIR/was" >/dev/null
check "one that is not signed is refused, too" ends 1 'its status: it is not signed' revoke --tray tray-1 --zone mesh
etcdctl_as root get --print-value-only "$PREFIX/node/tray-1/in/doc/enrolment/tray-1" >"$ETCD_DIR/enrolment"
etcdctl_as root del "$PREFIX/node/tray-1/in/doc/enrolment/tray-1" >/dev/null
jq -c --arg d "$(doc_digest "$desk/older")" '.policy.sha256 = $d' "$ETCD_DIR/was" |
	etcdctl_as root put "$status_key" >/dev/null
check "and where its enrolment was taken away, what nobody signed" ends 1 'no signed status says so' revoke --tray tray-1 --zone mesh
etcdctl_as root put "$PREFIX/node/tray-1/in/doc/enrolment/tray-1" <"$ETCD_DIR/enrolment" >/dev/null
etcdctl_as root put "$held_key" <"$desk/p8-two" >/dev/null
says 3600
check "a tray that is off, and held what lies there, is not known to hold it" ends 1 'what tray-1 holds is not known.* s late' revoke --tray tray-1 --zone external
check "a way out: who types it takes on all of which nothing says else" eval \
	'ends 0 "assumed: tray-1 holds.*s late" revoke --tray tray-1 --zone external --assume all --no-wait'
etcdctl_as root put "$PREFIX/node/tray-1/out/alive" '' >/dev/null
kill -CONT "${ours[sync1]}"
rm "$ETCD_DIR/tray-1/refuse"
check "control: tray-1 says again what it holds" await 60 eval 'signature 1 signed && ends 0 "1 of 1" revoke --tray tray-1 --zone external'
refute "and nothing is assumed" grep -q assumed "$ETCD_DIR/said"
etcdctl_as root put "$held_key" <"$desk/p8" >/dev/null
echo moved >"$ETCD_DIR/tray-2/refuse"
sign "$desk/moved.yaml" alice --fleet hall --name moved --number 1 --audience tray:tray-2 --for 30d --out "$desk/moved"
etcdctl_as root put "$PREFIX/node/tray-2/in/doc/policy/moved" <"$desk/moved" >/dev/null
check "of a tray that does not say what it holds one person's names nobody" \
	ends 1 'tray-2 does not say what it holds, and policy moved in the store is signed by 1' revoke --tray tray-2 --zone mesh
sign "$desk/moved" bob && etcdctl_as root put "$PREFIX/node/tray-2/in/doc/policy/moved" <"$desk/moved" >/dev/null
check "control: two people's does" ends 0 '1 of 1' revoke --tray tray-2 --zone mesh
etcdctl_as root del "$PREFIX/node/tray-2/in/doc/policy/moved" >/dev/null
rm "$ETCD_DIR/tray-2/refuse"
check "nobody's: wrong use" ends 2 'give --tray T' revoke log
json_order() { fleet revoke --all web --key "$desk/alice.pem" --json >"$ETCD_DIR/said"; }
check "as JSON: lines of the waiting, and the end" eval 'json_order && judge --lines fleet-order <"$ETCD_DIR/said"'
check "all have acknowledged, with the digest that was signed" eval \
	'[[ $(value ".acknowledged_count") == 3 && $(value ".trays[0].state") == acknowledged ]]'
check "one that says the same has the same name, and a higher version" eval \
	'a=$(value ".document") v=$(value ".document_version") && json_order && [[ $(value ".document") == "$a" && $(value ".document_version") -gt $v ]]'
check "another one has another name" eval 'revoke --all other --unknown --json >"$ETCD_DIR/said" && [[ $(value ".document") != "$a" ]]'

note "Who has not said so"
touch "$ETCD_DIR/tray-2/not-in-force"
check "one that took it and has something not in force is named: exit code 3" \
	ends 3 'tray-2 +it accepted it, but reports that something is not in force' revoke --all w --unknown
check "control: all have it" grep -q '3 of 3 trays have it' "$ETCD_DIR/said"
rm "$ETCD_DIR/tray-2/not-in-force"
echo -n >"$ETCD_DIR/tray-3/refuse"
name=$(fleet revoke --all x --unknown --key "$desk/alice.pem" --json | tail -n 1 | jq -r .document)
echo "${name#*/}" >"$ETCD_DIR/tray-3/refuse"
# How long a busy tray takes to answer decides nothing: the order is given again until the others have it.
check "a tray that refuses it: exit code 3, and its reason" await 60 ends 3 'tray-3 +refused +a newer one was taken' \
	revoke --all x --unknown --timeout 3s
rm "$ETCD_DIR/tray-3/refuse"
stop sync3
others_have() { ends 3 'tray-3 +silent' revoke --all y --unknown --timeout 3s && grep -q '2 of 3 trays have it' "$ETCD_DIR/said"; }
check "a tray that cannot be reached: exit code 3, and the others have it" await 60 others_have
left_out() { ends 3 '^lod: not ordered' revoke --all lod log --timeout 3s && grep -q '^log: ordered' "$ETCD_DIR/said"; }
check "nor does a name that is left out make it 1" await 60 left_out
silent_one() { fleet revoke --all z --unknown --key "$desk/alice.pem" --timeout 3s --json >"$ETCD_DIR/said"; [[ $(value ".silent_count") == 1 ]]; }
check "as JSON it is said until when it holds what it has, and its schema's" eval 'await 60 silent_one && judge --lines fleet-order <"$ETCD_DIR/said"'
tray_start 3
check "back, it has what it missed" await 15 eval '[[ $(ls "$ETCD_DIR"/tray-3/*-revocation-* | wc -l) -ge 3 ]]'

note "A desk that may not do everything"
may() { # user, then for each range: its permission, the first key, the one after the last
	etcd_cert "$1" && etcdctl_as root role add "$1" >/dev/null && etcdctl_as root user add "$1" --no-password >/dev/null &&
		etcdctl_as root user grant-role "$1" "$1" >/dev/null || return
	local user=$1
	while (($# > 3)); do
		etcdctl_as root role grant-permission "$user" "${@:2:3}" >/dev/null || return
		shift 3
	done
}
as() { fleet revoke --all "${@:2}" --key "$desk/alice.pem" --cert "$pki/$1.pem" --cert-key "$pki/$1.key"; } # user peer…
check "control: one may not read policies" may blind readwrite "$PREFIX/" "$PREFIX/all/doc/policy/" readwrite "$PREFIX/all/doc/policy0" "${PREFIX}0"
check "where policies cannot be read all is ordered" ends 0 '^lod: ordered' as blind lod log
check "with a warning that names --unknown" grep -q 'not every policy could be read.*--unknown' "$ETCD_DIR/said"
check "and it is published" eval '[[ $(payload 1 | jq -c .peers) == *"[\"lod\",\"log\"]"* ]]'
check "control: another may write nothing" may reader read "$PREFIX/" "${PREFIX}0"
check "what is not published is an error" ends 1 'ermission' as reader log
refute "and not ordered" grep -q '^log: ordered' "$ETCD_DIR/said"

note "Expelling, and replacing"
etcd_cert people && etcdctl_as root role add people >/dev/null &&
	etcdctl_as root role grant-permission people readwrite "$PREFIX/" --prefix=true >/dev/null &&
	etcdctl_as root user add people --no-password >/dev/null && etcdctl_as root user grant-role people people >/dev/null
check "control: tray-3's certificate writes its status" eval 'etcdctl_as tray-3 put "$PREFIX/node/tray-3/out/status" "{}" >/dev/null'
check "control: and reads what is for all" eval '[[ $(etcdctl_as tray-3 get --prefix --keys-only "$PREFIX/all/") ]]'
check "where the desk may not delete its user, the command is said" ends 0 'types .etcdctl user delete tray-3' \
	fleet expel tray-3 --key "$desk/alice.pem" --reason 'chassis opened' --cert "$pki/people.pem" --cert-key "$pki/people.key"
check "control: its certificate writes on" eval 'etcdctl_as tray-3 put "$PREFIX/node/tray-3/out/status" "{}" >/dev/null'
check "nor where somebody says --keep-user" eval 'ends 0 published fleet expel tray-3 --key "$desk/alice.pem" --keep-user --reason "chassis opened" && ! grep -q user "$ETCD_DIR/said" &&
	etcdctl_as tray-3 put "$PREFIX/node/tray-3/out/status" "{}" >/dev/null'
etcd_watch tray-3 "$PREFIX/all/"
check "control: its watch brings what is put" etcd_watch_brings "$PREFIX/all/"
check "alice alone expels tray-3; the others have it" ends 0 '2 of 2 trays have it' \
	fleet expel tray-3 --key "$desk/alice.pem" --reason 'chassis opened'
cp "$ETCD_DIR/said" "$ETCD_DIR/expelled"
: >"$ETCD_DIR/watch"
etcd_watch_brings "$PREFIX/all/" && note "etcd asks when a watch is opened: one that was open goes on"
etcd_watch_end
check "its user of the store is gone" grep -q 'user tray-3 of the store is deleted' "$ETCD_DIR/expelled"
for key in all/ part/ node/tray-3/in/ node/tray-3/out/ node/tray-1/in/; do
	refute "its certificate reads nothing of $key" etcdctl_as tray-3 get --prefix "$PREFIX/$key" 2>/dev/null
	refute "and watches nothing of $key anew" may_watch tray-3 "$PREFIX/$key"
done
for key in node/tray-3/out/status node/tray-3/out/alive node/tray-3/out/at all/doc/root/1 node/tray-1/out/status; do
	refute "and writes no $key" etcdctl_as tray-3 put "$PREFIX/$key" x 2>/dev/null
done
refute "nor makes itself a user" etcdctl_as tray-3 user add tray-3 --no-password 2>/dev/null
check "there is none to delete the second time" ends 0 'user tray-3 of the store does not exist' fleet expel tray-3 --key "$desk/alice.pem" --reason 'chassis opened'
check "as JSON, and its schema's" eval 'fleet expel tray-3 --key "$desk/alice.pem" --reason "chassis opened" --no-wait --json >"$ETCD_DIR/said"; judge --lines fleet-order <"$ETCD_DIR/said" && [[ $(value .store_user) == none ]]'
check "with her reason" eval 'cat "$ETCD_DIR"/tray-1/*-expulsion-tray-3 | doc_terms | jq -es "all(.[]; .reason == \"chassis opened\")" >/dev/null'
check "it is listed as expelled" ends 0 'tray-3 +yes +- +yes' fleet trays
check "nobody waits for it any more" ends 0 '2 of 2' revoke --all log
check "tray-1 is replaced: the old one out at once, the new one waits" ends 0 'enrolment/tray-1.*waits' \
	fleet replace tray-1 --log-key none --key "$desk/alice.pem"
check "and the store has no user tray-1 any more" grep -q 'user tray-1 of the store is deleted' "$ETCD_DIR/said"
check "control: the new one gets it again" eval 'etcdctl_as root user add tray-1 --no-password >/dev/null && etcdctl_as root user grant-role tray-1 tray-1 >/dev/null'
check "with the labels that it had" eval 'fleet approve enrolment/tray-1 --key "$desk/bob.pem" --yes >/dev/null && fleet trays --json | jq -e ".trays[0] | .labels == [\"rack=1\",\"row=b\"] and (.expelled | not)"'

note "What somebody else put into the store"
eves() { # type name number body option…
	echo "$4" >"$desk/eves.json"
	sign "$desk/eves.json" eve --type "$1" --fleet hall --name "$2" --number "$3" --for 30d --out "$desk/eves" "${@:5}"
}
lay() { etcdctl_as root put "$PREFIX/$1" >/dev/null; } # a key; its value on standard input
rm "$ETCD_DIR/tray-1/key" # the new DPU was enrolled without one
eves expulsion tray-2 9 '{"tray": "tray-2", "reason": "drill"}' --audience all && lay all/doc/expulsion/tray-2 <"$desk/eves"
check "an expulsion that nobody of the root signed leaves nobody out" ends 0 '2 of 2 trays have it' revoke --all log
check "and is named" grep -q 'tampering: expulsion/tray-2 in the store counts for nothing here: .*signed by 0' "$ETCD_DIR/said"
check "it is none in the list either" eval 'fleet trays --json >"$ETCD_DIR/said" 2>/dev/null && judge fleet-trays <"$ETCD_DIR/said" &&
	jq -e "[.trays[] | select(.expelled).tray] == [\"tray-3\"] and .tampering[0].document == \"expulsion/tray-2\"" "$ETCD_DIR/said" >/dev/null'
etcdctl_as root del "$PREFIX/all/doc/expulsion/tray-2" >/dev/null
etcdctl_as root get --print-value-only "$PREFIX/all/doc/expulsion/tray-1" | head -c -1 >"$desk/over"
lay all/doc/expulsion/tray-1 <"$desk/over"
check "one that is over, and was put there again, leaves nobody out either" ends 0 '2 of 2 trays have it' revoke --all log
refute "and is no forgery" grep -q tampering "$ETCD_DIR/said"
json_order
# shellcheck disable=SC2034 # of the next checks
name=$(value .document) number=$(value .document_version)
eves revocation "${name#*/}" 9000000000000000 '{"peers": ["nobody"], "reason": "drill"}' --audience all &&
	lay "all/doc/$name" <"$desk/eves"
check "no number is used up by what lies there" eval 'json_order && judge --lines fleet-order <"$ETCD_DIR/said" &&
	[[ $(value .document) == "$name" && $(value .document_version) -ge $number && $(value .document_version) -lt 9000000000000000 ]]'
check "which is named" eval '[[ $(value ".tampering[0].document") == "$name" ]]'
check "and what was ordered took its place" eval '[[ $(etcdctl_as root get --print-value-only "$PREFIX/all/doc/$name" | doc_terms | jq -c .peers) == "[\"web\"]" ]]'
echo '{"peers": ["nobody"], "reason": "drill"}' >"$desk/other.json"
sign "$desk/other.json" alice --type revocation --fleet hall --name "${name#*/}" --number 8000000000000000 --audience all --for 30d --out "$desk/other"
check "one that closes something else does not take the place of another person's" \
	ends 1 'of this name in the store closes something else' publish "$desk/other"
check "control: it has its own" eval 'json_order && [[ $(value .tampering) == "[]" ]]'
eves timestamp time 9000000000 '{}' --audience all --epoch 900 && lay all/doc/timestamp/time <"$desk/eves"
check "nor an epoch" eval 'json_order && [[ $(value .epoch) == 1 && $(value ".tampering[0].document") == timestamp/time ]]'
etcdctl_as root del "$PREFIX/all/doc/timestamp/time" >/dev/null
etcdctl_as root get --print-value-only "$PREFIX/node/tray-2/in/doc/enrolment/tray-2" | head -c -1 >"$desk/enrolled"
for junk in "$desk/eves" "$desk/root.json"; do
	lay node/tray-2/in/doc/enrolment/tray-2 <"$junk"
	check "whose enrolment was overwritten is not left out of its label: $(basename "$junk")" \
		ends 3 'tray-2 +silent +its status cannot be judged: .*: enrol it anew' revoke --label rack=0 web --unknown --timeout 3s
	check "it was told all the same" await 15 eval '[[ $(payload 2 | jq -c .peers) == "[\"web\"]" ]]'
	check "and it is named" grep -q 'tampering: enrolment/tray-2 in the store, of tray tray-2' "$ETCD_DIR/said"
done
check "nor replaced with labels that nobody knows" ends 1 'enrol tray-2 --label' fleet replace tray-2 --key "$desk/alice.pem"
etcdctl_as root del "$PREFIX/all/doc/expulsion/tray-2" >/dev/null
lay node/tray-2/in/doc/enrolment/tray-2 <"$desk/enrolled"

many=$(printf 'tray:m%u,' {1..70}) # more than were looked at once
make m2 2 "${many%,}"
check "control: a policy for seventy trays" ends 0 'published' publish "$desk/m2" --no-wait
make m1 1 "${many%,}"
check "an older one is refused here, however many they are" ends 1 'version 2 of epoch 1 is in the store' publish "$desk/m1" --no-wait
make m3 3 "${many%,}"
check "control: a newer one is not" ends 0 'published' publish "$desk/m3" --no-wait
etcdctl_as root del --prefix "$PREFIX/node/m" >/dev/null

note "What stands in the way"
check "a server that cannot be reached is said" ends 1 'https://10.77.1.2:1' ctl --fleet trays --conf "$desk/fleet.conf" --servers https://10.77.1.2:1
check "the next one is asked" ends 0 'tray-1' ctl --fleet trays --conf "$desk/fleet.conf" --servers "https://10.77.1.2:1,$(etcd_url 1)"
check "a store with holes is refused without a word for it" ends 1 'accept-etcd-holes' \
	ctl --fleet trays --servers "$(etcd_url 1)" --ca "$pki/ca.pem" --cert "$pki/root.pem" --cert-key "$pki/root.key" --conf /dev/null
check "a line of fleet.conf that is none is found" eval 'conf "colour = blue" && ends 1 "fleet.conf:8: unknown key .colour" fleet trays'
conf "root = $desk/root" "fleet = other"
check "a document of another fleet than the desk's is refused" ends 1 'this desk belongs to fleet other, not to fleet hall' publish "$desk/p8"
check "and nothing is made for it" ends 1 'this desk belongs to fleet other' revoke --all log
conf "root = $desk/root" "fleet = hall"
check "control: of its own it is not" ends 0 'published' publish "$desk/p8" --no-wait
check "a tray's certificate publishes nothing" ends 1 'permission denied|PermissionDenied|refuses' \
	publish "$desk/p8" --cert "$pki/tray-1.pem" --cert-key "$pki/tray-1.key"

note "A stolen certificate of a tray filled its own place, by a role of before: of a prefix"
for i in 1 2 3 4; do head -c 1400000 /dev/zero | tr '\0' x | etcdctl_as root put "$PREFIX/node/tray-3/out/big$i" >/dev/null; done
long=$(head -c 100000 /dev/zero | tr '\0' k)
for i in $(seq 45); do etcdctl_as root put "$PREFIX/node/tray-3/out/$long$i" x >/dev/null; done
filled() { [[ $(etcdctl_as root get --prefix "$1" "${@:2}" 2>&1 | wc -c) -gt $((4 << 20)) ]]; }
check "control: its names alone are more than an answer may be" filled "$PREFIX/node/tray-3/out/k" --keys-only
check "control: and its values" filled "$PREFIX/node/tray-3/out/big"
check "the desk sees every tray all the same" ends 0 'tray-1 +yes.*' fleet trays
check "and tray-3, too" grep -q '^tray-3' "$ETCD_DIR/said"
etcdctl_as root del --prefix "$PREFIX/node/tray-3/out/big" >/dev/null
etcdctl_as root del --prefix "$PREFIX/node/tray-3/out/k" >/dev/null

note "What a second person compares with"
approve_p() { fleet approve policy/p --key "$desk/bob.pem" --yes --no-wait; }
make p9 9 tray:tray-1
check "control: a policy waits for bob" ends 0 'waits for more signatures' publish "$desk/p9" --propose --no-wait
check "what one person published is nothing to compare with" ends 1 'published policy p is signed by 1.*' approve_p
check "and the list of what waits says so, and compares nothing" eval 'fleet pending --json >"$ETCD_DIR/said" && judge fleet-pending <"$ETCD_DIR/said" &&
	[[ $(jq -c ".documents[] | select(.document == \"policy/p\") | [.widens, .widening_count, .least_after_s, (.why | test(\"signed by 1\"))]" "$ETCD_DIR/said") == "[null,null,null,true]" ]]'
run approve_p
check "it says what to do" grep -q 'nothing was compared: give --against' "$ETCD_DIR/said"
refute "and bob has signed nothing" eval 'fleet pending | grep "policy/p" | grep_all bob'
ctl policy sign "$desk/p9" --key "$desk/bob.pem" >/dev/null
check "where two published it" ends 0 'published' publish "$desk/p9" --no-wait
in_force() { [[ $(etcdctl_as root get --print-value-only "$PREFIX/node/tray-1/out/status" | jq .policy.version) == "$1" ]]; }
check "control: and the tray holds it" await 40 in_force 9
make p10 10 tray:tray-1 29d # a second later than p9: with 30d it would end later, and widen
check "the next one waits" ends 0 'waits for more signatures' publish "$desk/p10" --propose --no-wait
check "the list says that it widens nothing" ends 0 'widens nothing' fleet pending
check "control: that is compared, and signed" ends 0 'widens nothing' approve_p
check "control: and the tray holds that" await 40 in_force 10
etcdctl_as root get --print-value-only "$PREFIX/node/tray-1/in/doc/policy/p" | head -c -1 >"$desk/held"
echo p >"$ETCD_DIR/tray-1/refuse" # as bwlimitd does with a version below the one it has
etcdctl_as root put "$PREFIX/node/tray-1/in/doc/policy/p" <"$desk/p9" >/dev/null
make p11 11 tray:tray-1 28d
check "one more waits" ends 0 'waits for more signatures' publish "$desk/p11" --propose --no-wait
check "an older one that somebody put back is nothing to compare with" \
	ends 1 'tray-1 holds policy p, version 10, and not the published p, version 9' approve_p
check "nor in the list of what waits" ends 0 'tray-1 holds policy p, version 10' fleet pending
rm "$ETCD_DIR/tray-1/refuse"
etcdctl_as root put "$PREFIX/node/tray-1/in/doc/policy/p" <"$desk/held" >/dev/null
sed -i 's/rate: 10mbit/rate: 50mbit/; s/rate: 1mbit } }$/rate: 40mbit } }/' "$desk/p.yaml"
check "control: what it holds is there again" await 40 in_force 10
make p12 12 tray:tray-1 27d
check "one that widens waits" ends 0 'waits for more signatures' publish "$desk/p12" --propose --no-wait
check "the list says in words what it widens, and the times of a theft" ends 0 '^  WIDENS, in 14 places' fleet pending --size 1gb
check "each place" eval 'grep -qE "^  \+ .*peer log, grant: rate: 1mbit -> 40mbit" "$ETCD_DIR/said" && grep -qE "^  [0-9.]+ ?[GM]i?B leave in at least .*; before, .*" "$ETCD_DIR/said"'
cp "$ETCD_DIR/said" "$ETCD_DIR/list"
run fleet approve policy/p --key "$desk/bob.pem" --size 1gb --no-wait </dev/null
check "which are the words of approve" eval '[[ -n $(grep "^  + " "$ETCD_DIR/said") ]] && diff <(grep "^  + " "$ETCD_DIR/said") <(grep "^  + " "$ETCD_DIR/list")'
check "as JSON: places, words, and times that differ" eval 'fleet pending --json >"$ETCD_DIR/said" && judge fleet-pending <"$ETCD_DIR/said" &&
	jq -e ".documents[] | select(.document == \"policy/p\") | .widens and .widening_count == 14 and (.widenings | length == 14) and .least_after_s < .least_before_s and .why == null" "$ETCD_DIR/said" >/dev/null'
done_testing
