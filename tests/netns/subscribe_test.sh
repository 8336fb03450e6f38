#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Readers of the data plane's events: bwlimitd for its log and for any number of `watch`, each with its own
# filter; one that hangs delays no other and is told what it lost; without bwlimitd one `watch` reads by itself.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-subscribe-$$ LAB_DESTS=1
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
# shellcheck source=../harness/documents.sh
. "$here/documents.sh"
lab_up || exit 1
lab_attach || exit 1
SOCKET=/run/bwlimit/$LAB.events
{
	echo "peers:"
	lab_peer sink 1 "grant: { rate: 1gbit }"
} | lab_policy_head >"$LAB_TMP/desired.yaml"

in_dpu "$CTL" policy apply --yes "$LAB_TMP/desired.yaml" >/dev/null 2>&1 || exit 1

# In the background; NAME is then its output, NAME.err its messages, and $LAB_PID its id.
reader() { # name, arguments of watch…
	lab_bg "$1" dpu "$CTL" --json watch "${@:2}"
}
follows() { lab_wait_for 120 grep -q 'come from bwlimitd' "$LAB_TMP/$1.err"; }
got() { # name, kind of event
	grep -q "\"event\":\"$2\"" "$LAB_TMP/$1"
}
only() { # name, kind of event: some, and no other
	[[ $(jq -r 'select(.kind == "event").event' "$LAB_TMP/$1" | sort -u) == "$2" ]]
}
count() { jq -s "map(select(.kind == \"event\")) | length" "$LAB_TMP/$1"; }
ended() { # name, field of its last document
	jq -s "last | select(.kind == \"event-end\").$2" "$LAB_TMP/$1"
}
ends() { # name, process
	lab_stop "$2"
	[[ -n $(ended "$1" event_count) ]]
}
said() { grep -q "\"event\":\"$1\"" "$LAB_TMP/agent"; }
agent() {
	lab_bg agent dpu "$AGENT" --policy "$LAB_TMP/desired.yaml" --state-dir "$LAB_TMP/state" --json
	AGENT_PID=$LAB_PID
}
nobody() { in_host ping -c 1 -W 1 10.99.9.9 >/dev/null 2>&1; }
spoofed() { in_host ping -c 1 -W 1 -I 10.66.0.9 "$(lab_dest4 1)" >/dev/null 2>&1; }
until_got() { # name, kind, what makes it happen
	"$3"
	got "$1" "$2"
}
ip_in host addr add 10.66.0.9/32 dev lo

# --- without bwlimitd
reader alone
alone=$LAB_PID
check "without bwlimitd watch reads by itself, and says so" lab_wait_for 10 grep -q 'bwlimitd does not answer' "$LAB_TMP/alone.err"
check "it sees what happens" lab_wait_for 10 until_got alone new-destination nobody
second() { ! in_dpu "$CTL" watch --count 1 2>"$LAB_TMP/second" && grep -q 'reading the events already' "$LAB_TMP/second"; }
check "then no other can" second
agent
check "when bwlimitd comes it lets go" follows alone
check "and sees what happens by it" lab_wait_for 10 until_got alone spoofed-source spoofed
check "the log of bwlimitd gets its own" lab_wait_for 10 said spoofed-source

# --- readers with filters, next to the log
reader new --event new-destination --port hpf0
new=$LAB_PID
reader spoof --event spoofed-source,gate
spoof=$LAB_PID
reader none --peer sink --event exhausted
none=$LAB_PID
three() { follows new && follows spoof && follows none; }
check "three more readers are answered" three
both() { nobody; spoofed; got new new-destination && got spoof spoofed-source; }
check "two filters, and each gets his own" lab_wait_for 10 both
check "nothing else comes to the one" only new new-destination
check "nor to the other" only spoof spoofed-source
check "who asked for what does not happen gets nothing" test "$(count none)" = 0
check "the log has both" sh -c "grep -q '\"event\":\"new-destination\"' '$LAB_TMP/agent' && grep -q '\"event\":\"spoofed-source\"' '$LAB_TMP/agent'"
lab_bg text dpu "$CTL" watch --count 1 --event new-destination
text=$LAB_PID
printed() { nobody; grep -qE 'Z new-destination  hpf0     - 10.7.0.2 > 10.99.9.9 icmp 98 bytes: no-peer \(' "$LAB_TMP/text"; }
check "as text it is a line" lab_wait_for 10 printed
check "and after --count it ends" wait "$text"
wrong() { # text, arguments of watch…
	! in_dpu "$CTL" watch "${@:2}" 2>"$LAB_TMP/wrong" && grep -q -- "$1" "$LAB_TMP/wrong" || { note "$(cat "$LAB_TMP/wrong")"; false; }
}
check "a port that is none is refused with those that are" wrong "no such port: 'eth9'; it must be one of: .*hpf0" --port eth9
check "a peer that is none is refused" wrong "no such peer: 'nobody'" --peer nobody

# --- a reader that hangs, and a flood
reader slow
slow=$LAB_PID
follows slow
for ((i = 0; i < 50; i++)); do
	echo "eth ip4 src=10.7.0.2 dst=10.99.$i.1 udp fill=100"
	echo "eth ip4 src=10.66.$i.9 dst=$(lab_dest4 1) udp fill=100"
