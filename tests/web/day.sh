#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A page left open leaks nothing: day.mjs. Run by hand, since it takes minutes (UPDATES=86400, a whole day: more than an hour):
# BWL_SOURCE=$PWD BWL_BUILD=$PWD/build/release tests/web/day.sh. LEAK=nodes,listeners,heap shows that it finds a leak.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deps.sh
. "$here/deps.sh"
web_browser
export BWL_PAGE=$BWL_SOURCE/web/page/dist
web_deps
exec node "$here/day.mjs"
