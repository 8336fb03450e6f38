#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# SIGKILL of bwlimit-ctl at a system call that changes maps or locks, or at the call after it: the old policy is in force
# or the new one, and running the same command again completes it. Each run draws one of three such calls; KILL_ALL=1: all.
#
# strace numbers the calls of one kind; a first run shows which numbers matter. The kill comes
# at the entry, so the call is not executed; the next number is the state right after it.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB=bwl-h3kill-$$ LAB_DESTS=0
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/../harness/lab.sh"
export ASAN_OPTIONS=detect_leaks=0 # it cannot work under strace

if ! command -v strace >/dev/null; then
	skip "bwlimit-ctl survives SIGKILL at every state-changing call" "no strace"
	done_testing
	exit 77
fi
lab_up || exit 1

policy() { # rates of d1 and d2
	cat <<END
version: 1
node: tray-h3
uplinks: [p0]
host_ports:
  - dev: hpf0
    sources: [10.7.0.0/24]
heartbeat: none
zones:
  external: { rate: $3 }
peers:
  - { name: d1, addresses: [10.101.0.0/24, 10.111.0.1], path: clear, via: $LAB_VIA4, zone: external, grant: { rate: $1 } }
  - { name: d2, addresses: [10.102.0.0/24], path: clear, via: $LAB_VIA4, grant: { rate: $2 } }
END
}
policy 10mbit 1mbit 100mbit >"$LAB_TMP/old.yaml"
{
	policy 20mbit 2mbit 200mbit
	echo "  - { name: d3, addresses: [10.103.0.0/24], path: clear, via: $LAB_VIA4, grant: { rate: 3mbit } }"
} >"$LAB_TMP/new.yaml"
in_dpu "$LOAD" attach --host hpf0 --uplink p0 --max-peers 64 --fresh-volume --drill \
	>"$LAB_TMP/attach" 2>&1 || {
	note "$(cat "$LAB_TMP/attach")"
	nok "the programs are attached"
	done_testing
	exit 1
}

# What is in force now: the policy without comments, and which peers are revoked.
holds() {
	"$CTL" policy show 2>"$LAB_TMP/show.err" | grep -v '^# \(in force\|not confirmed\)'
}
reset_old() {
	"$CTL" policy rollback >/dev/null 2>&1
	"$CTL" policy apply "$LAB_TMP/old.yaml" >/dev/null 2>"$LAB_TMP/reset.err" &&
		"$CTL" grant d1 reason reset >/dev/null 2>>"$LAB_TMP/reset.err" &&
		"$CTL" grant d2 reason reset >/dev/null 2>>"$LAB_TMP/reset.err"
}

# The numbers, among calls of this kind, that change state, and the one after each.
ordinals() { # kind, trace
	awk -v kind="$1" '
		{ sub(/^[0-9]+ +/, "") }
		index($0, kind "(") == 1 {
			n++
			changes = kind != "bpf" ||
				/BPF_MAP_(CREATE|UPDATE_ELEM|DELETE_ELEM|UPDATE_BATCH|DELETE_BATCH|FREEZE)|BPF_OBJ_PIN|BPF_LINK_UPDATE/
			if (changes || before)
				print n
			before = changes
		}' "$2"
}

kill_everywhere() { # sentence, command…
	local sentence=$1 kind n points=0 bad=0 new old now
	shift
	reset_old || note "reset: $(cat "$LAB_TMP/reset.err")"
	old=$(holds)
	strace -f -qq -e trace=bpf,flock,munmap -o "$LAB_TMP/trace" "$@" >/dev/null 2>&1 ||
		note "the command itself fails: $*"
	new=$(holds)
	[[ $old != "$new" ]] || note "the command changes nothing: $*"
	for kind in bpf flock munmap; do
		for n in $(ordinals $kind "$LAB_TMP/trace" | kills_drawn 3); do
			# munmap ends stores to mapped maps: the last ones matter
			[[ $kind != munmap || $n -gt $(($(grep -c 'munmap(' "$LAB_TMP/trace") - 12)) ]] ||
				continue
			reset_old || note "reset: $(cat "$LAB_TMP/reset.err")"
			kill_at $kind "$n" "$@" && points=$((points + 1))
			now=$(holds)
			if [[ $now != "$old" && $now != "$new" ]]; then
				note "killed at $kind $n:" "$now" "$(cat "$LAB_TMP/show.err")"
				bad=$((bad + 1))
			fi
			if ! "$@" >/dev/null 2>"$LAB_TMP/again.err" && [[ $now != "$new" ]]; then
				note "after $kind $n it does not run again: $(cat "$LAB_TMP/again.err")"
				bad=$((bad + 1))
			fi
			now=$(holds)
			if [[ $now != "$new" ]]; then
				note "after $kind $n the next run does not repair:" "$now"
				bad=$((bad + 1))
			fi
		done
	done
	note "$points kills (KILL_SEED=$KILL_SEED), $bad bad"
	check "$sentence" [ $bad -eq 0 ]
	check "$sentence: there were calls to kill at" [ $points -ge "${KILL_MIN:-1}" ]
}

KILL_MIN=6 kill_everywhere "policy apply survives SIGKILL anywhere" \
	"$CTL" policy apply "$LAB_TMP/new.yaml"
KILL_MIN=6 kill_everywhere "policy apply --confirm survives SIGKILL anywhere" \
	"$CTL" policy apply "$LAB_TMP/new.yaml" --confirm 600s
kill_everywhere "peer set survives SIGKILL anywhere" "$CTL" peer set d1 rate 30mbit
kill_everywhere "grant survives SIGKILL anywhere" "$CTL" grant d1 rate 40mbit reason test
kill_everywhere "revoke survives SIGKILL anywhere" "$CTL" revoke d1
KILL_MIN=6 kill_everywhere "zone set survives SIGKILL anywhere" "$CTL" zone set external rate 50mbit
done_testing