done >"$LAB_TMP/junk"
flood() { # seconds pps; what is in the background has no standard input of its own
	# shellcheck disable=SC2016 # for the inner shell
	lab_bg flood host sh -c 'exec "$0" send h0 --gw "$1" --seconds "$2" --pps "$3" <"$4"' "$FRAMES" \
		"$(lab_mac dpu hpf0)" "$1" "$2" "$LAB_TMP/junk"
}
packets() { in_dpu "$CTL" --json reasons --all | jq '[.reasons[] | select(.port == "hpf0" and .reason == "no-peer").frames] | add // 0'; }
freeze_process "$slow"
flood 100 1000
flood=$LAB_PID
was=$(count new)
grows() { [[ $(count new) -gt $((was + 250)) && $(count spoof) -gt 250 ]]; }
check "while one hangs the others get theirs" lab_wait_for 60 grows
kill -KILL "$flood"
wait "$flood" 2>/dev/null
live "the flood has ended, while a reader hangs"
check "the one that hung has printed nothing of it" test "$(count slow)" -lt 5
kill -CONT "$slow"
behind() { jq -se 'map(select(.kind == "event-lost").behind_count) | add > 0' "$LAB_TMP/slow" >/dev/null; }
check "when it goes on it is told what it was too slow for" lab_wait_for 10 behind
check "and has what its queue held" test "$(count slow)" -gt 100
check "it ends" ends slow "$slow"
check "with its losses in the end" test "$(ended slow behind_count)" -gt 0
check "who reads by filter ends" ends new "$new"
check "none of his losses is of his making" test "$(ended new behind_count)" = 0
check "the data plane's limit is told to him" test "$(ended new lost_count)" -gt 100
ends spoof "$spoof"
ends none "$none"
check "what was not asked for is not lost" test "$(ended none lost_count)" = 0

# --- every packet is an event, or lost
reader all --event new-destination --port hpf0
all=$LAB_PID
follows all
was=$(packets)
flood 300 500
has_both() { # events beyond the data plane's limit are told as lost
	[[ $(count all) -gt 10 && $(jq -s 'map(.lost_count // 0) | add // 0' "$LAB_TMP/all") -gt 10 ]]
}
check "control: some come, and some are lost" lab_wait_for 60 has_both
kill -KILL "$LAB_PID"
wait "$LAB_PID" 2>/dev/null
all_said() { # as an event, or as lost: what it has not read when it is ended it does not count
	[[ $(jq -s 'map(if .kind == "event" then 1 else .lost_count // 0 end) | add // 0' "$LAB_TMP/all") -eq $(($(packets) - was)) ]]
}
lab_wait_for 10 all_said
check "a reader ends" ends all "$all"
now=$(packets)
note "$((now - was)) packets, $(ended all event_count) events, $(ended all lost_count) lost"
check "packets are events, or told as lost" test $((now - was)) = $(($(ended all event_count) + $(ended all lost_count)))
check "there were both" test "$(ended all event_count)" -gt 10 -a "$(ended all lost_count)" -gt 10

# --- bwlimitd dies, and comes back
ends alone "$alone"
reader left
left=$LAB_PID
reader waits
waits=$LAB_PID
follows left && follows waits
kill -KILL "$AGENT_PID"
wait "$AGENT_PID" 2>/dev/null
gone() { grep -q 'bwlimitd ended' "$LAB_TMP/left.err" && grep -q 'bwlimitd ended' "$LAB_TMP/waits.err"; }
check "when bwlimitd is killed its readers say so" lab_wait_for 10 gone
either() { nobody; got left new-destination || got waits new-destination; }
check "one of them reads on by itself" lab_wait_for 10 either
agent
again() { [[ $(grep -c 'come from bwlimitd' "$LAB_TMP/left.err") -ge 2 && $(grep -c 'come from bwlimitd' "$LAB_TMP/waits.err") -ge 2 ]]; }
check "when it comes back both follow again" lab_wait_for 10 again
both() { spoofed; got left spoofed-source && got waits spoofed-source; }
check "and both see what happens" lab_wait_for 10 both
live "bwlimitd is started again after a kill"
check "they end" ends left "$left"
check "both of them" ends waits "$waits"
for f in alone new spoof slow all left waits; do
	can_judge || break
	check "what $f printed is as documented" judge --lines event-end <"$LAB_TMP/$f"
done
lab_stop "$AGENT_PID"
check "its socket goes with it" test ! -e "$SOCKET"

# --- the log hangs: a full pipe without a reader
mkfifo "$LAB_TMP/pipe"
exec 8<>"$LAB_TMP/pipe"
in_dpu "$AGENT" --policy "$LAB_TMP/desired.yaml" --state-dir "$LAB_TMP/state" --json >"$LAB_TMP/pipe" 2>/dev/null 8>&- &
AGENT_PID=$!
LAB_PIDS+=("$AGENT_PID")
reader beside
check "a reader follows" follows beside
dd if=/dev/zero of="$LAB_TMP/pipe" bs=1 count=1000000 oflag=nonblock 2>/dev/null
full() { ! dd if=/dev/zero of="$LAB_TMP/pipe" bs=1 count=1 oflag=nonblock 2>/dev/null; }
check "the log's pipe is full" full
check "a reader gets what the log has a line for" lab_wait_for 10 until_got beside new-destination nobody
sees() { # it takes a line of the log for each kind to hang on
	spoofed
	in_dpu ping -c 1 -W 1 192.0.2.254 >/dev/null 2>&1
	got beside spoofed-source && got beside gate && [[ $(count beside) -gt 20 ]]
}
check "and what comes after it, though the log hangs" lab_wait_for 60 sees
live "the log's pipe is full, and hangs"
kill -KILL "$AGENT_PID"
wait "$AGENT_PID" 2>/dev/null
exec 8>&-
done_testing
