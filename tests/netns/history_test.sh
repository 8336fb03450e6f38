#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What bwlimit-ctl history shows is what the data plane counted, whatever happens to agent and disk.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-hist-$$ LAB_DESTS=2
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
lab_up || exit 1
STATE=$LAB_TMP/state FILE=$LAB_TMP/desired.yaml
trap 'umount "$STATE" 2>/dev/null; lab_down' EXIT
mkdir "$STATE"
mount -t tmpfs -o size=1m none "$STATE"
{
	echo "peers:"
	lab_peer sink 1 "grant: { rate: 8mbit, burst: 64kb }, accept: { rate: 2mbit, burst: 64kb }, classes: { ssh: { rate: 1mbit, burst: 32kb }, icmp: { rate: 1mbit }, other: { rate: 8mbit, burst: 64kb } }"
	lab_peer idle 2 "grant: { rate: 1mbit }"
} | lab_policy_head >"$FILE"

agent() { # in the background; sets AGENT_PID
	lab_bg agent dpu "$AGENT" --policy "$FILE" --state-dir "$STATE" --json
	AGENT_PID=$LAB_PID
}
die() {
	kill -KILL "$AGENT_PID"
	wait "$AGENT_PID" 2>/dev/null
}
said() { grep -q "\"level\":\"$1\".*\"event\":\"history\".*$2" "$LAB_TMP/agent"; }
# More than the limits allow, from the host and to it.
send() { # seconds
	local i
	for i in 22 9; do
		echo "eth ip4 src=$HOST4 dst=$(lab_dest4 1) tcp dport=$i fill=946"
	done >"$LAB_TMP/frames"
	in_host "$FRAMES" send h0 --gw "$(lab_mac dpu hpf0)" --count $(($1 * 2000)) --pps 2000 \
		<"$LAB_TMP/frames" >/dev/null &
	echo "eth ip4 src=$(lab_dest4 1) dst=$HOST4 udp sport=9 dport=9 fill=958" |
		in_ns d1 "$FRAMES" send eth0 --gw "$(lab_mac net n1)" --count $(($1 * 500)) --pps 500 >/dev/null
	wait $!
}
hist() { "$CTL" history --state-dir "$STATE" --json "$@"; }
stat() { "$CTL" stats sink --json | jq ".peers[0].$1 // -2"; }
passed() { hist sink --since 1h | jq '.total.sent_bytes + .total.arrived_bytes // -1'; }
dropped() { hist sink --since 1h | jq '.total.sent_dropped_bytes + .total.arrived_dropped_bytes // -1'; }
agrees() {
	[[ $(passed) -eq $(stat passed_bytes) && $(dropped) -eq $(stat dropped_bytes) ]]
}

refute "without a history it says so" sh -c "$CTL history sink --state-dir '$STATE' 2>'$LAB_TMP/none'"
check "and who writes one" grep -q 'bwlimitd' "$LAB_TMP/none"
agent
lab_attach || exit 1
lab_wait_for 20 "$CTL" stats sink
began=$SECONDS
send 3
took=$((SECONDS - began + 1)) # at most
check "what passed and was dropped is in the history, to the byte" lab_wait_for 30 agrees
note "sent and arrived $(passed) bytes, dropped $(dropped)"
check "there was something of all" sh -c "$CTL history sink --state-dir '$STATE' --json | jq -e '
	.total | .sent_bytes > 100000 and .arrived_bytes > 100000 and .sent_dropped_bytes > 100000 and
	.arrived_dropped_bytes > 100000' >/dev/null"
check "both directions are what the destination's and the host's ports counted" test \
	"$(hist sink | jq .total.arrived_bytes)" -eq "$("$CTL" reasons --json | jq '
	[.reasons[] | select(.reason == "pass-accept") | .charged_bytes] | add')"
# A late reading on a busy machine adds a part of the next second to this one: less than all of it.
check "no second has more than the limit in two, and a burst" sh -c "$CTL history sink --state-dir '$STATE' --step 1s --json |
	jq -e 'all(.points[]; .sent_bytes <= 2 * 1000000 + 65536 + 1000)' >/dev/null"
check "a class has its own, within its limit" sh -c "$CTL history sink --class ssh --state-dir '$STATE' --json |
	jq -e '.total | .sent_bytes > 10000 and .sent_bytes < 125000 * ($took + 1) + 32768 and .sent_dropped_bytes > 10000' >/dev/null"
