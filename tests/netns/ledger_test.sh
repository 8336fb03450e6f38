#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The real agent, real traffic at the limit of a volume, and everything that can happen to an agent and its
# disk: not a byte above the volume, and nearly all of it usable in the end.
# 30 kills, with BWL_LONG=1 200; BWL_AGENT_KILLS=1000 for the long one (about six minutes).
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-ledger-$$ LAB_DESTS=1
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
KILLS=${BWL_AGENT_KILLS:-$(long && echo 200 || echo 30)}
lab_up || exit 1
STATE=$LAB_TMP/state FILE=$LAB_TMP/desired.yaml
trap 'umount "$STATE" 2>/dev/null; lab_down' EXIT
mkdir "$STATE"

desire() { # volume rate
	{
		echo "peers:"
		lab_peer sink 1 "grant: { rate: $2, volume: $1, burst: 128kb }"
	} | lab_policy_head >"$FILE.new"
	mv "$FILE.new" "$FILE"
}
agent() { # command-prefix…: in the background; sets AGENT_PID
	lab_bg agent dpu "$@" "$AGENT" --policy "$FILE" --state-dir "$STATE" --json
	AGENT_PID=$LAB_PID
}
die() {
	kill -KILL "$AGENT_PID"
	wait "$AGENT_PID" 2>/dev/null
}
# Maps as after a boot, except that nothing is spent: the ledger has to supply it.
fresh_maps() {
	in_dpu "$LOAD" detach >/dev/null 2>&1
	rm -rf "${STATE:?}"/*
	lab_attach
}
send() { # seconds packets-a-second: frames of 1000 bytes
	echo "eth ip4 src=$HOST4 dst=$(lab_dest4 1) udp dport=9 fill=958" >"$LAB_TMP/frame"
	lab_bg send host sh -c "exec '$FRAMES' send h0 --gw $(lab_mac dpu hpf0) --seconds $1 \
		--pps $2 <'$LAB_TMP/frame'"
	SEND_PID=$LAB_PID
}
# IP packets that arrived at the destination; nothing else sends IPv4 to it.
arrived() {
	in_ns d1 awk '$1 == "Ip:" && n++ { print $4 * 1000; exit }' /proc/net/snmp
}
usage() { "$CTL" --json usage | jq -e ".volumes[] | select(.limit_key == \"peer sink\") | $1" >/dev/null; }
said() { grep -q "\"level\":\"$1\".*\"event\":\"ledger\".*$2" "$LAB_TMP/agent"; }
flows() { # does it go on?
	local was
	was=$(arrived)
	for _ in {1..12}; do
		sleep 0.05
		[[ $(arrived) -le $was ]] || return 0
	done
	return 1
}
offered() { in_host awk '$1 == "h0:" { print $11 }' /proc/net/dev; } # frames that the host has sent
stops() { # nothing arrives, although the host goes on sending
	local was sent
	sent=$(offered) was=$(arrived)
	lab_wait_for 120 offers 1000 && lab_settle && [[ $(arrived) -eq $was ]]
}
offers() { [[ $(offered) -gt $((sent + $1)) ]]; } # frames more than sent
has_flown() { [[ $(arrived) -gt $start ]]; }
nearly_all() { [[ $(($(arrived) - start)) -ge $((volume * 98 / 100)) ]]; }
within() { # passed volume per-mille-at-least
	note "$1 of $2 bytes passed ($(($1 * 1000 / $2)) per mille)"
	[[ $1 -le $2 && $1 -ge $(($2 * $3 / 1000)) ]]
}

# Killed at random, with more offered than the limit.
volume=$((KILLS * 900000))
desire "${volume}b" 40mbit
fresh_maps || exit 1
start=$(arrived)
send $((KILLS * 2 + 200)) 6000 # longer than anything here takes; it is ended
for ((i = 0; i < KILLS; i++)); do
	agent
	sleep "0.$((RANDOM % 40 + 3))"
	die
done
sentence="$KILLS times killed under traffic, nothing passed above the volume"
check "$sentence" test $(($(arrived) - start)) -le "$volume"
agent
lab_wait_for 120 nearly_all # on a busy machine it may pause before
lab_wait_for 60 stops
kill "$SEND_PID" 2>/dev/null
wait "$SEND_PID" 2>/dev/null
check "in the end 98 % of it was usable, and not a byte more than all" \
	within $(($(arrived) - start)) "$volume" 980
released() { usage ".released_bytes >= .used_bytes + $1"; }
in_dpu "$CTL" grant sink volume +100mb reason test >/dev/null 2>&1
check "control: the ledger releases what is granted then" lab_wait_for 60 released 500000
live "bwlimitd is started again, and more is granted"
lab_stop "$AGENT_PID"

# Each commit waits for the disk twice; the lead is two seconds, or 1 % of the volume.
desire 2gb 40mbit
fresh_maps
export BWL_FSYNC_MS=100
# ASan, if it is built in, must be the first library
agent env ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD="$LAB_BUILD/tests/harness/bwl-slowdisk.so"
unset BWL_FSYNC_MS
check "the ledger releases a lead" lab_wait_for 10 usage '.released_bytes > 0'
refused() { "$CTL" --json reasons | jq '[.. | objects | select(.reason? == "ledger") | .frames] | add // 0'; }
was=$(refused) start=$(arrived)
send 6 3000
wait "$SEND_PID"
check "a disk of 100 ms an fsync stops no flow that has volume left" test "$(refused)" -eq "$was"
check "and it arrives" test $(($(arrived) - start)) -gt 0
live "the disk is slow"
lab_stop "$AGENT_PID"

# A disk that fills up, and becomes read-only.
mount -t tmpfs -o size=1m none "$STATE"
desire 500mb 40mbit
fresh_maps
agent
send 300 6000
check "with room on the disk it flows" lab_wait_for 10 flows
dd if=/dev/zero of="$STATE/filler" bs=64k >/dev/null 2>&1
check "with the disk full the log says so" lab_wait_for 20 said alert "no more volume is released"
check "and it stops" lab_wait_for 20 stops
check "and packets are refused because of it" test "$(refused)" -gt 0
lab_settle
full=$(arrived) sent=$(offered)
check "the host sends on" lab_wait_for 120 offers 6000
lab_settle
check "usage says that the disk is behind" usage '.ledger_state == "behind" and .used_bytes <= .released_bytes'
check "and it stays so" test "$(arrived)" -eq "$full"
rm "$STATE/filler"
check "with room again it flows again" lab_wait_for 10 flows
check "and the log says so" lab_wait_for 20 said notice "written again"
lab_stop "$SEND_PID"
live "the disk has room again"
send 300 6000
die # a file that is open for writing keeps a file system from becoming read-only
mount -o remount,ro "$STATE"
agent
check "on a disk that is read-only the log says so" lab_wait_for 20 said alert "no more volume is released"
check "and it stops" lab_wait_for 20 stops
mount -o remount,rw "$STATE"
check "writable again it flows again" lab_wait_for 20 flows
lab_stop "$SEND_PID"
live "the disk is writable again"
lab_stop "$AGENT_PID"
umount "$STATE"

# A damaged ledger: the maps still know, and the operator is told.
mkdir -p "$STATE"
desire 500mb 40mbit
fresh_maps
agent
send 300 6000
lab_wait_for 5 flows
die
start=$(arrived)
flip_byte "$STATE/ledger.db" 40
truncate -s 3000 "$STATE/ledger.db-wal"
agent
check "a damaged ledger is set aside with an alarm" lab_wait_for 5 said alert "cannot be trusted"
check "in the same boot the flow goes on: the maps forget nothing" lab_wait_for 5 flows
lab_stop "$SEND_PID"
live "a damaged ledger is set aside"
die
# As after a reboot: new maps, whose volumes start spent.
rm -f "$STATE/ledger.db"
in_dpu "$LOAD" detach >/dev/null 2>&1
in_dpu "$LOAD" attach --drill --host hpf0 --uplink p0 >/dev/null 2>&1
agent
send 300 2000
check "after a reboot without ledger the volume counts as spent" lab_wait_for 5 said warning "counts as spent"
check "and nothing passes" lab_wait_for 20 stops
check "usage shows it spent" usage '.used_bytes >= .volume_bytes'
start=$(arrived)
in_dpu "$CTL" grant sink volume +1mb reason test >/dev/null 2>&1
check "until it is granted" lab_wait_for 5 has_flown
lab_stop "$SEND_PID"
in_dpu "$CTL" grant sink volume +10mb reason test >/dev/null 2>&1
lab_wait_for 60 released 500000
live "after a reboot without ledger it is granted again"
lab_stop "$AGENT_PID"

# Names that somebody invents. Two rows a place for a volume: so 712.
in_dpu "$LOAD" detach >/dev/null 2>&1
rm -rf "${STATE:?}"/*
in_dpu "$LOAD" attach --drill --fresh-volume --max-peers 100 --max-extras 256 --host hpf0 --uplink p0 >/dev/null 2>&1
named() { # name: ninety windowed volumes under it, at the addresses that they always have
	local i
	{
		echo "peers:"
		for i in {1..90}; do
			printf '  - { name: %s-%d, addresses: [198.51.100.%d], path: clear, via: %s, grant: { volume: 1mb per 1h } }\n' \
				"$1" "$i" "$i" "$LAB_VIA4"
		done
	} | lab_policy_head >"$FILE.new"
	mv "$FILE.new" "$FILE"
}
has_peer() { "$CTL" --json usage | jq -e "any(.volumes[]; .limit_key == \"peer $1\")"; }
named n0
agent
lab_wait_for 5 has_peer n0-90
for ((i = 1; i < 60; i++)); do
	! said alert "the ledger is full" || break
	named "n$i"
	lab_wait_for 5 has_peer "n$i-90" || break
done
check "before names have taken all rows there is an alarm" said alert "of at most 712 rows, for 90 volumes in force"
check "when they have, it says how many volumes have none, and which" \
	said alert "full: all 712 rows are taken, and [0-9]* volumes\? without one stays\? closed (first: peer n"
check "usage says so" sh -c "'$CTL' usage | grep -q 'It is full: volumes of new names stay closed'"
FILE=$LAB_TMP/by-hand.yaml named another
in_dpu "$CTL" policy apply "$LAB_TMP/by-hand.yaml" >"$LAB_TMP/applied" 2>&1
check "and who applies a policy with new names" grep -q 'warning: the ledger is full' "$LAB_TMP/applied"
lab_stop "$AGENT_PID"
done_testing
