#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The encrypted part of ./quickstart, in a kernel that has IPsec.
# vm-cost: 60
# leak: ./quickstart has its own capture of the wire between its trays
# vm-needs: strongswan
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=../harness/tap.sh
. "$BWL_SOURCE/tests/harness/tap.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

row() { jq -e --arg d "$1" ".rows[] | select(.destination == \$d) | $2" "$work/json" >/dev/null; }
"$BWL_SOURCE/quickstart" --encrypted --no-install --json "$work/json" >"$work/out" 2>&1
rc=$?
sed 's/^/# /' "$work/out"
check "quickstart finds that it may encrypt, and every row is ok" test $rc -eq 0
check "before there are keys nothing arrives" row "tray-2, before it has keys" '.measured == 0 and .verdict == "ok"'
for family in 4 6; do
	check "through the tunnel IPv$family is held to the grant" row "tray-2, encrypted, UDP, IPv$family" \
		'.limit == 5000000 and .offered > 10000000 and .measured > 0 and .verdict == "ok"'
done
check "revoked, nothing arrives" row "tray-2, revoked" '.measured == 0 and .verdict == "ok"'
check "on the wire nothing was in the clear" row "the wire between them, in the clear" '.measured == 0 and .offered > 0'
check "nothing of the lab is left" test -z "$(ip netns list)"
done_testing
