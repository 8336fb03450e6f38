#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Protocols that usually pass because networks need them: ARP, ND, DHCP, LLDP, MLD, mDNS, STP,
# LACP, multicast, broadcast, unknown EtherTypes, each with a payload.
set -uo pipefail
LAB_HOSTS=2 LAB_DESTS=2
# shellcheck source=thief.sh
. "$(dirname "${BASH_SOURCE[0]}")/thief.sh"
attacks 1 "ARP, ND, DHCP, LLDP, MLD from a host end at the DPU and are never forwarded"
thief_lab
all=ff:ff:ff:ff:ff:ff
judges_on
steal --count 9000 --pps 3000 <<END
eth dst=$all arp sip=$HOST4 tip=10.7.0.1 fill=1000
eth dst=$all arp sip=$HOST4 tip=192.0.2.254 fill=1000
eth dst=$all arp sip=$HOST4 tip=$A4 fill=1000
eth dst=$all arp op=2 sip=$A4 tip=$A4 fill=1000
eth dst=$all arp op=1 sip=192.0.2.254 tip=192.0.2.254 fill=1000
eth arp op=9 sip=$HOST4 tip=$A4 fill=1000
eth dst=33:33:ff:00:00:09 ip6 src=$HOST6 dst=ff02::1:ff00:9 hop=255 nd target=$A6 fill=1000
eth dst=33:33:00:00:00:01 ip6 src=$HOST6 dst=ff02::1 hop=255 nd kind=136 target=$A6 fill=1000
eth ip6 src=$HOST6 dst=$X6 hop=255 nd kind=135 target=$X6 fill=1000
eth ip6 src=$HOST6 dst=$X6 hop=255 nd kind=137 target=$X6 fill=1000
eth ip6 src=$HOST6 dst=fd00:7:0::1 hop=255 nd target=fd00:7:0::1 hex=fd7d fill=998
eth dst=33:33:ff:00:00:01 ip6 src=$HOST6 dst=ff02::1:ff00:1 hop=255 nd target=fd00:7:0::1 hex=fd7d fill=998
eth ip6 src=$HOST6 dst=fd00:7:0::1 hop=255 nd kind=136 flags=0x60 target=$HOST6 hex=fd7d fill=998
eth dst=33:33:00:00:00:02 ip6 src=$HOST6 dst=ff02::2 hop=255 nd kind=133 hex=fd7d fill=998
eth dst=33:33:00:00:00:01 ip6 src=fe80::1 dst=ff02::1 hop=255 nd kind=134 hex=fd7d fill=998
eth ip6 src=fe80::1 dst=fd00:7:0::1 hop=255 nd kind=137 target=fe80::1 dest=$A6 hex=fd7d fill=998
eth dst=01:00:5e:00:00:01 ip4 src=$HOST4 dst=224.0.0.1 ttl=1 opt=94040000 igmp kind=0x11 fill=1000
eth dst=33:33:00:00:00:16 ip6 src=$HOST6 dst=ff02::16 hop=1 ext kind=0 size=8 icmp kind=143 fill=1000
eth dst=$all ip4 src=0.0.0.0 dst=255.255.255.255 udp sport=68 dport=67 fill=1000
eth dst=$all ip4 src=$HOST4 dst=255.255.255.255 udp sport=68 dport=67 fill=1000
eth dst=33:33:00:01:00:02 ip6 src=$HOST6 dst=ff02::1:2 udp sport=546 dport=547 fill=1000
eth dst=01:80:c2:00:00:0e type=0x88cc fill=1000
eth dst=01:80:c2:00:00:00 type=0x0026 hex=424203 fill=100
eth dst=01:80:c2:00:00:02 type=0x8809 fill=1000
eth dst=01:00:5e:00:00:fb ip4 src=$HOST4 dst=224.0.0.251 udp sport=5353 dport=5353 fill=1000
eth dst=33:33:00:00:00:fb ip6 src=$HOST6 dst=ff02::fb udp sport=5353 dport=5353 fill=1000
eth dst=01:00:5e:01:01:01 ip4 src=$HOST4 dst=239.1.1.1 udp fill=1000
eth dst=$all ip4 src=$HOST4 dst=$X4 udp fill=1000
eth dst=01:00:5e:00:00:01 ip4 src=$HOST4 dst=$A4 udp fill=1000
eth type=0x88b5 fill=1000
eth dst=$all type=0x88b5 fill=1000
eth type=0x8863 fill=1000
eth type=0x8906 fill=1000
eth type=0x8915 fill=1000
eth type=0x0600 fill=1000
END
judges_off
nothing_leaves "none of them leaves by any device: wire, management, another host port"
no_socket_heard "nor a socket of the DPU"
promised "what leaves the DPU as ARP or ND is its own, and little" \
	awk '/^(0806|86dd)/ { n += $5 } END { exit n > 20000 }' "$LAB_TMP/at-wire"
granted_arrives
done_testing
