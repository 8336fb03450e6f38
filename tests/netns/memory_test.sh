#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The memory of signed documents is removed or replaced by an old copy, with the real agent, traffic and a TPM
# (swtpm): nothing is above the floor, there is an alarm, and only a newer enrolment, signed by two people, is the way
# out. With a TPM even if the whole state directory is old; without one that is not found.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-memory-$$ LAB_DESTS=1
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
# shellcheck source=../harness/tpm.sh
. "$here/tpm.sh"
# shellcheck source=../harness/boot.sh
. "$here/boot.sh"
lab_up || exit 1
# shellcheck source=../harness/people.sh
. "$here/people.sh"
STATE=$LAB_TMP/state FILE=$LAB_TMP/desired.yaml
mkdir "$STATE"
export BWLIMIT_STATE_DIR=$STATE BWLIMIT_POLICY=$FILE BWLIMIT_JOURNAL_DIR=$STATE/journal
"$CTL" journal init >/dev/null 2>&1
TPM_MODE=none AGENT_PID=
ATTACH=("$LOAD" attach --drill --max-peers 4096)
lab_policy_head 1h >"$FILE" <<-END
	peers:
	$(lab_peer d1 1 "grant: { rate: 5mbit }")
END
agent() {
	lab_agent --policy "$FILE" --state-dir "$STATE" --tpm "$TPM_MODE" --tpm-every 1s --history-size 0b --totals none
}
no_agent() { kill -KILL "$AGENT_PID"; wait "$AGENT_PID"; AGENT_PID=; } 2>/dev/null
boot() { power_off; attach || note "$(cat "$LAB_TMP/err")"; agent; }
told() { lab_wait_for 20 said alert memory "$1"; }
clamped() { lab_wait_for 30 lab_silent; }
works() { lab_wait_for 30 lab_both; }
enrol() { # number
	rm -f "$STATE/signed.json"
	people_enrolment "$1" && "$ENROL" "$STATE" "$FLEET/root" "$FLEET/enrolment"
}

# The ledger knows this memory. bwlimitd looks once a second; while it runs nobody else may open its database, so a copy
# is read.
recorded() {
	rm -rf "$LAB_TMP/ledger" && mkdir "$LAB_TMP/ledger" && cp "$STATE/ledger.db"* "$LAB_TMP/ledger" &&
		/usr/bin/python3 - "$LAB_TMP/ledger/ledger.db" "$STATE/signed.json" <<-'END'
		import json, sqlite3, struct, sys
		row = sqlite3.connect(sys.argv[1]).execute("SELECT spent, slots FROM spent WHERE key = 'signed'").fetchone()
		memory = json.loads(open(sys.argv[2], encoding="utf-8").read().partition("\n")[2])
		version = max(i["version"] for i in memory["accepted"] if i["type"] == "enrolment")
		sys.exit(row is None or (row[0], struct.unpack_from("<Q", row[1], 8)[0]) != (memory["seq"], version))
		END
}

people_root
in_dpu "${ATTACH[@]}" --fresh-volume >/dev/null 2>&1
agent
check "control: packets pass" works
refute "control: where nothing was enrolled nothing is missing" grep -q '"event":"memory"' "$LAB_TMP/agent"
enrol 1
marked() { [[ $("$CTL" --json heartbeat 2>/dev/null | jq -r .error.id) == enrolled-widens ]]; }
check "enrolled while it runs" lab_wait_for 20 marked
check "packets pass" works
echo '{}' >"$LAB_TMP/time.json"
people_sign "$LAB_TMP/time.json" "$LAB_TMP/time" controller --type timestamp --name time --number 1 --for 1h
"$ENROL" "$STATE" "$LAB_TMP/time" || exit 1
cp "$STATE/signed.json" "$LAB_TMP/first.json"
check "control: the ledger knows it" lab_wait_for 30 recorded

# --- while it runs, and over restarts and boots, without a TPM
rm "$STATE/signed.json"
check "taken away it is an alarm" told 'it was removed'
check "and nothing passes" clamped
refute "nobody lifts that by hand" ctl heartbeat --lift
cp "$LAB_TMP/first.json" "$STATE/signed.json"
check "control: the very same again is believed" works
no_agent
rm "$STATE/signed.json"
agent
check "taken away while no agent ran" told 'it was removed'
check "nothing passes then" clamped
no_agent
power_off
attach
agent
check "taken away over a boot" told 'it was removed'
check "nothing passes then, too" clamped
enrol 1
no_agent
agent
check "the old enrolment is no way out" told 'the ledger knows a newer one'
check "and nothing passes" lab_silent
enrol 2
check "a newer one, which two people signed, is" works
check "and it is said" lab_wait_for 20 said notice memory 'enrolled again'
cp "$STATE/signed.json" "$LAB_TMP/second.json"
check "control: the ledger knows it" lab_wait_for 30 recorded
cp "$LAB_TMP/first.json" "$STATE/signed.json"
check "an old copy is an alarm" told 'old copy'
check "and nothing passes with it" clamped
cp "$LAB_TMP/second.json" "$STATE/signed.json"
check "control: the newest one" works
echo x >>"$STATE/signed.json"
check "a damaged one is an alarm" told 'it is damaged'
check "and nothing passes with that" clamped
cp "$LAB_TMP/second.json" "$STATE/signed.json"
check "control: whole again" works
live "the newest memory is back, bwlimitd having been killed meanwhile"

# --- with a TPM: the whole old state directory
[[ $("$AGENT" --version) == *tpm2-tss* ]] || { skip "an old state directory is found out" "built without tpm2-tss"; done_testing; exit; }
no_agent
tpm_begin
TPM_MODE=required
boot
check "with a TPM packets pass" works
check "the ledger is bound to it" lab_wait_for 20 said notice tpm 'is bound to the counter'
no_agent
cp -a "$STATE" "$LAB_TMP/copy"
counted() { cat "$TPM"/tpm2-* | sha256sum; } # the TPM's own memory
before=$(counted)
boot
check "control: after a boot they pass" works
check "control: its counter was raised" lab_wait_for 30 eval '[[ $(counted) != "$before" ]]'
enrol 3
check "control: enrolled anew they pass" works
live "the DPU has lost its power, and attach and bwlimitd have run"
check "control: the ledger knows it" lab_wait_for 30 recorded
no_agent
rm -rf "$STATE" && cp -a "$LAB_TMP/copy" "$STATE"
boot
check "a whole state directory of before is found out" told 'the TPM knows an earlier ledger'
check "and nothing passes with it" clamped
done_testing
