#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# ./quickstart --fleet: every row is ok, and nothing is left behind, when it ends or is interrupted; with
# --keep it stays, until --remove.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source=${here%/*/*}
export BWL_BUILD=${BWL_BUILD:-$source/build/release}
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
[[ -x $(command -v etcd) && -x $(command -v jq) ]] ||
	{ echo '1..0 # SKIP no etcd or no jq: packaging/install-deps fleet'; exit 77; }
[[ $(id -u) -eq 0 ]] || { echo '1..0 # SKIP needs root for network namespaces'; exit 77; }
tmp=$(mktemp -d) pid='' kept=''
export TMPDIR=$tmp
finish() {
	[[ -z $pid ]] || { kill "$pid"; wait "$pid"; }
	[[ -z $kept ]] || "$source/quickstart" --remove "$kept"
	rm -rf "$tmp"
} >/dev/null 2>&1
trap finish EXIT
chmod 711 "$tmp" # bwlimit-sync is another user there
start() { # option…
	"$source/quickstart" --fleet --no-install "$@" >"$tmp/out" 2>&1 &
	pid=$!
}
left() { # namespaces, maps, sockets, folders and processes of the last one
	ip netns list 2>/dev/null | grep "bwl-quickstart-$pid-"
	compgen -G "/sys/fs/bpf/bwl-quickstart-$pid-*"
	compgen -G "/run/bwlimit/bwl-quickstart-$pid-*"
	compgen -G "$tmp/bwl-quickstart-$pid"
	pgrep -af "bwl-quickstart-${pid}[-/]"
}
none_left() {
	left >"$tmp/left"
	[[ ! -s $tmp/left ]]
}
clean() { # who is killed may still be in the list for a moment
	await 20 none_left && return
	sed 's/^/# /' "$tmp/left"
	return 1
}
begun() { grep -q '^== A policy' "$tmp/out"; }
await() { # seconds command…
	local end=$((SECONDS + $1))
	until "${@:2}"; do
		((SECONDS < end)) || return 1
		sleep 0.1
	done
}

start --keep --json "$tmp/json"
kept=bwl-quickstart-$pid
check "it ends well" wait "$pid"
check "with rows, each of them ok" eval 'jq -e "(.rows | length) >= 20 and all(.rows[]; .verdict == \"ok\")" "$tmp/json" >/dev/null'
[[ $TAP_BAD -eq 0 ]] || note "$(grep -v ' ok$' "$tmp/out")"
check "its fleet, which is to stay, is there: people ask it" eval \
	'nsenter --net="/run/netns/$kept-mgmt" "$BWL_BUILD/ctl/bwlimit-ctl" --fleet trays --conf "$tmp/$kept/fleet/fleet.conf" --json | jq -e "(.trays | length) == 3" >/dev/null'
check "as it says itself" grep -q -- "--remove $kept" "$tmp/out"
check "it is removed" "$source/quickstart" --remove "$kept"
kept=
check "and leaves nothing" clean
: >"$tmp/out" # that of the first says so already
start
check "control: another one is up" await 300 begun
check "and is there" eval '[[ -n $(left) ]]'
if long; then # otherwise one demonstration is enough: what ends it is the same
	check "it ends well, too" wait "$pid"
	check "and leaves nothing" clean
	: >"$tmp/out"
	start
	check "control: one more is up" await 300 begun
fi
kill "$pid"
wait "$pid" 2>/dev/null
check "told to end, it leaves nothing" clean
pid=
done_testing
