#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# bwlimit-load on real devices: attach, what verify notices, ports that are created again, pins that are not whole, boot.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB=bwl-h2load-$$ LAB_DESTS=1 LAB_MGMT=1
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/../harness/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/../harness/live.sh"
lab_up || exit 1
# shellcheck source=../harness/loader_lab.sh
. "$here/../harness/loader_lab.sh"

# --- before anything is attached
check "without the loader nothing forwards, IPv4 or IPv6" lab_silent
check "status says that nothing is attached" fails 1 status
check "and what to do" says "bwlimit-load attach"
check "detach of nothing is refused" fails 1 detach
check "an unknown option is a usage error" fails 2 attach --bad
check "one uplink at least is needed" fails 1 attach --host hpf0
ip_in dpu link add br9 type bridge
ip_in dpu link set hpf0 master br9
check "a port that belongs to a bridge is refused" fails 1 attach --host hpf0 --uplink p0
check "and what to do" says "nomaster"
ip_in dpu link del br9
check "a device that is not there is refused" fails 1 attach --host nosuch --uplink p0
check "and named" says nosuch
check "a port is not both host port and uplink" fails 1 attach --host hpf0 --uplink hpf0
check "a pin directory that is no BPF file system is refused" \
	fails 1 attach --host hpf0 --uplink p0 --pin-dir "$LAB_TMP/pins"
check "and nothing is left there" [ ! -e "$LAB_TMP/pins" ]
lab_sysctl dpu net.ipv4.ip_forward=1
check "attach refuses to open ports while the kernel forwards" \
	fails 1 attach --policy "$LAB_TMP/policy.yaml"
check "and says which switch it is" says net.ipv4.ip_forward
check "host ports are down then" ports_down
lab_sysctl dpu net.ipv4.ip_forward=0
works detach

# --- volumes of which nothing is known
sed '/grant:/s/burst: 1mb/volume: 1gb/' "$LAB_TMP/policy.yaml" >"$LAB_TMP/volume.yaml"
check "a first attach" works attach --policy "$LAB_TMP/volume.yaml"
check "says which volume starts spent" says "start spent.*: peer d1$"
check "and what to type" says "bwlimit-ctl grant NAME volume +V once reason TEXT"
check "nothing passes" lab_silent
check "which gives it some" eval 'in_dpu "$CTL" grant d1 volume +1mb reason test >/dev/null'
check "that passes" lab_both
check "a second attach" works attach --policy "$LAB_TMP/volume.yaml"
check "says nothing of the kind" says_not "start spent"
works detach
check "with --fresh-volume" attach --policy "$LAB_TMP/volume.yaml"
check "nothing starts spent" says_not "start spent"
works detach

# --- attach
check "attach takes its ports from the policy" attach
check "host ports are up" lab_is_up hpf0
check "granted traffic passes" pings 3
check "of both families: the judge of what must not pass is not deaf" lab_both
check "verify is clean when management is named" verify
check "verify in JSON says so too" works verify --management mgmt0 --json
check "with every check in it" in_json '.ok and (.checks | length > 8)'
check "verify notices a device that nobody covers" fails 1 verify
check "and names it" says "FAIL  device mgmt0"
if in_status '[.ports[].programs[] | select(.how == "tcx")] | length == 4'; then
	check "TC programs have links" in_status '[.ports[].programs[].link_id] | all(. > 0)'
else
	skip "TC programs have links" "no tcx here"
fi
links() { in_dpu "$LOAD" status --json | jq -c '[.ports[].programs[] | [.program, .link_id]]'; }
before=$(links)
check "a second attach works" attach
check "it says that --fresh-volume has no effect" says "no effect"
check "and that the file is not applied over the policy in force" says "not applied"
in_dpu "$CTL" grant d1 rate 2mbit for 2h reason test >"$LAB_TMP/out" 2>&1
left() { in_dpu "$CTL" grant list --json | jq '.grants[0].expires_in_s'; }
check "what was granted meanwhile stays" attach
ends_in() { left | jq -e ". != null and . > 7000 and . <= 7200" >/dev/null; }
check "so does its end" ends_in
check "unless --republish is said" attach --republish
check "then the file holds" [ "$(left)" = null ]
check "it keeps the links" [ "$(links)" = "$before" ]
check "and verify is clean" verify
check "keep-down leaves host ports down" attach --keep-down
check "they are down" ports_down
check "up opens them, verify being clean" works up --management mgmt0
check "they are up" lab_is_up hpf0
check "up refuses when verify is not clean" fails 1 up
check "attach runs with the capabilities that the unit leaves" in_dpu setpriv \
	--bounding-set=-all,+bpf,+perfmon,+net_admin,+chown,+fowner,+dac_override \
	sh -c '"$@" >/dev/null' attach "$LOAD" attach --policy "$LAB_TMP/policy.yaml" --json

