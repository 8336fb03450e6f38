#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Failures while two hosts send more than they may: links, SAs, policies, the tracker, a whole tray,
# certificates. In every case nothing leaves in the clear, nobody gets more than the grant, and
# traffic comes back (promises 2, 5, 6).
# vm-cost: 310
# vm-needs: strongswan
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-flt-$$
for part in tests/harness/tap vm-testbed/topo/trays tests/harness/charon \
	vm-testbed/topo/mesh tests/vm/lib/load; do
	# shellcheck source=/dev/null
	. "$BWL_SOURCE/$part.sh"
done
charon_require
trays_up 2 || exit 1

MESH_IPSEC='ca: bwlimit.pem, dpd: 2s' # no SA is rekeyed by time
RATE1=2000000 RATE2=1000000 BURST=70000 LOAD_PPS=400
ACCEPT='accept: { rate: 100mbit }'
grants() { # tray: accept is higher than what the other tray can ever send
	local rate=RATE$1
	mesh_policy "$1" "grant: { rate: ${!rate}bit, burst: ${BURST}b }, $ACCEPT"
}
out() { tray_ctl 1 --json peer show tray-2 | jq -r .tunnel.spi_out; }
out_is_not() { [[ $(out) != "$1" ]]; }
judged() { # what happened meanwhile
	load_end
	check "$1: host 1 never got more than its grant" load_within 1 $RATE1 $BURST 0.05
	check "$1: nor did host 2" load_within 2 $RATE2 $BURST 0.05
	live "$1, and their SAs are back"
}

mesh_ca
for n in 1 2; do
	mesh_tray_up "$n" "grant: { rate: 1kbit }"
	tray_apply "$n" < <(grants "$n")
done
capture_start one s1
capture_start two s2
check "the connections are loaded" mesh_load_both
check "both sides are open" lab_wait_for 60 mesh_open
check "and traffic passes" passes 10.0.2.2
load_begin

# --- links
for ((i = 0; i < 5; i++)); do
	ip_in dpu1 link set p0 down
	sleep 0.$((RANDOM % 9))
	ip_in dpu1 link set p0 up
	sleep 0.$((RANDOM % 9))
	ip_in switch link set s2 down
	sleep 0.$((RANDOM % 9))
	ip_in switch link set s2 up
	sleep 1
done
check "after ten link flaps traffic passes" passes 10.0.2.2

# --- SAs removed without bwlimit
spi=$(out)
# judged by the tracker's own lines: charon may restore at once what is gone
closed_for() { [[ $(grep -c "closed: $1" "$LAB_TMP/watch1") -gt $was ]]; }
was=$(grep -c 'closed: unmatched\|closed: no-sa' "$LAB_TMP/watch1")
sa=(src 192.0.2.1 dst 192.0.2.2 proto esp spi "$spi")
# Where SAs have marks, the kernel finds one only by its own.
mark=$(in_ns dpu1 ip xfrm state list "${sa[@]}" | sed -n 's,^[[:space:]]*mark \(0x[0-9a-f]*\)/\(0x[0-9a-f]*\).*,mark \1 mask \2,p')
# shellcheck disable=SC2086 # words, or none
in_ns dpu1 ip xfrm state delete "${sa[@]}" $mark
check "an outbound SA that is deleted closes" lab_wait_for 20 closed_for '\(unmatched\|no-sa\)'
mesh_rekey 1 tray-2
check "new keys bring it back" passes 10.0.2.2
was=$(grep -c 'closed: no-policy' "$LAB_TMP/watch1")
in_ns dpu1 ip xfrm policy flush
check "so do policies that are gone" lab_wait_for 20 closed_for no-policy
charon_down 1
charon_up 1 dpu1
mesh_load 1
check "charon, restarted, brings them back" passes 10.0.2.2
mesh_flush 2
refute "the other side flushed: nothing passes" pings 10.0.2.2
charon_down 2
charon_up 2 dpu2
mesh_load 2
check "restarted there, it does again" passes 10.0.2.2

# --- policies change while keys change
before=$(out)
for ((i = 0; i < 10; i++)); do
	mesh_rekey 1 tray-2 & rekeying=$!
	sleep 0.$((RANDOM % 9))
	if ((i % 2)); then
		tray_quiet tray_apply 1 < <(grants 1)
	else # a lower rate, another zone, another mode: never more
		tray_quiet tray_apply 1 < <(mesh_policy 1 "grant: { rate: 1500kbit, burst: ${BURST}b, mode: shape }, $ACCEPT" | sed "s/^heartbeat:.*/&\nhorizon: 10ms/")
	fi || nok "a policy is applied"
	wait $rekeying
