#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The ceremony of docs/fleet.md with the tool: two people make keys and a root, one signs a policy, the other sees
# what it widens and signs it, too. And what a thief of one key can do with the same commands.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_dir=${BWL_SOURCE:-${here%/*/*/*}} build=${BWL_BUILD:-${here%/*/*/*}/build/release}
# shellcheck source=../../harness/tap.sh
. "$here/../../harness/tap.sh"
CTL=$build/ctl/bwlimit-ctl
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp" || exit 1
cp "$source_dir/packaging/examples/lab.yaml" was.yaml
sed 's/external: { rate: 100mbit/external: { rate: 200mbit/' was.yaml >wider.yaml
sed 's/external: { rate: 100mbit/external: { rate: 50mbit/' was.yaml >narrower.yaml

ctl() { "$CTL" "$@"; }
says() { # pattern, command…; on stdout or stderr
	local out
	out=$("${@:2}" 2>&1)
	grep -qE -- "$1" <<<"$out" || { note "$out"; return 1; }
}
fails() { # pattern, command…
	local out
	out=$("${@:2}" 2>&1) && { note "it did not fail: $out"; return 1; }
	grep -qE -- "$1" <<<"$out" || { note "$out"; return 1; }
}
field() { # key, field
	ctl --json key show "$1.pem" | python3 -c 'import json,sys; print(json.load(sys.stdin)[sys.argv[1]])' "$2"
}
sign() { # file, key, name, number, option…
	ctl policy sign "$1" --key "$2.pem" --fleet hall-3 --name "$3" --number "$4" --for 30d "${@:5}"
}

for k in alice bob eve controller; do
	check "$k makes a key" says 'key id +[0-9a-f]{64}' ctl key new "$k.pem"
done
check "a key is for its owner alone" [ "$(stat -c %a alice.pem)" = 600 ]
check "and never written over another" fails 'never overwrites' ctl key new alice.pem
chmod 644 eve.pem
check "one that others may read is refused" fails 'chmod 600' ctl key show eve.pem
chmod 600 eve.pem

entry() { printf '"%s": {"public": "%s", "owner": "%s"}' "$(field "$1" key_id)" "$(field "$1" raw_public_key)" "$1"; }
cat >root.json <<END
{ "keys": { $(entry alice), $(entry bob), $(entry controller) },
  "roles": {
    "root":   { "threshold": 2, "keys": ["$(field alice key_id)", "$(field bob key_id)"] },
    "policy": { "threshold": 2, "keys": ["$(field alice key_id)", "$(field bob key_id)"] },
    "online": { "threshold": 1, "keys": ["$(field controller key_id)"] } } }
END
check "alice signs the root" says 'root root, version 1' sign root.json alice root 1 --type root --out root
check "which is none yet" fails 'signed by 1 people .* but 2 must' ctl policy verify root
check "bob signs it" says 'signed by' ctl policy sign root --key bob.pem
check "now it is one" says 'verified +2 of the people of role root' ctl policy verify root

check "alice signs a policy that is wider" says 'version 5' sign wider.yaml alice tray-7 5 --audience tray:tray-7
check "alone she widens nothing" says 'may tighten, and widens nothing' ctl policy verify wider.yaml.signed --root root
check "it is for its tray" says 'verified' ctl policy verify wider.yaml.signed --root root --tray tray-7
check "and no other" fails 'this is tray tray-8' ctl policy verify wider.yaml.signed --root root --tray tray-8
check "bob sees what it widens" says 'zone external: rate: 100mbit -> 200mbit' \
	ctl approve wider.yaml.signed --root root --against was.yaml
check "and in which time something could leave" says 'leave in at least .*; before, ' \
	ctl approve wider.yaml.signed --root root --against was.yaml
check "alice is no second person" fails 'alice has signed it already' \
	ctl approve wider.yaml.signed --root root --against was.yaml --key alice.pem --yes
check "nor is who has no role" fails 'has no role policy' \
	ctl approve wider.yaml.signed --root root --against was.yaml --key eve.pem --yes
check "nor is the controller" fails 'has no role policy' \
	ctl approve wider.yaml.signed --root root --against was.yaml --key controller.pem --yes
check "without a terminal and --yes nothing is signed" says '^not signed' \
	ctl approve wider.yaml.signed --root root --against was.yaml --key bob.pem </dev/null
check "bob signs" says '^signed' ctl approve wider.yaml.signed --root root --against was.yaml --key bob.pem --yes
check "then it may widen" says 'verified +2 of the people of role policy$' ctl policy verify wider.yaml.signed --root root

cp was.yaml asks.yaml
check "a document asks for more than limits" says 'version 7' sign asks.yaml alice tray-7 7 --stages --opens d1,d2 --fresh-volume \
	--break-glass --offline-for 1h --lease-most 2h
for what in 'opens d1, which is closed' 'opens d2' 'volumes begin unspent' 'when a rollout of the controller says so' 'breaks glass' \
	'signed time for 1h' 'renew leases for 2h' 'd1: revocation: closed -> open' 'fresh_volume: volumes'; do
	check "approve says: $what" says "$what" ctl approve asks.yaml.signed --root root --against was.yaml
