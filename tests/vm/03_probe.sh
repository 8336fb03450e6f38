#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What probe reports about a card: netdevsim's switch, queues and features; SAs and policies that it accepts, rules
# that it refuses; and that nothing of a trial stays in it, however probe ends.
# vm-cost: 105
# live: no packets: only what a device holds
# leak: only what a device holds
# vm-needs: netdevsim iproute2
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck disable=SC2034 # for lab.sh
LAB=bwl-vprobe-$$ LAB_DESTS=0
# shellcheck source=../harness/tap.sh
. "$BWL_SOURCE/tests/harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$BWL_SOURCE/tests/harness/lab.sh"
# shellcheck source=../harness/documents.sh
. "$BWL_SOURCE/tests/harness/documents.sh"
# shellcheck source=../harness/probe_held.sh
. "$BWL_SOURCE/tests/harness/probe_held.sh"
# shellcheck source=../../vm-testbed/topo/netdevsim.sh
. "$BWL_SOURCE/vm-testbed/topo/netdevsim.sh"

trap 'nsim_down; lab_down' EXIT
lab_require
LAB_TMP=$(mktemp -d)
lab_ns dpu || exit 1
check "netdevsim makes an uplink and two representors, all of them down" nsim_up dpu 2
ports=(--host pf0vf0 --uplink p0)

probes() { # options…
	in_dpu "$LOAD" probe "$@" --json >"$LAB_TMP/doc" 2>"$LAB_TMP/err" && return
	sed 's/^/# /' "$LAB_TMP/err"
	return 1
}
said() { # port id condition
	jq -e --arg p "$1" --arg i "$2" "[.features[] | select(.port == (\$p | if . == \"\" then null else . end) and
		.id == \$i) | $3] == [true]" "$LAB_TMP/doc" >/dev/null && return
	jq -c --arg i "$2" '.features[] | select(.id == $i)' "$LAB_TMP/doc" | sed 's/^/# /'
	return 1
}
check "probe asks the card" probes "${ports[@]}"
check "its switch is in switchdev mode" said p0 eswitch-mode '.works and .answer == "switchdev"'
check "which is asked of a card once" eval \
	'jq -e "[.features[] | select(.id == \"eswitch-mode\")] | length == 1" "$LAB_TMP/doc" >/dev/null'
check "a parameter that its driver lacks is not offered" said p0 flow-steering '.answer == "not offered"'
check "a queue is counted" said p0 queues '.answer | test("^[0-9]+ of [0-9]+$")'
check "its IPsec is on" said p0 esp-offload '.works and .answer == "on"'
check "its offload of tc is off, and it says how to have it" said p0 tc-offload \
	'.answer == "off" and (.works | not) and .todo == "ethtool -K p0 hw-tc-offload on"'
in_dpu ethtool -K p0 hw-tc-offload on && in_dpu ethtool -K pf0vf0 hw-tc-offload on
probes "${ports[@]}"
check "then it is on" said p0 tc-offload '.works and .answer == "on"'

# --- what encryption needs of the kernel, and what blocks it
for f in 4 6; do check "this kernel has ESP for IPv$f" said "" esp$f '.works and .answer == "there"'; done
check "and asking leaves no SA" eval '[[ -z $(ip_in dpu xfrm state) ]]'
printf 'install esp4 /bin/false\nblacklist esp6\n' >/etc/modprobe.d/dirtyfrag.conf
unloaded() { modprobe -r esp4_offload esp6_offload esp4 esp6 2>/dev/null; ! grep -Eq '^esp[46] ' /proc/modules; }
check "control: ESP is unloaded" lab_wait_for 20 unloaded
probes "${ports[@]}"
check "a file that blocks ESP for IPv4 is named" said "" esp4 \
	'.answer == "blocked" and (.error | contains("/etc/modprobe.d/dirtyfrag.conf: install esp4 /bin/false"))'
