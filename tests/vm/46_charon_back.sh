#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# charon killed under load, and SAs and policies that somebody takes out of the kernel: nothing leaves
# in the clear, nobody gets more than the grant, and traffic comes back by itself.
# vm-long: yes
# vm-timeout: 600
# vm-needs: strongswan
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-back-$$
# shellcheck source=../harness/tap.sh
. "$BWL_SOURCE/tests/harness/tap.sh"
# shellcheck source=lib/kills.sh
. "$BWL_SOURCE/tests/vm/lib/kills.sh"

MESH_IPSEC='ca: bwlimit.pem, dpd: 2s' # nothing is rekeyed because its time has come
kills_begin
kills 5
in_ns dpu1 ip xfrm state flush
check "with its SAs flushed behind everybody's back a tray gets new ones" passes 10.0.2.2
in_ns dpu1 ip xfrm policy flush
check "and with its policies flushed" passes 10.0.2.2
kills_end
