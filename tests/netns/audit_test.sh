#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The audit log as the tools write it: what opens is recorded first or refused, what closes is done
# whatever happens to the log; killed at any point, it opens and is consistent with every old checkpoint.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB=bwl-hl-$$ LAB_DESTS=1
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/../harness/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/../harness/live.sh"
export ASAN_OPTIONS=detect_leaks=0 # it cannot work under strace
if ! command -v strace >/dev/null; then
	echo "needs strace"
	exit 77
fi
lab_up || exit 1
disk=$LAB_TMP/disk
mkdir "$disk"
mount -t tmpfs -o size=2m bwl-audit "$disk" || exit 1
trap 'umount -l "$disk"; lab_down' EXIT
export BWLIMIT_AUDIT_DIR=$disk/audit

out=$LAB_TMP/out err=$LAB_TMP/err
ctl() { "$CTL" "$@" >"$out" 2>"$err"; }
says() { grep -q -- "$1" "$out" "$err" || { note "$(cat "$out" "$err")"; false; }; }
logged() { grep -qE -- "$1" <<<"$("$CTL" audit show 2>/dev/null)" || { note "$("$CTL" audit show | tail -5)"; false; }; }
verified() { # with all checkpoints that were kept
	local old=() f
	for f in "$LAB_TMP"/old.*; do [[ ! -s $f ]] || old+=(--checkpoint "$f"); done
	ctl audit verify --key "$LAB_TMP/pub" "${old[@]}" && return
	note "$(cat "$out" "$err")"
	return 1
}
kept=0
keep() {
	kept=$((kept + 1))
	"$CTL" audit checkpoint >"$LAB_TMP/old.$kept" 2>"$err"
}

check "without a log the programs are attached" lab_attach
refute "and there is nothing to show" ctl audit show
check "a log is made, and prints its public key" ctl audit init --origin bwlimit/lab
cp "$out" "$LAB_TMP/pub"
check "the private key is for its owner only" test "$(stat -c %a "$disk/audit/key")" = 600
keep

lab_apply <<-END
	$(lab_policy_head </dev/null)
	peers:
	$(lab_peer d1 1 "grant: { rate: 10mbit }")
END
check "a policy is recorded with its whole digest before it holds" logged 'intent +policy apply .*digest [0-9a-f]{64}'
check "and when it does" logged 'policy +policy apply'
"$CTL" policy show >"$LAB_TMP/same.yaml" 2>/dev/null
check "a policy on trial is recorded with its reason" ctl policy apply "$LAB_TMP/same.yaml" --confirm 1h reason drill of the \"way back\" --yes
check "before" logged 'intent +policy apply .*, to be confirmed within 1h, reason drill of the "way back"$'
check "and after" logged 'policy +policy apply .*, reason drill of the "way back"$'
check "and so is its way back" ctl policy rollback reason the drill is over
check "with its own" logged 'policy +policy rollback reason the drill is over$'
check "and what is confirmed" eval 'ctl policy apply "$LAB_TMP/same.yaml" --confirm 1h && ctl policy confirm reason ticket 4720'
check "before" logged 'intent +policy confirm reason ticket 4720$'
refute "which has no other words" ctl policy confirm ticket 4720
check "a grant is recorded with its reason" ctl grant d1 rate 20mbit reason ticket 4711
check "before" logged 'intent +grant d1 rate 20mbit reason ticket 4711'
check "and after" logged 'grant +grant d1 rate 20mbit reason ticket 4711'
refute "a peer that is not there cannot be set" ctl peer set nobody rate 1mbit
check "and that it failed is on record" logged 'failed +peer set nobody rate 1mbit: '
check "a revocation is recorded" ctl revoke d1 reason it was stolen
check "once, with its reason" logged 'revoke +revoke d1 reason it was stolen'
keep
check "the log verifies against what was kept" verified

# --- killed at every call that changes a file, in both halves of a grant
killed_at() { # call number
	# in a subshell, because bash reports the death on stderr
	(strace -f -qq -o /dev/null -e trace="$1" -e inject="$1:signal=SIGKILL:when=$2" \
		"$CTL" grant d1 rate 30mbit reason "killed at $1 $2"; exit $?) >/dev/null 2>&1
	[[ $? -gt 128 ]]
}
calls() { # call: how many there are
	strace -f -qq -e trace="$1" -o "$LAB_TMP/trace" "$CTL" grant d1 rate 30mbit reason trace >/dev/null 2>&1
	grep -c "^[0-9]* *$1(" "$LAB_TMP/trace"
}
for call in pwrite64 fdatasync fallocate flock; do
	bad=0 points=0
	for ((n = 1, all = $(calls $call); n <= all; n++)); do
		killed_at "$call" "$n" && points=$((points + 1))
		verified || bad=$((bad + 1))
		ctl grant d1 rate 10mbit reason afterwards || { note "$(cat "$err")"; bad=$((bad + 1)); }
		keep
		verified || bad=$((bad + 1))
	done
	check "a grant killed at any $call leaves a log that opens and agrees with all that was kept ($points kills)" \
		test $bad = 0 -a $points -gt 1
