#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Packets that make the kernel answer, all the time while programs come and go: attach again and in
# every form of XDP, killed in between, upgrade, a new policy, stop, detach and attach.
set -uo pipefail
# shellcheck source=reach.sh
. "$(dirname "${BASH_SOURCE[0]}")/reach.sh"
attacks "1, 6" "no byte of a host gets through while bwlimit opens and shuts"
reach_lab
port=(--drill --host hpf0 --host hpf1 --uplink p0)
[[ -n ${THIEF_OPEN:-} ]] || in_dpu "$LOAD" attach "${port[@]}" >/dev/null 2>&1

{
	for s in $HOST4 $W4; do
		for d in $DPU4 $MGMT4 $LAB_VIA4 10.99.9.9 10.7.1.2; do
			echo "eth ip4 src=$s dst=$d udp dport=9 fill=64"
			echo "eth ip4 src=$s dst=$d udp dport=33434 fill=64"
			echo "eth ip4 src=$s dst=$d tcp dport=179 flags=2 fill=64"
			echo "eth ip4 src=$s dst=$d icmp fill=64"
		done
	done
	for s in $HOST6 $W6; do
		for d in $DPU6 $MGMT6 $LAB_VIA6 fd00:999::1 fd00:7:1::2 "$LL_HOST"; do
			echo "eth ip6 src=$s dst=$d udp dport=9 fill=64"
			echo "eth ip6 src=$s dst=$d udp dport=33434 fill=64"
			echo "eth ip6 src=$s dst=$d tcp dport=179 flags=2 fill=64"
			echo "eth ip6 src=$s dst=$d icmp kind=128 fill=64"
			echo "eth ip6 src=$s dst=$d hop=255 nd kind=135 target=$d fill=64"
		done
	done
	echo "eth dst=33:33:00:00:00:01 ip6 src=$HOST6 dst=ff02::1 icmp kind=128 fill=64"
	echo "eth dst=ff:ff:ff:ff:ff:ff ip4 src=$HOST4 dst=255.255.255.255 udp dport=9 fill=64"
} >"$LAB_TMP/frames"
again() { # while its port is down a host cannot send
	local frames=$1 while=$2 n
	n=$(wc -l <"$1") # all of them: each call begins with the first
	while [[ -e $while ]]; do
		in_host "$FRAMES" send h0 --gw "$GATEWAY" --count "$n" --pps 1000 <"$frames" || sleep 0.005
	done >/dev/null 2>&1
}
load() { in_dpu "$LOAD" "$@" >>"$LAB_TMP/load" 2>&1; }
killed_after() { # seconds
	nsenter --net="/run/netns/$LAB-dpu" "$LOAD" attach "${port[@]}" >/dev/null 2>&1 & # in_dpu would be a shell around it
	local pid=$!
	sleep "$1"
	kill -KILL $pid 2>/dev/null
	wait $pid 2>/dev/null
}
bad=0
try() { "$@" || { bad=$((bad + 1)); note "failed: $*"; tail -n 3 "$LAB_TMP/load"; }; }

: >"$LAB_TMP/go"
judges_on
again "$LAB_TMP/frames" "$LAB_TMP/go" &
thief=$!
if [[ -n ${THIEF_OPEN:-} ]]; then
	sleep 1
else
	try load upgrade
	try ctl policy apply "$LAB_TMP/policy.yaml" >/dev/null 2>&1
	try load attach "${port[@]}" --xdp none
	killed_after 0.2
	try ctl stop >/dev/null 2>&1
	try load detach
	sleep 0.1
	try load attach "${port[@]}" --fresh-volume --policy "$LAB_TMP/policy.yaml" --trust-clock
fi
sleep 0.2
rm -f "$LAB_TMP/go"
wait $thief
judges_off
check "all of it went as it should" [ $bad -eq 0 ]
nothing_leaves "at no moment anything of the host's leaves by any device"
no_socket_heard "and at none a socket hears it"
ctl heartbeat >/dev/null
granted_arrives "an attach was killed, and another is complete, with a heartbeat"
done_testing
