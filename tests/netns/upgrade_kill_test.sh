#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# SIGKILL of `bwlimit-load upgrade` from the last version, at system
# calls drawn at random from the first one that changes anything. After each kill the old version is in force, or the
# new one, or programs of both on the same maps, or nothing passes; upgrade and attach both continue, and nothing spent
# or revoked is given back. Kills while maps change their shapes: prog.relayout_test.
# KILLS=N, KILL_SEED=N, KILL_ALL=1.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-upkil-$$ LAB_DESTS=2
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/old.sh
. "$here/old.sh"
export ASAN_OPTIONS=detect_leaks=0 # it cannot work under strace
FROM=$OLD_FLEET_COMMIT KILLS=${KILLS:-3}
NEW_LOAD=$LOAD NEW_CTL=$CTL

sentence="an upgrade from $FROM survives SIGKILL anywhere"
if ! command -v strace >/dev/null; then
	skip "$sentence" "no strace"
	done_testing
	exit
fi
if ! OLD=$(old_tools "$FROM" "${OLD_FLEET[@]}"); then
	skip "$sentence" "its tools cannot be built here: no such commit in this clone, or see build/*/old/$FROM/log"
	done_testing
	exit
fi
lab_up || exit 1
note "KILL_SEED=$KILL_SEED"
{
	echo "peers:"
	lab_peer d1 1 "grant: { rate: 1gbit, burst: 1mb, volume: 10mb }"
	lab_peer gone 2 "grant: { rate: 1gbit }"
} | lab_policy_head none >"$LAB_TMP/policy.yaml"

old() { LOAD=$OLD/bwlimit-load CTL=$OLD/bwlimit-ctl; }
new() { LOAD=$NEW_LOAD CTL=$NEW_CTL; }
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

# "kind number" of each call from the first pin on, except those that only read; and one before it.
points() { # trace
	awk '{ sub(/^[0-9]+ +/, "") }
		{ kind = $0; sub(/\(.*/, "", kind); n[kind]++; line[NR] = kind " " n[kind]; text[NR] = $0 }
		/BPF_PROG_LOAD/ && !first { last = NR }
		/BPF_OBJ_PIN/ && /new_bwl_/ && !first { first = NR }
		END {
			print line[last]
			for (i = last + 1; i <= NR; i++)
				if (text[i] ~ /BPF_(MAP_(UPDATE_ELEM|CREATE)|PROG_LOAD|OBJ_PIN|LINK_UPDATE|LINK_CREATE)|^rename|^unlink.* = 0/)
					print line[i]
		}' "$1"
}

# What verify complains about is mended by upgrade, and nobody who is revoked gets anything.
only_upgrade_is_missing() {
	in_dpu "$LOAD" verify --json 2>/dev/null |
		jq -e '.checks | map(select(.result == "fail")) | length > 0 and all(.todo == "bwlimit-load upgrade")' >/dev/null &&
		[[ $(state_of gone) == revoked ]] && lab_silent 2
}
judge() { # where: sets state
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
	note "killed at $1: something passes, and neither version's verify is clean" "$(cat "$LAB_TMP/out" "$LAB_TMP/err")"
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

check "$FROM attaches" begin
new
in_dpu strace -f -qq -s 200 -e trace=bpf,rename,unlink -o "$LAB_TMP/trace" "$LOAD" upgrade >"$LAB_TMP/out" 2>&1
check "an upgrade that nobody kills is complete" go_on "no kill" upgrade
points "$LAB_TMP/trace" >"$LAB_TMP/points"
all=$(wc -l <"$LAB_TMP/points") made=0 bad=0
declare -A states=()
while read -r kind n; do
	begin || { note "$FROM does not attach: $(cat "$LAB_TMP/err")"; bad=$((bad + 1)); }
	new
	(in_dpu strace -f -qq -e trace="$kind" -e inject="$kind:signal=KILL:when=$n" -o /dev/null \
		"$LOAD" upgrade; :) >/dev/null 2>&1 </dev/null
	made=$((made + 1))
	judge "$kind $n"
	states[$state]=$((${states[$state]:-0} + 1))
	[[ $state != bad ]] || bad=$((bad + 1))
	how=(upgrade)
	[[ $((made % 2)) -eq 0 ]] || how=(attach --host hpf0 --uplink p0)
	go_on "$kind $n" "${how[@]}" || bad=$((bad + 1))
done < <(kills_drawn $(((all + KILLS - 1) / KILLS)) <"$LAB_TMP/points")
note "$made kills of $all: ${states[old]:-0} old, ${states[closed]:-0} closed, ${states[new]:-0} new," \
	"${states[both]:-0} both; $SECONDS s"
check "$sentence" [ $bad -eq 0 ]
check "there were calls to kill at" [ $made -ge 2 ]
done_testing
