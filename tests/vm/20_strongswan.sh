#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two DPUs under our policies, with SAs in a kernel that has ESP: both load at the same moment, the installed
# SAs have the peer's id, rekeying and renewal lose no SA, dropping a peer ends both ends.
# vm-cost: 65
# live: its trays have no tunnel device: SAs are judged, and 40_mesh has their packets
# vm-needs: strongswan
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-ssw-$$
for part in tests/harness/tap vm-testbed/topo/trays tests/harness/charon vm-testbed/topo/mesh; do
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
	ipsec: { ca: bwlimit.pem, rekey: 10m, hard: 20m }
	peers:
	  - { name: sink, addresses: [203.0.113.0/24], path: clear, via: 192.0.2.9, grant: { rate: 1mbit } }
	  - { name: tray-$2, addresses: [10.0.$2.0/24, "fd00:$2::/64"], ipsec: { remote: 192.0.2.$2 }, grant: { rate: 1gbit } }
	END
}
status() { tray_ctl "$1" ipsec status --vici "$(charon_socket "$1")" --timeout 30s --json; }
is() { status "$1" | jq -e "$2" >/dev/null; }
spis() { in_ns "dpu$1" ip xfrm state | sed -n 's/.* spi \(0x[0-9a-f]*\) .*/\1/p' | sort | tr '\n' ' '; }
if_ids() { in_ns "dpu$1" ip xfrm "$2" | sed -n 's/.*if_id \(0x[0-9a-f]*\).*/\1/p' | sort -u | tr '\n' ' '; }
one_sa() { is "$1" '[.ike_sas[] | select(.state == "ESTABLISHED")] | length == 1 and
	([.[0].child_sas[] | select(.state == "INSTALLED")] | length == 1)'; }
told() { note "$(status 1)" "$(tail -n 20 "$(charon_dir 1)/log")" "$(tail -n 20 "$(charon_dir 2)/log")"; }
eventually() { lab_wait_for 40 "$@" || { told; false; }; }

check "a CA is made" mesh_quietly "$CTL" pki init --ca "$ca"
for n in 1 2; do
	check "charon starts in DPU $n" charon_up "$n" "dpu$n"
	mesh_quietly "$CTL" pki issue "tray-$n" --ca "$ca" --out "$(charon_dir "$n")/swanctl"
	tray_attach "$n"
	check "its policy is in force" tray_apply "$n" < <(policy "$n" $((3 - n)))
done
# at the same moment as tray 2
mesh_load 1 &
loading=$!
check "one side loads its connection" mesh_load 2
check "and the other" wait "$loading"
check "one asks, one answers, and one IKE_SA with one CHILD_SA is left, seen from the one" eventually one_sa 1
check "and from the other" eventually one_sa 2
sleep 3 # a second negotiation in progress would be visible by now
check "it stays at one" one_sa 1
check "the kernels hold the two halves of it" test "$(mesh_states 1) $(mesh_states 2)" = "2 2"
check "they are the same" test "$(spis 1)" = "$(spis 2)"

# --- what this charon can do that Debian 12's cannot
render() { tray_ctl 1 ipsec render - --vici "$(charon_socket 1)" --timeout 30s; }
offloaded() { sed 's/ipsec: { remote/path: offload, ipsec: { remote/' "$LAB_TMP/policy1.yaml" | render; }
can=$(render <"$LAB_TMP/policy1.yaml" | head -n 1)
note "${can#\# }"
ke() { status 1 | jq -e --arg ke "$1" '[.ike_sas[0].ke | split("/")[]] | index($ke) != null' >/dev/null; }
check "keys are exchanged by ECP-384" ke ECP_384
if [[ $can == *'has ML-KEM'* ]]; then
	check "and by ML-KEM-768" ke ML_KEM_768
	check "which CHILD_SAs are offered, too" grep -q 'esp_proposals = .*ke1_mlkem768' <(render <"$LAB_TMP/policy1.yaml")
else
	skip "and by ML-KEM-768" "this charon has none"
fi
if [[ $can == *'has packet offload'* ]]; then
	check "packet offload is asked for where the policy says it" grep -q 'hw_offload = packet' <(offloaded)
else
	check "a charon that cannot ask for packet offload asks for what it can" grep -q 'hw_offload = auto' <(offloaded)
fi
# the second peer of the first policy
check "states carry the peer's id" test "$(if_ids 1 state)$(if_ids 2 state)" = "0x2 0x2 "
check "and so do policies" test "$(if_ids 1 policy)$(if_ids 2 policy)" = "0x2 0x2 "
check "AES-256-GCM, tunnel mode, a replay window" test "$(in_ns dpu1 ip -s xfrm state |
	grep -c 'rfc4106(gcm(aes)) .* (288 bits) 128\|mode tunnel\|replay-window 256\|replay_window 256')" -ge 4
