#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# bwlimitd keeps the desired policy in force and renews the heartbeat, and undoes nobody else's work.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-agent-$$ LAB_DESTS=1
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
lab_up || exit 1

STATE=$LAB_TMP/state FILE=$LAB_TMP/desired.yaml
policy() { # rate heartbeat
	{
		echo "peers:"
		lab_peer sink 1 "grant: { rate: $1 }"
		lab_peer other 2 "grant: { rate: 3mbit }"
	} | lab_policy_head "${2:-}"
}
desire() { # as an editor does: a new file takes the old one's place
	policy "$@" >"$FILE.new" && mv "$FILE.new" "$FILE"
}
agent() { # in the background; sets AGENT_PID
	lab_bg agent dpu "$AGENT" --policy "$FILE" --state-dir "$STATE" --json
	AGENT_PID=$LAB_PID
}
once() { in_dpu "$AGENT" --policy "$FILE" --state-dir "$STATE" --json --once >"$LAB_TMP/once"; }
rate_is() { # peer rate
	[[ $("$CTL" --json policy show | jq -r ".peers[] | select(.peer == \"$1\").grant.rate_bits_per_second") == "$2" ]]
}
# It renews the heartbeat so often: it has then done what it was told of before the second time.
control() { bpftool -j map lookup pinned "$LAB_PINS/maps/bwl_ctl_v1" key 0 0 0 0 | jq -c .value; }
renewed() { [[ $(control) != "$was" ]]; }
beats() { # times
	local i was
	for ((i = 0; i < $1; i++)); do
		was=$(control)
		lab_wait_for 30 renewed || return
	done
}
said() { grep -q "\"event\":\"$1\".*$2" "$LAB_TMP/agent"; }

desire 1mbit
agent
check "an agent without maps waits and says so" lab_wait_for 5 said detached "nothing is attached"
check "it does not end" kill -0 "$AGENT_PID"
lab_attach || exit 1
check "after attach it puts the desired policy in force" lab_wait_for 5 rate_is sink 1000000
desire 2mbit
check "a changed file is in force at once" lab_wait_for 5 rate_is sink 2000000
echo 'version: 2' >"$FILE"
check "a file that is wrong is reported with its line" lab_wait_for 5 said policy 'desired.yaml:1'
check "and changes nothing" rate_is sink 2000000
desire 4mbit
check "the next right one is in force" lab_wait_for 5 rate_is sink 4000000

in_dpu "$CTL" peer set other rate 5mbit >/dev/null
in_dpu "$CTL" revoke other reason test >/dev/null 2>&1
lab_stop "$AGENT_PID"
check "an edit and a revocation stay when the agent comes back" \
	sh -c "cd /; nsenter --net=/run/netns/$LAB-dpu $AGENT --policy $FILE --state-dir $STATE --once &&
		$CTL --json policy show | jq -e '.peers[] | select(.peer == \"other\") |
			.grant.rate_bits_per_second == 5000000 and .revoked'"
desire 6mbit
check "a file that changed while no agent ran is put in force" once
check "it is" rate_is sink 6000000
check "what was revoked stays revoked" \
	sh -c "$CTL --json policy show | jq -e '.peers[] | select(.peer == \"other\").revoked'"
policy 7mbit >"$LAB_TMP/by-hand.yaml"
in_dpu "$CTL" policy apply "$LAB_TMP/by-hand.yaml" >/dev/null 2>&1
once
check "what was applied by hand stays until the file changes" rate_is sink 7000000
rm -r "$STATE"
once
check "an agent that remembers nothing leaves the policy in force alone" rate_is sink 7000000
check "and says so" grep -q 'is not the desired one' "$LAB_TMP/once"

# The kernel has no memory for an entry of a map, six times for each of three attempts, and twice more.
desire 9mbit
lab_bg agent dpu env ASAN_OPTIONS=verify_asan_link_order=0 BWL_REFUSE_MAP=bwl_own_ BWL_REFUSE_TIMES=20 \
	LD_PRELOAD="$LAB_BUILD/tests/harness/bwl-refuse.so" "$AGENT" --policy "$FILE" --state-dir "$STATE" --json
