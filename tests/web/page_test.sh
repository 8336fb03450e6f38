#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The page in a browser. page_test.sh [GROUP]...: page.mjs says which there are; none are those of the core, "all" is all of them.
# Environment: PICTURES=DIR gets the pictures of README and docs/page.md; STATES=DIR gets all; ONLY=REGEX runs parts of that name alone;
# PAGE_GROUPS: the groups, for ctest.
# live: documents of a model are shown: no DPU is here
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deps.sh
. "$here/deps.sh"
web_browser
web_deps
export BWL_PAGE=$BWL_SOURCE/web/page/dist
read -ra groups <<<"${PAGE_GROUPS-}"
exec node "$here/page.mjs" "${groups[@]}" "$@"
