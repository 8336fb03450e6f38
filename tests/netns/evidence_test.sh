#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Evidence of flow records: real traffic, entered into the audit log, exported, and judged with only the public keys
# and the files, by a user without rights. What is changed, left out, doubled or moved is found; and an auditor who is
# given one record learns nothing else.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-evid-$$ LAB_DESTS=3
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
# shellcheck source=../harness/documents.sh
. "$here/documents.sh"
lab_up || exit 1
STATE=$LAB_TMP/state FILE=$LAB_TMP/desired.yaml
export BWLIMIT_AUDIT_DIR=$LAB_TMP/audit
"$CTL" audit init --origin bwlimit/lab >"$LAB_TMP/log.pub"
{
	echo "peers:"
	lab_peer sink 1 "grant: { rate: 2gbit, burst: 8mb }, accept: { rate: 2gbit, burst: 8mb }"
	lab_peer vault 2 "grant: { rate: 2gbit, burst: 8mb }"
	lab_peer small 3 "grant: { rate: 100kbit, burst: 3000b }"
} | lab_policy_head >"$FILE"

agent() { # in the background; sets AGENT_PID
	lab_bg agent dpu "$AGENT" --policy "$FILE" --state-dir "$STATE" --tpm none --flows-every 1s --history-size 0b --json
	AGENT_PID=$LAB_PID
}
agent
in_dpu "$LOAD" attach --drill --fresh-volume --record on --host hpf0 --uplink p0 >"$LAB_TMP/attach" 2>&1 || {
	sed 's/^/# /' "$LAB_TMP/attach"
	exit 1
}
entries() { "$CTL" audit show --json | jq -c 'select(.event == "interval") | .data'; }
has_entries() { [[ $(entries | wc -l) -ge $1 ]]; }
lab_wait_for 30 "$CTL" stats sink
check "each interval is entered into the audit log, also idle" lab_wait_for 30 has_entries 3
"$CTL" audit checkpoint >"$LAB_TMP/early" 2>/dev/null
# One peer has traffic in each interval from here on, so its counter can be followed through all of them.
lab_bg steady host ping -q -i 0.2 "$(lab_dest4 2)"
steady=$LAB_PID
# To three peers, in both families; one of them refuses most of it.
for n in 1 2 3; do
	in_host ping -W1 -c5 -i0.02 -q -s 700 "$(lab_dest4 $n)" >/dev/null
	in_host ping -W1 -c3 -i0.02 -q "$(lab_dest6 $n)" >/dev/null
done
in_host ping -W1 -c40 -i0.002 -q -s 1000 "$(lab_dest4 3)" >/dev/null
lab_iperf_server d1 5201
check "control: iperf3 sends 4 MB" in_host timeout 60 iperf3 -c "$(lab_dest4 1)" -n 4M --logfile "$LAB_TMP/iperf"
# An agent that is killed: no interval twice, none missing.
for _ in 1 2 3 4; do
	in_host ping -W1 -c20 -i0.02 -q "$(lab_dest4 2)" >/dev/null
	kill -KILL "$AGENT_PID"
	wait "$AGENT_PID" 2>/dev/null
	agent
	sleep 0.7
done
KILL_IN=(nsenter "--net=/run/netns/$LAB-dpu")
lab_stop "$AGENT_PID"
# At its first writes to the log, and between a file and its entry.
for call in "renameat 1" "renameat 2" "fdatasync 1" "fdatasync 2" "fdatasync 3" "fdatasync 4"; do
	in_host ping -W1 -c5 -i0.02 -q "$(lab_dest4 1)" >/dev/null
	# shellcheck disable=SC2086 # call and number
	check "an agent is killed at its $call" kill_at $call timeout -s INT 120 "$AGENT" --policy "$FILE" --state-dir "$STATE" --tpm none --flows-every 1s --history-size 0b --json
