#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# etcd_shared.sh up|down FOLDER: the etcd of all tests that need an ordinary one (etcd.sh joins it, where BWL_ETCD is
# FOLDER). One member, with TLS and roles in force, its data in a tmpfs of its own. It outlives this script, not ctest's
# session: sweep ends it, and removes its namespace, which has its process id.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tap.sh
. "$here/tap.sh"
[[ $# -eq 2 && $1 == @(up|down) ]] || { echo 'etcd_shared.sh up|down FOLDER' >&2; exit 2; }
ETCD_DIR=$2 ETCD_N=1 BWL_ETCD=
# shellcheck source=etcd.sh
. "$here/etcd.sh"
etcd_ns() { echo "bwl-etcd-$ETCD_SHARED"; } # in place of etcd.sh's: the tests' namespaces have the cables
is_ours() { # pid: not another process that has got its number
	grep -qzFx -- "$ETCD_DIR/data1" "/proc/$1/cmdline"
} 2>/dev/null

down() { # also what a session that was killed has left
	local pid
	if read -r pid <"$ETCD_DIR/pid"; then
		! is_ours "$pid" || kill "$pid"
		await 60 eval "! is_ours $pid"
		ip netns del "bwl-etcd-$pid"
	fi 2>/dev/null
	rm -rf "$ETCD_DIR"/{pid,pki,data1,m1.log,seat-*} && { [[ ! -d $ETCD_DIR ]] || rmdir "$ETCD_DIR"; }
}
as_etcd() { # this process becomes etcd
	local ns
	ETCD_SHARED=$BASHPID
	ns=$(etcd_ns)
	# With an address of its own: otherwise it has that of a seat, and who has learnt it reaches nobody once that seat has left.
	ip netns add "$ns" && ip -n "$ns" link set lo up && ip -n "$ns" link add br0 address 02:00:00:00:00:02 type bridge &&
		ip -n "$ns" addr add 10.77.1.2/24 dev br0 && ip -n "$ns" link set br0 up || exit
	ETCD_IN=(unshare --mount sh -c 'mount -t tmpfs -o mode=700 tmpfs "$1" && shift && exec "$@"' sh "$ETCD_DIR/data1")
	etcd_run 1
}
up() {
	down && mkdir -p "$ETCD_DIR/data1" && etcd_pki || return
	as_etcd </dev/null >"$ETCD_DIR/m1.log" 2>&1 &
	ETCD_SHARED=$! ETCD_PID[1]=$!
	await 60 etcdctl_as root endpoint health && etcd_auth >/dev/null && echo "$ETCD_SHARED" >"$ETCD_DIR/pid" && return
	note "$(tail -n 20 "$ETCD_DIR/m1.log")"
	etcd_kill 1
	ip netns del "$(etcd_ns)" 2>/dev/null
	down
	return 1
}

if [[ ! -x $(command -v etcd) || ! -x $(command -v etcdctl) || $(id -u) -ne 0 ]]; then
	skip "etcd for several tests: $1" 'no etcd, or no root: those who need it say so'
elif [[ $1 == up ]]; then
	in_net() { nsenter --net="/run/netns/$(etcd_ns)" "$@"; }
	check "etcd runs, for several tests" up
else
	check "etcd has ended" down
fi
done_testing
