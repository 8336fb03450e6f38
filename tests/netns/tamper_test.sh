#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Signs of tampering with the machine: bwlimitd does what the policy's `tamper` says, first in the map, then it
# reports. Carrier, neighbour and port by a real veth; the chassis by a directory in place of hwmon's.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-tamper-$$ LAB_DESTS=1 LAB_HOSTS=2
LAB_SOURCES=('10.7.0.0/24, "fd00:7::/64"' '10.7.1.0/24, "fd00:7:1::/64"')
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
lab_up || exit 1

desired() { # tamper, heartbeat
	lab_policy_head "${2:-}" <<-END
	tamper: { $1 }
	peers:
	$(lab_peer d1 1 "grant: { rate: 5mbit }")
	$(lab_peer d2 2 "grant: { rate: 5mbit }")
	END
}
state() { [[ $("$CTL" --json peer show "${2:-d1}" | jq -r .state) == "$1" ]]; }
said() { grep -q "\"event\":\"tamper\".*$1" "$LAB_TMP/agent"; }
# Our own /sys/class, visible only to the agent: not every machine has a hwmon.
mkdir -p "$LAB_TMP/class/hwmon/hwmon0" "$LAB_TMP/sys"
ln -s "$LAB_TMP/sys/class/net" "$LAB_TMP/class/net" # of the agent's network namespace
echo 0 >"$LAB_TMP/class/hwmon/hwmon0/intrusion0_alarm"
start() { # tamper, heartbeat
	desired "$@" >"$LAB_TMP/desired.yaml"
	in_dpu "$CTL" policy apply --yes "$LAB_TMP/desired.yaml" >"$LAB_TMP/apply" 2>&1 || note "$(cat "$LAB_TMP/apply")"
	in_dpu "$CTL" heartbeat --lift >/dev/null 2>&1
	in_dpu "$CTL" grant d1 reason again >/dev/null 2>&1
	in_dpu "$CTL" grant d2 reason again >/dev/null 2>&1
	lab_bg agent dpu unshare -m sh -c 'mount -t sysfs sysfs "$0/sys" && mount --bind "$0/class" /sys/class && exec "$@"' "$LAB_TMP" \
		"$AGENT" --policy "$LAB_TMP/desired.yaml" --state-dir "$LAB_TMP/state" --json
	agent=$LAB_PID
	lab_wait_for 30 grep -q '"event":"start"' "$LAB_TMP/agent"
	lab_wait_for 30 state live || note "the peer is not granted" "$(cat "$LAB_TMP/agent" "$LAB_TMP/agent.err")"
	# once a new link is seen the links have been read: neighbours are read in the same order
	lab_wait_for 30 listens
}
listens() { # it hears nothing of what came before it listened
	said 'neighbour: a neighbour on p0 is now 02:00:00:00:00:02' && return
	ip_in dpu neigh replace 192.0.2.77 lladdr 02:00:00:00:00:01 dev p0 nud permanent
	ip_in dpu neigh replace 192.0.2.77 lladdr 02:00:00:00:00:02 dev p0 nud permanent
	sleep 0.5
	said 'neighbour: a neighbour on p0 is now 02:00:00:00:00:02'
}
stop() {
	lab_stop "$agent"
	ip_in net link set s0 up
	ip_in host link set h0 up
	ip_in dpu neigh del 192.0.2.77 dev p0 2>/dev/null
}
carrier_off() { ip_in net link set s0 down; }

lab_attach || exit 1
desired 'carrier: explode' >"$LAB_TMP/bad.yaml"
check "an action that there is not is refused, with what there is" sh -c "'$CTL' policy check '$LAB_TMP/bad.yaml' 2>&1 | grep -q 'log, clamp, revoke or destroy'"
desired 'carrier: revoke-peer' >"$LAB_TMP/bad.yaml"
check "so is revoke-peer of what is nobody's" sh -c "'$CTL' policy check '$LAB_TMP/bad.yaml' 2>&1 | grep -q 'only cleartext and command do'"
desired 'cleartext: revoke-peer' >"$LAB_TMP/good.yaml"
check "but not of cleartext" sh -c "'$CTL' policy check '$LAB_TMP/good.yaml' >/dev/null 2>&1"

start 'carrier: revoke'
check "a changed neighbour is told" said 'neighbour:.*action log'
check "and by default nothing else" state live
carrier_off
check "carrier loss revokes where the policy says so" lab_wait_for 30 state revoked
check "and says how long the map took" lab_wait_for 30 said 'carrier: p0 lost its carrier; action revoke: map [0-9.]* ms'
note "$(grep -o 'carrier: p0.*' "$LAB_TMP/agent" | head -1)"
stop

