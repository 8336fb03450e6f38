#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# IPv4 options and IPv6 extension headers: source routes that choose the path, also behind headers that
# hide them (fragments, AH, mobility, HIP, shim6), chains that hide the transport, headers as carriers.
set -uo pipefail
# shellcheck source=thief.sh
. "$(dirname "${BASH_SOURCE[0]}")/thief.sh"
attacks 1 "options and extension headers are charged or denied, and choose no way"
thief_lab
e8="ext kind=60 size=8"
route="ext kind=43 size=24 hex=040100000000fd000104000000000000000000000009" # SRv6, to the stranger
judges_on
steal --count 1400 --pps 2000 <<END
eth ip4 src=$HOST4 dst=$A4 opt=8307040A6800090000 udp fill=500
eth ip4 src=$HOST4 dst=$A4 opt=8907040A6800090000 udp fill=500
eth ip4 src=$HOST4 dst=$A4 opt=018307040A680009 udp fill=500
eth ip6 src=$HOST6 dst=$A6 ext kind=43 size=24 hex=040100000000fd000104000000000000000000000009 udp fill=500
eth ip6 src=$HOST6 dst=$A6 ext kind=43 size=8 udp fill=500
eth ip4 src=$HOST4 dst=10.7.0.1 opt=8307040AFA00020000 udp fill=500
eth ip4 src=$HOST4 dst=10.7.0.1 opt=01010101 udp fill=500
eth ip6 src=$HOST6 dst=fd00:7:0::1 ext kind=43 size=24 hex=040100000000fd000250000000000000000000000002 udp fill=500
eth ip6 src=$HOST6 dst=fd00:7:0::1 ext kind=60 size=264 options=1 udp fill=500
eth ip6 src=$HOST6 dst=$A6 ext kind=0 size=8 ext kind=43 size=8 udp fill=500
eth ip6 src=$HOST6 dst=$A6 $e8 $e8 $e8 $e8 $e8 $e8 $e8 $e8 $e8 $e8 $e8 $e8 udp fill=500
eth ip6 src=$HOST6 dst=$A6 frag6 id=21 $route udp fill=500
eth ip6 src=$HOST6 dst=$A6 frag6 id=22 $route udp fill=800 slice=0,400
eth ip6 src=$HOST6 dst=$A6 frag6 id=22 $route udp fill=800 slice=400,432
eth ip6 src=$HOST6 dst=$A6 ext kind=0 size=8 frag6 id=23 $route udp fill=800 slice=0,400
eth ip6 src=$HOST6 dst=$A6 ext kind=0 size=8 frag6 id=23 $route udp fill=800 slice=400,432
eth ip6 src=$HOST6 dst=$A6 frag6 id=24 ext kind=60 size=16 $route udp fill=800 slice=0,8
eth ip6 src=$HOST6 dst=$A6 frag6 id=24 ext kind=60 size=16 $route udp fill=800 slice=0,24
eth ip6 src=$HOST6 dst=$A6 ext kind=51 size=16 $route udp fill=500
eth ip6 src=$HOST6 dst=$A6 ext kind=135 size=8 $route udp fill=500
eth ip6 src=$HOST6 dst=$A6 ext kind=139 size=40 $route udp fill=500
eth ip6 src=$HOST6 dst=$A6 ext kind=140 size=8 frag6 id=25 ext kind=51 size=16 $route udp fill=500
END
judges_off
nothing_leaves "source routes, routing headers and endless chains leave nothing"
no_socket_heard "nor do they reach a socket of the DPU"
check "they were sent" [ "$(sent_bytes)" -gt 100000 ]
sleep 1
judges_on
steal --count 18000 --pps 6000 <<END
eth ip4 src=$HOST4 dst=$A4 opt=07270400000000000000000000000000000000000000000000000000000000000000000000000000 udp fill=1000
eth ip4 src=$HOST4 dst=$A4 opt=44280500000000000000000000000000000000000000000000000000000000000000000000000000 udp fill=1000
eth ip6 src=$HOST6 dst=$A6 ext kind=60 size=1024 options=1 udp fill=100
eth ip6 src=$HOST6 dst=$A6 ext kind=0 size=512 options=1 ext kind=60 size=512 options=1 udp fill=100
eth ip6 src=$HOST6 dst=$A6 ext kind=51 size=24 udp fill=1000
eth ip6 src=$HOST6 dst=$A6 frag6 id=26 ext kind=60 size=16 udp fill=800 slice=0,400
eth ip6 src=$HOST6 dst=$A6 frag6 id=26 ext kind=60 size=16 udp fill=800 slice=400,424
eth ip6 src=$HOST6 dst=$A6 type=59 fill=1000
eth ip4 src=$HOST4 dst=$A4 ip4 src=$HOST4 dst=$X4 udp fill=900
eth ip6 src=$HOST6 dst=$A6 ip6 src=$HOST6 dst=$X6 udp fill=900
eth ip4 src=$HOST4 dst=$X4 opt=0727040000 udp fill=1000
eth ip6 src=$HOST6 dst=$X6 ext kind=60 size=1024 options=1 udp fill=100
eth ip4 src=$HOST4 dst=10.7.0.1 ip4 src=$HOST4 dst=10.250.0.2 udp fill=900
eth ip6 src=$HOST6 dst=fd00:7:0::1 ip6 src=$HOST6 dst=fd00:250::2 udp fill=900
END
judges_off
within "options, extensions and tunnels stay within the grant" "$(arrived wire)" $RATE $BURST
something_at "and the grant was used over IPv4" d1 "^$A4\$"
something_at "and over IPv6" d1 "^$A6\$"
nothing_at "a stranger gets nothing by them" d4
nothing_at "nor does the management network" mgmt
no_socket_heard "nor a socket of the DPU"
done_testing
