#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# bwlimitd closes everything when what guards the ports is removed, and then reports it.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-watch-$$ LAB_DESTS=1
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
lab_up || exit 1
FILE=$LAB_TMP/desired.yaml
{
	echo "peers:"
	lab_peer sink 1 "grant: { rate: 40mbit }"
} | lab_policy_head >"$FILE"

# Filters of clsact: the weaker form, which anybody with CAP_NET_ADMIN can remove.
attach() { in_dpu "$LOAD" attach --drill --fresh-volume --tc clsact --host hpf0 --uplink p0 >"$LAB_TMP/attach" 2>&1; }
attach || exit 1
lab_bg agent dpu "$AGENT" --policy "$FILE" --state-dir "$LAB_TMP/state" --json
AGENT_PID=$LAB_PID
pings() { in_host ping -c 1 -W 1 "$(lab_dest4 1)"; }
is_stopped() { in_dpu "$LOAD" status --json | jq -e '[.. | .switch?] | index("stopped")'; }
refuse_pings() { ! pings; }
refuse_stopped() { ! is_stopped; }
is_down() { ip_in dpu -o link show dev hpf0 | grep_all 'state DOWN'; }
alarm() { [[ $(grep -c '"level":"alert".*"event":"gate"' "$LAB_TMP/agent") -eq $1 ]]; }
repair() {
	attach && in_dpu "$CTL" stop --off >/dev/null 2>&1 && lab_wait_for 30 pings
}
closes() { # number of the alarm, sentence
	check "$2: the host port is down" lab_wait_for 30 is_down
	check "$2: the stop switch is on" is_stopped
	check "$2: there is an alarm" lab_wait_for 30 alarm "$1"
}
check "with all in place traffic flows" lab_wait_for 30 pings
check "and there is no alarm" alarm 0
check "nor is anything stopped" refuse_stopped

# It holds the ring, and answers nobody.
is_busy() { ! in_dpu "$CTL" watch --timeout "$1" >"$LAB_TMP/busy" 2>&1 && grep -q 'a bwlimitd that does not answer reads them' "$LAB_TMP/busy"; }
reads() { in_dpu "$CTL" watch --timeout 1s >"$LAB_TMP/busy" 2>&1 && grep -q '^0 events\|: 0 events' "$LAB_TMP/busy"; }
freeze_process "$AGENT_PID"
check "while bwlimitd hangs, watch for a second fails and says so" is_busy 1s
check "so does one for a minute" is_busy 1m
kill -CONT "$AGENT_PID"
check "control: when it goes on, watch reads for a second" lab_wait_for 30 reads
live "bwlimitd, which hung, goes on"

ip netns exec "$LAB-dpu" tc qdisc del dev hpf0 clsact
closes 1 "a host port's filters taken away"
check "attach and stop --off open it again" repair
live "attach has put back filters that were taken away, and stop is lifted"
check "what is right again is said" lab_wait_for 30 grep -q 'protected again' "$LAB_TMP/agent"

ip netns exec "$LAB-dpu" tc qdisc del dev p0 clsact
closes 2 "an uplink's filters taken away"
repair || note "not repaired"

lab_sysctl dpu net.ipv4.ip_forward=1
closes 3 "the kernel set to forward"
lab_sysctl dpu net.ipv4.ip_forward=0
repair || note "not repaired"

# And further actions of the policy.
sed -i 's/^peers:/tamper: { program: revoke }\npeers:/' "$FILE"
check "the agent takes a new action" lab_wait_for 30 sh -c "[ \$(grep -c '\"event\":\"policy\"' '$LAB_TMP/agent') -ge 2 ]"
ip_in dpu link add br9 type bridge
ip_in dpu link set hpf0 master br9
closes 4 "a host port put into a bridge"
ip_in dpu link del br9
check "the policy's action is done beside it" lab_wait_for 30 grep -q 'program: .*br.*action revoke: map' "$LAB_TMP/agent"
check "every grant is revoked" sh -c "'$CTL' --json peer show sink | grep -q '\"revoked\"'"
in_dpu "$CTL" grant sink reason again >/dev/null 2>&1
check "repaired" repair

for ((i = 0; i < 5; i++)); do attach; done
in_dpu "$LOAD" upgrade >/dev/null 2>&1
check "attach and upgrade are no alarm" alarm 4
check "and traffic flows after them" lab_wait_for 30 pings

