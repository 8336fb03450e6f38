#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A host port and an uplink that are absent when the others are attached: what is there is enforced and opened; what is absent is
# named, carries nothing before it is attached, up or not, and is attached when it appears. That ends with the policy that names
# it, and with a detach; a restart of bwlimitd changes nothing.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB=bwl-await-$$ LAB_DESTS=3 LAB_HOSTS=2 LAB_UPLINKS=2 LAB_MGMT=1
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/../harness/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/../harness/live.sh"
lab_up || exit 1
# shellcheck source=../harness/loader_lab.sh
. "$here/../harness/loader_lab.sh"

FROM=host
in_host() { in_ns "$FROM" "$@"; } # in place of lab.sh's: who sends in lab_both and lab_silent
policy() { # uplinks, host ports…
	printf 'version: 1\nnode: await\nuplinks: [%s]\nhost_ports:\n' "$1"
	local n
	for n in "${@:2}"; do printf '  - { dev: hpf%s, sources: [10.7.%s.0/24, "fd00:7:%s::/64"] }\n' "$n" "$n" "$n"; done
	printf 'heartbeat: none\npeers:\n'
	[[ $1 != *p0* ]] || lab_peer d1 1 "grant: { rate: 1gbit, burst: 1mb }"
	[[ $1 != *p1* ]] || cat <<-YAML
		  - { name: d2, addresses: [10.102.0.0/24, "fd00:102::/64"], path: clear, uplink: p1,
		      via: 192.0.3.254, via6: "2001:db8:1::fe", grant: { rate: 1gbit, burst: 1mb } }
	YAML
}
policy "p0, p1" 0 1 >"$LAB_TMP/whole.yaml"
policy p0 0 >"$LAB_TMP/less.yaml"
policy p1 0 >"$LAB_TMP/only.yaml"
cp "$LAB_TMP/whole.yaml" "$LAB_TMP/desired.yaml"
away() { # the ports that will be absent
	ip_in dpu link del hpf1
	ip_in dpu link del p1
}
uplink_comes() { LAB_MTU=1400 lab_uplink 1; }
port_comes() {
	lab_veth host1 h0 dpu hpf1
	lab_addr host1 h0 10.7.1.2/24 fd00:7:1::2/64
	lab_addr dpu hpf1 10.7.1.1/24 fd00:7:1::1/64
	ip_in host1 route add default via 10.7.1.1
	ip_in host1 -6 route add default via fd00:7:1::1
}
whole() { attach_as whole; }
attach_as() { works attach --policy "$LAB_TMP/$1.yaml" --fresh-volume --republish --management mgmt0; }
awaited() { # names, in order: those that status says
	[[ $(in_dpu "$LOAD" status --json | jq -r '[.ports[] | select(.awaited) | .port] | sort | join(" ")') == "$*" ]]
}
agent() { lab_agent --policy "$LAB_TMP/desired.yaml" --state-dir "$LAB_TMP/state"; }
logged() { [[ $(grep -c "\"event\":\"awaited\".*$2" "$LAB_TMP/agent") -eq $1 ]] || { note "$(grep awaited "$LAB_TMP/agent")"; false; }; }
from_port() { FROM=host1 lab_both 1; } # by hpf1
port_silent() { FROM=host1 lab_silent 1; }
uplink_both() { lab_both 2; } # by p1
uplink_silent() { lab_silent 2; }
told() { # family: the host, that what it sends does not fit
	local to
	to=$("lab_dest$1" 1)
	in_host ping -q -M do -c 1 -W 1 -s 1422 "$to" >/dev/null 2>&1
	in_host ip route get "$to" | grep_all "mtu 1400"
}
is_down() { ! lab_is_up "$1"; }

# A flood of both hosts to a destination that the policy does not have, for the whole test.
flood_judge() {
	lab_bg stranger d3 "$FRAMES" count eth0 --marker $LAB_MARKER
	STRANGER=$LAB_PID
	lab_wait_for 5 grep -q ready "$LAB_TMP/stranger"
}
floods() { # namespace
	lab_bg "flood4-$1" "$1" ping -q -i 0.01 -s 64 -p $LAB_MARKER "$(lab_dest4 3)"
	lab_bg "flood6-$1" "$1" ping -q -i 0.01 -s 64 -p $LAB_MARKER "$(lab_dest6 3)"
}

