#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Both ends of a pair with ESP between them (SAs by hand): what one tray says it sent equals what the other says
# arrived, to the byte, less what was refused on arrival and what the counters of the SAs and of XFRM have of frames that
# were lost or corrupted on the network, or came without an SA to decrypt them. netns.both_ends is the same in the clear.
# vm-cost: 80
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck disable=SC2034 # for lab.sh
LAB=bwl-ends-$$ ENDS_EVERY=5s # two agents that sign are much work for an emulated CPU
for part in tests/harness/tap vm-testbed/topo/trays vm-testbed/topo/manual_sa tests/harness/ends; do
	# shellcheck source=/dev/null
	. "$BWL_SOURCE/$part.sh"
done

west() { BWLIMIT_PIN_DIR=$LAB_PINS/tray1 in_ns dpu1 "$@"; }
east() { BWLIMIT_PIN_DIR=$LAB_PINS/tray2 in_ns dpu2 "$@"; }
FRAME=1042 # bytes of a frame of ends_blast at the host port
blast() { ends_blast host1 10.0.2.2 "$@"; }

trays_up 2 || exit 1
mkdir -p "$LAB_PINS"
# With it the sender's SA counts a packet that GRO merged as one (docs/evidence.md). Another test of this boot may have
# loaded it.
modprobe -a -r esp4_offload esp6_offload
check "control: the kernel has no esp4_offload" eval '! grep -q "^esp[46]_offload" /proc/modules'
# East accepts 400 kB and little more of what arrives, however slow this machine is; west accepts everything.
sa_tray_policy 1 'grant: { rate: 1gbit, burst: 8mb }, accept: { rate: 1gbit, burst: 8mb }' >"$LAB_TMP/west.yaml"
sa_tray_policy 2 'grant: { rate: 1gbit, burst: 8mb }, accept: { rate: 100kbit, burst: 400kb }' >"$LAB_TMP/east.yaml"
leak_watch 1 && leak_watch 2 || exit 1
ends_up --tunnel bwl0 --host pf0hpf --uplink p0 || exit 1
leak_since 1
leak_since 2
sa_pair 1 2
sa_usable 1 "$(sa_if_id 1 tray-2)" 3
sa_usable 2 "$(sa_if_id 2 tray-1)" 3

