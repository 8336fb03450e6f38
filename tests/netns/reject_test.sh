#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# `default: reject`: real programs of a host learn at once that their packets may not go there; nobody else learns it.
set -uo pipefail
LAB=bwl-reject-$$ LAB_DESTS=2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"

policy() { # word; d1 is a peer, d2 is not
	lab_policy_head < <(
		echo "default: $1"
		echo peers:
		lab_peer one 1 'grant: { rate: 1gbit }'
	) | lab_apply
}
# curl's exit code for a TCP connection, by IPv4 and IPv6. 7: refused; 28: no answer for 3 s. (A refusal has longer: curl
# looks at the time before it looks at the socket.) Over veth the
# answer to a SYN arrives while the socket is still in connect(): IPv6 obeys the one to the second SYN, a second later.
connects() { # n, both must end with
	local to pids=() pid ends=()
	for to in "$(lab_dest4 "$1")" "[$(lab_dest6 "$1")]"; do
		in_host curl -s -o /dev/null --connect-timeout $(($2 == 28 ? 3 : 30)) "http://$to:80/" 2>/dev/null &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do
		wait "$pid"
		ends+=($?)
	done
	note "curl ended with ${ends[*]}"
	[[ "${ends[*]}" == "$2 $2" ]]
}
ping_says() { # destination text
	in_host ping -c 2 -i 0.2 -W 120 "$1" >"$LAB_TMP/ping" 2>&1
	grep -q "$2" "$LAB_TMP/ping"
}
udp_hears() { # destination: a connected socket gets the error
	in_host timeout 120 bash -c 'exec 3<>"/dev/udp/$0/9" || exit 1
		while echo x >&3; do sleep 0.1; done' "$1" 2>/dev/null
}
unreachables() { # namespace: ICMP errors that it received, of both families
	in_ns "$1" sh -c 'cat /proc/net/snmp6; awk "/^Icmp:/" /proc/net/snmp' |
		awk '/Icmp6InDestUnreachs/ { n += $2 } /^Icmp:/ && /InMsgs/ { for (i = 2; i <= NF; i++) if ($i == "InDestUnreachs") at = i }
			/^Icmp:/ && !/InMsgs/ { n += $at } END { print n + 0 }'
}

lab_up || exit 1
for xdp in native generic none; do
	LAB_XDP=$xdp
	check "--xdp $xdp: attached" lab_attach
	check "--xdp $xdp: deny is applied" policy deny
	check "--xdp $xdp: deny: TCP hears nothing" connects 2 28
	before=$(unreachables d2)
	check "--xdp $xdp: reject is applied" policy reject
	check "--xdp $xdp: reject: TCP is refused" connects 2 7
	check "--xdp $xdp: ping says that it is filtered" ping_says "$(lab_dest4 2)" 'Packet filtered'
	check "--xdp $xdp: of IPv6, too" ping_says "$(lab_dest6 2)" 'Administratively prohibited'
	check "--xdp $xdp: a UDP socket hears it" udp_hears "$(lab_dest4 2)"
	check "--xdp $xdp: of IPv6, too" udp_hears "$(lab_dest6 2)"
	check "--xdp $xdp: nothing of it reaches the destination" lab_silent 2
	check "--xdp $xdp: which hears no error either" test "$(unreachables d2)" -eq "$before"
	check "--xdp $xdp: to the peer both families pass" lab_both 1
	in_dpu "$CTL" revoke one >/dev/null 2>&1
	check "--xdp $xdp: a revoked peer's host is told" ping_says "$(lab_dest4 1)" 'Packet filtered'
	check "--xdp $xdp: and nothing passes" lab_silent 1
	in_dpu "$LOAD" detach >/dev/null 2>&1
done
lab_attach && policy reject
check "the policy in force says so" sh -c "nsenter --net=/run/netns/$LAB-dpu '$CTL' policy show | grep -qx 'default: reject'"
check "and in JSON" test "$(in_dpu "$CTL" --json policy show | jq -r .default)" == reject
check "explain names the reason as before" sh -c "nsenter --net=/run/netns/$LAB-dpu '$CTL' explain $HOST4 $(lab_dest4 2) 2>&1 | grep -q no-peer"
policy deny >/dev/null
sed 's/default: deny/default: maybe/' "$LAB_TMP/policy.yaml" >"$LAB_TMP/wrong.yaml"
check "another word is refused, with the two that are accepted" sh -c "! '$CTL' policy check '$LAB_TMP/wrong.yaml' >'$LAB_TMP/said' 2>&1 &&
	grep -q 'deny or reject' '$LAB_TMP/said'"
done_testing
