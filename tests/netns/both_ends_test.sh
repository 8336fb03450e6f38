#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Both ends of a pair, each a DPU with its own maps, recorder and audit log: what one reports as sent is what the
# other reports as arrived, to the byte, less what was refused on arrival and what a router between them counted as
# dropped. In the clear: ESP between them is tested in a guest (tests/vm).
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-ends-$$ LAB_DESTS=0
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
lab_up || exit 1
# The second DPU is behind the router, as destinations are: host2 ── hpf0 dpu2 p0 ── n9 net.
EAST_PINS=/sys/fs/bpf/$LAB-east
trap 'lab_down; rm -rf "$EAST_PINS"' EXIT
lab_ns dpu2
lab_sysctl dpu2 net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=0
lab_veth net n9 dpu2 p0 && lab_addr net n9 172.16.9.1/24 && lab_addr dpu2 p0 172.16.9.2/24
lab_ns host2
lab_veth host2 h0 dpu2 hpf0 && lab_addr host2 h0 10.8.0.2/24 && lab_addr dpu2 hpf0 10.8.0.1/24
ip_in host2 route add default via 10.8.0.1
ip_in net route add 10.8.0.0/24 via 172.16.9.2
in_ns net ethtool -K n9 tso off gso off tx-udp-segmentation off >/dev/null
in_ns net ethtool -K s0 tso off gso off tx-udp-segmentation off >/dev/null

west() { in_dpu "$@"; }
east() { BWLIMIT_PIN_DIR=$EAST_PINS in_ns dpu2 "$@"; }
policy() { # sources peer addresses via accept
	LAB_SOURCES=("$1")
	printf 'peers:\n  - { name: %s, addresses: [%s], path: clear, via: %s, grant: { rate: 1gbit, burst: 8mb }, accept: { %s } }\n' \
		"$2" "$3" "$4" "$5" | lab_policy_head
}
# East accepts at most 1 MB at once, west everything.
policy 10.7.0.0/24 east 10.8.0.0/24 $LAB_VIA4 'rate: 1gbit, burst: 8mb' >"$LAB_TMP/west.yaml"
policy 10.8.0.0/24 west 10.7.0.0/24 172.16.9.1 'rate: 8mbit, burst: 1mb' >"$LAB_TMP/east.yaml"
dpu() { # side command…: with its own state and log
	local side=$1
	shift
	BWLIMIT_STATE_DIR=$LAB_TMP/$side BWLIMIT_AUDIT_DIR=$LAB_TMP/$side.audit "$side" "$@"
}
for side in west east; do
	"$CTL" audit init --dir "$LAB_TMP/$side.audit" --origin "bwlimit/$side" >"$LAB_TMP/$side.pub"
	dpu $side "$LOAD" attach --drill --fresh-volume --record on --host hpf0 --uplink p0 >"$LAB_TMP/attach" 2>&1 ||
		{ sed 's/^/# /' "$LAB_TMP/attach"; exit 1; }
	dpu $side "$AGENT" --policy "$LAB_TMP/$side.yaml" --state-dir "$LAB_TMP/$side" --tpm none --flows-every 1s \
		--history-size 0b --json >"$LAB_TMP/$side.log" 2>&1 &
	LAB_PIDS+=($!)
	declare "${side}_pid=$!"
done
enters() { [[ $("$CTL" audit show --dir "$LAB_TMP/$1.audit" --json | grep -c '"event":"interval"') -ge ${2:-1} ]]; }
check "west enters its intervals" lab_wait_for 60 enters west
check "and so does east" lab_wait_for 60 enters east
first_of() { "$CTL" audit show --dir "$LAB_TMP/$1.audit" --json | jq -r 'select(.event == "interval") | .data.sequence' | sort | sed -n "$2p" | sed 's/^0*//'; }

# On the way UDP to 5999 is dropped and counted: as frames, because that is what DPUs charge.
in_ns net nft -f - <<'RULES'
table ip way {
	counter dropped { }
	chain forward { type filter hook forward priority 0; udp dport 5999 counter name dropped drop; }
}
RULES
dropped() { in_ns net nft -j list counter ip way dropped | jq '.nftables[] | .counter? // empty | .bytes + 14 * .packets'; }
check "control: a ping from end to end" lab_wait_for 30 in_host ping -c1 -W1 -q 10.8.0.2
in_host ping -c20 -i0.02 -q -s 700 10.8.0.2 >/dev/null
lab_iperf_server host2 5201
check "control: 400 kB by TCP" in_host timeout 60 iperf3 -c 10.8.0.2 -n 400K --logfile "$LAB_TMP/iperf"
blast() { # port frames: of 1000 bytes
	in_host python3 -c 'import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(int(sys.argv[2])): s.sendto(bytes(1000), ("10.8.0.2", int(sys.argv[1])))' "$@"
}
blast 5999 50
blast 5998 4000
sleep 1
for side in west east; do
	pid=${side}_pid
	lab_stop "${!pid}"
done
check "control: the router has dropped 50 frames" test "$(dropped)" -eq $((50 * 1042))

open_side() { # side peer
	"$CTL" evidence open --state-dir "$LAB_TMP/$1" --dir "$LAB_TMP/$1.audit" --interval "$(first_of "$1" 1)" \
		--to "$(first_of "$1" '$')" --peer "$2" --write "$LAB_TMP/$1.json" >/dev/null
}
check "west opens what it sent to east" open_side west east
check "east opens what it got from west" open_side east west
reconcile() { # sender receiver jq-program options…
	"$CTL" evidence reconcile --sender-key "$LAB_TMP/$1.pub" --receiver-key "$LAB_TMP/$2.pub" --json "${@:4}" \
		"$LAB_TMP/$1.json" "$LAB_TMP/$2.json" >"$LAB_TMP/said"
	jq -c "$3" "$LAB_TMP/said"
}
check "of what west sent the router's drops alone are unexplained" test "$(reconcile west east '[.ok, .unexplained_bytes]')" == "[true,$(dropped)]"
note "$(jq -c . "$LAB_TMP/said")"
check "much of it was refused on arrival, and not all" test "$(jq '.refused_on_arrival_bytes > 500000 and .arrived_bytes > 500000' "$LAB_TMP/said")" == true
check "with the router's count nothing is" test "$(reconcile west east '[.ok, .unexplained_bytes, .known_cause_bytes]' --cause "router=$(dropped)b")" == "[true,0,$(dropped)]"
check "and what came back arrived, to the byte" test "$(reconcile east west '[.ok, .sent_bytes == .arrived_bytes, .sent_bytes > 10000, .unexplained_bytes]')" == '[true,true,true,0]'
counted() { # side peer
	"$1" "$CTL" stats "$2" --json | jq -c '.peers[0] | [.passed_bytes, .dropped_bytes]'
}
reconcile west east . >/dev/null
read -r sent arrived refused < <(jq -r '"\(.sent_bytes) \(.arrived_bytes) \(.refused_on_arrival_bytes)"' "$LAB_TMP/said")
back=$(reconcile east west .sent_bytes)
check "what west opened is all that its counter has" test "$(counted west east)" == "[$((sent + back)),0]"
check "and what east opened is all that its one has" test "$(counted east west)" == "[$((arrived + back)),$refused]"
done_testing
