# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Two trays as in production: each DPU has bwlimit, charon with a certificate of the CA in $MESH_CA, and
# the tracker of SAs. Source it after tap.sh, topo/trays.sh and charon.sh; call trays_up first.

MESH_NET=192.0.2.	# the trays' underlay, or 2001:db8::
MESH_IPSEC='ca: bwlimit.pem'	# keys of the policy's `ipsec`

# The policy of a tray whose peer tray-N is the other tray; then further keys of that peer.
mesh_policy() { # tray "grant: {…}, …"
	local other=$((3 - $1))
	cat <<-END
	version: 1
	node: tray-$1
	uplinks: [p0]
	host_ports: [{ dev: pf0hpf, sources: [10.0.$1.0/24, "fd00:$1::/64"] }]
	heartbeat: none
	ipsec: { $MESH_IPSEC }
	peers:
	  - { name: tray-$other, addresses: [10.0.$other.0/24, "fd00:$other::/64"], ipsec: { remote: "$MESH_NET$other" }, $2 }
	END
}
mesh_quietly() { "$@" >/dev/null 2>&1; }
mesh_ca() {
	MESH_CA=$LAB_TMP/ca
	mesh_quietly "$CTL" pki init --ca "$MESH_CA"
}
mesh_issue() { # tray options of pki issue…
	rm -f "$(charon_dir "$1")"/swanctl/{x509,private}/*
	mesh_quietly "$CTL" pki issue "tray-$1" --ca "$MESH_CA" --out "$(charon_dir "$1")/swanctl" "${@:2}"
}
mesh_watch() { # tray
	BWLIMIT_PIN_DIR=$LAB_PINS/tray$1 lab_bg "watch$1" "dpu$1" "$IPSECD" track
	MESH_WATCH[$1]=$LAB_PID
}
MESH_WATCH=()
# Instead of mesh_load: charon gets its connections, and gets them again after each restart.
mesh_keep() { # tray
	BWLIMIT_PIN_DIR=$LAB_PINS/tray$1 lab_bg "keep$1" "dpu$1" "$IPSECD" charon "$LAB_TMP/policy$1.yaml" \
		--dir "$(charon_dir "$1")/swanctl" --vici "$(charon_socket "$1")" --json
}
# Starts everything of a tray except its connections, and says what it does.
mesh_tray_up() { # tray "grant: {…}, …"
	check "charon starts in DPU $1" charon_up "$1" "dpu$1"
	[[ -e $(charon_dir "$1")/swanctl/x509/tray-$1.pem ]] || mesh_issue "$1"
	check "bwlimit attaches there with a tunnel device" tray_attach "$1" --tunnel bwl0
	check "its policy is in force" tray_apply "$1" < <(mesh_policy "$1" "$2")
	mesh_watch "$1"
}
mesh_load() { # tray
	tray_quiet tray_ctl "$1" ipsec load "$LAB_TMP/policy$1.yaml" --dir "$(charon_dir "$1")/swanctl" \
		--vici "$(charon_socket "$1")" --timeout 30s
}
mesh_load_both() {
	local loading
	mesh_load 1 & loading=$!
	mesh_load 2 && wait "$loading"
}
mesh_rekey() { # tray further words…
	tray_quiet tray_ctl "$1" ipsec rekey "${@:2}" --vici "$(charon_socket "$1")" --timeout 30s
}
mesh_states() { in_ns "dpu$1" ip xfrm state count | sed -n 's/.*count \([0-9]*\).*/\1/p'; }
mesh_no_states() { [[ $(mesh_states "$1") -eq 0 ]]; }
mesh_flush() { # tray
	in_ns "dpu$1" ip xfrm state flush
	in_ns "dpu$1" ip xfrm policy flush
}
mesh_tunnel() { # tray jq-condition on what its data plane knows of the SAs
	tray_ctl "$1" --json peer show "tray-$((3 - $1))" | jq -e ".tunnel | ($2)" >/dev/null
}
mesh_open() { mesh_tunnel 1 '.sa_out and .sa_in' && mesh_tunnel 2 '.sa_out and .sa_in'; }
mesh_reason() { # tray port reason: frames so far
	tray_ctl "$1" --json reasons |
		jq "[.reasons[] | select((.port + (if .hook == \"gate\" then \" out\" else \"\" end)) == \"$2\" and .reason == \"$3\") | .frames] | add // 0"
}
pings() { in_ns host1 ping -q -c 3 -i 0.2 -W 2 "$1" >/dev/null; }
passes() { lab_wait_for 40 in_ns host1 ping -q -c 1 -W 1 "$1"; }
