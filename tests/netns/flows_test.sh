#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Flow records on disk: to the byte what arrived, what the tools report as sent and what the counters grew by,
# through a flood of new flows, and with agents that are killed: with evidence in the audit log, and without.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-flows-$$ LAB_DESTS=2
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
lab_up || exit 1
STATE=$LAB_TMP/state FILE=$LAB_TMP/desired.yaml
export BWLIMIT_AUDIT_DIR=$LAB_TMP/audit
"$CTL" audit init --origin bwlimit/lab >"$LAB_TMP/log.pub"
in_ns d1 ethtool -K eth0 gro off >/dev/null # a capture shows what came over the wire
{
	echo "peers:"
	lab_peer sink 1 "grant: { rate: 2gbit, burst: 8mb }, accept: { rate: 2gbit, burst: 8mb }"
	lab_peer small 2 "grant: { rate: 100kbit, burst: 3000b }"
} | lab_policy_head >"$FILE"

agent() { # in the background; sets AGENT_PID
	lab_bg agent dpu "$AGENT" --policy "$FILE" --state-dir "$STATE" --tpm none --flows-every 1s --json
	AGENT_PID=$LAB_PID
}
die() {
	kill -KILL "$AGENT_PID"
	wait "$AGENT_PID" 2>/dev/null
}
# All lines of all intervals except the newest, to which an interval may still be added.
rows() { cat "$STATE"/flows/*.jsonl 2>"$LAB_TMP/unread" || { note "$(tail -n 1 "$LAB_TMP/unread")" >&2; return 1; }; }
intervals() { rows | grep -F '"kind":"flow-interval"'; }
# The sums for a peer: frames and bytes that passed, frames and bytes that were refused.
recorded() { # peer
	rows | grep -F '"kind":"flow-peer"' | jq -c --arg p "$1" -s '[.[] | select(.kind == "flow-peer" and .peer == $p) | .flows, .remainder, .unclassed] |
		[(map(.frames) | add // 0), (map(.bytes) | add // 0), (map(.dropped_frames) | add // 0), (map(.dropped_bytes) | add // 0)]'
}
in_rows() { # peer
	rows | jq -c --arg p "$1" -s '[.[] | select((.kind == "flow" or .kind == "flow-remainder") and .peer == $p)] |
		[(map(select(.reason | startswith("pass"))) | (map(.frames) | add // 0), (map(.charged_bytes) | add // 0)),
		 (map(select(.reason | startswith("pass") | not)) | (map(.frames) | add // 0), (map(.bytes) | add // 0))]'
}
counted() { # peer
	"$CTL" stats "$1" --json | jq -c '.peers[0] | [.passed_frames, .passed_bytes, .dropped_frames, .dropped_bytes]'
}
agrees() { # peer
	[[ "$(recorded "$1")" == "$(counted "$1")" && "$(in_rows "$1")" == "$(counted "$1")" ]]
}
all_agree() { agrees sink && agrees small; }
none_of() { # jq: no line is so; notes those that are
	jq -c "select($1)" >"$LAB_TMP/wrong" && [[ ! -s $LAB_TMP/wrong ]] || { note "$(head -n 5 "$LAB_TMP/wrong" | cut -c1-1000)"; return 1; }
}
balanced() { rows | grep -F '"balanced":' | none_of '.balanced == false'; }
whole() { intervals | none_of '.gap != null'; }
whole_and_balanced() { whole && balanced; }
# Of the flow to that port with the most bytes (iperf3 has another for control, which can have more frames, as data is
# GSO): one field of all its rows.
of_data() { # protocol port field
	rows | jq -s --argjson proto "$1" --argjson port "$2" --arg f "$3" '[.[] | select(.kind == "flow" and .direction == "out" and
		.ip_protocol == $proto and .destination_port == $port and (.reason | startswith("pass")))] |
		group_by(.source_port) | max_by(map(.bytes) | add) | map(.[$f]) | add'
}
captured() { # tcpdump filter: frames, and their bytes
	tcpdump -r "$LAB_TMP/pcap" -e -nn -t "$1" 2>/dev/null | sed -n 's/.*, length \([0-9]*\): .*/\1/p' |
		awk '{ n++; s += $1 } END { print n + 0, s + 0 }'
}

