#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# From a sign of tampering to the closed map in under 10 ms, by the clock of instructions, with charon,
# the log and the disk hanging, and the disk full: tests/netns/tamper_hang_test.sh, with IPsec and a limit.
# vm-cost: 60
# leak: its peers are sent to in the clear
# vm-icount: yes
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
BWL_LIMIT_MS=10 BWL_ROUNDS=10 exec bash "$BWL_SOURCE/tests/netns/tamper_hang_test.sh"
