#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What the pages refer to exists: links and anchors, commands with their options, alerts, tests and files; the README
# stays two screens, and the tutorial's pictures show the tutorial's commands.
set -uo pipefail
# lint.packaging looks for leaks of --help, which takes half of the time.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
exec "$here/docs_check.py" "${BWL_SOURCE:-${here%/*/*}}" "${BWL_BUILD:-${here%/*/*}/build/release}"