done
check "ten policies were swapped while keys changed" out_is_not "$before"
check "and traffic passes" passes 10.0.2.2

# --- the tracker
kill -KILL "${MESH_WATCH[1]}"
wait "${MESH_WATCH[1]}" 2>/dev/null
check "without the tracker traffic goes on" pings 10.0.2.2
mesh_rekey 1 tray-2
check "with new keys, too" pings 10.0.2.2
charon_kill 1 # it would negotiate again for the next packet
in_ns dpu1 ip xfrm state flush
refute "SAs that nobody sees go: nothing passes" pings 10.0.2.2
check "although the map says that it may" mesh_tunnel 1 .sa_out
mesh_watch 1
check "a new tracker closes" lab_wait_for 20 mesh_tunnel 1 '.sa_out | not'
charon_up 1 dpu1
mesh_load 1
check "and opens what charon brings back" passes 10.0.2.2
judged "links, SAs, policies, tracker"

# --- tray 2 loses power; from now on certificates are checked again every minute, and an
# IKE_SA ends 30 s after the check was due
MESH_IPSEC='ca: bwlimit.pem, dpd: 2s, ike_rekey: 2m, reauth: 1m, rekey: 20s, hard: 40s'
tray_apply 1 < <(grants 1)
mesh_load 1
check "the capture of tray 2 is whole" capture_stop two
leak_pause 2
charon_kill 2
for ns in host2 dpu2; do
	pids=$(ip netns pids "$LAB-$ns" | tr '\n' ' ')
	# shellcheck disable=SC2086 # a list
	[[ -z ${pids// /} ]] || kill -KILL $pids
	ip netns del "$LAB-$ns"
done
rm -rf "$LAB_PINS/tray2"
gone() { [[ ! -e /sys/class/net/s2 ]] && ! ip_in switch link show s2 >/dev/null 2>&1; }
lab_wait_for 20 gone
tray_up 2
leak_watch 2 # while its control can pass
ip_in switch link set s2 down # bwlimit.service starts before the network
mesh_tray_up 2 "grant: { rate: 1kbit }"
tray_apply 2 < <(grants 2)
ip_in switch link set s2 up
capture_start three s2
load_begin
refute "tray 2 is back from a power cut, without SAs: nothing passes" pings 10.0.2.2
mesh_load 2
check "with its connections loaded it does" passes 10.0.2.2

# --- a certificate that ends while it is in use
opens() { grep -c 'open: SA' "$LAB_TMP/watch1"; }
closed() { mesh_tunnel 1 '.sa_out or .sa_in | not'; }
rm -f "$(charon_dir 2)"/swanctl/{x509,private}/*
mesh_issue 2 --life 1m
issued=$SECONDS
mesh_load 2
vici 2 terminate '{"ike": "bwl-tray-1", "timeout": "-1"}' >/dev/null 2>&1
mesh_load 2
check "tray 2 goes on with a certificate for a minute" passes 10.0.2.2
# reauth 1m, 30 s more until the hard limit, 20 s for an SA that was made just before the end
check "traffic stops when that has ended" lab_wait_for $((60 + 60 + 30 + 20)) closed
note "$((SECONDS - issued)) s after it was issued"
check "not before" test $((SECONDS - issued)) -ge 55
was=$(opens)
charon_mark 1
mesh_load 1
check "charon says why" lab_wait_for 60 charon_said 1 'certificate invalid (valid from'
refute "nothing passes" pings 10.0.2.2
check "and nothing was opened again" test "$(opens)" -eq "$was"
mesh_issue 2
mesh_load 2
mesh_load 1
check "with a new certificate traffic passes" passes 10.0.2.2
judged "a power cut and a certificate that ended"

check "the captures are whole" capture_stop one
check "that of tray 2 after the power cut, too" capture_stop three
for name in one two three; do
	check "capture $name: only ESP, IKE, ARP and ND left" capture_only_encrypted $name
	check "capture $name: the marker never passed in the clear" capture_lacks_marker $name
done
leak_end
done_testing
