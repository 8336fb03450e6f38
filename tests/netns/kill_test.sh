#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# SIGKILL of bwlimit-load and bwlimit-ctl at their system calls that change state. Of bwlimit-load (bpf, netlink, files):
# afterwards the host port is down, or verify is clean, and the next attach repairs. Of bwlimit-ctl (maps, locks): the old
# policy is in force or the new one, and the same command again completes it.
#
# strace numbers the calls of one kind; a first run shows which numbers matter. The kill comes at the entry, so the
# call is not executed; the next number is the state right after it. Of bwlimit-load's calls, those after which a kill leaves
# no trace in the kernel (maps and programs that nothing pins yet), and the many similar ones, are sampled; with KILL_ALL=1
# they are not, which takes two hours. Of what is left one in so many is drawn: in each attach the verifier takes a second or
# two. BWL_LONG=1 takes all of that, in half an hour.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB=bwl-kill-$$ LAB_DESTS=1
similar=${KILL_ALL:-0}
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/../harness/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/../harness/live.sh"
export ASAN_OPTIONS=detect_leaks=0 # it cannot work under strace

if ! command -v strace >/dev/null; then
	skip "the tools survive SIGKILL at every state-changing call" "no strace"
	done_testing
	exit 77
fi
lab_up || exit 1
note "KILL_SEED=$KILL_SEED"
DPU=(nsenter --net="/run/netns/$LAB-dpu")
KILL_IN=("${DPU[@]}")

policy() { # rates of d1, d2 and the zone, further keys of d1's grant
	lab_policy_head none <<-END
	zones:
	  external: { rate: $3 }
	peers:
	  - { name: d1, addresses: [10.101.0.0/24, "fd00:101::/64", 10.111.0.1], path: clear, via: $LAB_VIA4, via6: "$LAB_VIA6",
	      zone: external, grant: { rate: $1${4:+, $4} } }
	  - { name: d2, addresses: [10.102.0.0/24], path: clear, via: $LAB_VIA4, grant: { rate: $2 } }
	END
}
killed_points() { # sentence, kills, bad ones, drawn ones: what every part ends with
	note "$2 kills of $4, $3 bad, $SECONDS s"
	check "$1" [ "$3" -eq 0 ]
	check "$1: there were calls to kill at" [ "$4" -ge "${KILL_MIN:-1}" ]
	check "$1: it was killed there" killed_enough "$2" "$4"
}

note "bwlimit-load"
calls=(bpf sendto mkdir unlink unlinkat rename rmdir openat)
policy 1gbit 1mbit 2gbit 'burst: 1mb, volume: 10mb' >"$LAB_TMP/policy.yaml"
attach() { lab_load attach --policy "$LAB_TMP/policy.yaml" --max-peers 64 "$@"; }
used() { in_dpu "$CTL" peer show d1 --json | jq .left.used_bytes; }

# Lines "call number": at which to kill.
load_points() { # trace
	awk -v all="$similar" '
		function take(every) { return all || seen[what]++ % every == 0 }
		{ sub(/^[0-9]+ +/, ""); kind = what = substr($0, 1, index($0, "(") - 1); n = ++count[kind] }
		kind == "bpf" {
			if (!match($0, /BPF_(MAP_(CREATE|UPDATE_ELEM|DELETE_ELEM)|PROG_LOAD|OBJ_PIN|LINK_(CREATE|UPDATE|DETACH))/))
				next
			what = substr($0, RSTART, RLENGTH)
			every = 1
			if (what == "BPF_MAP_CREATE") every = 13
			if (what == "BPF_PROG_LOAD") every = 4
			if (what == "BPF_MAP_DELETE_ELEM") every = 6
			if (what == "BPF_MAP_UPDATE_ELEM") every = 5
			if (what == "BPF_OBJ_PIN" && $0 ~ /\/maps\//) {
				what = what " of a map"
				every = 12
			}
			if (what == "BPF_OBJ_PIN" && $0 ~ /\/progs\//) {
				what = what " of a program"
				every = 3
			}
			if (take(every)) print kind, n
			next
		}
		kind == "sendto" && !/RTM_(NEW|DEL)/ { next }
		kind == "openat" && !/O_WRONLY|O_RDWR/ { next }
		kind == "openat" && /dev\/null|uevent/ { next }
		kind == "mkdir" && !/ = 0$/ { next }
		kind == "unlinkat" { if (take(6)) print kind, n; next }
		kind == "unlink" && / = -1 / { next }
		kind == "rename" && /\/progs\// { if (take(3)) print kind, n; next }
		{ print kind, n }' "$1" | kills_drawn 24
}
# up without programs is the state before a first attach: the kernel forwards nothing
open_without_programs() {
	[[ ! -d $LAB_PINS/links || -z $(ls "$LAB_PINS/links") ]] && lab_silent
}
judge() { # where it was killed; sets state: closed, clean or bad
	state=closed
	lab_is_up hpf0 || return 0
	state=clean
	lab_verifies >/dev/null && return
	state=closed
	open_without_programs && return
	state=bad
	note "killed at $1: the port is up and verify is not clean" "$(grep -A1 FAIL "$LAB_TMP/out")"
}

