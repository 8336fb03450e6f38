#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Nothing that a packet of a host or of the wire caused leaves through the management port or any other device,
# while management works: the rules by input device, the gate of management, and the daemon that maintains them.
# The judge is a marker in the payload, searched for in everything that arrives.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-closed-$$ LAB_DESTS=1 LAB_MGMT=1
LAB_SOURCES=('10.7.0.0/24, "fd00:7::/64", "fd00:99::/64"')
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
BWL_MARKER=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
export BWL_MARKER
lab_up || exit 1
# The DPU's own default route is its management port, and one prefix has no route at all.
ip_in dpu route add default via 10.250.0.2
ip_in dpu -6 route add default via fd00:250::2
ip_in dpu -6 route add unreachable fd00:dead::/32
for a in 10.250.0.2 fd00:250::2; do
	ip_in dpu neigh replace $a lladdr "$(lab_mac mgmt eth0)" dev mgmt0 nud permanent
done
# A port that comes later: of another function of the host.
lab_ns host9
lab_veth host9 h0 dpu hpf9
ip_in dpu link set hpf9 down
lab_sysctl dpu net.ipv4.icmp_ratelimit=0 net.ipv6.icmp.ratelimit=0

works() { lab_load "$@" || { note "$(cat "$LAB_TMP/err")"; return 1; }; }
attach() { works attach --host hpf0 --uplink p0 --management mgmt0 "$@"; }
rules_have() { grep -Eq "$1" < <(ip_in dpu rule) && grep -Eq "$1" < <(ip_in dpu -6 rule); }
rules_lack() { ! grep -Eq "$1" < <(ip_in dpu rule; ip_in dpu -6 rule); }
pings() { in_ns mgmt ping -q -c 1 -W 5 "$1" >/dev/null; }
reached() { pings 10.250.0.1 && pings fd00:250::1; }
reaches() { in_dpu ping -q -c 1 -W 5 10.250.0.2 >/dev/null && in_dpu ping -q -c 1 -W 5 fd00:250::2 >/dev/null; }

places="mgmt:eth0 net:s0 host:h0 host9:h0"
# Sends frames from one place; sets leaked to the marked bytes at every other.
try() { # from-namespace device gateway; frames on standard input
	local p pids=() n
	for p in $places; do
		[[ $p != "$1:"* ]] || continue
		lab_bg "at-$p" "${p%:*}" "$FRAMES" count "${p#*:}"
		pids+=("$LAB_PID")
		lab_wait_for 5 grep -q ready "$LAB_TMP/at-$p"
	done
	in_ns "$1" "$FRAMES" send "$2" --gw "$3" --count 400 --pps 2000 >"$LAB_TMP/sent" || nok "frames can be sent"
	lab_settle
	leaked=0
	for p in "${pids[@]}"; do lab_stop "$p"; done
	for p in $places; do
		[[ $p != "$1:"* ]] || continue
		n=$(awk '$1 == "marked" { print $3 }' "$LAB_TMP/at-$p")
		[[ -n $n ]] || nok "a judge at $p counts"
		leaked=$((leaked + ${n:-0}))
	done
}
nd() { echo "eth ip6 src=$1 dst=fd00:dead::1 hop=255 nd kind=135 target=fd00:dead::1 fill=1180"; }
echo4() { echo "eth ip4 src=203.0.113.5 dst=$1 icmp kind=8 fill=1000"; }
echo6() { echo "eth ip6 src=2001:db8:99::5 dst=$1 icmp kind=128 fill=1000"; }
shut4() { echo "eth ip4 src=203.0.113.5 dst=$1 udp dport=99 fill=1000"; } # a port without a program
shut6() { echo "eth ip6 src=2001:db8:99::5 dst=$1 udp dport=99 fill=1000"; }
from_host() { try host h0 "$(lab_mac dpu hpf0)"; }
from_wire() { try net s0 "$(lab_mac dpu p0)"; }
from_later() {
	ip_in dpu link set hpf9 up
	try host9 h0 "$(lab_mac dpu hpf9)"
}
leaks() { "$@"; note "$leaked marked bytes"; [[ $leaked -gt 0 ]]; }

