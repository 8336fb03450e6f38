#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# SIGKILL of bwlimit-load at its system calls that change state: bpf, netlink, files. After each
# kill the host port is down, or verify is clean; and the next attach repairs.
#
# strace numbers the calls of one kind; a first run shows which numbers matter. The kill comes at the
# entry, so the call is not executed. Calls after which a kill leaves no trace in the kernel (maps
# and programs that nothing pins yet), and the many similar ones, are sampled, and one in four of the rest is
# drawn: in each attach the verifier takes a second or two. KILL_ALL=1 takes all.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB=bwl-h2kill-$$ LAB_DESTS=1
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/../harness/lab.sh"
export ASAN_OPTIONS=detect_leaks=0 # it cannot work under strace

if ! command -v strace >/dev/null; then
	skip "bwlimit-load survives SIGKILL at every state-changing call" "no strace"
	done_testing
	exit 77
fi
lab_up || exit 1
note "KILL_SEED=$KILL_SEED"
KILL_IN=(nsenter --net="/run/netns/$LAB-dpu")
calls=(bpf sendto mkdir unlink unlinkat rename rmdir openat)

cat >"$LAB_TMP/policy.yaml" <<END
version: 1
node: h2
uplinks: [p0]
host_ports:
  - dev: hpf0
    sources: [10.7.0.0/24, "fd00:7::/64"]
heartbeat: none
peers:
  - name: d1
    addresses: [10.101.0.0/24, "fd00:101::/64"]
    path: clear
    via: $LAB_VIA4
    via6: "$LAB_VIA6"
    grant: { rate: 1gbit, burst: 1mb, volume: 10mb }
END

attach() { lab_load attach --policy "$LAB_TMP/policy.yaml" --max-peers 64 "$@"; }
pings() { in_host ping -q -c 2 -i 0.2 -W 1 "$(lab_dest4 1)" >/dev/null; }
used() { in_dpu "$CTL" peer show d1 --json | jq .left.used_bytes; }

# Numbers, among the calls of one kind, at which to kill.
ordinals() { # kind, trace
	awk -v kind="$1" -v all="${KILL_ALL:-0}" '
		function take(every) { return all || seen[what]++ % every == 0 }
		{ sub(/^[0-9]+ +/, "") }
		index($0, kind "(") != 1 { next }
		{ n++; what = kind }
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
			if (take(every)) print n
			next
		}
		kind == "sendto" && !/RTM_(NEW|DEL)/ { next }
		kind == "openat" && !/O_WRONLY|O_RDWR/ { next }
		kind == "openat" && /dev\/null|uevent/ { next }
		kind == "mkdir" && !/ = 0$/ { next }
		kind == "unlinkat" { if (take(6)) print n; next }
		kind == "unlink" && / = -1 / { next }
		kind == "rename" && /\/progs\// { if (take(3)) print n; next }
		{ print n }' "$2" | kills_drawn 4
}

trace() { # file, command of bwlimit-load…
	local file=$1
	shift
	in_dpu strace -f -qq -s 200 -e trace="$(IFS=,; echo "${calls[*]}")" -o "$file" \
		"$LOAD" "$@" >"$LAB_TMP/out" 2>&1 || note "the command itself fails: $*" "$(cat "$LAB_TMP/out")"
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
kill_everywhere() { # sentence, begin, command of bwlimit-load…
	local sentence=$1 begin=$2 kind n points=0 bad=0
	shift 2
	$begin
	trace "$LAB_TMP/trace" "$@"
	for kind in "${calls[@]}"; do
		for n in $(ordinals "$kind" "$LAB_TMP/trace"); do
			$begin
			kill_at "$kind" "$n" "$LOAD" "$@" && points=$((points + 1))
			judge "$kind $n"
			[[ $state != bad ]] || bad=$((bad + 1))
			# a clean state needs no repair
			if [[ $state != clean ]] && { ! attach --fresh-volume || ! lab_is_up hpf0; }; then
				note "after $kind $n attach does not repair: $(cat "$LAB_TMP/err")"
				bad=$((bad + 1))
			fi
		done
	done
	note "$points kills, $bad bad, ${SECONDS} s"
	check "$sentence" [ $bad -eq 0 ]
	check "$sentence: there were calls to kill at" [ $points -ge "${KILL_MIN:-4}" ]
	check "after the last repair verify is clean" lab_verifies
}

from_nothing() {
	[[ ! -d $LAB_PINS ]] || lab_load detach
	ip_in dpu link set hpf0 up
}
# Whatever was killed before has been repaired: bwlimit is attached.
from_attached() { :; }

check "without the loader nothing forwards, IPv4 or IPv6" lab_silent
from_nothing
KILL_MIN=20 kill_everywhere "a first attach survives SIGKILL anywhere" from_nothing \
	attach --policy "$LAB_TMP/policy.yaml" --max-peers 64 --fresh-volume
check "traffic of both families passes afterwards" lab_both
before=$(used)
check "and has spent some of its volume" [ "$before" -gt 0 ]
# Without --policy: ctl_kill_test kills at every call of applying one.
kill_everywhere "attach over what is attached survives SIGKILL anywhere" from_attached \
	attach --host hpf0 --uplink p0
kill_everywhere "upgrade survives SIGKILL anywhere" from_attached upgrade
check "and no kill gave any volume back" [ "$(used)" -ge "$before" ]
kill_everywhere "detach survives SIGKILL anywhere" from_attached detach

# A loader that fails or is missing at boot: the port is up, raised by something else.
from_nothing
refute "a loader that fails leaves nothing that forwards" \
	lab_load attach --policy "$LAB_TMP/policy.yaml" --uplink nosuch
check "indeed nothing" lab_silent
done_testing
