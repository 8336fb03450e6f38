#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# XDP passes its findings about a frame to TC in the frame's metadata. A host's own XDP gives its frames
# metadata that claims: judged, and for alpha. Without XDP of bwlimit it reaches TC.
set -uo pipefail
# shellcheck source=thief.sh
. "$(dirname "${BASH_SOURCE[0]}")/thief.sh"
attacks "1" "a host cannot speak for XDP"
FROM=10.66.6.6 # none of the host's addresses

# Frames that m0 sends come out of m1, and go to the DPU as if sent by h0.
through() { # spoilt <<< frames
	local to meta
	exec {to}> >(exec nsenter --net="/run/netns/$LAB-host" "$LAB_BUILD/tests/harness/bwl-meta" \
		"$BWLIMIT_PIN_DIR" m1 h0 alpha "$PORT" "$1" >"$LAB_TMP/meta" 2>&1)
	meta=$!
	lab_wait_for 5 grep -q ready "$LAB_TMP/meta" || { nok "metadata is given"; sed 's/^/# /' "$LAB_TMP/meta"; }
	in_host "$FRAMES" send m0 --gw "$GATEWAY" --count 50 --pps 500 >/dev/null || nok "the thief can send"
	lab_settle
	exec {to}>&-
	wait "$meta" # until it has left m1, which has room for one program
	: >"$LAB_TMP/meta"
}
stolen() { # a stranger's destination, an address that is not the host's
	echo "eth ip4 src=$HOST4 dst=$X4 udp fill=64"
	echo "eth ip4 src=$FROM dst=$A4 udp fill=64"
}
# By then the tag is beside the frame for the programs: the start of the frame looks the same as without one.
tagged() { echo "eth vlan id=9 ip4 src=$FROM dst=$A4 udp fill=64"; }
mine() { echo "eth ip4 src=$HOST4 dst=$A4 udp fill=64"; }
says() { # spoilt <<< frames
	judges_on
	if [[ -n ${THIEF_OPEN:-} ]]; then steal --count 50 --pps 500; else through "$1"; fi
	judges_off
}

again() { # loader's word for XDP
	in_dpu "$LOAD" detach --open >/dev/null 2>&1
	LAB_XDP=$1 lab_attach && thief_peers | lab_policy_head | lab_apply || exit 1
	in_dpu ethtool -K hpf0 gro on >/dev/null # without a program there veth takes redirected frames so
	PORT=$(in_dpu "$LOAD" status --json | jq '[.ports[].port] | index("hpf0")')
	GATEWAY=$(lab_mac dpu hpf0)
}

LAB_XDP=none thief_lab
ip_in host link add m0 type veth peer name m1
ip_in host link set m0 up
ip_in host link set m1 up
in_host sysctl -qw net.ipv6.conf.m0.disable_ipv6=1 net.ipv6.conf.m1.disable_ipv6=1
if [[ -z ${THIEF_OPEN:-} ]]; then
	again none
	says none < <(stolen)
	something_at "with the true key it would be believed: the judges see a forged source" d1 "^$A4\$" "^$FROM\$"
	nothing_at "what is for a stranger the last gate stops even then" d4
	says none < <(tagged)
	nothing_leaves "a tagged frame is not believed, even with the true key"
	says none < <(mine)
	something_at "what it may send arrives" d1 "^$A4\$"
fi
for what in key generation edits slot port; do
	says $what < <(stolen)
	nothing_leaves "with another $what it is not believed"
done
[[ -n ${THIEF_OPEN:-} ]] || again native
says none < <(stolen)
nothing_leaves "where XDP runs, even the true key is not"
[[ -n ${THIEF_OPEN:-} ]] || {
	says none < <(mine)
	something_at "while what it may send arrives" d1 "^$A4\$"
}
[[ -n ${THIEF_OPEN:-} ]] || {
	# Metadata survives TC, the last gate and a veth: behind them no key may be found in it.
	exec {to}> >(exec nsenter --net="/run/netns/$LAB-net" "$LAB_BUILD/tests/harness/bwl-meta" look s0 >"$LAB_TMP/look" 2>&1)
	looker=$!
	lab_wait_for 60 grep -q ready "$LAB_TMP/look"
	mine | in_host "$FRAMES" send h0 --gw "$GATEWAY" --count 50 --pps 500 >/dev/null
	exec {to}>&-
	wait "$looker"
	note "$(tail -n 1 "$LAB_TMP/look")"
	check "control: what XDP wrote before a frame still stands there on the wire" grep -Eq ' with ([5-9][0-9]|[1-9][0-9]{2}) ' "$LAB_TMP/look"
	check "and TC has taken the key out of it" grep -q ' keyed 0$' "$LAB_TMP/look"
}
granted_arrives
done_testing
