# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034 # variables are for who sources this
#
# What every theft has in common: a lab, a policy, and judges that know nothing of bwlimit:
# counters at every place a frame could arrive, and sockets in the DPU that nobody may reach.
#
#   attacks N "what the promise says"      which promise (design, section 3)
#   thief_lab                              the lab, attached, with the policy below
#   judges_on / judges_off                 count in between; judges_off fills $T (seconds)
#   arrived PLACE [DST [SRC]]              bytes there, from anyone but its neighbours (regexes)
#   steal OPTIONS… <<< frames              from the host's own port (tests/harness/frame.h)

THIEF_HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=${LAB:-bwl-thief-$$} LAB_DESTS=${LAB_DESTS:-4}
# shellcheck source=../harness/tap.sh
. "$THIEF_HERE/tap.sh"
# shellcheck source=../harness/lab.sh
. "$THIEF_HERE/lab.sh"

A4=10.101.0.9 A6=fd00:101::9	# alpha, at d1: 1 Mbit/s, burst 150 kb
B4=10.102.0.9 B6=fd00:102::9	# beta, at d2: 2 Mbit/s, in zone ext with gamma
C4=10.103.0.9 C6=fd00:103::9	# gamma, at d3: 2 Mbit/s
X4=10.104.0.9 X6=fd00:104::9	# a stranger, at d4: no peer has it
RATE=1000000 BURST=153600	# alpha's, in bit/s and bytes

attacks() { note "attacks promise $1: $2"; }

thief_peers() {
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
	lab_up && lab_attach && thief_peers | lab_policy_head | lab_apply || exit 1
	GATEWAY=$(lab_mac dpu hpf0)
	if [[ -n ${THIEF_OPEN:-} ]]; then
		# No enforcement at all: each test must fail, or its judges are blind.
		in_dpu "$LOAD" detach --open >/dev/null 2>&1
		lab_sysctl dpu net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
		ip_in dpu route add default via $LAB_VIA4
		ip_in dpu -6 route add default via $LAB_VIA6
	fi
	# The DPU's and the router's neighbours are known before anything is counted.
	in_host "$FRAMES" send h0 --gw "$GATEWAY" >/dev/null <<-END
	eth ip4 src=$HOST4 dst=$A4 udp fill=20
	eth ip6 src=$HOST6 dst=$A6 udp fill=20
	eth ip4 src=$HOST4 dst=$B4 udp fill=20
	eth ip6 src=$HOST6 dst=$C6 udp fill=20
	END
	sleep 0.5
}

# Where a stolen byte could show up: namespace and device. "wire" is the far end of the uplink.
thief_places() {
	local i
	echo "wire net s0"
	for ((i = 1; i <= LAB_DESTS; i++)); do echo "d$i d$i eth0"; done
	for ((i = 1; i < LAB_UPLINKS; i++)); do echo "wire$i net s$i"; done
	for ((i = 1; i < LAB_HOSTS; i++)); do echo "host$i host$i h0"; done
	[[ $LAB_MGMT -eq 0 ]] || echo "mgmt mgmt eth0"
}

now_us() { echo $((${EPOCHREALTIME/[.,]/})); }

judges_on() {
	local place ns dev
	JUDGES=()
	while read -r place ns dev; do
		lab_bg "at-$place" "$ns" "$FRAMES" count "$dev"
		JUDGES+=("$LAB_PID")
		lab_wait_for 5 grep -q ready "$LAB_TMP/at-$place" || nok "counter at $place is ready"
	done < <(thief_places)
	lab_bg dpu-sockets dpu "$FRAMES" listen 9 53 67 179 546 547 5353 5355
	JUDGES+=("$LAB_PID")
	lab_wait_for 5 grep -q ready "$LAB_TMP/dpu-sockets" || nok "sockets in the DPU are ready"
	own_addresses >"$LAB_TMP/own"
	JUDGED_FROM=$(now_us)
}
judges_off() {
	local pid
	sleep 0.2 # what is on its way arrives
	T=$(awk -v a="$JUDGED_FROM" -v b="$(now_us)" 'BEGIN { printf "%.4f", (b - a) / 1e6 }')
	for pid in "${JUDGES[@]}"; do lab_stop "$pid"; done
}

# Addresses and MACs of the DPU, the router and the destinations: their neighbour discovery and
# ICMP are not loot.
own_addresses() {
	local ns
	for ns in "${LAB_NETNS[@]}"; do
		[[ $ns == *-host* ]] && continue
		ip -n "$ns" -o link | sed -n 's/.*link\/ether \([0-9a-f:]*\).*/\1/p'
		ip -n "$ns" -o addr | awk '{ sub("/.*", "", $4); print $4 }'
	done
}
arrived() { # place [dst [src]]
	awk -v dst="${2:-.}" -v src="${3:-.}" '
		NR == FNR { own[$1] = 1; next }
		/^#/ || /^total/ { next }
		($1 == "0806" || $1 == "0800" || $1 == "86dd") && $3 in own { next }
		$1 == "86dd" && $3 == "::" && $2 ~ /^ff02::/ { next }
		$2 ~ dst && $3 ~ src { n += $5 }
		END { printf "%.0f\n", n }' "$LAB_TMP/own" "$LAB_TMP/at-$1"
}
seen() { grep -v '^#' "$LAB_TMP/at-$1" | sed 's/^/#   /'; }

steal() {
	in_host "$FRAMES" send h0 --gw "$GATEWAY" "$@" >"$LAB_TMP/sent" || nok "the thief can send"
}
# In the background: SECONDS at PPS; steal_end waits for it.
steal_on() { # seconds pps <<< frames
	cat >"$LAB_TMP/frames"
	nsenter --net="/run/netns/$LAB-host" "$FRAMES" send h0 --gw "$GATEWAY" --seconds "$1" \
		--pps "$2" <"$LAB_TMP/frames" >"$LAB_TMP/sent" &
	THIEF=$!
}
steal_end() { wait "$THIEF" || nok "the thief can send"; }
sent_bytes() { awk '{ print $4 }' "$LAB_TMP/sent"; }

nothing_at() { # sentence, place [dst [src]]
	local n
	n=$(arrived "${@:2}")
	[[ $n -eq 0 ]] || { note "$n bytes at $2:"; seen "$2"; }
	check "$1" [ "$n" -eq 0 ]
}
something_at() { # sentence, place [dst [src]]: the theft was possible to see at all
	check "$1" [ "$(arrived "${@:2}")" -gt 0 ]
}
# At most RATE x T + BURST bytes, and, when saturated, most of it.
within() { # sentence bytes rate burst
	local bound
	bound=$(awk -v r="$3" -v t="$T" -v b="$4" 'BEGIN { printf "%.0f", r * t / 8 + b }')
	note "$2 bytes in $T s; at most $bound may arrive"
	check "$1" [ "$2" -le "$bound" ]
}
sockets_heard() { sed -n 's/^udp/udp/p' "$LAB_TMP/dpu-sockets"; }
no_socket_heard() { # sentence
	[[ $(sockets_heard) == 'udp 0 tcp 0 icmp 0 icmp6 0' ]] || note "heard: $(sockets_heard)"
	check "$1" [ "$(sockets_heard)" = 'udp 0 tcp 0 icmp 0 icmp6 0' ]
}
ctl() { in_dpu "$CTL" "$@"; }
