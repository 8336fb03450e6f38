#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A host port's own limit to a peer (`ports`): sources, MACs and tags of another port, fragments, GSO, devices that change or come
# again, policies and grants that change meanwhile, and both ports at once.
set -uo pipefail
LAB_HOSTS=2 LAB_SOURCES=('10.7.0.0/24, "fd00:7:0::/64"' '10.7.1.0/24, "fd00:7:1::/64"')
# shellcheck source=thief.sh
. "$(dirname "${BASH_SOURCE[0]}")/thief.sh"
attacks "2 and 3" "a host port spends its own limit to a peer, once, and nothing of another port's"
OTHER4=10.7.1.2 OTHER6=fd00:7:1::2 OTHER_MARKER=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
PORT_RATE=500000 PORT_BURST=102400 OTHER_RATE=3000000 OTHER_BURST=512000 # to alpha, of 5 Mbit/s
VOLUME=400000							# to beta, of the thief's port
N='' PORTS=('hpf0: { rate: 500kbit, burst: 100kb }' 'hpf1: { rate: 3mbit, burst: 500kb }') SPARE=''
thief_peers() {
	echo "peers:"
	lab_peer "alpha$N" 1 "grant: { rate: 5mbit, burst: 700kb }, ports: { ${PORTS[0]}, ${PORTS[1]} }"
	lab_peer "beta$N" 2 "grant: { rate: 100mbit }, ports: { hpf0: { volume: ${VOLUME}b }$SPARE }"
}
lab_policy_head() { # in place of lab.sh's: with a tag for each port
	printf 'version: 1\nnode: lab\nuplinks: [p0]\nheartbeat: 1h\nhost_ports:\n'
	printf '  - { dev: hpf0, sources: [%s], vlans: [5] }\n  - { dev: hpf1, sources: [%s], vlans: [6] }\n' "${LAB_SOURCES[@]}"
	cat
}
swap() { thief_peers | lab_policy_head | lab_apply || nok "the policy applies"; }
thief_lab
HOST_MAC=$(lab_mac host h0) OTHER_MAC=$(lab_mac host1 h0) OTHER_PORT=$(lab_mac dpu hpf1)

# All that the thief has, to a peer's two addresses.
loot() {
	local m v
	for m in "" "src=$OTHER_MAC" "dst=$OTHER_PORT" "src=$OTHER_MAC dst=$OTHER_PORT" "src=$OTHER_PORT"; do
		for v in "" "vlan id=5" "vlan id=6" "vlan id=0" "vlan tpid=0x88a8 id=5 vlan id=5"; do
			echo "eth $m $v ip4 src=$HOST4 dst=$1 udp fill=900"
			echo "eth $m $v ip6 src=$HOST6 dst=$2 udp fill=900"
			echo "eth $m $v ip4 src=$OTHER4 dst=$1 udp fill=900"
			echo "eth $m $v ip6 src=$OTHER6 dst=$2 udp fill=900"
		done
		echo "eth $m ip4 src=$HOST4 dst=$1 id=7 mf=1 tcp sport=40000 dport=443 fill=808"
		echo "eth $m ip4 src=$HOST4 dst=$1 id=7 off=832 type=6 fill=800"
		echo "eth $m ip6 src=$HOST6 dst=$2 frag6 id=9 mf=1 udp dport=443 fill=800"
		echo "eth $m ip6 src=$HOST6 dst=$2 frag6 id=9 off=808 type=17 fill=800"
	done
	echo "eth ip4 src=$HOST4 dst=$1 tcp dport=443 flags=0x10 fill=64"
	echo "eth ip6 src=$HOST6 dst=$2 tcp dport=443 flags=0x10 fill=64"
	echo "eth ip4 src=$HOST4 dst=$1 icmp fill=500"
	echo "eth ip6 src=$HOST6 dst=$2 icmp kind=128 fill=500"
	echo "eth ip4 src=$HOST4 dst=$1 type=47 fill=500"
	echo "eth ip6 src=$HOST6 dst=$2 type=47 fill=500"
	echo "vnet gso=tcp4 hdr=54 size=100 csum=34,16 eth ip4 src=$HOST4 dst=$1 tcp dport=443 flags=0x10 fill=9000"
	echo "vnet gso=udp hdr=62 size=1400 csum=54,6 eth ip6 src=$HOST6 dst=$2 udp fill=20000"
}
{ loot $A4 $A6; loot $B4 $B6; } >"$LAB_TMP/loot"
# Frames at a place that have the thief's bytes, or another's (then the judge's marker is no help).
stolen() { # place [src]
	awk -v src="${2:-.}" '!/^(#|total|marked|protocols|device)/ && $3 ~ src { n += $7 } END { printf "%.0f\n", n }' "$LAB_TMP/at-$1"
}
others() { # place: what the other port sent under its own name
	awk -v four=$OTHER4 -v six=$OTHER6 '$3 == four || $3 == six { n += $5 - $7 } END { printf "%.0f\n", n }' "$LAB_TMP/at-$1"
}
other_on() { # seconds pps <<< frames: as the thief does, from the other port
	cat >"$LAB_TMP/other"
	# Not by in_ns: a signal must reach it, and not a shell around it.
	nsenter --net="/run/netns/$LAB-host1" "$FRAMES" send h0 --gw "$OTHER_PORT" --marker "$OTHER_MARKER" --seconds "$1" --pps "$2" <"$LAB_TMP/other" >"$LAB_TMP/other-sent" &
	OTHER=$!
}
other_end() { wait "$OTHER" || nok "the other port can send"; }
other_stop() { # before its time
	kill -TERM "$OTHER"
	other_end
}
other_sent() { awk '{ print $4 }' "$LAB_TMP/other-sent"; }
spends_its_own() { # when
	within "$1 the port has its own limit and no more" "$(stolen d1)" $PORT_RATE $PORT_BURST
	volume=$((${volume:-0} + $(stolen d2)))
	note "$volume bytes of a volume of $VOLUME until now"
	promised "$1 it has its volume and no more" [ "$volume" -le $VOLUME ]
	promised "$1 nothing of it arrives under the other port's addresses" \
		[ $(($(stolen d1 "^($OTHER4|$OTHER6)\$") + $(stolen d2 "^($OTHER4|$OTHER6)\$"))) -eq 0 ]
}

