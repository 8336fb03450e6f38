#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a person types, to a fleet: documents published, revocations, expulsions, enrolments with two signatures,
# and who has them. A real etcd, a real bwlimit-sync for each of three trays, each in a namespace of its own;
# in bwlimitd's place is tests/harness/fake_bwlimitd.py, which says in its status what it took.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${BWL_BUILD:-${here%/*/*}/build/release}
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
[[ -x $(command -v etcd) && -x $(command -v etcdctl) ]] ||
	{ echo '1..0 # SKIP no etcd: packaging/install-deps fleet'; exit 77; }
ETCD_DIR=$(mktemp -d) PREFIX=/bwl/v1 ETCD_N=1
LAB_TMP=$ETCD_DIR
# shellcheck source=../harness/etcd.sh
. "$here/../harness/etcd.sh"
# shellcheck source=../harness/documents.sh
. "$here/../harness/documents.sh"
pki=$ETCD_DIR/pki desk=$ETCD_DIR/desk
mkdir "$desk"
declare -A ours=()
tray_ns() { echo "bwl-verbs$$-$1"; }
finish() {
	local i
	kill "${ours[@]}"
	wait "${ours[@]}"
	for i in 1 2 3 4; do ip netns del "$(tray_ns "$i")"; done
	etcd_down
	rm -rf "$ETCD_DIR"
} 2>/dev/null
trap finish EXIT

CTL=$build/ctl/bwlimit-ctl
ctl() { in_net "$CTL" "$@"; }
fleet() { ctl --fleet "$@" --conf "$desk/fleet.conf"; }
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

tray_net() { # tray: a cable to `net`, where the store's cables are
	local ns
	ns=$(tray_ns "$1")
	ip netns add "$ns" && ip -n "$ns" link set lo up
	ip -n "$(etcd_ns net)" link add "tray$1" type veth peer name eth0 netns "$ns"
	ip -n "$(etcd_ns net)" addr add "10.78.$1.1/24" dev "tray$1"
	ip -n "$(etcd_ns net)" link set "tray$1" up
	ip -n "$ns" addr add "10.78.$1.2/24" dev eth0
	ip -n "$ns" link set eth0 up
	ip -n "$ns" route add default via "10.78.$1.1"
	ip -n "$(etcd_ns 1)" route replace 10.78.0.0/16 via 10.77.1.1
}
stop() { # name
	kill "${ours[$1]}" && wait "${ours[$1]}"
	unset "ours[$1]"
} 2>/dev/null
tray_start() { # tray
	[[ -z ${ours[agent$1]:-} ]] || stop "agent$1"
	local at=$ETCD_DIR/tray-$1
	mkdir -p "$at"
	"$here/../harness/fake_bwlimitd.py" "$at.sock" "$at" "tray-$1" >"$at.out" 2>&1 &
	ours[agent$1]=$!
	await 5 grep -q ready "$at.out"
	nsenter --net="/run/netns/$(tray_ns "$1")" "$build/sync/bwlimit-sync" --servers "$(etcd_url 1)" --tray "tray-$1" \
		--ca "$pki/ca.pem" --cert "$pki/tray-$1.pem" --key "$pki/tray-$1.key" --agent "$at.sock" \
		--accept-etcd-holes >"$at.sync" 2>&1 &
	ours[sync$1]=$!
}
connected() { grep -q '^connected' "$ETCD_DIR/tray-$1.sync"; }

# The fleet's people, and its root.
key_of() { "$CTL" --json key show "$desk/$1.pem" | jq -r ".$2"; }
entry() { printf '"%s": {"public": "%s", "owner": "%s"}' "$(key_of "$1" key_id)" "$(key_of "$1" raw_public_key)" "$1"; }
ids() { printf '"%s", "%s"' "$(key_of alice key_id)" "$(key_of bob key_id)"; }
sign() { # file key option…
	"$CTL" policy sign "$1" --key "$desk/$2.pem" "${@:3}" >/dev/null
}
people() {
	local k
	for k in alice bob eve controller; do "$CTL" key new "$desk/$k.pem" >/dev/null || return; done
	cat >"$desk/root.json" <<-END
		{ "keys": { $(entry alice), $(entry bob), $(entry controller) },
		  "roles": { "root": { "threshold": 2, "keys": [$(ids)] }, "policy": { "threshold": 2, "keys": [$(ids)] },
		    "online": { "threshold": 1, "keys": ["$(key_of controller key_id)"] } } }
	END
	sign "$desk/root.json" alice --type root --fleet hall --name root --number 1 --for 365d --out "$desk/root" &&
		sign "$desk/root" bob
}
conf() { # line…
	printf '%s\n' "# the fleet" "servers = $(etcd_url 1)" "ca = $pki/ca.pem" "cert = $pki/root.pem" \
		"key = $pki/root.key" "accept-etcd-holes = yes" "$@" >"$desk/fleet.conf"
}

