#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The committed page is the one that its source and its locked packages make.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
# shellcheck source=deps.sh
. "$here/deps.sh"
web_deps
dist=$BWL_SOURCE/web/page/dist made=$(mktemp -d)
# A copy of its own: it changes a source, and another test lays the shared ones out anew.
# Packages are linked one by one: behind a symbolic link the assets get other names.
copy=$(mktemp -d -p "$BWL_BUILD/tests/web")
trap 'rm -rf "$made" "$copy"' EXIT
cp -r "$BWL_SOURCE"/web/page/{src,package.json,package-lock.json,tsconfig.json,build.mjs} "$copy/" || exit 1
cp -al "$WEB_DEPS/node_modules" "$copy/" || exit 1
cd "$copy" || exit 1
check "the page's types are right" npm run --silent check
check "it builds" node build.mjs "$made"
check "what is committed is what its source makes" diff -r "$dist" "$made"
# Control: another source makes another page.
sed -i 's/All promises hold/All promises held/' src/findings.ts
node build.mjs "$made"
refute "a changed source is seen" diff -rq "$dist" "$made"
# The files that the page itself names, without those that its script loads with the first chart.
first() { (cd "$dist" && cat index.html $(grep -o 'assets/[a-z0-9.-]*' index.html)) | wc -c; }
check "all that the first paint needs is below 150 kB" test "$(first)" -lt 150000
check "control: its script and its style are in that" test "$(first)" -gt 50000
note "$(first) bytes; with charts $(cat "$dist"/index.html "$dist"/assets/* | wc -c)"
refute "no script or style stands in the page itself" grep -nE '<style|style=|<script>|onclick|javascript:' "$dist/index.html"
refute "nothing in it asks another server" grep -ohE "(fetch|import|src|href)[ (=:]*[\"'\`]https?://[^\"'\`]*" -r "$dist"
done_testing
