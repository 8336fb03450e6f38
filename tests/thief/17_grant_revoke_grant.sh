#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Grant, revoke, grant: a new grant must not bring a new burst or a new volume.
set -uo pipefail
# shellcheck source=thief.sh
. "$(dirname "${BASH_SOURCE[0]}")/thief.sh"
attacks "2, 3 and 9" "revoking and granting again adds no burst and no volume; revoke holds"
thief_peers() {
	echo "peers:"
	lab_peer alpha 1 "grant: { rate: 1mbit, burst: 150kb }"
	lab_peer beta 2 "grant: { rate: 100mbit, burst: 150kb, volume: 1mb }"
}
thief_lab
sleep 1.5
judges_on
steal_on 300 6000 <<END # until the last grant is given, however long that takes
eth ip4 src=$HOST4 dst=$A4 udp fill=1000
eth ip6 src=$HOST6 dst=$B6 udp fill=1000
eth ip6 src=$HOST6 dst=$A6 udp fill=1000
eth ip4 src=$HOST4 dst=$B4 udp fill=1000
END
used=0
for ((i = 0; i < 15; i++)); do
	ctl revoke alpha beta >/dev/null 2>&1
	sleep 0.02
	ctl grant alpha rate 1mbit burst 150kb reason test >/dev/null 2>&1 || nok "grant alpha"
	ctl grant beta rate 100mbit burst 150kb for 1h reason test >/dev/null 2>&1 || nok "grant beta"
	comes d1 && used=$((used + 1))
done
check "most of the volume arrives" lab_wait_for 180 has_come d2 eth0 900000
steal_stop
judges_off
within "fifteen grants are worth one burst" "$(arrived d1)" $RATE $BURST
check "each of the fifteen grants was usable" [ $used -eq 15 ]
note "$(arrived d2) bytes of a volume of 1048576"
promised "and fifteen grants are one volume" [ "$(arrived d2)" -le 1048576 ]
check "most of which was usable" [ "$(arrived d2)" -ge 890000 ]
ctl revoke --all >/dev/null 2>&1
lab_settle
judges_on
steal --count 600 --pps 2000 <"$LAB_TMP/frames"
judges_off
nothing_leaves "after revoke --all nothing leaves"
thief_peers | lab_policy_head | lab_apply
judges_on
steal --count 600 --pps 2000 <"$LAB_TMP/frames"
judges_off
nothing_leaves "nor after the same policy is applied again"
ctl grant alpha rate 1mbit burst 150kb reason test >/dev/null 2>&1 || nok "grant alpha"
judges_on
steal --count 600 --pps 2000 <"$LAB_TMP/frames"
judges_off
something_at "but a new grant opens it over IPv4: the judges were not deaf" d1 "^$A4\$"
something_at "and over IPv6" d1 "^$A6\$"
nothing_at "and opens nobody else" d2
done_testing