# --- what verify notices
lab_sysctl dpu net.ipv4.ip_forward=1
check "verify notices forwarding of IPv4" notices "IPv4 forwarding by the kernel is on"
lab_sysctl dpu net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=1
check "verify notices forwarding of IPv6" notices "IPv6 forwarding by the kernel is on"
lab_sysctl dpu net.ipv6.conf.all.forwarding=0 net.ipv4.conf.p0.forwarding=1
check "verify notices forwarding of one port" notices "p0: the kernel forwards ipv4 by itself"
lab_sysctl dpu net.ipv4.conf.p0.forwarding=0
lab_sysctl dpu net.ipv4.neigh.p0.unres_qlen_bytes=65536
check "verify notices packets that may wait for their next hop" notices "neigh/p0/unres_qlen_bytes is 65536"
lab_sysctl dpu net.ipv4.neigh.p0.unres_qlen_bytes=1
check "the kernel accepts redirects when forwarding is switched off, and verify notices" \
	notices "net/ipv4/conf/all/accept_redirects is 1"
lab_sysctl dpu net.ipv4.conf.all.accept_redirects=0
check "verify is clean again" verify
ip_in dpu link add br0 type bridge
ip_in dpu link set hpf0 master br0
check "verify notices a bridge" notices "hpf0 belongs to a bridge"
ip_in dpu link del br0
ip_in dpu link set p0 mtu 1400
check "verify warns of a changed MTU" verify
check "by name" says "p0 has an MTU of 1400 but had 1500"
ip_in dpu link set p0 mtu 1500
rm "$LAB_PINS/links/bwl_tc_gate_p0"
lab_wait_for 5 in_status '.ports[0].programs[] | select(.program == "bwl_tc_gate") | .attached | not'
check "verify notices a gate that is gone" notices "bwl_tc_gate is not attached"
check "attach puts it back" attach
check "and verify is clean" verify
verify
check "verify knows of the program that notes a suspend" says "a suspend is noted"
rm "$LAB_PINS/links/suspend"
verify
check "and notices that its link is gone" says "no program notes a suspend\|this kernel cannot suspend"
works attach --policy "$LAB_TMP/policy.yaml"
verify
check "attach puts that back, too" says "a suspend is noted"
# shellcheck disable=SC2034 # of the next check
was=$(in_dpu "$BPFTOOL" link show pinned "$LAB_PINS/links/suspend" | head -n 1)
works upgrade
verify
check "upgrade puts a new one in its place" eval '[[ -n $was && $(in_dpu "$BPFTOOL" link show pinned "$LAB_PINS/links/suspend" | head -n 1) != "$was" ]]'
check "and it is noted still" says "a suspend is noted"
in_dpu "$CTL" stop >/dev/null 2>&1
check "verify notices the stop switch" notices "stop switch is on"
in_dpu "$CTL" stop --off >/dev/null 2>&1

# --- ports that are created again
ip_in dpu link del hpf0
lab_veth host h0 dpu hpf0
lab_addr host h0 10.7.0.2/24 fd00:7:0::2/64
lab_addr dpu hpf0 10.7.0.1/24 fd00:7:0::1/64
ip_in host route add default via 10.7.0.1
ip_in host -6 route add default via fd00:7:0::1
check "verify notices a port that was made anew" notices "hpf0 is gone, and another device has its name"
check "nothing passes it" lab_silent
check "attach takes it back" attach
check "traffic passes" lab_wait_for 20 lab_both
live "the port was made anew, and is attached again"
check "verify is clean" verify

# --- a port is the device that was attached, whatever has its name now
rename() { ip_in dpu link set "$1" down && ip_in dpu link set "$1" name "$2" && ip_in dpu link set "$2" up; }
for a in 10.7.0.1 fd00:7::1; do ip_in host neigh replace $a lladdr "$(lab_mac dpu hpf0)" dev h0 nud permanent; done
rename hpf0 was0
ip_in dpu link add hpf0 type bridge
ip_in dpu link set hpf0 up
check "the limits of a port that was renamed go on, IPv4 and IPv6" lab_wait_for 20 lab_both
check "verify says what it is called now" notices "port hpf0 is called was0 now"
check "attach does not take another device for it" fails 1 attach --policy "$LAB_TMP/policy.yaml"
check "and says which is the port" says "was0 is the device that is attached as port hpf0"
check "nothing was touched by that" lab_both
check "detach sets down the port" eval 'works detach && ! lab_is_up was0'
check "and not who has its name" lab_is_up hpf0
ip_in dpu link del hpf0
rename was0 hpf0
check "(with its name it is attached again)" attach
check "control: traffic passes" lab_wait_for 20 lab_both
ip_in net link set s0 down
lab_load verify --management mgmt0
check "an uplink without a carrier is named" says "uplink p0 has no carrier"
check "with where to look" says "ethtool p0"
ip_in dpu link set p0 down
lab_load verify --management mgmt0
check "one that is down is no affair of bwlimit-load up" says "ip link set p0 up"
ip_in dpu link set p0 up
ip_in net link set s0 up
lab_addr net s0 $LAB_VIA6/64
ip_in net -6 route add fd00:7::/32 via 2001:db8::1
for a in 10.7.0.1 fd00:7::1; do ip_in host neigh del $a dev h0; done
check "traffic passes again" lab_wait_for 20 lab_both
live "the uplink has its carrier again"