# Without bwlimit each of these arrives, in both families: the judges can see it.
check "without bwlimit a solicitation's unreachable leaves with what a host sent" leaks from_host < <(nd fd00:99::5)
check "and with what the wire sent" leaks from_wire < <(nd 2001:db8:99::5)
check "and with what a later port sent" leaks from_later < <(nd 2001:db8:99::5)
for from in from_host from_wire from_later; do
	check "without bwlimit an IPv4 echo ($from) is answered by the management port" leaks $from < <(echo4 10.250.0.1)
	check "without bwlimit an IPv6 echo ($from) is answered by the management port" leaks $from < <(echo6 fd00:250::1)
	check "without bwlimit a closed UDP port's answer ($from) quotes, IPv4" leaks $from < <(shut4 10.250.0.1)
	check "without bwlimit a closed UDP port's answer ($from) quotes, IPv6" leaks $from < <(shut6 fd00:250::1)
done
later_has() { # add or del
	ip_in dpu addr "$1" 10.9.9.1/24 dev hpf9
	ip_in dpu addr "$1" fd00:9::1/64 dev hpf9 ${2:-}
}
later_has add nodad
check "without bwlimit an address of a later port answers, IPv4" leaks from_later < <(echo4 10.9.9.1)
check "without bwlimit an address of a later port answers, IPv6" leaks from_later < <(echo6 fd00:9::1)
later_has del
ip_in dpu link set hpf9 down

check "attach takes the management device" attach --fresh-volume
lab_policy_head <<-END | lab_apply
peers:
$(lab_peer d1 1 "grant: { rate: 10mbit }")
END
check "verify is clean, and need not be told of management again" lab_verifies
check "status shows it" eval 'works status && grep -q "mgmt0 *management" "$LAB_TMP/out"'
check "rule 0 is gone" rules_lack "^0:"
check "the DPU is reached by its management port" reached
check "and reaches what is there" reaches
granted() { in_host ping -q -c 3 -i 0.2 -W 5 "$(lab_dest4 1)" >/dev/null && in_host ping -q -c 3 -i 0.2 -W 5 "$(lab_dest6 1)" >/dev/null; }
at_once() { in_host ping -q -c 1 -W 5 "$(lab_dest4 1)" >/dev/null && in_host ping -q -c 1 -W 5 "$(lab_dest6 1)" >/dev/null; }
check "a granted peer is reached by the first packet, IPv4 and IPv6" at_once

refute "hole 1: a solicitation's unreachable leaves no more, from a host" leaks from_host < <(nd fd00:99::5)
refute "hole 1: nor from the wire" leaks from_wire < <(nd 2001:db8:99::5)
for from in from_host from_wire; do
	refute "no IPv4 echo ($from) is answered" leaks $from < <(echo4 10.250.0.1)
	refute "no IPv6 echo ($from) is answered" leaks $from < <(echo6 fd00:250::1)
	refute "no closed UDP port ($from) answers, IPv4" leaks $from < <(shut4 10.250.0.1)
	refute "no closed UDP port ($from) answers, IPv6" leaks $from < <(shut6 fd00:250::1)
done
later() { # sentence
	refute "hole 3: $1 no IPv4 echo is answered" leaks from_later < <(echo4 10.250.0.1)
	refute "hole 3: $1 no IPv6 echo is answered" leaks from_later < <(echo6 fd00:250::1)
	refute "hole 3: $1 no closed UDP port answers" leaks from_later < <(shut4 10.250.0.1; shut6 fd00:250::1)
	refute "hole 3: $1 no solicitation" leaks from_later < <(nd 2001:db8:99::5)
}
later "on a port that came later"
lab_bg guard dpu "$LOAD" guard --management mgmt0 --uplink p0
guard=$LAB_PID
check "control: the guard watches" lab_wait_for 10 grep -q watching "$LAB_TMP/guard.err"
later "with the guard at work"
lab_stop "$guard"
later_has add nodad
ip_in dpu link set hpf9 up
refute "nor of an address of that very port, IPv4" leaks from_later < <(echo4 10.9.9.1)
refute "nor IPv6" leaks from_later < <(echo6 fd00:9::1)
check "verify says that it is up" lab_verify_finds "device hpf9 is up but neither"
ip_in dpu link set hpf9 down

