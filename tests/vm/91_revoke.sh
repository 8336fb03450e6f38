#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Promise 9, timed: how long after a revocation the last packet leaves on the uplink, the worst of a
# hundred, while the host sends more than may pass. No charon runs: only the map closes.
# vm-cost: 140
# leak: its own counter at the far end
# vm-icount: yes
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-lag-$$ TRAY_LEAK_WATCH=no
for part in tests/harness/tap vm-testbed/topo/trays vm-testbed/topo/manual_sa tests/vm/lib/esp_cost; do
	# shellcheck source=/dev/null
	. "$BWL_SOURCE/$part.sh"
done
ROUNDS=100

policy() { # peers mode rate burst horizon-ms
	local n
	cat <<-END
	version: 1
	horizon: $5ms
	node: tray-1
	uplinks: [p0]
	host_ports: [{ dev: pf0hpf, sources: [10.0.1.0/24] }]
	heartbeat: none
	peers:
	END
	for ((n = 0; n < $1; n++)); do
		echo "  - { name: p$n, addresses: [10.$((200 + n / 250)).$((n % 250)).0/24]," \
			"ipsec: { remote: 198.18.$((n / 250)).$((n % 250 + 1)) }," \
			"grant: { rate: $3, burst: $4, mode: $2 } }"
	done
}
dests() { local n; for ((n = 0; n < $1; n++)); do echo "10.$((200 + n / 250)).$((n % 250)).2"; done; }
sas() { # peers
	local name id n
	tray_ctl 1 ipsec track --dry-run --json | jq -r '.peers[] | [.peer, .if_id] | @tsv' >"$LAB_TMP/ids"
	[[ $(wc -l <"$LAB_TMP/ids") -eq $1 ]] || return
	esp_sa_gone
	while read -r name id; do
		n=${name#p}
		esp_sa_words "$id" "198.18.$((n / 250)).$((n % 250 + 1))"
	done <"$LAB_TMP/ids" >"$LAB_TMP/batch"
	in_ns dpu1 ip -batch "$LAB_TMP/batch"
}
lag() { # name|--all flow-ms quiet-ms Mbit/s destination…; sets worst and waited
	"$LAB_BUILD/tests/harness/bwl-lag" "$LAB_PINS/tray1" "/run/netns/$LAB-host1" "/run/netns/$LAB-wire" \
		w0 "$1" $ROUNDS "${@:2}" >"$LAB_TMP/lag" || return
	note "$(cat "$LAB_TMP/lag")"
	jq -e '.fewest_packets > 10 and .late == 0 and .not_esp == 0' "$LAB_TMP/lag" >/dev/null &&
		read -r worst waited < <(jq -r '"\(.worst_ns) \(.waited_least)"' "$LAB_TMP/lag")
}

check "a DPU is made, with a wire that ends in a counter" esp_up wire
in_ns host1 tc qdisc replace dev h0 root fq limit 10000 flow_limit 10000
check "bwlimit attaches" tray_attach 1 --tunnel bwl0 --pace --max-peers 1100
# One peer: 40 Mbit/s offered, 20 allowed. A thousand: 80 Mbit/s offered, 50 allowed. A thousand whose packets
# wait: two frames to each in turn; the burst lets one pass at once, and the other waits for 213 ms,
# longer than the 200 ms that sending to all of them takes. The pause after it refills every burst.
while read -ru 3 peers mode rate burst horizon flow quiet offered; do
	who=--all
	[[ $peers -ne 1 ]] || who=p0
	mapfile -t to < <(dests "$peers")
	[[ $horizon -eq 10 ]] || mapfile -t to < <(for d in "${to[@]}"; do printf '%s\n%s\n' "$d" "$d"; done)
	check "a policy of $peers peers, mode $mode, is in force" \
		tray_apply 1 < <(policy "$peers" "$mode" "$rate" "$burst" "$horizon")
	check "with an SA each" sas "$peers"
	worst='' waited=0
	check "$peers revoked, $mode: in each of $ROUNDS rounds packets flowed before, none after" \
		lag $who "$flow" "$quiet" "$offered" "${to[@]}"
	limit=1000000
	if [[ $mode == shape ]]; then
		limit=$(((horizon + 1) * 1000000))
		check "$peers revoked, shape: in each round packets waited in fq" \
			test "$waited" -ge $((peers == 1 ? 1 : peers / 3))
	fi
	check "$peers revoked, $mode: the last packet leaves within $((limit / 1000)) us of the write: ${worst:-none} ns" \
		test "${worst:-$((limit + 1))}" -le $limit
	tray_ctl 1 reasons | sed 's/^/# /'
	tc -n "$LAB-dpu1" -s qdisc show dev p0 | grep -o 'throttled [0-9]*' | sed 's/^/# p0 /'
done 3<<'END'
1 police 20mbit 3kb 10 40 60 40
1 shape 20mbit 3kb 10 40 60 40
1000 police 50kbit 3kb 10 40 60 80
1000 shape 15kbit 1600b 300 250 600 80
END
# The next step of `revoke`, for the SAs of all peers: it removes them from the kernel, since no charon answers. The time is
# the one that it prints: before that step this clock ran ahead while the host's disk was read for the program.
end_sas() { # sets took: ms
	tray_ctl 1 revoke --all --vici "$LAB_TMP/nobody" >"$LAB_TMP/revoke" || return
	took=$(awk '$1 == "kernel" { print int($2) }' "$LAB_TMP/revoke")
	sed 's/^/# /' "$LAB_TMP/revoke"
}
states() { in_ns dpu1 ip xfrm state count | sed -n 's/.*count \([0-9]*\).*/\1/p'; }
check "there are 1000 SAs" test "$(states)" -eq 1000
took=
check "--all is revoked without a charon" end_sas
check "no SA is left" test "$(states)" -eq 0
check "after $took ms, of at most 1000" test "${took:-1001}" -le 1000
done_testing
