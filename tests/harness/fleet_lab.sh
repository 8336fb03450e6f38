# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# A fleet in network namespaces: three trays, each with its own bwlimitd and bwlimit-sync, and
# bwlimit-controller --dev. Source it after lab.sh; it needs jq and etcd.
#
#   host1 ── hpf0 [dpu1] p0 ─┐
#   host2 ── hpf0 [dpu2] p0 ─┼─ net ── d1, d2, d3 (for tray-1 to tray-3), d4 (log-collector)
#   host3 ── hpf0 [dpu3] p0 ─┘ (router)
#                  mgmt0 of each ── mgmt: bwlimit-controller, its etcd, and people
#
# State is kept in FLEET_DIR; maps are pinned in /sys/fs/bpf/$LAB-tray-N. bwlimit-sync has only the rights of
# user and group bwlimit-sync, as in the package: bwlimitd finds both in files of the lab.

FLEET_TRAYS=(1 2 3)
FLEET_AT=10.250.0.254 FLEET_SERVE=7443
SYNC=$LAB_BUILD/sync/bwlimit-sync
SYNC_ID=64104 # its user, and the group's
CONTROLLER=$LAB_BUILD/fleet/controller/bwlimit-controller

fleet_dir() { FLEET_DIR=${TMPDIR:-/tmp}/$LAB FLEET=$FLEET_DIR/fleet; }
tray_pins() { echo "/sys/fs/bpf/$LAB-tray-$1"; }
in_tray() { # N command…, in its DPU, with its maps and folders
	local n=$1
	shift
	BWLIMIT_CTL=$CTL BWLIMIT_PIN_DIR=$(tray_pins "$n") BWLIMIT_STATE_DIR=$FLEET_DIR/tray-$n/state BWLIMIT_AUDIT_DIR='' \
		BWLIMIT_JOURNAL_DIR=$FLEET_DIR/tray-$n/journal in_ns "dpu$n" "$@"
}
tray_ctl() { in_tray "$1" "$CTL" "${@:2}"; }
tray_peer() { # N peer jq-expression
	tray_ctl "$1" --json peer show "$2" 2>/dev/null | jq -r "$3"
}
in_mgmt() { in_ns mgmt "$@"; }
people() { in_mgmt "$CTL" --fleet "$@" --conf "$FLEET/fleet.conf"; }
publish() { in_mgmt "$CTL" policy publish "$@"; } # FILE --conf …

# In the background and in a separate session, so that --keep outlives the terminal.
fleet_bg() { # file command…
	setsid "${@:2}" </dev/null >>"$FLEET_DIR/$1" 2>&1 &
	LAB_PIDS+=($!)
}

