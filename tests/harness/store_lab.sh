# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034 # scripts that source this use its variables
# A real etcd, and programs beside it, without a DPU. Source it first: it sources tap.sh and etcd.sh, skips the test if there is
# no etcd, and at exit ends `ours`, calls the test's clean_up, and removes the rest. ETCD_N: number of members (3). Debian's
# etcd has known vulnerabilities: programs accept it with --accept-etcd-holes, and refuse it otherwise.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${BWL_BUILD:-${here%/*/*}/build/release}
# shellcheck source=tap.sh
. "$here/tap.sh"
etcd_wanted
ETCD_DIR=$(mktemp -d) PREFIX=/bwl/v1
# shellcheck source=etcd.sh
. "$here/etcd.sh"
pki=$ETCD_DIR/pki
declare -A ours=() # processes, by name
SHOWN=()           # their files in $ETCD_DIR, of which the end is shown if the test fails
clean_up() { :; }  # a script may have its own
store_lab_down() {
	local name
	if [[ $TAP_BAD -ne 0 ]]; then
		for name in "${SHOWN[@]}"; do tail -n 60 "$ETCD_DIR/$name" | sed 's/^/# /'; done
	fi
	for name in "${!ours[@]}"; do
		kill -CONT "${ours[$name]}"
		stop "$name"
	done
	clean_up
	etcd_down
	rm -rf "$ETCD_DIR"
} 2>/dev/null
trap store_lab_down EXIT
stop() { # name
	kill "${ours[$1]}" && wait "${ours[$1]}"
	local rc=$?
	unset "ours[$1]"
	return $rc
} 2>/dev/null
is() { # two texts; a script may have its own
	[[ $1 == "$2" ]] || { note "$1, not $2"; return 1; }
}
# At most 64 MB: not in the tree with sanitizers, which have memory of their own.
stays_small() { # name of ours, what it is called
	local rss
	rss=$(awk '/^VmHWM/ { print $2 }' "/proc/${ours[$1]}/status")
	note "$2 had $rss kB at most"
	[[ $build == */dev ]] || check "$2 had less than 64 MB at any time" test "$rss" -lt 65536
}
ends_when_told() { # name of ours, what it is called
	check "$2 ends when it is told to" stop "$1"
}
