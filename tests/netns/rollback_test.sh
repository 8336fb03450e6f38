#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# An old copy of the whole state directory, restored while the DPU is off, opens nothing if a TPM (swtpm)
# has a counter for it (docs/journal.md): attach finds it before a host port opens, or leaves the maps closed for
# bwlimitd to find it. The current state opens what was open, and nothing else: the control for each case.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-roll-$$ LAB_DESTS=2
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
# shellcheck source=../harness/boot.sh
. "$here/boot.sh"
# shellcheck source=../harness/tpm.sh
. "$here/tpm.sh"
export ASAN_OPTIONS=detect_leaks=0
[[ $("$AGENT" --version) == *tpm2-tss* ]] || {
	skip "an old copy of the state directory is found out" "built without tpm2-tss"
	done_testing
	exit
}
lab_up || exit 1
STATE=$LAB_TMP/state AGENT_PID=
export BWLIMIT_JOURNAL_DIR=$STATE/journal
mkdir "$STATE"
{
	echo "peers:"
	lab_peer d1 1 "grant: { rate: 10mbit, burst: 1mb }"
	lab_peer d2 2 "grant: { rate: 10mbit, burst: 1mb, volume: 100mb }"
} | lab_policy_head 1h >"$LAB_TMP/policy.yaml"
ATTACH=("$LOAD" attach --drill --fresh-volume --max-peers 64 --policy "$LAB_TMP/policy.yaml")

agent() {
	rm -f "$LAB_TMP/agent" # what the last one said
	lab_bg agent dpu "$AGENT" --policy "$LAB_TMP/policy.yaml" --state-dir "$STATE" --history-size 0b --totals none --json
	AGENT_PID=$LAB_PID
}
attaches() { attach && ctl heartbeat; }
warns() { grep -q "$1" "$LAB_TMP/err"; }
switch() { [[ $("$LOAD" status --json | jq -r .switch) == "$1" ]]; }
# The current state is bound to the TPM's counter.
is_bound() { cmp -s "$STATE/journal/bound" "$LAB_TMP/bound" && return 1; cp "$STATE/journal/bound" "$LAB_TMP/bound"; }
moves() { # what of the journal is done; until it is bound
	cp "$STATE/journal/bound" "$LAB_TMP/bound"
	"$@" && lab_wait_for 20 is_bound
}
copy() { # name
	rm -rf "${LAB_TMP:?}/$1" && cp -a "$STATE" "$LAB_TMP/$1"
}
put() { # name
	rm -rf "$STATE" && cp -a "$LAB_TMP/$1" "$STATE"
}

tpm_begin
attaches
ctl journal init
ctl stop --off
ctl grant d1 reason begun
ctl grant d2 reason begun
agent
check "the journal is bound to the TPM's counter" lab_wait_for 20 test -e "$STATE/journal/bound"
check "revoke d1" moves ctl revoke d1
check "stop" moves ctl stop
power_off
copy stopped
attaches
check "the journal's stop holds" switch stopped
agent
check "stop --off" moves ctl stop --off
check "a peer that nobody revoked passes" ready 2
power_off
copy old

# Closed since then: d2; and d1 was granted.
check "the state as it was attaches" attaches
check "by itself: nobody else is to judge" switch running
refute "without a warning" warns journal
check "a revoked peer stays closed" is_closed 1
check "the other passes" ready 2
agent
check "grant d1" moves ctl grant d1 reason again
check "revoke d2" moves ctl revoke d2
power_off
copy now

put old
attaches
check "an old copy: attach says so" warns 'cannot be trusted.*old copy'
check "once" test "$(grep -c 'cannot be trusted' "$LAB_TMP/err")" -eq 1
check "and has stopped everything" switch stopped
check "the peer that it has open is closed" is_closed 2
check "the other too" is_closed 1
refute "verify fails" lab_verifies
check "and says why" sh -c "nsenter --net=/run/netns/$LAB-dpu $LOAD verify | grep -q 'journal of closures cannot be trusted'"
check "for who looks it is cut" journal '.state == "cut"'
power_off

put now
check "the state of now attaches" attaches
check "and is open" switch running
check "who was granted last passes" ready 1
live "the DPU has lost its power, and attach has run"
check "who was revoked last does not" is_closed 2
power_off

# The current ledger with the old journal folder: found by its binding.
rm -rf "$STATE/journal" && cp -a "$LAB_TMP/old/journal" "$STATE/journal"
attaches
check "an old copy of the journal alone: attach says so" warns 'cannot be trusted.*old copy'
check "and everything is closed" is_closed 2
power_off

