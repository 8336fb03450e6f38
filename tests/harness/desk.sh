# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034 # scripts that source this use its variables
# The desk of a fleet: a real etcd of one member, three trays, each in its own namespace with a cable to `net`, and the
# people of the fleet's root. Source it first: it sources store_lab.sh and documents.sh.

ETCD_N=1
# shellcheck source=../harness/store_lab.sh
. "$(dirname "${BASH_SOURCE[0]}")/store_lab.sh"
LAB_TMP=$ETCD_DIR
# shellcheck source=../harness/documents.sh
. "$here/documents.sh"
desk=$ETCD_DIR/desk CTL=$build/ctl/bwlimit-ctl
mkdir "$desk"
tray_ns() { echo "bwl-desk-$$-$1"; }
clean_up() { # in place of store_lab.sh's
	local i
	for i in 1 2 3; do ip netns del "$(tray_ns "$i")"; done
}

ctl() { in_net "$CTL" "$@"; }
fleet() { ctl --fleet "$@" --conf "$desk/fleet.conf"; }
desk_conf() { # line…
	printf '%s\n' "# the fleet" "servers = $(etcd_url 1)" "prefix = $PREFIX" "ca = $pki/ca.pem" "accept-etcd-holes = yes" "$@" >"$desk/fleet.conf"
}
# Each tray has a cable to `net`, where the store's cables are, and four addresses of it. Those of a test that has joined a
# shared etcd are its seat's.
tray_at() { echo "10.78.${ETCD_SEAT:-1}.$((4 * $1 + ${2:-2}))"; } # tray [which of them]
tray_net() { # tray
	local ns
	ns=$(tray_ns "$1")
	ip netns add "$ns" && ip -n "$ns" link set lo up
	ip -n "$(etcd_ns net)" link add "tray$1" type veth peer name eth0 netns "$ns"
	ip -n "$(etcd_ns net)" addr add "$(tray_at "$1" 1)/30" dev "tray$1"
	ip -n "$(etcd_ns net)" link set "tray$1" up
	ip -n "$ns" addr add "$(tray_at "$1")/30" dev eth0
	ip -n "$ns" link set eth0 up
	ip -n "$ns" route add default via "$(tray_at "$1" 1)"
	ip -n "$(etcd_ns 1)" route replace "10.78.${ETCD_SEAT:-1}.0/24" via "$ETCD_HERE"
}
sync_start() { # tray option…
	[[ -z ${ours[sync$1]:-} ]] || stop "sync$1"
	nsenter --net="/run/netns/$(tray_ns "$1")" "$build/sync/bwlimit-sync" --servers "$(etcd_url 1)" --prefix "$PREFIX" --tray "tray-$1" \
		--ca "$pki/ca.pem" --cert "$pki/tray-$1.pem" --key "$pki/tray-$1.key" --accept-etcd-holes "${@:2}" \
		>"$ETCD_DIR/tray-$1.sync" 2>&1 &
	ours[sync$1]=$!
}

# alice and bob are root and policy, two of two; a controller's key is online. Others have a key, and no role.
key_of() { "$CTL" --json key show "$desk/$1.pem" | jq -r ".$2"; }
entry() { printf '"%s": {"public": "%s", "owner": "%s"}' "$(key_of "$1" key_id)" "$(key_of "$1" raw_public_key)" "$1"; }
sign() { # file key option…
	"$CTL" policy sign "$1" --key "$desk/$2.pem" "${@:3}" >/dev/null
}
desk_people() { # other…
	local k ids
	for k in alice bob controller "$@"; do "$CTL" key new "$desk/$k.pem" >/dev/null || return; done
	ids=$(printf '"%s", "%s"' "$(key_of alice key_id)" "$(key_of bob key_id)")
	cat >"$desk/root.json" <<-END
		{ "keys": { $(entry alice), $(entry bob), $(entry controller) },
		  "roles": { "root": { "threshold": 2, "keys": [$ids] }, "policy": { "threshold": 2, "keys": [$ids] },
		    "online": { "threshold": 1, "keys": ["$(key_of controller key_id)"] } } }
	END
	sign "$desk/root.json" alice --type root --fleet hall --name root --number 1 --for 365d --out "$desk/root" &&
		sign "$desk/root" bob
}
