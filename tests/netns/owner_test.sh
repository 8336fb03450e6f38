#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The desired policy has one owner: bwlimitd keeps what it accepted, byte for byte, and after a reboot that copy
# is used, whatever has happened to the source. It is the old one or the new one, wherever bwlimitd is killed. A policy
# applied by hand is an order to bwlimitd, and without bwlimitd the result is the same.
set -uo pipefail
LAB=bwl-owner-$$ LAB_DESTS=2
# shellcheck source=../harness/state_lab.sh
. "$(dirname "${BASH_SOURCE[0]}")/../harness/state_lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
export ASAN_OPTIONS=detect_leaks=0 # it cannot work under strace

COPY=$STATE/accepted.yaml
# Without a policy and a port on its command line, as the unit has it.
ATTACH=("$LOAD" attach --drill --fresh-volume --max-peers 8192)
DPU=(nsenter --net="/run/netns/$LAB-dpu")
# shellcheck disable=SC2034 # of kill_at
KILL_IN=("${DPU[@]}")

policy() { # rate of d1, of d2
	lab_policy_head 1h <<-END
	# a comment that is in no map: $1
	peers:
	$(lab_peer d1 1 "grant: { rate: $1, burst: 1mb }")
	$(lab_peer d2 2 "grant: { rate: ${2:-10mbit}, burst: 1mb }")
	END
}
# A copy without its two lines is exactly this file.
copy_is() { tail -n +3 "$COPY" 2>/dev/null | cmp -s - "$1"; }
rate_is() { [[ $("$CTL" --json peer show "$1" 2>/dev/null | jq .grant.rate_bits_per_second) == "$2" ]]; }
status() { "$LOAD" status --json 2>/dev/null | jq -e "$1" >/dev/null; }
reboot() {
	power_off
	attach || { note "attach: $(cat "$LAB_TMP/err")"; return 1; }
	ctl heartbeat
}
down() { ! lab_is_up hpf0; }

# --- what is accepted
refute "without a copy and without a source attach fails" attach
check "and says which file it looked for" grep -q "$FILE" "$LAB_TMP/err"
policy 1mbit >"$LAB_TMP/a.yaml"
desire 1mbit
check "at the first boot attach takes the source" attach
check "and says so" grep -q 'accepted no policy yet' "$LAB_TMP/err"
check "that policy is in force" rate_is d1 1000000
check "there is no copy" status '.desired.state == "none"'
agent
check "bwlimitd keeps it, byte for byte" lab_wait_for 30 copy_is "$LAB_TMP/a.yaml"
check "status says where it came from" status ".desired | .state == \"ok\" and .source_name == \"$FILE\" and .refused == null"
check "with its digest" status ".desired.sha256 == \"$(sha256sum <"$LAB_TMP/a.yaml" | cut -d' ' -f1)\""
check "only root reads it" test "$(stat -c %a "$COPY")" = 600
check "it is a policy file itself" ctl policy check "$COPY"
{ cat "$LAB_TMP/a.yaml"; echo "# nothing else"; } >"$LAB_TMP/comment.yaml"
cp "$LAB_TMP/comment.yaml" "$FILE.new" && mv "$FILE.new" "$FILE"
check "other bytes of the same meaning are kept too" lab_wait_for 30 copy_is "$LAB_TMP/comment.yaml"
printf 'version: 1\nnode: [\n' >"$FILE"
check "a document that is refused is told in the log, with its place" lab_wait_for 30 said policy 'desired.yaml:[0-9]'
check "in status" lab_wait_for 30 status '.desired.refused | .line > 0 and .file == "'"$FILE"'"'
check "and for people" sh -c "'$LOAD' status | grep -q 'refused since'"
audited() { "$CTL" audit show --json 2>/dev/null | grep_all 'desired.yaml:[0-9]'; }
check "and in the audit log" lab_wait_for 30 audited
check "it leaves the copy as it was" copy_is "$LAB_TMP/comment.yaml"
check "and the policy in force" rate_is d1 1000000
no_agent
check "an agent that comes while it is refused" sh -c "! nsenter --net=/run/netns/$LAB-dpu '$AGENT' --policy '$FILE' --state-dir '$STATE' --tpm none --once 2>/dev/null"
check "changes neither" eval 'copy_is "$LAB_TMP/comment.yaml" && rate_is d1 1000000'

