#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# How bwlimit tracks what the kernel holds: SAs and policies made and removed by iproute2, which
# does not know bwlimit.
# vm-cost: 55
# live: no packets: what the tracker learns
# leak: no frames
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-xfrm-$$ LAB_DESTS=0
# shellcheck source=../harness/tap.sh
. "$BWL_SOURCE/tests/harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$BWL_SOURCE/tests/harness/lab.sh"
# shellcheck source=lib/xfrm.sh
. "$BWL_SOURCE/tests/vm/lib/xfrm.sh"

lab_up || exit 1
check "bwlimit attaches" attach hpf0
two() { encrypted one 101 192.0.2.2; encrypted two 102 192.0.2.3; }
check "a policy with two encrypted peers holds" apply < <(two)
one=$(tunnel one | jq .if_id) two=$(tunnel two | jq .if_id)
note "ids $one $two"
check "without an SA nothing may leave" is one '.sa_out == false'
check "track says: no-sa" test "$(track one | jq -r .sa_state)" = no-sa

watch_up
check "an SA alone opens nothing" sa out "$one" 0x1001 192.0.2.2
check "track says that its policy is missing" test "$(track one | jq -r .sa_state)" = no-policy
policy out "$one" 192.0.2.2 0.0.0.0/0
check "with the policy that demands it, it opens" becomes one '.sa_out'
check "its SPI is shown" is one '.spi_out == "0x00001001"'
check "nothing is offloaded" is one '.offload == "none"'
check "overhead is that of AES-GCM in IPv4" test "$(track one | jq .overhead_bytes)" = 57
check "the other peer stays closed" is two '.sa_out == false'
sa in "$one" 0x2001 192.0.2.2
check "the inbound SA is seen" becomes one '.sa_in and .spi_in == "0x00002001"'
policy out "$one" 192.0.2.2 ::/0

sa out "$one" 0x1002 192.0.2.2
check "a rekey: both SAs are there, open" becomes one '.sa_out'
sa_gone 192.0.2.2 0x1001
check "the old one is gone, still open with the new one" becomes one '.sa_out and .spi_out == "0x00001002"'
refute "in between it was never closed" says '.peer == "one" and .sa_out == false and .spi_in == "0x00002001"'
sa_gone 192.0.2.2 0x1002
check "the last SA, removed behind our back, closes" becomes one '.sa_out == false'
check "while the inbound one is there" is one '.sa_in'

sa out "$one" 0x1003 192.0.2.2 limit time-hard 3
check "an SA with a hard lifetime opens" lab_wait_for 20 says '.peer == "one" and .spi_out == "0x00001003"'
check "and closes when that has passed" becomes one '.sa_out == false'

sa out "$one" 0x1004 192.0.2.2
becomes one '.sa_out'
sa out "$one" 0x1005 192.0.2.9
check "an SA to another DPU is an alarm" lab_wait_for 20 alarms 'sa-remote.*192.0.2.9'
check "and is not used" is one '.sa_out and .spi_out == "0x00001004"'
policy out "$one" 192.0.2.9 10.0.0.0/8
check "an IPsec policy to another DPU closes" becomes one '.sa_out == false'
check "and is an alarm" alarms 'policy-remote.*192.0.2.9'
policy_gone out "$one" 10.0.0.0/8
sa_gone 192.0.2.9 0x1005
check "it opens when both are gone" becomes one '.sa_out'
in_dpu ip xfrm policy add dir out src 10.3.0.0/16 dst 10.3.0.0/16 if_id "$one"
check "an IPsec policy that demands nothing closes" becomes one '.sa_out == false'
check "and is an alarm" alarms open-policy
policy_gone out "$one" 10.3.0.0/16
becomes one '.sa_out'
in_dpu ip xfrm policy add dir out src 10.3.0.0/16 dst 10.3.0.0/16 if_id "$one" action block
check "one that blocks does not" test "$(track one | jq -r .sa_state)" = usable

in_dpu ip xfrm state add src $ME dst 192.0.2.3 proto esp spi 0x3001 reqid "$two" mode tunnel \
	if_id "$two" enc 'ecb(cipher_null)' '' auth 'hmac(sha256)' "0x$(printf '%064d' 1)"
