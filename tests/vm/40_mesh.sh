#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Everything together: two trays with bwlimit, strongSwan and the tracker of SAs, and a thief on the network.
# Promises 5 and 9, checked with packets: through rekeying, a killed charon and revocation only ESP, IKE, ARP
# and ND leave, and the marker that the host sends all the time is never seen.
# vm-cost: 75
# vm-needs: strongswan
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-mesh-$$
for part in tests/harness/tap vm-testbed/topo/trays tests/harness/charon \
	vm-testbed/topo/mesh tests/vm/lib/outer; do
	# shellcheck source=/dev/null
	. "$BWL_SOURCE/$part.sh"
done
charon_require
trays_up 2 || exit 1

check "a CA is made" mesh_ca
for n in 1 2; do mesh_tray_up "$n" "grant: { rate: 10mbit }"; done
capture_start wire s1 s2
marker_start host1 10.0.2.2
refute "before there is an SA nothing passes" pings 10.0.2.2
check "the connections are loaded" mesh_load_both
check "the tracker tells the data plane of the SA on tray 1" lab_wait_for 40 mesh_tunnel 1 .sa_out
check "and on tray 2" lab_wait_for 40 mesh_tunnel 2 .sa_out
check "IPv4 passes" passes 10.0.2.2
check "IPv6 passes" passes fd00:2::2
in_ns host2 iperf3 -s -1 -D >/dev/null
in_ns host1 timeout 40 iperf3 -c 10.0.2.2 -t 4 -J >"$LAB_TMP/tcp.json"
note "TCP at 10 Mbit/s: $(jq '.end.sum_received.bits_per_second / 1e6' "$LAB_TMP/tcp.json") Mbit/s"
check "TCP passes and is held to its grant" jq -e \
	'.end.sum_received.bits_per_second | . > 1000000 and . < 13000000' "$LAB_TMP/tcp.json"

check "IPv4 packets of any DSCP, ECN, TTL and DF pass" outer_vary host1 10.0.2.2
check "and IPv6 ones, of any flow label" outer_vary host1 fd00:2::2

# --- rekeying under load
in_ns host1 ping -i 0.1 -c 100 -W 5 fd00:2::2 >"$LAB_TMP/rekey" & pinging=$!
check "the CHILD_SA is rekeyed under traffic" mesh_rekey 1 tray-2
wait $pinging
note "$(tail -n 2 "$LAB_TMP/rekey" | head -n 1)"
check "and no packet is lost" grep -q ' 0% packet loss' "$LAB_TMP/rekey"

# --- charon dies
charon_kill 1
check "a charon that was killed stops nothing while its SAs last" pings 10.0.2.2
mesh_flush 1
refute "with its SAs gone nothing passes" pings 10.0.2.2
check "charon comes back" charon_up 1 dpu1
mesh_load 1
check "and traffic passes again" passes 10.0.2.2
live "charon is back, and its SAs, which were flushed"

# --- revocation
revoke() { tray_ctl 1 revoke tray-2 --vici "$(charon_socket 1)" >"$LAB_TMP/revoke" 2>&1; }
check "a peer is revoked" revoke
sed 's/^/# /' "$LAB_TMP/revoke"
check "its SAs are gone here at once" mesh_no_states 1
check "and on the other side" lab_wait_for 5 mesh_no_states 2
refute "nothing passes" pings 10.0.2.2
mesh_load 1
mesh_load 2
sleep 2
check "loading brings nothing back" mesh_no_states 1
check "a new grant is given" tray_quiet tray_ctl 1 grant tray-2 rate 10mbit reason back again
mesh_load 1
mesh_load 2
check "with SAs, and traffic passes" passes 10.0.2.2
freeze_process "${CHARON_PID[1]}"
check "a peer is revoked while charon hangs" revoke
sed 's/^/# /' "$LAB_TMP/revoke"
check "its SAs are gone all the same" mesh_no_states 1
refute "and nothing passes" pings 10.0.2.2
kill -CONT "${CHARON_PID[1]}"

marker_stop
check "the captures are whole" capture_stop wire
check "only ESP, IKE, ARP and ND left the trays" capture_only_encrypted wire
outer=$(outer_headers wire)
note "outer headers: ${outer//$'\n'/; }"
check "of all the host can write nothing shows outside" test "$(grep -c . <<<"$outer")" -eq 1
check "the marker never passed in the clear" capture_lacks_marker wire
leak_end
done_testing