done
check "and programs read it" says '^\[\["d1","d2"\],true,true,true,3600.*,7200' sh -c "'$CTL' --json approve asks.yaml.signed --root root \
	--against was.yaml | jq -c '[.opens_peer_names, .fresh_volume, .stages, .break_glass, .offline_for_s, .lease_most_s]'"
check "a name that is none is refused" fails 'list of names' sign asks.yaml alice tray-7 8 --opens 'd1,,d2' --out no
check "and what its type has not" fails 'not known' sign root.json alice root 2 --type root --stages --out no

check "one person tightens" says "version 6" sign narrower.yaml bob tray-7 6
check "which widens nothing" says 'widens nothing: one person suffices' \
	ctl approve narrower.yaml.signed --root root --against was.yaml
check "back again is widening" says 'WIDENS' ctl approve wider.yaml.signed --root root --against narrower.yaml
check "what one person signed is nothing to compare with: it might be wider than what holds" fails 'is signed by only 1 person' \
	ctl approve wider.yaml.signed --root root --against narrower.yaml.signed
check "a longer end is too" says 'not_after' sh -c "'$CTL' policy sign was.yaml --key alice.pem --fleet hall-3 \
	--name tray-7 --number 7 --for 1d --out short >/dev/null; '$CTL' policy sign short --key bob.pem >/dev/null; '$CTL' policy sign was.yaml --key alice.pem --fleet hall-3 \
	--name tray-7 --number 8 --for 30d --out long >/dev/null; '$CTL' approve long --root root --against short"

echo '{ "peer": "backup", "limit": { "rate": "5gbit" }, "reason": "ticket 4711" }' >grant.json
sed -n 's/^ *- name: *//p' was.yaml | head -1 >peer
sed -i "s/backup/$(cat peer)/" grant.json
check "a grant is compared as the policy that it comes to" says 'grant: rate: .* -> 5gbit|grant: volume' sh -c "'$CTL' policy sign \
	grant.json --type grant --key alice.pem --fleet hall-3 --name g --number 1 --for 2h >/dev/null; '$CTL' approve \
	grant.json.signed --root root --against was.yaml"
check "what eve signs is nobody's" fails 'signed by 0 of the people' sh -c "'$CTL' policy sign wider.yaml --key eve.pem \
	--fleet hall-3 --name tray-7 --number 9 --for 1d --out eve >/dev/null; '$CTL' policy verify eve --root root"
check "the controller's key signs no policy" fails 'signed by 0 of the people' sh -c "'$CTL' policy sign wider.yaml \
	--key controller.pem --fleet hall-3 --name tray-7 --number 9 --for 1d --out c >/dev/null; '$CTL' policy verify c --root root"
echo '{ "for": "2h", "policy": "'"$(printf '%064d' 0)"'" }' >lease.json
check "but a lease" says 'verified +1 of the people of role online' sh -c "'$CTL' policy sign lease.json --type lease \
	--key controller.pem --fleet hall-3 --name tray-7 --number 1 --for 1h >/dev/null; '$CTL' policy verify lease.json.signed --root root"
check "a document of another fleet is refused" fails 'for fleet hall-4' sh -c "'$CTL' policy sign was.yaml --key alice.pem \
	--fleet hall-4 --name tray-7 --number 9 --for 1d --out other >/dev/null; '$CTL' policy verify other --root root"
check "a policy that does not read is not signed" fails 'bad.yaml:1' sh -c "echo 'x: 1' >bad.yaml; '$CTL' policy sign bad.yaml \
	--key alice.pem --fleet hall-3 --name tray-7 --number 9 --for 1d"
check "errors have an id" says '"id": "signed-audience"' ctl --json policy verify wider.yaml.signed --root root --tray tray-8

# --- a running bwlimitd alone writes signed.json
cat >listen.py <<'END'
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
s.settimeout(20) # the test does not wait for who never comes
print("ready", flush=True)
try:
    s.accept()[0].close()
finally:
    os.unlink(sys.argv[1])
END
name=bwl-silent-$$
if mkdir -p /run/bwlimit 2>/dev/null && [[ -w /run/bwlimit ]]; then
	sha=$(ctl --json policy verify root | python3 -c 'import json,sys; print(json.load(sys.stdin)["digest"])')
	echo "{\"tray\": \"tray-7\", \"root\": \"$sha\"}" >enrolment.json
	sign enrolment.json alice tray-7 1 --type enrolment --audience tray:tray-7 --out enrolment >/dev/null
	ctl policy sign enrolment --key bob.pem >/dev/null
	export BWLIMIT_STATE_DIR=$tmp/state BWLIMIT_PIN_DIR=/sys/fs/bpf/$name BWLIMIT_AUDIT_DIR=
	exec 3< <(exec python3 listen.py "/run/bwlimit/$name.documents" 2>/dev/null)
	read -r -t 30 <&3
	check "where bwlimitd is there and gives no answer nothing is enrolled" fails 'bwlimitd runs, but did not answer' \
		ctl enrol root enrolment --sha256 "$sha"
	check "and nothing written" [ ! -e state/signed.json ]
	read -r -t 30 <&3 # until it has ended
	check "control: where none is there this tool does it" says 'enrolled: tray tray-7' ctl enrol root enrolment --sha256 "$sha"
	check "in the state directory" [ -e state/signed.json ]
else
	skip "where bwlimitd is there and gives no answer nothing is enrolled" "needs /run/bwlimit"
fi

done_testing