check "and for IPv6" said "" esp6 '.answer == "blocked" and (.error | contains("/etc/modprobe.d/dirtyfrag.conf: blacklist esp6"))'
rm /etc/modprobe.d/dirtyfrag.conf
probes "${ports[@]}"
for f in 4 6; do check "without that file this kernel has ESP for IPv$f" said "" esp$f .works; done

# --- --try-hardware
refused() { # words
	! tries "${ports[@]}" && grep -q -- "$1" "$LAB_TMP/err" || { sed 's/^/# /' "$LAB_TMP/err"; false; }
}
ip_in dpu link set pf0vf1 up
check "nothing is tried while another port of the card is up" refused 'its device pf0vf1 is up'
ip_in dpu link set pf0vf1 down
device_has() { nsim_ipsec | grep_all "$1"; }
empty() {
	[[ -z $(ip_in dpu xfrm state)$(ip_in dpu xfrm policy)$(in_dpu tc filter show dev pf0vf0 ingress) ]] &&
		! in_dpu tc qdisc show dev pf0vf0 | grep_all clsact && device_has 'SA count=0' && [[ ! -e $LAB_PINS ]]
}
check "with all of them down it tries" probes "${ports[@]}" --try-hardware
jq -r '.features[] | select(.id | startswith("try-")) | "\(.id): \(.answer): \(.error)"' "$LAB_TMP/doc" | sed 's/^/# /'
if can_judge; then
	check "and says so as its schema says" judge probe <"$LAB_TMP/doc"
fi
check "nothing of it is left" empty
check "a rule is refused, in the driver's words" said pf0vf0 try-rule \
	'(.works | not) and .answer == "refused" and (.error | length > 3)'
check "an SA after the rule is therefore not tried" said p0 try-sa-after-rule '.answer == "not tried"'
check "no card took the meter" said '' try-meter '.works | not'
if grep -q 'policies=' < <(nsim_ipsec); then # the patched module: Linux 6.2 and later
	check "an SA of packet offload is taken and read back" said p0 try-sa '.works and .answer == "taken and read back"'
	check "so is a policy that drops" said p0 try-drop-policy '.works and .answer == "taken and read back"'
	documented() { # what docs/bluefield.md puts below the SAs
		local any line
		line=$(sed -n '/ip xfrm policy add dir out/,/[^\\]$/p' "$BWL_SOURCE/docs/bluefield.md" | tr -d '\\\n')
		for any in 0.0.0.0/0 ::/0; do
			# shellcheck disable=SC2086 # words
			in_dpu ${line//'$any'/$any} || return
		done
		device_has policies=2 && in_dpu ip xfrm policy flush
	}
	check "so are those of docs/bluefield.md" documented
	check "the rule is tried beside the SA" said p0 try-rule-after-sa '.answer == "refused"'
	if command -v strace >/dev/null && probe_hold XFRM_MSG_GETSA "${ports[@]}"; then
		check "control: stopped in between, its SA is in the device" device_has 'spi=0x62776c01 .* packet'
		kill -KILL "$PROBE"
		check "killed, another process takes it out" lab_wait_for 60 empty
		probe_hold XFRM_MSG_GETPOLICY "${ports[@]}"
		check "control: stopped later, its policy is" device_has 'policies=1'
		kill -KILL "$PROBE"
		check "which goes, too" lab_wait_for 60 eval 'empty && device_has policies=0'
		probe_hold XFRM_MSG_GETSA "${ports[@]}"
		probe_kill_both
		check "control: with both killed the SA stays" device_has 'spi=0x62776c01 .* packet'
		check "and ends by itself" lab_wait_for 120 device_has 'SA count=0'
	else
		skip "what was tried is removed by whoever is left" "no strace"
	fi
else
	check "this kernel has no packet offload, and an SA is refused" said p0 try-sa '.works | not'
fi

# --- the other mode
in_dpu devlink dev eswitch set netdevsim/netdevsim1 mode legacy
check "in legacy mode probe asks the uplink" probes --uplink p0
check "and says the step to switchdev" said p0 eswitch-mode '.answer == "legacy" and
	.todo == "devlink dev eswitch set netdevsim/netdevsim1 mode switchdev"'
done_testing