# begin: command that makes the initial state; then the command that is killed
load_killed() { # sentence, begin, command of bwlimit-load…
	local sentence=$1 begin=$2 kind n points=0 bad=0 drawn=0
	shift 2
	$begin
	in_dpu strace -f -qq -s 200 -e trace="$(IFS=,; echo "${calls[*]}")" -o "$LAB_TMP/trace" \
		"$LOAD" "$@" >"$LAB_TMP/out" 2>&1 || note "the command itself fails: $*" "$(cat "$LAB_TMP/out")"
	while read -r kind n; do
		$begin
		drawn=$((drawn + 1))
		kill_at "$kind" "$n" "$LOAD" "$@" && points=$((points + 1))
		judge "$kind $n"
		[[ $state != bad ]] || bad=$((bad + 1))
		# a clean state needs no repair
		if [[ $state != clean ]] && { ! attach --fresh-volume || ! lab_is_up hpf0; }; then
			note "after $kind $n attach does not repair: $(cat "$LAB_TMP/err")"
			bad=$((bad + 1))
		fi
	done < <(load_points "$LAB_TMP/trace")
	killed_points "$sentence" "$points" "$bad" "$drawn"
	check "after the last repair verify is clean" lab_verifies
}

from_nothing() {
	[[ ! -d $LAB_PINS ]] || lab_load detach
	ip_in dpu link set hpf0 up
}
# Whatever was killed before has been repaired: bwlimit is attached.
from_attached() { :; }

check "without the loader nothing forwards, IPv4 or IPv6" lab_silent
KILL_MIN=3 load_killed "a first attach survives SIGKILL anywhere" from_nothing \
	attach --policy "$LAB_TMP/policy.yaml" --max-peers 64 --fresh-volume
check "traffic of both families passes afterwards" lab_both
before=$(used)
check "and has spent some of its volume" [ "$before" -gt 0 ]
# Without --policy: below, bwlimit-ctl is killed at calls of applying one.
load_killed "attach over what is attached survives SIGKILL anywhere" from_attached attach --host hpf0 --uplink p0
load_killed "upgrade survives SIGKILL anywhere" from_attached upgrade
check "and no kill gave any volume back" [ "$(used)" -ge "$before" ]
load_killed "detach survives SIGKILL anywhere" from_attached detach
live "an attach, an upgrade or a detach was killed, and attach is given again"

# A loader that fails or is missing at boot: the port is up, raised by something else.
from_nothing
refute "a loader that fails leaves nothing that forwards" \
	lab_load attach --policy "$LAB_TMP/policy.yaml" --uplink nosuch
check "indeed nothing" lab_silent

note "bwlimit-ctl"
policy 10mbit 1mbit 100mbit >"$LAB_TMP/old.yaml"
{
	policy 20mbit 2mbit 200mbit
	echo "  - { name: d3, addresses: [10.103.0.0/24], path: clear, via: $LAB_VIA4, grant: { rate: 3mbit } }"
} >"$LAB_TMP/new.yaml"
check "control: attached without a policy" lab_load attach --host hpf0 --uplink p0 --max-peers 64 --fresh-volume --drill

# What is in force now: the policy without comments, and which peers are revoked.
holds() {
	"$CTL" policy show 2>"$LAB_TMP/show.err" | grep -v '^# \(in force\|not confirmed\)'
}
reset_old() {
	"$CTL" policy rollback >/dev/null 2>&1
	{ "$CTL" policy apply "$LAB_TMP/old.yaml" && "$CTL" grant d1 reason reset && "$CTL" grant d2 reason reset; } \
		>/dev/null 2>"$LAB_TMP/reset.err" && return
	note "reset: $(cat "$LAB_TMP/reset.err")"
}
# Of calls that change state, and the one after each. munmap ends stores to mapped maps: the last ones matter.
ctl_points() { # trace
	awk -v unmapped="$(grep -c 'munmap(' "$1")" '
		{ sub(/^[0-9]+ +/, ""); kind = substr($0, 1, index($0, "(") - 1); n = ++count[kind] }
		kind == "munmap" { if (n > unmapped - 12) print kind, n; next }
		{
			changes = kind != "bpf" ||
				/BPF_MAP_(CREATE|UPDATE_ELEM|DELETE_ELEM|UPDATE_BATCH|DELETE_BATCH|FREEZE)|BPF_OBJ_PIN|BPF_LINK_UPDATE/
			if (changes || before[kind]) print kind, n
			before[kind] = changes
		}' "$1" | kills_drawn 12
}
ctl_killed() { # sentence, command…
	local sentence=$1 kind n points=0 bad=0 drawn=0 new old now
	shift
	set -- "$CTL" "$@"
	reset_old
	old=$(holds)
	strace -f -qq -e trace=bpf,flock,munmap -o "$LAB_TMP/trace" "$@" >/dev/null 2>&1 ||
		note "the command itself fails: $*"
	new=$(holds)
	[[ $old != "$new" ]] || note "the command changes nothing: $*"
	while read -r kind n; do
		reset_old
		drawn=$((drawn + 1))
		kill_at "$kind" "$n" "$@" && points=$((points + 1))
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
	done < <(ctl_points "$LAB_TMP/trace")
	killed_points "$sentence" "$points" "$bad" "$drawn"
}
KILL_MIN=3 ctl_killed "policy apply survives SIGKILL anywhere" policy apply "$LAB_TMP/new.yaml"
KILL_MIN=3 ctl_killed "policy apply --confirm survives SIGKILL anywhere" policy apply "$LAB_TMP/new.yaml" --confirm 600s
ctl_killed "peer set survives SIGKILL anywhere" peer set d1 rate 30mbit
ctl_killed "grant survives SIGKILL anywhere" grant d1 rate 40mbit reason test
ctl_killed "revoke survives SIGKILL anywhere" revoke d1
ctl_killed "zone set survives SIGKILL anywhere" zone set external rate 50mbit
reset_old
live "a command of bwlimit-ctl was killed, and is given again"
done_testing