check "control: a store, three trays and two people" eval \
	'etcd_up >/dev/null && etcd_auth >/dev/null && people && for i in 1 2 3; do etcd_tray tray-$i >/dev/null && tray_net $i && tray_start $i || exit; done'
for i in 1 2 3; do check "control: tray-$i is connected" await 15 connected "$i"; done
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
make() { # out number audience
	cp "$desk/p.yaml" "$desk/$1.yaml"
	sign "$desk/$1.yaml" alice --fleet hall --name p --number "$2" --audience "$3" --for 30d
	mv "$desk/$1.yaml.signed" "$desk/$1"
}
publish() { ctl policy publish "$@" --conf "$desk/fleet.conf"; }
check "the root is published, and all three have it" ends 0 '3 of 3 trays have it' publish "$desk/root"
make p5 5 tray:tray-1
check "a policy for one tray" ends 0 '1 of 1 trays have it' publish "$desk/p5"
check "with a warning that one signature only tightens" grep -q 'signed by 1 of the 2 who may widen' "$ETCD_DIR/said"
refute "which the others are not given" got 2 policy-p
check "control: tray-1 has it" got 1 policy-p
check "the same again is no error" ends 0 '1 of 1' publish "$desk/p5"
make p4 4 tray:tray-1
check "an older one is refused here" ends 1 'version 5 of epoch 1 is in the store' publish "$desk/p4"
cp "$desk/p.yaml" "$desk/p.yaml.was" && sed -i 's/10mbit/9mbit/' "$desk/p.yaml"
make p5x 5 tray:tray-1
check "the same version with another text, too" ends 1 'with another text' publish "$desk/p5x"
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
check "one that is in parts takes the place of one that is not" ends 0 '1 of 1' publish "$desk/p7"
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
check "whoever asks for it as JSON gets what its schema says" eval 'fleet pending --json | judge fleet-pending'
check "alice again is not enough" ends 0 'waits for more signatures|^$' fleet approve enrolment/tray-1 --key "$desk/alice.pem" --yes --no-wait
check "bob approves: it is published, and the tray has it" ends 0 '1 of 1 trays have it' \
	fleet approve enrolment/tray-1 --key "$desk/bob.pem" --yes
check "and waits no more" ends 0 'enrolment/tray-2' fleet pending
refute "not that one" grep -q 'tray-1,' "$ETCD_DIR/said"
check "the other, too" ends 0 '1 of 1' fleet approve enrolment/tray-2 --key "$desk/bob.pem" --yes
check "trays and their state are listed" ends 0 'tray-1 +yes +yes' fleet trays
check "as JSON with their labels" eval 'fleet trays --json >"$ETCD_DIR/said" && judge fleet-trays <"$ETCD_DIR/said" && [[ $(jq -c ".trays[0].labels" "$ETCD_DIR/said") == "[\"rack=1\",\"row=b\"]" ]]'

note "Revoking"
revoke() { fleet revoke "$@" --key "$desk/alice.pem"; }
check "a peer on all trays" ends 0 '3 of 3 trays have it' revoke --all log
payload() { jq -r .payload "$ETCD_DIR/tray-$1"/*-revocation-* | tail -n 1 | base64 -d; }
check "which is what was signed" eval '[[ $(payload 1 | jq -c .peers) == "[\"log\"]" ]]'
check "every grant of one tray" ends 0 '1 of 1' revoke --tray tray-2
check "which is what was signed" eval '[[ $(payload 2 | jq -c .all) == true ]]'
check "of a label" ends 0 '1 of 1' revoke --label rack=1 web
check "of a label that nobody has: an error" ends 1 'no tray of the store' revoke --label rack=77 web
check "the peers of a zone, by the published policies" ends 0 '1 of 1' revoke --tray tray-1 --zone external
check "which are those" eval '[[ $(jq -r .payload "$ETCD_DIR"/tray-1/*-revocation-* | while read -r p; do base64 -d <<<"$p" | jq -c .peers; done) == *"[\"log\",\"web\"]"* ]]'
check "of a zone that no policy has: an error" ends 1 "no policy of these trays has a peer in zone 'nowhere'" revoke --all --zone nowhere
check "nobody's: wrong use" ends 2 'say whose' revoke log
json_order() { fleet revoke --all web --key "$desk/alice.pem" --json >"$ETCD_DIR/said"; }
check "as JSON: lines of the waiting, and the end" eval 'json_order && judge --lines fleet-order <"$ETCD_DIR/said"'
check "all have acknowledged, with the digest that was signed" eval \
	'[[ $(value ".acknowledged_count") == 3 && $(value ".trays[0].state") == acknowledged ]]'
check "one that says the same has the same name, and a higher version" eval \
	'a=$(value ".document") v=$(value ".document_version") && json_order && [[ $(value ".document") == "$a" && $(value ".document_version") -gt $v ]]'
check "another one has another name" eval 'revoke --all other --json >"$ETCD_DIR/said" && [[ $(value ".document") != "$a" ]]'

note "Who has not said so"
touch "$ETCD_DIR/tray-2/not-in-force"
check "one that took it and has something not in force is named: exit code 3" \
	ends 3 'tray-2 +it took it, and says that something is not in force' revoke --all w
check "control: all have it" grep -q '3 of 3 trays have it' "$ETCD_DIR/said"
rm "$ETCD_DIR/tray-2/not-in-force"
echo -n >"$ETCD_DIR/tray-3/refuse"
name=$(fleet revoke --all x --key "$desk/alice.pem" --json | tail -n 1 | jq -r .document)
echo "${name#*/}" >"$ETCD_DIR/tray-3/refuse"
check "a tray that refuses it: exit code 3, and its reason" ends 3 'tray-3 +refused +a newer one was taken' \
	revoke --all x --timeout 5s
