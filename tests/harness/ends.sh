# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Two DPUs, west and east, each with its own maps, recorder and audit log, and what they show about each other
# afterwards. Source it after tap.sh and lab.sh. The script provides functions west and east, which run a command in
# that DPU, with its pins, and both policies, $LAB_TMP/west.yaml and east.yaml. ENDS_EVERY is the length of an interval.

ENDS_EVERY=${ENDS_EVERY:-1s}

declare -A ENDS_AGENT=()
ends_dpu() { # side command…: with its own state and log
	local side=$1
	shift
	BWLIMIT_STATE_DIR=$LAB_TMP/$side BWLIMIT_AUDIT_DIR=$LAB_TMP/$side.audit "$side" "$@"
}
ends_up() { # options of attach…
	local side
	for side in west east; do
		"$CTL" audit init --dir "$LAB_TMP/$side.audit" --origin "bwlimit/$side" >"$LAB_TMP/$side.pub"
		ends_dpu $side "$LOAD" attach --drill --fresh-volume --record on "$@" >"$LAB_TMP/attach" 2>&1 ||
			{ sed 's/^/# /' "$LAB_TMP/attach"; return 1; }
		ends_dpu $side "$AGENT" --policy "$LAB_TMP/$side.yaml" --state-dir "$LAB_TMP/$side" --tpm none --flows-every "$ENDS_EVERY" \
			--history-size 0b --json >"$LAB_TMP/$side.log" 2>&1 &
		LAB_PIDS+=($!)
		ENDS_AGENT[$side]=$!
	done
	check "west enters its intervals" lab_wait_for 60 ends_enters west
	check "and so does east" lab_wait_for 60 ends_enters east
}
ends_intervals() { # side: their sequence numbers
	"$CTL" audit show --dir "$LAB_TMP/$1.audit" --json | jq -r 'select(.event == "interval") | .data.sequence' |
		sort | sed 's/^0*//'
}
ends_enters() { [[ $(ends_intervals "$1" | wc -l) -ge ${2:-1} ]]; } # side how-many
# No TCP socket has something to send: a kernel sends what a closed one still had, and again what was refused, so that one
# agent's last interval would lack what is in the other's.
ends_tcp_idle() {
	local ns
	for ns in "${LAB_NETNS[@]}"; do
		[[ -z $(ip netns exec "$ns" ss -Htn state connected exclude time-wait | awk '$3 > 0') ]] || return 1
	done
}
ends_stop() { # when all packets have arrived: ends both agents, which enter their last interval
	local side
	check "the kernels have sent what was given to them" lab_wait_for 120 ends_tcp_idle
	"$FRAMES" settle
	for side in west east; do
		kill -TERM "$(pgrep -P "${ENDS_AGENT[$side]}")" # a function in the background is a shell: the agent is its child
		wait "${ENDS_AGENT[$side]}"
	done
}
ends_open() { # side peer [first interval]: all intervals from there on
	local all
	rm -f "$LAB_TMP/$1.json"
	mapfile -t all < <(ends_intervals "$1")
	"$CTL" evidence open --state-dir "$LAB_TMP/$1" --dir "$LAB_TMP/$1.audit" --interval "${3:-${all[0]}}" \
		--to "${all[-1]}" --peer "$2" --write "$LAB_TMP/$1.json" >/dev/null
}
ends_reconcile() { # sender receiver jq-program options…
	"$CTL" evidence reconcile --sender-key "$LAB_TMP/$1.pub" --receiver-key "$LAB_TMP/$2.pub" --json "${@:4}" \
		"$LAB_TMP/$1.json" "$LAB_TMP/$2.json" >"$LAB_TMP/said"
	jq -c "$3" "$LAB_TMP/said"
}
ends_blast() { # namespace address port frames: UDP of 1000 bytes
	in_ns "$1" python3 -c 'import socket, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(int(sys.argv[3])): s.sendto(bytes(1000), (sys.argv[1], int(sys.argv[2])))' "${@:2}"
}
ends_counted() { # side peer: the data plane's own counters of it
	"$1" "$CTL" stats "$2" --json | jq -c '.peers[0] | [.passed_bytes, .dropped_bytes]'
}
# What each side opened is all that its counters have, in both directions.
ends_checks_counters() { # east-as-west-names-it west-as-east-names-it
	local sent arrived refused back
	ends_reconcile west east . >/dev/null
	read -r sent arrived refused < <(jq -r '"\(.sent_bytes) \(.arrived_bytes) \(.refused_on_arrival_bytes)"' "$LAB_TMP/said")
	back=$(ends_reconcile east west .sent_bytes)
	check "what west opened is all that its counter has" test "$(ends_counted west "$1")" == "[$((sent + back)),0]"
	check "and what east opened is all that its one has" test "$(ends_counted east "$2")" == "[$((arrived + back)),$refused]"
}
