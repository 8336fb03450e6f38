#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The etcd of several tests: whoever comes or goes, the others reach it as before.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tap.sh
. "$here/tap.sh"
etcd_wanted
tmp=$(mktemp -d)
shared=$tmp/shared
declare -A seat=() # processes that have joined, by name
finish() {
	kill "${seat[@]}"
	wait "${seat[@]}"
	[[ ! -v ETCD_SEAT ]] || etcd_down
	"$here/etcd_shared.sh" down "$shared" >/dev/null
	rm -rf "$tmp"
} 2>/dev/null
trap finish EXIT

check "control: it runs" eval '"$here/etcd_shared.sh" up "$shared" >"$tmp/up" || { note "$(cat "$tmp/up")"; false; }'
export BWL_ETCD=$shared
# This one is a seat itself; others are processes, for a seat's namespace has the number of its process.
ETCD_DIR=$tmp/own PREFIX=/bwl/v1 ETCD_N=1
mkdir "$ETCD_DIR"
# shellcheck source=etcd.sh
. "$here/etcd.sh"
joins() { # name: writes its namespace, seat and prefix when it can ask etcd, and leaves when it is told to end
	mkdir "$tmp/$1"
	# shellcheck disable=SC2016 # the inner shell expands it
	ETCD_DIR=$tmp/$1 PREFIX=/bwl/v1 ETCD_N=1 bash -c '. "$1/tap.sh"; . "$1/etcd.sh"; trap etcd_down EXIT; trap exit TERM
		etcd_up >/dev/null && etcdctl_as root put "$PREFIX/here" "$$" >/dev/null &&
			printf "%s\n" "$(etcd_ns net)" "$ETCD_SEAT" "$PREFIX" >"$ETCD_DIR/seat"
		while sleep 1; do :; done' seat "$here" &
	seat[$1]=$!
	await 60 test -s "$tmp/$1/seat"
}
of() { sed -n "$2p" "$tmp/$1/seat"; } # name, 1: namespace, 2: seat, 3: prefix
leaves() { # name
	kill "${seat[$1]}" && wait "${seat[$1]}"
	unset "seat[$1]"
	# The kernel takes its cable away later than its namespace's name.
	[[ ! -e /run/netns/$(of "$1" 1) ]] && await 60 eval "! ip -n $(etcd_ns 1) link show seat$(of "$1" 2)"
}
its() { ip -n "$(etcd_ns 1)" -j link show "$1" | jq -r '.[0].address'; } # interface of etcd's namespace
learnt() { ip -n "$(etcd_ns net)" -j neigh show 10.77.1.2 | jq -r '.[0].lladdr // empty'; }
asks() { etcdctl_as root put "$PREFIX/asked" x >/dev/null; }

check "control: this test joins it" eval 'etcd_up && asks'
check "control: its address is learnt, and is the bridge's" eval '[[ $(learnt) == $(its br0) ]]'
check "others join it" eval 'joins low && joins high'
check "each has a seat and a prefix of its own" \
	eval '[[ $(cat "$tmp"/{low,high}/seat | sort | uniq -d | wc -l) -eq 0 && $PREFIX != $(of low 3) && $PREFIX != $(of high 3) ]]'
# A bridge that was not given an address has the lowest one of its ports. Nobody is told when that port leaves: all others
# were cut off for up to a minute.
ip -n "$(etcd_ns 1)" link set "seat$(of low 2)" address 02:00:00:00:00:01
ip -n "$(etcd_ns net)" neigh flush dev to1
check "control: this test asks" asks
# What it has learnt stays, for the kernel asks again at some time within a minute.
ip -n "$(etcd_ns net)" neigh replace 10.77.1.2 lladdr "$(learnt)" dev to1 nud permanent
check "the one that had the lowest address leaves" leaves low
check "etcd has the address that others have learnt" eval '[[ $(its br0) == $(learnt) ]]'
check "and is reached by it" asks
check "another one joins then" joins low2
check "and etcd is reached as before" asks
pings() { nsenter --net="/run/netns/$1" ping -q -c 1 -W "$2" "10.77.1.$(of high 2)" >/dev/null; }
refute "no seat reaches another one" pings "$(etcd_ns net)" 1
check "control: etcd does" await 10 pings "$(etcd_ns 1)" 5
check "who leaves takes nothing of another one's along" eval 'leaves low2 && [[ -e /run/netns/$(of high 1) ]] && asks'
etcd_down
done_testing