of() { hist sink --class "$1" | jq '.total.sent_bytes // 0'; }
classes() { [[ $(($(of ssh) + $(of icmp) + $(of other))) -eq $(hist sink | jq .total.sent_bytes) ]]; }
check "all its classes together are the peer" classes
check "a table has the classes' names" sh -c "$CTL history sink --state-dir '$STATE' | grep -q -- '--class:.* other ssh'"
rows() { "$CTL" history sink --state-dir "$STATE" --since 30m --step 1s "$@" | grep -cE '^([0-9]|…)'; }
folded() { [[ $(rows) -lt 300 ]] && "$CTL" history sink --state-dir "$STATE" --since 30m --step 1s | grep_all -E '^… [0-9]+ empty'; }
check "steps in which nothing passed are one row" folded
check "with --all each is a row" test "$(rows --all)" -ge 1800
"$CTL" history sink --state-dir "$STATE" --since 30m --step 1s --all >"$LAB_TMP/all"
check "none of them folded" eval '[[ -s $LAB_TMP/all ]] && ! grep -q "^…" "$LAB_TMP/all"'
check "for programs each is a point" test "$(hist sink --since 30m --step 1s | jq '.points | length')" -ge 1800
refute "an unknown name is refused" sh -c "$CTL history sinc --state-dir '$STATE' 2>'$LAB_TMP/who'"
check "and told what there is" grep -q "did you mean 'sink'" "$LAB_TMP/who"
refute "a class without a limit has none" sh -c "$CTL history sink --class nfs --state-dir '$STATE' 2>'$LAB_TMP/who'"
check "and told which have" grep -q 'there is: .*other, ssh' "$LAB_TMP/who"
check "history alone names who has one" test "$(hist | jq -c .peer_names)" = '["sink"]'
{ echo "count_classes: all"; cat "$FILE"; } >"$FILE.all"
mv "$FILE.all" "$FILE"
counts_all() { "$CTL" policy show --json | jq -e '.count_classes == "all"' >/dev/null; }
check "a policy may ask for the others' counters" lab_wait_for 20 counts_all
refute "which is no difference from its file" sh -c "$CTL policy diff '$FILE' | grep -q count_classes"
send_nfs() {
	echo "eth ip4 src=$HOST4 dst=$(lab_dest4 1) tcp dport=2049 fill=946" |
		in_host "$FRAMES" send h0 --gw "$(lab_mac dpu hpf0)" --seconds 1 --pps 200 >/dev/null
	lab_wait_for 5 sh -c "$CTL history sink --class nfs --state-dir '$STATE' --json |
		jq -e '.total.sent_bytes > 10000'"
}
check "and a class without a limit has a history then" send_nfs
classes() { [[ $(($(of ssh) + $(of icmp) + $(of other) + $(of nfs))) -eq $(hist sink | jq .total.sent_bytes) ]]; }
check "all its classes together are the peer" lab_wait_for 10 classes

die
send 1
agent
check "killed under traffic, nothing is lost or double when it returns" lab_wait_for 30 agrees
live "bwlimitd is started again"
size() { find "$STATE" -name "history.db*" -printf '%s\n' | awk '{ n += $1 } END { print n }'; }
note "$(size) bytes on disk"

# A full disk: reported once, and made up for later. An agent that starts writes at once.
die
dd if=/dev/zero of="$STATE/filler" bs=1k >/dev/null 2>&1
agent
full() { send 1 && said warning "no history is written"; }
check "with the disk full it says so" lab_wait_for 60 full
check "and only once" test "$(grep -c 'no history is written' "$LAB_TMP/agent")" -eq 1
check "the heartbeat goes on" sh -c "$CTL --json peer show sink | jq -e '.state == \"live\"' >/dev/null"
rm "$STATE/filler"
check "with room again all of it is there" lab_wait_for 60 agrees
check "and the log says so" lab_wait_for 20 said notice "written again"
live "the disk has room again"

# Damaged: set aside, started again from the maps.
die
printf 'no database' | dd of="$STATE/history.db" conv=notrunc 2>/dev/null
rm -f "$STATE"/history.db-*
agent
check "a damaged history is set aside with a warning" lab_wait_for 20 said warning "set aside"
check "and begun anew from the counters" lab_wait_for 30 agrees

# Other maps: counters from 0.
lab_stop "$AGENT_PID"
before=$(passed)
in_dpu "$LOAD" detach >/dev/null 2>&1
lab_attach
agent
lab_wait_for 20 "$CTL" stats sink
send 1
goes_on() { [[ $(passed) -eq $((before + $(stat passed_bytes))) ]]; }
check "with new maps the history goes on where it was" lab_wait_for 30 goes_on
lab_stop "$AGENT_PID"
check "asked to stop it has written all" goes_on
done_testing
