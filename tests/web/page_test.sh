#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The page in a browser: page.mjs. Environment: PICTURES=DIR gets the pictures of README and docs/page.md; STATES=DIR gets all.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deps.sh
. "$here/deps.sh"
web_browser
web_deps
export BWL_PAGE=$BWL_SOURCE/web/page/dist
exec node "$here/page.mjs"
