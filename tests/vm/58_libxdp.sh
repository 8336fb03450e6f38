#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Another XDP program is on the host port, through libxdp's dispatcher, before bwlimit comes with `--xdp libxdp`,
# and one more comes after it: all run, ours first; the limit holds, and TC judges what another program forges. A program
# that runs before ours is found. If the kernel refuses our program below the dispatcher, attach says so and what to do,
# and the host port stays down.
# vm-cost: 15
# leak: its peers are sent to in the clear
# vm-needs: xdp-tools
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-libxdp-$$ LAB_DESTS=2
# shellcheck source=../harness/tap.sh
. "$BWL_SOURCE/tests/harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$BWL_SOURCE/tests/harness/lab.sh"
FOREIGN=$LAB_BUILD/tests/harness

in_status() { in_dpu "$LOAD" status --json | jq -e "$1" >/dev/null; }
others() { in_dpu xdp-loader status hpf0 >"$LAB_TMP/loader" 2>&1; grep -q "$1" "$LAB_TMP/loader"; }
foreign() { # name
	in_dpu xdp-loader load -m native hpf0 "$FOREIGN/$1.bpf.o" >"$LAB_TMP/loader" 2>&1 && others "$1" && return
	sed 's/^/# /' "$LAB_TMP/loader"
	return 1
}
unload() { in_dpu xdp-loader unload hpf0 "$@" >"$LAB_TMP/loader" 2>&1; }
# Sends frames from host to a port of destination 1; sets GOT: how many arrived with that source.
send() { # frames port source [source that is counted]
	local judge
	lab_bg judge d1 "$FRAMES" count eth0
	judge=$LAB_PID
	lab_wait_for 10 grep -q ready "$LAB_TMP/judge"
	thief --count "$1" --pps 400 <<<"eth ip4 src=$3 dst=$(lab_dest4 1) udp dport=$2 fill=400" >/dev/null
	sleep 0.5 # for frames in flight
	lab_stop "$judge"
	GOT=$(awk -v s="${4:-$3}" '$3 == s { n += $4 } END { print n + 0 }' "$LAB_TMP/judge")
	note "$1 to port $2 from $3: $GOT from ${4:-$3} arrived"
}
arrive() { send "$@" && [[ $GOT -gt 0 ]]; }
none() { send "$@" && [[ $GOT -eq 0 ]]; }

lab_up || exit 1
note "kernel $(uname -r), $(xdp-loader --version 2>&1 | paste -sd ' ')"
check "another's program is on the port" foreign foreign_drops
others xdp_dispatcher || note "lacks: libxdp's dispatcher"
if ! in_dpu "$LOAD" attach --drill --fresh-volume --xdp libxdp --host hpf0 --uplink p0 >"$LAB_TMP/attach" 2>&1; then
	sed 's/^/# /' "$LAB_TMP/attach"
	note "lacks: bwlimit beneath libxdp's dispatcher"
	check "the refusal says what to do" grep -q -- '--xdp auto' "$LAB_TMP/attach"
	refute "the host port is down" lab_is_up hpf0
	check "the other's program is still there" others foreign_drops
	unload --all
	check "without it, what was said works" lab_load attach --drill --host hpf0 --uplink p0
	done_testing
	exit
fi
check "attach adds ours and says that others may share the port" in_status '.ports[] | select(.role == "host").programs[] |
	select(.program == "bwl_xdp_host") | .attached and (.fallback | contains("others may share"))'
check "the other's program is still there" others foreign_drops
check "and ours beside it" others bwl_xdp_host

{
	echo "peers:"
	lab_peer d1 1 "grant: { rate: 800kbit, burst: 64kb }"
} | lab_policy_head | lab_apply || nok "the policy is in force"

check "what is granted arrives" arrive 20 9 $HOST4
check "the other's program runs: what it drops is not there" none 20 7 $HOST4
check "ours runs: nothing comes from a spoofed source" none 20 9 10.66.6.6
check "a third program comes" foreign foreign_forges
check "and ours is still there" others bwl_xdp_host
check "what is granted still arrives" arrive 20 9 $HOST4
check "what that program forges does not" none 20 77 $HOST4 10.66.6.6
check "it does run: nor does the frame as it was" none 20 77 $HOST4

# --- the limit: 400 frames of 442 bytes a second are 1.4 Mbit/s
limited() {
	local bytes frames ns
	thief --seconds 8 --pps 400 <<<"eth ip4 src=$HOST4 dst=$(lab_dest4 1) udp dport=9 fill=400" >/dev/null &
	read -r bytes frames ns < <(in_ns d1 "$FRAMES" sample eth0 5 --from-first)
	wait %+
	note "800 kbit/s: $frames frames, $bytes bytes in $ns ns: $((bytes * 8 * 1000000 / ns)) kbit/s"
	[[ $frames -gt 0 && $bytes -le $((100000 * ns / 1000000000 + 65536)) ]]
}
check "at most rate x T + burst arrives" limited
check "ours is the first: verify finds no other before it" eval '! lab_verify_finds "runs before"'

check "a rival comes that runs before ours" foreign a_rival
check "verify finds it" lab_verify_finds 'foreign XDP program [0-9]* runs before everything'
id=$(sed -n 's/.*foreign XDP program \([0-9]*\) .*/\1/p' "$LAB_TMP/out" | head -n 1)
refute "attach does not open the port" lab_load attach --drill --xdp libxdp --host hpf0 --uplink p0
check "it says what to do" grep -q "xdp-loader unload hpf0 --id" "$LAB_TMP/err"
note "$(grep -h 'foreign XDP\|xdp-loader' "$LAB_TMP/err" | paste -sd ' ')"
check "what verify said removes the rival" unload --id "$id"
check "then it attaches" lab_load attach --drill --xdp libxdp --host hpf0 --uplink p0
check "and what is granted arrives" arrive 20 9 $HOST4

check "an upgrade replaces ours" lab_load upgrade
check "it is by libxdp still, with the others" eval 'others bwl_xdp_host && others foreign_drops && others foreign_forges'
check "what is forged does not pass after it" none 20 77 $HOST4 10.66.6.6
check "detach takes ours away" lab_load detach
check "and leaves the others" eval '! others bwl_xdp_host && others foreign_drops && others foreign_forges'
refute "the host port is down" lab_is_up hpf0
unload --all
done_testing
