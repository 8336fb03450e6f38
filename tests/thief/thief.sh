# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034 # variables are for who sources this
#
# Common to all thefts: a lab, a policy, and judges that know nothing of bwlimit:
# counters at every place where a frame could arrive, and sockets in the DPU that must not be reached.
#
#   attacks N "what the promise says"      the promise that is attacked (design, section 3)
#   thief_lab                              the lab, attached, with the policy below
#   judges_on / judges_off                 count in between; judges_off fills $T (seconds)
#   arrived PLACE [DST [SRC]]              bytes there that are not a kernel's own control (regexes)
#   steal OPTIONS… <<< frames              from the host's own port (tests/harness/frame.h)
#
# Every payload is a marker of this run (tests/harness/marker.h). A frame's source address does not
# matter: what the DPU's own kernel quotes or echoes is loot, too. A frame without the marker is also
# loot, unless it is ARP, ND, MLD or IGMP of minimum length.
# Before bwlimit is attached, each place and each kind of socket is shown to see what is sent.

THIEF_HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=${LAB:-bwl-thief-$$} LAB_DESTS=${LAB_DESTS:-4} LAB_MGMT=${LAB_MGMT:-1}
BWL_MARKER=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
export BWL_MARKER
# The lower half of an IPv6 address, made of 8 bytes of the marker.
MARK6=${BWL_MARKER:0:4}:${BWL_MARKER:4:4}:${BWL_MARKER:8:4}:${BWL_MARKER:12:4}
# shellcheck source=../harness/tap.sh
. "$THIEF_HERE/tap.sh"
# shellcheck source=../harness/lab.sh
. "$THIEF_HERE/lab.sh"
# shellcheck source=../harness/live.sh
. "$THIEF_HERE/live.sh"
LIVE_PPS=700 # of which alpha may have 800

A4=10.101.0.9 A6=fd00:101::9	# alpha, at d1: 1 Mbit/s, burst 150 kb
B4=10.102.0.9 B6=fd00:102::9	# beta, at d2: 2 Mbit/s, in zone ext with gamma
C4=10.103.0.9 C6=fd00:103::9	# gamma, at d3: 2 Mbit/s
X4=10.104.0.9 X6=fd00:104::9	# a stranger, at d4: no peer has it
RATE=1000000 BURST=153600	# alpha's, in bit/s and bytes

attacks() { note "attacks promise $1: $2"; }

thief_peers() { # a script may have its own
	cat <<-END
	node_limit: { rate: 20mbit, burst: 300kb }
	zones:
	  ext: { rate: 3mbit, burst: 200kb }
	peers:
	END
	lab_peer alpha 1 "grant: { rate: 1mbit, burst: 150kb, mode: police }"
	lab_peer beta 2 "zone: ext, grant: { rate: 2mbit, burst: 150kb, mode: police }"
	lab_peer gamma 3 "zone: ext, grant: { rate: 2mbit, burst: 150kb, mode: police }"
}

thief_lab() {
	lab_up || exit 1
	GATEWAY=$(lab_mac dpu hpf0)
	if [[ $LAB_MGMT -eq 1 ]]; then # as on any DPU: what has no other route leaves there
		ip_in dpu route add default via 10.250.0.2
		ip_in dpu -6 route add default via fd00:250::2
	fi
	thief_controls
	lab_attach && thief_peers | lab_policy_head | lab_apply || exit 1
	[[ -z ${THIEF_OPEN:-} ]] || thief_open
	# The DPU's and the router's neighbours are resolved before anything is counted.
	in_host "$FRAMES" send h0 --gw "$GATEWAY" >/dev/null <<-END
	eth ip4 src=$HOST4 dst=$A4 udp fill=20
	eth ip6 src=$HOST6 dst=$A6 udp fill=20
	eth ip4 src=$HOST4 dst=$B4 udp fill=20
	eth ip6 src=$HOST6 dst=$C6 udp fill=20
	END
	lab_settle
}
# The DPU forwards like any router, by default to the wire.
thief_forward() { # 1 or 0
	lab_sysctl dpu net.ipv4.ip_forward="$1" net.ipv6.conf.all.forwarding="$1"
}
thief_by_wire() {
	ip_in dpu route replace default via $LAB_VIA4
	ip_in dpu -6 route replace default via $LAB_VIA6
}
# No enforcement at all: each test must fail, otherwise its judges are blind.
thief_open() {
	in_dpu "$LOAD" detach --open >/dev/null 2>&1
	thief_forward 1
	thief_by_wire
}

