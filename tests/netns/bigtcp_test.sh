#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# BIG TCP: at a host port the kernel makes GSO packets that are longer than IP's length field allows. They pass, and
# the charge is what the destination's own interface counts for their segments.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-bigtcp-$$ LAB_DESTS=1
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
lab_up && lab_attach || exit 1
{
	echo "peers:"
	lab_peer sink 1 "grant: { rate: 10gbit, burst: 64mb }"
} | lab_policy_head | lab_apply || exit 1

# gso_max_size and gro_max_size of both families (iproute2 before 6.3 does not know those of IPv4).
may_be_long() { # namespace device
	in_ns "$1" python3 - "$2" <<'END'
import socket, struct, sys
IFLA_GSO_MAX_SIZE, IFLA_GRO_MAX_SIZE, IFLA_GSO_IPV4_MAX_SIZE, IFLA_GRO_IPV4_MAX_SIZE, RTM_NEWLINK = 41, 58, 63, 64, 16
link = struct.pack("BxHiII", 0, 0, socket.if_nametoindex(sys.argv[1]), 0, 0)
for kind in (IFLA_GSO_MAX_SIZE, IFLA_GRO_MAX_SIZE, IFLA_GSO_IPV4_MAX_SIZE, IFLA_GRO_IPV4_MAX_SIZE):
    link += struct.pack("HHI", 8, kind, 185000)
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
s.send(struct.pack("IHHII", 16 + len(link), RTM_NEWLINK, 5, 1, 0) + link)
sys.exit(-struct.unpack("i", s.recv(4096)[16:20])[0])
END
}
if ! may_be_long host h0 || ! may_be_long dpu hpf0; then
	echo "1..0 # SKIP this kernel has no BIG TCP for IPv4 (6.3)"
	exit 77
fi
of() { # reason field: at the host port, summed
	"$CTL" --json reasons | jq "[.. | objects | select(.reason? == \"$1\" and .port? == \"hpf0\") | .$2] | add // 0"
}
received() { lab_rx d1 eth0 | cut -d" " -f1; }
idle() { [[ -z $(in_host ss -Htn state connected exclude time-wait | awk '$3 > 0') ]]; } # a kernel sends on for who has ended
lab_iperf_server d1 5201
for family in 4 6; do
	dest=lab_dest$family host=HOST$family
	in_dpu timeout 60 tcpdump -i hpf0 -nn -c 1 "ip$([[ $family = 4 ]] || echo 6) and greater 66000" >"$LAB_TMP/long$family" 2>"$LAB_TMP/tcpdump$family" &
	seen=$!
	lab_wait_for 10 grep -q 'listening on' "$LAB_TMP/tcpdump$family"
	for _ in 1 2 3; do # again where the busy machine lost what was charged
		charged=$(of pass charged_bytes) was=$(received)
		lab_iperf 120 "$LAB_TMP/iperf" host "-$family" -c "$($dest 1)" -B "${!host}" -n 100M || break
		lab_wait_for 30 idle
		lab_settle
		charged=$(($(of pass charged_bytes) - charged)) came=$(($(received) - was))
		[[ $((charged * 999)) -gt $((came * 1000)) ]] || break
	done
	check "IPv$family: 100 MB arrive" grep -q receiver "$LAB_TMP/iperf"
	sed 's/^/# /' <(tail -n 4 "$LAB_TMP/iperf" | head -n 2)
	wait "$seen"
	check "IPv$family: packets longer than IP can say came to the host port" test -s "$LAB_TMP/long$family"
	check "IPv$family: none of them is malformed" test "$(of malformed frames)" -eq 0
	note "$charged bytes charged, $came arrived"
	# What arrived includes the router's ARP and ND.
	check "IPv$family: never less is charged than arrived" test $((charged + 1000)) -ge "$came"
	check "IPv$family: nor 8 bytes a segment more, which no wire has" test $((charged * 999)) -le $((came * 1000))
done
done_testing
