#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Just before expiry: everything is sent in the last moments, with every tool and daemon dead,
# and moving the wall clock does not prolong it.
set -uo pipefail
# shellcheck source=thief.sh
. "$(dirname "${BASH_SOURCE[0]}")/thief.sh"
attacks 4 "a grant ends at its expiry, in the data plane, and so does everything without a heartbeat"
thief_lab
frames="eth ip4 src=$HOST4 dst=$A4 udp fill=1000
eth ip6 src=$HOST6 dst=$A6 udp fill=1000"
# On a machine that is late the grant may be over before the thief had his turn: then it is given for longer.
for life in 4 16 64; do
	judges_on
	had=$(lab_rx d1 eth0)
	ctl grant alpha rate 1mbit burst 150kb for ${life}s reason test >/dev/null 2>&1 || nok "the grant is given"
	granted=$(now_us)
	sleep 1.5 # the bucket is full
	began=$(now_us)
	steal_on 300 6000 <<<"$frames"
	until [[ $(now_us) -ge $((granted + life * 1000000 + 20000)) ]]; do sleep 0.005; done # what is paced leaves within 10 ms
	lab_settle
	! has_come d1 eth0 $((${had% *} + 20000)) || break
	[[ $life -lt 64 ]] || break
	steal_stop
	judges_off
done
read -r before _ < <(lab_rx d1 eth0)
by_host() { in_host cat /proc/net/dev | awk '$1 == "h0:" { print $11 }'; } # frames that it sent
at=$(by_host)
goes_on() { [[ $(by_host) -gt $((at + 1000)) ]]; }
check "the thief sends on behind the expiry" lab_wait_for 180 goes_on
steal_stop
lab_settle
read -r after _ < <(lab_rx d1 eth0)
judges_off
something_at "the grant was used before over IPv4" d1 "^$A4\$"
something_at "and over IPv6" d1 "^$A6\$"
note "$((after - before)) bytes at the destination's interface after the expiry"
promised "after the expiry nothing more arrives" [ $((after - before)) -lt 500 ]
T=$(awk -v us=$((granted + life * 1000000 - began)) 'BEGIN { print us / 1e6 }')
within "the last moments are worth rate x time + burst" "$(arrived d1)" $RATE $BURST

# The heartbeat: 3 s, then silence.
thief_peers | lab_policy_head 3s | lab_apply
ctl grant alpha rate 1mbit burst 150kb for 1h reason test >/dev/null 2>&1
judges_on
had=$(lab_rx d1 eth0)
beats() { # on a machine that is late the three seconds may be over before the thief has his turn
	ctl heartbeat >/dev/null
	beaten=$(now_us)
	steal --count 200 --pps 2000 <<<"$frames"
	lab_settle
	has_come d1 eth0 $((${had% *} + 3000))
}
lab_wait_for 180 beats
judges_off
something_at "with a heartbeat the grant works over IPv4" d1 "^$A4\$"
something_at "and over IPv6" d1 "^$A6\$"
until [[ $(now_us) -ge $((beaten + 3300000)) ]]; do sleep 0.02; done
judges_on
steal --count 2000 --pps 2000 <<<"$frames"
judges_off
nothing_leaves "without one nothing leaves, though the grant has an hour left"
thief_peers | lab_policy_head | lab_apply
granted_arrives "there is a heartbeat again, and a policy by which it holds"
done_testing
