# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# Reboots of the lab, and which peers pass after one: source lab.sh, set ATTACH (the command) and AGENT_PID.

attach() { in_dpu "${ATTACH[@]}" >"$LAB_TMP/out" 2>"$LAB_TMP/err"; }
ctl() { in_dpu "$CTL" "$@" >"$LAB_TMP/ctl" 2>&1; }
# Power loss: no program ends cleanly, and nothing in the kernel is left.
power_off() {
	[[ -z $AGENT_PID ]] || { kill -KILL "$AGENT_PID"; wait "$AGENT_PID"; AGENT_PID=; } 2>/dev/null
	rm -rf "$LAB_PINS" "/run/bwlimit/${LAB_PINS##*/}.attached"
	ip_in dpu link set hpf0 down
	local d
	for d in hpf0 p0; do in_dpu tc qdisc del dev "$d" clsact 2>/dev/null; done
	return 0
}
# The number of packets that destination d1 or d2 has received, by IP version (4 or 6).
got() { in_ns "d$1" cat /proc/net/snmp6 /proc/net/snmp | awk -v v="$2" '
	v == 6 && $1 == "Ip6InReceives" { print $2 }
	v == 4 && $1 == "Ip:" && n++ { print $4 }'; }
passes() { # destination, family
	local before after
	before=$(got "$1" "$2")
	if [[ $2 -eq 4 ]]; then
		in_host ping -4 -q -c 3 -i 0.01 -W 0.2 -p 6a6f75726e616c "$(lab_dest4 "$1")" >/dev/null 2>&1
	else
		in_host ping -6 -q -c 3 -i 0.01 -W 0.2 -p 6a6f75726e616c "$(lab_dest6 "$1")" >/dev/null 2>&1
	fi
	lab_settle
	after=$(got "$1" "$2")
	[[ $((after - before)) -ge 3 ]]
}
ready() { # waits for neighbours and addresses of host and DPU after the port came up
	lab_wait_for 20 passes "$1" 4 && lab_wait_for 20 passes "$1" 6
}
is_open() { passes "$1" 4 && passes "$1" 6; }
is_closed() { ! passes "$1" 4 && ! passes "$1" 6; }
state_of() { "$CTL" --json peer show "$1" 2>/dev/null | jq -r .state; }
journal() { "$CTL" --json journal show | jq -e "$1" >/dev/null; }
