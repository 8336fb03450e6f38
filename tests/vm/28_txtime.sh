#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A host sets when its packet departs (SO_TXTIME). veth keeps that time, and fq on the uplink would hold the
# packet until then: charged now, it would leave after a revocation. With bwlimit it leaves at once.
# Judged by the order in which two packets arrive: the one that departs later, and one that was sent after it.
# vm-cost: 50
# leak: its peer is sent to in the clear
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-txtime-$$ LAB_DESTS=1
for part in tap lab; do
	# shellcheck source=/dev/null
	. "$BWL_SOURCE/tests/harness/$part.sh"
done
TXTIME=$BWL_SOURCE/tests/harness/txtime.py
AHEAD=8 # seconds; fq drops packets that are 10 s ahead (its horizon)

modprobe -q sch_fq
lab_up || exit 1
lab_bg heard d1 python3 "$TXTIME" hear
lab_wait_for 30 grep -q ready "$LAB_TMP/heard"
says() { in_ns "$1" python3 "$TXTIME" send "${@:2}"; } # namespace address label [seconds]
arrives() { lab_wait_for "${2:-30}" grep -qx "$1" "$LAB_TMP/heard" || { sed 's/^/# /' "$LAB_TMP/heard"; false; }; }
# A packet that departs later, then another event; both arrive. Prints which arrived first.
first() { grep -nxE "$1|$2" "$LAB_TMP/heard" | head -1 | cut -d: -f2; }
in_order() { # first second: lines
	arrives "$1" && arrives "$2" && [[ $(first "$1" "$2") == "$1" ]]
}
to() { if [[ $1 == 4 ]]; then lab_dest4 1; else lab_dest6 1; fi; }

# The control: the same packets, routed by the kernel itself through fq on the same uplink.
tc -n "$LAB-dpu" qdisc replace dev p0 root fq || { skip "a host's departure times" "no fq"; done_testing; exit 77; }
lab_sysctl dpu net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
ip_in dpu route add 10.101.0.0/24 via $LAB_VIA4
ip_in dpu -6 route add fd00:101::/64 via $LAB_VIA6
kept=1
for f in 4 6; do
	says host "$(to $f)" warm-$f # neighbours are known
	check "without bwlimit IPv$f arrives" arrives warm-$f
	says host "$(to $f)" "control-held-$f" $AHEAD
	sleep 0.5
	says host "$(to $f)" "control-after-$f"
	if in_order "control-after-$f" "control-held-$f"; then
		ok "without bwlimit fq keeps an IPv$f packet back as its host says"
	else
		kept=0
	fi
done
if [[ $kept -eq 0 ]]; then
	if [[ $(uname -r | awk -F. '{ print $1 * 1000 + $2 }') -ge 6011 ]]; then
		nok "without bwlimit fq keeps a packet back as its host says"
	else
		skip "without bwlimit fq keeps a packet back as its host says" \
			"the kernel forgets the time on the way through veth"
	fi
fi
ip_in dpu route del 10.101.0.0/24
ip_in dpu -6 route del fd00:101::/64
lab_sysctl dpu net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=0
tc -n "$LAB-dpu" qdisc del dev p0 root

check "the programs are attached, with fq on the uplink" \
	in_dpu "$LOAD" attach --drill --fresh-volume --host hpf0 --uplink p0 --pace
check "fq is there" grep -q 'qdisc fq ' <(tc -n "$LAB-dpu" qdisc show dev p0)
for mode in police shape; do
	lab_policy_head <<-END | lab_apply
	peers:
	$(lab_peer d1 1 "grant: { rate: 10mbit, mode: $mode }")
	END
	check "mode $mode is in force" test "$(in_dpu "$CTL" --json peer show d1 | jq -r .mode_in_force)" = $mode
	for f in 4 6; do
		what=$mode-$f
		warm() { says host "$(to $f)" "first-$what" && grep -qx "first-$what" "$LAB_TMP/heard"; }
		check "$mode, IPv$f: what says no time arrives" lab_wait_for 30 warm
		says host "$(to $f)" "past-$what" -$AHEAD
		check "$mode, IPv$f: what should have departed long ago arrives" arrives "past-$what"
		says host "$(to $f)" "ahead-$what" $AHEAD
		sleep 1
		check "$mode, IPv$f: the peer is revoked" in_dpu "$CTL" revoke d1
		says net "$(to $f)" "revoked-$what"
		check "$mode, IPv$f: what was charged before a revocation left before it, whatever its host says" \
			in_order "ahead-$what" "revoked-$what"
		in_dpu "$CTL" grant d1 reason again >"$LAB_TMP/out" 2>&1 || note "$(cat "$LAB_TMP/out")"
	done
done
done_testing
