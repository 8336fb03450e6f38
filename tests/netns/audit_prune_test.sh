#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The audit log is killed at every call that changes a file while it is kept below its size: it verifies
# with the earlier checkpoint, the next record repairs it, and only a host's junk is removed, then other
# records that a host caused (or, in a log without either, its oldest file, with a record about it).
#
# The kill comes at the entry of a call, which is then not executed; the next number is the state right after it.
# One call in eight is drawn; KILL_ALL=1, or BWL_LONG=1, takes all.
# live: no DPU: what is killed writes an audit log
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB=bwl-prune-$$
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/../harness/lab.sh"
export ASAN_OPTIONS=detect_leaks=0 # it cannot work under strace
MIX=$LAB_BUILD/tests/harness/bwl-auditmix
CALLS=openat,write,pwrite64,fsync,fdatasync,fallocate,ftruncate,renameat,renameat2,rename,unlinkat,unlink
if ! command -v strace >/dev/null || [[ ! -x $MIX ]]; then
	skip "the audit log survives SIGKILL at every call of its pruning" "no strace, or no $MIX"
	done_testing
	exit 77
fi
# In memory if possible: several hundred runs wait for the disk many times each.
LAB_TMP=$(mktemp -d "$([[ -w /dev/shm ]] && echo /dev/shm || echo /tmp)/bwl-prune-XXXXXX")
trap lab_down EXIT
log=$LAB_TMP/log