policy out "$two" 192.0.2.3 0.0.0.0/0
check "the null cipher is an alarm" lab_wait_for 20 alarms 'not-encrypted'
check "and opens nothing" is two '.sa_out == false'
sa out "$two" 0x3002 192.0.2.3
check "also beside an SA that encrypts" test "$(track two | jq -r '.sa_state')" = not-encrypted
sa_gone 192.0.2.3 0x3001
check "without it, it opens" becomes two '.sa_out'
in_dpu ip xfrm state flush
check "a flush of all SAs closes every peer" becomes two '.sa_out == false'
check "that one, too" becomes one '.sa_out == false and .sa_in == false'

sa out "$one" 0x1006 192.0.2.2
sa out "$two" 0x3003 192.0.2.3
becomes one '.sa_out' && becomes two '.sa_out'
freeze_process "$WATCH"
check "a policy in which the peers have swapped their DPUs" \
	apply < <(encrypted one 101 192.0.2.3; encrypted two 102 192.0.2.2)
kill -CONT "$WATCH"
check "closes the one" becomes one '.sa_out == false'
check "and the other" becomes two '.sa_out == false'
apply < <(two)
check "both are open again by the policy of before" becomes one '.sa_out'
becomes two '.sa_out'
check "a policy without the peer" apply < <(encrypted two 102 192.0.2.3)
check "closes its entry" lab_wait_for 20 says ".if_id == $one and .sa_out == false and .sa_state == \"no-peer\""
apply < <(two)
check "and with it opens it again" becomes one '.sa_out'

# IPv6 as the outer protocol.
apply < <(two; encrypted six 103 2001:db8::6)
six=$(tunnel six | jq .if_id)
ME=2001:db8::1 policy out "$six" 2001:db8::6 0.0.0.0/0
ME=2001:db8::1 sa out "$six" 0x6001 2001:db8::6
check "a peer whose DPU has an IPv6 address opens" becomes six '.sa_out and .spi_out == "0x00006001"'
check "its packets grow by 20 bytes more" test "$(track six | jq .overhead_bytes)" = 77
sa out "$six" 0x6002 192.0.2.6
check "an SA in IPv4 is not with its DPU" lab_wait_for 20 alarms 'sa-remote.*192.0.2.6'
in_dpu "$XFRM" drop "$six" "$six" >/dev/null
check "and closes with its last SA" becomes six '.sa_out == false'

# Removal.
sa_gone 192.0.2.2 0x1006
sa in "$two" 0x5001 192.0.2.3
sa out "$one" 0x1007 192.0.2.2
before=$(in_dpu ip xfrm policy list | grep -c '^src')
check "drop removes what belongs to a peer" test "$(in_dpu "$XFRM" drop "$two" "$two")" = "2 1"
in_dpu ip xfrm state list >"$LAB_TMP/states"
check "nothing of it is left" eval '[[ -s $LAB_TMP/states ]] && ! grep -q "$(printf "if_id.*%#x" "$two")" "$LAB_TMP/states"'
check "the rest is" test "$(in_dpu ip xfrm state list | grep -c '^src') $(in_dpu ip xfrm policy list | grep -c '^src')" = "1 $((before - 1))"
check "the tracker saw it" becomes two '.sa_out == false'
check "again there is nothing to remove" test "$(in_dpu "$XFRM" drop "$two" "$two")" = "0 0"
kill -KILL "$WATCH"
wait "$WATCH" 2>/dev/null
sa_gone 192.0.2.2 0x1007
check "what a killed tracker left open" is one '.sa_out'
in_dpu "$CTL" ipsec track >/dev/null
check "is closed by the next" is one '.sa_out == false'
check "by default nothing is blocked that no policy matches" test "$(in_dpu "$XFRM" default)" = ""
in_dpu ip xfrm policy setdefault out block 2>/dev/null &&
	check "a default of block is seen" test "$(in_dpu "$XFRM" default)" = "out"
done_testing
