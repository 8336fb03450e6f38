#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What GRO merges before the programs see it: reasons, with the frames in merged packets, are what the device has received, to
# the frame and to the byte, in both directions, whether the packets pass or not.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-merged-$$ LAB_DESTS=2
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
lab_up && lab_attach || exit 1
{
	echo "peers:"
	lab_peer wide 1 "grant: { rate: 10gbit, burst: 64mb }, accept: { rate: 10gbit, burst: 64mb }"
	lab_peer narrow 2 "grant: { rate: 8kbit, burst: 100kb }, accept: { rate: 8kbit, burst: 100kb }"
} | lab_policy_head | lab_apply || exit 1

N=40 SENT=400
flows() { # in one direction: of each family and destination segments that follow each other
	local i outer
	for outer in "$@"; do
		for ((i = 0; i < N; i++)); do
			echo "eth ${outer//ID/$i} tcp sport=4000 dport=443 flags=0x10 seq=$((1 + i * 500)) fill=500"
		done
	done
}
# Sends the four flows of stdin, as often as makes SENT of each: a veth's queue holds 256 frames, and drops what a busy CPU does not
# take out in time, so that each round waits for the device to have counted the one before.
send() { # port of the DPU, namespace of the lab, its device, MAC
	local frames i
	frames=$(cat)
	for ((i = 1; i <= SENT / N; i++)); do
		in_ns "$2" "$FRAMES" send "$3" --gw "$4" >/dev/null <<<"$frames"
		lab_wait_for 5 counted "$1" $((4 * N * i))
	done
}
counted() { # port frames: it has received so many since before()
	local b f
	read -r b f < <(lab_rx dpu "$1")
	[[ $((f - dev_frames)) -ge $2 ]]
}
for dev in hpf0 p0; do # GRO keeps what it has for a moment, as that of a busy CPU does
	in_dpu ethtool -K $dev gro on
	ip netns exec "$LAB-dpu" sh -c "echo 50000000 >/sys/class/net/$dev/gro_flush_timeout"
done
reasons() { in_dpu "$CTL" --json reasons; }
sums() { # port: frames and bytes of all reasons, and of what was merged
	reasons | jq -r --arg p "$1" '[[.reasons[], .merged[] | select(.port == $p and .hook == "ingress")] | (map(.frames) | add), (map(.bytes) | add)] | join(" ")'
}
of() { # reason port: frames
	reasons | jq --arg r "$1" --arg p "$2" '[.reasons[] | select(.reason == $r and .port == $p and .hook == "ingress") | .frames] | add // 0'
}
merged() { reasons | jq --arg p "$1" '[.merged[] | select(.port == $p and .hook == "ingress") | .frames] | add // 0'; }
before() { # port
	read -r frames bytes < <(sums "$1")
	read -r dev_bytes dev_frames < <(lab_rx dpu "$1")
	was_merged=$(merged "$1")
}
agree() { # port: the device (veth: bytes behind the Ethernet header) and the programs have counted the same since
	local f b df db
	read -r db df < <(lab_rx dpu "$1")
	db=$((db + 14 * (df - dev_frames)))
	read -r f b < <(sums "$1")
	said="$((f - frames)) frames and $((b - bytes)) bytes by reasons, $((df - dev_frames)) and $((db - dev_bytes)) by the device"
	[[ $((f - frames)) -eq $((df - dev_frames)) && $((b - bytes)) -eq $((db - dev_bytes)) && $((f - frames)) -ge $((4 * SENT)) ]]
}
judged() { # sentence port
	check "$1: reasons, merged frames and the device agree, to the frame and the byte" lab_wait_for 5 agree "$2"
	note "$said"
	check "$1: GRO had merged most of it" [ $(($(merged "$2") - was_merged)) -gt $((3 * SENT)) ]
}
GW=$(lab_mac dpu hpf0) UP=$(lab_mac dpu p0)
in_host "$FRAMES" send h0 --gw "$GW" >/dev/null <<<"eth ip4 src=$HOST4 dst=$(lab_dest4 1) udp fill=20"
lab_settle
before hpf0
flows "ip4 src=$HOST4 dst=$(lab_dest4 1) df=1 id=ID" "ip6 src=$HOST6 dst=$(lab_dest6 1)" \
	"ip4 src=$HOST4 dst=$(lab_dest4 2) df=1 id=ID" "ip6 src=$HOST6 dst=$(lab_dest6 2)" |
	send hpf0 host h0 "$GW"
judged "sent" hpf0
check "sent: some of it passed" [ "$(of pass hpf0)" -gt 0 ]
check "sent: and some was refused" [ "$(of peer-rate hpf0)" -gt 0 ]
before p0
flows "ip4 src=$(lab_dest4 1) dst=$HOST4 df=1 id=ID" "ip6 src=$(lab_dest6 1) dst=$HOST6" \
	"ip4 src=$(lab_dest4 2) dst=$HOST4 df=1 id=ID" "ip6 src=$(lab_dest6 2) dst=$HOST6" |
	send p0 net s0 "$UP"
judged "arriving" p0
check "arriving: some of it passed" [ "$(of pass-accept p0)" -gt 0 ]
check "arriving: and some was refused" [ "$(of accept-rate p0)" -gt 0 ]
before hpf0
flows "ip4 src=$HOST4 dst=10.199.0.9 df=1 id=ID" "ip6 src=$HOST6 dst=fd00:199::9" \
	"ip4 src=10.66.0.1 dst=$(lab_dest4 1) df=1 id=ID" "ip6 src=fd00:66::1 dst=$(lab_dest6 1)" |
	send hpf0 host h0 "$GW"
check "for no peer, and from nobody's address: they agree, too" lab_wait_for 5 agree hpf0
note "$said"
check "people are told of merged packets" grep -q '^hpf0: [0-9]* frames more in merged packets' <(in_dpu "$CTL" reasons)
lab_load verify
for dev in hpf0 p0; do
	check "verify names $dev, which counts a GSO packet as one" grep -q "ok.*$dev (veth) counts a GSO packet" "$LAB_TMP/out"
done
in_dpu "$LOAD" detach --open >/dev/null 2>&1
LAB_XDP=generic lab_attach
lab_load verify
check "and a port whose XDP is generic, which drops merged packets as one" grep -q "ok.*hpf0: XDP runs in generic form, behind GRO" "$LAB_TMP/out"
done_testing