agent
check "off, as it is at first, nothing is recorded" sh -c "
	! test -e '$LAB_PINS/record' && ! test -e '$STATE/flows'"
in_dpu "$LOAD" attach --drill --fresh-volume --record on --host hpf0 --uplink p0 >"$LAB_TMP/attach" 2>&1 || {
	sed 's/^/# /' "$LAB_TMP/attach"
	exit 1
}
check "verify says that flows are recorded" sh -c "nsenter --net=/run/netns/$LAB-dpu '$LOAD' verify --json |
	jq -e '.checks[] | select(.id == \"recorder\" and (.text | startswith(\"flows are recorded\")))' >/dev/null"
lab_wait_for 20 "$CTL" stats sink
lab_wait_for 20 test -e "$STATE/flows/0000000000000001.jsonl"

lab_bg tcpdump d1 tcpdump -U -i eth0 -B 65536 -s 96 -w "$LAB_TMP/pcap" "src host $HOST4 and dst port 5201"
dump=$LAB_PID
lab_wait_for 20 test -s "$LAB_TMP/pcap"
lab_bg server d1 iperf3 -s
lab_wait_for 30 in_ns d1 sh -c 'ss -ltn | grep -q :5201'
lab_iperf 60 "$LAB_TMP/tcp" host -c "$(lab_dest4 1)" -J -n 15M
lab_iperf 60 "$LAB_TMP/udp" host -c "$(lab_dest4 1)" -J -n 7M -b 100M -u -l 1000
check "records are the counters" lab_wait_for 20 agrees sink
note "recorded $(recorded sink), counted $(counted sink)"
tcp_rows() {
	rows | jq -s -r '[.[] | select(.kind == "flow" and .ip_protocol == 6 and .destination_port == 5201 and .direction == "out" and
		.reason == "pass")] | map(.charged_bytes) | add'
}
udp_rows() {
	rows | jq -s -r '[.[] | select(.kind == "flow" and .ip_protocol == 17 and .destination_port == 5201 and .direction == "out")] |
		"\(map(.frames) | add) \(map(.bytes) | add)"'
}
# tcpdump writes what it has up to a second later, and TCP may send again: it goes on until both agree.
tcp_as_captured() { [[ $(captured tcp | cut -d' ' -f2) == "$(tcp_rows)" ]]; }
udp_as_captured() { [[ $(captured udp) == "$(udp_rows)" ]]; }
# GSO packets are recorded as such, and charged like their segments.
check "TCP: records are a capture at the receiver, to the byte" lab_wait_for 60 tcp_as_captured
note "TCP at the receiver: $(captured tcp), frames and bytes"
check "UDP: likewise" lab_wait_for 60 udp_as_captured
lab_stop "$dump"
# Each frame, a GSO packet too, has its headers once; a SYN has 8 bytes of options more than other segments. The sender's
# kernel knows what it sent, with what it sent twice.
cat >"$LAB_TMP/tcp.py" <<'END'
import socket, struct, sys
if sys.argv[1] == 'listen':
    s = socket.create_server((sys.argv[2], 5301))
    print('listens', flush=True)
    s = s.accept()[0]
    while s.recv(65536):
        pass
else:
    s = socket.create_connection((sys.argv[2], 5301))
    info = lambda form, at: struct.unpack_from(form, s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256), at)[0]
    syns = 1 + info('I', 100) # tcpi_total_retrans
    s.sendall(bytes(200000))
    s.shutdown(socket.SHUT_WR)
    s.recv(1) # the other end has read all, and closed
    print(info('Q', 200), syns) # tcpi_bytes_sent