all_came() { # the ten frames that are sent to each place; before, there were ${came[PLACE]}
	local place ns dev n
	while read -r place ns dev; do
		read -r _ n < <(lab_rx "$ns" "$dev")
		[[ $n -ge $((${came[$place]} + 10)) ]] || return 1
	done < <(thief_places)
}
# The positive control of all judges, before bwlimit is attached: a marked frame of each family
# and protocol is seen at each place and at the DPU's sockets.
thief_controls() {
	local i place ns dev what all=1 to=()
	local -A came=()
	thief_forward 1
	for ((i = 1; i <= LAB_DESTS; i++)); do
		ip_in dpu route add "10.10$i.0.0/16" via $LAB_VIA4
		ip_in dpu -6 route add "fd00:10$i::/64" via $LAB_VIA6
	done
	while read -r place ns dev; do read -r _ "came[$place]" < <(lab_rx "$ns" "$dev"); done < <(thief_places)
	judges_on
	for ((i = 1; i <= LAB_DESTS; i++)); do to+=("$(lab_dest4 "$i") $(lab_dest6 "$i")"); done
	for ((i = 1; i < LAB_UPLINKS; i++)); do to+=("192.0.$((2 + i)).254 2001:db8:$i::fe"); done
	for ((i = 1; i < LAB_HOSTS; i++)); do to+=("10.7.$i.2 fd00:7:$i::2"); done
	[[ $LAB_MGMT -eq 0 ]] || to+=("10.250.0.2 fd00:250::2")
	{
		for i in "${to[@]}"; do
			for what in "udp fill=64" "tcp sport=40001 flags=0x10 fill=64" "icmp fill=64" "type=47 fill=64"; do
				echo "eth ip4 src=$HOST4 dst=${i% *} $what"
				echo "eth ip6 src=$HOST6 dst=${i#* } $what"
			done
			echo "eth ip4 src=$HOST4 dst=${i% *} id=1 mf=1 udp fill=64"
			echo "eth ip6 src=$HOST6 dst=${i#* } frag6 id=1 mf=1 udp fill=64"
		done
		for i in "ip4 src=$HOST4 dst=10.7.0.1" "ip6 src=$HOST6 dst=fd00:7:0::1"; do
			echo "eth $i udp fill=64"
			echo "eth $i udp dport=53 fill=64"
			echo "eth $i tcp sport=40001 dport=179 flags=2 fill=64"
			echo "eth $i icmp fill=64"
			echo "eth $i type=47 fill=64"
		done
	} | steal
	lab_wait_for 5 all_came # on a busy machine neighbours are resolved late
	judges_off
	while read -r place ns dev; do
		for what in "0800 17" "0800 6" "0800 1" "0800 47" "0800 44" \
			"86dd 17" "86dd 6" "86dd 58" "86dd 47" "86dd 44"; do
			grep -q "^protocols ${what% *} .*\<${what#* }=" "$LAB_TMP/at-$place" ||
				{ all=0; note "$place saw no $what"; seen "$place"; }
		done
	done < <(thief_places)
	check "before bwlimit is attached, frames of both families and each protocol are seen at every place" [ $all -eq 1 ]
	all=1
	for what in udp4 udp6 tcp4 tcp6 open4 open6 icmp4 icmp6 raw4 raw6; do
		[[ $(heard) == *" $what 0"* || $(heard) != heard* ]] && { all=0; note "no $what: $(heard)"; }
	done
	check "and every protocol of both families at the sockets of the DPU" [ $all -eq 1 ]
	for ((i = 1; i <= LAB_DESTS; i++)); do
		ip_in dpu route del "10.10$i.0.0/16"
		ip_in dpu -6 route del "fd00:10$i::/64"
	done
	thief_forward 0
}