check "a policy that the kernel has no memory for is in force soon, and not after three minutes" \
	lab_wait_for 20 rate_is sink 9000000
check "until then it says which entry of which map was refused, and what is in force" \
	said policy 'entry 1 of [0-9]* of map bwl_own_v1.*tried 6 times; nothing of it is in force: the policy before stays'
live "a policy that the kernel had no memory for is in force"
lab_stop "$LAB_PID"

desire 8mbit 2s
agent
lab_wait_for 5 rate_is sink 8000000
is_live() { "$CTL" --json peer show sink | jq -e '.state == "live"'; }
check "the agent renews a heartbeat of 2 s" lab_wait_for 5 is_live
check "again and again" beats 5
check "for as long as it lives" lab_wait_for 5 is_live
kill -KILL "$AGENT_PID"
wait "$AGENT_PID" 2>/dev/null
is_silent() { "$CTL" --json peer show sink | jq -e '.state == "silent"'; }
check "killed, its grants fall silent at the deadline" lab_wait_for 5 is_silent
agent
check "its return repairs that" lab_wait_for 5 is_live
live "bwlimitd is started again, and has renewed the heartbeat"

in_host ping -c 1 -W 1 10.99.9.9 >/dev/null 2>&1
check "a destination without a peer is in the log" lab_wait_for 5 said new-destination "port hpf0: no-peer"
watched() { # from when it has subscribed on
	in_host ping -c 6 -i 0.3 -W 1 10.99.9.9 >/dev/null 2>&1 &
	in_dpu "$CTL" watch --count 1 --timeout 5s 2>/dev/null | grep_all 'new-destination.* > 10.99.9.9'
}
check "and, beside it, for who watches" lab_wait_for 20 watched

# Changes the peers' bodies as none of our tools would. Rate: m, 24 bits at offset 32 + 24.
tamper() { # [byte]
	local slot key value
	local -a inner
	for slot in 0 1; do
		inner=$(bpftool -j map lookup pinned "$LAB_PINS/maps/bwl_peer_v1" key "$slot" 0 0 0 2>/dev/null |
			jq -r '.value // [] | .[]') # its id, four bytes
		[[ -n $inner ]] || continue
		read -r -d '' -a inner <<<"$inner"
		inner=$((inner[0] | inner[1] << 8 | inner[2] << 16 | inner[3] << 24))
		for key in 1 2; do
			value=$(bpftool -j map lookup id "$inner" key "$key" 0 0 0 |
				jq -r '.value | .[58] = "'"${1:-0xff}"'" | join(" ")')
			# shellcheck disable=SC2086 # a list of bytes
			bpftool map update id "$inner" key "$key" 0 0 0 value $value
		done
	done
}
beats 2 # it has looked when it began, and knows the maps as they are
freeze_process "$AGENT_PID" # it puts them right within a minute by itself, which may end here
check "bodies of the policy can be written past every tool" tamper
check "the limits are others then" eval '"$CTL" --json policy show >"$LAB_TMP/others" &&
	jq -e ".peers[] | select(.peer == \"sink\").grant.rate_bits_per_second != 8000000" "$LAB_TMP/others" >/dev/null'
kill -CONT "$AGENT_PID"
touch "$FILE"
check "the agent puts the maps right" lab_wait_for 5 rate_is sink 8000000
live "the maps are as they were"

