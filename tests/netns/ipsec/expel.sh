# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154 # a part of ipsec_test.sh, which shares its variables
# A tray is expelled: on another tray its SAs, connection and traffic are gone at once, even with a hanging charon, and its
# certificate is no longer accepted; on the tray itself its long-lived key is destroyed, on disk and in charon, and a sign of
# tampering does the same if the policy says `destroy`.
EXPEL=$LAB_BUILD/tests/harness/bwl-expel
keys() { vici "$1" get-keys | jq '.keys | length'; }
charon_up a a && charon_up b b && lab_attach || exit 1
policy a 'trap|start' >"$LAB_TMP/a.yaml"
policy b 'trap|start' >"$LAB_TMP/b.yaml"
up() {
	works policy apply "$LAB_TMP/a.yaml"
	works grant tray.3 reason again
	load_b
	load_a
	eventually established a tray.3
}
expel() { in_dpu "$EXPEL" "$A/vici" "$A/swanctl" "$@" >"$LAB_TMP/out" 2>"$LAB_TMP/err"; }
revoked() { [[ $("$CTL" --json peer show tray.3 | jq -r .state) == revoked ]]; }

# --- on another tray: tray.3 is expelled, and a is told
ask() { swan b --initiate --timeout 20 --child bwl-tray-7; }
# Without ESP its CHILD_SA fails, whoever asks: the IKE_SA says whether it was let in.
gets_one() { ask >"$LAB_TMP/ask" 2>&1; established b tray-7; }
asks_anew() { swan b --terminate --ike bwl-tray-7 --timeout 20 >"$LAB_TMP/ask" 2>&1; gets_one; }
check "control: both have an SA" up
check "control: the other end, which asks, gets one" eventually asks_anew
check "who is expelled is gone" expel 20000 tray.3
check "its grant" revoked
check "its SA here" gone a tray.3
check "its connection" no_conns a
check "and its SA there, which was told" eventually gone b tray-7
charon_mark a
ask >"$LAB_TMP/ask" 2>&1 # with a certificate that is still good
check "its certificate is taken no more: there is no connection for it" eventually charon_said a 'no IKE config found\|no matching peer config'
check "and there is no SA" gone a tray.3
check "what loads connections leaves it out" load_a
check "still" no_conns a
check "who is not in the maps is no error" expel 20000 tray-9

check "control: granted again they have an SA" up
freeze_process "${CHARON_PID[a]}"
check "with a charon that hangs it is done all the same" expel 300 tray.3
check "the map is closed, which nothing passes" revoked
check "that charon hangs is said" grep -q 'does not answer' "$LAB_TMP/out"
kill -CONT "${CHARON_PID[a]}"
check "and charon does it when it goes on" eventually gone a tray.3
charon_kill a
works grant tray.3 reason again
check "with a dead one, too" expel 300 tray.3
check "the map is closed then" revoked
charon_up a a

