# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# SAs and policies by hand (iproute2), to look at the data path without charon. Source it after
# trays.sh, and call it when bwlimit has its policy: the if_ids are the peers' ids. On a kernel
# without the kfuncs for that the marks are the peers' ids, and all have the same if_id (maps/tunnel.h).

SA_NET=${SA_NET:-192.0.2.} # the trays' underlay, or 2001:db8::
SA_PLAIN_IF_ID=$((0x62776c00))
SA_MARK_MASK=0x3fffff
sa_by_mark() { # tray: is its tunnel device a plain one
	in_ns "dpu$1" ip -d -j link show bwl0 2>/dev/null | jq -e '.[0].linkinfo.info_data.external | not' >/dev/null
}

# The policy of a tray whose peer tray-N is the other tray; then further keys of that peer.
sa_tray_policy() { # tray "grant: {…}, …"
	local other=$((3 - $1))
	cat <<-END
	version: 1
	node: tray-$1
	uplinks: [p0]
	host_ports: [{ dev: pf0hpf, sources: [10.0.$1.0/24, "fd00:$1::/64"] }]
	heartbeat: none
	peers:
	  - { name: tray-$other, addresses: [10.0.$other.0/24, "fd00:$other::/64"], ipsec: { remote: "$SA_NET$other" }, $2 }
	END
}
sa_if_id() { # tray peer
	tray_ctl "$1" --json peer show "$2" | jq .tunnel.if_id
}
# Writes what the tracker of SAs would write: 1 outbound, 2 inbound, 3 both.
sa_usable() { # tray if_id flags
	# shellcheck disable=SC2046 # split into bytes
	bpftool map update pinned "$LAB_PINS/tray$1/maps/bwl_tunnel_v1" \
		key hex "$(printf '%02x' "$2")" 00 00 00 \
		value hex "0$3" $(printf '00 %.0s' {1..31})
}
sa_one() { # in-dpu from to if_id: the SA of one direction, SPI 0x1000 + its sender
	local if_id=$4 mark=()
	if sa_by_mark "$1"; then
		if_id=$SA_PLAIN_IF_ID
		mark=(mark "$4" mask $SA_MARK_MASK)
		[[ $1 == "$2" ]] || mark=(output-mark "$4" mask $SA_MARK_MASK)
	fi
	in_ns "dpu$1" ip xfrm state add src "$SA_NET$2" dst "$SA_NET$3" proto esp \
		spi $((0x1000 + $2)) "${mark[@]}" reqid "$4" mode tunnel if_id "$if_id" replay-window 64 flag af-unspec \
		aead 'rfc4106(gcm(aes))' "0x$(printf '%072d' "$2$3")" 128
}
sa_policy() { # dpu in|out from to if_id
	local any if_id=$5 mark=()
	if sa_by_mark "$1"; then
		if_id=$SA_PLAIN_IF_ID
		mark=(mark "$5" mask $SA_MARK_MASK)
	fi
	for any in 0.0.0.0/0 ::/0; do
		in_ns "dpu$1" ip xfrm policy add dir "$2" src $any dst $any "${mark[@]}" if_id "$if_id" \
			tmpl src "$SA_NET$3" dst "$SA_NET$4" proto esp reqid "$5" mode tunnel
	done
}
sa_pair() { # tray tray, each with the other as its peer tray-N
	sa_pair_ids "$1" "$2" "$(sa_if_id "$1" "tray-$2")" "$(sa_if_id "$2" "tray-$1")"
}
sa_pair_ids() { # tray tray if_id-at-the-first if_id-at-the-second
	sa_half "$1" "$2" "$3" && sa_half "$2" "$1" "$4"
}
sa_half() { # tray other if_id
	sa_one "$1" "$1" "$2" "$3" && sa_one "$1" "$2" "$1" "$3" &&
		sa_policy "$1" out "$1" "$2" "$3" && sa_policy "$1" in "$2" "$1" "$3"
}
