#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Many destinations at once: each within its own grant, the sum above zone and node.
set -uo pipefail
# shellcheck source=thief.sh
. "$(dirname "${BASH_SOURCE[0]}")/thief.sh"
attacks 2 "a grant, its zone and the node each pass at most rate x T + burst"

PEERS=60 # 20 at each of three destinations; 1 Mbit/s each, 60 together
thief_peers() {
	local i d
	cat <<-END
	node_limit: { rate: 12mbit, burst: 300kb }
	zones:
	  ext: { rate: 6mbit, burst: 200kb }
	peers:
	END
	for ((i = 0; i < PEERS; i++)); do
		d=$((i % 3 + 1))
		printf '  - { name: p%d, addresses: ["10.10%d.0.%d", "fd00:10%d::%d"], path: clear, %s\n' \
			"$i" "$d" $((i + 9)) "$d" $((i + 9)) "via: $LAB_VIA4, via6: \"$LAB_VIA6\","
		printf '      %s grant: { rate: 1mbit, burst: 80kb } }\n' \
			"$([[ $((i % 2)) -eq 0 ]] && echo 'zone: ext,')"
	done
}
thief_lab
sleep 1
frames() {
	local i d
	for ((i = 0; i < PEERS; i++)); do
		d=$((i % 3 + 1))
		echo "eth ip4 src=$HOST4 dst=10.10$d.0.$((i + 9)) udp fill=1000"
		echo "eth ip6 src=$HOST6 dst=fd00:10$d::$((i + 9)) udp fill=1000"
	done
}
judges_on
steal --count 60000 --pps 20000 <<<"$(frames)"
judges_off
total=$(arrived wire)
zone=0
for ((i = 0; i < PEERS; i += 2)); do
	n=$(arrived wire "^(10\.10.\.0\.|fd00:10.::)$((i + 9))\$")
	zone=$((zone + n))
done
within "sixty peers together stay within the node's limit" "$total" 12000000 307200
within "those of one zone stay within the zone's limit" "$zone" 6000000 204800
one=$(arrived wire "^(10\.101\.0\.|fd00:101::)9\$")
within "one of them stays within its own, IPv4 and IPv6 together" "$one" 1000000 81920
# By no rate, since a thief that had to wait falls short of it.
check "twice what passed was offered, and two bursts passed: this was an attack" \
	[ $(($(sent_bytes) > 2 * total && total > 2 * 307200)) -eq 1 ]
granted_arrives "the flood to sixty peers is over"
done_testing
