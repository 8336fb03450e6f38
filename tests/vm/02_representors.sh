#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Devices as a DPU's driver presents them: representors in switchdev mode, with SAs and policies in the
# device.
# vm-cost: 30
# live: no packets: only what a device holds
# leak: only what a device holds
# vm-needs: netdevsim iproute2
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck disable=SC2034 # for lab.sh
LAB=bwl-nsim-$$ LAB_DESTS=0
# shellcheck source=../harness/tap.sh
. "$BWL_SOURCE/tests/harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$BWL_SOURCE/tests/harness/lab.sh"
# shellcheck source=../../vm-testbed/topo/netdevsim.sh
. "$BWL_SOURCE/vm-testbed/topo/netdevsim.sh"

trap 'nsim_down; lab_down' EXIT
lab_require
LAB_TMP=$(mktemp -d)
lab_ns dpu || exit 1
check "netdevsim makes an uplink and two representors" nsim_up dpu 2
in_dpu devlink port show | sed 's/^/# /'
flavour() { # device flavour
	in_dpu devlink -j port show | jq -e --arg d "$1" --arg f "$2" \
		'[.port[] | select(.netdev == $d and .flavour == $f)] | length == 1' >/dev/null
}
check "p0 is a physical port" flavour p0 physical
check "pf0vf0 is a port of a VF" flavour pf0vf0 pcivf
ip_in dpu link set p0 up

load() { # arguments…
	in_dpu "$LOAD" "$@" >"$LAB_TMP/said" 2>&1 && return
	sed 's/^/# /' "$LAB_TMP/said"
	return 1
}
features() {
	in_dpu "$LOAD" probe --host pf0vf0 --uplink p0 --json >"$LAB_TMP/probe"
	jq -r '.features[] | select(.port) |
		(if .works then "has: " else "lacks: " end) + .port + ": " + .text' "$LAB_TMP/probe" | sed 's/^/# /'
	jq -e '.features | any(.port == "pf0vf0")' "$LAB_TMP/probe" >/dev/null
}
check "bwlimit-load probe tries the representor" features
# As if udev had swapped the names.
refute "attach takes no representor for an uplink" load attach --drill --host pf0vf1 --uplink pf0vf0
check "and says whose port it is" grep -q 'pf0vf0 cannot be an uplink: it is the port of a VF' "$LAB_TMP/said"
ip_in dpu link add other type veth peer name other-end
refute "nor a physical port for a host's" load attach --drill --host p0 --uplink other
check "and says that" grep -q "p0 cannot be a host port: it is the card's physical port" "$LAB_TMP/said"
refute "nor a representor for management" load attach --drill --host pf0vf0 --uplink p0 --management pf0vf1
refute "nothing was attached" test -e "$LAB_PINS"
check "bwlimit-load attaches to a representor and the uplink" \
	load attach --drill --fresh-volume --host pf0vf0 --uplink p0
in_dpu "$LOAD" status | tee "$LAB_TMP/status" | sed 's/^/# /'
check "TC carries the representor" grep -Eq 'bwl_tc_host +(tcx|clsact)' "$LAB_TMP/status"

judged() { # words of a line of verify
	in_dpu "$LOAD" verify --json 2>/dev/null | jq -r '.. | strings' >"$LAB_TMP/verify"
	grep -q "$1" "$LAB_TMP/verify"
}
check "verify sees a device for every function's port" \
	judged "every function's devlink port has a device here"
refute "verify finds no port in another role" judged "cannot be"
ip_in dpu link set pf0vf1 up
check "verify fails on a representor that is up and has no programs" \
	judged "device pf0vf1 is up but neither a port nor named as management"
ip netns add "$LAB-away"
LAB_NETNS+=("$LAB-away")
ip_in dpu link set pf0vf1 netns "$LAB-away"
check "verify fails on a function whose representor is not here" \
	judged "is active but has no device in this namespace"

# What the device holds. `ip` says that an SA is offloaded only if the kernel says so.
state() { # spi further-words…
	local spi=$1
	shift
	in_dpu ip xfrm state add src 192.0.2.1 dst 192.0.2.9 proto esp spi "$spi" reqid 7 mode tunnel \
		aead 'rfc4106(gcm(aes))' "0x$(printf '%040d' 1)" 128 "$@"
}
lab_addr dpu p0 192.0.2.1/24
device_has() { # regular expression
	nsim_ipsec | grep_all "$1"
}
kernel_says() { # spi words
	in_dpu ip xfrm state list spi "$1" | grep_all "offload parameters: dev p0 dir out mode $2"
}
check "the uplink takes an SA whose crypto it offloads" \
	state 0x101 offload crypto dev p0 dir out
check "kernel and device say so" \
	eval 'kernel_says 0x101 crypto && device_has "spi=0x00000101 .* crypt=1$"'
check "an SA offloaded to a representor is taken" state 0x102 offload crypto dev pf0vf0 dir out
refute "and is not offloaded, although nothing failed" kernel_says 0x102 ''
if grep -q 'policies=' < <(nsim_ipsec); then # the patched module: Linux 6.2 and later
	check "the uplink takes a packet-offloaded SA" state 0x103 offload packet dev p0 dir out
	check "kernel and device say so of that" \
		eval 'kernel_says 0x103 packet && device_has "spi=0x00000103 .* packet$"'
	policy() {
		in_dpu ip xfrm policy add src 10.0.1.0/24 dst 10.0.2.0/24 dir out \
			offload packet dev p0 tmpl src 192.0.2.1 dst 192.0.2.9 proto esp reqid 7 mode tunnel
	}
	check "the uplink takes a packet-offloaded policy" policy
	check "kernel and device say so of the policy" eval 'device_has policies=1 &&
		in_dpu ip xfrm policy | grep_all "offload parameters: dev p0 mode packet"'
	in_dpu ip xfrm policy flush
	check "a policy that is deleted leaves the device" device_has policies=0
else
	skip "the uplink takes packet-offloaded SAs and policies" "this kernel has no packet offload"
fi
nsim_ipsec | sed 's/^/# /'
in_dpu ip xfrm state flush
check "SAs that are deleted leave the device" lab_wait_for 10 device_has 'SA count=0'
done_testing
