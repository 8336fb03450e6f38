# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154 # a part of ipsec_test.sh, which shares its variables
# What `ipsec load` loads on one side and `ipsec render` writes for the other: renewals, revocations, a preshared key.
is_document() { ! can_judge || judge "$1" <"$LAB_TMP/out"; } # KIND
terminate() { # charon peer
	vici "$1" terminate "{\"ike\": \"bwl-${2/./"~"}\", \"force\": \"yes\", \"timeout\": \"-1\"}" >/dev/null 2>&1
	lab_wait_for 5 gone "$1" "$2"
}
charon_up a a && charon_up b b && lab_attach || exit 1
policy a 'trap|start' '' '  - { name: other, addresses: [203.0.113.0/24], path: clear, via: 192.0.2.254, grant: { rate: 1mbit } }' \
	>"$LAB_TMP/a.yaml"
policy b trap >"$LAB_TMP/b.yaml"

check "without the policy in force nothing is loaded" fails 1 ipsec load "$LAB_TMP/a.yaml" --vici "$A/vici"
check "which says so" says 'policy apply'
works policy apply "$LAB_TMP/a.yaml"
check "swanctl takes the rendered text" load_b
check "the policy is loaded" load_a
check "charon has one connection of ours" test "$(conns a)" = '["bwl-tray~3"]'
in_child() { "$VICI" --event list-conn "$A/vici" list-conns | jq -e ".[].children[] | $1" >/dev/null; }
check "its child has the hosts here and the prefixes there, of both families" in_child \
	'(."local-ts" | sort) == ["10.7.0.0/24","fd00:7::/64"] and (."remote-ts" | sort) == ["10.0.3.0/24","fd00:3::/64"]'
check "both DPUs authenticate each other with their certificates" eventually established a tray.3
check "the other side agrees" eventually established b tray-7
check "by ECDH P-384 and AES-256-GCM" test "$(jq -r '.["bwl-tray~3"] | [."encr-alg", ."encr-keysize", ."dh-group"] | join(" ")' \
	<<<"$("$VICI" --event list-sa "$A/vici" list-sas)")" = "AES_GCM_16 256 ECP_384"
# tray.3 is the second peer of the first policy after the maps were made
check "the policies in the kernel are bound to the peer's id in the pins" \
	test "$(in_ns a ip xfrm policy | sed -n 's/.*if_id //p' | sort -u)" = 0x2
check "status shows it in words" works ipsec status --vici "$A/vici"
check "with its state" says 'tray.3.*ESTABLISHED'
at80() {
	COLUMNS=80 LC_ALL=C.UTF-8 script -qec "$CTL ipsec status --vici $A/vici" /dev/null </dev/null >"$LAB_TMP/wide"
	grep -q 'tray.3.*ESTABLISHED' "$LAB_TMP/wide" && [[ $(LC_ALL=C.UTF-8 wc -L <"$LAB_TMP/wide") -le 80 ]] || { note "$(cat "$LAB_TMP/wide")"; return 1; }
}
check "within 80 columns of a terminal" at80
charon_mark a
check "the IKE_SA is rekeyed" works ipsec rekey tray.3 --ike --vici "$A/vici" --json
check "which is said in a document" is_document ipsec-rekey
check "and stays established" eventually charon_said a 'IKE_SA bwl-tray~3\[[0-9]*\] rekeyed'
works ipsec status --vici "$A/vici" --json
check "their state is a document" is_document ipsec-status
check "a peer that is not there cannot be rekeyed" fails 1 ipsec rekey nobody --vici "$A/vici"