# During a trial, too: of the policy before, which lies in the other slot, and of the one on trial.
more_alarms() { [[ $(grep -c '"maps-changed"' "$LAB_TMP/agent") -gt $were ]]; }
lab_stop "$AGENT_PID"
agent # it looks when it begins
beats 2
policy 6mbit 2s >"$LAB_TMP/trial.yaml"
were=0
in_dpu "$CTL" policy apply "$LAB_TMP/trial.yaml" --confirm 1h >/dev/null 2>&1 || nok "a policy is on trial"
tamper
touch "$FILE"
check "that the policy before a trial is written past every tool is told during the trial" lab_wait_for 10 more_alarms
were=1
tamper 0xfe
touch "$FILE"
check "so is that of the policy on trial" lab_wait_for 10 more_alarms
in_dpu "$CTL" policy rollback >/dev/null || nok "a trial ends by hand"
policy 8mbit 2s >"$LAB_TMP/again.yaml" # after a rollback by hand what was written stays
in_dpu "$CTL" policy apply "$LAB_TMP/again.yaml" >/dev/null 2>&1 || nok "it is put right by hand"
touch "$FILE"
beats 2
in_dpu "$CTL" policy apply "$LAB_TMP/trial.yaml" --confirm 3s >/dev/null 2>&1 || nok "a policy is on trial again"
tamper
check "the policy before returns as it was, whatever the maps say" lab_wait_for 60 rate_is sink 8000000
check "which is in the log" lab_wait_for 10 said policy 'the maps were repaired'
check "and raises an alarm" said maps-changed 'something other than'
# What it remembers of the policy before ends with that trial.
were=$(grep -c '"maps-changed"' "$LAB_TMP/agent")
touch "$FILE"
beats 2 # it looks at what it has repaired
in_dpu "$CTL" policy apply "$LAB_TMP/trial.yaml" --confirm 60s >/dev/null 2>&1
touch "$FILE"
beats 2
in_dpu "$CTL" policy confirm >/dev/null || nok "a trial is confirmed"
in_dpu "$CTL" grant sink rate 5mbit reason test >/dev/null || nok "and changed"
in_dpu "$CTL" policy apply "$LAB_TMP/by-hand.yaml" --confirm 5s >/dev/null 2>&1
check "control: another policy is on trial" rate_is sink 7000000
touch "$FILE"
check "the next trial, after one that was confirmed, returns to what was in force before it" lab_wait_for 60 rate_is sink 5000000
touch "$FILE"
beats 2
check "and that stays" rate_is sink 5000000
refute "nor does it raise an alarm" more_alarms

in_dpu "$CTL" policy apply "$LAB_TMP/by-hand.yaml" --confirm 60s >/dev/null 2>&1
desire 9mbit
beats 2
check "a policy on trial is left to who tries it" rate_is sink 7000000
check "the log has what waits, and until when" said policy 'the desired policy changed and waits: .*at the latest in'
touch "$FILE"
beats 2
check "once" test "$(grep -c 'changed and waits' "$LAB_TMP/agent")" = 1
in_dpu "$CTL" policy rollback >/dev/null
touch "$FILE"
check "after it the file holds" lab_wait_for 5 rate_is sink 9000000
in_dpu "$CTL" policy apply "$LAB_TMP/by-hand.yaml" --confirm 1s >/dev/null 2>&1
check "a policy that nobody confirms goes" lab_wait_for 60 rate_is sink 9000000
check "and bwlimitd says so" lab_wait_for 30 said policy 'not confirmed in time: the policy before is in force again'

# A tool that hangs has the writers' lock when the trial ends. A main loop that waited for it would give up, and say so,
# before the second beat.
desire 9mbit 2s
check "control: it renews the heartbeat" beats 2
in_dpu "$CTL" policy apply "$LAB_TMP/by-hand.yaml" --confirm 5s >/dev/null 2>&1
lab_bg lock dpu bash -c 'exec 9<"$1"; flock 9; exec sleep infinity' - "$LAB_PINS"
lock=$LAB_PID
is_locked() { ! flock -n "$LAB_PINS" true; }
check "control: the lock is taken" lab_wait_for 30 is_locked
is_over() { "$CTL" --json policy show | jq -e '.returns_in_s < 0'; }
check "a trial ends while another tool has the lock" lab_wait_for 30 is_over
check "bwlimitd goes on renewing the heartbeat" beats 3
refute "and has not waited for the lock" said policy 'has been changing'
check "nor come back" is_over
check "after ten seconds it says what it waits for" lab_wait_for 60 said policy 'another bwlimit tool has been changing the policy for 10 s'
lab_stop "$lock"
check "and comes back when the tool has ended" lab_wait_for 30 rate_is sink 9000000
live "the tool that hung with the lock has ended"

in_dpu "$LOAD" detach >/dev/null 2>&1
check "after detach the agent waits for new maps" lab_wait_for 5 said detached 'detached or replaced'
lab_attach
check "and fills them" lab_wait_for 5 rate_is sink 9000000
lab_stop "$AGENT_PID"
check "asked to stop, it says so" said stop stopped
done_testing