# Where a stolen byte could appear: namespace and device. "wire" is the far end of the uplink.
thief_places() {
	local i
	echo "wire net s0"
	for ((i = 1; i <= LAB_DESTS; i++)); do echo "d$i d$i eth0"; done
	for ((i = 1; i < LAB_UPLINKS; i++)); do echo "wire$i net s$i"; done
	for ((i = 1; i < LAB_HOSTS; i++)); do echo "host$i host$i h0"; done
	[[ $LAB_MGMT -eq 0 ]] || echo "mgmt mgmt eth0"
}

now_us() { echo $((${EPOCHREALTIME/[.,]/})); }

DPU_PORTS='9 53 67 179 500 546 547 4500 5353 5355'
judges_on() {
	local place ns dev i
	JUDGES=() JUDGE_FILES=()
	while read -r place ns dev; do
		lab_bg "at-$place" "$ns" "$FRAMES" count "$dev"
		JUDGES+=("$LAB_PID") JUDGE_FILES+=("at-$place")
	done < <(thief_places)
	# shellcheck disable=SC2086 # a list
	lab_bg dpu-sockets dpu "$FRAMES" listen $DPU_PORTS
	JUDGES+=("$LAB_PID")
	for i in "${JUDGE_FILES[@]}" dpu-sockets; do
		lab_wait_for 5 grep -q ready "$LAB_TMP/$i" || nok "the judge $i is ready"
	done
	JUDGED_FROM=$(now_us)
}
judges_off() {
	local pid i
	sleep 0.02 # what is paced leaves within 10 ms
	lab_settle
	T=$(awk -v a="$JUDGED_FROM" -v b="$(now_us)" 'BEGIN { printf "%.4f", (b - a) / 1e6 }')
	for pid in "${JUDGES[@]}"; do kill -TERM "$pid"; done 2>/dev/null
	for pid in "${JUDGES[@]}"; do wait "$pid"; done 2>/dev/null
	for i in "${JUDGE_FILES[@]}"; do
		grep -q '^total .* lost 0$' "$LAB_TMP/$i" || nok "the judge $i saw everything"
	done
}