done
agent
lab_stop "$steady"
more=$(($(entries | wc -l) + 3))
check "and after a kill it goes on" lab_wait_for 30 has_entries "$more"
live "bwlimitd is started again"
unique() { [[ $(entries | jq -c '[.boot, .tables, .interval]' | sort | uniq -d | wc -l) -eq 0 ]]; }
check "agents that are killed anywhere: no interval is entered twice" unique
follow() { entries | jq -s -e '[.[].interval | tonumber] as $n | [range(1; $n | length) | $n[.] - $n[. - 1]] | all(. == 1)' >/dev/null; }
check "and none is missing" follow
size() { entries | jq -c . | awk '{ print length }' | sort -u | wc -l; }
check "an entry is as long with traffic as without" test "$(size)" -eq 1
note "an entry's data is $(entries | head -n 1 | wc -c) bytes, its record $("$CTL" audit show --json | grep '"event":"interval"' | tail -n 1 | wc -c)"
check "secrets are root's alone" test "$(stat -c %a "$STATE"/evidence "$STATE"/evidence/*.key | sort -u | tr '\n' ' ')" == "600 700 "

# For the auditor: a separate directory, a user without rights, no access to the DPU's state.
AUDITOR=$LAB_TMP/auditor
mkdir "$AUDITOR" && chmod 755 "$LAB_TMP" && chmod 777 "$AUDITOR"
cp "$CTL" "$AUDITOR/bwlimit-ctl" && cp "$LAB_TMP/log.pub" "$AUDITOR/"
chmod 700 "$STATE" "$LAB_TMP/audit"
give() { find "$AUDITOR" -maxdepth 1 -name '*.json' -exec chown 65534 {} +; } # openings are for one alone
as_auditor() { (give && cd "$AUDITOR" && setpriv --reuid 65534 --regid 65534 --clear-groups env -u BWLIMIT_AUDIT_DIR -u BWLIMIT_STATE_DIR ./bwlimit-ctl "$@"); }
quietly() { "$@" >"$LAB_TMP/said" 2>&1 || { sed "s/^/# /" "$LAB_TMP/said"; false; }; }
verifies() { as_auditor evidence verify --key log.pub "$@" >"$LAB_TMP/said" 2>&1 || { sed 's/^/# /' "$LAB_TMP/said" | tail -n 5; false; }; }
finds() { # words, what to verify: wrong, and for that reason
	as_auditor evidence verify --key log.pub "${@:2}" >"$LAB_TMP/said" 2>&1
	[[ $? -eq 1 ]] && grep -q -- "$1" "$LAB_TMP/said" || { sed 's/^/# /' "$LAB_TMP/said" | tail -n 5; false; }
}
reads_state() { as_auditor evidence open --state-dir "$STATE" --dir "$LAB_TMP/audit" --interval 3 --write x 2>/dev/null; }
refute "control: the auditor cannot read the DPU's state" reads_state

lab_stop "$AGENT_PID"
evidence() { "$CTL" evidence "$1" --state-dir "$STATE" --dir "$LAB_TMP/audit" "${@:2}"; }
check "evidence export" evidence export "$AUDITOR/all"
chmod -R a+rX "$AUDITOR/all"
check "an auditor verifies it by the public key" verifies all
note "$(grep -A2 '^ok' "$LAB_TMP/said" | tr '\n' ' ')"
counted() { "$CTL" stats --json | jq "[.peers[].$1] | add"; }
said() { as_auditor evidence verify --key log.pub all --json | jq ".$1"; }
check "the totals that he finds are the counters" test "$(said passed_bytes) $(said dropped_bytes)" == "$(counted passed_bytes) $(counted dropped_bytes)"
check "control: some passed, some were refused" test "$(said passed_bytes)" -gt 1000000 -a "$(said dropped_bytes)" -gt 0
note "$(said passed_bytes) bytes passed, $(said dropped_bytes) refused"
check "with followed counters" test "$(said followed_counter_count)" -gt 5
"$CTL" audit init --dir "$LAB_TMP/other" --origin bwlimit/lab >"$AUDITOR/other.pub"
! can_judge || check "what verify prints is what its schema says" eval 'as_auditor evidence verify --key log.pub all --json | judge evidence-verify'
# Exports from two times: each has its own checkpoint, and the second continues where the first ended.
check "an export by an earlier checkpoint" evidence export --checkpoint "$LAB_TMP/early" "$AUDITOR/monday"
of() { as_auditor evidence verify --key log.pub "${@:2}" --json 2>/dev/null | jq -c "$1"; }
split=$(of .last_sequence monday)
for from in 0 1 2; do evidence export --from $((split + from)) "$AUDITOR/from$from" >/dev/null; done
chmod -R a+rX "$AUDITOR"/monday "$AUDITOR"/from*
check "two exports are verified together" test "$(of '[.ok, .interval_count, .checkpoint_count, .repeated_count]' monday from1)" == "[true,$(said interval_count),2,0]"
check "they may overlap" test "$(of '[.ok, .interval_count, .repeated_count]' monday from0)" == "[true,$(said interval_count),1]"
check "an interval that is missing between them is found" finds 'entries between' monday from2
check "and the newer one first" finds 'entries between' from1 monday
by_other_key() { as_auditor evidence verify --key other.pub all >/dev/null 2>&1; }
refute "by another key nothing holds" by_other_key
both_drawn() { as_auditor evidence verify --key log.pub --seed-from all/checkpoint --draws 5 monday from1 >/dev/null 2>"$LAB_TMP/why"; [[ $? -eq 2 ]]; }
check "draws are of one folder" both_drawn

