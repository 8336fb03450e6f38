# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154 # a part of ipsec_test.sh, which shares its variables
# `bwlimit-ipsecd charon`: charon has what the policy says, whatever happens to charon, the policy, revocations and
# certificates. It looks once a second, and waits longer before it asks again.
keep() { # name [option…]: of the charon and its policy
	lab_bg "keep.$1" dpu "${FAST[@]}" "$IPSECD" charon "$LAB_TMP/$1.yaml" --dir "$(charon_dir "$1")/swanctl" \
		--vici "$(charon_socket "$1")" --timeout 2s "${@:2}"
}
did() { jq -se "[.[] | select($1)] | length" "$LAB_TMP/keep.a"; }
has() { [[ $(conns a) == "$1" ]]; }
# On a busy machine both an attempt and the next one may succeed.
ike_sa_up() { "$CTL" ipsec status tray-3 --vici "$A/vici" --json 2>/dev/null |
	jq -e '[.ike_sas[] | select(.state == "ESTABLISHED")] | length >= 1' >/dev/null; }

SAID=("$LAB_TMP/keep.a" "$LAB_TMP/keep.a.err")
# By their names tray-3 is who is to ask.
PEER=tray-3
rm -rf "$B/swanctl"
works pki issue "$PEER" --ca "$CA" --out "$B/swanctl"
policy a auto >"$LAB_TMP/a.yaml"
policy b auto >"$LAB_TMP/b.yaml"

# --- before there is anything
keep a --json
KEEP=$LAB_PID
said() { grep -c "$1" "$LAB_TMP/keep.a.err"; }
check "without programs it waits, and says so" eventually said 'not attached\|bwlimit-load attach\|no such\|cannot open'
lab_attach
check "without a policy, too" eventually said 'policy'
quietly in_dpu "$CTL" policy apply "$LAB_TMP/a.yaml"
check "without charon, too" eventually said 'cannot reach charon'
lab_bg looks dpu strace -qq -e signal=none -e trace=connect -o "$LAB_TMP/looks" -p "$KEEP"
looked() { [[ $(grep -c "$A/vici" "$LAB_TMP/looks") -ge 3 ]]; } # the last one may go on, two are over
check "control: it looks again and again" eventually looked
lab_stop "$LAB_PID"
check "and each once" test "$(said 'cannot reach charon')" -eq 1
charon_up a a && charon_up b b
check "a charon that starts gets its connections" eventually has '["bwl-tray-3"]'
load_b
check "and an IKE_SA: who is to ask asks again, although the other side refused at first" eventually ike_sa_up

# --- charon dies
charon_kill a
said_again() { [[ $(said 'cannot reach charon') -ge 2 ]]; }
check "that charon is gone is said" eventually said_again
charon_up a a
check "one that was killed gets them again" eventually has '["bwl-tray-3"]'
check "and its IKE_SA" eventually ike_sa_up
charon_kill a
charon_up a a
check "and again" eventually ike_sa_up
loads=$(did '.event == "loaded"')
vici a unload-conn '{"name": "bwl-tray-3"}' >/dev/null
check "a connection that somebody unloads comes back" eventually has '["bwl-tray-3"]'
vici a load-conn '{"bwl-evil": {"remote_addrs": ["192.0.2.66"]}}' >/dev/null
check "one of ours that is no peer's is unloaded" eventually has '["bwl-tray-3"]'
vici a load-conn '{"other": {"remote_addrs": ["192.0.2.66"]}}' >/dev/null
vici a load-conn '{"bwl-evil": {"remote_addrs": ["192.0.2.66"]}}' >/dev/null # that goes once it has looked at both
check "one that is not ours is left alone" eventually has '["bwl-tray-3","other"]'
vici a unload-conn '{"name": "other"}' >/dev/null
loaded_again() { [[ $(did '.event == "loaded"') -ge $((loads + 3)) ]]; }
check "which it says" eventually loaded_again # after it is done

# --- charon hangs
freeze_process "${CHARON_PID[a]}"
check "a charon that hangs is said" eventually said 'does not answer'
kill -CONT "${CHARON_PID[a]}"
check "and survived" eventually ike_sa_up

# --- revocation
quietly in_dpu "$CTL" revoke tray-3 --vici "$A/vici"
check "a revoked peer is unloaded" eventually no_conns a # a look that began before may load it once more
more_evil() { vici a load-conn '{"bwl-evil": {"remote_addrs": ["192.0.2.66"]}}' | jq -e '.success == "yes"' >/dev/null; }
check "control: one of ours that is no peer's is there" more_evil
check "and stays out when it looks again" eventually no_conns a
quietly in_dpu "$CTL" grant tray-3 rate 1gbit reason ticket 4711
check "granted again it is loaded, and asked" eventually ike_sa_up
check "by nobody else" has '["bwl-tray-3"]'

# --- the policy and the certificates
serial() {
	"$VICI" --event list-cert "$B/vici" list-certs '{"type": "X509"}' | jq -r .data | sed 's/^0x//' | grep -ci "$1"
}
loads=$(did '.event == "loaded"')
quietly "$CTL" pki renew tray-7 --ca "$CA" --out "$A/swanctl"
more_loads() { [[ $(did '.event == "loaded"') -gt $loads ]]; }
check "a renewed certificate is loaded" eventually more_loads
vici a terminate '{"ike": "bwl-tray-3", "timeout": "-1"}' >/dev/null 2>&1
check "an IKE_SA that ends is made anew" eventually ike_sa_up
new=$(openssl x509 -in "$A/swanctl/x509/tray-7.pem" -noout -serial | sed 's/serial=//')
has_new() { [[ $(serial "$new") -ge 1 ]]; }
check "with that certificate" eventually has_new
loads=$(did '.event == "loaded"')
sed -i 's/tray-3/tray-9/; s/192\.0\.2\.3/192.0.2.9/' "$LAB_TMP/a.yaml"
check "a file that is not yet the policy in force is waited for" eventually said 'tray-9 is not in the policy in force'
check "with nothing lost" has '["bwl-tray-3"]'
quietly in_dpu "$CTL" policy apply "$LAB_TMP/a.yaml"
check "applied, it holds in charon" eventually has '["bwl-tray-9"]'
lab_stop "$KEEP"
check "it ends when asked to" test ! -d "/proc/$KEEP"
! can_judge || check "what it printed are documents" judge --lines ipsec-keep <"$LAB_TMP/keep.a"
check "one policy file is enough" test "$("$IPSECD" charon a b >/dev/null 2>&1; echo $?)" = 2
