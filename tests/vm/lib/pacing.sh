# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# TCP from host to host through two limiters and ESP, as 93_pacing and 97_dctcp measure it. ESP has a
# null cipher, because software AES is not measured. Source this after trays.sh and manual_sa.sh.
# The hosts' cables delay (netem): on a DPU a host's socket learns that a packet was sent when the DPU
# has received it, not when it left the uplink; netem makes the kernel forget the socket likewise. Without
# it TCP would be held back by its own packets in fq, and nothing would ever be refused.

pacing_policy() { # own number, other number, rate, mode, burst
	cat <<-END
	version: 1
	node: tray-$1
	uplinks: [p0]
	host_ports: [{ dev: pf0hpf, sources: [10.0.$1.0/24] }]
	heartbeat: none
	peers:
	  - name: tray-$2
	    addresses: [10.0.$2.0/24]
	    ipsec: { remote: 192.0.2.$2 }
	    grant: { rate: ${3}mbit, ${5:+burst: $5,} mode: $4 }
	    accept: { rate: 1gbit }
	END
}
pacing_sas() { # if_id at tray 1, at tray 2
	local n id from
	for n in 1 2; do
		id=$1
		[[ $n -eq 1 ]] || id=$2
		in_ns dpu$n ip xfrm state flush
		in_ns dpu$n ip xfrm policy flush
		for from in 1 2; do
			echo "xfrm state add src 192.0.2.$from dst 192.0.2.$((3 - from)) proto esp spi $((0x1000 + from))" \
				"reqid $id mode tunnel if_id $id enc ecb(cipher_null) \"\" auth digest_null \"\""
			echo "xfrm policy add dir $([[ $from -eq $n ]] && echo out || echo in) src 0.0.0.0/0 dst 0.0.0.0/0" \
				"if_id $id tmpl src 192.0.2.$from dst 192.0.2.$((3 - from)) proto esp reqid $id mode tunnel"
			[[ $from -eq $n ]] || echo "xfrm policy add dir fwd src 0.0.0.0/0 dst 0.0.0.0/0" \
				"if_id $id tmpl src 192.0.2.$from dst 192.0.2.$n proto esp reqid $id mode tunnel"
		done | in_ns dpu$n ip -batch - || return
	done
}
pacing_limits() { # rate mode [burst]: both trays
	local n id=()
	for n in 1 2; do
		tray_apply $n < <(pacing_policy $n $((3 - n)) "$@") || return
		id[n]=$(sa_if_id $n "tray-$((3 - n))")
		sa_usable $n "${id[n]}" 3
	done
	pacing_sas "${id[1]}" "${id[2]}"
}
pacing_cables() { # delay one way, e.g. 100us
	local n
	for n in 1 2; do tc -n "$LAB-host$n" qdisc replace dev h0 root netem delay "$1" limit 20000 || return; done
}
pacing_up() { # delay options-of-attach…
	local n
	trays_up 2 || return
	modprobe -a crypto_null authenc sch_netem 2>/dev/null
	for n in 1 2; do
		check "tray $n attaches" tray_attach $n --tunnel bwl0 "${@:2}"
	done
	check "the hosts' cables delay by $1" pacing_cables "$1"
	check "a limit that is out of the way" pacing_limits 1000 police
	ip_in dpu1 link set bwl0 mtu 8000
	ip_in dpu2 link set bwl0 mtu 8000
	in_ns host1 ping -q -c 10 -i 0.2 10.0.2.2 | sed -n 's/^rtt/# rtt/p'
}
pacing_frames() { # reason…: of tray 1's host port
	tray_ctl 1 --json reasons | jq --args '[.reasons[] | select(.port == "pf0hpf" and (.reason | IN($ARGS.positional[]))) | .frames] | add // 0' "$@"
}
pacing_counter() { # name in /proc/net/snmp or netstat: host 1's
	in_ns host1 awk -v want="$1" '{ for (i = 2; i <= NF; i++) if (NR % 2) name[i] = $i; else if (name[i] == want) { print $i; exit } }' \
		/proc/net/snmp /proc/net/netstat
}
# Sets share (of `rate`, in L2 bytes, in the last 6 s), and for all 8 s: retrans (segments) and probes (how many of
# these were tail loss probes, which TCP sends when an answer takes longer than before).
pacing_tcp() { # label flows options-of-iperf3…
	local retrans0 probes0 server
	lab_bg server host2 iperf3 -s -1
	server=$LAB_PID
	lab_wait_for 20 in_ns host2 sh -c "ss -Hltn 'sport = :5201' | grep -q ."
	retrans0=$(pacing_counter RetransSegs) probes0=$(pacing_counter TCPLossProbes)
	if ! in_ns host1 timeout 120 iperf3 -c 10.0.2.2 -P "$2" -O 2 -t 6 -J "${@:3}" >"$LAB_TMP/tcp"; then
		jq -r .error "$LAB_TMP/tcp" | sed 's/^/# /'
		lab_stop "$server"
		return 1
	fi
	wait "$server"
	share=$(jq ".end.sum_received.bits_per_second * 1514 / 1448 / $rate / 1e4 | round / 100" "$LAB_TMP/tcp")
	retrans=$(($(pacing_counter RetransSegs) - retrans0)) probes=$(($(pacing_counter TCPLossProbes) - probes0))
	note "$1, $2 flow(s), $rate Mbit/s: $share of the limit, $retrans retransmissions ($probes tail loss probes)"
}
# The same, and also what the limiter did: refused, marked, seen (packets as the hook sees them).
pacing_limited() { # as pacing_tcp
	local refused0 marked0 seen0 rc
	refused0=$(pacing_frames peer-rate) marked0=$(pacing_frames pass-marked)
	seen0=$(pacing_frames pass pass-marked peer-rate)
	pacing_tcp "$@"
	rc=$?
	refused=$(($(pacing_frames peer-rate) - refused0)) marked=$(($(pacing_frames pass-marked) - marked0))
	seen=$(($(pacing_frames pass pass-marked peer-rate) - seen0))
	note "  $refused refused and $marked marked of $seen packets as the hook sees them"
	return $rc
}
pacing_hosts() { # net.ipv4.tcp_…=value…: set in both
	local n
	for n in 1 2; do lab_sysctl host$n "$@" || return; done
}
at_least() { jq -en "$1 >= $2" >/dev/null; }