END
lab_bg listen d1 python3 "$LAB_TMP/tcp.py" listen "$(lab_dest4 1)"
lab_wait_for 60 grep -q listens "$LAB_TMP/listen"
read -r sent syns < <(in_host python3 "$LAB_TMP/tcp.py" send "$(lab_dest4 1)")
payload() { echo $(($(of_data 6 5301 bytes) - 66 * $(of_data 6 5301 frames) - 8 * syns)); }
has_sent() { [[ $(payload) -eq $sent ]]; }
check "TCP: their payload is what the sender's kernel says that it sent" lab_wait_for 60 has_sent
note "payload $(payload), sent $sent"
lab_wait_for 20 agrees sink
# It begins with a datagram of 4 bytes.
check "UDP: their payload is what iperf3 says that it sent" test \
	$(($(of_data 17 5201 bytes) - 42 * $(of_data 17 5201 frames) - 4)) -eq "$(jq .end.sum.bytes "$LAB_TMP/udp")"
check "a flow has its flags and its times" sh -c "cat '$STATE'/flows/*.jsonl | jq -s -e '
	[.[] | select(.kind == \"flow\" and .ip_protocol == 6)] | all(.first <= .last) and (map(.tcp_flags) | any(. >= 16))' >/dev/null"

flows() { "$CTL" flows --state-dir "$STATE" --since 1h "$@"; }
check "bwlimit-ctl flows adds up to what passed and was refused" sh -c "[ \"$(flows --peer sink --json | jq '
	[(.flows, .remainders)[] | select(.reason | startswith("pass")) | .charged_bytes] | add')\" = \"$(
	counted sink | jq '.[1]')\" ]"
check "--port: flows of that port alone, and one line for all intervals of a flow" test "$(flows --port 5201 --json |
	jq -c '[(.flows | all(.source_port == 5201 or .destination_port == 5201)), (.flows | group_by([.source_port, .ip_protocol, .direction, .reason, .destination_port]) | all(length == 1))]')" == '[true,true]'
check "for people: the largest first, and how many intervals balance" sh -c "[ \"$(flows --port 5201 | sed -n 2p | grep -c 'sink.*udp\|sink.*tcp')\" = 1 ]"
intervals_of() { "$CTL" flows intervals --state-dir "$STATE" --json "$@"; }
# For a peer, over all existing intervals: the growth of its counter, and what is in flows, in remainders and in neither.
grew() { intervals_of --peer "$1" --most 360 | jq -c '[.intervals[] | select(.grew)] |
	[(map(.grew.passed_bytes) | add), (map(.in_flows.passed_bytes + .in_remainder.passed_bytes + .in_none.passed_bytes) | add),
	 (map(.grew.dropped_bytes) | add), (map(.in_flows.dropped_bytes + .in_remainder.dropped_bytes + .in_none.dropped_bytes) | add)]'; }
check "flows intervals: what a peer's counter grew by is in flows and remainder" test "$(grew sink | jq -c '[.[0] == .[1], .[2] == .[3], .[0]]')" == \
	"[true,true,$(counted sink | jq '.[1]')]"
check "the newest first, and as many as are asked for" test "$(intervals_of --most 3 | jq -c '[(.intervals | length), (.intervals | map(.interval) | . == (sort | reverse))]')" == '[3,true]'
check "each has its number over all tables, as its file has" test "$(intervals_of --most 360 | jq '.intervals | map(.sequence) | min')" -eq "$(head -qn 1 "$STATE"/flows/*.jsonl | jq -s 'map(.sequence) | min')"
check "without a peer nothing is said of one" sh -c "'$CTL' flows intervals --state-dir '$STATE' --json | jq -e 'all(.intervals[]; .grew == null and .peer_balanced == null and .balanced)' >/dev/null"
check "for people: whether they balance" sh -c "'$CTL' flows intervals --peer sink --most 360 --state-dir '$STATE' | grep -q ' yes .* yes '"
touch -d '2 hours ago' "$STATE/flows/0000000000000001.jsonl"
but_one() { [[ $(flows --json | jq .interval_count) -eq $(($(find "$STATE/flows" -name '0*.jsonl' | wc -l) - 1)) ]]; }
check "--since: nothing of before" lab_wait_for 10 but_one
refute "another peer has none" test "$(flows --peer nobody --json | jq '.flows | length')" -gt 0
refute "where there are no records it says so" sh -c "'$CTL' flows --state-dir '$LAB_TMP/nothing' 2>'$LAB_TMP/none'"
check "and how to get them" grep -q -- '--record on' "$LAB_TMP/none"

mkdir -p "$LAB_TMP/many/flows"
awk 'BEGIN { for (i = 0; i < 45000; i++) printf "{\"kind\":\"flow\",\"source_port\":%d,\"frames\":1,\"bytes\":%d,\"charged_bytes\":%d}\n", i, 60 + i, 64 + i }' \
	>"$LAB_TMP/many/flows/0000000000000001.jsonl"
check "of more flows than memory is kept for, the largest are listed and the others added up" test "$("$CTL" flows --state-dir "$LAB_TMP/many" --json |
	jq -c '[(.flows | length), .left_out_count, .left_out_frames, ([.flows[].bytes] | add) + .left_out_bytes, .flows[0].source_port]')" == '[20000,25000,25000,1015177500,44999]'