# What the kernel counts of west's packets: at west's SA, and at east's. ESP's sequence numbers count
# the packets of the first; an SA counts the inner packet, the limiter 14 bytes more (layer 2).
sa_counts() { # tray: "bytes packets", and how many failed the integrity check
	in_ns "dpu$1" ip -s xfrm state | awk -v from="src ${SA_NET}1 " '
		/^src/ { mine = index($0, from) == 1 }
		mine && /[0-9]\(bytes\), [0-9]+\(packets\)/ { bytes = $1 + 0; packets = $2 + 0 }
		mine && / failed / { failed = $NF }
		END { print bytes, packets, failed }'
}
xfrm_in_errors() { in_ns dpu2 awk '/^XfrmIn/ { n += $2 } END { print n + 0 }' /proc/net/xfrm_stat; }
in_ns switch nft -f - <<'RULES'
table netdev way {
	counter dropped { }
	counter spoilt { }
	chain in { type filter hook ingress device s1 priority 0; }
}
RULES
# shellcheck disable=SC2120 # check passes them
way() { # what happens to every fifth ESP frame of west; without arguments all pass
	in_ns switch nft flush chain netdev way in
	[[ $# -eq 0 ]] || in_ns switch nft add rule netdev way in ip protocol esp numgen inc mod 5 == 0 "$@"
}
on_way() { in_ns switch nft -j list counter netdev way "$1" | jq '.nftables[] | .counter? // empty | .packets'; }

check "control: a ping from end to end" lab_wait_for 30 in_ns host1 ping -c1 -W1 -q 10.0.2.2
in_ns host1 ping -c20 -i0.02 -q -s 700 10.0.2.2 >/dev/null
in_ns host1 ping -c20 -i0.02 -q -s 700 fd00:2::2 >/dev/null
lab_iperf_server host2 5201
check "control: 200 kB by TCP" in_ns host1 timeout 60 iperf3 -c 10.0.2.2 -n 200K --logfile "$LAB_TMP/iperf"
blast 5998 1500
check "west enters that" lab_wait_for 60 ends_enters west $(($(ends_intervals west | wc -l) + 1))
before=$(ends_intervals west | tail -n 1)
check "a rule drops every fifth frame of ESP" way counter name dropped drop
blast 5999 100
check "another changes four bytes of every fifth" way counter name spoilt @th,256,32 set 0xdeadbeef
blast 5999 100
way
never_arrived() {
	read -r out_bytes out_packets _ < <(sa_counts 1)
	read -r in_bytes in_packets failed < <(sa_counts 2)
	[[ $((out_packets - in_packets)) -eq $1 ]]
}
check "the SAs' packets say how many of west's never arrived" lab_wait_for 30 never_arrived 40
note "SA of west: $out_bytes bytes, $out_packets packets; of east: $in_bytes, $in_packets, $failed spoilt"
check "control: half of them were dropped, half spoilt" test "$(on_way dropped) $(on_way spoilt)" == "20 20"
check "east's SA says how many were spoilt" test "$failed" -eq 20
check "and so does its XFRM" test "$(xfrm_in_errors)" -eq 20
in_ns dpu2 ip xfrm state flush
blast 5999 20
without_sa() { [[ $(xfrm_in_errors) -eq 40 ]]; }
check "ESP without an SA is counted by XFRM, too" lab_wait_for 30 without_sa
read -r out_bytes out_packets _ < <(sa_counts 1)
xfrm_in=$(xfrm_in_errors)
ends_stop

check "west opens what it sent to east" ends_open west tray-2
check "east opens what it got from west" ends_open east tray-1
check "what was dropped, spoilt or without an SA alone is unexplained" \
	test "$(ends_reconcile west east '[.ok, .unexplained_bytes]')" == "[true,$((60 * FRAME))]"
note "$(jq -c . "$LAB_TMP/said")"
check "some was refused on arrival, and not all" test "$(jq '.refused_on_arrival_bytes > 100000 and .arrived_bytes > 100000' "$LAB_TMP/said")" == true
lost=$((out_bytes - in_bytes + 14 * (out_packets - in_packets)))
errors=$((xfrm_in * FRAME))
check "with the counters of the SAs and of XFRM nothing is" \
	test "$(ends_reconcile west east '[.ok, .unexplained_bytes, .known_cause_bytes]' --cause "esp-gaps=$((lost - errors))b" --cause "xfrm-errors=${errors}b")" == \
	"[true,0,$((60 * FRAME))]"
check "and what came back arrived, to the byte" \
	test "$(ends_reconcile east west '[.ok, .sent_bytes == .arrived_bytes, .sent_bytes > 10000, .unexplained_bytes]')" == '[true,true,true,0]'
ends_checks_counters tray-2 tray-1

# Dishonest ends.
mv "$LAB_TMP/east.json" "$LAB_TMP/true.json"
jq -c '(.intervals[].peers[].records[]?.line) |= sub("\"charged_bytes\":[0-9]+"; "\"charged_bytes\":7")' \
	"$LAB_TMP/true.json" >"$LAB_TMP/east.json"
check "a total that east changed is found" test "$(ends_reconcile west east .error.code)" == '"EBADMSG"'
mv "$LAB_TMP/true.json" "$LAB_TMP/east.json"
check "control: unchanged it is accepted" test "$(ends_reconcile west east .ok)" == true
check "west leaves its first intervals out" ends_open west tray-2 $((before + 1))
check "and more arrived than it says it sent" test "$(ends_reconcile west east .ok)" == false
leak_end
done_testing