# --- on itself
check "control: they have an SA" up
check "control: charon has a key" test "$(keys a)" = 1
key=$(ls "$A"/swanctl/private/*.key)
ln "$key" "$LAB_TMP/linked.key"
mkdir -p "$A/swanctl/ppk" && echo 'secret = 0x00' >"$A/swanctl/ppk/x"
check "on the expelled tray itself" expel 20000 --us
check "every grant is revoked" revoked
check "the key is gone" test ! -e "$key"
check "and was overwritten: another name for it has nothing" test ! -s "$LAB_TMP/linked.key"
check "preshared secrets are gone, too" test ! -e "$A/swanctl/ppk/x"
check "certificates stay: they are no secret" test -s "$A/swanctl/x509/tray-7.pem"
check "charon has no key" test "$(keys a)" = 0
check "and no SA" gone a tray.3
works grant tray.3 reason again
load_a
refute "with the grant back the other end, which asks, gets none" gets_one
check "and it has no SA any more" gone a tray.3
check "it may be said again" expel 20000 --us

# --- if charon hangs: by the key's id
works pki issue tray-8 --ca "$CA" --out "$A/swanctl"
load_a
check "control: charon has a new key" test "$(keys a)" = 1
freeze_process "${CHARON_PID[a]}"
check "with a charon that hangs files are destroyed all the same" expel 300 --us
check "and the key is gone" test -z "$(ls "$A/swanctl/private")"
kill -CONT "${CHARON_PID[a]}"
no_key() { [[ $(keys a) == 0 ]]; }
check "charon drops it when it goes on" eventually no_key

# --- a sign of tampering, if the policy says destroy; bwlimitd uses charon at the default place, so not here
works pki issue tray-9 --ca "$CA" --out "$A/swanctl"
policy a trap 'tamper: { command: destroy, program: revoke }' >"$LAB_TMP/a.yaml"
mkdir "$LAB_TMP/state"
works policy apply "$LAB_TMP/a.yaml"
works grant tray.3 reason again
SWANCTL_DIR=$A/swanctl lab_bg agent dpu "$AGENT" --policy "$LAB_TMP/a.yaml" --state-dir "$LAB_TMP/state" --tpm none \
	--history-size 0b --totals none --json
AGENT_PID=$LAB_PID
lab_wait_for 30 grep -q '"event":"start"' "$LAB_TMP/agent"
lab_wait_for 30 grep -q '"event":"policy"' "$LAB_TMP/agent"
check "control: there is a key" test -n "$(ls "$A/swanctl/private")"
check "the policy says destroy" works tamper the case was opened
check "it is said what was done" grep -q 'destroy: every peer' "$LAB_TMP/out"
check "every grant is revoked" revoked
destroyed() { [[ -z $(ls "$A/swanctl/private") ]]; }
check "and the key is destroyed" lab_wait_for 30 destroyed
check "with an alarm" lab_wait_for 30 grep -q '"level":"alert".*"event":"keys".*keys are destroyed: 1 file' "$LAB_TMP/agent"
lab_stop "$AGENT_PID"
works pki issue tray-10 --ca "$CA" --out "$A/swanctl"
works grant tray.3 reason again
tamper_again() {
	env SWANCTL_DIR="$A/swanctl" nsenter --net="/run/netns/$LAB-dpu" "$CTL" tamper --policy "$LAB_TMP/a.yaml" again >"$LAB_TMP/out" 2>&1
}
check "without bwlimitd the command does it" tamper_again
check "the key is destroyed" destroyed
check "and every grant revoked" revoked

# --- by document: bwlimitd uses charon at the default place, so that place is redirected here, for it only
# shellcheck source=../../harness/people.sh
. "$here/../harness/people.sh"
policy a 'trap|start' >"$LAB_TMP/a.yaml"
echo '  - { name: other, addresses: [198.51.100.9/32], path: clear, via: 192.0.2.3, grant: { rate: 1mbit } }' >>"$LAB_TMP/a.yaml"
rm -rf "$A/swanctl"/{x509,private,conf.d}/* "$LAB_TMP/state"
mkdir "$LAB_TMP/state"
works pki issue tray-7 --ca "$CA" --out "$A/swanctl"
check "control: with a new key they have an SA" up
people_enrol "$LAB_TMP/state" || exit 1
READ_ONLY= # a folder in which it can destroy nothing
own_run() { # a /run with its charon, and the rest of bwlimit's
	READ_ONLY=$READ_ONLY lab_bg "$1" dpu unshare --mount sh -c '
		mkdir -p "$1/bwlimit" /run/bwlimit && mount --bind /run/bwlimit "$1/bwlimit" && ln -sf "$2" "$1/charon.vici" &&
		mount --rbind "$1" /run && shift 2 &&
		{ [ -z "$READ_ONLY" ] || { mount --bind "$READ_ONLY" "$READ_ONLY" && mount -o remount,bind,ro "$READ_ONLY"; }; } &&
		exec "$@"' sh "$LAB_TMP/run" "$A/vici" "${@:2}"
}
export BWLIMIT_STATE_DIR=$LAB_TMP/state
SOCKET=/run/bwlimit/${LAB_PINS##*/}.documents
by_document() { # log [what runs it…]
	SWANCTL_DIR=$A/swanctl own_run "$1" "${@:2}" "$AGENT" --policy "$LAB_TMP/a.yaml" --state-dir "$LAB_TMP/state" --tpm none \
		--history-size 0b --totals none --json
	AGENT_PID=$LAB_PID
	lab_wait_for 60 grep -q '"event":"start"' "$LAB_TMP/$1" && lab_wait_for 60 test -S "$SOCKET"
}
by_document documents
check "control: they have it still" established a tray.3
echo '{"tray": "tray.3", "reason": "stolen"}' >"$LAB_TMP/out.json"
people_sign "$LAB_TMP/out.json" "$FLEET/out" alice --type expulsion --name tray.3 --number 1 --for 1d
told_and_gone() {
	local at
	at=$(date +%s%N)
	"$LAB_HERE/give_document.py" "$SOCKET" expulsion/tray.3 "$FLEET/out" >"$LAB_TMP/out" 2>&1 || return 1
	revoked && lab_wait_for 15 gone a tray.3 && lab_wait_for 15 no_conns a || return 1
	note "$((($(date +%s%N) - at) / 1000000)) ms until map, SA and connection were seen gone"
}
check "one person's document expels it here" told_and_gone
check "its grant" revoked
check "its SA" gone a tray.3
check "its connection" eventually no_conns a
check "and it was told" eventually gone b tray-7
charon_mark a
ask >"$LAB_TMP/ask" 2>&1
check "its certificate, which is good, is taken no more" eventually charon_said a 'no IKE config found\|no matching peer config'
lab_stop "$AGENT_PID"

