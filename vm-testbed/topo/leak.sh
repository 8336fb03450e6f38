# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# The leak watch: tcpdump at the far end of each uplink (the switch's port) keeps every frame that is not ESP or IKE between
# the underlay's addresses, ARP or ND, from when bwlimit is attached to the end of the test; resets, messages of the kernel and
# frames with a VLAN tag are such frames, too. trays.sh sources this, and tray_attach begins to watch.
#
#   leak_watch N [port…]   once, before tray N is attached by other means than tray_attach; ports of the switch (sN)
#   leak_since N           from now on nothing may leave: it is attached
#   leak_pause N           before it is detached or taken over, or its cable is moved; tray_attach watches again
#   leak_end               the last case: nothing left, of any tray, and each watch saw its control
#
# Its control: before bwlimit is attached the device at the other end of each port sends frames of leak_control, and the
# watch of this port must have kept each of them. A script without a watch says why in its head: `# leak: WHY` (unit.testbed).

# shellcheck source=capture.sh
. "${BASH_SOURCE[0]%/*}/capture.sh"

LEAK_NET='((src net 192.0.2.0/24 and dst net 192.0.2.0/24) or (src net 2001:db8::/32 and dst net 2001:db8::/32))'
LEAK_NAMED='' # what else may leave, if a test names it: a filter
LEAK_MAC=02:00:00:00:6c:6b # of nobody
declare -A LEAK_SENDER=() # by port: namespace and device that send the control, if they are not dpuN and p0
declare -A LEAK_RUNS=() # by tray: the name of the watch that runs
declare -A LEAK_SINCE=() # by name: when it began to count
declare -A LEAK_PORTS=() # by name: its ports

# Resets over both families, a datagram from a host to a stranger's port 500, a tag before an ARP request.
leak_control() { # tray
	cat <<-END
	eth ip4 src=192.0.2.$1 dst=192.0.2.254 tcp flags=4 sport=443 dport=40000
	eth ip6 src=2001:db8::$1 dst=2001:db8::fe tcp flags=4 sport=443 dport=40000
	eth ip4 src=10.0.$1.2 dst=192.0.2.254 udp sport=500 dport=500 fill=20
	eth vlan id=7 arp op=1 sip=192.0.2.$1 tip=192.0.2.254
	END
}
LEAK_CONTROLS=4
leak_filter() { # libpcap reads what follows `vlan` behind a tag; its `and` binds no closer than its `or`
	echo "not (arp or $CAPTURE_ND or ($LEAK_NET and (ip proto 50 or ip6 proto 50 or udp port 500 or udp port 4500))" \
		"${LEAK_NAMED:+or ($LEAK_NAMED)}) or vlan"
}
leak_saw_control() { # name port
	[[ $(capture_count "$1" "ether dst $LEAK_MAC" "$2") -eq $LEAK_CONTROLS ]]
}
leak_watch() { # tray [port…]
	local n=$1 name=leak-$1-${#LEAK_PORTS[@]} port from dev
	shift
	[[ ! -v LEAK_RUNS[$n] ]] || return 0
	[[ $# -gt 0 ]] || set -- "s$n"
	CAPTURE_FILTER=$(leak_filter) capture_start "$name" "$@" || return
	LEAK_RUNS[$n]=$name LEAK_PORTS[$name]=$*
	for port in "$@"; do
		read -r from dev <<<"${LEAK_SENDER[$port]:-dpu$n p0}"
		in_ns "$from" "$FRAMES" send "$dev" --gw $LEAK_MAC < <(leak_control "$n") >/dev/null
		lab_wait_for 30 leak_saw_control "$name" "$port" ||
			{ echo "# the leak watch of tray $n is blind at $port"; return 1; }
	done
}
leak_since() { # tray
	local name=${LEAK_RUNS[$1]:-}
	[[ -z $name || -v LEAK_SINCE[$name] ]] || LEAK_SINCE[$name]=$EPOCHREALTIME
}
leak_pause() { # tray
	capture_stop "${LEAK_RUNS[$1]}" || nok "the leak watch of tray $1 is whole"
	unset "LEAK_RUNS[$1]"
}
leak_none() {
	local n name port leaks rc=0
	for n in "${!LEAK_RUNS[@]}"; do leak_pause "$n"; done
	[[ ${#LEAK_PORTS[@]} -gt 0 ]] || { echo "# nothing was watched"; return 1; }
	for name in "${!LEAK_PORTS[@]}"; do
		for port in ${LEAK_PORTS[$name]}; do
			leak_saw_control "$name" "$port" || { echo "# $name did not see its control at $port"; rc=1; }
		done
		leaks=$(CAPTURE_TIMES=-tt capture_list "$name" "not ether dst $LEAK_MAC" |
			awk -v since="${LEAK_SINCE[$name]:-0}" '$1 >= since' | head -n 20)
		[[ -z $leaks ]] || { printf '%s\n' "# $name: left the tray: ${leaks//$'\n'/$'\n'# }"; rc=1; }
	done
	return $rc
}
leak_end() { check "from when bwlimit was attached nothing left the trays but ESP, IKE, ARP and ND" leak_none; }
