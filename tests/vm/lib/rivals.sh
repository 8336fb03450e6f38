# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Other limiters on DPU 1, for comparison: the kernel forwards from the host port into an xfrm
# interface (if_id 7), and one of these is at the host port. Source this after trays.sh.

OVS=/run/$LAB-ovs

# Makes an xfrm interface and its route, and lets the kernel forward; the caller makes the SAs.
forward_up() { # dpu destination/len
	lab_sysctl "$1" net.ipv4.ip_forward=1
	ip_in "$1" link add x0 mtu 8000 type xfrm dev p0 if_id 7
	ip_in "$1" link set x0 up
	ip_in "$1" route replace "$2" dev x0
}
forward_down() { # dpu
	ip_in "$1" link del x0
	lab_sysctl "$1" net.ipv4.ip_forward=0
}

rate_words() { echo "rate ${1}mbit burst $2 conform-exceed drop/pipe"; }
# Arguments of each: Mbit/s, burst in bytes, number of limits in a row (1: a destination's; 4: also zone, port and node).
police_up() {
	local i actions=''
	for ((i = 1; i <= $3; i++)); do actions+=" action police $(rate_words "$1" "$2")"; done
	tc -n "$LAB-dpu1" qdisc add dev pf0hpf clsact
	# shellcheck disable=SC2086 # words
	tc -n "$LAB-dpu1" filter add dev pf0hpf ingress protocol ip flower \
		src_ip 10.0.1.0/24 dst_ip 10.0.2.0/24 $actions action pass
}
police_down() { tc -n "$LAB-dpu1" qdisc del dev pf0hpf clsact; }

nft_up() {
	local i over="limit rate over $(($1 * 125)) kbytes/second burst $2 bytes" rules=''
	for ((i = 2; i <= $3; i++)); do rules+="$over drop;"; done
	in_ns dpu1 nft -f - <<-END
	table netdev rival {
		set peers { type ipv4_addr; size 1024; flags dynamic; }
		chain limits {
			type filter hook ingress device pf0hpf priority 0; policy accept;
			ip saddr != 10.0.1.0/24 drop;
			add @peers { ip daddr $over } drop;
			$rules
		}
	}
	END
}
nft_down() { in_ns dpu1 nft delete table netdev rival; }

# Open vSwitch between the host port and the DPU's own stack; 0 limits: only its flow.
# By the clock of instructions, minutes pass while a process waits for a disk: hence a timeout of an hour.
ovs_up() {
	local i kbit=$(($2 * 8 / 1000)) match
	modprobe openvswitch 2>/dev/null
	mkdir -p "$OVS" /var/log/openvswitch /etc/openvswitch /run/openvswitch
	export OVS_RUNDIR=$OVS OVS_DBDIR=$OVS OVS_LOGDIR=$OVS
	rm -f "$OVS/conf.db"
	ovsdb-tool create "$OVS/conf.db" /usr/share/openvswitch/vswitch.ovsschema &&
		ovsdb-server "$OVS/conf.db" --remote="punix:$OVS/db.sock" --detach --pidfile --log-file 2>/dev/null &&
		ovs-vsctl --db="unix:$OVS/db.sock" --no-wait init &&
		in_ns dpu1 /usr/lib/openvswitch-switch/ovs-vswitchd "unix:$OVS/db.sock" --detach --pidfile --log-file 2>/dev/null || return
	ovs-vsctl --db="unix:$OVS/db.sock" --timeout=3600 add-br br0 -- \
		set bridge br0 protocols=OpenFlow13,OpenFlow15 "other-config:hwaddr=\"$(tray_mac 1 2)\"" -- \
		add-port br0 pf0hpf || return
	# A flow may name only one meter: so each has a table, and the last one sends. In the kernel it is one flow again.
	match="priority=100,ip,in_port=pf0hpf,nw_src=10.0.1.0/24,nw_dst=10.0.2.0/24"
	for ((i = 1; i <= $3; i++)); do
		ovs-ofctl -O OpenFlow15 add-meter "$OVS/br0.mgmt" \
			"meter=$i,kbps,burst,band=type=drop,rate=$(($1 * 1000)),burst_size=$kbit" &&
			ovs-ofctl -O OpenFlow15 add-flow "$OVS/br0.mgmt" \
				"table=$((i - 1)),$match,actions=meter:$i,goto_table:$i" || return
	done
	ovs-ofctl -O OpenFlow15 add-flow "$OVS/br0.mgmt" "table=$3,$match,actions=LOCAL" || return
	ip_in dpu1 link set br0 up
	ip_in dpu1 addr del 10.0.1.1/24 dev pf0hpf
	ip_in dpu1 addr add 10.0.1.1/24 dev br0
}
ovs_down() {
	ovs-vsctl --db="unix:$OVS/db.sock" --timeout=3600 del-br br0
	for pid in "$OVS"/ovs-vswitchd.pid "$OVS"/ovsdb-server.pid; do
		kill "$(<"$pid")"
		lab_wait_for 20 test ! -e "$pid"
	done
	ip_in dpu1 addr add 10.0.1.1/24 dev pf0hpf
}