start 'carrier: clamp'
carrier_off
check "clamp: the grant falls to its floor" lab_wait_for 30 state silent
ip_in net link set s0 up
refute "no heartbeat is taken then" in_dpu "$CTL" heartbeat
kill -KILL "$agent"
wait "$agent" 2>/dev/null
lab_bg again dpu "$AGENT" --policy "$LAB_TMP/desired.yaml" --state-dir "$LAB_TMP/state" --json
agent=$LAB_PID
lab_wait_for 30 grep -q 'heartbeat refused' "$LAB_TMP/again" || note "$(cat "$LAB_TMP/again")"
check "nor by an agent that is started again" state silent
check "until it is lifted" in_dpu "$CTL" heartbeat --lift
check "then the grant is live" lab_wait_for 30 state live
# With its carrier the router lost its IPv6 address.
LIVE_FAMILIES=4 live "bwlimitd is started again after a kill, and the clamp is lifted"
stop

start 'carrier: clamp' none
carrier_off
check "clamp without a heartbeat revokes" lab_wait_for 30 state revoked
check "and says that" lab_wait_for 30 said 'action revoke'
stop

start 'intrusion: revoke, port: revoke'
echo 1 >"$LAB_TMP/class/hwmon/hwmon0/intrusion0_alarm"
check "an opened chassis revokes" lab_wait_for 30 state revoked
check "and names the sensor" lab_wait_for 30 said 'intrusion: /sys/class/hwmon/hwmon0/intrusion0_alarm reads 1'
echo 0 >"$LAB_TMP/class/hwmon/hwmon0/intrusion0_alarm"
in_dpu "$CTL" grant d1 reason again >/dev/null 2>&1
lab_wait_for 30 state live
ip_in host link set h0 down
check "so does a host port whose other end went" lab_wait_for 30 state revoked
check "and it is told as that" lab_wait_for 30 said 'port: hpf0 lost its carrier'
stop

# A port that is gone: the kernel reports it as set down first, which bwlimit does itself, too.
start 'port: revoke'
again() { # what is told from here on is new
	in_dpu "$CTL" grant d1 reason again >/dev/null 2>&1
	lab_wait_for 30 state live && : >"$LAB_TMP/agent"
}
renew_port() { # in a namespace
	[[ -e /run/netns/$LAB-host1 ]] || lab_ns host1 # of that name, for lab_down once
	lab_veth host1 h0 dpu hpf1 && lab_attach && again
}
turn() { # the agent has read all news of links up to here
	ip_in dpu neigh replace 192.0.2.77 lladdr "02:00:00:00:01:$1" dev p0 nud permanent
	lab_wait_for 30 said "neighbour: a neighbour on p0 is now 02:00:00:00:01:$1"
}
is_gone() { # sentence
	check "$1 revokes" lab_wait_for 30 state revoked
	check "$1 is told as that" lab_wait_for 30 said 'port: hpf1 is gone: .*action revoke'
}
lab_attach
in_dpu "$LOAD" down --host hpf0 --host hpf1 >/dev/null 2>&1
lab_attach
check "attach and down are no sign, though they set host ports down" turn 10
refute "nothing is said of a port" said 'port:'
check "nothing is revoked" state live
# what went with the links above
lab_addr host h0 fd00:7:0::2/64
lab_addr net s0 "$LAB_VIA6/64"
ip_in host route add default via 10.7.0.1
ip_in host -6 route add default via fd00:7:0::1
check "control: what a host sends arrives, by IPv4 and IPv6" lab_wait_for 30 lab_both
ip_in host1 link del h0
is_gone "a host port whose other end was deleted"
check "and nothing arrives any more, by IPv4 or IPv6" lab_silent
check "(the port is made again, and granted)" renew_port
check "control: it arrives again" lab_both
live "a port that was lost is made and attached again, and the peer granted"
ip_in dpu link set hpf1 netns "$LAB-host1"
is_gone "a host port that was moved to another namespace"
ip_in host1 link del h0
renew_port
ip_in dpu link del hpf1
is_gone "a host port that was deleted"
renew_port
ip netns del "$LAB-host1"
is_gone "a host port whose host's namespace was deleted"
renew_port
ip_in dpu link set hpf1 down
check "a host port that somebody else sets down revokes" lab_wait_for 30 state revoked
check "and that is told" lab_wait_for 30 said 'port: hpf1 was set down, and not by bwlimit; action revoke'
ip_in dpu link set hpf1 up
again
in_dpu "$LOAD" down --host hpf1 >/dev/null 2>&1
ip_in dpu link set hpf1 up
check "(bwlimit closed a port, and somebody else opened it)" turn 12
refute "neither is a sign" said 'port:'
ip_in dpu link set hpf1 down
check "what bwlimit did before explains no later set-down" lab_wait_for 30 said 'port: hpf1 was set down, and not by bwlimit; action revoke'
ip_in dpu link set hpf1 up
again
printf 'link set h0 down\nlink set h0 up\n' | ip_in host1 -batch -
check "so does the shortest loss of its carrier" lab_wait_for 30 said 'port: hpf1 lost its carrier.*action revoke'
again
freeze_process "$agent"
{
	yes $'link set lo mtu 60000\nlink set lo mtu 60001' | head -n 2000
	echo link del hpf1
} | ip_in dpu -batch -
kill -CONT "$agent"
is_gone "a host port whose end was lost among other news"
renew_port
ip_in dpu link add br9 type bridge
ip_in dpu link set hpf1 master br9
ip_in dpu link set hpf1 nomaster
check "(a bridge that lets a port go has been read of)" turn 11
refute "that is no end of the port" said 'port: hpf1 is gone'
ip_in dpu link del br9
lab_attach && in_dpu "$CTL" stop --off >/dev/null 2>&1
stop