# --- pins that are incomplete, or not ours
rm "$LAB_PINS/maps/bwl_state_v1"
check "upgrade refuses a set of maps that is not whole" fails 1 upgrade
check "verify refuses it" fails 1 verify
check "attach makes all of them anew" attach
check "and says so" says "all maps are made new"
check "verify is clean" verify
live "pins were missing, and it is attached again"
check "detach sets host ports down" works detach
check "they are down" ports_down
check "no pin is left" [ ! -e "$LAB_PINS" ]
programs_left() { in_dpu "$BPFTOOL" net show | grep_all bwl_; }
rm -rf "$other"
refute "no program is left" programs_left
mkdir -p "$LAB_PINS/maps"
"$BPFTOOL" map create "$LAB_PINS/maps/bwl_schema_v1" type array key 4 value 64 entries 1 name bwl_schema_v1
check "attach refuses pins of another schema" fails 1 attach --policy "$LAB_TMP/policy.yaml"
check "and says what they are" says "another schema"
check "status refuses them" fails 1 status --json
check "with an error in JSON" in_json '.error.code == "EPROTO"'
rm "$LAB_PINS/maps/bwl_schema_v1"
"$BPFTOOL" map create "$LAB_PINS/maps/bwl_schema_v2" type array key 4 value 64 entries 1 name bwl_schema_v2
check "attach refuses maps of a version that it does not know" \
	fails 1 attach --policy "$LAB_TMP/policy.yaml"
check "and does not clear them away" [ -e "$LAB_PINS/maps/bwl_schema_v2" ]
check "detach does" works detach
check "a fresh attach works then" attach
check "detach --open opens host ports" works detach --open
check "they are up" lab_is_up hpf0

# --- boot: the unit's own lines, each only if those before worked
unit=$LAB_BUILD/packaging/bwlimit.service
boot() { # policy, what stands for bwlimit-load
	local line word args
	ip_in dpu link set hpf0 up # whatever raises ports early
	while read -r line; do
		args=()
		for word in ${line#* }; do
			case $word in
			"\$BWLIMIT_MANAGEMENT") args+=(--management mgmt0) ;;
			*) args+=("$word") ;;
			esac
		done
		BWLIMIT_POLICY=$1 in_dpu "$2" "${args[@]}" >"$LAB_TMP/boot" 2>&1 || return 1
	done < <(sed -n 's/^ExecStart\(Pre\)\?=\([^-]\)/\2/p' "$unit") # none that may fail, and is another program
}
check "the unit boots with a good policy" boot "$LAB_TMP/policy.yaml" "$LOAD"
check "host ports are up" lab_is_up hpf0
check "and verify is clean" verify
works detach
in_dpu "$LOAD" attach --policy "$LAB_TMP/policy.yaml" --keep-down >/dev/null 2>&1
in_dpu "$CTL" heartbeat >/dev/null
ip_in dpu link set hpf0 up # networkd, before the unit's last step
lab_wait_for 5 lab_is_up hpf0
check "before up nothing passes a port that something else raises" lab_silent
refute "and stop --off is not what opens it" in_dpu "$CTL" stop --off
check "status says so" eval 'works status --json && in_json ".switch == \"closed\""'
check "up opens it" works up --management mgmt0
# The uplink was down, and lost it: the router would say that replies cannot return, later, with what the host had sent.
ip_in dpu addr replace 2001:db8::1/64 dev p0 nodad
check "and traffic passes" lab_wait_for 20 lab_both
live "a port that something else raised is opened by up"
works detach
echo "version: 2" >"$LAB_TMP/bad.yaml"
refute "the unit fails with a policy that is not valid" boot "$LAB_TMP/bad.yaml" "$LOAD"
check "host ports are down" ports_down
refute "the unit fails without the loader" boot "$LAB_TMP/policy.yaml" "$LAB_TMP/nosuch"
check "and nothing forwards" lab_silent
if command -v systemd-analyze >/dev/null; then
	mkdir "$LAB_TMP/units"
	for u in bwlimit bwlimit-await bwlimit-guard bwlimit-verify; do
		sed "s|=[^= ]*/bwlimit-load |=$LOAD |" "$LAB_BUILD/packaging/$u.service" >"$LAB_TMP/units/$u.service"
	done
	check "systemd accepts the units" eval \
		'systemd-analyze verify --man=no "$LAB_TMP"/units/*.service 2>"$LAB_TMP/err" && ! grep -q bwlimit "$LAB_TMP/err"'
else
	skip "systemd accepts the units" "no systemd-analyze"
fi
done_testing