# iproute2 prints it only with -s
check "outbound, no DSCP, ECN or DF of the host's is copied outside" test "$(in_ns dpu1 ip -s xfrm state |
	grep -c 'noecn nopmtudisc.*dont-encap-dscp')" = 1

# --- rekeying
before=$(spis 1)
(
	while [[ ! -e $LAB_TMP/stop ]]; do
		[[ $(mesh_states 1) -ge 2 && $(mesh_states 2) -ge 2 ]] || echo gap
		sleep 0.1
	done >"$LAB_TMP/gaps"
) &
watcher=$!
check "a CHILD_SA is rekeyed" mesh_rekey 1 tray-2
rekeyed() { [[ $(spis 1) != "$before" && $(mesh_states 1) == 2 && $(mesh_states 2) == 2 ]]; }
check "it has other SPIs then, on both ends" eventually rekeyed
check "the IKE_SA is rekeyed, too" mesh_rekey 1 --all --ike
check "with one of each afterwards" eventually one_sa 2
[[ $can != *'has ML-KEM'* ]] || check "and by ML-KEM-768 again" ke ML_KEM_768
before=$(spis 1)
mesh_quietly "$CTL" pki renew tray-1 --ca "$ca" --out "$(charon_dir 1)/swanctl"
check "a renewed certificate is loaded" mesh_load 1
check "and no SA changes for it" test "$(spis 1)" = "$before"
touch "$LAB_TMP/stop"
wait "$watcher"
check "in all of it neither end was without its SAs" test ! -s "$LAB_TMP/gaps"

# --- a flood of IKE with the other's address, from a sender that does not see its SPIs
ike_refused() { tray_ctl 1 --json reasons | jq '[.reasons[] | select(.reason == "ike-rate") | .frames] | add // 0'; }
floods() { [[ $(ike_refused) -gt $1 ]]; }
echo "eth ip4 src=${MESH_NET}2 dst=${MESH_NET}1 udp sport=500 dport=500 fill=60" >"$LAB_TMP/ike"
lab_bg flood rogue sh -c 'exec "$0" send p0 --gw "$1" --seconds 300 --pps 400 <"$2"' "$FRAMES" "$(tray_mac 1 3)" "$LAB_TMP/ike"
flood=$LAB_PID
check "a flood in its name is refused" lab_wait_for 30 floods 200
check "a CHILD_SA is rekeyed all the same" mesh_rekey 1 tray-2
check "and from the other side" mesh_rekey 2 tray-1
check "and the IKE_SA" mesh_rekey 1 --all --ike
check "and by that one a CHILD_SA" mesh_rekey 1 tray-2
check "the flood went on meanwhile" lab_wait_for 20 floods "$(ike_refused)"
lab_stop "$flood"

# --- the other side is lost
charon_kill 2
mesh_flush 2
charon_up 2 dpu2
mesh_load 2
check "a charon that was killed comes back to one SA" eventually one_sa 2
check "on both ends" eventually one_sa 1
both_two() { [[ $(mesh_states 1) == 2 && $(mesh_states 2) == 2 && $(spis 1) == "$(spis 2)" ]]; }
check "and nothing of the old one is left" eventually both_two

# --- dropping a peer
check "a peer is dropped" mesh_quietly "$VICI" --drop "$(charon_socket 1)" 20000 tray-2
check "its SAs are gone here when that returns" test "$(mesh_states 1)" = 0
check "and its policies" test -z "$(if_ids 1 policy)"
none_there() { [[ $(mesh_states 2) == 0 ]]; }
check "and gone there" lab_wait_for 3 none_there
vici 2 initiate '{"ike": "bwl-tray-1", "child": "bwl-tray-1", "timeout": "-1"}' >/dev/null 2>&1
sleep 3
check "it cannot come back by itself" test "$(mesh_states 1) $(mesh_states 2)" = "0 0"
check "the policies there still let nothing out in the clear" test "$(if_ids 2 policy)" = "0x2 "
check "loaded again it does" mesh_load 1
check "with an SA" eventually one_sa 1
leak_end
done_testing
