#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Promise 9 by the clock: how long after a revocation the last packet leaves the wire, worst of a
# hundred, with the host sending more than may pass. No charon runs: the map alone closes.
# vm-long: yes
# vm-timeout: 600
# vm-icount: yes
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-lag-$$
for part in tests/harness/tap vm-testbed/topo/trays vm-testbed/topo/manual_sa tests/vm/lib/esp_cost; do
	# shellcheck source=/dev/null
	. "$BWL_SOURCE/$part.sh"
done
ROUNDS=100 HORIZON_MS=10

policy() { # peers mode rate
	local n
	cat <<-END
	version: 1
	node: tray-1
	uplinks: [p0]
	host_ports: [{ dev: pf0hpf, sources: [10.0.1.0/24] }]
	heartbeat: none
	horizon: ${HORIZON_MS}ms
	peers:
	END
	for ((n = 0; n < $1; n++)); do
		echo "  - { name: p$n, addresses: [10.$((200 + n / 250)).$((n % 250)).0/24]," \
			"ipsec: { remote: 198.18.$((n / 250)).$((n % 250 + 1)) }," \
			"grant: { rate: $3, burst: 3kb, mode: $2 } }"
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
lag() { # name|--all Mbit/s destination…; sets worst
	"$LAB_BUILD/tests/harness/bwl-lag" "$LAB_PINS/tray1" "/run/netns/$LAB-host1" "/run/netns/$LAB-wire" \
		w0 "$1" $ROUNDS "${@:2}" >"$LAB_TMP/lag" || return
	note "$(cat "$LAB_TMP/lag")"
	jq -e '.fewest_packets > 10 and .late == 0 and .not_esp == 0' "$LAB_TMP/lag" >/dev/null &&
		worst=$(jq .worst_ns "$LAB_TMP/lag")
}

check "a DPU is made, with a wire that ends in a counter" esp_up wire
in_ns host1 tc qdisc replace dev h0 root fq limit 10000 flow_limit 10000
check "bwlimit attaches" tray_attach 1 --tunnel bwl0 --pace --max-peers 1100
for peers in 1 1000; do
	who=p0
	[[ $peers -eq 1 ]] || who=--all
	# One peer: 40 Mbit/s to where 20 may go. A thousand: 80 Mbit/s to where 50 may.
	rate=20mbit offered=40
	[[ $peers -eq 1 ]] || rate=50kbit offered=80
	for mode in police shape; do
		check "a policy of $peers peers, mode $mode, is in force" tray_apply 1 < <(policy $peers $mode $rate)
		check "with an SA each" sas $peers
		mapfile -t to < <(dests $peers)
		worst=
		check "$peers revoked, $mode: in each of $ROUNDS rounds packets flowed before, none after" \
			lag $who $offered "${to[@]}"
		limit=1000000
		[[ $mode == police ]] || limit=$(((HORIZON_MS + 1) * 1000000))
		check "$peers revoked, $mode: the last packet leaves within $((limit / 1000)) us of the write: ${worst:-none} ns" \
			test "${worst:-$((limit + 1))}" -le $limit
		tray_ctl 1 reasons | sed 's/^/# /'
		tc -n "$LAB-dpu1" -s qdisc show dev p0 | grep -o 'throttled [0-9]*' | sed 's/^/# p0 /'
	done
done
done_testing
