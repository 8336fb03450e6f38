# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Liveness beside safety: a test that injects a fault also says after what event traffic passes again. Source it after
# lab.sh, wait for that event, then
#
#   live "bwlimitd is started again"      one case: of what destination 1 may be sent 99.5 % arrives, over IPv4 and IPv6
#
# LIVE_DEST: another destination. LIVE_FAMILIES: 4, if its peer has no IPv6. LIVE_PPS: frames of 142 bytes each second (2 000 are
# 2.3 Mbit/s); what may pass must be more, and its account must not owe anything. A test whose fault ends nothing that the
# host may send says so in its head instead: `# live: WHY` (unit.faults).

LIVE_FRAMES=1000 LIVE_PARTS=20 # of each family
LIVE_MARKER=6c6976656e6573732d6265736964652d
LIVE_DEST=1 LIVE_FAMILIES="4 6" LIVE_PPS=2000

# The lab's own paths; a lab of another form says them here: namespace and device of the sender, its gateway's MAC, namespace
# and device of the receiver, sender's and receiver's address of the family.
live_path() { # family
	echo host h0 "$(lab_mac dpu hpf0)" "d$LIVE_DEST" eth0
	if [[ $1 == 4 ]]; then echo $HOST4 "$(lab_dest4 "$LIVE_DEST")"; else echo $HOST6 "$(lab_dest6 "$LIVE_DEST")"; fi
}
live_sent() { # sends, and sets LIVE_CAME to what arrived of each family
	local f from dev gw to todev src dst words='' counter part LAB_PID
	for f in $LIVE_FAMILIES; do
		read -r -d '' from dev gw to todev src dst < <(live_path "$f")
		words+="eth ip$f src=$src dst=$dst udp sport=40000 dport=40001 fill=100"$'\n'
	done
	lab_bg live "$to" "$FRAMES" count "$todev" --marker $LIVE_MARKER
	counter=$LAB_PID
	lab_wait_for 5 grep -q ready "$LAB_TMP/live" || return
	# In parts: who was late catches up, which then is at most a part, and not more than an account has.
	for ((part = 0; part < LIVE_PARTS; part++)); do
		in_ns "$from" "$FRAMES" send "$dev" --gw "$gw" --marker $LIVE_MARKER --pps "$LIVE_PPS" \
			--count $((LIVE_FRAMES * $(wc -w <<<"$LIVE_FAMILIES") / LIVE_PARTS)) <<<"$words" >/dev/null || return
	done
	live_settle
	lab_stop "$counter"
	LIVE_CAME=$(awk -v families="$LIVE_FAMILIES" '
		$1 == "0800" { came[4] += $6 } $1 == "86dd" { came[6] += $6 }
		END { n = split(families, f, " "); for (i = 1; i <= n; i++) printf "%d ", came[f[i]] }' "$LAB_TMP/live")
}
live_settle() { lab_settle; }
live_arrives() {
	local n
	live_sent || return
	echo "# of $LIVE_FRAMES frames each over IPv${LIVE_FAMILIES// / and IPv} arrived: $LIVE_CAME"
	for n in $LIVE_CAME; do [[ $((1000 * n)) -ge $((995 * LIVE_FRAMES)) ]] || return; done
}
live() { # event
	check "after that traffic passes again, 99.5 % of what may: $1" live_arrives
}