fleet_net() { # namespaces and cables
	local n
	lab_ns net && lab_ns mgmt || return
	lab_sysctl net net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv4.conf.all.rp_filter=0 \
		net.ipv4.conf.all.send_redirects=0 net.ipv4.conf.default.send_redirects=0
	for n in net mgmt; do ip_in "$n" link add br0 type bridge && ip_in "$n" link set br0 up || return; done
	ip_in net addr add "$LAB_VIA4/24" dev br0
	ip_in mgmt addr add "$FLEET_AT/24" dev br0
	for n in "${FLEET_TRAYS[@]}"; do
		lab_ns "dpu$n" && lab_ns "host$n" || return
		lab_sysctl "dpu$n" net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=0
		lab_veth "host$n" h0 "dpu$n" hpf0 && lab_veth "dpu$n" p0 net "s$n" &&
			lab_veth "dpu$n" mgmt0 mgmt "m$n" || return
		ip_in net link set "s$n" master br0
		ip_in mgmt link set "m$n" master br0
		lab_addr "host$n" h0 "10.7.$n.2/24"
		lab_addr "dpu$n" hpf0 "10.7.$n.1/24"
		lab_addr "dpu$n" p0 "192.0.2.$n/24"
		lab_addr "dpu$n" mgmt0 "10.250.0.$n/24"
		ip_in "host$n" route add default via "10.7.$n.1"
		ip_in net route add "10.7.$n.0/24" via "192.0.2.$n"
	done
	for n in 1 2 3 4; do lab_dest "$n" || return; done
}
fleet_controller() { # options…
	fleet_bg controller.log nsenter --net="/run/netns/$LAB-mgmt" "$CONTROLLER" --dev "$FLEET" \
		--trays "$(printf ',tray-%s' "${FLEET_TRAYS[@]}" | cut -c 2-)" --listen "$FLEET_AT:2379" \
		--serve "$FLEET_AT:7444" "$@"
}
controller_says() { grep -qE -- "$1" "$FLEET_DIR/controller.log"; }
# A tray: attached, with its own policy file until the signed one arrives.
tray_up() { # N policy-file
	local n=$1 at=$FLEET_DIR/tray-$1
	mkdir -p "$at"
	if ! { tray_ctl "$n" journal init &&
		in_tray "$n" "$LOAD" attach --drill --fresh-volume --host hpf0 --uplink p0; } >"$at/log" 2>&1; then
		cat "$at/log"
		return 1
	fi
	{ grep -vE '^bwlimit(-read|-sync)?:' /etc/group && echo "bwlimit-sync:x:$SYNC_ID:"; } >"$at/group"
	{ grep -v '^bwlimit-sync:' /etc/passwd && echo "bwlimit-sync:x:$SYNC_ID:$SYNC_ID::/nonexistent:/usr/sbin/nologin"; } \
		>"$at/passwd"
	# shellcheck disable=SC2016 # the inner shell expands it
	in_tray "$n" setsid unshare --mount --propagation private sh -c \
		'mount --bind "$1/group" /etc/group && mount --bind "$1/passwd" /etc/passwd && shift && exec "$@"' sh "$at" \
		"$AGENT" --policy "$2" --state-dir "$at/state" --tpm none </dev/null >>"$at/log" 2>&1 &
	LAB_PIDS+=($!)
}
tray_socket() { echo "/run/bwlimit/$LAB-tray-$1.$2"; }
tray_sync() { # N
	local n=$1 pki=$FLEET_DIR/tray-$1/pki
	cp -r "$FLEET/trays/tray-$n" "$pki" && chown -R "$SYNC_ID:$SYNC_ID" "$pki" || return
	fleet_bg "tray-$n/sync.log" nsenter --net="/run/netns/$LAB-dpu$n" setpriv --reuid $SYNC_ID --regid $SYNC_ID \
		--clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs "$SYNC" --servers "https://$FLEET_AT:2379" \
		--tray "tray-$n" --ca "$pki/ca.pem" --cert "$pki/cert.pem" --key "$pki/key.pem" \
		--agent "$(tray_socket "$n" documents)" --serve "10.250.0.$n:$FLEET_SERVE" \
		--commands "$(tray_socket "$n" commands)" --accept-etcd-holes
}
tray_enrol() { # N
	tray_ctl "$1" enrol "$FLEET/root" "$FLEET/enrolments/tray-$1" \
		--sha256 "$("$CTL" --json policy verify "$FLEET/root" | jq -r .digest)"
}
# The number of frames of host N's pings that arrive at destination D.
fleet_arriving() { # N D
	local judge
	lab_bg arriving "d$2" "$FRAMES" count eth0 --marker "$LAB_MARKER"
	judge=$LAB_PID
	lab_wait_for 5 grep -q ready "$LAB_TMP/arriving"
	in_ns "host$1" ping -q -c 3 -i 0.1 -W 1 -s 64 -p "$LAB_MARKER" "$(lab_dest4 "$2")" >/dev/null 2>&1
	lab_stop "$judge"
	awk '/^0800/ { n += $6 } /^total/ { ok = 1 } END { print ok ? n + 0 : "no judge" }' "$LAB_TMP/arriving"
}
fleet_down() { # removes what lab_down does not know of
	local n
	lab_down
	for n in "${FLEET_TRAYS[@]}"; do rm -rf "$(tray_pins "$n")"; done
	rm -f "/run/bwlimit/$LAB-tray-"*
	rm -rf "$FLEET_DIR"
}
