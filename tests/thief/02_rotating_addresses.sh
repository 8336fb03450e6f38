#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A new address for every packet: destinations all over a /64, sources all over the host's prefix.
set -uo pipefail
# shellcheck source=thief.sh
. "$(dirname "${BASH_SOURCE[0]}")/thief.sh"
attacks 2 "a grant passes at most rate x T + burst, whatever address of it is used"
thief_lab
sleep 1
judges_on
steal --count 18000 --pps 6000 <<END
eth ip6 src=$HOST6 dst=fd00:101::/64 udp fill=1000
eth ip6 src=fd00:7::/64 dst=fd00:101::/64 udp fill=1000
eth ip4 src=10.7.0.0/24 dst=10.101.0.0/24 udp fill=1000
eth ip6 src=$HOST6 dst=fd00:104::/64 udp fill=1000
eth ip4 src=$HOST4 dst=10.104.0.0/16 udp fill=1000
eth ip6 src=fd00:8::/32 dst=fd00:101::/64 udp fill=1000
END
judges_off
check "the destinations were many" [ "$(grep -c '^86dd fd00:101:' "$LAB_TMP/at-d1")" -gt 100 ]
within "a /64 is one grant, whatever address a packet takes" "$(arrived d1)" $RATE $BURST
something_at "and that grant was used over IPv4" d1 "^10"
something_at "and over IPv6" d1 "^fd00"
nothing_at "addresses of no peer are dead" d4
nothing_at "and lead nowhere else" mgmt
nothing_at "sources outside the host's prefixes are dead" wire . '^fd00:8:'
granted_arrives "the flood of addresses is over"
done_testing