# A representor that is created again has the name of a port and no program.
ip_in dpu link set hpf0 down; ip_in dpu link set hpf0 name was0
ip_in dpu link set hpf9 name hpf0
from_anew() { ip_in dpu link set hpf0 up; try host9 h0 "$(lab_mac dpu hpf0)"; }
refute "no IPv4 echo is answered on a device that took a port's name" leaks from_anew < <(echo4 10.250.0.1)
refute "no IPv6 echo" leaks from_anew < <(echo6 fd00:250::1)
refute "no solicitation" leaks from_anew < <(nd fd00:99::5)
ip_in dpu link set hpf0 down; ip_in dpu link set hpf0 name hpf9
ip_in dpu link set was0 name hpf0; ip_in dpu link set hpf0 up
live "the port has its name again"

# The host's neighbours, as always.
fresh() { # flush, then the address must be resolved anew
	ip_in host neigh flush dev h0; ip_in dpu neigh flush dev hpf0
	in_host ping -q -c 1 -W 2 "$1" >/dev/null 2>&1
	grep -q lladdr < <(ip_in host neigh get "$1" dev h0)
}
check "a host still resolves its IPv4 gateway" fresh 10.7.0.1
check "and its IPv6 gateway" fresh fd00:7::1
resolves() { # namespace address device
	ip_in "$1" neigh flush dev "$3"
	in_ns "$1" ping -q -c 1 -W 2 "$2%$3" >/dev/null 2>&1
	grep -q lladdr < <(ip_in "$1" neigh get "$2" dev "$3")
}
check "a host resolves the port's link-local address" resolves host "$(lab_link_local dpu hpf0)" h0
check "and the router that of the uplink" resolves net "$(lab_link_local dpu p0)" s0
check "management pings it" pings "$(lab_link_local dpu mgmt0)%eth0"
arp_of() { in_host arping -q -c 2 -w 2 -I h0 "$1" >/dev/null 2>&1; }
if command -v arping >/dev/null; then
	check "the port's own address is answered by ARP" arp_of 10.7.0.1
	refute "that of management is not" arp_of 10.250.0.1
else
	skip "ARP for management's address on a host port" "no arping"
fi
nd_of() { # whatever the host's own routes say
	ip_in host -6 route replace "$1/128" dev h0
	fresh "$1"
}
check "the port's own address is answered by ND" nd_of fd00:7::1
refute "that of management is not" nd_of fd00:250::1
for a in fd00:7::1 fd00:250::1; do ip_in host -6 route del $a/128 dev h0; done

# Duplicate address detection: a thief who answers it takes no address from the DPU.
lab_sysctl host net.ipv6.conf.h0.forwarding=0
thief_answers() { # the DPU's own, as the kernel asks for it
	ip_in dpu addr del fd00:7::77/64 dev hpf0 2>/dev/null
	ip_in host addr replace fd00:7::77/64 dev h0 nodad
	ip_in dpu addr add fd00:7::77/64 dev hpf0
	lab_wait_for 30 has_decided || note "the kernel still asks"
	[[ $(address) != *dadfailed* ]]
}
address() { ip_in dpu -6 -o addr show dev hpf0 to fd00:7::77; }
has_decided() { [[ $(address) == *dadfailed* || $(address) != *tentative* ]]; }
check "a thief who answers duplicate address detection takes no address of the DPU" thief_answers
lab_sysctl dpu net.ipv6.conf.hpf0.accept_dad=1 net.ipv6.conf.hpf0.dad_transmits=1
refute "as he does where the port asks (the control)" thief_answers
ip_in dpu addr del fd00:7::77/64 dev hpf0
ip_in host addr del fd00:7::77/64 dev h0
check "attach sets it again" attach
check "and verify is clean of it" lab_verifies

# The gate of management alone, after the rule that discards marked packets is removed.
mark=$(ip_in dpu rule | sed -n 's/^6:.*fwmark \(0x[0-9a-f]*\)\/0x7fc00000.*/\1/p')
check "the rule for marks is there" test -n "$mark"
for f in -4 -6; do ip_in dpu $f rule del pref 6; done
marked() { in_dpu ping -q -c 1 -W 1 -m "$1" "$2" >/dev/null 2>&1; }
for a in 10.250.0.2 fd00:250::2; do
	refute "the gate stops what has the mark of a charge ($a)" marked "$mark" $a
	refute "and of what went up ($a)" marked $((mark ^ 0x80000000)) $a
	check "and passes any other mark ($a)" marked 77 $a
