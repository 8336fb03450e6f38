#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# RDMA between the hosts (soft-RoCE) through the tunnel: the class is right, the rate holds as the
# receiver counts it, and an RDMA READ, which the peer pulls, is charged to the data owner's DPU.
# vm-cost: 110
# vm-needs: rdma
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-rdma-$$
for part in tests/harness/tap vm-testbed/topo/trays vm-testbed/topo/manual_sa tests/vm/lib/workload; do
	# shellcheck source=/dev/null
	. "$BWL_SOURCE/$part.sh"
done
modprobe -a rdma_rxe ib_uverbs rdma_ucm ||
	{ echo "1..0 # SKIP this kernel has no soft-RoCE"; exit 77; }

# Soft-RoCE opens its sockets only in the first network namespace (6.12: &init_net in rxe_net.c). So both
# hosts' devices move there, as h1 and h2, and rules keep their two addresses from being local to
# each other: what one host sends leaves by its own device, and only received packets are local.
hosts_together() {
	local n other
	sysctl -q -w net.ipv4.conf.all.rp_filter=0 net.ipv4.conf.default.rp_filter=0
	ip rule add pref 100 lookup local && ip rule del pref 0
	for n in 1 2; do
		other=$((3 - n))
		ip_in "host$n" link set h0 down
		ip_in "host$n" link set h0 netns 1 name "h$n" || return
		sysctl -q -w "net.ipv4.conf.h$n.accept_local=1" "net.ipv4.conf.h$n.rp_filter=0"
		ip link set "h$n" up
		ip addr add "10.0.$n.2/24" dev "h$n"
		ip rule add pref $n iif "h$n" lookup local
		ip rule add pref 1$n from "10.0.$n.2" to "10.0.$other.0/24" lookup 10$n
		ip route add default via "10.0.$n.1" dev "h$n" table 10$n
		ethtool -K "h$n" gro off
		rdma link add "rxe$n" type rxe netdev "h$n" || return
	done
}
gid_of() { # host: the index of its IPv4 address
	local i
	for i in "/sys/class/infiniband/rxe$1/ports/1/gids"/*; do
		grep -qi "ffff:0a00:0${1}02" "$i" && echo "${i##*/}" && return
	done
}
background() { # file command…
	local file=$1
	shift
	"$@" >"$LAB_TMP/$file" 2>&1 &
	LAB_PIDS+=($!)
}
listens() { ss -Hltn "sport = :$1" | grep_all .; }
# Soft-RoCE of Linux 6.1 sends a message in one softirq, and a veth's ring holds 256 frames: of a longer message frames
# are lost each time that it is sent. Two messages are under way.
COUNT=32 SIZE=$((96 << 10))
perftest() { # ib_read_bw|ib_write_bw [option]: the client, host 1, reads from or writes to host 2
	background server timeout 100 "$1" -d rxe2 -x "$(gid_of 2)" -F ${2:-} -m 1024 -s $SIZE -n $COUNT -p 18515
	lab_wait_for 20 listens 18515 || return
	# They connect over loopback; the data goes by RDMA.
	timeout 90 "$1" -d rxe1 -x "$(gid_of 1)" -F ${2:-} -m 1024 -s $SIZE -n $COUNT -t 2 -p 18515 127.0.0.1 >"$LAB_TMP/client" 2>&1 && return
	tail -n 5 "$LAB_TMP/client" "$LAB_TMP/server" | sed 's/^/# /'
	return 1
}
rping_runs() { # rping -V compares what the server read and wrote back
	background rping timeout 60 rping -s -a 10.0.2.2 -C 10 -S 4000 -V
	sleep 1
	timeout 60 rping -c -a 10.0.2.2 -I 10.0.1.2 -C 10 -S 4000 -V >"$LAB_TMP/rping.client" 2>&1 && return
	tail -n 5 "$LAB_TMP/rping" "$LAB_TMP/rping.client" | sed 's/^/# /'
	return 1
}

# Everything except RoCE (and pings) gets one frame now and then.
if ! workload_up 8 4 'other: { rate: 1kbit, burst: 1518b }'; then nok "two trays are up"; done_testing; exit 1; fi
check "both hosts have an RDMA device" hosts_together
capture_start wire s1 s2
check "rping connects, reads and writes through the tunnel" rping_runs

owner=$(charged_at 2) reader=$(charged_at 1)
arrivals_start read '' h1 'udp port 4791'
check "a host reads the other's memory (RDMA READ)" perftest ib_read_bw -e
arrivals_stop read 4
owner=$(($(charged_at 2) - owner)) reader=$(($(charged_at 1) - reader))
note "read: $owner bytes charged to the owner's DPU, $reader to the reader's"
check "what is read is charged to the data owner's grant" test $owner -ge $((COUNT * SIZE))
check "and the reader pays for what it asks only" test $reader -lt $((COUNT * SIZE / 8))
check "the reader receives no more than that grant's rate × T + burst in any window" \
	test "$excess" -le "$(burst_at 4)"

owner=$(charged_at 1)
arrivals_start write '' h2 'udp port 4791'
check "a host writes to the other's memory (RDMA WRITE)" perftest ib_write_bw
arrivals_stop write 8
owner=$(($(charged_at 1) - owner))
check "what is written is charged to the writer's grant" test $owner -ge $((COUNT * SIZE))
check "the receiver counts no more than rate × T + burst in any window" test "$excess" -le "$(burst_at 8)"
check "nothing of it was of another class" test "$(frames_of 1 class-rate)$(frames_of 2 class-rate)" = 00

tray_apply 2 < <(workload_policy 2 1 4 'rocev2: { rate: 1mbit, burst: 150000b }')
arrivals_start class '' h1 'udp port 4791'
perftest ib_read_bw -e && note "the reading came to its end" || note "the reading gave up"
arrivals_stop class 1
check "with a lower limit for its class the owner is held to that" test "$excess" -le "$(burst_at 1)"
check "by the limit of the class" test "$(frames_of 2 class-rate)" -gt 0

check "the captures are whole" capture_stop wire
check "only ESP, ARP and ND left the trays" capture_only_encrypted wire
MARKER=rdma-ping-
check "what rping sends never passed in the clear" capture_lacks_marker wire
leak_end
done_testing