ctl() { "$CTL" "$@" 2>"$LAB_TMP/err"; }
operators() { ctl audit show --dir "$log" --json | jq -r '.text // empty' | grep '^operator'; }
verify() { ctl audit verify --json --key "$LAB_TMP/pub" --checkpoint "$1" --dir "$log" >"$LAB_TMP/verified"; }
said() { jq "$1" "$LAB_TMP/verified"; }
wrong() { note "$*" "$(cat "$LAB_TMP/verified" "$LAB_TMP/err")"; bad=$((bad + 1)); }
gone() { # of the log that was: lines, hashes, or whole files that are not there any more
	if [[ $1 == whole ]]; then
		verify_any && [[ $(said .first_record) -gt $first ]]
	else
		comm -23 <(ls "$LAB_TMP/before") <(ls "$log") | grep_all "$1"
	fi
}
verify_any() { ctl audit verify --json --key "$LAB_TMP/pub" --dir "$log" >"$LAB_TMP/verified"; }
# A log whose next record begins a file and prunes; `gone` lists what was removed. Sets next.
prepare() { # every pattern
	rm -rf "$log"
	"$CTL" audit init --dir "$log" --origin bwlimit/test >"$LAB_TMP/pub" || return
	first=0
	local step=10 # then one by one through the ten that have pruned
	for ((next = 0; next < 1000; next += step)); do
		rm -rf "$LAB_TMP/before"
		cp -a "$log" "$LAB_TMP/before"
		"$MIX" "$log" $next $((next + step)) "$1" || return
		if gone "$2"; then
			[[ $step -gt 1 ]] || return 0
			restore
			step=1 next=$((next - 1))
		fi
	done
	return 1
}
left() { # what no file of the log is: half made, kept of one that has gone, or under a `least`
	find "$log" -name '.log-*'
	local f g range
	for f in "$log"/*.kept; do [[ ! -e $f || -e ${f%.kept}.hashes ]] || echo "$f"; done
	for f in "$log"/*.least; do
		range=${f##*/log-} range=${range%.least}
		for g in "$log"/log-*; do
			[[ -e $f && $g != "$f" && ! ${g:${#log}+5:20} < ${range%-*} && ${g:${#log}+5:20} < ${range#*-} ]] && echo "$g"
		done
	done
}
restore() { rm -rf "$log"; cp -a "$LAB_TMP/before" "$log"; }
run_killed() { # call number
	# in a subshell, because bash reports the death on stderr
	(strace -f -qq -o /dev/null -e trace="$1" -e inject="$1:signal=SIGKILL:when=$2" \
		"$MIX" "$log" $next $((next + 1)) "$every"; exit $?) >/dev/null 2>&1
	[[ $? -eq 137 ]]
}
# Missing operators' records: none, or some of the oldest, and never more than the removed file had.
lost() { # may be lost
	operators >"$LAB_TMP/has"
	sed -i "/^operator $next\$/d" "$LAB_TMP/has" # the one that is being written
	local had has
	had=$(wc -l <"$LAB_TMP/operators") has=$(wc -l <"$LAB_TMP/has")
	[[ $((had - has)) -le $1 ]] && cmp -s "$LAB_TMP/has" <(tail -n "$has" "$LAB_TMP/operators")
}
judge() { # when
	verify "$LAB_TMP/checkpoint" || wrong "$1: it does not verify"
	[[ $(said '.hashes_only_count <= .pruned_count and .removed_count >= .first_record') == true ]] || wrong "$1: no record tells of what is gone"
	lost "$may" || wrong "$1: operators' records are gone: $(wc -l <"$LAB_TMP/has") of $(wc -l <"$LAB_TMP/operators")"
}
kill_everywhere() { # sentence every pattern
	local call n all points=0 bad=0 every=$2 may=0
	check "$1: a log is filled until the next record prunes" prepare "$every" "$3" || return
	may=0
	[[ $3 != whole ]] || may=$(cat "$(find "$LAB_TMP/before" -name 'log-*' | sort | head -1)" | grep -c '"operator')
	restore
	operators >"$LAB_TMP/operators"
	ctl audit checkpoint --dir "$log" >"$LAB_TMP/checkpoint"
	strace -f -qq -e trace=$CALLS -o "$LAB_TMP/trace" "$MIX" "$log" $next $((next + 1)) "$every" ||
		nok "it runs under strace"
	judge "not killed"
	sed -nE 's/^[0-9]+ +([a-z0-9]+)\(.*/\1/p' "$LAB_TMP/trace" | awk '{ print $1, ++n[$1] }' >"$LAB_TMP/calls"
	all=$(wc -l <"$LAB_TMP/calls")
	while read -r call n; do
		restore
		if run_killed "$call" "$n"; then points=$((points + 1)); else wrong "$call $n: not killed"; fi
		judge "killed at $call $n"
		"$MIX" "$log" $next $((next + 1)) "$every" 2>"$LAB_TMP/err" || wrong "$call $n: no next record"
		judge "the record after $call $n"
		[[ -z $(find "$log" -name "torn-*") ]] || wrong "$call $n: torn"
		# it continues, and at its next file is below its size again
		"$MIX" "$log" $((next + 1)) $((next + 20)) "$every" 2>"$LAB_TMP/err" || wrong "$call $n: it does not go on"
		gone "$3" || wrong "$call $n: it prunes no more"
		[[ -z $(left) ]] || wrong "$call $n: left behind: $(left)"
		ctl audit verify --json --key "$LAB_TMP/pub" --dir "$log" >"$LAB_TMP/verified" || wrong "$call $n: later it does not verify"
	done < <(kills_drawn 8 <"$LAB_TMP/calls")
	note "$points kills of $all (KILL_SEED=$KILL_SEED), $next records, $may may be lost"
	check "$1" test $bad -eq 0
	check "$1: there were calls to kill at" test "$all" -ge 20 -a $points -ge 2
}
kill_everywhere "lines of junk go, and nothing else, whenever it is killed" 10 jsonl
kill_everywhere "what else a host caused goes, and nothing else, whenever it is killed" 10 hashes
kill_everywhere "of a log of operators the oldest file goes whole, whenever it is killed" 1 whole

# The oldest file's hashes are removed: what was kept of it is not our leftover.
torn() {
	prepare 10 hashes || return
	restore
	local kept
	kept=$(find "$log" -name '*.kept' | sort | head -1)
	[[ -n $kept ]] && rm "${kept%.kept}.hashes" && cp "$kept" "$LAB_TMP/kept" || return
	"$MIX" "$log" "$next" $((next + 200)) 10 2>"$LAB_TMP/err" || return
	cmp "$kept" "$LAB_TMP/kept"
}
check "what was kept of a file whose hashes are taken away is never pruned in silence" torn
done_testing