done
reflected() { in_dpu "$CTL" --json reasons | jq '[.reasons[] | select(.reason == "reflected" and .port == "mgmt0" and .hook == "gate") | .frames] | add // 0'; }
own() { in_dpu "$CTL" --json reasons | jq '[.reasons[] | select(.reason == "pass-own" and .passes) | .frames] | add // 0'; }
note "reflected: $(reflected), own: $(own)"
check "it counts what it stopped" test "$(reflected)" -ge 4
check "and what it passed" test "$(own)" -ge 2
check "verify notices the rule that is gone" lab_verify_finds "IPv4 rule 6 .*is missing"
in_dpu "$CTL" stop >/dev/null
check "with the stop switch on the DPU is reached and reaches" eval 'reached && reaches'
in_dpu "$CTL" stop --off >/dev/null
check "attach puts the rule back" attach
check "and verify is clean" lab_verifies

# Each part that is changed by hand is noticed, and repaired by attach.
wrong() { # sentence, pattern, command…
	local sentence=$1 pattern=$2
	shift 2
	"$@"
	check "verify notices $sentence" lab_verify_finds "$pattern"
}
wrong "rule 0" "IPv4 rule 0 .*bypasses those of bwlimit" ip_in dpu rule add pref 0 lookup local
wrong "that of IPv6" "IPv6 rule 0 .*bypasses those of bwlimit" ip_in dpu -6 rule add pref 0 lookup local
wrong "the blackhole that is gone" "IPv6 rule 3 .*is missing" ip_in dpu -6 rule del pref 3
wrong "a port's rule that is gone" "IPv4 rule 1 (iif hpf0.*is missing" ip_in dpu rule del pref 1 iif hpf0
wrong "the kernel's own rule for main that is gone" "IPv4 rule 32766 .*is missing" ip_in dpu rule del pref 32766
wrong "that of IPv6" "IPv6 rule 32766 .*is missing" ip_in dpu -6 rule del pref 32766
refute "without them the DPU reaches no management" reaches
wrong "the kernel's own rule for default" "IPv4 rule 32767 .*is missing" ip_in dpu rule del pref 32767
check "attach puts them back" attach
check "and verify is clean" lab_verifies
check "and management is reached" eval 'reached && reaches'
wrong "a foreign rule before ours" "IPv4 rule 1 (iif hpf9.*bypasses those of bwlimit" ip_in dpu rule add pref 1 iif hpf9 lookup local
refute "attach leaves the foreign rule, and the host ports down" attach
check "but puts right what is ours" eval 'lab_verify_finds "IPv4 rule 1 (iif hpf9" && [ "$(grep -c "^FAIL.*rule" "$LAB_TMP/out")" -eq 1 ]'
ip_in dpu rule del pref 1 iif hpf9
check "without it attach opens them" attach
check "and verify is clean" lab_verifies
wrong "fwmark_reflect" "fwmark_reflect is off" lab_sysctl dpu net.ipv4.fwmark_reflect=0
wrong "a missing gate" "mgmt0: bwl_tc_mgmt is not attached" rm "$LAB_PINS/links/bwl_tc_mgmt_mgmt0"
for key in ipv6.conf.hpf0.accept_dad=1 ipv6.conf.hpf0.accept_ra=1 ipv4.conf.hpf0.arp_ignore=0 ipv6.conf.p0.accept_redirects=1; do
	wrong "$key" "net/$(tr . / <<<"${key%=*}") is" lab_sysctl dpu "net.$key"
done
check "attach puts all of that right" attach
check "and verify is clean once more" lab_verifies
ip_in dpu rule add pref 100 from 10.250.0.1 lookup 100
ip_in dpu rule add pref 5000 lookup main
check "a site's own rules behind ours are no matter" lab_verifies

# Together with a site's nftables, and Debian's own file, which begins with a flush.
nft() { in_dpu nft "$@"; }
nft -f - <<-END
table inet site {
	chain in {
		type filter hook input priority 0; policy accept;
		tcp dport 9 drop
		iifname "mgmt0" accept
	}
}
END
check "a site's own tables change nothing for management" eval 'reached && reaches'
later "beside a site's tables"
nft -f - <<-END
flush ruleset
table inet filter {
	chain input { type filter hook input priority filter; }
	chain forward { type filter hook forward priority filter; }
	chain output { type filter hook output priority filter; }
}
END
later "after a flush of the ruleset"
refute "nor hole 1" leaks from_host < <(nd fd00:99::5)
check "and management goes on" eval 'reached && reaches'
ip_in dpu link set hpf9 down
live "the ruleset is flushed: no limit is in it"

