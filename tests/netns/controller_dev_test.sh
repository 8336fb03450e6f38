#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# bwlimit-controller --dev: one command makes a fleet for a trial, with an etcd whose roles are in force.
# live: no tray here: bwlimit-controller and its etcd alone are killed
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${BWL_BUILD:-${here%/*/*}/build/release}
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
etcd_wanted
tmp=$(mktemp -d) ns=bwl-dev-$$ dev= sync=
etcd= fleet=$tmp/fleet ctl=$build/ctl/bwlimit-ctl url=https://127.0.0.1:2379
finish() {
	[[ -z $etcd ]] || kill -KILL "$etcd"
	[[ -z $sync ]] || kill "$sync"
	[[ -z $dev ]] || { kill "$dev"; wait "$dev"; }
	ip netns del "$ns"
	rm -rf "$tmp"
} 2>/dev/null
trap finish EXIT
ip netns add "$ns" && ip -n "$ns" link set lo up || exit 1
in_ns() { nsenter --net="/run/netns/$ns" "$@"; }
start() { # tray,…
	nsenter --net="/run/netns/$ns" "$build/fleet/controller/bwlimit-controller" --dev "$fleet" --trays "$1" >"$tmp/out" 2>&1 &
	dev=$!
}
await() { # seconds command…
	local end=$((SECONDS + ($1 > 90 ? $1 : 90))) # busy machines are slow
	shift
	until "$@" >/dev/null 2>&1; do
		((SECONDS < end)) || return 1
		sleep 0.1
	done
}
says() { grep -q -- "$1" "$tmp/out" || { note "$(cat "$tmp/out")"; false; }; }
tray() { # name word…: etcdctl with its certificate
	local at=$fleet/trays/$1
	shift
	ETCDCTL_API=3 in_ns etcdctl --endpoints "$url" --cacert "$at/ca.pem" --cert "$at/cert.pem" --key "$at/key.pem" \
		--command-timeout 20s "$@" 2>"$tmp/err"
}
denied() { ! tray "$@" >/dev/null && grep -q 'permission denied' "$tmp/err"; } # for that, and not because etcd is slow
holds_lock_file() { [[ $(readlink "/proc/$1/fd/"*) == *"$fleet/etcd.lock"* ]]; } # pid
listens() { [[ -n $(in_ns ss -Hlt 'sport = :2379') ]]; }

start tray-1,tray-2
check "one command, and it leads" await 40 says '^leads'
check "it says what comes next, and that this is none that is to hold" says 'no fleet\|do not use it for production'
check "keys and folders are their owner's alone" [ -z "$(find "$fleet" -perm /077 -print -quit)" ]
check "the root is signed by two people" eval '"$ctl" policy verify "$fleet/root" | grep_all "verified  2"'
check "and so is each enrolment" eval '"$ctl" policy verify "$fleet/enrolments/tray-2" --root "$fleet/root" | grep_all "verified  2"'
check "the time is signed, and a tray reads it" await 10 eval '[[ $(tray tray-1 get --print-value-only /bwl/v1/all/doc/timestamp/time) ]]'
check "a tray writes what it says itself" eval 'tray tray-1 put /bwl/v1/node/tray-1/out/status x >/dev/null'
check "and no other's" denied tray-1 put /bwl/v1/node/tray-2/out/status x
check "nor a document" denied tray-1 put /bwl/v1/all/doc/policy/base x
refute "who has no certificate reads nothing" env ETCDCTL_API=3 nsenter --net="/run/netns/$ns" etcdctl --endpoints "$url" \
	--cacert "$fleet/pki/ca.pem" --command-timeout 2s get --prefix /bwl 2>/dev/null
nsenter --net="/run/netns/$ns" "$build/sync/bwlimit-sync" --servers "$url" --tray tray-1 --ca "$fleet/trays/tray-1/ca.pem" \
	--cert "$fleet/trays/tray-1/cert.pem" --key "$fleet/trays/tray-1/key.pem" --agent "$tmp/agent" \
	--accept-etcd-holes >"$tmp/sync" 2>&1 &
sync=$!
check "bwlimit-sync connects as the command says" await 10 grep -q 'connected' "$tmp/sync"

# While stopped, etcd cannot end properly when its controller dies: it keeps its address and its files.
etcd=$(pgrep -P "$dev" -x etcd)
freeze_process "$etcd"
kill -9 "$dev" && wait "$dev" 2>/dev/null
before=$(sha256sum "$fleet/root" "$fleet/keys/alice.pem" "$fleet/trays/tray-1/cert.pem")
check "control: killed, its etcd has not ended yet" listens
start tray-1,tray-2,tray-3
check "a second etcd waits for the first" eval 'await 20 holds_lock_file "$dev" && [[ -z $(pgrep -P "$dev" -x etcd) ]]'
kill -CONT "$etcd"
check "that ends by itself" await 20 eval '! kill -0 "$etcd"'
etcd=
check "and then it goes on" await 60 says '^leads'
check "with the keys that are there" [ "$(sha256sum "$fleet/root" "$fleet/keys/alice.pem" "$fleet/trays/tray-1/cert.pem")" = "$before" ]
check "and a tray more" await 20 tray tray-3 put /bwl/v1/node/tray-3/out/status x
kill "$dev"
check "it ends when it is told to" wait "$dev"
dev=
refute "and etcd with it" listens
done_testing