done
check "and says what it found" logged 'recovered +after a crash'
live "a grant that was killed is given again"
last_file() { find "$disk/audit" -name 'log-*.jsonl' | sort | tail -1; }
write_torn() { # a write of which only a part reaches the disk
	local f
	f=$(find "$disk/audit" -name 'log-*.jsonl' | sort | tail -1)
	printf '{"boot":"torn' >>"$f"
}
write_torn
check "after a torn write it goes on" ctl grant d1 rate 10mbit reason afterwards
check "what was torn is kept aside" test -n "$(find "$disk/audit" -name 'torn-*' -size +0)"
check "and it verifies" verified

# --- several at once
for i in 1 2 3 4 5 6; do "$CTL" grant d1 rate "${i}0mbit" reason "at once $i" >/dev/null 2>"$LAB_TMP/err.$i" & done
wait
check "six grants at once are all on record" test "$("$CTL" audit show | grep -cE ' grant +grant d1 .*at once')" = 6
check "in one log" verified

# --- a full disk
granted() { "$CTL" grant list --json | grep_all '"state": "live"'; }
check "the peer is granted" granted
head -c 4M /dev/zero >"$disk/fill" 2>/dev/null
check "a disk that is full does not keep anybody from granting: there was room kept for it" \
	ctl grant d1 rate 10mbit reason "on a full disk"
fill() { # what is kept for what opens something, and then some
	local i f
	# Of the 512 kB that are kept behind the records 256 are for what closes. Of the others all but 16 go to somebody else.
	f=$(last_file)
	fallocate --punch-hole --offset $(($(stat -c %s "$f") + (272 << 10))) --length $((512 << 10)) "$f" || return
	head -c 4M /dev/zero >"$disk/fill.more" 2>/dev/null
	for ((i = 0; i < 1000; i++)); do ctl grant d1 rate 10mbit reason "filling $i" || break; done
	note "$i grants"
	[[ $i -gt 5 && $i -lt 100 ]] # 256 kB are enough for 200
}
check "but not for ever, and not with what is kept for what closes" fill
refute "on a full disk a grant is refused" ctl grant d1 rate 99mbit reason full
check "and told why" says 'No space left'
check "and nothing was changed" says 'nothing was changed'
check "and that it refused is told to programs" test "$("$CTL" grant d1 rate 99mbit reason full --json 2>/dev/null | grep -c '"error": {')" = 1
check "a revocation is not" ctl revoke d1
refute "the peer is closed" granted
check "and there was room kept for it" logged 'revoke +revoke d1'
check "everything is stopped, full disk or not" ctl stop
check "the log verifies, full as it is" verified
rm "$disk/fill" "$disk/fill.more"
check "with room again" ctl stop --off
ctl grant d1 rate 10mbit reason "with room again"
live "the disk has room again, and the peer is granted again"
mount -o remount,ro "$disk"
refute "on a read-only disk a grant is refused" ctl grant d1 rate 99mbit reason read-only
check "a revocation is not refused" ctl revoke --all
check "but warned about" says 'not in the audit log: revoke --all'
mount -o remount,rw "$disk"

# --- what an auditor finds
keep
cp -r "$disk/audit" "$LAB_TMP/copy"
sed -i '0,/ticket 4711/s//ticket 4712/' "$LAB_TMP"/copy/log-*.jsonl
refute "a word that was changed is found" ctl audit verify --key "$LAB_TMP/pub" --dir "$LAB_TMP/copy"
at=$(grep -boa 'ticket 4712' "$LAB_TMP"/copy/log-*.jsonl | head -1 | cut -d: -f1)
"$CTL" audit verify --json --key "$LAB_TMP/pub" --dir "$LAB_TMP/copy" >"$out" 2>"$err"
check "at its byte" python3 - "$out" "$at" <<'END'
import json, sys
p = json.load(open(sys.argv[1]))["problems"]
sys.exit(not (len(p) == 1 and p[0]["fault"] == "changed" and
	      p[0]["offset_bytes"] <= int(sys.argv[2]) < p[0]["offset_end_bytes"] and
	      p[0]["record_end"] == p[0]["record"] + 1))
