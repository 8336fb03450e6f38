#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The same destination under a new name: a rename must not bring a new bucket or a new volume.
set -uo pipefail
# shellcheck source=thief.sh
. "$(dirname "${BASH_SOURCE[0]}")/thief.sh"
attacks "2 and 3" "renaming adds no burst and no volume"
N=0
thief_peers() {
	echo "peers:"
	lab_peer "alpha$N" 1 "grant: { rate: 1mbit, burst: 150kb }"
	lab_peer "beta$N" 2 "grant: { rate: 100mbit, burst: 150kb, volume: 1mb }"
}
thief_lab
sleep 1.5
judges_on
steal_on 300 6000 <<END # until the last name is in force, however long that takes
eth ip4 src=$HOST4 dst=$A4 udp fill=1000
eth ip6 src=$HOST6 dst=$B6 udp fill=1000
END
used=0
for ((N = 1; N <= 12; N++)); do
	thief_peers | lab_policy_head | lab_apply || nok "policy $N applies"
	comes d1 && used=$((used + 1))
done
check "most of the volume arrives" lab_wait_for 180 has_come d2 eth0 900000
steal_stop
judges_off
within "twelve names are worth one burst" "$(arrived d1)" $RATE $BURST
check "the grant was usable under every name" [ $used -eq 12 ]
note "$(arrived d2) bytes of a volume of 1048576"
promised "and one volume" [ "$(arrived d2)" -le 1048576 ]
check "most of which was usable" [ "$(arrived d2)" -ge 890000 ]
done_testing