# --- absent at the beginning
away
flood_judge
floods host
check "attach without one uplink and one host port of the policy works" whole
check "and names the uplink" says "uplink p1 is absent: it is awaited"
check "and the host port" says "host port hpf1 is absent: it is awaited"
check "what is there is enforced and open: it passes what is granted" lab_both 1
check "and nothing by the uplink that is absent" uplink_silent
check "status names both" awaited hpf1 p1
check "in words" eval 'works status && says "^p1 .*AWAITED"'
check "verify is clean" verify
check "and warns of both" eval 'says "warn  host port hpf1 of the policy is absent" && says "warn  uplink p1 of the policy is absent"'
check "so up opens" works up --management mgmt0
agent
check "bwlimitd names the host port" lab_wait_for 10 logged 1 "host port hpf1 of the policy is awaited"
check "and the uplink" lab_wait_for 10 logged 1 "uplink p1 of the policy is awaited"

# --- they appear, up, and nobody attaches them
uplink_comes
port_comes
floods host1
check "the uplink that appeared is up" lab_is_up p1
check "nothing leaves by it before it is attached" uplink_silent
check "the host port that appeared is up" lab_is_up hpf1
check "nothing of it passes before it is attached" port_silent
check "the others pass: the judge is not deaf" lab_both 1
check "verify is not clean" fails 1 verify --management mgmt0
check "and says why" says "FAIL  port p1 of the policy is not attached"
lab_stop "$AGENT_PID"
agent
check "after a restart bwlimitd still knows" lab_wait_for 10 logged 1 "uplink p1 of the policy is awaited"
check "so do the tools" awaited hpf1 p1
check "nothing leaves by the uplink after the restart" uplink_silent
lab_bg guard dpu "$LOAD" guard --policy "$LAB_TMP/whole.yaml" --management mgmt0
check "the guard sets the uplink down, although the policy names it" lab_wait_for 10 is_down p1
check "and the host port" lab_wait_for 10 is_down hpf1
check "but not the uplink that is attached" lab_is_up p0
lab_bg holder dpu flock --no-fork "$LAB_PINS" sleep 600
HOLDER=$LAB_PID
lab_wait_for 5 eval '! flock --nonblock "$LAB_PINS" true'
ip_in dpu link set p1 up
check "the guard does so, too, while another tool has the lock of the maps" lab_wait_for 10 is_down p1
lab_stop "$HOLDER"

# --- they are attached
lab_bg await dpu "$LOAD" await
AWAIT=$LAB_PID
check "await attaches the uplink: its traffic passes" lab_wait_for 30 uplink_both
check "and the host port" lab_wait_for 30 from_port
check "nothing is awaited" awaited
check "verify is clean, programs and all" verify
check "bwlimitd says that the uplink is attached" lab_wait_for 10 logged 1 "p1 is no longer awaited: it is attached"
check "and the host port" lab_wait_for 10 logged 1 "hpf1 is no longer awaited: it is attached"
for family in 4 6; do check "the policy in force has the smaller MTU of that uplink, IPv$family" lab_wait_for 10 told $family; done

# --- gone, awaited again, and they appear while everything runs
away
check "ports that are gone are awaited after an attach" eval 'whole && awaited hpf1 p1'
check "the rest passes" lab_both 1
uplink_comes
port_comes
check "the uplink is attached when it appears" lab_wait_for 30 uplink_both
check "and the host port" lab_wait_for 30 from_port
check "verify is clean again" verify
LIVE_DEST=2 live "the uplink is there again, by it"
live_path() { # in place of live.sh's: by the other host port
	echo host1 h0 "$(lab_mac dpu hpf1)" d1 eth0
	if [[ $1 == 4 ]]; then echo 10.7.1.2 "$(lab_dest4 1)"; else echo fd00:7:1::2 "$(lab_dest6 1)"; fi
}
live "the host port is there again, by it"

