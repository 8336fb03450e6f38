#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# SIGKILL of `bwlimit-load upgrade` from 0.3.0, at system calls drawn at random from the first one that changes anything. After
# each kill the old version is in force, or the new one, or programs of both on the same maps, which hold rates and volumes, or
# nothing passes; upgrade and attach both continue, and nothing spent or revoked is given back. Kills while maps change their shapes: prog.relayout_test.
# KILLS=N, KILL_SEED=N, KILL_ALL=1.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-upkil-$$ LAB_DESTS=3
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
# shellcheck source=../harness/old.sh
. "$here/old.sh"
export ASAN_OPTIONS=detect_leaks=0 # it cannot work under strace
KILLS=${KILLS:-3}
# shellcheck disable=SC2034 # of kill_at
KILL_IN=(nsenter --net="/run/netns/$LAB-dpu")

sentence="an upgrade from $OLD_VERSION survives SIGKILL anywhere"
if ! command -v strace >/dev/null; then
	skip "$sentence" "no strace"
	done_testing
	exit
fi
old_wanted "$sentence" || { done_testing; exit; }
lab_up || exit 1
note "KILL_SEED=$KILL_SEED"
{
	echo "peers:"
	lab_peer d1 1 "grant: { rate: 8mbit, burst: 1mb, volume: 10mb }"
	lab_peer little 3 "grant: { rate: 8mbit, burst: 1mb, volume: 100kb }"
	lab_peer gone 2 "grant: { rate: 1gbit }"
} | lab_policy_head none >"$LAB_TMP/policy.yaml"

load() { in_dpu "$LOAD" "$@" >"$LAB_TMP/out" 2>"$LAB_TMP/err"; }
pings() { in_host ping -q -c 2 -i 0.2 -W 1 "$(lab_dest4 1)" >/dev/null; }
used() { in_dpu "$CTL" peer show d1 --json | jq .left.used_bytes; }
state_of() { in_dpu "$CTL" peer show "$1" --json | jq -r .state; }
begin() {
	new
	[[ ! -d $LAB_PINS ]] || load detach
	old
	ip_in dpu link set hpf0 up
	load attach --policy "$LAB_TMP/policy.yaml" --max-peers 64 --fresh-volume || return
	in_host ping -q -c 20 -i 0.01 -s 1000 -W 1 "$(lab_dest4 1)" >/dev/null
	in_dpu "$CTL" revoke gone >/dev/null 2>&1
	spent=$(used)
	[[ $spent -gt 20000 ]]
}

