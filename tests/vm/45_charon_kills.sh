#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# charon is killed a hundred times under load, at random moments: nothing leaves in the clear, nobody gets more than
# the grant, and traffic always comes back. 46_charon_back is the short version.
# Measured: 100 kills in 58 minutes on an emulated CPU that had a third of a core: 72 000 frames at the two ports of
# the switch, none of them in the clear; of 1 445 windows of at least a second the fullest had 97 % of rate × T + burst.
# vm-cost: 1200
# vm-env: KILLS_SEED
# vm-needs: strongswan
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-kill-$$
# shellcheck source=../harness/tap.sh
. "$BWL_SOURCE/tests/harness/tap.sh"
# shellcheck source=lib/kills.sh
. "$BWL_SOURCE/tests/vm/lib/kills.sh"

KILLS_SEED=${KILLS_SEED:-$(od -An -N2 -tu2 /dev/urandom)} # different moments each time
kills_begin
for ((round = 0; round < 10; round++)); do kills 10; done
kills_end