# --- the policy no longer names them
away
check "they are awaited once more" eval 'whole && awaited hpf1 p1'
check "bwlimitd has said so" lab_wait_for 10 logged 3 "uplink p1 of the policy is awaited"
cp "$LAB_TMP/less.yaml" "$LAB_TMP/desired.yaml"
check "a policy that does not name them ends it" lab_wait_for 30 awaited
check "and bwlimitd says so" lab_wait_for 10 logged 1 "p1 is no longer awaited: the policy does not name it"
uplink_comes
check "who appears then is set down" lab_wait_for 10 is_down p1
check "and is not attached" in_status '[.ports[].port] | index("p1") == null'
check "the rest passes" lab_both 1

# --- named again: no news of the device tells that
cp "$LAB_TMP/whole.yaml" "$LAB_TMP/desired.yaml"
check "a policy that names it again: it is attached, although it appeared before" lab_wait_for 60 uplink_both

# --- a policy of awaited uplinks alone has no MTU yet
away 2>/dev/null
check "they are awaited for a policy that names no other uplink" eval 'whole && awaited hpf1 p1'
cp "$LAB_TMP/only.yaml" "$LAB_TMP/desired.yaml"
check "which is in force" lab_wait_for 30 awaited p1
uplink_comes
check "its packets fit when the uplink is attached" lab_wait_for 30 uplink_both

# --- closed until verify is clean: a host port that comes then is no exception
away 2>/dev/null
cp "$LAB_TMP/whole.yaml" "$LAB_TMP/desired.yaml"
check "they are awaited while the other host port is closed" eval 'whole && lab_wait_for 30 awaited hpf1 p1'
works attach --keep-down --policy "$LAB_TMP/whole.yaml" --management mgmt0
check "that one is down" ports_down
port_comes
check "the host port that appears is attached" lab_wait_for 30 awaited p1
uplink_comes
check "so is the uplink, after it" lab_wait_for 30 awaited
check "the host port stays down" is_down hpf1
check "up opens both" eval 'works up --management mgmt0 && lab_is_up hpf0 && lab_wait_for 30 from_port'

# --- an attached uplink under the name of one that is awaited
renamed() { # from, to
	ip_in dpu link set "$1" down
	ip_in dpu link set "$1" name "$2"
	ip_in dpu link set "$2" up
}
away
check "they are awaited before an uplink is renamed" eval 'whole && awaited hpf1 p1'
lab_stop "$AWAIT"
renamed p0 p1
port_comes
lab_bg await dpu "$LOAD" await # it sees the older device first
AWAIT=$LAB_PID
check "await has seen it, and then the host port, which it attaches" lab_wait_for 30 awaited p1
check "the attached uplink that was renamed to an awaited one stays up" lab_is_up p1
renamed p1 p0

# --- a detach ends it
away 2>/dev/null
check "they are awaited before the detach" eval 'whole && lab_wait_for 30 awaited hpf1 p1'
lab_stop "$AGENT_PID"
works detach
said=$(wc -l <"$LAB_TMP/await.err")
uplink_comes
check "after it nothing is attached" fails 1 status

# --- nothing at all to send by
away 2>/dev/null
ip_in dpu link del p0
check "without any uplink nothing is attached" fails 1 attach --policy "$LAB_TMP/whole.yaml"
check "and why" says "no uplink of the policy is there: p0 is absent"
check "host ports are down" ports_down
check "and since the detach await has said nothing, and attached nothing" eval \
	'kill -0 "$AWAIT" && [[ $(wc -l <"$LAB_TMP/await.err") -eq $said ]]'
check "the stranger that was flooded all the time got nothing" eval \
	'lab_stop $STRANGER; grep -q "^total " "$LAB_TMP/stranger" && [[ -z $(awk "\$6" "$LAB_TMP/stranger" | grep -E "^(0800|86dd)") ]]'
done_testing
