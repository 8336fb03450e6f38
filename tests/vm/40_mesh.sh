#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The whole of it: two trays with bwlimit, strongSwan and the tracker of SAs, a thief on the wire.
# Promises 5 and 9 with packets: through rekeying, a killed charon and revocation only ESP, IKE, ARP
# and ND leave, and the marker that the host sends all the time is never seen.
# vm-timeout: 500
# vm-needs: strongswan
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-mesh-$$
for part in tests/harness/tap vm-testbed/topo/trays vm-testbed/topo/capture tests/harness/charon; do
	# shellcheck source=/dev/null
	. "$BWL_SOURCE/$part.sh"
done
charon_require
trays_up 2 || exit 1

ca=$LAB_TMP/ca
policy() { # this tray, the other one
	cat <<-END
	version: 1
	node: tray-$1
	uplinks: [p0]
	host_ports: [{ dev: pf0hpf, sources: [10.0.$1.0/24, "fd00:$1::/64"] }]
	heartbeat: none
	ipsec: { ca: bwlimit.pem }
	peers:
	  - { name: tray-$2, addresses: [10.0.$2.0/24, "fd00:$2::/64"], ipsec: { remote: 192.0.2.$2 }, grant: { rate: 10mbit } }
	END
}
load() { # tray
	tray_quiet tray_ctl "$1" ipsec load "$LAB_TMP/policy$1.yaml" --dir "$(charon_dir "$1")/swanctl" \
		--vici "$(charon_socket "$1")" --timeout 30s
}
states() { in_ns "dpu$1" ip xfrm state count | sed -n 's/.*count \([0-9]*\).*/\1/p'; }
sa_known() { tray_ctl "$1" --json peer show "tray-$((3 - $1))" | jq -e .tunnel.sa_out >/dev/null; }
pings() { in_ns host1 ping -q -c 3 -i 0.2 -W 2 "$1" >/dev/null; }
passes() { lab_wait_for 40 in_ns host1 ping -q -c 1 -W 1 "$1"; }
quietly() { "$@" >/dev/null 2>&1; }
no_states() { [[ $(states "$1") -eq 0 ]]; }

check "a CA is made" quietly "$CTL" pki init --ca "$ca"
for n in 1 2; do
	check "charon starts in DPU $n" charon_up "$n" "dpu$n"
	quietly "$CTL" pki issue "tray-$n" --ca "$ca" --out "$(charon_dir "$n")/swanctl"
	check "bwlimit attaches there with a tunnel device" tray_attach "$n" --tunnel bwl0
	check "its policy is in force" tray_apply "$n" < <(policy "$n" $((3 - n)))
	BWLIMIT_PIN_DIR=$LAB_PINS/tray$n lab_bg "watch$n" "dpu$n" "$CTL" ipsec watch
done
capture_start wire s1 s2
marker_from host1 10.0.2.2 & marker=$!
refute "before there is an SA nothing passes" pings 10.0.2.2
load 1 & loading=$!
check "the connections are loaded" load 2
wait $loading
check "the tracker tells the data plane of the SA on tray 1" lab_wait_for 40 sa_known 1
check "and on tray 2" lab_wait_for 40 sa_known 2
check "IPv4 passes" passes 10.0.2.2
check "IPv6 passes" passes fd00:2::2
in_ns host2 iperf3 -s -1 -D >/dev/null
in_ns host1 timeout 40 iperf3 -c 10.0.2.2 -t 4 -J >"$LAB_TMP/tcp.json"
note "TCP at 10 Mbit/s: $(jq '.end.sum_received.bits_per_second / 1e6' "$LAB_TMP/tcp.json") Mbit/s"
check "TCP passes and is held to its grant" jq -e \
	'.end.sum_received.bits_per_second | . > 1000000 and . < 13000000' "$LAB_TMP/tcp.json"

# --- rekeying under load
in_ns host1 ping -i 0.1 -c 100 -W 5 fd00:2::2 >"$LAB_TMP/rekey" & pinging=$!
check "the CHILD_SA is rekeyed under traffic" tray_quiet tray_ctl 1 ipsec rekey tray-2 --vici "$(charon_socket 1)" --timeout 30s
wait $pinging
note "$(tail -n 2 "$LAB_TMP/rekey" | head -n 1)"
check "and no packet is lost" grep -q ' 0% packet loss' "$LAB_TMP/rekey"

# --- charon dies
kill -KILL "${CHARON_PID[1]}"
wait "${CHARON_PID[1]}" 2>/dev/null
check "a charon that was killed stops nothing while its SAs last" pings 10.0.2.2
in_ns dpu1 ip xfrm state flush
in_ns dpu1 ip xfrm policy flush
refute "with its SAs gone nothing passes" pings 10.0.2.2
check "charon comes back" charon_up 1 dpu1
load 1
check "and traffic passes again" passes 10.0.2.2

# --- revocation
revoke() { tray_ctl 1 revoke tray-2 --vici "$(charon_socket 1)" >"$LAB_TMP/revoke" 2>&1; }
check "a peer is revoked" revoke
sed 's/^/# /' "$LAB_TMP/revoke"
check "its SAs are gone here at once" no_states 1
check "and on the other side" lab_wait_for 5 no_states 2
refute "nothing passes" pings 10.0.2.2
load 1
load 2
sleep 2
check "loading brings nothing back" no_states 1
check "a new grant is given" tray_quiet tray_ctl 1 grant tray-2 rate 10mbit reason back again
load 1
load 2
check "with SAs, and traffic passes" passes 10.0.2.2
kill -STOP "${CHARON_PID[1]}"
check "a peer is revoked while charon hangs" revoke
sed 's/^/# /' "$LAB_TMP/revoke"
check "its SAs are gone all the same" no_states 1
refute "and nothing passes" pings 10.0.2.2
kill -CONT "${CHARON_PID[1]}"

kill $marker
wait $marker 2>/dev/null
check "the captures are whole" capture_stop wire
check "only ESP, IKE, ARP and ND left the trays" capture_only_encrypted wire
check "the marker never passed in the clear" capture_lacks_marker wire
done_testing
