# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Two trays under load. Their charons are killed at random moments and restarted as systemd would
# do it; `bwlimit-ipsecd charon` does the rest. Source tap.sh first; this prints what it does.

for part in vm-testbed/topo/trays tests/harness/charon vm-testbed/topo/mesh tests/vm/lib/load; do
	# shellcheck source=/dev/null
	. "$BWL_SOURCE/$part.sh"
done

MESH_IPSEC='ca: bwlimit.pem, dpd: 2s, rekey: 10s, hard: 60s'
RATE1=2000000 RATE2=1000000 BURST=70000 LOAD_PPS=400
KILLED=0 KILLS_SEED=4711

kills_begin() {
	local n rate
	charon_require
	trays_up 2 || exit 1
	mesh_ca
	for n in 1 2; do
		rate=RATE$n
		# the sender's limit is judged, so accept is larger
		mesh_tray_up "$n" "grant: { rate: ${!rate}bit, burst: ${BURST}b }, accept: { rate: 100mbit }"
		mesh_keep "$n"
	done
	capture_start wire s1 s2
	check "the connections come by themselves" lab_wait_for 60 mesh_open
	check "and traffic passes" passes 10.0.2.2
	load_begin
	RANDOM=$((KILLS_SEED))
	note "moments by seed $((KILLS_SEED))"
}
# charon is killed while it starts, negotiates, rekeys or idles, on either tray.
kills() { # how many
	local i n
	for ((i = 0; i < $1; i++)); do
		n=$((1 + RANDOM % 2))
		sleep $((RANDOM % 3)).$((RANDOM % 10))
		charon_kill $n
		[[ $((RANDOM % 4)) -gt 0 ]] || sleep 1.$((RANDOM % 10)) # not always restarted at once
		charon_up $n "dpu$n" || nok "charon starts in DPU $n"
	done
	KILLED=$((KILLED + $1))
	check "after $KILLED kills traffic passes" passes 10.0.2.2
	note "SAs: $(mesh_states 1) $(mesh_states 2)"
}
kills_end() {
	local n
	load_end
	# The share is low because one emulated CPU on a busy machine spends most of its time on key exchanges.
	check "host 1 never got more than its grant" load_within 1 $RATE1 $BURST 0.01
	check "nor did host 2" load_within 2 $RATE2 $BURST 0.01
	for n in 1 2; do
		note "tray $n: $(jq -rs 'group_by(.event) | map("\(.[0].event) \(length)") | join(", ")' "$LAB_TMP/keep$n")"
	done
	live "$KILLED kills of charon, and its SAs are back"
	for n in 1 2; do charon_kill $n; done # otherwise they initiate to each other for ever, and a capture ends only in silence
	check "the captures are whole" capture_stop wire
	check "only ESP, IKE, ARP and ND left the trays" capture_only_encrypted wire
	check "the marker never passed in the clear" capture_lacks_marker wire
	leak_end
	done_testing
}