END
"$CTL" audit checkpoint --from "$LAB_TMP/old.2" >"$LAB_TMP/proof" 2>"$err"
check "somebody without the log checks a proof" ctl audit verify --key "$LAB_TMP/pub" \
	--checkpoint "$LAB_TMP/old.2" --proof "$LAB_TMP/proof"
refute "which does not hold for another checkpoint" ctl audit verify --key "$LAB_TMP/pub" \
	--checkpoint "$LAB_TMP/old.1" --proof "$LAB_TMP/proof"
refute "a key that is not the log's verifies nothing" ctl audit verify \
	--key "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
refute "a second log does not replace the first" ctl audit init
in_dpu "$LOAD" upgrade >"$out" 2>"$err"
check "an upgrade is recorded" logged 'upgrade +upgrade'
# --- the agent
desired() { # rate
	lab_policy_head </dev/null
	echo "peers:"
	lab_peer d1 1 "grant: { rate: $1 }"
}
desired 5mbit >"$LAB_TMP/desired.yaml"
lab_bg agent dpu "$AGENT" --policy "$LAB_TMP/desired.yaml" --state-dir "$LAB_TMP/state" --json
agent=$LAB_PID
said() { grep -q "\"event\":\"$1\".*$2" "$LAB_TMP/agent"; }
check "the agent's start is recorded" lab_wait_for 5 logged 'bwlimitd +start +started'
# What its first look finds it leaves as it is; a change that comes before that look is left, too.
check "control: it has looked, and leaves what is in force" lab_wait_for 30 said policy 'it stays'
desired 6mbit >"$LAB_TMP/desired.yaml.new" && mv "$LAB_TMP/desired.yaml.new" "$LAB_TMP/desired.yaml"
check "what it puts in force is recorded" lab_wait_for 5 logged 'bwlimitd +policy .*put in force'
check "before it is in force, with its digest" logged 'bwlimitd +intent +policy .*digest [0-9a-f]{64}'
head -c 4M /dev/zero >"$disk/fill" 2>/dev/null
truncate -s "$(stat -c %s "$(last_file)")" "$(last_file)" # what was kept goes too, and is taken
head -c 4M /dev/zero >>"$disk/fill" 2>/dev/null
for i in 1 2 3 4 5 6 7 8; do ctl grant d1 rate 6mbit reason "filling $i" || break; done
desired 7mbit >"$LAB_TMP/desired.yaml.new" && mv "$LAB_TMP/desired.yaml.new" "$LAB_TMP/desired.yaml"
check "where that cannot be it is not put in force" lab_wait_for 5 said policy 'No space left'
check "and the rate is the one before" test "$("$CTL" --json policy show | jq '.peers[0].grant.rate_bits_per_second')" = 6000000
rm "$disk/fill"
lab_stop "$agent"
lab_bg agent dpu "$AGENT" --policy "$LAB_TMP/desired.yaml" --state-dir "$LAB_TMP/state" --json --totals 1s
agent=$LAB_PID
totals() { "$CTL" audit show --json | jq -sc "map(select(.event == \"totals\").data) | $1"; }
frames() { totals ".[-1].hosts // halt_error | .passed_frames + .dropped_frames >= $1" | grep_all -x true; }
check "every --totals there is a record of what every port passed and dropped" lab_wait_for 30 frames 0
before=$(totals '.[-1].hosts | .passed_frames + .dropped_frames')
in_host ping -c 3 -i 0.2 -W 1 "$(lab_dest4 1)" >/dev/null 2>&1
check "the next one has what came since" lab_wait_for 30 frames $((before + 3))
note "$(totals '.[-1]')"
check "of each port, the uplink's in both directions" test \
	"$(totals '.[-1].ports | map([.port, has("in"), has("out")]) | sort')" = '[["hpf0",true,false],["p0",true,true]]'
ctl grant d1 rate 6mbit reason "with room again, under bwlimitd"
live "the disk has room again, and bwlimitd is started again"
# Frames that no program here sends (ARP, ND) may come at any time.
passed() { in_dpu "$CTL" --json reasons --all | jq '[.reasons[] | select(.port == "hpf0" and .passes) | .bytes] | add'; }
least=$(passed)
lab_stop "$agent"
last=$(totals '.[-1].ports[] | select(.port == "hpf0").in.passed_bytes' | tail -1)
check "the last one, at the end, is what the reasons say" test "$least" -le "$last" -a "$last" -le "$(passed)"
check "its end is recorded" logged 'bwlimitd +stop +stopped'
check "and the log verifies" verified
in_dpu "$LOAD" detach >"$out" 2>"$err"
check "and a detach" logged 'detach +detach: 1 host port'
check "all of it verifies" verified
done_testing
