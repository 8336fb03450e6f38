#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# bwlimit-load beside others and on weaker kernels: what it falls back to and says, foreign programs, upgrade under traffic, guard, probe.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB=bwl-forms-$$ LAB_DESTS=1 LAB_MGMT=1
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/../harness/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/../harness/live.sh"
lab_up || exit 1
# shellcheck source=../harness/loader_lab.sh
. "$here/../harness/loader_lab.sh"
# Detached first: what libxdp's dispatcher calls it pins in a folder of its own, which no lab knows.
DISPATCHED=/sys/fs/bpf/xdp
had_folder=$([[ -e $DISPATCHED ]] && echo yes)
trap 'in_dpu "$LOAD" detach >/dev/null 2>&1; rm -rf "$other"; [[ -n $had_folder ]] || rmdir "$DISPATCHED" 2>/dev/null; lab_down' EXIT

# --- a kernel that refuses the programs
on_old() { # program that it refuses, what to do…
	BWL_REFUSE=$1 ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=$LAB_BUILD/tests/harness/bwl-refuse.so \
		in_dpu "$LOAD" "${@:2}" >"$LAB_TMP/out" 2>"$LAB_TMP/err"
}
refused() { ! on_old "$@"; }
check "attach fails where the kernel takes a program in no form" \
	refused bwl_tc_host attach --policy "$LAB_TMP/policy.yaml"
check "and says which" says "'bwl_tc_host'.*Argument list too long"
check "and in the verifier's words why, as of the last form" says "Processed 1000001 insn"
check "the first form's reason is gone" says_not "multi-buffer XDP is not known"
check "and of libbpf's words those that say no more" says_not "BEGIN PROG LOAD LOG"
check "host ports are down then" ports_down
check "without multi-buffer XDP alone it attaches" on_old '' attach --policy "$LAB_TMP/policy.yaml"
check "and says that it went without" says "without multi-buffer frames"
check "an upgrade that the kernel refuses fails" refused bwl_tc_host upgrade
check "and says why, of the last form, too" says "Processed 1000001 insn"
check "what was attached goes on" pings 3
live "the kernel refused an upgrade"
works detach

# --- strangers
check "control: attached" attach
in_dpu "$LOAD" attach --pin-dir "$other" --host hpf0 --uplink p0 --max-peers 16 --drill \
	--xdp none --keep-down >/dev/null 2>&1
check "verify notices a foreign program in front" notices "foreign program .* runs before bwl_tc_host"
check "nothing passes it unseen: the stranger drops" lab_silent
check "attach moves ours in front again" attach
check "and verify is clean" verify
check "traffic passes" pings 3
check "verify fails on what a test made" fails 1 verify --pin-dir "$other"
check "and says so" says "FAIL  these maps were made by quickstart or a test"
check "XDP can be left out" attach --xdp none
in_dpu ip link set p0 xdp pinned "$other/progs/bwl_xdp_host" # ip -n would hide the pins
check "verify notices a foreign XDP program on an uplink" notices "p0: foreign XDP program"
check "attach refuses to open ports behind it" fails 1 attach --policy "$LAB_TMP/policy.yaml"
check "host ports are down then" ports_down
ip_in dpu link set p0 xdp off
works detach --pin-dir "$other"
check "when it is gone attach opens them" attach
check "they are up" lab_is_up hpf0
live "the foreign program is gone, and it is attached again"

