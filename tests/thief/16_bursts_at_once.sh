#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Every grant has a burst: all of them are spent in the same instant, after a pause.
set -uo pipefail
# shellcheck source=thief.sh
. "$(dirname "${BASH_SOURCE[0]}")/thief.sh"
attacks 2 "zone and node pass at most rate x T + burst, however many grants have a full bucket"
PEERS=100
thief_peers() {
	local i
	cat <<-END
	node_limit: { rate: 8mbit, burst: 500kb }
	zones:
	  ext: { rate: 4mbit, burst: 300kb }
	peers:
	END
	for ((i = 0; i < PEERS; i++)); do
		printf '  - { name: p%d, addresses: [10.101.0.%d], path: clear, via: %s, %s grant: { rate: 500kbit, burst: 500kb } }\n' \
			"$i" $((i + 1)) "$LAB_VIA4" "$([[ $i -ge 50 ]] && echo 'zone: ext,')"
	done
}
thief_lab
sleep 4 # buckets fill: 4 s at 500 kbit/s are 250 kb for each peer, 25 MB in all
frames() {
	local i
	for ((i = 0; i < PEERS; i++)); do echo "eth ip4 src=$HOST4 dst=10.101.0.$((i + 1)) udp fill=1400"; done
}
# As fast as the machine can, until it is three times what the node may have by then: so it is an attack on a slow one, too.
sent_by_host() { in_host cat /proc/net/dev | awk '$1 == "h0:" { print $10, $11 }'; } # bytes, frames
most() { awk -v us=$(($(now_us) - JUDGED_FROM)) 'BEGIN { printf "%.0f", us + 512000 }'; } # 8 Mbit/s: a byte in each us
enough() {
	local bytes frames
	read -r bytes frames < <(sent_by_host)
	[[ $((frames - frames_before)) -ge 20000 && $((bytes - bytes_before)) -ge $((3 * $(most))) ]]
}
read -r bytes_before frames_before < <(sent_by_host)
judges_on
steal_on 600 0 < <(frames)
lab_wait_for 180 enough || note "it cannot send as much"
steal_stop
judges_off
note "$(cat "$LAB_TMP/sent")"
check "the thief sent twice what the node may have" \
	[ "$(sent_bytes)" -ge "$(awk -v t="$T" 'BEGIN { printf "%.0f", 2 * (t * 1e6 + 512000) }')" ]
total=$(arrived wire)
zone=0
while read -r d n; do
	[[ $d -ge 51 ]] && zone=$((zone + n))
done < <(awk '$1 == "0800" && $2 ~ /^10\.101\.0\./ { sub(/.*\./, "", $2); print $2, $5 }' "$LAB_TMP/at-wire")
within "a hundred full buckets at once stay within the node's burst" "$total" 8000000 512000
within "fifty of them within their zone's" "$zone" 4000000 307200
check "the node's burst was used" [ "$total" -ge 400000 ]
LIVE_FAMILIES=4 LIVE_PPS=350 granted_arrives "the flood to a hundred peers is over" # 500 kbit/s, without IPv6
done_testing
