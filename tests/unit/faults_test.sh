#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Liveness beside safety: each script of netns, thief and vm that injects a fault also says after what event traffic passes again
# (harness/live.sh), or in its head why no traffic can tell: `# live: WHY`. Not both. A fault is what a command of the script
# does to a process, a system call, a disk, the network, a device, a clock, a whole DPU, or by a flood.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_dir=${BWL_SOURCE:-${here%/*/*}}
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
cd "$source_dir" || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# A word of a command, by what it does; and a line for each, which must be found. Words of the harness stand for what they do.
FAULTS=(
	# processes: killed, hung
	'kill (-KILL|-9|-s KILL)' 'p?kill -STOP' '(kill|killed)_at' killed_after '(etcd|charon)_kill' 'kills [0-9]' probe_kill_both
	probe_hold docs_die no_agent dies freeze_process
	# system calls, disks
	'inject="?[$a-z]' 'LD_PRELOAD=.*slowdisk' 'ulimit -f' 'fallocate -[lp]' 'mount -t tmpfs -o [a-z,0-9=]*(size=|ro)'
	'remount,ro' ENOSPC ENOMEM
	# networks, devices
	netem '(cut|heal) ["$0-9]' unplug 'ip_in (net|dpu) link set [ps][0-9] down' 'ip_in host[0-9]? link set [^ ]+ down'
	'ip_in dpu link set [^ ]+ netns' 'link del (h|hpf|p|s)[0-9]' 'netns del'
	# clocks, whole machines, TPMs
	'date -s' faketime clock_begin power_off reboot 'echo [bco] >/proc/sysrq-trigger' 'echo [a-z]+ >/sys/power/state' tpm_down
	# floods
	'"?[$]FLOOD' '(^[[:space:]]*|lab_bg |lab_wait_for [0-9]+ )[a-z_]*floods?( |$)' 'steal_on [0-9]+ 0' '--pps [0-9]{5}'
	'crowd [a-z0-9]' '(^[[:space:]]*)storm' '"[$]here/neighbours[.]py'
)
SAMPLES=(
	'kill -KILL "$agent"' 'kill -9 $pid' 'pkill -STOP -P "$agent"' 'kill -STOP "$pid"' 'kill_at "$call" "$n" "$LOAD" upgrade'
	'while killed_at rename $n init; do' 'killed_after 0.2' 'etcd_kill 3' 'charon_kill 1' 'kills 10' probe_kill_both
	"probe_hold 'XFRM' x" docs_die no_agent 'check "x" dies' 'freeze_process "$agent"'
	'strace -e inject=write:error=EIO x' 'strace -e inject="$call:signal=KILL" x' 'LD_PRELOAD="$LAB_BUILD/bwl-slowdisk.so"'
	'(ulimit -f 0; exec x)' 'fallocate -l 1g "$disk/fill"' 'mount -t tmpfs -o size=4m x "$disk"'
	'mount -t tmpfs -o mode=700,size=4m x "$disk"' 'mount -o remount,ro "$disk"' 'error=ENOSPC' 'error=ENOMEM'
	'tc qdisc add dev p0 root netem loss 10%' 'cut 1 && cut 2' 'heal "$at"' 'unplug 1' 'ip_in net link set s0 down'
	'ip_in host link set h0 down' 'ip_in dpu link set hpf1 netns x' 'ip_in host link del h0' 'ip netns del "$LAB-host1"'
	"date -s '+1 hour'" 'faketime -f +1h x' 'clock_begin AGENT' power_off 'reboot || bad=1' 'echo b >/proc/sysrq-trigger'
	'echo mem >/sys/power/state' tpm_down
	'"$FLOOD" h0 600 x' 'flood 100 1000' 'both_flood 4' 'lab_bg flood host x' 'check "it floods" lab_wait_for 60 floods'
	'steal_on 600 0 <x' 'steal --count 9 --pps 20000' 'crowd silent 1000' storm 'python3 "$here/neighbours.py" x'
)
commands() { sed -E '/^[[:space:]]*#/d' "$@"; } # file…: without lines that are comments
any=$(IFS='|'; echo "${FAULTS[*]}")
faults_in() { # file…: those that it has
	commands "$@" | grep -oE "(^|[^a-zA-Z0-9_\$/.-])($any)" | sort -u
}
lives() { # file…: calls live, or a function of the harness that does
	commands "$@" | grep_all -E '(^|[;&|{]|then|do)[[:space:]]*(LIVE_[A-Z]+=[^ ]* )*(live ["$]|(granted_arrives|kills_end)( |$))'
}
reasons_in() { awk '/^[^#]/ { exit } /^# live: *[^ ]/' "$1" | grep_all .; } # file
# What is wrong with a script, in words; nothing if all is well.
wrong() { # file [parts of it…]
	local faults
	if reasons_in "$1"; then
		! lives "$@" || echo "$1: calls live, and says why it does not"
	elif ! lives "$@"; then
		faults=$(faults_in "$@")
		[[ -z $faults ]] || echo "$1: neither live nor a reason, with: ${faults//$'\n'/, }"
	fi
}
made_up() { printf '%s\n' '#!/usr/bin/env bash' '# A test.' "$@" >"$tmp/made-up.sh"; } # line…
finds() { [[ -n $(wrong "$tmp/made-up.sh") ]]; }

made_up '. x/lab.sh' 'kill -KILL "$agent"' 'lab_wait_for 30 state live' '# live "not called"' done_testing
check "control: a script with a kill, and no live, is found" finds
made_up '. x/lab.sh' 'kill -KILL "$agent"' 'live "bwlimitd is started again"' done_testing
refute "control: with live it is not" finds
made_up '. x/lab.sh' 'kill -KILL "$agent"' '[[ $4 ]] && LIVE_DEST=2 LIVE_PPS=100 live "bwlimitd is started again"' done_testing
refute "control: nor with settings of its own" finds
made_up '# live: no DPU is here' '. x/lab.sh' 'kill -KILL "$agent"' done_testing
refute "control: nor with a reason in its head" finds
made_up '# live:' '. x/lab.sh' 'kill -KILL "$agent"' done_testing
check "control: a reason without words is none" finds
made_up '. x/lab.sh' '# live: not in the head' 'kill -KILL "$agent"' done_testing
check "control: nor is one below its first command" finds
made_up '# live: no DPU is here' '. x/lab.sh' 'live "bwlimitd is started again"' done_testing
check "control: who has both is found" finds
made_up '# a kill -KILL of bwlimitd, which has no effect' '. x/lab.sh' 'kill "$agent"' done_testing
refute "control: a script without a fault needs nothing" finds
unknown=0
for sample in "${SAMPLES[@]}"; do
	made_up '. x/lab.sh' "	$sample" done_testing
	finds || { note "not found: $sample"; unknown=1; }
done
check "control: each kind of fault is found" test $unknown -eq 0

for script in tests/netns/*_test.sh tests/thief/[0-9]*.sh tests/vm/[0-9]*.sh; do
	parts=()
	[[ ! -d ${script%_test.sh} ]] || parts=("${script%_test.sh}"/*.sh)
	wrong "$script" "${parts[@]}"
done >"$tmp/wrong"
for dir in netns thief vm; do
	check "tests/$dir: what injects a fault says when traffic passes again, or why that cannot be said" \
		eval '! grep "^tests/$dir/" "$tmp/wrong" | sed "s/^/# /" | tee "$tmp/shown" | grep_all . || ! cat "$tmp/shown"'
done
done_testing