start 'cleartext: revoke'
reports() { # that the last gate of p0 has stopped
	"$CTL" --json reasons | jq '[.reasons[] | select(.port == "p0" and .hook == "gate" and .reason == "local-protocol").frames] | add // 0'
}
before=$(reports)
ip_in dpu addr add fd00:99::1/64 dev p0 nodad
ip_in dpu addr add 239.1.2.3/32 dev p0 autojoin
told() { [[ $(reports) -ge $((before + 2)) ]]; }
check "control: the kernel's reports of groups (MLD, IGMP) come to the last gate, and are counted" lab_wait_for 20 told
for mac in 03 04; do # the second is told by a turn that has looked at the gate since
	ip_in dpu neigh replace 192.0.2.77 lladdr 02:00:00:00:00:$mac dev p0 nud permanent
	lab_wait_for 30 said "neighbour: a neighbour on p0 is now 02:00:00:00:00:$mac" || note "no turn is seen"
done
refute "they are no cleartext" said 'cleartext:'
check "and revoke nothing" state live
in_dpu ping -c 1 -W 1 192.0.2.254 >/dev/null 2>&1
check "cleartext that the last gate stops revokes" lab_wait_for 30 state revoked
check "and is counted" lab_wait_for 30 said 'cleartext: [0-9]* frames* stopped by the last gate of p0'
stop

start 'cleartext: revoke-peer'
ip_in dpu route replace 10.101.0.0/24 via 192.0.2.254
in_dpu ping -c 1 -W 1 "$(lab_dest4 1)" >/dev/null 2>&1
check "cleartext to a peer revokes that peer, with revoke-peer" lab_wait_for 30 state revoked
check "and names it" lab_wait_for 30 said 'cleartext: [0-9]* frames* stopped by the last gate of p0, to d1; action revoke-peer'
check "and no other" state live d2
in_dpu ping -c 1 -W 1 192.0.2.254 >/dev/null 2>&1
check "cleartext that is nobody's revokes every grant" lab_wait_for 30 state revoked d2
check "and says that" lab_wait_for 30 said 'last gate of p0; action revoke:'
stop

tell() { in_dpu "$CTL" tamper "$@" >"$LAB_TMP/tell" 2>&1 || note "$(cat "$LAB_TMP/tell")"; }
# bwlimit-ctl waits for bwlimitd for a second, on a busy machine in vain, and then acts by its own policy, which here only logs.
desired 'command: log' >"$LAB_TMP/alone.yaml"
by_it() { in_dpu "$CTL" tamper --policy "$LAB_TMP/alone.yaml" "$@" >"$LAB_TMP/tell" 2>&1 && grep -q '^bwlimitd: ' "$LAB_TMP/tell"; }
tell_it() { lab_wait_for 30 by_it "$@" || note "$(cat "$LAB_TMP/tell")"; }
start 'command: revoke-peer'
refute "a command that names a peer that there is not is refused" in_dpu "$CTL" tamper --peer d9 nobody
tell_it --peer d1 its disk was pulled
check "bwlimit-ctl tamper --peer revokes that peer, with revoke-peer" state revoked
check "and no other" state live d2
check "it says what was done, and by whom" grep -qx 'bwlimitd: revoke-peer: d1' "$LAB_TMP/tell"
check "the agent's alarm has the reason" lab_wait_for 30 said 'command: peer d1: its disk was pulled; action revoke-peer'
tell_it the lid was opened
check "without a peer it revokes everything" state revoked d2
in_dpu "$CTL" grant d1 reason again >/dev/null 2>&1
freeze_process "$agent"
tell --policy "$LAB_TMP/desired.yaml" --peer d1 the agent hangs
check "an agent that hangs is not waited for: the command acts as the file says" state revoked
check "and says that" grep -qx 'revoked: d1' "$LAB_TMP/tell"
kill -KILL "$agent"
kill -CONT "$agent"
wait "$agent" 2>/dev/null
for peer in d1 d2; do in_dpu "$CTL" grant $peer reason again >/dev/null 2>&1; done
desired 'command: clamp' >"$LAB_TMP/desired.yaml"
tell --policy "$LAB_TMP/desired.yaml" the agent is dead
check "nor is one that is dead: it clamps" state silent
in_dpu "$CTL" heartbeat --lift >/dev/null 2>&1
check "(which can be lifted)" state live
LIVE_FAMILIES=4 live "the clamp is lifted, with bwlimitd dead"
tell --policy /nonexistent no file
check "without a file that can be read it revokes" state revoked d2
ip_in net link set s0 up

start 'neighbour: revoke'
check "a neighbour with another MAC revokes" lab_wait_for 30 state revoked
stop
done_testing
