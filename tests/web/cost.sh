#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# How much CPU time of the page's main thread an update costs: the page of this tree beside that of each REVISION, in one browser at the
# same time (cost.mjs). Run by hand: BWL_SOURCE=$PWD BWL_BUILD=$PWD/build/release tests/web/cost.sh [--peers N] [--seconds N] [REVISION]...
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=deps.sh
. "$here/deps.sh"
web_browser
web_deps
pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
options=() dists=()
while [[ $# -gt 0 ]]; do
	if [[ $1 == --* ]]; then
		options+=("$1" "${2?$1 takes a number}")
		shift
	else
		mkdir "$pages/$1" && git -C "$BWL_SOURCE" archive "$1" web/page/dist | tar -x -C "$pages/$1" || exit 1
		dists+=("$pages/$1/web/page/dist")
	fi
	shift
done
node "$here/cost.mjs" "${options[@]}" "${dists[@]}" "$BWL_SOURCE/web/page/dist"