# Without its TPM attach cannot tell.
put now
tpm_down
attaches
check "without its TPM attach says that it cannot say it" warns 'is an old copy: the TPM at'
check "and waits for bwlimitd" switch unjudged
check "closed" is_closed 1
check "as verify says" sh -c "nsenter --net=/run/netns/$LAB-dpu $LOAD verify | grep -q 'bwlimitd has not yet compared the journal'"
refute "stop --off does not open it" ctl stop --off
agent
check "bwlimitd cannot say it either" lab_wait_for 40 said alert journal "before the TPM answers"
check "closed still" is_closed 1
tpm_up
check "until the TPM answers" lab_wait_for 20 switch running
check "who was granted last passes" ready 1
live "the TPM answers again, and bwlimitd has judged the journal"
check "who was revoked last does not" is_closed 2
power_off

# The old journal without its binding, and the current ledger, which knows.
rm -r "$STATE/journal" && cp -a "$LAB_TMP/old/journal" "$STATE/journal" && rm "$STATE/journal/bound"
attaches
check "an old journal that is bound to none: attach cannot say it" warns 'not bound to it'
check "and waits for bwlimitd" switch unjudged
agent
check "which finds it by the ledger" lab_wait_for 20 said alert journal 'cannot be trusted.*old copy'
check "what it has open is closed" is_closed 2
power_off

# The whole old state again.
tpm_down
put old
attaches
check "the old copy without the TPM: closed" is_closed 2
tpm_up
agent
check "bwlimitd finds it" lab_wait_for 20 said alert journal 'cannot be trusted.*old copy'
check "and stops" lab_wait_for 20 switch stopped
check "what it has open is closed" is_closed 2
check "for who looks it is cut" journal '.state == "cut"'
power_off

# The TPM answers only the second attach; the first one has put in force what the old copy has open.
tpm_down
put old
attaches
check "the old copy without the TPM: unjudged" switch unjudged
tpm_up
attaches
check "the second attach finds it" warns 'cannot be trusted.*old copy'
check "and revokes what the first had put in force" test "$(state_of d2)" = revoked
check "a new journal is begun" ctl journal init
check "stop --off" ctl stop --off
check "who was revoked since is closed" is_closed 2
check "but a grant opens it" ctl grant d2 reason control
check "as packets show" ready 2
power_off

# Attach finds it, and reaches no policy: a new journal does not know what was open.
put old
in_dpu "$LOAD" attach --drill --max-peers 64 --host hpf0 --uplink p0 >"$LAB_TMP/out" 2>"$LAB_TMP/err"
check "attach without a policy finds it" warns 'cannot be trusted.*old copy'
check "a new journal is begun" ctl journal init
check "with everything closed" journal '.stopped and (.prefixes | length == 2)'
attaches
ctl stop --off
check "what it had open is closed" is_closed 2
check "the other too" is_closed 1
power_off

# An old copy that says stop.
tpm_down
put stopped
attaches
check "an old copy that says stop: stopped" switch stopped
refute "stop --off does not open it" ctl stop --off
tpm_up
agent
check "bwlimitd finds it" lab_wait_for 20 said alert journal 'cannot be trusted.*old copy'
is_revoked() { [[ $(state_of "$1") == revoked ]]; }
check "and revokes what it has open" lab_wait_for 20 is_revoked d2
power_off

# And neither is known.
rm -r "$STATE" && mkdir "$STATE" && cp -a "$LAB_TMP/old/journal" "$STATE/journal" && rm "$STATE/journal/bound"
attaches
agent
check "an old journal without ledger: bwlimitd finds that nothing vouches for it" \
	lab_wait_for 20 said alert journal 'cannot be trusted.*neither ledger nor journal'
check "what it has open is closed" is_closed 2

# From there.
check "a new journal is begun" ctl journal init
check "it is bound" lab_wait_for 20 test -e "$STATE/journal/bound"
check "stop --off" ctl stop --off
check "grant d1" moves ctl grant d1 reason anew
check "who was granted passes" ready 1
check "who was not does not" is_closed 2
power_off
check "and so it attaches" attaches
check "by itself" switch running
check "who was granted passes" ready 1
check "who was not does not" is_closed 2
power_off

# An operator states that there is no TPM any more.
tpm_down
BWLIMIT_TPM=none attaches
check "BWLIMIT_TPM=none: nobody is asked" switch running
check "who was granted passes" ready 1
done_testing