rm "$ETCD_DIR/tray-3/refuse"
stop sync3
gone() { [[ -z $(etcdctl_as root get --keys-only "$PREFIX/node/tray-3/out/alive") ]]; }
check "a tray that cannot be reached: exit code 3" ends 3 'tray-3 +silent' revoke --all y --timeout 2s
check "control: the others have it" grep -q '2 of 3 trays have it' "$ETCD_DIR/said"
check "as JSON it is said until when it holds what it has, and its schema's" eval \
	'fleet revoke --all z --key "$desk/alice.pem" --timeout 2s --json >"$ETCD_DIR/said"; judge --lines fleet-order <"$ETCD_DIR/said" && [[ $(value ".silent_count") == 1 ]]'
tray_start 3
check "back, it has what it missed" await 15 eval '[[ $(ls "$ETCD_DIR"/tray-3/*-revocation-* | wc -l) -ge 3 ]]'

note "Expelling, and replacing"
check "alice alone expels tray-3; the others have it" ends 0 '2 of 2 trays have it' \
	fleet expel tray-3 --key "$desk/alice.pem" --reason 'chassis opened'
check "with her reason" eval '[[ $(jq -r .payload "$ETCD_DIR"/tray-1/*-expulsion-tray-3 | base64 -d | jq -r .reason) == "chassis opened" ]]'
check "it is listed as expelled" ends 0 'tray-3 +yes +- +yes' fleet trays
check "nobody waits for it any more" ends 0 '2 of 2' revoke --all log
check "tray-1 is replaced: the old one out at once, the new one waits" ends 0 'enrolment/tray-1.*waits' \
	fleet replace tray-1 --key "$desk/alice.pem"
check "with the labels that it had" eval 'fleet approve enrolment/tray-1 --key "$desk/bob.pem" --yes >/dev/null && fleet trays --json | jq -e ".trays[0] | .labels == [\"rack=1\",\"row=b\"] and (.expelled | not)"'

note "What stands in the way"
check "a server that cannot be reached is said" ends 1 'https://10.77.1.2:1' ctl --fleet trays --conf "$desk/fleet.conf" --servers https://10.77.1.2:1
check "the next one is asked" ends 0 'tray-1' ctl --fleet trays --conf "$desk/fleet.conf" --servers "https://10.77.1.2:1,$(etcd_url 1)"
check "a store with holes is refused without a word for it" ends 1 'accept-etcd-holes' \
	ctl --fleet trays --servers "$(etcd_url 1)" --ca "$pki/ca.pem" --cert "$pki/root.pem" --cert-key "$pki/root.key" --conf /dev/null
check "a line of fleet.conf that is none is found" eval 'conf "colour = blue" && ends 1 "fleet.conf:7: .colour. is nothing" fleet trays'
conf "root = $desk/root" "fleet = other"
check "a document of another fleet than the desk's is refused" ends 1 'of fleet hall, and this desk is of fleet other' publish "$desk/p8"
check "and nothing is made for it" ends 1 'this desk is of fleet other' revoke --all log
conf "root = $desk/root" "fleet = hall"
check "control: of its own it is not" ends 0 'published' publish "$desk/p8" --no-wait
check "a tray's certificate publishes nothing" ends 1 'permission denied|PermissionDenied|refuses' \
	publish "$desk/p8" --cert "$pki/tray-1.pem" --cert-key "$pki/tray-1.key"

note "What a second person compares with"
approve_p() { fleet approve policy/p --key "$desk/bob.pem" --yes --no-wait; }
make p9 9 tray:tray-1
check "control: a policy waits for bob" ends 0 'waits for more signatures' publish "$desk/p9" --propose --no-wait
check "what one person published is nothing to compare with" ends 1 'published policy p is signed by 1.*' approve_p
check "it says what to do" grep -q 'nothing was compared; say --against' "$ETCD_DIR/said"
refute "and bob has signed nothing" eval 'fleet pending | grep "policy/p" | grep -q bob'
ctl policy sign "$desk/p9" --key "$desk/bob.pem" >/dev/null
check "where two published it" ends 0 'published' publish "$desk/p9" --no-wait
make p10 10 tray:tray-1
check "the next one waits" ends 0 'waits for more signatures' publish "$desk/p10" --propose --no-wait
check "control: that is compared, and signed" ends 0 'widens nothing' approve_p
done_testing
