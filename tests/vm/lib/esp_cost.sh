# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# One DPU whose uplink is a device that does nothing, so that only the path from the
# host port to ESP is counted, and no network; or, with `esp_up wire`, the uplink ends in namespace wire as w0. Null
# cipher and digest: software AES would hide everything else.
# Source this after tap.sh and trays.sh.
#
#   host1 ── h0   pf0hpf ── dpu1 ── bwl0 ── ESP ── p0 (dummy)

ESP=$LAB_BUILD/bench/bench-esp
ESP_PINS=$LAB_PINS/plain

esp_up() { # [wire]
	trap lab_down EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	lab_require || return
	LAB_TMP=$(mktemp -d)
	modprobe -a dummy xfrm_interface esp4 crypto_null authenc 2>/dev/null
	lab_ns dpu1 && lab_ns host1 || return
	lab_sysctl dpu1 net.ipv4.ip_forward=0
	lab_sysctl host1 net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
	lab_veth host1 h0 dpu1 pf0hpf || return
	tray_set_mac host1 h0 1 1
	tray_set_mac dpu1 pf0hpf 1 2
	lab_addr dpu1 pf0hpf 10.0.1.1/24
	lab_addr host1 h0 10.0.1.2/24
	ip_in host1 neigh add 10.0.1.1 lladdr "$(tray_mac 1 2)" dev h0 nud permanent
	ip_in host1 route add default via 10.0.1.1
	if [[ ${1-} == wire ]]; then
		lab_ns wire && LAB_MTU=9000 lab_veth dpu1 p0 wire w0 || return
		lab_addr dpu1 p0 192.0.2.1/24
		ip_in dpu1 route add 198.18.0.0/16 via 192.0.2.2
		ip_in dpu1 neigh add 192.0.2.2 lladdr "$(lab_mac wire w0)" dev p0 nud permanent
	else
		ip_in dpu1 link add p0 mtu 9000 type dummy
		ip_in dpu1 link set p0 up
		lab_addr dpu1 p0 192.0.2.1/24
	fi
}
# Lines for `ip -batch`: the SA and the policy of one peer.
esp_sa_words() { # if_id remote
	echo "xfrm state add src 192.0.2.1 dst $2 proto esp spi $((0x1000 + $1)) reqid $1 mode tunnel" \
		"if_id $1 enc ecb(cipher_null) \"\" auth digest_null \"\""
	echo "xfrm policy add dir out src 0.0.0.0/0 dst 0.0.0.0/0 if_id $1" \
		"tmpl src 192.0.2.1 dst $2 proto esp reqid $1 mode tunnel"
}
esp_sa() { # if_id
	in_ns dpu1 ip -batch - < <(esp_sa_words "$1" 192.0.2.2)
}
esp_sa_gone() {
	in_ns dpu1 ip xfrm state flush
	in_ns dpu1 ip xfrm policy flush
}
# The same redirect and SA, without the limiter; the caller attaches the bench's programs.
esp_plain_up() {
	ip_in dpu1 link add bwl0 mtu 8000 type xfrm external
	ip_in dpu1 link set bwl0 up
	ip_in dpu1 route add default dev bwl0 table 7777
	in_ns dpu1 ip rule add oif bwl0 lookup 7777
	esp_sa 7
	mkdir -p "$LAB_PINS"
	in_ns dpu1 "$ESP" load "$ESP_PINS" bwl0 7 10.0.2.0/24
}
esp_plain() { # program dev ingress|egress
	in_ns dpu1 "$ESP" attach "$ESP_PINS" "$@"
}
esp_unplain() { # dev ingress|egress
	rm -f "$ESP_PINS/$1-$2"
}
esp_plain_down() {
	ip_in dpu1 link del bwl0
	rm -rf "$ESP_PINS"
	in_ns dpu1 ip rule del oif bwl0 lookup 7777
	esp_sa_gone
}
tx_frames() { ip_in dpu1 -s -j link show "$1" | jq '.[0].stats64.tx.packets'; }
# Sets `cost` to the instructions per frame; fails unless every frame (or none) left as ESP.
esp_run() { # bytes [none]
	local was frames got
	was=$(tx_frames p0)
	in_ns host1 "$ESP" run h0 "$(tray_mac 1 2)" "$1" 10.0.1.2 10.0.2.2 >"$LAB_TMP/run" || return
	read -r frames cost mean < <(jq -r '"\(.frames) \(.median) \(.mean)"' "$LAB_TMP/run")
	got=$(($(tx_frames p0) - was))
	note "  $1 bytes: median $cost, mean $mean; $got of $frames frames left"
	[[ $got -eq $([[ ${2-} ]] && echo 0 || echo "$frames") ]]
}

esp_policy() { # further lines; peer's lines
	cat <<-END
	version: 1
	node: tray-1
	uplinks: [p0]
	host_ports: [{ dev: pf0hpf, sources: [10.0.1.0/24]$1 }]
	heartbeat: 1h
	$2
	peers:
	  - name: tray-2
	    addresses: [10.0.2.0/24]
	    ipsec: { remote: 192.0.2.2 }
	    grant: { rate: 400gbit, mode: police }
	    $3
	END
}
one_limit() { esp_policy '' '' ''; }
four_limits() {
	esp_policy ', limit: { rate: 400gbit }' $'node_limit: { rate: 400gbit }\nzones: { mesh: { rate: 400gbit } }' 'zone: mesh'
}
declare -A drop=() plain=() ours=()
measure() { # array: both sizes
	local -n into=$1
	local size
	for size in 64 1500; do
		esp_run $size "${2-}" || return
		into[$size]=$cost
	done
}
added() { # array size: in per cent of the path without a limiter
	local -n of=$1
	jq -n "(${of[$2]} - ${plain[$2]}) * 1000 / (${plain[$2]} - ${drop[$2]}) | round / 10"
}
# The frames of `measure` with one of the bench's own programs at the host port.
measure_plain() { # program array [none]
	local rc
	[[ -e $ESP_PINS/bwl0-egress ]] || esp_plain plain_out bwl0 egress
	esp_plain "$1" pf0hpf ingress && measure "${@:2}"
	rc=$?
	esp_unplain pf0hpf ingress
	return $rc
}
esp_attach() { # policy further-options
	local id limits=$1
	shift
	tray_attach 1 --tunnel bwl0 "$@" && tray_apply 1 < <("$limits") || return
	ip_in dpu1 link set bwl0 mtu 8000
	id=$(sa_if_id 1 tray-2)
	sa_usable 1 "$id" 1
	esp_sa "$id"
}