# --- reboots
check "after a reboot attach goes by the copy, though the source is broken" reboot
check "it is in force" rate_is d1 1000000
check "and packets pass" ready 1
LIVE_DEST=2 live "the DPU has lost its power, and attach has run"
rm "$FILE"
check "also where the source is gone" reboot
check "it is in force then" rate_is d1 1000000
agent
check "bwlimitd without a source says so" lab_wait_for 30 said policy 'cannot open'
in_dpu "$LOAD" detach >/dev/null 2>&1
in_dpu "$LOAD" attach --drill --host hpf0 --uplink p0 >/dev/null 2>&1
check "into maps without a policy bwlimitd puts what it accepted" lab_wait_for 30 rate_is d1 1000000
desire 2mbit
policy 2mbit >"$LAB_TMP/b.yaml"
check "and a source that comes back holds" lab_wait_for 30 rate_is d1 2000000
check "and is kept" lab_wait_for 30 copy_is "$LAB_TMP/b.yaml"
check "the refusal is over" lab_wait_for 30 status '.desired.refused == null'
no_agent
desire 3mbit
reboot
check "a source that changed while nobody ran does not hold at boot" rate_is d1 2000000
agent
check "bwlimitd puts it in force, for it is another than what was accepted" lab_wait_for 30 rate_is d1 3000000
policy 3mbit >"$LAB_TMP/c.yaml"
check "and keeps it" lab_wait_for 30 copy_is "$LAB_TMP/c.yaml"
check "control: a policy applied by hand holds" eval 'ctl policy apply "$LAB_TMP/b.yaml" && rate_is d1 2000000'
no_agent
reboot
check "and goes with a reboot" rate_is d1 3000000

# --- an old copy opens nothing that was closed since
cp "$COPY" "$LAB_TMP/old.copy"
ready 1
ctl revoke d1
ctl peer set d2 rate 4mbit
cp "$LAB_TMP/old.copy" "$COPY"
reboot
check "control: the other peer passes" ready 2
check "what was revoked does not, though an old copy is back" is_closed 1
check "and what was lowered is lower" rate_is d2 4000000
ctl grant d1 reason test
truncate -s -1 "$COPY"
power_off
refute "a damaged copy is refused" attach
check "with the next step" grep -q 'attach --policy' "$LAB_TMP/err"
check "in JSON too" sh -c "nsenter --net=/run/netns/$LAB-dpu '$LOAD' attach --json 2>/dev/null | jq -e '.error | .code == \"EUCLEAN\" and .todo'"
check "host ports are down" down
check "and nothing passes" is_closed 2
check "a file that is named is taken" in_dpu "$LOAD" attach --drill --policy "$FILE"
check "status tells of the damage" status '.desired.state == "damaged"'
agent
check "and bwlimitd keeps a whole one again" lab_wait_for 30 copy_is "$LAB_TMP/c.yaml"
check "having raised an alarm" said accepted damaged
no_agent

# --- killed while it accepts: at every call from the first of the copy's to the last
if command -v strace >/dev/null; then
	policy 5mbit >"$LAB_TMP/x.yaml"
	policy 6mbit >"$LAB_TMP/y.yaml"
	accepted() { # file: it is in force and kept
		cp "$1" "$FILE.new" && mv "$FILE.new" "$FILE" && once && copy_is "$1"
	}
	accepted "$LAB_TMP/x.yaml" || nok "bwlimitd --once accepts"
	cp "$LAB_TMP/y.yaml" "$FILE"
	ONCE=("$AGENT" --policy "$FILE" --state-dir "$STATE" --tpm none --once)
	CALLS='openat|write|fsync|rename|renameat|renameat2'
	in_dpu strace -f -qq -o "$LAB_TMP/trace" -e trace="/^($CALLS)\$" "${ONCE[@]}" >/dev/null 2>&1
	# "call number" of the copy's and the folder's calls, and of the calls after them
	sed -nE "s/^[0-9]+ +(($CALLS)\(.*)/\1/p" "$LAB_TMP/trace" | awk '{
		call = $0; sub(/\(.*/, "", call); n[call]++
		if (index($0, ".accepted.yaml.new")) mine = 12
		if (mine-- > 0) print call, n[call] }' >"$LAB_TMP/points"
	points=0 bad=0 old=0 new=0
	while read -r call n; do
		accepted "$LAB_TMP/x.yaml" || { note "not reset: $(cat "$LAB_TMP/once")"; bad=$((bad + 1)); }
		cp "$LAB_TMP/y.yaml" "$FILE"
		kill_at "$call" "$n" "${ONCE[@]}" || continue
		points=$((points + 1))
		if copy_is "$LAB_TMP/x.yaml"; then
			old=$((old + 1))
		elif copy_is "$LAB_TMP/y.yaml"; then
			new=$((new + 1))
		else
			note "killed at $call $n: neither"
			bad=$((bad + 1))
		fi
		status '.desired.state == "ok"' || { note "killed at $call $n: not whole"; bad=$((bad + 1)); }
		once
		copy_is "$LAB_TMP/y.yaml" || { note "killed at $call $n: not repaired: $(cat "$LAB_TMP/once")"; bad=$((bad + 1)); }
	done <"$LAB_TMP/points"
	note "$points kills, $old times the old copy, $new times the new one, $bad bad"
	check "killed anywhere while it accepts, the copy is the old one or the new one, and the next run completes it" \
		[ $bad -eq 0 ]
	check "there were kills before it and after it" [ $old -ge 3 -a $new -ge 2 ]
	live "bwlimitd is run again after a kill"
else
	skip "killed anywhere while it accepts, the copy is whole" "no strace"
