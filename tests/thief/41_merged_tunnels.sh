#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# GRO merges TCP in tunnels, and UDP. The headers that each segment repeats are as long as the sender likes (extension headers,
# tunnels): each is charged with what it has on the wire, when it is sent and when it arrives.
set -uo pipefail
# shellcheck source=thief.sh
. "$(dirname "${BASH_SOURCE[0]}")/thief.sh"
attacks "2, 3, 8" "merged segments are charged with the headers that they have"
thief_peers() {
	echo "peers:"
	lab_peer alpha 1 "grant: { rate: 10gbit, burst: 64mb }, accept: { rate: 10gbit, burst: 64mb }"
}
thief_lab
thief_places() { # in place of thief.sh's: the ends of both directions
	echo "d1 d1 eth0"
	echo "host host h0"
}
N=40 SENT=400 # segments of a flow, and frames of each kind
I4="ip4 src=10.9.0.1 dst=10.9.0.2 df=1 id=ID" I6="ip6 src=fd00:9::1 dst=fd00:9::2"
LONG="ext kind=60 size=1200" # only its length is of interest
TCP="tcp sport=4000 dport=443 flags=0x10 seq=SEQ fill=100"
VXLAN="udp dport=4789 hex=0800000000000100 hex=020000000001020000000002"
GRE="type=47 hex=0000"

# What is in the outermost IP, by name.
kinds() {
	cat <<-END
	TCP	$TCP
	UDP	udp sport=4000 dport=443 fill=100
	4	$I4 $TCP
	6	$I6 $TCP
	long	$I6 $LONG $TCP
	GRE-4	${GRE}0800 $I4 $TCP
	GRE-6	${GRE}86dd $I6 $LONG $TCP
	GRE-key	type=47 hex=2000080000000001 $I4 $TCP
	GRE-MAC	${GRE}6558 hex=0200000000010200000000020800 $I4 $TCP
	VXLAN-4	${VXLAN}0800 $I4 $TCP
	VXLAN-6	${VXLAN}86dd $I6 $LONG $TCP
	END
}
frames() { # source4 destination4 source6 destination6 "what is in it": a flow of each family
	local i what outer
	for outer in "ip4 src=$1 dst=$2 df=1 id=ID" "ip6 src=$3 dst=$4"; do
		for ((i = 0; i < N; i++)); do
			what="eth $outer $5"
			what=${what//ID/$i}
			echo "${what//SEQ/$((1 + i * 100))}"
		done
	done
}
of() { # reason port field
	"$CTL" --json reasons | jq "[.. | objects | select(.reason? == \"$1\" and .port? == \"$2\") | .$3] | add // 0"
}
# GRO keeps what it has for a moment, as that of a busy CPU does.
for dev in hpf0 p0; do
	in_dpu ethtool -K $dev gro on rx-udp-gro-forwarding on >/dev/null
	ip netns exec "$LAB-dpu" sh -c "echo 50000000 >/sys/class/net/$dev/gro_flush_timeout"
done
in_dpu ethtool -K hpf0 tso off gso off tx-udp-segmentation off >/dev/null # to the host one by one
in_host ethtool -K h0 gro off >/dev/null
ip_in dpu link add vx0 type vxlan external dstport 4789 # merges VXLAN of any address
ip_in dpu link set vx0 up
TO_P0=$(lab_mac dpu p0)
# No resets: they are charged, too.
ip_in d1 route add blackhole $HOST4
ip_in d1 -6 route add blackhole $HOST6
ip_in host route add blackhole $A4
ip_in host -6 route add blackhole $A6

# What was charged is what arrived: never less, and at most a hundredth more.
compare() { # sentence reason port place IPv4-address IPv6-address charged-before packets-before
	local was came frames
	was=$(($(of "$2" "$3" charged_bytes) - $7)) frames=$(($(of "$2" "$3" frames) - $8))
	came=$(arrived "$4")
	note "$frames packets, $was bytes charged, $came arrived"
	something_at "$1: it arrives over IPv4" "$4" "^$5\$"
	something_at "$1: it arrives over IPv6" "$4" "^$6\$"
	check "$1: both were merged" [ $frames -lt $((SENT / 4)) ]
	promised "$1: never less is charged than arrived" [ "$was" -ge "$came" ]
	promised "$1: nor a hundredth more" [ $((was * 100)) -le $((came * 101)) ]
}
counted() { # at both ends, frames
	local d1 host
	d1=$(lab_rx d1 eth0) host=$(lab_rx host h0)
	echo "${d1#* } ${host#* }"
}
all_there() { # counted before
	local d1 host
	read -r d1 host < <(counted)
	[[ $((d1 - $1)) -ge $((2 * SENT)) && $((host - $2)) -ge $((2 * SENT)) ]]
}
while IFS=$'\t' read -r name what; do
	sent=$(of pass hpf0 charged_bytes) n=$(of pass hpf0 frames)
	accepted=$(of pass-accept p0 charged_bytes) m=$(of pass-accept p0 frames)
	read -r at_d1 at_host < <(counted)
	judges_on
	steal --count $((2 * SENT)) < <(frames $HOST4 $A4 $HOST6 $A6 "$what")
	in_ns net "$FRAMES" send s0 --gw "$TO_P0" --count $((2 * SENT)) >"$LAB_TMP/sent" \
		< <(frames $A4 $HOST4 $A6 $HOST6 "$what") || nok "the peer can send"
	lab_wait_for 5 all_there "$at_d1" "$at_host"
	judges_off
	compare "$name in IP, sent" pass hpf0 d1 $A4 $A6 "$sent" "$n"
	compare "$name in IP, arriving" pass-accept p0 host $HOST4 "${HOST6/:0::/::}" "$accepted" "$m"
done < <(kinds)
done_testing
