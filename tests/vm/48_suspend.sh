#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The kernel tells bwlimit's program of a suspend. A guest's root file system does not survive one (9p), so the test
# goes only as far as the kernel's own test of the first step: processes are frozen, and thawed. In between it waits by reading
# the clock, 5 s if nobody says otherwise, and an emulated clock is read slowly.
# vm-cost: 15
# leak: its peer is sent to in the clear
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-suspend-$$ LAB_DESTS=1
# shellcheck source=../harness/tap.sh
. "$BWL_SOURCE/tests/harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$BWL_SOURCE/tests/harness/lab.sh"
# shellcheck source=../harness/live.sh
. "$BWL_SOURCE/tests/harness/live.sh"
[[ -w /sys/power/pm_test ]] || { echo "1..0 # SKIP this kernel has no /sys/power/pm_test"; exit 77; }

resumes() { bpftool -j map dump pinned "$LAB_PINS/maps/bwl_ctl_v1" | jq '.[0].formatted.value.resumes'; }
freeze() { echo freezer >/sys/power/pm_test && echo freeze >/sys/power/state; }
noted() { # command…: whether it raised the counter; nothing else changes it
	local was
	was=$(resumes)
	"$@" && [[ $(resumes) != "$was" ]]
}

echo 0 >/sys/module/suspend/parameters/pm_test_delay
lab_up || exit 1
check "bwlimit attaches" lab_attach
check "a policy is in force" lab_apply < <({ echo peers:; lab_peer d1 1 "grant: { rate: 40mbit }"; } | lab_policy_head none)
refute "nothing is noted where nothing suspends" noted true
check "a suspend is noted" noted freeze
rm "$LAB_PINS/links/suspend"
refute "nor is it without the program" noted freeze
check "attach brings it back" lab_attach
check "and it is noted again" noted freeze
LIVE_PPS=400 live "two suspends"
echo none >/sys/power/pm_test
done_testing