# Beside an honest tenant, who has most of his own limit, and none of the thief's volume.
sleep 3 # his bucket is half full
judges_on
read -r beta _ < <(lab_rx d2 eth0)
steal_on 600 6000 <"$LAB_TMP/loot" # until he has ended, and all that is asked for has come
other_on 4 200 <<END
eth ip4 src=$OTHER4 dst=$A4 udp fill=900
eth ip6 src=$OTHER6 dst=$A6 udp fill=900
eth ip4 src=$OTHER4 dst=$B4 udp fill=900
eth ip6 src=$OTHER6 dst=$B6 udp fill=900
END
other_end
comes d1 $((PORT_BURST + 10000))
# Half of what he sent is there, too.
lab_wait_for 180 has_come d2 eth0 $((beta + $(other_sent) / 2 + VOLUME * 85 / 100)) || note "its volume does not come to d2"
steal_stop
judges_off
spends_its_own "with frames of every kind"
for family in "$HOST4 IPv4" "fd00:7::2 IPv6"; do
	something_at "what it may send arrives over ${family#* }" d1 . "^${family% *}\$"
	check "its volume does so, too" [ "$(stolen d2 "^${family% *}\$")" -gt 0 ]
done
check "its limit was usable: more than its burst arrived" [ "$(stolen d1)" -gt $PORT_BURST ]
check "and most of its volume" [ "$(stolen d2)" -ge $((VOLUME * 8 / 10)) ]
check "the other port lost nothing" [ $(($(others d1) + $(others d2))) -eq "$(other_sent)" ]

# The host's own device: down and up, another name, another MAC, another on top of it, past its queue, in another namespace.
lab_ns aside
judges_on
by_host() { in_host cat /proc/net/dev | awk '$1 == "h0:" { print $11 }'; } # frames that it sent
before=$(by_host)
has_sent() { [[ $(by_host) -gt $((before + 100)) ]]; }
steal_on 600 6000 <"$LAB_TMP/loot"
lab_wait_for 10 has_sent # it has opened the device
for i in 1 2 3; do
	ip_in host link set h0 down
	ip_in host link set h0 name "h$i"
	ip_in host link set "h$i" address "$([[ $i -eq 2 ]] && echo "$HOST_MAC" || echo "$OTHER_MAC")" up
	ip_in host link add link "h$i" name top type macvlan mode private
	ip_in host link set top up
	in_host "$FRAMES" send top --gw "$GATEWAY" --count 500 --pps 5000 <"$LAB_TMP/loot" >/dev/null
	in_host "$FRAMES" send "h$i" --gw "$GATEWAY" --count 500 --bypass <"$LAB_TMP/loot" >/dev/null
	ip_in host link del top
	ip_in host link set "h$i" down
	ip_in host link set "h$i" name h0 up