# --- the tray itself, by document: enough people, a failing disk, and a bwlimitd that is killed before it acknowledges
echo '{"tray": "tray-7", "reason": "stolen"}' >"$LAB_TMP/us.json"
expelled_by() { # people
	people_sign "$LAB_TMP/us.json" "$FLEET/us" "$1" --type expulsion --name tray-7 --number 1 --for 1d &&
		"$LAB_HERE/give_document.py" "$SOCKET" expulsion/tray-7 "$FLEET/us" >"$LAB_TMP/out" 2>&1
}
all_revoked() { [[ $("$CTL" --json peer list | jq -c '[.peers[].state] | unique') == '["revoked"]' ]]; }
refused() { grep -q '"level":"alert".*"event":"keys".*could not be destroyed.*Read-only' "$LAB_TMP/$1"; }
key=$(ls "$A"/swanctl/private/*.key)
READ_ONLY=$A/swanctl/private by_document refusing
check "control: it has a key, and something is open" eval 'test -s "$key" && ! all_revoked'
freeze_process "${CHARON_PID[a]}"
check "two people expel this tray" expelled_by alice,bob
check "everything is revoked, whatever the disk does, and a charon that hangs" all_revoked
check "that a key could not be destroyed is an alarm" lab_wait_for 60 refused refusing
check "and that charon hangs" lab_wait_for 60 grep -q '"event":"keys".*charon: .*does not answer' "$LAB_TMP/refusing"
kill -CONT "${CHARON_PID[a]}"
kill -KILL "$AGENT_PID"
wait "$AGENT_PID" 2>/dev/null
rm -f "$SOCKET"
check "control: killed then, it has left the key" test -s "$key"
READ_ONLY=$A/swanctl/private by_document again "${FAST[@]}"
check "started again, it tries again, although the document was taken" lab_wait_for 60 refused again
check "and everything is revoked" all_revoked
check "control: the key is there while the disk refuses" test -s "$key"
nsenter --mount --target "$AGENT_PID" umount --lazy "$A/swanctl/private"
check "then it is gone, within the minute that was told" lab_wait_for 60 destroyed
check "with an alarm" lab_wait_for 60 grep -q '"level":"alert".*"event":"keys".*keys are destroyed: 1 file' "$LAB_TMP/again"
lab_stop "$AGENT_PID"
