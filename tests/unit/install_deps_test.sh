#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# packaging/install-deps beside another apt: it waits for each of its locks, and not for ever. apt works in a root of its own
# here, with a repository of one package; in place of dpkg there is a program that notes what it was told.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_dir=${BWL_SOURCE:-${here%/*/*}}
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
# shellcheck source=../harness/pause.sh
. "$here/../harness/pause.sh"
[[ $(id -u) -eq 0 ]] || { echo "needs root: install-deps does"; exit 77; }
for tool in dpkg-deb dpkg-scanpackages apt-get python3; do
	command -v "$tool" >/dev/null || { echo "needs $tool"; exit 77; }
done
tmp=$(mktemp -d)
holder='' going=''
done_with() {
	local pid
	for pid in $holder $going; do kill "$pid" 2>/dev/null; done
	rm -rf "$tmp"
}
trap done_with EXIT
root=$tmp/root
mkdir -p "$root"/{state/lists/partial,cache/archives/partial,etc/apt.conf.d,etc/preferences.d,etc/trusted.gpg.d} \
	"$tmp"/{repo,packaging,build/DEBIAN}
: >"$root/state/status"
printf 'Package: bwl-sample\nVersion: 1\nArchitecture: all\nMaintainer: t <t@example.org>\nDescription: sample\n' \
	>"$tmp/build/DEBIAN/control"
dpkg-deb --root-owner-group --build "$tmp/build" "$tmp/repo/bwl-sample_1_all.deb" >/dev/null || exit 1
(cd "$tmp/repo" && dpkg-scanpackages . >Packages 2>"$tmp/scan") || { sed 's/^/# /' "$tmp/scan"; exit 1; }
echo "deb [trusted=yes] copy:$tmp/repo ./" >"$root/etc/sources.list"
cat >"$tmp/dpkg" <<-END
	#!/bin/sh
	case \$* in *bwl-sample*) echo "\$*" >>"$tmp/installed" ;; esac
END
chmod +x "$tmp/dpkg"
cat >"$tmp/apt.conf" <<-END
	Dir::State "$root/state"; Dir::State::status "$root/state/status"; Dir::Cache "$root/cache"; Dir::Etc "$root/etc";
	Dir::Log "$root"; Dir::Bin::dpkg "$tmp/dpkg"; APT::Sandbox::User "root"; DPkg::Use-Pty "false";
END
export APT_CONFIG=$tmp/apt.conf
cp "$source_dir/packaging/install-deps" "$tmp/packaging"
printf '# list\nbwl-sample one\nbwl-none two sh\nbwl-none three\n' >"$tmp/packaging/debian-deps.txt"

deps() { "$tmp/packaging/install-deps" "$@" >"$tmp/out" 2>&1; }
begin() { # [wait]: in the background; out has its stderr
	rm -f "$tmp/installed"
	: >"$tmp/out"
	BWL_APT_WAIT=${1:-600} "$tmp/packaging/install-deps" one 2>>"$tmp/out" >/dev/null &
	going=$!
}
ended() { # its exit status
	wait "$going"
	local rc=$?
	going=''
	[[ $rc -eq 0 ]] || sed 's/^/# /' "$tmp/out"
	return $rc
}
said() { grep -q -- "$1" "$tmp/out"; }
until_said() { # words: or until it ended
	while ! said "$1" && kill -0 "$going" 2>/dev/null; do pause_since 50000 "${EPOCHREALTIME/[.,]/}"; done
	said "$1"
}
hold() { # file below the root
	python3 -c 'import fcntl, signal, sys
f = open(sys.argv[1], "w")
fcntl.lockf(f, fcntl.LOCK_EX)
open(sys.argv[2], "w").write("held")
signal.pause()' "$root/$1" "$tmp/held" &
	holder=$!
	while [[ ! -s $tmp/held ]]; do pause_since 20000 "${EPOCHREALTIME/[.,]/}"; done
	rm "$tmp/held"
}
release() {
	kill "$holder"
	wait "$holder" 2>/dev/null
	holder=''
}

begin
check "nobody else: the package is installed" ended
check "by dpkg" test -s "$tmp/installed"
refute "and nothing was waited for" said waiting
for lock in state/lists/lock state/lock-frontend cache/archives/lock; do
	hold $lock
	begin
	check "another apt has ${lock#*/}: it waits, and says so" until_said "waiting for another apt: Could not get lock $root/$lock"
	refute "$lock: nothing is installed meanwhile" test -s "$tmp/installed"
	release
	check "$lock: it goes on when the other has ended" ended
	check "$lock: and installs it" test -s "$tmp/installed"
	check "$lock: it says once that it waits" test "$(grep -c waiting "$tmp/out")" == 1
done
hold state/lists/lock
SECONDS=100000 begin
check "however long it has run before: it waits" until_said "waiting for another apt"
release
check "and goes on" ended
hold state/lists/lock
begin 0
refute "it does not wait for ever" ended
check "and says what it waited for" said 'another apt has not ended within 0 s'
release
refute "any other failure is one at once" deps three
check "in apt's words" said 'Unable to locate package bwl-none'
check "what somebody else's program does is not installed" deps two
refute "and apt is not asked" test -s "$tmp/out"
done_testing