# Whatever the source address is. Unmarked control is what any kernel sends by itself.
arrived() { # place [dst [src]]
	awk -v dst="${2:-.}" -v src="${3:-.}" '
		/^(#|total|marked|protocols|device)/ { next }
		$2 ~ dst && $3 ~ src { n += $5 - $10 }
		END { printf "%.0f\n", n }' "$LAB_TMP/at-$1"
}
# Bytes of the marker, in any frames: separate from an operator's own traffic.
marked() { # place
	awk '/^marked/ { print $4 }' "$LAB_TMP/at-$1"
}
# What the interface counted and its judge does not account for.
uncounted() { # place
	awk '/^total/ { n = $3 } /^device/ { d = $3 } END { print (d > n ? d - n : 0) }' \
		"$LAB_TMP/at-$1"
}
seen() { grep -v '^# ready' "$LAB_TMP/at-$1" | head -n 30 | sed 's/^/#   /'; }

# shellcheck disable=SC2120 # options of each script
steal() {
	in_host "$FRAMES" send h0 --gw "$GATEWAY" "$@" >"$LAB_TMP/sent" || nok "the thief can send"
}
# In the background: for SECONDS at PPS; steal_end waits for it, or steal_stop ends it when what it was to cause has come.
steal_on() { # seconds pps <<< frames
	cat >"$LAB_TMP/frames"
	nsenter --net="/run/netns/$LAB-host" "$FRAMES" send h0 --gw "$GATEWAY" --seconds "$1" \
		--pps "$2" <"$LAB_TMP/frames" >"$LAB_TMP/sent" &
	THIEF=$!
}
steal_end() { wait "$THIEF" || nok "the thief can send"; }
steal_stop() { # before its time
	kill -TERM "$THIEF"
	steal_end
}
sent_bytes() { awk '{ print $4 }' "$LAB_TMP/sent"; }

# A sentence about a promise, not about the setup: THIEF_OPEN=1 must cause some of these.
promised() { # sentence command…
	local bad=$TAP_BAD
	check "$@"
	[[ $TAP_BAD -eq $bad ]] || note "breach: $1"
}
nothing_at() { # sentence, place [dst [src]]
	local n more=0
	n=$(arrived "${@:2}")
	[[ $# -gt 2 ]] || more=$(uncounted "$2")
	# One of the kernel's own frames may arrive between the readings of the counter and of the judge.
	[[ $more -gt 500 ]] && { note "the interface counted $more bytes more"; n=$((n + more)); }
	[[ $n -eq 0 ]] || { note "$n bytes at $2:"; seen "$2"; }
	promised "$1" [ "$n" -eq 0 ]
}
# Through any device of the DPU, except back to the thief.
nothing_leaves() { # sentence
	local place ns dev bad=''
	while read -r place ns dev; do
		[[ $(arrived "$place") -eq 0 && $(uncounted "$place") -le 500 ]] && continue
		bad+=" $place"
		note "$(arrived "$place") bytes at $place ($(uncounted "$place") more by the interface):"
		seen "$place"
	done < <(thief_places)
	promised "$1" [ -z "$bad" ]
}
nothing_marked_at() { # sentence, place
	[[ $(marked "$2") == 0 ]] || seen "$2"
	promised "$1" [ "$(marked "$2")" = 0 ]
}
something_at() { # sentence, place [dst [src]]: the theft was possible to see at all
	check "$1" [ "$(arrived "${@:2}")" -gt 0 ]
}
# At most RATE x T + BURST bytes, and, if saturated, most of it.
within() { # sentence bytes rate burst
	local bound
	bound=$(awk -v r="$3" -v t="$T" -v b="$4" 'BEGIN { printf "%.0f", r * t / 8 + b }')
	note "$2 bytes in $T s; at most $bound may arrive"
	promised "$1" [ "$2" -le "$bound" ]
}
# What a grant allows does pass: waits until so many bytes more have come to the place's own interface, by a thief who still
# sends. How soon that must be is shown where rates are (netns.traffic).
comes() { # place [bytes]
	local ns dev at
	read -r _ ns dev < <(thief_places | grep "^$1 ")
	at=$(lab_rx "$ns" "$dev")
	lab_wait_for 180 has_come "$ns" "$dev" $((${at% *} + ${2:-3000})) || { note "nothing comes to $1"; return 1; }
}
has_come() { # namespace device bytes
	local at
	at=$(lab_rx "$1" "$2")
	[[ ${at% *} -ge $3 ]]
}
heard() { grep '^heard' "$LAB_TMP/dpu-sockets"; }
no_socket_heard() { # sentence: IGMP, ND and MLD the kernel must hear
	local loud
	loud=$(heard | grep -oE '(udp|tcp|open|icmp|raw)[46] [1-9][0-9]*|(marked|bytes) [1-9][0-9]*')
	[[ -z $loud ]] || note "heard: ${loud//$'\n'/, }"
	grep -q '^heard' "$LAB_TMP/dpu-sockets" || loud="no judge"
	promised "$1" [ -z "$loud" ]
}
# In the end what is granted arrives, in each family: the port is not just closed, nor are the judges deaf. A script whose alpha
# has less sets LIVE_PPS.
granted_arrives() { # [when the attack is over]
	judges_on
	LIVE_MARKER=$BWL_MARKER live "${1:-the attack is over}"
	judges_off
	[[ $LIVE_FAMILIES != *4* ]] || something_at "in the end what is granted arrives, over IPv4" d1 "^$A4\$"
	[[ $LIVE_FAMILIES != *6* ]] || something_at "in the end what is granted arrives, over IPv6" d1 "^$A6\$"
}
# How many of this many pings by the operator, through the management port, are answered.
answered() { # 4 or 6, count
	local to=10.250.0.1
	[[ $1 -eq 4 ]] || to=fd00:250::1
	in_ns mgmt ping "-$1" -q -c "$2" -i 0.1 -W 10 $to | sed -n 's/.* \([0-9]*\) received.*/\1/p'
}
entries() { ip_in dpu "-$1" neigh show nud all dev hpf0 | wc -l; } # 4 or 6: of the host's port
forget() { # namespace device: every neighbour there has to be learnt again
	ip_in "$1" neigh flush dev "$2"
	ip_in "$1" -6 neigh flush dev "$2"
}
ctl() { in_dpu "$CTL" "$@"; }