# --- what mode shape and encrypted peers need
with_peer() { # flow style
	{ cat "$LAB_TMP/policy.yaml"; echo "  - { $1, grant: { rate: 1mbit, mode: shape } }"; } >"$LAB_TMP/with.yaml"
	in_dpu "$CTL" policy apply "$LAB_TMP/with.yaml" >"$LAB_TMP/out" 2>&1
}
check "a policy with a peer of mode shape" with_peer "name: d2, addresses: [10.102.0.0/24], path: clear, via: $LAB_VIA4"
check "verify warns where an uplink has no fq" verify
check "and says what becomes of it" says "1 peer of mode shape is policed"
check "a policy with an encrypted peer" with_peer "name: d2, addresses: [10.102.0.0/24], ipsec: { remote: $LAB_VIA4 }"
check "verify notices that it has no tunnel device" notices "1 peer is encrypted but there is no tunnel device: closed"
check "and warns that nobody looks after its SAs" says "nothing tracks the SAs of 1 encrypted peer"
# What encryption needs of this kernel, and what blocks it, for the family of the other DPU's address.
mkdir "$LAB_TMP/modprobe.d"
printf 'install esp4 /bin/false\nblacklist esp6\n' >"$LAB_TMP/modprobe.d/dirtyfrag.conf"
blocked_verify() { # modprobe.d is another for this process; a lab must not change the machine's
	# shellcheck disable=SC2016 # for that shell
	in_dpu unshare --mount --propagation private sh -c 'mount --bind "$0" /etc/modprobe.d && exec "$@"' \
		"$LAB_TMP/modprobe.d" "$LOAD" verify >"$LAB_TMP/out" 2>&1
}
for f in 4 6; do
	to=LAB_VIA$f
	check "a policy with an encrypted peer, its DPU by IPv$f" with_peer "name: d2, addresses: [10.102.0.0/24], ipsec: { remote: \"${!to}\" }"
	lab_load verify
	if says "the kernel has ESP and AES-GCM for IPv$f"; then
		skip "verify names the file that blocks ESP for IPv$f" "this kernel has ESP"
		continue
	fi
	check "verify says that the kernel lacks what encryption needs, IPv$f" says "^FAIL  .*: encrypted peers stay closed (no-sa)"
	blocked_verify
	check "and names the file that blocks ESP for IPv$f" \
		says "^FAIL  ESP for IPv$f (esp$f) is kept from being loaded by /etc/modprobe.d/dirtyfrag.conf: .* esp$f"
done
in_dpu "$CTL" policy apply "$LAB_TMP/policy.yaml" >"$LAB_TMP/out" 2>&1
check "without it verify is clean" verify
refute "and asks nothing of ESP" says "ESP"

# --- weaker forms
ip_in dpu link add later type veth peer name later2
check "clsact is taken when it is asked for" attach --tc clsact --xdp generic
check "it is shown" in_status '[.ports[].programs[].how] | sort == ["clsact", "clsact", "clsact", "clsact", "xdp generic", "xdp generic"]'
check "with the reason" in_status '[.ports[].programs[].fallback] | all(. != null)'
check "verify warns and does not fail" verify
check "of its weakness" says "without a bpf_link"
check "traffic passes behind generic XDP" pings 3
looked() { # program: the id of its map of frames that were looked at in vain
	local id
	for id in $("$BPFTOOL" -j prog show pinned "$LAB_PINS/progs/$1" | jq '.map_ids[]'); do
		"$BPFTOOL" -j map show id "$id" | jq -e 'select(.name == "bwl_looked").id' && return
	done
}
one_rest() {
	local xdp tc
	xdp=$(looked bwl_xdp_host_hpf0) tc=$(looked bwl_tc_host_hpf0)
	[[ -n $xdp && $xdp == "$tc" ]] || { note "XDP: map ${xdp:-none}, TC: map ${tc:-none}"; false; }
}
check "what TC refuses wakes XDP also where that is of another object" one_rest
works upgrade
check "also after an upgrade" pings 3
check "that is so after an upgrade, too" one_rest
attach --tc clsact --xdp native
check "traffic passes behind native XDP and a filter" pings 3
in_dpu "$LOAD" attach --pin-dir "$other" --host later --uplink later2 --max-peers 16 >/dev/null 2>&1
in_dpu tc filter add dev hpf0 ingress prio 1 handle 2 bpf da pinned "$other/progs/bwl_tc_upin"
check "verify notices a filter in front of ours" notices "foreign program .* runs before bwl_tc_host"
in_dpu tc filter del dev hpf0 ingress prio 1 handle 2 bpf
works detach --pin-dir "$other"
ip_in dpu link del later
check "upgrade replaces filters as filters" works upgrade
check "and verify is clean" verify
dispatched() { ls "$DISPATCHED" 2>/dev/null; }
before=$(dispatched)
same_pins() { [[ -z $(comm -13 <(echo "$before") <(dispatched)) ]]; }
check "libxdp can be asked for" attach --tc tcx --xdp libxdp
if in_status '[.ports[].programs[].fallback // "" | contains("its dispatcher was refused")] | any'; then
	skip "control: its dispatcher has pins" "this kernel refuses its dispatcher"
