#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# systemd-networkd beside bwlimit, as it comes with its default and with the package's setting: it removes rules that no
# .network file has, also the kernel's own where some tool has made them anew (systemd#41350). NETWORKD: another version's.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-nd-$$ LAB_DESTS=1 LAB_MGMT=1
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
NETWORKD=${NETWORKD:-/lib/systemd/systemd-networkd}
[[ -x $NETWORKD ]] || { skip "systemd-networkd beside bwlimit" "no $NETWORKD"; done_testing; exit; }
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
lab_up || exit 1
ip_in dpu route add default via 10.250.0.2
ip_in dpu -6 route add default via fd00:250::2
note "$("$NETWORKD" --version | head -n 1)"
attach() { lab_load attach --fresh-volume --host hpf0 --uplink p0 --management mgmt0; }
reaches() { in_dpu ping -q -c 1 -W 5 10.250.0.2 >/dev/null && in_dpu ping -q -c 1 -W 5 fd00:250::2 >/dev/null; }
rules() { ip_in dpu rule; ip_in dpu -6 rule; }
ours() { grep -c '^[1-6]:' < <(rules); }
is_right() { lab_load verify; [[ $? -le 1 ]] && grep -q 'maps in' "$LAB_TMP/out" && ! grep -q 'FAIL.*rule [0-9]' "$LAB_TMP/out"; }
as_a_tool_does() { # that saves and restores rules, without who made them
	for f in -4 -6; do
		ip_in dpu $f rule del pref 32766
		ip_in dpu $f rule add pref 32766 lookup main
	done
	ip_in dpu rule del pref 32767
	ip_in dpu rule add pref 32767 lookup default
}
up() { ip_in dpu -o addr show dev nd0 | grep_all 10.99.9.9; }
# It sees a device that comes while it runs: only then does it look at rules. udev is not here: /sys is read-only.
networkd() { # file with its setting
	local pid
	rm -f "$LAB_TMP/networkd.err" # of the one before
	ip_in dpu link add nd9 type veth peer name nd8
	ip_in dpu link set nd8 up
	# shellcheck disable=SC2016 # for that shell
	lab_bg networkd dpu unshare --mount --propagation private sh -c '
		mount -t tmpfs none /run && mount -t tmpfs none /etc/systemd && mount -t sysfs -o ro sysfs /sys || exit
		mkdir -p /run/systemd/netif/links /run/systemd/netif/leases /run/dbus /etc/systemd/networkd.conf.d /etc/systemd/network
		chown -R systemd-network: /run/systemd/netif
		cp "$2" /etc/systemd/networkd.conf.d/
		printf "[Match]\nName=nd0\n[Network]\nAddress=10.99.9.9/24\nAddress=fd00:999::9/64\n" >/etc/systemd/network/nd0.network
		SYSTEMD_LOG_LEVEL=debug SYSTEMD_LOG_TARGET=console exec "$1"' sh "$NETWORKD" "$1"
	pid=$LAB_PID
	lab_wait_for 30 grep -q 'Enumeration completed' "$LAB_TMP/networkd.err" || note "$(tail "$LAB_TMP/networkd.err")"
	ip_in dpu link set nd9 name nd0
	ip_in dpu link set nd0 up
	check "networkd configures a device" lab_wait_for 30 up
	lab_stop "$pid"
	ip_in dpu link del nd0
}
grep -q '^ManageForeignRoutingPolicyRules=no$' "$here/../../packaging/networkd/bwlimit.conf" || nok "the package's setting is no"
printf '[Network]\nManageForeignRoutingPolicyRules=yes\n' >"$LAB_TMP/default.conf"
cp "$here/../../packaging/networkd/bwlimit.conf" "$LAB_TMP/package.conf"

check "attach" attach
n=$(ours)
networkd "$LAB_TMP/default.conf"
check "with its default it leaves bwlimit's rules" test "$(ours)" -eq "$n"
check "and the kernel's" is_right
as_a_tool_does
check "control: rules for main and default that a tool made do as well" is_right
check "and management is reached" reaches
networkd "$LAB_TMP/default.conf"
check "with its default it removes these" eval '[[ $(grep -c "^3276[67]:" < <(rules)) -eq 0 ]]'
check "bwlimit's stand" test "$(ours)" -eq "$n"
check "verify says that main is gone, IPv4" lab_verify_finds "IPv4 rule 32766 .*is missing"
check "verify says that main is gone, IPv6" lab_verify_finds "IPv6 rule 32766 .*is missing"
refute "the DPU reaches no management then" reaches
check "attach puts them back" attach
check "to a clean verify" is_right
networkd "$LAB_TMP/default.conf"
check "and networkd leaves those" is_right
as_a_tool_does
networkd "$LAB_TMP/package.conf"
check "with the package's setting it removes none" is_right
check "and management is reached" reaches
done_testing
