#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The tunnel device's data path with SAs made by hand: two trays, one cable.
# vm-timeout: 240
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-tun-$$
# shellcheck source=../harness/tap.sh
. "$BWL_SOURCE/tests/harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$BWL_SOURCE/tests/harness/lab.sh"
MARKER=bwlimit-marker-7c1f

tray() { # letter number
	lab_ns "host$1"
	lab_ns "dpu$1"
	lab_sysctl "dpu$1" net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=0
	lab_veth "host$1" h0 "dpu$1" hpf0
	lab_addr "host$1" h0 "10.0.$2.2/24" "fd00:$2::2/64"
	lab_addr "dpu$1" hpf0 "10.0.$2.1/24" "fd00:$2::1/64"
	ip_in "host$1" route add default via "10.0.$2.1"
	ip_in "host$1" -6 route add default via "fd00:$2::1"
}
pins() { echo "/sys/fs/bpf/$LAB-$1"; }
load() { # letter words…
	local t=$1
	shift
	in_ns "dpu$t" env BWLIMIT_PIN_DIR="$(pins "$t")" "$LOAD" "$@"
}
ctl() { # letter words…
	local t=$1
	shift
	in_ns "dpu$t" env BWLIMIT_PIN_DIR="$(pins "$t")" "$CTL" "$@"
}
policy() { # letter number other-letter other-number
	cat <<-END
	version: 1
	node: tray-$1
	uplinks: [p0]
	host_ports:
	  - { dev: hpf0, sources: [10.0.$2.0/24, "fd00:$2::/64"] }
	heartbeat: none
	peers:
	  - name: tray-$3
	    addresses: [10.0.$4.0/24, "fd00:$4::/64"]
	    ipsec: { remote: 192.0.2.$4 }
	    grant: { rate: 20mbit, mode: police }
	END
}
sa() { # dpu from to spi id
	in_ns "$1" ip xfrm state add src "192.0.2.$2" dst "192.0.2.$3" proto esp spi "$4" reqid "$5" \
		mode tunnel if_id "$5" replay-window 64 \
		aead 'rfc4106(gcm(aes))' "0x$(printf '%072d' "$4")" 128
}
sp() { # dpu dir from to id
	local f
	for f in 0.0.0.0/0 ::/0; do
		in_ns "$1" ip xfrm policy add dir "$2" src "$f" dst "$f" if_id "$5" \
			tmpl src "192.0.2.$3" dst "192.0.2.$4" proto esp reqid "$5" mode tunnel
	done
}
peer_id() { # letter name
	ctl "$1" peer show "$2" --json | jq .tunnel.if_id
}
usable() { # letter id
	bpftool map update pinned "$(pins "$1")/maps/bwl_tunnel_v1" \
		key hex "$(printf '%02x' "$2")" 00 00 00 value hex 03 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00
}
lab_begin
tray A 1
tray B 2
lab_veth dpuA p0 dpuB p0
lab_addr dpuA p0 192.0.2.1/24
lab_addr dpuB p0 192.0.2.2/24
policy A 1 B 2 >"$LAB_TMP/A.yaml"
policy B 2 A 1 >"$LAB_TMP/B.yaml"
for t in A B; do
	check "bwlimit attaches on tray $t with a tunnel device" \
		load $t attach --policy "$LAB_TMP/$t.yaml" --fresh-volume --drill
	ctl $t peer list
done
idA=$(peer_id A tray-B) idB=$(peer_id B tray-A)
note "ids $idA $idB"
for d in "A 1 2 $idA 1 2" "B 1 2 $idB 1 2" "A 2 1 $idA 2 1" "B 2 1 $idB 2 1"; do
	# shellcheck disable=SC2086
	set -- $d
	sa "dpu$1" "$2" "$3" "10$2" "$4"
done
sp dpuA out 1 2 "$idA"; sp dpuA in 2 1 "$idA"
sp dpuB out 2 1 "$idB"; sp dpuB in 1 2 "$idB"
in_ns dpuB tcpdump -i p0 -w "$LAB_TMP/wire.pcap" -s 0 2>/dev/null &
usable A "$idA"; usable B "$idB"
in_ns hostA ping -c 3 -W 2 10.0.2.2 | sed 's/^/# /'
in_ns hostA ping -c 3 -W 2 fd00:2::2 | sed 's/^/# /'
for t in A B; do ctl $t reasons | sed 's/^/# /'; in_ns dpu$t cat /proc/net/xfrm_stat | grep -v '	0$' | sed 's/^/# /'; ip_in dpu$t -s link show bwl0 | sed 's/^/# /'; done
in_ns dpuA ip rule | sed 's/^/# /'
in_ns dpuA ip route show table 6453100 | sed 's/^/# /'
sleep 1
kill %1
tcpdump -n -r "$LAB_TMP/wire.pcap" 2>/dev/null | head -20 | sed 's/^/# /'
done_testing
