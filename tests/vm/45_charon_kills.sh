#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# charon killed a hundred times under load: nothing leaves in the clear, nobody gets more than the
# grant, and traffic always comes back. 46_charon_back is the short version.
# vm-long: yes
# vm-timeout: 2400
# vm-needs: strongswan
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-kill-$$
# shellcheck source=../harness/tap.sh
. "$BWL_SOURCE/tests/harness/tap.sh"
# shellcheck source=lib/kills.sh
. "$BWL_SOURCE/tests/vm/lib/kills.sh"

kills_begin
for ((round = 0; round < 10; round++)); do kills 10; done
kills_end