done
comes d1 && used=1 || used=0
check "the thief sends all the while" kill -0 "$THIEF"
steal_stop
ip_in host link set h0 netns "$LAB-aside"
ip_in aside link set h0 up
in_ns aside "$FRAMES" send h0 --gw "$GATEWAY" --count 3000 --pps 5000 <"$LAB_TMP/loot" >/dev/null
ip_in aside link set h0 netns "$LAB-host"
ip_in host link set h0 up
judges_off
spends_its_own "with devices that change"
check "its limit was usable with them" [ "$used" -eq 1 -a "$(stolen d1)" -gt 0 ]

# The function goes and comes again, and its representor with it.
ip_in host link del h0
lab_veth host h0 dpu hpf0
lab_addr dpu hpf0 10.7.0.1/24 fd00:7:0::1/64
GATEWAY=$(lab_mac dpu hpf0)
judges_on
steal --count 2000 --pps 5000 <"$LAB_TMP/loot"
judges_off
nothing_leaves "a port that was created again leads nowhere"
[[ -n ${THIEF_OPEN:-} ]] || lab_attach || nok "it is attached again"
judges_on
steal --count 12000 --pps 6000 <"$LAB_TMP/loot"
judges_off
spends_its_own "attached again"
check "its limit was usable again" [ "$(stolen d1)" -gt 0 ]

# Policies and grants that change and return.
judges_on
steal_on 600 6000 <"$LAB_TMP/loot" # until policies have changed
used=0
for N in 1 2 '' 3 '' 4; do
	PORTS=("${PORTS[1]}" "${PORTS[0]}")
	[[ -n $SPARE ]] && SPARE='' || SPARE=', hpf1: { rate: 50mbit }'
	swap
	ctl revoke "alpha$N" "beta$N" >/dev/null 2>&1 || nok "revoke"
	ctl grant "alpha$N" rate 5mbit burst 700kb reason test >/dev/null 2>&1 || nok "grant alpha"
	ctl grant "beta$N" rate 100mbit reason test >/dev/null 2>&1 || nok "grant beta"
	comes d1 && used=$((used + 1))
done
thief_peers | sed 's/rate: 3mbit/rate: 2mbit/' | lab_policy_head >"$LAB_TMP/trial"
# It goes on while another policy comes on trial, whose time runs out, and goes. How soon is not asked: the answer names what came.
in_force() { ctl --json policy show | jq -r .digest; }
before=$(in_force)
is_back() { [[ $(in_force) == "$before" ]]; }
is_over() { [[ $(ctl --json policy show | jq '.returns_in_s < 0') == true ]]; }
ctl --json policy apply "$LAB_TMP/trial" --confirm 5s --yes >"$LAB_TMP/tried" 2>/dev/null || nok "apply --confirm"
if [[ -z ${THIEF_OPEN:-} ]]; then
	check "a policy is on trial" \
		test "$(jq --arg before "$before" '.confirm_within_s == 5 and .digest != $before' "$LAB_TMP/tried")" = true
	check "whose time runs out" lab_wait_for 180 is_over
	ctl policy rollback >/dev/null 2>&1
	check "and which goes again" is_back
	comes d1 && used=$((used + 1)) # and after it
fi
steal_stop
judges_off
spends_its_own "with names, policies and grants that change"
check "its limit was usable under all of them" [ $used -eq $((${THIEF_OPEN:+1} + 0 ? 6 : 7)) ]

# Both ports in one hand, each on a CPU of its own where there are two.
judges_on
steal_on 600 6000 <"$LAB_TMP/loot"
loot $A4 $A6 | sed "s/=$HOST4 /=$OTHER4 /; t; s/=$HOST6 /=$OTHER6 /; t; s/=$OTHER4 /=$HOST4 /; s/=$OTHER6 /=$HOST6 /" | other_on 600 6000
comes d1 $((3 * OTHER_BURST)) # of both
steal_stop
comes d1 $((PORT_BURST + 10000)) # and of the other
other_stop
judges_off
spends_its_own "with the other port in its hand"
within "and that one its own" "$(others d1)" $OTHER_RATE $OTHER_BURST
check "which it had" [ "$(others d1)" -gt $PORT_BURST ]
within "both together no more than the peer" "$(arrived d1)" 5000000 716800
nothing_at "nothing goes to a stranger" d4
nothing_at "nor to management" mgmt
no_socket_heard "nor to a socket of the DPU"
LIVE_PPS=350 granted_arrives "the port was made and attached again, and both floods are over" # 500 kbit/s
done_testing
