#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A guest that QEMU ran into an int3 of its own kernel is booted again for the tests that had not ended, this one among
# them (vm-testbed/README.md). Here the guest prints what such a kernel prints, and ends.
# vm-cost: 35
# live: no bwlimit: the guest itself ends
# leak: no frames
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=../harness/tap.sh
. "$BWL_SOURCE/tests/harness/tap.sh"
grep -q 'model name.*QEMU' /proc/cpuinfo || { echo "1..0 # SKIP only an emulated guest is booted again"; exit 77; }

output=$(readlink "/proc/$$/fd/1") # in a folder of the host's, which outlives the guest
printed=${output%.out}.printed
if [[ ! -e $printed ]]; then
	ok "this is never judged: the first boot ends in here"
	: >"$printed"
	sync
	echo '<0>int3: 0000 [#1] PREEMPT SMP: printed by a test' >/dev/kmsg
	sleep 1
	echo b >/proc/sysrq-trigger # QEMU runs with -no-reboot
	sleep 60
fi
rm "$printed"
ok "a guest that ended with an int3 is booted again, and the test that was running runs again"
refute "without the output of its first time" grep -q "^ok 1 - this is never judged" "$output"
done_testing
