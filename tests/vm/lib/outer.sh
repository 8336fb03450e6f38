# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Which fields of a host's IP header can be read outside? Needs topo/capture.sh.
#
#   capture_start wire s1 s2;  outer_vary host1 10.0.2.2;  capture_stop wire
#   check "…" test "$(outer_headers wire | wc -l)" -eq 1

# Varies DSCP, ECN, hop limit, DF and flow label, which a host may choose, with every packet; the
# answers come with the same DSCP and ECN.
outer_vary() { # namespace destination
	local tos ttl=255 label=() df=dont
	for tos in 0x00 0x01 0x02 0x03 0xb8 0xff; do
		ttl=$((256 - ttl))
		[[ $df == dont ]] && df=do || df=dont
		[[ $2 != *:* ]] || label=(-F "$(printf '0x%05x' $((RANDOM << 5 | RANDOM % 32)))")
		in_ns "$1" ping -q -c 1 -W 10 -Q "$tos" -t "$ttl" -M "$df" "${label[@]}" "$2" >/dev/null ||
			{ echo "# no answer to -Q $tos -t $ttl -M $df ${label[*]}"; return 1; }
	done
}
# Prints the outer headers of a capture's ESP without addresses, lengths and IPv4's id, each different one once.
outer_headers() { # name
	local f
	for f in "$LAB_TMP/$1".*.pcap; do
		tcpdump -nn -v -r "$f" 'ip proto 50 or ip6 proto 50' 2>/dev/null
	done | sed -n 's/.*IP (\(tos .*ttl [0-9]*\), id .*\(flags \[[^]]*\]\).*/\1 \2/p
		s/.*IP6 (\(.*hlim [0-9]*\), next-header.*/\1/p' | sort -u
}
