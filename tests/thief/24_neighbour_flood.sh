#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel's neighbour tables have 1024 entries for all devices together: filling them with
# addresses of the host's own prefix locks the operator out, and keeps next hops from being resolved.
set -uo pipefail
LAB_DESTS=2 LAB_SOURCES=('10.7.0.0/16, "fd00:7::/64"')
# shellcheck source=thief.sh
. "$(dirname "${BASH_SOURCE[0]}")/thief.sh"
attacks 9 "no host can keep the operator from the DPU, nor another peer from its next hop"
thief_lab
host=$(lab_mac host h0)
flood() {
	echo "eth dst=33:33:ff:00:00:01 ip6 src=fd00:7::/64 dst=ff02::1:ff00:1 hop=255 nd target=fd00:7::1 sll=$host"
	echo "eth ip6 src=fd00:7::/64 dst=fd00:7::1 hop=255 nd target=fd00:7::1 sll=$host"
	echo "eth ip6 src=fe80::/64 dst=fd00:7::1 hop=255 nd target=fd00:7::1 sll=$host"
	echo "eth ip6 src=fd00:7::/64 dst=fd00:7::1 hop=255 nd kind=136 flags=0x60 target=fd00:7::/64 tll=$host"
	echo "eth dst=ff:ff:ff:ff:ff:ff arp sip=10.7.0.0/16 tip=10.7.0.1"
	echo "eth dst=33:33:ff:00:00:01 ip6 src=fd00:7:0:0:$MARK6 dst=ff02::1:ff00:1 hop=255 nd target=fd00:7:0:0:$MARK6 hex=fd08 fill=62"
	echo "eth arp op=2 sip=10.7.0.0/16 tip=10.7.0.1 tmac=$GATEWAY"
}
check "before the flood the operator's pings are answered over IPv4" [ "$(answered 4 20)" -eq 20 ]
check "and over IPv6" [ "$(answered 6 20)" -eq 20 ]
judges_on
by_host() { in_host cat /proc/net/dev | awk '$1 == "h0:" { print $11 }'; } # frames that it sent
before=$(by_host)
floods() { [[ $(by_host) -ge $((before + 7500)) ]]; }
steal_on 600 3000 < <(flood)
check "the thief floods: the tables are as full as he can make them" lab_wait_for 60 floods
note "neighbours at the host's port: $(entries 4) of IPv4, $(entries 6) of IPv6"
# Every entry except the flood's must be learnt again.
forget dpu mgmt0
forget mgmt eth0
forget dpu p0
promised "20 of 20 pings of the operator are answered over IPv6 while it runs" \
	[ "$(answered 6 20)" -eq 20 ]
promised "and over IPv4" [ "$(answered 4 20)" -eq 20 ]
in_host "$FRAMES" send h0 --gw "$GATEWAY" --count 200 --pps 200 >/dev/null <<-END
eth ip4 src=$HOST4 dst=$A4 udp fill=1000
eth ip6 src=$HOST6 dst=$A6 udp fill=1000
END
note "neighbours at the host's port: $(entries 4) of IPv4, $(entries 6) of IPv6"
promised "the flood holds fewer than a hundred entries of each table" \
	[ $(($(entries 4) < 100 && $(entries 6) < 100)) -eq 1 ]
check "the flood still runs" kill -0 "$THIEF"
steal_stop
judges_off
something_at "a next hop that was forgotten is resolved over IPv4" d1 "^$A4\$"
something_at "and over IPv6" d1 "^$A6\$"
nothing_marked_at "nothing of the thief's leaves by the management port" mgmt
granted_arrives "the flood of neighbours is over"
done_testing