# --- renewal
old=$(openssl x509 -in "$A/swanctl/x509/tray-7.pem" -noout -serial)
cp "$A/swanctl/x509/tray-7.pem" "$LAB_TMP/old.pem"
cp "$A"/swanctl/private/*.key "$LAB_TMP/old.key"
charon_mark a
check "a certificate is renewed" works pki renew tray-7 --ca "$CA" --out "$A/swanctl"
check "it is another one" test "$old" != "$(openssl x509 -in "$A/swanctl/x509/tray-7.pem" -noout -serial)"
check "the old one is still valid" quietly openssl verify -crl_check -CAfile "$CA/ca.pem" -CRLfile "$CA/crl.pem" \
	"$LAB_TMP/old.pem"
cp "$LAB_TMP/old.key" "$A/swanctl/private/left-over.key"
check "it is loaded" load_a
check "with one key: what has no certificate in the folder is not used" test "$(vici a get-keys | jq '.keys | length')" = 1
check "and the IKE_SA has lived through it" established a tray.3
refute "nothing was closed for it" charon_said a 'deleting IKE_SA\|closing CHILD_SA'
charon_mark b
terminate a tray.3
load_a
check "load makes the IKE_SA anew where there is none" eventually established a tray.3
new=$(openssl x509 -in "$A/swanctl/x509/tray-7.pem" -noout -serial | sed 's/serial=//')
check "with the new certificate" test "$("$VICI" --event list-cert "$B/vici" list-certs '{"type": "X509"}' |
	jq -r .data | sed 's/^0x//' | grep -ci "$new")" -ge 1

# --- a certificate from elsewhere, and a revoked one
works pki init --ca "$LAB_TMP/rogue"
mkdir -p "$LAB_TMP/good" && cp -r "$A/swanctl/." "$LAB_TMP/good"
rm -rf "$A"/swanctl/{x509,private}/*
works pki issue tray-7 --ca "$LAB_TMP/rogue" --out "$LAB_TMP/rogue-out"
cp "$LAB_TMP"/rogue-out/x509/* "$A/swanctl/x509" && cp "$LAB_TMP"/rogue-out/private/* "$A/swanctl/private"
terminate a tray.3
charon_mark b
check "a node with a self-made certificate of the same name loads it" load_a
check "and is refused" eventually charon_said b 'no trusted ECDSA public key found\|no issuer certificate found\|AUTH_FAILED'
refute "no IKE_SA comes of it" established b tray-7
rm -rf "$A"/swanctl/{x509,private}/*
cp -r "$LAB_TMP/good/." "$A/swanctl"
terminate a tray.3
load_a
check "the right one is accepted again" eventually established b tray-7

check "a node is revoked" works pki revoke tray.3 --ca "$CA"
check "twice does no harm" works pki revoke tray.3 --ca "$CA"
refute "openssl refuses it by the new CRL" quietly openssl verify -crl_check -CAfile "$CA/ca.pem" \
	-CRLfile "$CA/crl.pem" "$B/swanctl/x509/tray.3.pem"
cp "$CA/crl.pem" "$A/swanctl/x509crl/bwlimit.pem"
terminate a tray.3
charon_mark a
check "the CRL is loaded" load_a
check "charon refuses the revoked certificate, although it has an older CRL in its cache" \
	eventually charon_said a 'certificate was revoked'
refute "no IKE_SA comes of it" established a tray.3
check "what was revoked can be issued again" works pki issue tray.3 --ca "$CA" --out "$LAB_TMP/new-b"
rm -rf "$B"/swanctl/{x509,private}/*
cp -r "$LAB_TMP/new-b/." "$B/swanctl"
quietly swan b --load-creds --clear
load_a
check "and is accepted" eventually established a tray.3

# --- a preshared key on top
mkdir -p {"$A","$B"}/swanctl/ppk
sed -i 's/^ipsec: { /&ppk: site.1, /' "$LAB_TMP"/[ab].yaml
check "a preshared key that is not there is missed" fails 1 ipsec load "$LAB_TMP/a.yaml" --dir "$A/swanctl" --vici "$A/vici"
check "with the command that makes one" says 'openssl rand'
echo "secret = 0x$(openssl rand -hex 32)" >"$A/swanctl/ppk/site.1.conf"
cp "$A/swanctl/ppk/site.1.conf" "$B/swanctl/ppk/"
check "swanctl takes it from a file that the text includes" load_b
terminate a tray.3
check "charon gets it by VICI" load_a
check "and the IKE_SA is keyed with it" eventually established a tray.3
check "as both say" test "$("$CTL" ipsec status --vici "$A/vici" --json | jq -c '.ike_sas[0].ppk')" = true
echo "secret = 0x$(openssl rand -hex 32)" >"$B/swanctl/ppk/site.1.conf"
load_b
terminate a tray.3
charon_mark a
load_a
check "another key is refused" eventually charon_said a 'AUTHENTICATION_FAILED\|AUTH_FAILED'

# --- revocation
cp "$A/swanctl/ppk/site.1.conf" "$B/swanctl/ppk/"
load_b
terminate a tray.3
load_a
eventually established a tray.3
drop() { "$VICI" --drop "$A/vici" "$@" >"$LAB_TMP/out" 2>"$LAB_TMP/err"; }
dropped() { jq -e "$1" "$LAB_TMP/out" >/dev/null || { note "$(cat "$LAB_TMP/out" "$LAB_TMP/err")"; false; }; }
check "dropping a peer succeeds" drop 20000 tray.3
check "its connection went, and each step was timed" dropped '.conns == 1 and
	([.connect, .unload, .terminate, .verify, .credentials] | all(. > 0)) and (.posted | not)'
check "and the preshared key that nobody else uses" dropped '.secrets == 1'
check "charon has no SA of it at once" gone a tray.3
check "nor a connection" no_conns a
check "nor the kernel a policy" test "$(in_ns a ip xfrm policy | grep -c 'if_id 0x')" = 0
check "the other side was told" eventually gone b tray-7
charon_mark b
vici b initiate '{"ike": "bwl-tray-7", "timeout": "-1"}' >/dev/null 2>&1
check "and cannot come back" eventually charon_said b 'NO_PROPOSAL_CHOSEN\|AUTHENTICATION_FAILED'
refute "no SA comes of it" established a tray.3
check "dropping what is not there is no error" drop 20000 tray.3
check "and counts nothing" dropped '.conns == 0 and .sas == 0'

terminate b tray-7
load_a
eventually established a tray.3
# from the side that answered: unloading ends only what it had started itself
freeze_process "${CHARON_PID[a]}"
check "when the other side hangs, dropping succeeds all the same" \
	quietly "$VICI" --drop "$B/vici" 20000 tray-7
check "and the SA is gone here at once" gone b tray-7
kill -CONT "${CHARON_PID[a]}"
load_b
terminate a tray.3
load_a
eventually established a tray.3
freeze_process "${CHARON_PID[a]}"
# It is still stopped when that ends, so its time alone has ended it.
refute "with a charon that hangs it fails" drop 300 tray.3
check "says so" grep -q 'does not answer' "$LAB_TMP/err"
check "and leaves its orders" dropped .posted
kill -CONT "${CHARON_PID[a]}"
check "which charon carries out when it goes on" eventually gone a tray.3
check "all of them" eventually no_conns a

load_a
eventually established a tray.3
check "everything is dropped at once" drop 20000
check "by one order" dropped '.conns == 1'
check "nothing is left" no_conns a
load_a
kill -KILL "${CHARON_PID[a]}"
wait "${CHARON_PID[a]}" 2>/dev/null
refute "with a dead charon it fails" drop 20000 tray.3
check "at once, and says so" grep -q 'cannot reach charon' "$LAB_TMP/err"
charon_up a a
load_a

# --- refused until authorised again
works revoke tray.3
check "a revoked peer is left out" load_a
check "and that is said" says 'left out because they are revoked.*: 1'
check "charon knows it no more" no_conns a
works grant tray.3 rate 1gbit reason ticket 4711
check "once granted it is loaded again" works ipsec load "$LAB_TMP/a.yaml" --dir "$A/swanctl" --vici "$A/vici" --json
check "that is a document" is_document ipsec-load
check "as --json says" test "$(jq -c '[.connection_count, .revoked_count, .key_count]' "$LAB_TMP/out")" = '[1,0,1]'
check "one peer by name leaves others alone" works ipsec load "$LAB_TMP/a.yaml" tray.3 --dir "$A/swanctl" --vici "$A/vici"
check "a name that has no ipsec is refused" fails 1 ipsec load "$LAB_TMP/a.yaml" other --vici "$A/vici"
check "errors are JSON, too" fails 1 ipsec status --vici /nonexistent --json
check "with the next step" quietly jq -e '.error.todo | strings | length > 0' "$LAB_TMP/out"
check "the tree is JSON, too" works ipsec render "$LAB_TMP/a.yaml" --vici "$A/vici" --json
check "and a document" is_document ipsec-render
check "with ids of the pins" test "$(jq -c '[.if_id_from_pins, (.swanctl.connections[].children[].if_id_out)]' "$LAB_TMP/out")" = '[true,"2"]'

# --- leaving the policy
sed -i '/tray.3/d' "$LAB_TMP/a.yaml"
works policy apply "$LAB_TMP/a.yaml"
check "what the policy has no more is unloaded" load_a
check "nothing of ours is left in charon" no_conns a
check "nor any SA" gone a tray.3
check "nor a policy in the kernel" test "$(in_ns a ip xfrm policy | grep -c 'if_id 0x')" = 0
