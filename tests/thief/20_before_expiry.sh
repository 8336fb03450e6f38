#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Just before expiry: everything is sent in the last moments, with every tool and daemon dead,
# and the wall clock is of no use to prolong it.
set -uo pipefail
# shellcheck source=thief.sh
. "$(dirname "${BASH_SOURCE[0]}")/thief.sh"
attacks 4 "a grant ends at its expiry, in the data plane, and so does everything without a heartbeat"
thief_lab
frames="eth ip4 src=$HOST4 dst=$A4 udp fill=1000"
ctl grant alpha rate 1mbit burst 150kb for 3s reason test >/dev/null 2>&1 || nok "the grant is given"
granted=$(now_us)
sleep 1.5 # the bucket is full
judges_on
steal_on 4 6000 <<<"$frames"
sleep 1.4
until [[ $(now_us) -ge $((granted + 3050000)) ]]; do sleep 0.005; done
read -r before _ < <(lab_rx d1 eth0)
steal_end
read -r after _ < <(lab_rx d1 eth0)
judges_off
something_at "the grant was used before" d1
note "$((after - before)) bytes at the destination's interface after the expiry"
check "after the expiry nothing more arrives" [ $((after - before)) -lt 500 ]
T=1.6
within "the last moments are worth rate x time + burst" "$(arrived d1)" $RATE $BURST

# The heartbeat: 2 s, then silence.
thief_peers | lab_policy_head | sed 's/^heartbeat:.*/heartbeat: 2s/' | lab_apply
beaten=$(now_us)
ctl grant alpha rate 1mbit burst 150kb for 1h reason test >/dev/null 2>&1
judges_on
steal --seconds 1 --pps 2000 <<<"$frames"
judges_off
something_at "with a heartbeat the grant works" d1
until [[ $(now_us) -ge $((beaten + 2300000)) ]]; do sleep 0.02; done
judges_on
steal --seconds 1 --pps 2000 <<<"$frames"
judges_off
nothing_at "without one nothing leaves, though the grant has an hour left" wire
done_testing