# bwlimitd repairs the rules by itself, and reports it.
lab_bg agent dpu "$AGENT" --policy "$LAB_TMP/policy.yaml" --state-dir "$LAB_TMP/state" --tpm none --json
agent=$LAB_PID
lab_wait_for 10 grep -q '"start"' "$LAB_TMP/agent"
# Neighbours that matter cannot be pushed out of the table, and are resolved like any other.
kept() { grep -q extern_learn < <(ip_in dpu neigh show "$1" dev "$2"); }
for a in $LAB_VIA4 $LAB_VIA6; do
	check "the next hop $a is out of reach of the garbage collector" lab_wait_for 15 kept $a p0
done
ip_in dpu route replace default via 10.250.0.3
ip_in dpu -6 route replace default via fd00:250::3
ip_in mgmt addr add 10.250.0.3/24 dev eth0
ip_in mgmt addr add fd00:250::3/64 dev eth0 nodad
for a in 10.250.0.3 fd00:250::3; do
	check "so is management's gateway $a" lab_wait_for 15 kept $a mgmt0
done
ip_in net link set s0 address 02:00:00:00:11:22
new_mac() { granted; grep -q 02:00:00:00:11:22 < <(ip_in dpu neigh show "$1" dev p0); }
for a in $LAB_VIA4 $LAB_VIA6; do check "another MAC of $a is followed" lab_wait_for 60 new_mac $a; done
check "and it is still kept" lab_wait_for 15 kept $LAB_VIA4 p0
live "another MAC of the next hop is followed"
for f in -4 -6; do
	ip_in dpu $f rule del pref 3
	ip_in dpu $f rule add pref 0 lookup local
	check "bwlimitd puts the rules right ($f)" lab_wait_for 5 lab_verifies
done
check "and says so" grep -q 'it was repaired' "$LAB_TMP/agent"
# What systemd-networkd took away on other machines (systemd#41350): the kernel's own rules, with a site's.
ip_in dpu rule del pref 32766
ip_in dpu rule del pref 32767
ip_in dpu -6 rule del pref 32766
check "the kernel's own rules removed: they come back" lab_wait_for 5 lab_verifies
check "and bwlimitd says so" grep -q '"level":"alert".*"event":"rules".*rule 3276[67] .*is missing: the kernel made it' "$LAB_TMP/agent"
check "and management is reached" eval 'reached && reaches'
# Without rule 0 and without ours nothing would reach the DPU: what a tool removes is put back.
for f in -4 -6; do
	ip_in dpu $f rule flush
	ip_in dpu $f rule add pref 32766 lookup main
done
check "all rules flushed: they come back" lab_wait_for 5 lab_verifies
check "and the DPU is reached" reached
live "all rules were flushed, and are back"
# bwlimitd notices within a second that its maps are gone. Until then it must not put their rules back, nor take those of
# the next attach for left over.
works detach
check "control: it notices" lab_wait_for 10 grep -q '"event":"detached"' "$LAB_TMP/agent"
check "after detach it puts none back" rules_lack "^[1-6]:|blackhole"
works attach --fresh-volume --host hpf0 --uplink p0 --management mgmt0
again() {
	local i
	for i in 1 2 3 4; do works detach && sleep "0.$i" && attach --fresh-volume || return; done
}
check "and an attach right after detach succeeds" again
lab_stop "$agent"

# A device that was up with an address when no management was named keeps its route, and verify reports it.
works detach
check "detach brings rule 0 back" rules_have "^0:"
check "and leaves none of ours" rules_lack "^[1-6]:|blackhole"
check "attach that is told of no management" works attach --fresh-volume --host hpf0 --uplink p0
check "cuts none" reached
check "and verify says that it was not named" lab_verify_finds "device mgmt0 is up but neither"
check "named later, it is management" attach
check "and verify is clean of that" eval '! lab_verify_finds "device mgmt0 is up but neither"'
check "down sets the rules too, before any attach" eval 'works detach && works down --uplink p0 --management mgmt0'
check "they are there" rules_have "^3:.*not.*iif lo.*blackhole"
check "and management is reached" reached
later "with nothing attached"
in_dpu "$LOAD" detach >/dev/null 2>&1
check "detach without anything attached opens them" eval 'rules_have "^0:" && rules_lack "^3:"'
done_testing
