# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# To be sourced: puts the page's sources and its npm packages (those of package-lock.json) into the build folder (WEB_DEPS). If the
# packages cannot be fetched, the test is skipped and says why. All tests share it: who changes a source does so in a copy.
web_skip() { # why
	echo "1..0 # SKIP $1"
	exit 77
}
# The shell is the same engine without a browser's windows: it shows a page for less than half of the CPU.
web_browser() {
	BWL_BROWSER=$(command -v chromium-headless-shell || command -v chromium) || web_skip "no chromium-headless-shell"
	export BWL_BROWSER
}
web_deps() {
	local page=$BWL_SOURCE/web/page lock
	command -v node >/dev/null || web_skip "no node"
	command -v npm >/dev/null || web_skip "no npm"
	WEB_DEPS=$BWL_BUILD/tests/web/page
	mkdir -p "$WEB_DEPS"
	exec 9>"$WEB_DEPS/lock"
	flock 9
	rm -rf "$WEB_DEPS/src" "$WEB_DEPS/dist"
	cp -r "$page"/{src,package.json,package-lock.json,tsconfig.json,build.mjs} "$WEB_DEPS/"
	lock=$(sha256sum <"$WEB_DEPS/package-lock.json")
	if [[ $(cat "$WEB_DEPS/installed" 2>/dev/null) != "$lock" ]]; then
		(cd "$WEB_DEPS" && npm ci --no-audit --no-fund --loglevel=error) >"$WEB_DEPS/npm.log" 2>&1 ||
			web_skip "npm ci: $(tail -n 1 "$WEB_DEPS/npm.log")"
		printf '%s\n' "$lock" >"$WEB_DEPS/installed"
	fi
	flock -u 9
	export WEB_DEPS
}