else
	refute "control: its dispatcher has pins" same_pins
fi
check "and is shown as what it is" in_status '.ports[] | select(.role == "host").programs[] |
	select(.program == "bwl_xdp_host") | .attached and .link_id == null and (.fallback | contains("libxdp"))'
check "no filter is left beside tcx" [ -z "$(in_dpu tc filter show dev hpf0 ingress | grep bwl_)" ]
check "without XDP, TC enforces" attach --xdp none
check "it is gone" in_status '[.ports[].programs[] | select(.program | startswith("bwl_xdp")).attached] == [false, false]'
check "and traffic passes" pings 3
ip_in dpu link set dev hpf0 xdpdrv obj "$LAB_BUILD/tests/harness/foreign_drops.bpf.o" sec xdp
check "libxdp is refused where another's XDP program has no dispatcher" \
	fails 1 attach --policy "$LAB_TMP/policy.yaml" --fresh-volume --xdp libxdp
check "which says what to do" says 'bwlimit-load attach --xdp auto'
check "and the host port is down" ports_down
ip_in dpu link set dev hpf0 xdpdrv off
check "nothing of libxdp is left" lab_wait_for 30 same_pins # another run of this test, beside it, has some, too
check "without that program, that works" attach --xdp auto
check "and traffic passes" pings 3

# --- upgrade under traffic
check "upgrade loses no packet that the policy allows" lab_lossless 1500 works upgrade
check "verify is clean" verify
check "nothing is made anew" in_status '.generation > 1'

# --- guard and down
lab_bg guard dpu "$LOAD" guard --management mgmt0 --uplink p0
guard=$LAB_PID
lab_wait_for 5 grep -q watching "$LAB_TMP/guard.err"
ip_in dpu link add later type veth peer name later2
ip_in dpu link set later up
ip_in dpu link set later2 up
later_down() { ! lab_is_up later && ! lab_is_up later2; }
check "guard sets a device down that appears later" lab_wait_for 5 later_down
check "and leaves ports and management alone" eval 'lab_is_up hpf0 && lab_is_up p0 && lab_is_up mgmt0'
attach --keep-down
ip_in dpu link set hpf0 up # whatever raises ports early
check "and a port that is attached, until verify is clean" lab_wait_for 5 eval '! lab_is_up hpf0'
check "up opens it" works up --management mgmt0
ip_in dpu link set later up
check "control: guard has seen that, and what came after it" lab_wait_for 5 later_down
check "and leaves it open" lab_is_up hpf0
lab_stop "$guard"
ip_in dpu link set later up
check "down sets it down too, and host ports" works down --management mgmt0 --uplink p0
check "they are down" eval '! lab_is_up later && ! lab_is_up hpf0'
check "uplinks and management are not" eval 'lab_is_up p0 && lab_is_up mgmt0'
ip_in dpu link del later
attach

# --- probe
check "probe tries everything on a device of its own" works probe --json
check "and this kernel has what bwlimit needs" in_json '[.features[] | select(.without == "bwlimit does not run")] == []'
check "probe tries the devices it is given" works probe --json --host hpf0
check "by name" in_json '.features | any(.port == "hpf0" and .id == "xdp-native")'
attach
check "probe of a port in use works" works probe --json --host hpf0
check "and leaves the programs alone" verify
done_testing
