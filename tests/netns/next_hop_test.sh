#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# next_hop_mac: a forged message on the wire does not move a next hop whose MAC the policy gives, but does move one that
# is resolved; the entry exists before the policy is in force, is restored, is removed with the policy, and verify reports
# if it is not in force.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-hop-$$ LAB_DESTS=1
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
lab_up && lab_attach || exit 1
router=$(lab_mac net s0) liar=02:66:66:66:66:66 nobody=192.0.2.77

policy() { # via, via6, further lines of the peer
	{
		echo "peers:"
		printf '  - { name: sink, addresses: [10.101.0.0/24, "fd00:101::/64"], path: clear, via: %s, via6: "%s",\n' "$1" "$2"
		printf '      grant: { rate: 100mbit, burst: 10mb }%s }\n' "${3:-}"
	} | lab_policy_head
}
fixed() { policy "$LAB_VIA4" "$LAB_VIA6" ", next_hop_mac: \"$1\""; }
entry() { ip_in dpu neigh show "$1" dev p0; }
is_fixed() { # address MAC
	entry "$1" | grep_all "lladdr $2 PERMANENT proto 119"
}
gone() { ! entry "$1" | grep_all -e PERMANENT -e 'proto 119'; }
lies() { # what an attacker on the wire says, ten times a second: the router's addresses are his
	lab_bg lies net python3 "$here/neighbours.py" s0 "$(lab_mac dpu p0)" lie 6000 "$LAB_VIA4" "$LAB_VIA6" "$liar" "$(lab_link_local dpu p0)"
	liar_pid=$LAB_PID
}
lied() { # how often, from now on
	local was now
	was=$(lab_rx dpu p0 | cut -d' ' -f2)
	for ((now = was; now - was < 2 * $1; )); do
		sleep 0.1
		now=$(lab_rx dpu p0 | cut -d' ' -f2)
	done
}
moved() { entry "$1" | grep_all "$liar"; }
resolved() { entry "$1" | grep_all "lladdr $router"; }
verified() { in_dpu "$LOAD" verify --json 2>/dev/null | python3 -c '
import json, sys
print(*(c["result"] + " " + c["text"] for c in json.load(sys.stdin)["checks"] if c["id"] == "next-hop"), sep="\n")'; }
says() { grep -q "$1" <<<"$(verified)" || { verified | sed 's/^/# /'; return 1; }; }

# The control: a resolved entry follows the wire.
policy "$LAB_VIA4" "$LAB_VIA6" | lab_apply || exit 1
check "resolved next hops carry traffic of both families" lab_both
check "of a next hop that is resolved verify says nothing" [ -z "$(verified)" ]
check "and the router's MAC is known" eval 'resolved $LAB_VIA4 && resolved $LAB_VIA6'
lies
check "a lie on the wire moves a resolved next hop: IPv4" lab_wait_for 30 moved "$LAB_VIA4"
check "and IPv6" lab_wait_for 30 moved "$LAB_VIA6"
check "and the traffic with it" lab_wait_for 30 lab_silent

fixed "$router" | lab_apply || exit 1
check "with next_hop_mac the entries are permanent, and ours: IPv4" is_fixed "$LAB_VIA4" "$router"
check "and IPv6" is_fixed "$LAB_VIA6" "$router"
check "and traffic is back" lab_both
lied 30
check "the same lie moves neither" eval 'is_fixed $LAB_VIA4 $router && is_fixed $LAB_VIA6 $router'
check "nor the traffic" lab_both
lab_stop $liar_pid
check "verify says that they hold" says "^ok 2 next hops are permanent"
check "the policy in force has it" eval 'in_dpu "$CTL" policy show | grep_all "next_hop_mac: \"$router\""'
check "and explain says where packets go" eval \
	'in_dpu "$CTL" explain --port hpf0 10.7.0.2 10.101.0.9 | grep_all "to $router"'

ip_in dpu neigh del "$LAB_VIA4" dev p0
check "verify says when one is gone" says "^fail next hop $LAB_VIA4 on p0 has no entry"
ip_in dpu neigh replace "$LAB_VIA4" lladdr "$liar" dev p0 nud permanent
check "when it has another MAC" says "^fail next hop $LAB_VIA4 on p0 has the MAC $liar"
ip_in dpu neigh replace "$LAB_VIA4" lladdr "$router" dev p0 nud reachable
check "and when the wire can change it" says "anyone on the link can change it"
fixed "$router" | lab_apply
check "the policy applied again repairs it" is_fixed "$LAB_VIA4" "$router"

fixed 02:00:00:00:00:99 | lab_apply
check "another MAC in the policy is another entry" is_fixed "$LAB_VIA4" 02:00:00:00:00:99
check "and traffic goes there, to nobody" lab_silent
policy "$nobody" 2001:db8::77 ", next_hop_mac: \"$router\"" | lab_apply
check "another via: its entry is there" eval 'is_fixed $nobody $router && is_fixed 2001:db8::77 $router'
check "and that of the via before is gone" eval 'gone $LAB_VIA4 && gone $LAB_VIA6'
check "a next hop that answers no question is used at once: nothing waits" lab_both

# An operator's own entry is left alone.
ip_in dpu neigh replace "$LAB_VIA4" lladdr "$router" dev p0 nud permanent
fixed "$router" | lab_apply
check "an operator's entry with that MAC stays his" eval 'entry $LAB_VIA4 | grep PERMANENT | grep_all -v proto'
policy "$LAB_VIA4" "$LAB_VIA6" | lab_apply
check "and outlives the policy" eval 'entry $LAB_VIA4 | grep_all PERMANENT'
check "ours does not" gone "$LAB_VIA6"
ip_in dpu neigh del "$LAB_VIA4" dev p0

# An encrypted peer: the next hop of the route to its DPU.
far() { # the remote
	printf 'peers:\n  - { name: tray, addresses: [10.101.0.0/24], ipsec: { remote: %s }, next_hop_mac: "%s", grant: { rate: 1mbit } }\n' \
		"$1" "$router" | lab_policy_head | lab_apply
}
far 192.0.2.88
check "a DPU on the link is a permanent next hop itself" is_fixed 192.0.2.88 "$router"
far 203.0.113.5
check "without a route to it the policy is accepted, and verify says what lacks" says "^fail no route to 203.0.113.5"
check "and the one before is gone" gone 192.0.2.88
ip_in dpu route add 203.0.113.0/24 via "$LAB_VIA4"
far 203.0.113.5
check "behind a router the router is" is_fixed "$LAB_VIA4" "$router"

# Another peer behind the same router, without a grant, names another MAC: the kernel has one entry for both.
ip_in dpu -6 route add 2001:db8:203::/48 via "$LAB_VIA6" dev p0
second() { # remotes of both, MAC of the second, which is closed
	printf 'peers:\n  - { name: tray, addresses: [10.101.0.0/24], ipsec: { remote: "%s" }, next_hop_mac: "%s", grant: { rate: 1mbit } }\n' \
		"$1" "$router"
	printf '  - { name: shut, addresses: [10.102.0.0/24], ipsec: { remote: "%s" }, next_hop_mac: "%s" }\n' "$2" "$3"
}
for family in 4 6; do
	if [[ $family == 4 ]]; then
		far1=203.0.113.5 far2=203.0.113.6 via=$LAB_VIA4
	else
		far1=2001:db8:203::5 far2=2001:db8:203::6 via=$LAB_VIA6
	fi
	second $far1 $far2 "$router" | lab_policy_head | lab_apply
	check "IPv$family: two peers behind one router with its MAC are taken" is_fixed "$via" "$router"
	second $far1 $far2 "$liar" | lab_policy_head >"$LAB_TMP/two.yaml"
	refute "IPv$family: a closed one with another MAC is refused" \
		in_dpu "$CTL" policy apply "$LAB_TMP/two.yaml" 2>"$LAB_TMP/two"
	check "and the words have both" grep -q "next hop $via on p0 has two MACs, .*$liar" "$LAB_TMP/two"
	check "and the open one's next hop stays" is_fixed "$via" "$router"
	# which is not to be the order of the two: the other way round, too
	second $far2 $far1 "$liar" | lab_policy_head >"$LAB_TMP/two.yaml"
	refute "IPv$family: nor by another order" in_dpu "$CTL" policy apply "$LAB_TMP/two.yaml" 2>/dev/null
	check "and it stays" is_fixed "$via" "$router"
done
ip_in dpu -6 route del 2001:db8:203::/48

# Where routes make it so later: the policy can still be tightened, and no next hop is asked for.
two() { # rate: a clear peer with its own via, and an encrypted one with another MAC
	printf 'peers:\n  - { name: sink, addresses: [10.101.0.0/24], path: clear, via: %s, next_hop_mac: "%s", grant: { rate: %s } }\n' \
		"$LAB_VIA4" "$router" "$1"
	printf '  - { name: tray, addresses: [10.102.0.0/24], ipsec: { remote: 203.0.113.5 }, next_hop_mac: "%s", grant: { rate: 1mbit } }\n' "$liar"
}
ip_in dpu route replace 203.0.113.0/24 via 192.0.2.66
two 9mbit | lab_policy_head | lab_apply
check "control: with a router each, both are there" eval 'is_fixed $LAB_VIA4 $router && is_fixed 192.0.2.66 $liar'
ip_in dpu route replace 203.0.113.0/24 via "$LAB_VIA4"
ip_in dpu neigh del "$LAB_VIA4" dev p0
two 8mbit | lab_policy_head >"$LAB_TMP/two.yaml"
check "a policy that is in force, and whose routes meet since, can be tightened" \
	in_dpu "$CTL" policy apply "$LAB_TMP/two.yaml" --yes 2>"$LAB_TMP/two"
check "with a warning that has both" grep -q "next hop $LAB_VIA4 on p0 has two MACs, .*$liar" "$LAB_TMP/two"
check "and the policy's own next hop has its MAC" is_fixed "$LAB_VIA4" "$router"
check "which verify tells" says "^fail next hop $LAB_VIA4"
ip_in dpu route del 203.0.113.0/24

# If an entry cannot be made, the policy is refused: the previous one stays.
fixed "$router" | lab_apply
lab_sysctl dpu net.ipv6.conf.p0.disable_ipv6=1
policy "$nobody" 2001:db8::78 ", next_hop_mac: \"$router\"" >"$LAB_TMP/bad.yaml"
refute "a policy whose next hop cannot be made permanent is refused" \
	in_dpu "$CTL" policy apply "$LAB_TMP/bad.yaml" 2>"$LAB_TMP/bad"
check "by name" grep -q "cannot make next hop 2001:db8::78 on p0 permanent" "$LAB_TMP/bad"
check "and leaves nothing behind" eval 'gone $nobody && is_fixed $LAB_VIA4 $router'
lab_sysctl dpu net.ipv6.conf.p0.disable_ipv6=0
lab_addr dpu p0 2001:db8::1/64

# On trial: a policy has its next hops, as any policy in force, and the way back brings those before.
fixed "$router" | lab_apply
policy "$nobody" 2001:db8::77 ", next_hop_mac: \"$router\"" >"$LAB_TMP/trial.yaml"
on_trial() { in_dpu "$CTL" policy apply "$LAB_TMP/trial.yaml" --confirm "$1" >/dev/null 2>"$LAB_TMP/trial.err"; }
trial_fixed() { is_fixed "$nobody" "$router" && is_fixed 2001:db8::77 "$router"; }
first_fixed() { is_fixed "$LAB_VIA4" "$router" && is_fixed "$LAB_VIA6" "$router"; }
on_trial 600s
check "on trial a policy has its next hops" trial_fixed
check "and only those" eval 'gone $LAB_VIA4 && gone $LAB_VIA6'
in_dpu "$CTL" policy rollback >/dev/null 2>&1
check "rolled back, those of the trial are gone" eval 'gone $nobody && gone 2001:db8::77'
check "and those before are there" first_fixed
on_trial 600s
in_dpu "$CTL" policy confirm >/dev/null 2>&1
check "confirmed, those of the trial stay" trial_fixed
check "and those before are gone" eval 'gone $LAB_VIA4 && gone $LAB_VIA6'
fixed "$router" | lab_apply
on_trial 2s
over() { [[ $(in_dpu "$CTL" --json policy show | jq '.returns_in_s < 0') == true ]]; }
check "a trial runs out" lab_wait_for 30 over
check "with no daemon there, nothing goes anywhere then" lab_silent
in_dpu "$CTL" policy rollback >/dev/null 2>&1
check "policy rollback brings the next hops before" first_fixed
check "and traffic of both families goes there" lab_both
fixed 02:00:00:00:00:99 >"$LAB_TMP/trial.yaml"
check "a trial may give a next hop another MAC" on_trial 600s
check "which it then has" eval 'is_fixed $LAB_VIA4 02:00:00:00:00:99 && is_fixed $LAB_VIA6 02:00:00:00:00:99'
in_dpu "$CTL" policy rollback >/dev/null 2>&1
check "the way back undoes that" first_fixed
policy "$LAB_VIA4" "$LAB_VIA6" >"$LAB_TMP/trial.yaml"
check "and none" on_trial 600s
in_dpu "$CTL" policy rollback >/dev/null 2>&1
check "the way back brings it again" first_fixed

# bwlimitd restores what a port lost while it was down, and a change by the policy is not a sign of tampering.
fixed "$router" >"$LAB_TMP/policy.yaml"
printf 'tamper: { neighbour: revoke }\n' >>"$LAB_TMP/policy.yaml"
lab_bg agent dpu "$AGENT" --policy "$LAB_TMP/policy.yaml"
agent=$LAB_PID
ip_in dpu neigh del "$LAB_VIA6" dev p0 # which bwlimitd alone makes again
check "bwlimitd has it" lab_wait_for 30 is_fixed "$LAB_VIA6" "$router"
freeze_process "$agent" # it would make them again before they are looked for
ip_in dpu link set p0 down
check "a port that goes down loses its entries" gone "$LAB_VIA4"
ip_in dpu link set p0 up
kill -CONT "$agent"
check "bwlimitd makes them again" lab_wait_for 30 is_fixed "$LAB_VIA4" "$router"
lab_addr dpu p0 2001:db8::1/64 2>/dev/null
check "IPv6's, too" lab_wait_for 30 is_fixed "$LAB_VIA6" "$router"
live "the uplink is up again, and bwlimitd, which hung, has made its next hops"
sed "s/$router/02:00:00:00:00:99/" "$LAB_TMP/policy.yaml" >"$LAB_TMP/next.yaml"
mv "$LAB_TMP/next.yaml" "$LAB_TMP/policy.yaml"
check "another MAC in the file comes in force" lab_wait_for 30 is_fixed "$LAB_VIA4" 02:00:00:00:00:99
refute "and is no sign of tampering" grep -q "a neighbour on p0" "$LAB_TMP/agent" "$LAB_TMP/agent.err"
lab_stop "$agent"

in_dpu "$LOAD" detach >/dev/null 2>&1
check "detach leaves none of ours" eval '[[ -z $(ip_in dpu neigh show proto 119; ip_in dpu -6 neigh show proto 119) ]]'
done_testing