# Ten times the size of the table, from one host to two peers, one of them far over its rate.
cat >"$LAB_TMP/spray.py" <<'END'
import os, socket, struct, sys
flows = int(os.environ.get('FLOWS', 90000))
gw, own, dests = sys.argv[1], sys.argv[2], sys.argv[3:]
mac = lambda s: bytes.fromhex(s.replace(':', ''))
out = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
out.bind(('h0', 0))
def frame(dest, n):
    ip = struct.pack('!BBHHHBBH4s4s', 0x45, 0, 128, n & 0xffff, 0, 64, 17, 0, socket.inet_aton('10.7.0.2'), socket.inet_aton(dest))
    s = sum(struct.unpack('!10H', ip))
    s = (s & 0xffff) + (s >> 16)
    ip = ip[:10] + struct.pack('!H', ~(s + (s >> 16)) & 0xffff) + ip[12:]
    return mac(gw) + mac(own) + b'\x08\x00' + ip + struct.pack('!HHHH', 30000 + n % 30000, 30000 + n // 30000, 108, 0) + bytes(100)
for n in range(90000):
    out.send(frame(dests[n % 8 == 7 if len(dests) > 1 else 0], n % flows))
END
in_host python3 "$LAB_TMP/spray.py" "$(lab_mac dpu hpf0)" "$(lab_mac host h0)" "$(lab_dest4 1)" "$(lab_dest4 2)"
check "a flood of ten tables: records and remainder are the counters" lab_wait_for 30 all_agree
check "and what flows intervals says of the flood" test "$(grew small | jq -c '[.[0] == .[1], .[2] == .[3], .[2]]')" == "[true,true,$(counted small | jq '.[3]')]"
check "much of it is remainder" sh -c "cat '$STATE'/flows/*.jsonl |
	jq -s -e '[.[] | select(.kind == \"flow-remainder\") | .frames] | add > 10000' >/dev/null"
check "and something was refused" sh -c "cat '$STATE'/flows/*.jsonl |
	jq -s -e '[.[] | select(.kind == \"flow-peer\" and .peer == \"small\") | .flows.dropped_frames] | add > 100' >/dev/null"
check "every interval balances" balanced
check "and none is missing" whole
live "the flood has ended"

# KILLS=1000 if there is time: then with few flows, so that all intervals can be added up.
kills=${KILLS:-6} sprays=0
flows=$((kills > 20 ? 40 : 90000))
newest() { find "$STATE/flows" -name '0*.jsonl' | wc -l; }
had=0
writes_on() { [[ $(newest) -gt $had ]]; }
spray_on() { # under traffic all the time
	[[ $spray ]] && kill -0 "$spray" 2>/dev/null && return
	in_host env FLOWS="$flows" python3 "$LAB_TMP/spray.py" "$(lab_mac dpu hpf0)" "$(lab_mac host h0)" "$(lab_dest4 1)" &
	spray=$! sprays=$((sprays + 1))
}
spray=
for ((i = 1; i <= kills; i++)); do
	spray_on
	lab_wait_for 30 writes_on # it writes: then at any moment of an interval
	sleep "0.$((RANDOM % 10))$((RANDOM % 10))"
	die
	had=$(newest)
	agent
	((i % 100)) || note "$i kills, $(newest) intervals"
done
wait "$spray"
check "agents that are killed under traffic: records are the counters" lab_wait_for 30 all_agree
check "every interval balances still" balanced
check "none is missing" whole
note "$kills kills while $sprays times 90 000 frames of $flows flows passed"
# And the log has each of them once: with the public key the counters can be found in it.
lab_stop "$AGENT_PID"
"$CTL" evidence export --state-dir "$STATE" "$LAB_TMP/exported" >/dev/null
"$CTL" evidence verify --key "$LAB_TMP/log.pub" --json "$LAB_TMP/exported" >"$LAB_TMP/judged"
judged() { jq -r "$1" "$LAB_TMP/judged"; }
check "evidence of all that holds" test "$(judged .ok)" == true
check "each interval is in the log, once, and none says that one is missing" test "$(judged '"\(.interval_count) \(.gap_count)"')" == "$(newest) 0"
check "what the log says that passed and was refused is what the counters say" test "$(judged '"\(.passed_bytes) \(.dropped_bytes)"')" == "$(
	"$CTL" stats --json | jq -r '"\([.peers[].passed_bytes] | add) \([.peers[].dropped_bytes] | add)"')"