fi

# --- by order, and directly
policy 7mbit >"$LAB_TMP/base.yaml"
{
	policy 8mbit
	for ((i = 0; i < 2000; i++)); do
		echo "  - { name: many-$i, addresses: [10.200.$((i / 256)).$((i % 256))/32], path: clear, via: $LAB_VIA4, grant: { rate: 1mbit } }"
	done
} >"$LAB_TMP/many.yaml"
policy 9mbit 11mbit >"$LAB_TMP/trial.yaml"
policy 1kbit >"$LAB_TMP/wrong.yaml"
sed -i 's/1kbit/1bit/' "$LAB_TMP/wrong.yaml"
did() { # what is the same of both: documents without how long it took, words without times
	"${DPU[@]}" "$CTL" --json policy apply "$@" 2>"$LAB_TMP/did.err" |
		jq -S 'del(.report.took_s, .report.map_bytes)' | sed 's/at the latest in [^"]*/at the latest in TIME/'
	echo "exit ${PIPESTATUS[0]}"
	sed -e 's/at the latest in .*/at the latest in TIME/' -e 's/[0-9.]* \(m\|us\|n\)\?s\b/TIME/g' "$LAB_TMP/did.err"
	"$CTL" --json policy show 2>&1 | jq -S 'del(.generation, .returns_in_s)'
	"$CTL" --json peer list 2>&1 | jq -S '[.peers[] | {peer, peer_id, zone, state}]'
}
all() { # into a folder
	mkdir "$1"
	"${DPU[@]}" "$CTL" policy apply "$LAB_TMP/base.yaml" >/dev/null 2>&1
	did "$LAB_TMP/many.yaml" >"$1/many"
	did "$LAB_TMP/base.yaml" >"$1/base"
	did "$LAB_TMP/wrong.yaml" >"$1/wrong"
	did "$LAB_TMP/trial.yaml" --confirm 600s >"$1/trial"
	did "$LAB_TMP/base.yaml" >"$1/pending" # refused by the maps, not by the file
	ctl policy rollback
	"${DPU[@]}" "$CTL" policy apply - --fresh-volume <"$LAB_TMP/base.yaml" 2>&1 | sed 's/ in .*//' >"$1/stdin"
}
by_order() { grep -c 'as uid 0 ordered' "$LAB_TMP/agent"; }
"${DPU[@]}" "$CTL" policy apply "$LAB_TMP/many.yaml" >/dev/null 2>&1 # ids are given
agent
lab_wait_for 30 in_dpu "$CTL" lease show
listens() { [[ -n $(find /run/bwlimit -name "$LAB.sock" -type s) ]]; }
lab_wait_for 30 listens
cp "$COPY" "$LAB_TMP/before.copy"
all "$LAB_TMP/ordered"
check "bwlimitd applies what is ordered" test "$(by_order)" -eq 5
check "and what it refuses is in its log" said policy 'ordered by uid 0, not applied'
check "a policy applied by hand is not the accepted one" cmp -s "$COPY" "$LAB_TMP/before.copy"
touch "$FILE"
in_dpu "$CTL" policy apply "$LAB_TMP/base.yaml" >/dev/null 2>&1
check "and stays until what is desired changes" rate_is d1 7000000
desire 5mbit
check "then that holds" lab_wait_for 30 rate_is d1 5000000
policy 5mbit >"$LAB_TMP/five.yaml"
check "and is kept, once it is in force as a whole" lab_wait_for 30 copy_is "$LAB_TMP/five.yaml"
# While stopped, it answers nobody: an order that it finds later is from a client that is gone.
orders=$(by_order)
freeze_process "$AGENT_PID"
export BWLIMIT_AUDIT_DIR= # which it may have locked just then
check "a bwlimitd that hangs keeps no policy out" ctl policy apply "$LAB_TMP/base.yaml"
check "which is in force" rate_is d1 7000000
kill -CONT "$AGENT_PID"
goes_on() { ctl lease renew; ! grep -q 'does not answer' "$LAB_TMP/ctl"; } # it has an answer, if only no
check "it goes on" lab_wait_for 30 goes_on
live "bwlimitd, which hung, goes on"
check "what is ordered then is done" ctl policy apply "$LAB_TMP/trial.yaml"
check "and what came before it is not, for nobody waits for it" test "$(by_order)" -eq $((orders + 1))
ctl policy apply "$LAB_TMP/many.yaml"
no_agent
all "$LAB_TMP/direct"
for what in many base wrong trial pending stdin; do
	check "by order and directly, the same is done and told: $what" diff "$LAB_TMP/ordered/$what" "$LAB_TMP/direct/$what"
done
check "control: it was done" eval 'grep -q "many-1999" "$LAB_TMP/direct/many" && grep -q "exit 0" "$LAB_TMP/ordered/many"'
check "control: and refused" eval 'grep -q EBUSY "$LAB_TMP/ordered/pending" && grep -q "exit 1" "$LAB_TMP/ordered/wrong"'
done_testing
