# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# A tray with its bwlimitd and bwlimit-sync (documents_store.sh, whose settings are this one's), a bwlimit-controller, and
# people at a desk. Source it first; then controller_lab_up.

# shellcheck source=../harness/documents_store.sh
. "$(dirname "${BASH_SOURCE[0]}")/documents_store.sh"
# shellcheck disable=SC2034 # tests use them
CONTROL_PID='' pki=$ETCD_DIR/pki AT=$ETCD_HERE:7444 # where a controller serves
controller_lab_finish() {
	[[ $TAP_BAD -eq 0 ]] || tail -n 40 "$LAB_TMP/control" "$LAB_TMP/sync" | sed 's/^/# /'
	[[ -z $CONTROL_PID ]] || kill "$CONTROL_PID"
	documents_store_finish
} 2>/dev/null
trap controller_lab_finish EXIT

# etcd with users for a tray, a controller and people, a root, and the desk's fleet.conf.
controller_lab_up() { # [etcd's options…]
	etcd_up "$@" && etcd_auth && etcd_tray tray-7 && etcd_user controller root "IP:${AT%:*}" && etcd_user people root || return
	[[ -e $FLEET/root ]] || people_root || return
	"$CTL" key new "$FLEET/witness.pem" || return
	printf '%s\n' "ca = $pki/ca.pem" "cert = $pki/people.pem" "key = $pki/people.key" "controller = https://$AT" \
		"servers = $(etcd_url 1)" "prefix = $PREFIX" "fleet = hall-3" "root = $FLEET/root" "accept-etcd-holes = yes" \
		>"$FLEET/fleet.conf"
} >/dev/null
control_up() { # name [option…]
	local urls
	urls=$(etcd_urls)
	nsenter --net="/run/netns/$(etcd_ns net)" "${CONTROL:-$LAB_BUILD/fleet/controller/bwlimit-controller}" --servers "$urls" \
		--prefix "$PREFIX" --name "$1" --root "$FLEET/root" --online-key "$FLEET/controller.pem" \
		--ca "$pki/ca.pem" --cert "$pki/controller.pem" \
		--key "$pki/controller.key" --trust-clock --accept-etcd-holes --witness-key "$FLEET/witness.pem" --json "${@:2}" \
		>>"$LAB_TMP/control" 2>&1 &
	CONTROL_PID=$!
}
control_down() { # [signal]
	kill "${1:--TERM}" "$CONTROL_PID" && wait "$CONTROL_PID" 2>/dev/null
	CONTROL_PID=''
}
control_says() { grep -qE -- "$1" "$LAB_TMP/control"; }
fleet() { in_net "${DESK:-$CTL}" --fleet "$@" --conf "$FLEET/fleet.conf"; } # DESK: its bwlimit-ctl
row() { # document, jq's condition on the tray's row of it
	fleet "$1" --json 2>"$LAB_TMP/err" | jq -e ".trays[] | select(.tray == \"tray-7\") | $2" >/dev/null
}