note "$(judged '"\(.interval_count) intervals, \(.followed_counter_count) counters followed, \(.problem_texts)"')"
# Killed after the tables were switched and before anything is written: they still have it, and the next agent writes it.
KILL_IN=(nsenter "--net=/run/netns/$LAB-dpu")
KILL_PATH=new.tmp
killed() {
	kill_at renameat "$1" "$AGENT" --policy "$FILE" --state-dir "$STATE" --tpm none --flows-every 1s --history-size 0b --json
}
# The second begins with what the first could not write, and so does the third, which is killed at the interval behind it.
for i in 1 1 2; do
	in_host ping -c20 -i0.02 -q "$(lab_dest4 1)" >/dev/null
	check "an agent is killed before it writes ($i)" killed "$i"
	check "and it was about to" test -s "$STATE/flows/new.tmp"
	refute "which nobody who lists *.jsonl finds" test -n "$(find "$STATE/flows" -name '*.jsonl' ! -name '0*')"
done
KILL_PATH=
in_host ping -c3 -i0.2 "$(lab_dest4 1)" >/dev/null
agent
check "the next one writes what it could not: records are the counters" lab_wait_for 30 all_agree
check "and none is missing, nor out of balance" whole_and_balanced
live "bwlimitd is started again"

# Switched twice without an agent to write: one interval is lost, and the next one reports it.
lab_stop "$AGENT_PID"
for _ in 1 2; do
	find "$STATE/flows" -name '*.jsonl' | sort | tail -n 1 | xargs rm
done
agent
check "what was lost the next interval says" lab_wait_for 20 sh -c "cat '$STATE'/flows/*.jsonl |
	jq -s -e 'any((.gap // \"\") | test(\"not written\"))' >/dev/null"