# "kind number" of each call from the first pin on, except those that only read; and one before it. Of calls in a row that
# fill one map, 16 384 of them when a map of that size is made anew, the first, the middle and the last.
points() { # trace
	awk '{ sub(/^[0-9]+ +/, "") }
		{ kind = $0; sub(/\(.*/, "", kind); n[kind]++; line[NR] = kind " " n[kind]; text[NR] = $0 }
		/BPF_PROG_LOAD/ && !first { last = NR }
		/BPF_OBJ_PIN/ && /new_bwl_/ && !first { first = NR }
		END {
			print line[last]
			for (i = last + 1; i <= NR; i++) {
				if (text[i] !~ /BPF_(MAP_(UPDATE_ELEM|CREATE)|PROG_LOAD|OBJ_PIN|LINK_UPDATE|LINK_CREATE)|^rename|^unlink.* = 0/)
					continue
				map = match(text[i], /MAP_UPDATE_ELEM.*map_fd=[0-9]+/) ? substr(text[i], RSTART, RLENGTH) : i
				if (map != filled) row++
				filled = map
				of[++calls] = row; at[calls] = i; size[row]++
			}
			for (i = 1; i <= calls; i++) {
				place = of[i] == of[i - 1] ? place + 1 : 1
				if (place == 1 || place == size[of[i]] || place == int((size[of[i]] + 1) / 2)) print line[at[i]]
			}
		}' "$1"
}

# What verify complains about is mended by upgrade, and nobody who is revoked gets anything.
only_upgrade_is_missing() {
	in_dpu "$LOAD" verify --json 2>/dev/null |
		jq -e '.checks | map(select(.result == "fail")) | length > 0 and all(.todo == "bwlimit-load upgrade")' >/dev/null &&
		[[ $(state_of gone) == revoked ]] && lab_silent 2
}
arrived() { # destination: bytes of what the host sent there
	awk -v to="$(lab_dest4 "$1")" '$1 == "0800" && $2 == to { n += $5 } END { printf "%.0f\n", n }' "$LAB_TMP/at-$1"
}
counted() { in_dpu "$CTL" stats d1 --json | jq '.peers[0].passed_bytes'; }
# By the receivers: no more than rate x time + burst, all of it counted, and of a volume no more than it.
limits_hold() {
	local n judges=() was us
	was=$(counted)
	for n in 1 3; do
		lab_bg "at-$n" "d$n" "$FRAMES" count eth0
		judges+=("$LAB_PID")
		lab_wait_for 60 grep -q ready "$LAB_TMP/at-$n" || return
	done
	us=${EPOCHREALTIME/[.,]/}
	for n in 1 3; do echo "eth ip4 src=$HOST4 dst=$(lab_dest4 $n) udp dport=9 fill=1000"; done |
		in_host "$FRAMES" send h0 --gw "$(lab_mac dpu hpf0)" --count 6000 >/dev/null || return
	lab_settle
	us=$((${EPOCHREALTIME/[.,]/} - us)) # 8 Mbit/s: a byte in each
	for n in "${judges[@]}"; do lab_stop "$n"; done
	[[ $(arrived 1) -gt 0 && $(arrived 1) -le $((us + 1048576)) && $(counted) -ge $((was + $(arrived 1))) &&
		$(arrived 3) -gt 0 && $(arrived 3) -le 102400 ]] && return
	note "$(arrived 1) bytes in $us us, counted $(($(counted) - was)); $(arrived 3) of 102400"
	return 1
}
found() { # sets state, and the tools to those that understand it
	state=closed
	! lab_silent || return 0
	state=old
	old
	! load verify || return 0
	state=new
	new
	! load verify || return 0
	state=both
	! only_upgrade_is_missing || return 0
	state=bad
}
judge() { # where: sets state
	found
	[[ $state != bad ]] ||
		note "killed at $1: something passes, and neither version's verify is clean" "$(cat "$LAB_TMP/out" "$LAB_TMP/err")"
	# Programs that are the same in both versions are old ones to verify, whoever loaded them.
	if [[ $state != @(closed|bad) ]]; then
		limits_hold || { note "killed at $1: $state, but a limit does not hold"; state=bad; }
		spent=$(used)
	fi
}
go_on() { # where, by what
	local why how=("${@:2}")
	new
	if ! load "${how[@]}"; then why="${how[0]} fails"
	elif ! load verify; then why="verify is not clean"
	elif [[ $(used) -lt $spent ]]; then why="volume came back: $(used) of $spent"
	elif [[ $(state_of gone) != revoked ]]; then why="what was revoked is not"
	elif ! pings; then why="what is granted does not pass"
	else return 0
	fi
	note "after $1: $why" "$(cat "$LAB_TMP/out" "$LAB_TMP/err")"
	return 1
}

check "$OLD_VERSION attaches" begin
new
in_dpu strace -f -qq -s 200 -e trace=bpf,rename,unlink -o "$LAB_TMP/trace" "$LOAD" upgrade >"$LAB_TMP/out" 2>&1
check "an upgrade that nobody kills is complete" go_on "no kill" upgrade
points "$LAB_TMP/trace" >"$LAB_TMP/points"
all=$(wc -l <"$LAB_TMP/points") made=0 hits=0 bad=0
declare -A states=()
while read -r kind n; do
	begin || { note "$OLD_VERSION does not attach: $(cat "$LAB_TMP/err")"; bad=$((bad + 1)); }
	new
	kill_at "$kind" "$n" "$LOAD" upgrade && hits=$((hits + 1))
	made=$((made + 1))
	judge "$kind $n"
	states[$state]=$((${states[$state]:-0} + 1))
	[[ $state != bad ]] || bad=$((bad + 1))
	how=(upgrade)
	[[ $((made % 2)) -eq 0 ]] || how=(attach --host hpf0 --uplink p0)
	go_on "$kind $n" "${how[@]}" || bad=$((bad + 1))
done < <(kills_drawn $(((all + KILLS - 1) / KILLS)) <"$LAB_TMP/points")
note "$made kills of $all, $hits hit: ${states[old]:-0} old, ${states[closed]:-0} closed, ${states[new]:-0} new," \
	"${states[both]:-0} both; $SECONDS s"
check "$sentence" [ $bad -eq 0 ]
live "upgrade or attach has run again after a kill"
check "control: limits hold, as they are judged after a kill" eval 'begin && new && load upgrade && limits_hold'
check "there were calls to kill at" [ $made -ge 2 ]
check "it was killed there" killed_enough $hits $made
done_testing