# The interval and row of a flow to that address.
with_flow() { # address: "SEQUENCE ROW"
	local f
	for f in "$STATE"/flows/*.jsonl; do
		grep -E '"kind":"flow(-remainder)?"' "$f" | awk -v f="$f" -v a="\"destination\":\"$1\"" \
			'index($0, a) && !n { n = NR; sub(/.*\//, "", f); print f + 0, n }'
	done | head -n 1
}
read -r interval row < <(with_flow "$(lab_dest4 1)")
note "interval $interval, row $row"
check "evidence open: one record" evidence open --interval "$interval" --flow "$row" --write "$AUDITOR/one.json"
check "of one peer" evidence open --interval "$interval" --peer sink --write "$AUDITOR/sink.json"
check "of one interval" evidence open --interval "$interval" --write "$AUDITOR/whole.json"
! can_judge || check "as its schema says" eval '"$CTL" --json evidence open --state-dir "$STATE" --interval "$interval" --peer sink --write "$AUDITOR/again.json" | judge evidence-open'
check "what is opened is for who asked alone" test "$(stat -c %a "$AUDITOR"/{one,sink,whole}.json | sort -u)" == 600
for f in one sink whole; do check "$f.json is verified" verifies "$f.json"; done
check "with what was exported, too" verifies all one.json sink.json whole.json
covers() { as_auditor evidence verify --key log.pub all whole.json sink.json one.json --json | jq -c "$1"; }
check "it says what that covers" test "$(covers '[.first_sequence, .last_sequence, .first_log_record, .last_log_record, .checkpoint_record_count, .boot_count, .last_end]')" == "$(
	cat "$AUDITOR"/all/*.entry | jq -s -c --argjson size "$(sed -n 2p "$AUDITOR/all/checkpoint")" '[(.[0], .[-1] | .data.sequence | tonumber), .[0].n, .[-1].n, $size, 1, .[-1].data.end]')"
check "and what of it is whole" test "$(covers '[.shown_interval_count, .whole_interval_count, .shown_peer_count > .whole_peer_count]')" == '[3,1,true]'
check "an interval that is shown in part is no whole one" finds 'shown in part' --whole all whole.json one.json
check "control: one that is whole is" verifies --whole all whole.json
jq -c '.intervals[0].peers |= map(select(.records))' "$AUDITOR/whole.json" >"$AUDITOR/less.json"
check "slots that are left out are no whole interval" finds 'shown in part' --whole less.json
refute "nothing is written over what somebody was given" evidence open --interval "$interval" --flow "$row" --write "$AUDITOR/one.json" 2>/dev/null

# What the auditor learns from one record: its line, and nothing about others.
line=$(jq -r '.intervals[0].peers[0].records[0].line' "$AUDITOR/one.json")
check "the record is the line of the file, byte for byte" test "$line" == "$(
	grep -E '"kind":"flow(-remainder)?"' "$STATE/flows/$(printf %016d "$interval").jsonl" | sed -n "${row}p")"
jq -r '[.intervals[0] | .entry, .proof] + [.intervals[0].peers[0] | del(.name, .records[0].line)] | .. | strings' "$AUDITOR/one.json" >"$LAB_TMP/beside"
jq -r '[.intervals[0] | .entry, .proof] | .[]' "$AUDITOR/one.json" >>"$LAB_TMP/beside"
words=(sink vault small "$HOST4" "$HOST6" fd00:7: "$LAB_VIA4" hpf0)
for n in 1 2 3; do words+=("$(lab_dest4 $n)" "$(lab_dest6 $n)" "10.10$n." "fd00:10$n:"); done
silent() { # file: none of the lab's names and addresses
	local w
	for w in "${words[@]}"; do ! grep -qF -- "$w" "$1" || { note "$w is in $1"; return 1; }; done
}
check "beside that line there is no name and no address of the lab" silent "$LAB_TMP/beside"
refute "control: in the line there are" silent "$AUDITOR/one.json"
one_line() { [[ $(grep -o '\\"kind\\":\\"flow' "$1" | wc -l) -eq 1 ]]; }
check "there is one line, of one peer" one_line "$AUDITOR/one.json"
cat "$AUDITOR"/all/* >"$LAB_TMP/exported"
check "what was exported has no name and no address at all" silent "$LAB_TMP/exported"
others() { ! grep -qE 'vault|small|10\.10[23]\.|fd00:10[23]:' "$1"; }
check "an opened peer shows no other" others "$AUDITOR/sink.json"
check "what one record shows is what the page lists" test "$(jq -r '.intervals[0] | keys, (.peers[0] | keys), (.peers[0].records[0] | keys) | join(" ")' "$AUDITOR/one.json" | tr '\n' '|')" == \
	"entry peers proof|id name name_salt path peer records slot|index line path salt|"

# An independent check: in Python, written from the page alone.
second() { python3 "$here/check_evidence.py" "$@" | sed "s/^/# /"; }
check "a second verifier finds the same: one record" second open "$AUDITOR/one.json"
check "one peer" second open "$AUDITOR/sink.json"
check "one interval" second open "$AUDITOR/whole.json"
check "and totals and counters of what was exported" second export "$AUDITOR/all"

# Changed, left out, doubled, moved.
tamper() { # from to jq-program
	jq -c "$3" "$AUDITOR/$1" >"$AUDITOR/$2" && ! cmp -s "$AUDITOR/$1" "$AUDITOR/$2"
}
found_by_both() { # words file
	finds "$1" "$2" && ! python3 "$here/check_evidence.py" open "$AUDITOR/$2" >/dev/null 2>&1
}
tamper one.json bad-line.json '.intervals[0].peers[0].records[0].line |= sub("\"charged_bytes\":[0-9]+"; "\"charged_bytes\":7")'
check "a record that was changed is found" found_by_both 'was changed' bad-line.json
tamper one.json bad-address.json '.intervals[0].peers[0].records[0].line |= sub("10\\.101\\.0\\.9"; "10.102.0.9")'
check "one of another address is found" found_by_both 'was changed' bad-address.json
tamper whole.json bad-less.json '(.intervals[0].peers[] | select(.records) | .records) |= .[1:]'
check "one that was left out is found" finds 'order\|left out' bad-less.json
tamper whole.json bad-last.json '(.intervals[0].peers[] | select(.records) | .records) |= .[:-1]'
check "and the last one" found_by_both 'left out' bad-last.json
tamper whole.json bad-twice.json '(.intervals[0].peers[] | select(.records) | .records) |= . + [.[-1]]'
check "one that was doubled is found" finds 'order\|cannot be read\|left out' bad-twice.json
tamper whole.json bad-peer-twice.json '.intervals[0].peers |= [.[0]] + .'
check "a peer that was doubled is found" finds 'twice' bad-peer-twice.json
evidence open --interval $((interval + 1)) --write "$AUDITOR/next.json" >/dev/null
jq -c --slurpfile next "$AUDITOR/next.json" '.intervals[0].entry = $next[0].intervals[0].entry | .intervals[0].proof = $next[0].intervals[0].proof' \
	"$AUDITOR/one.json" >"$AUDITOR/bad-moved.json"
check "one that was moved to another interval is found" found_by_both 'not in this interval\|path' bad-moved.json
tamper one.json bad-name.json '.intervals[0].peers[0].name = "vault"'
check "another name is found" found_by_both 'does not match the pseudonym' bad-name.json
tamper one.json bad-proof.json '.intervals[0].proof |= sub("index [0-9]+"; "index 0")'
check "another place in the log is found" finds 'record\|proof' bad-proof.json
damage() { # what to do with a copy of the export
	rm -rf "$AUDITOR/copy"
	cp -r "$AUDITOR/all" "$AUDITOR/copy"
	(cd "$AUDITOR/copy" && eval "$1")
	chmod -R a+rX "$AUDITOR/copy"
}
of_interval() { grep -l "\"sequence\":\"$(printf %020d "$1")\"" "$AUDITOR"/all/*.entry | sed 's/.*\///; s/\.entry//'; }
n=$(of_interval "$interval")
damage "sed -i '0,/\"flows\":\\[[1-9]/s/\"flows\":\\[[0-9]*,/\"flows\":[1,/' $n.peers"
check "a peer's numbers that were changed are found" finds 'its peers are not these' copy
damage "sed -i 1d $n.peers"
check "a peer that was left out is found" finds 'number of peers is different' copy
damage "sed -i 's/\"sequence\":\"0000/\"sequence\":\"1000/' $n.entry"
check "an entry that was changed is found" finds "interval" copy
damage "rm $n.*"
check "an interval that was left out is found" finds 'entries between' copy
check "by the second verifier, too" bash -c "! python3 '$here/check_evidence.py' export '$AUDITOR/copy' >/dev/null 2>&1"
next=$(of_interval $((interval + 1)))
damage "for x in entry tlog-proof peers; do cp $n.\$x $next.\$x; done"
check "an interval in place of another is found" finds 'not the entry' copy

# Bytes drawn at random.
check "evidence challenge" evidence challenge --seed-from "$AUDITOR/all/checkpoint" --draws 100 --write "$AUDITOR/drawn.json" "$AUDITOR/all"
check "what was drawn is shown" verifies --seed-from all/checkpoint --draws 100 all drawn.json
tamper drawn.json bad-drawn.json '.intervals |= .[1:]'
check "what was drawn and is not shown is found" finds 'is not shown' --seed-from all/checkpoint --draws 100 all bad-drawn.json
read -r small_interval small_row < <(with_flow "$(lab_dest4 3)") # of the peer with the least bytes
evidence open --interval "$small_interval" --flow "$small_row" --write "$AUDITOR/drawn1.json" >/dev/null
check "fewer than were asked for are found" finds 'is not shown' --seed-from all/checkpoint --draws 100 all drawn1.json
evidence challenge --seed-from "$AUDITOR/all/checkpoint" --draws 100 --nonce 'dice 4 1 6' --write "$AUDITOR/diced.json" "$AUDITOR/all" >/dev/null
check "what was drawn by the auditor's own text is shown" verifies --seed-from all/checkpoint --draws 100 --nonce 'dice 4 1 6' all diced.json
check "and without it, it is said what that is worth" bash -c "cd '$AUDITOR' && ./bwlimit-ctl evidence verify --key log.pub --seed-from all/checkpoint --draws 100 all drawn.json | grep -q 'as good as the operator'"
usage() { as_auditor evidence verify --key log.pub "$@" >/dev/null 2>"$LAB_TMP/why"; [[ $? -eq 2 ]]; }
check "draws without their folder are refused" usage --seed-from all/checkpoint --draws 100 drawn.json
check "none, too" usage --seed-from all/checkpoint --draws 0 all drawn.json
idle=$(entries | jq -r 'select([.flows[1], .remainder[1]] | all(tonumber == 0)) | .sequence' | head -n 1 | sed 's/^0*//')
check "control: an export of an idle interval" evidence export --checkpoint "$AUDITOR/all/checkpoint" --from "$idle" --to "$idle" "$AUDITOR/idle"
check "where nothing passed, nothing can be drawn: that is no answer" finds 'nothing to draw from' --seed-from all/checkpoint --draws 5 idle

# Witnesses: a number of those that the auditor knows must have cosigned the checkpoint; the draw follows from their signatures.
for w in w1 w2; do
	openssl genpkey -algorithm ed25519 -out "$LAB_TMP/$w.pem" 2>/dev/null
	python3 "$here/cosign.py" "example.com/$w" "$LAB_TMP/$w.pem" "$AUDITOR/all/checkpoint" >"$LAB_TMP/$w.cosigned" 2>"$AUDITOR/$w.pub"
done
cp "$LAB_TMP/w1.cosigned" "$AUDITOR/cosigned"
check "evidence export by a checkpoint that a witness has cosigned" evidence export --checkpoint "$AUDITOR/cosigned" "$AUDITOR/seen"
both=(--witness w1.pub --witness w2.pub)
check "one of two witnesses is enough where one is demanded" verifies "${both[@]}" --witnesses 1 seen
check "both are not there" finds 'witness' "${both[@]}" seen
check "and of what none has cosigned none is there" finds 'witness' "${both[@]}" --witnesses 1 all
evidence challenge --seed-from "$AUDITOR/cosigned" --witness "$AUDITOR/w1.pub" --draws 50 --write "$AUDITOR/drawn2.json" "$AUDITOR/seen" >/dev/null
check "what was drawn by its signature is shown" verifies --witness w1.pub --seed-from cosigned --draws 50 seen drawn2.json
without() { as_auditor evidence verify --key log.pub --witness w1.pub --seed-from all/checkpoint --draws 50 seen drawn2.json >/dev/null 2>&1; }
refute "a seed without it is refused" without

# Both ends. The receiver's DPU is not in this lab: its files are made from what was sent, with its own log.
sent=$(sed -n 's/.*"sequence":\([0-9]*\).*/\1/p' "$STATE"/flows/*.jsonl | sort -n | sed -n '1p;$p' | tr '\n' ' ')
first=$(entries | jq -r .sequence | sort | head -n 1 | sed 's/^0*//') last=${sent##* }
last=$(entries | jq -r .sequence | sort | tail -n 1 | sed 's/^0*//')
check "a peer of all intervals is opened" evidence open --interval "$first" --to "$last" --peer sink --write "$AUDITOR/sent.json"
receiver() { # NAME jq-program over the lines, and over those of the interval with the largest flow
	mkdir -p "$LAB_TMP/$1/flows"
	local f
	for f in "$STATE"/flows/*.jsonl; do
		if [[ $f == "$largest" ]]; then
			jq -c "$3" "$f"
		else
			jq -c "$2" "$f"
		fi >"$LAB_TMP/$1/flows/${f##*/}"
	done
	"$CTL" audit init --dir "$LAB_TMP/$1/audit" --origin bwlimit/receiver >"$AUDITOR/$1.pub"
	# The log begins with the newest of the existing intervals.
	mkdir "$LAB_TMP/$1/later"
	mv "$LAB_TMP/$1"/flows/*.jsonl "$LAB_TMP/$1/later/"
	find "$LAB_TMP/$1/later" -name '*.jsonl' | sort | while read -r f; do
		mv "$f" "$LAB_TMP/$1/flows/"
		"$ENTER" "$LAB_TMP/$1" "$LAB_TMP/$1/audit" || return
	done
	"$CTL" evidence open --state-dir "$LAB_TMP/$1" --dir "$LAB_TMP/$1/audit" --interval "$first" --to "$last" \
		--peer sender --write "$AUDITOR/$1.json" >/dev/null
}
is_data='.kind == "flow" and .direction == "out" and .destination_port == 5201 and .reason == "pass"'
largest=$(for f in "$STATE"/flows/*.jsonl; do jq -r "select($is_data) | \"\(.charged_bytes) \(input_filename)\"" "$f"; done | sort -n | tail -n 1)
bytes=${largest%% *} largest=${largest#* }
ENTER=$LAB_BUILD/tests/harness/bwl-enter
arrives='if .peer == "sink" then .peer = "sender" | (if .direction == "out" then .direction = "in" elif .direction == "in" then .direction = "out" else . end) else . end'
check "control: the other end has its own log" receiver arrived "$arrives" "$arrives"
! can_judge || check "as its schema says" eval 'as_auditor evidence reconcile --sender-key log.pub --receiver-key arrived.pub sent.json arrived.json --json | judge evidence-reconcile'
reconcile() { as_auditor evidence reconcile --sender-key log.pub --receiver-key "$1.pub" sent.json "$1.json" --json "${@:2}"; }
check "what was sent is what arrived" test "$(reconcile arrived | jq -c '[.ok, .sent_bytes == .arrived_bytes, .sent_bytes > 1000000, .unexplained_bytes]')" == '[true,true,true,0]'
twice_is_refused() { # side: whoever says the same interval again has sent, or lost, as much as he likes
	jq -c '.intervals |= [.[0]] + .' "$AUDITOR/$1.json" >"$AUDITOR/twice.json"
	local sent=sent.json got=arrived.json
	[[ $1 == sent ]] && sent=twice.json || got=twice.json
	! as_auditor evidence reconcile --sender-key log.pub --receiver-key arrived.pub "$sent" "$got" >"$LAB_TMP/said" 2>&1 &&
		grep -q 'duplicate, or out of order' "$LAB_TMP/said"
}
check "an interval that the sender's file has twice is refused" twice_is_refused sent
check "and one that the receiver's has" twice_is_refused arrived
skips_in() { jq '[.intervals[].entry | fromjson | .data.interval | tonumber] as $n | [range(1; $n | length) | select($n[.] - $n[. - 1] != 1)] | length' "$AUDITOR/$1"; }
jq -c '.intervals |= [.[0], .[-1]]' "$AUDITOR/sent.json" >"$AUDITOR/skip.json"
skips() { as_auditor evidence reconcile --sender-key log.pub --receiver-key arrived.pub skip.json arrived.json --json | jq .skip_count; }
check "control: between the first and the last there are others" test "$(skips_in skip.json)" -eq 1
check "intervals that are left out between two are counted" test "$(skips)" -eq $((1 + $(skips_in arrived.json)))
# 1500 bytes of the largest flow are missing; its CPU's counter lacks them, too.
less="if $is_data and .charged_bytes == $bytes then .charged_bytes -= 1500 else . end |
	if .kind == \"flow-peer\" and .peer == \"sink\" then .flows.bytes -= 1500 | (.cpus | map(.[6]) | max) as \$most | .cpus |= map(if .[6] == \$most then .[6] -= 1500 else . end) else . end | $arrives"
check "control: of another one something is lost" receiver lost "$arrives" "$less"
check "what did not arrive is named as unexplained" test "$(reconcile lost | jq -c '[.ok, .unexplained_bytes]')" == '[true,1500]'
check "unless its cause is counted" test "$(reconcile lost --cause esp-gaps=1500b | jq -c '[.ok, .known_cause_bytes, .unexplained_bytes]')" == '[true,1500,0]'
more=${less//-= 1500/+= 1500}
check "control: another one has more" receiver more "$arrives" "$more"
check "more than was sent cannot have arrived" test "$(reconcile more | jq .ok)" == false

# An interval in the middle without an end is not left out of the last hours.
check "control: one has no end in the middle" receiver endless "$arrives" "if .kind == \"flow-interval\" then .end = null else . end | $arrives"
check "it is exported with those around it" "$CTL" evidence export --since 24h --state-dir "$LAB_TMP/endless" --dir "$LAB_TMP/endless/audit" "$AUDITOR/endless"
check "and none is missing" quietly as_auditor evidence verify --key endless.pub endless

# Times by the test's own clock: earlier intervals end before midnight, later ones after it.
turn=$(((first + last) / 2)) midnight=$((20900 * 86400))
clocked() { # NAME when-the-interval-ended
	local at="if .kind == \"flow-interval\" then .sequence as \$i | .begin = ($2 - 1 | todate) | .end = ($2 | todate) else . end"
	receiver "$1" "$at | $arrives" "$at | $arrives" &&
		"$CTL" evidence export --state-dir "$LAB_TMP/$1" --dir "$LAB_TMP/$1/audit" "$AUDITOR/$1" >/dev/null &&
		chmod -R a+rX "$AUDITOR/$1"
}
days() { as_auditor evidence verify --key "$1.pub" "$1" --json | jq -c '[.ok, .epoch_count, .clock_step_count, .followed_counter_count > 5]'; }
check "control: one goes over midnight" clocked midnight "$midnight + \$i - $turn - 1"
check "pseudonyms change once, and counters are followed on both sides" test "$(days midnight)" == '[true,2,0,true]'
check "control: the clock of another one is set back over midnight" clocked back "$midnight + \$i - $turn + (if \$i > $turn then -3600 else 1 end)"
check "which is no lie, and told" test "$(days back)" == '[true,3,1,true]'

# Two logs with one key: an opening from the other one is found by means of the folder.
fork() { # NAME jq-program: the interval with the largest flow
	mkdir -p "$LAB_TMP/$1/flows"
	[[ -d $LAB_TMP/$1/audit ]] || cp -r "$LAB_TMP/fork" "$LAB_TMP/$1/audit"
	jq -c "$2" "$largest" >"$LAB_TMP/$1/flows/${largest##*/}"
	"$ENTER" "$LAB_TMP/$1" "$LAB_TMP/$1/audit"
}
"$CTL" audit init --dir "$LAB_TMP/fork" --origin bwlimit/fork >"$AUDITOR/fork.pub"
check "control: two logs of one key" fork here .
check "with another record in one of them" fork there "${less% | "$arrives"}"
of_fork() { "$CTL" evidence "$1" --state-dir "$LAB_TMP/$2" --dir "$LAB_TMP/$2/audit" "${@:3}"; }
at=$(basename "$largest" .jsonl | sed 's/^0*//')
check "an export of the one" of_fork export here "$AUDITOR/here"
check "an opening of it" of_fork open here --interval "$at" --write "$AUDITOR/here.json"
check "and one of the other" of_fork open there --interval "$at" --write "$AUDITOR/there.json"
check "an export of the other" of_fork export there "$AUDITOR/there"
chmod -R a+rX "$AUDITOR/there" "$AUDITOR/here"
two_logs() { as_auditor evidence verify --key fork.pub here there >"$LAB_TMP/said" 2>&1; [[ $? -eq 1 ]] && grep -q 'differs from that in an earlier folder' "$LAB_TMP/said"; }
check "two exports of two logs do not hold together" two_logs
check "control: each holds by itself" quietly as_auditor evidence verify --key fork.pub there.json
check "and its own beside the folder" quietly as_auditor evidence verify --key fork.pub here here.json
of_another() { as_auditor evidence verify --key fork.pub "$@" >"$LAB_TMP/said" 2>&1; [[ $? -eq 1 ]] && grep -q 'differs from that in the folder' "$LAB_TMP/said"; }
check "one of another log is found beside it, whichever is named first" of_another there.json here

# The operator's use of evidence is in the log; and if files are lost, nothing can be shown, and the reason is given.
check "who opened what is in the log" bash -c "'$CTL' audit show --dir '$LAB_TMP/audit' | grep -q 'evidence open interval $interval flow $row'"
sed -i 's/"charged_bytes":[0-9]*/"charged_bytes":5/' "$STATE/flows/$(printf %016d "$interval").jsonl"
refute "an interval whose file was changed cannot be shown" evidence open --interval "$interval" --flow "$row" --write "$AUDITOR/x.json" 2>"$LAB_TMP/why"
check "and it says why" grep -q 'does not match the audit log' "$LAB_TMP/why"
rm "$STATE"/evidence/*.key
refute "without the day's secret nothing can be shown any more" evidence open --interval $((interval + 1)) --write "$AUDITOR/y.json" 2>"$LAB_TMP/why"
check "and it says so" grep -q 'secrets are kept' "$LAB_TMP/why"
done_testing