check "an upgrade goes on recording" lab_load upgrade
in_host ping -c3 -i0.2 "$(lab_dest4 1)" >/dev/null
tables() { intervals | jq -s -e '[.[].tables] | unique | length == 2' >/dev/null; }
check "into tables of its own" lab_wait_for 20 tables
check "whose predecessors were closed" sh -c "cat '$STATE'/flows/*.jsonl | jq -s -e 'any(.final == true)' >/dev/null"
check "files are the readers' to read, and nobody's else" sh -c "
	stat -c %a '$STATE'/flows/*.jsonl | sort -u | grep -Eqx '600|640'"

# Without a reader: tables come and go, by upgrades and detaching.
gap_says() { intervals | jq -s -e --arg t "$1" 'any((.gap // "") | test($t))' >/dev/null; }
lab_stop "$AGENT_PID"
refute "so far none of the tables is missing" gap_says "came and went"
lab_load upgrade
in_host ping -c3 -i0.2 "$(lab_dest4 1)" >/dev/null
lab_load upgrade
agent
check "tables that came and went while nobody read are named" lab_wait_for 20 gap_says "came and went"

# An upgrade that is killed after it has replaced some programs, and one that fails there.
recorder() { lab_load verify --json; jq -e "[.checks[] | select(.id == \"recorder\")] | any($1)" "$LAB_TMP/out" >/dev/null; }
check "verify has nothing to say of the tables" recorder '.result == "ok"'
"${KILL_IN[@]}" strace -f -qq -e trace=bpf -o "$LAB_TMP/calls" "$LOAD" upgrade >/dev/null 2>&1
mapfile -t updates < <(grep -n BPF_LINK_UPDATE "$LAB_TMP/calls" | cut -d: -f1)
check "an upgrade replaces several programs" test "${#updates[@]}" -ge 2
check "one is killed between two of them" kill_at bpf "${updates[1]}" "$LOAD" upgrade
check "verify sees that" recorder '.result == "fail" and (.text | test("not finished"))'
check "and which programs record elsewhere" recorder '.result == "fail" and (.text | test("does not record into the tables"))'
in_host ping -c3 -i0.2 "$(lab_dest4 1)" >/dev/null
check "and upgrade ends it" lab_load upgrade
check "after which all programs write to tables that are read" recorder '.result == "ok"'
live "the upgrade that was killed is done"
in_host ping -c3 -i0.2 "$(lab_dest4 1)" >/dev/null
tables_of_now() { intervals | jq -s -e '[.[] | select((.gap // "") | test("came and went"))] | length >= 2' >/dev/null; }
check "what was recorded between is named" lab_wait_for 20 tables_of_now

# The word is pinned last: a kill before that leaves the other tables.
rm "$LAB_PINS/record/bwl_rec_word"
check "one that was killed while it pinned the tables is seen" recorder '.result == "fail" and (.text | test("not pinned"))'
check "and the next upgrade goes on recording" lab_load upgrade
check "into tables that are read" recorder '.result == "ok" and (.text | test("flows are recorded"))'

# It first reads the new tables: the second file from now on is theirs, unless it is the end of those before.
newest() { find "$STATE/flows" -name '0*.jsonl' | sort | tail -n 1; }
number() { local f; f=$(newest) f=${f##*/}; echo $((10#${f%.jsonl})); }
is_final() { [[ $(head -qn 1 "$(newest)" | jq .final) == true ]]; }
was=$(number)
reads_new() { [[ $(number) -ge $((was + 2)) ]] && ! is_final; }
check "the agent reads these" lab_wait_for 60 reads_new
check "switched off" lab_load upgrade --record off
refute "there is nothing to read" test -e "$LAB_PINS/record"
# Its thread finds that and says so, or the main loop finds it first and ends the thread: either way the tables' end is
# written.
check "what the agent writes last is the end of the tables" lab_wait_for 60 is_final

done_testing
