#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A lease, with the real agent: no grant outlives it, whatever is killed or restarted; at its end the agent does
# what the policy says; every tool reports why nothing passes; the audit log has it.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-lease-$$ LAB_DESTS=1
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
lab_up || exit 1
export BWLIMIT_AUDIT_DIR=$LAB_TMP/audit
"$CTL" audit init --origin test/lease >/dev/null 2>&1

FILE=$LAB_TMP/desired.yaml
desired() { # tamper, lease
	lab_policy_head 1h <<-END
	lease: $2
	tamper: { $1 }
	peers:
	$(lab_peer d1 1 "grant: { rate: 5mbit }")
	END
}
agent() { lab_agent --policy "$FILE" --state-dir "$LAB_TMP/state"; }
die() {
	kill -KILL "$AGENT_PID"
	wait "$AGENT_PID" 2>/dev/null
}
ctl() { in_dpu "$CTL" "$@"; }
state() { [[ $("$CTL" --json peer show d1 | jq -r .state) == "$1" ]]; }
lease() { "$CTL" --json lease show | jq -e "$1" >/dev/null; }
said() { grep -q "\"event\":\"$1\".*$2" "$LAB_TMP/agent"; }
passes() { lab_both; }
stopped() { lab_silent; }
explains() { grep -q "$1" <<<"$(ctl explain "$HOST4" "$(lab_dest4 1)")"; }
recorded() { grep -q -- "$1" <<<"$("$CTL" audit show)"; }

desired 'lease: log' 1h >"$FILE"
lab_attach || exit 1
agent
lab_wait_for 30 state silent
check "without a lease since the maps were made no heartbeat is taken" lab_wait_for 30 said heartbeat 'no lease was given since the maps were made'
check "and nothing passes, IPv4 or IPv6" stopped
check "lease show says so" lease '.state == "never" and .ends_in_s == null and .longest_s == 3600'
check "explain says so, and what to do" explains 'no lease was given since the maps were made: bwlimit-ctl lease renew'
check "status says so" grep -q 'no lease was given since the maps were made' <<<"$("$LOAD" status)"
check "verify says so" grep -q 'floors apply: no lease was given' <<<"$(in_dpu "$LOAD" verify)"
ctl lease renew >"$LAB_TMP/renew" 2>&1 || note "$(cat "$LAB_TMP/renew")"
check "a renewal says for how long" grep -q 'renewed: ends in 1 h' "$LAB_TMP/renew"
check "and brings the grant back" lab_wait_for 30 state live
check "and traffic of both families" passes
check "lease show says when it ends" lease '.state == "live" and .ends_in_s > 3000 and .renewed_ago_s < 600'
ctl lease renew --for 2h >/dev/null 2>"$LAB_TMP/refused"
check "one that is longer than the policy allows is refused" test $? -eq 1
check "with what it may be" grep -q '1s to 1h' "$LAB_TMP/refused"
check "and changes nothing" lease '.ends_in_s > 3000'

# Its end, with action log: only the floor is left.
check "a shorter renewal is taken" ctl --json lease renew --for 2s
check "at its end nothing passes" lab_wait_for 30 stopped
check "lease show says that it has ended" lab_wait_for 30 lease '.state == "ended" and .ends_in_s <= 0'
check "it is a sign of tampering" lab_wait_for 30 said tamper 'lease: the lease ended, 2 s after it was renewed; action log'
check "explain says so" explains 'the lease has ended: bwlimit-ctl lease renew'
check "top says so" grep -q 'the lease has ended' <<<"$("$CTL" top --once)"
check "status says so" grep -q 'the lease has ended: every grant is at its floor' <<<"$("$LOAD" status)"
refute "no heartbeat is taken by hand either" ctl heartbeat
ctl lease renew >/dev/null
check "a renewal brings it back" lab_wait_for 30 passes

# With every daemon dead. The heartbeat is one hour.
ctl lease renew --for 2s >/dev/null
die
check "with the agent killed it ends all the same" lab_wait_for 30 stopped
check "and the grant is silent" state silent
refute "nobody renews it then" ctl lease renew
check "and the command says what to do" grep -q 'systemctl start bwlimitd' <<<"$(ctl lease renew 2>&1)"
end=$("$CTL" --json lease show | jq .ends_in_s)
agent
check "an agent that comes later acts on it" lab_wait_for 30 said tamper 'lease: the lease ended'
lease ".ends_in_s < $end" || note "the end moved: $end"
check "and its start lengthened nothing" lease ".state == \"ended\" and .ends_in_s < $end"
check "and the grant stays silent" state silent
die
agent
lab_wait_for 30 said heartbeat 'the lease has ended'
lab_wait_for 30 said ledger 'rows'
refute "each end is acted on once" said tamper 'lease:'

# revoke, clamp
desired 'lease: revoke' 1h >"$FILE.new" && mv "$FILE.new" "$FILE"
ctl lease renew >/dev/null
lab_wait_for 30 said policy 'put in force'
lab_wait_for 30 state live
ctl lease renew --for 1s >/dev/null
die
lab_wait_for 30 state silent
agent
check "revoke: an agent that comes after the end revokes every grant" lab_wait_for 30 state revoked
ctl lease renew >/dev/null
check "a renewal lifts no revocation" state revoked
ctl grant d1 reason again >/dev/null 2>&1
check "a grant does" lab_wait_for 30 state live
live "bwlimitd was killed and started again, the lease is renewed and the peer granted again"
desired 'lease: clamp' 1h >"$FILE.new" && mv "$FILE.new" "$FILE"
clamps() { [[ $(grep -c 'put in force' "$LAB_TMP/agent") -ge 2 ]]; }
lab_wait_for 30 clamps
ctl lease renew --for 1s >/dev/null
check "clamp: it is told as that" lab_wait_for 30 said tamper 'lease: .*action clamp'
ctl lease renew >/dev/null 2>"$LAB_TMP/floor"
check "a renewal then says that grants stay at their floors" grep -q 'grants stay at their floors: clamped after a sign of tampering' "$LAB_TMP/floor"
check "until the clamp is lifted" ctl heartbeat --lift
check "then it is live" lab_wait_for 30 state live

# A policy with a shorter lease.
desired 'lease: log' 1s >"$FILE.new" && mv "$FILE.new" "$FILE"
check "a policy with a shorter lease ends it sooner" lab_wait_for 30 lease '.state == "ended" and .longest_s == 1'
lab_stop "$AGENT_PID"
check "the audit log has the renewals" recorded 'lease renew --for 2s'
check "and what the agent did" recorded 'the lease was renewed: it ends 2s from now'
check "and the end" recorded 'the lease ended, 2 s after it was renewed'
done_testing
