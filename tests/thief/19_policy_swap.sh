#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Policies swapped under load: the same one, one with another limit, one without the peer, one
# that reverts by itself.
set -uo pipefail
# shellcheck source=thief.sh
. "$(dirname "${BASH_SOURCE[0]}")/thief.sh"
attacks "2 and 6" "no swap adds a burst, and no packet passes in between"
LIMIT=1mbit
thief_peers() {
	echo "node_limit: { rate: 20mbit, burst: 300kb }"
	echo "peers:"
	[[ $LIMIT == none ]] || lab_peer alpha 1 "grant: { rate: $LIMIT, burst: 150kb }"
	lab_peer beta 2 "grant: { rate: 1mbit, burst: 150kb }"
}
swap() { thief_peers | lab_policy_head | lab_apply || nok "the policy applies"; }
thief_lab
sleep 1.5
judges_on
steal_on 300 8000 <<END
eth ip4 src=$HOST4 dst=$A4 udp fill=1000
eth ip6 src=$HOST6 dst=$B6 udp fill=1000
eth ip4 src=$HOST4 dst=$X4 udp fill=1000
eth ip6 src=$HOST6 dst=$X6 udp fill=1000
END
used=0
for LIMIT in 1mbit 500kbit 1mbit none 1mbit none 250kbit 1mbit 1mbit 1mbit none 1mbit; do
	swap
	comes d2 && used=$((used + 1))
done
sed 's/rate: 1mbit/rate: 900kbit/' "$LAB_TMP/policy.yaml" >"$LAB_TMP/trial"
in_force() { ctl --json policy show | jq -r .digest; }
before=$(in_force)
is_back() { [[ $(in_force) == "$before" ]]; }
is_over() { [[ $(ctl --json policy show | jq '.returns_in_s < 0') == true ]]; }
for END in in-time late; do
	ctl policy apply "$LAB_TMP/trial" --confirm 3s --yes >/dev/null 2>&1 || nok "apply --confirm"
	[[ -z ${THIEF_OPEN:-} ]] || continue
	[[ $END == in-time ]] || check "its time runs out" lab_wait_for 180 is_over
	ctl policy rollback >/dev/null 2>&1
	check "the policy before returns, $END" is_back
done
comes d2 && used=$((used + 1))
check "control: the thief sends until the last swap" kill -0 "$THIEF"
steal_stop
judges_off
within "a peer whose limit changes and comes back stays within the highest" "$(arrived d1)" $RATE $BURST
within "a peer that no swap names is not helped by them" "$(arrived d2)" $RATE $BURST
check "nor hurt: it goes on behind each of them" [ $used -eq 13 ]
nothing_at "a stranger never slips through" d4
nothing_at "nor does anything leave by the management port" mgmt
done_testing