# An upgrade that was killed leaves this word, and programs that drop everything.
upgrading() {
	local was
	was=$(bpftool -j map dump pinned "$LAB_PINS/maps/bwl_ctl_v1" | jq -r '.[0].value | join(" ")')
	# shellcheck disable=SC2086 # bytes are words
	bpftool map update pinned "$LAB_PINS/maps/bwl_ctl_v1" key hex 00 00 00 00 value hex 02 ${was#* }
}
check "(an upgrade that was not finished)" upgrading
check "nothing passes" refuse_pings
check "control: while the programs are there that is no alarm" alarm 4
ip netns exec "$LAB-dpu" tc qdisc del dev hpf0 clsact
check "but a host port's filters taken away meanwhile are: it is down" lab_wait_for 30 is_down
check "and there is an alarm" lab_wait_for 30 alarm 5
check "and the policy's action" sh -c "'$CTL' --json peer show sink | grep -q '\"revoked\"'"
check "the upgrade is finished" lab_load upgrade
in_dpu "$CTL" grant sink reason again >/dev/null 2>&1
attach
check "and traffic flows, with no hand on a switch" lab_wait_for 30 pings
live "the upgrade that was not finished is, and the peer granted"

# What the kernel may do by itself on ports: each key that somebody changes is noticed, and set right.
flips=(ipv6.conf.{all,hpf0}.accept_dad=1 ipv6.conf.hpf0.{keep_addr_on_down=0,dad_transmits=1,router_solicitations=3}
	ipv6.conf.{hpf0,p0}.{accept_ra,autoconf,accept_redirects,accept_source_route,seg6_enabled,rpl_seg_enabled,forwarding,force_forwarding}"=1"
	ipv6.conf.{all,hpf0,p0}.proxy_ndp=1 ipv6.conf.{all,p0}.disable_policy=1
	ipv4.conf.{all,hpf0,p0}.{accept_redirects,proxy_arp,accept_local,src_valid_mark,arp_accept}"=1"
	ipv4.conf.{hpf0,p0}.{proxy_arp_pvlan,accept_source_route,route_localnet,forwarding}"=1"
	ipv4.conf.{hpf0,p0}.arp_announce=0 ipv4.conf.{all,hpf0}.arp_ignore=3
	ipv4.conf.{all,p0}.{disable_xfrm,disable_policy}"=1" ipv{4,6}.neigh.p0.unres_qlen_bytes=100000
	core.xfrm_larval_drop=0)
flip() {
	local key path
	flipped=()
	for key in "${flips[@]}"; do
		path=/proc/sys/net/$(tr . / <<<"${key%=*}")
		in_dpu test -e "$path" || { note "no such key: ${key%=*}"; continue; }
		in_dpu sh -c "echo ${key#*=} >$path"
		flipped+=("$(tr . / <<<"${key%=*}")")
	done
}
told() { tail -n "+$((lines + 1))" "$LAB_TMP/agent" | grep_all "\"level\":\"alert\".*\"event\":\"sysctl\".*net/$1 is"; }
right() { lab_load verify; [[ $? -le 1 ]] && grep -q 'maps in' "$LAB_TMP/out" && ! grep -q 'FAIL.*net/.* is -\?[0-9]*:' "$LAB_TMP/out"; }
check "control: before, all of them are right" lab_wait_for 30 right
freeze_process "$AGENT_PID"
lines=$(wc -l <"$LAB_TMP/agent")
flip
lab_load verify
cp "$LAB_TMP/out" "$LAB_TMP/flipped"
kill -CONT "$AGENT_PID"
for key in "${flipped[@]}"; do
	check "verify notices net/$key" grep -q "FAIL.*net/$key is" "$LAB_TMP/flipped"
	check "and bwlimitd, with an alert" lab_wait_for 30 told "$key"
done
check "bwlimitd has set all of them right" lab_wait_for 30 right
check "traffic passes" lab_wait_for 30 lab_both
live "bwlimitd has set the kernel's keys right"

# Pins that somebody removes by hand, with the programs of links, are no detach.
attached_by() { # form of TC
	in_dpu "$LOAD" detach >/dev/null 2>&1
	in_dpu "$LOAD" attach --drill --fresh-volume --tc "$1" --host hpf0 --uplink p0 >"$LAB_TMP/attach" 2>&1 &&
		lab_wait_for 30 lab_both
}
alarms() { grep -c '"level":"alert".*"event":"gate"' "$LAB_TMP/agent"; }
revoked() { [[ $(grep -c 'program: .*action revoke: map' "$LAB_TMP/agent") -gt $1 ]]; }
removed() { # sentence, command…
	local was signs
	was=$(alarms) signs=$(grep -c 'program: .*action revoke: map' "$LAB_TMP/agent")
	"${@:2}"
	check "$1: the host port is down" lab_wait_for 30 is_down
	check "$1: there is an alarm" lab_wait_for 30 alarm $((was + 1))
	check "$1: the policy's action is done" lab_wait_for 30 revoked "$signs"
	check "$1: nothing of the host arrives" lab_silent
}
recorded() { [[ -s /run/bwlimit/${LAB_PINS##*/}.attached ]]; }
for form in tcx clsact; do
	check "with $form traffic passes" attached_by $form
	check "the host ports are recorded ($form)" lab_wait_for 30 recorded
	removed "all pins removed by hand ($form)" rm -rf "$LAB_PINS"
done
for pin in bwl_ctl_v1 bwl_peercnt_v1; do
	check "attached again, traffic passes" attached_by tcx
	removed "the pin $pin removed" rm "$LAB_PINS/maps/$pin"
done
check "control: attached once more traffic passes" attached_by tcx
live "attach has put back pins that were removed"
was=$(alarms)
gone=$(grep -c '"event":"detached"' "$LAB_TMP/agent")
check "control: detach" in_dpu "$LOAD" detach
heard() { [[ $(grep -c '"event":"detached"' "$LAB_TMP/agent") -gt $gone ]]; }
check "control: the agent hears of a detach" lab_wait_for 30 heard
check "control: which is no alarm" alarm "$was"
refute "control: and leaves no record" recorded
lab_stop "$AGENT_PID"

# The same while no agent runs.
start() { lab_agent --policy "$FILE" --state-dir "$LAB_TMP/state"; }
waits() { lab_wait_for 30 grep -q '"event":"detached".*nothing is attached' "$LAB_TMP/agent"; }
dies() { kill -KILL "$AGENT_PID" && ! wait "$AGENT_PID" 2>/dev/null; }
start
check "attached, traffic passes" attached_by tcx
check "and the host ports are recorded" lab_wait_for 30 recorded
missing() { grep -q '"level":"alert".*"event":"missing".*'"$1 was removed by hand" "$LAB_TMP/agent"; }
refute "nothing of the state is missing" missing .
for file in "/run/bwlimit/${LAB_PINS##*/}.sock" "$LAB_TMP/state/ledger.db"; do
	check "control: $file is there" test -e "$file"
	mv "$file" "$LAB_TMP/away"
	check "without it there is an alarm" lab_wait_for 30 missing "$file"
	mv "$LAB_TMP/away" "$file"
done
dies
check "control: a detach while no agent runs" in_dpu "$LOAD" detach
ip_in dpu link set hpf0 up
start
check "control: after a detach an agent that starts waits" waits
check "control: without an alarm" alarm 0
check "control: and leaves a port up that somebody set up" lab_is_up hpf0
check "attached, traffic passes" attached_by tcx
lab_wait_for 30 recorded
dies
rm -rf "$LAB_PINS"
start
check "pins removed while no agent runs: the next one sets the host port down" lab_wait_for 30 is_down
check "and there is an alarm" lab_wait_for 30 alarm 1
check "nothing of the host arrives" lab_silent
check "attach opens it again" attached_by tcx
live "attach has put back pins that were removed while bwlimitd was killed"
lab_stop "$AGENT_PID"

# Names may have moved: what is set down is the port.
attach
lab_bg agent dpu "$AGENT" --policy "$FILE" --state-dir "$LAB_TMP/state" --json
AGENT_PID=$LAB_PID
lab_wait_for 30 grep -q '"event":"start"' "$LAB_TMP/agent"
ip_in dpu link set hpf0 down
ip_in dpu link set hpf0 name was0
ip_in dpu link set was0 up
ip_in dpu link add hpf0 type bridge
ip_in dpu link set hpf0 up
ip netns exec "$LAB-dpu" tc qdisc del dev was0 clsact
check "a host port that was renamed is closed, too" lab_wait_for 30 alarm 1
check "and it is the one that is down" eval '! lab_is_up was0'
check "not who has its name" lab_is_up hpf0
ip_in dpu link del hpf0
ip_in dpu link set was0 name hpf0
lab_stop "$AGENT_PID"

# As at boot until verify is clean: what is not open needs no switch, and opens later by itself.
in_dpu "$LOAD" detach >/dev/null 2>&1
lab_sysctl dpu net.ipv4.ip_forward=1
refute "attach does not open what the kernel forwards around" attach
lab_bg agent dpu "$AGENT" --policy "$FILE" --state-dir "$LAB_TMP/state" --json
AGENT_PID=$LAB_PID
check "the agent says that the host ports have not been opened" \
	lab_wait_for 20 grep -q '"level":"warning".*"event":"gate".*not opened yet' "$LAB_TMP/agent"
ip_in dpu link set hpf0 up
check "and keeps them down" lab_wait_for 20 eval '! lab_is_up hpf0'
check "without an alarm" alarm 0
check "and without the stop switch" refuse_stopped
lab_sysctl dpu net.ipv4.ip_forward=0
check "with it right, attach opens them" attach
check "and traffic flows, with no hand on a switch" lab_wait_for 20 pings
lab_stop "$AGENT_PID"
done_testing
