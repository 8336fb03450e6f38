#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Path offload over veth: XDP sends charged frames straight to the uplink, and only while it is told
# that the uplink encrypts them. The tracker's entries are written here by hand; tests/vm/
# 23_offload.sh has a device that holds SAs.
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-offn-$$ LAB_DESTS=0
# shellcheck source=../harness/tap.sh
. "$BWL_SOURCE/tests/harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$BWL_SOURCE/tests/harness/lab.sh"
command -v bpftool >/dev/null || { echo "1..0 # SKIP needs bpftool"; exit 77; }
lab_up || exit 1
in_dpu ethtool -K hpf0 rxvlan off

lab_attach || exit 1
lab_policy_head <<-END | lab_apply
	peers:
	  - { name: sealed, addresses: [10.3.0.0/16], path: offload, ipsec: { remote: $LAB_VIA4 },
	      grant: { rate: 1gbit, mode: police } }
	END
id=$(in_dpu "$CTL" --json peer show sealed | jq .tunnel.if_id)
map() { bpftool -j map "$1" pinned "$LAB_PINS/maps/$2" "${@:3}"; }
bytes() { # number-of-bytes number: little endian
	local i
	for ((i = 0; i < $1; i++)); do printf '%02x ' $(($2 >> (8 * i) & 255)); done
}
# The last of the control words: how long they are valid, in seconds since boot.
# shellcheck disable=SC2046 # lists of bytes
believed() { # seconds-from-now
	map update bwl_ctl_v1 key hex 00 00 00 00 value hex \
		$(map lookup bwl_ctl_v1 key 0 0 0 0 | jq -r '.value[0:124][]' | sed 's/0x//') \
		$(bytes 4 $((${1:+$(cut -d. -f1 /proc/uptime) + $1})))
}
# shellcheck disable=SC2046
entry() { # flags: SA 1, beneath 4, XDP 8
	map update bwl_tunnel_v1 key hex $(bytes 4 "$id") value hex $(bytes 1 "$1") 02 $(bytes 2 60) \
		00 00 00 00 00 00 00 00 00 00 00 00 $(lab_mac net s0 | tr : ' ') 00 00 \
		$(bytes 4 "$(ip_in dpu -j link show p0 | jq '.[0].ifindex')") 01 00 00 00
}
frames() { in_dpu "$CTL" --json reasons | jq "[.reasons[] | select((.port + (if .hook == \"gate\" then \" out\" else \"\" end)) == \"$1\" and .reason == \"$2\") | .frames] | add // 0"; }
judged() { in_dpu "$CTL" --json reasons | jq '[.reasons[] | select(.port == "hpf0") | .frames] | add // 0'; }
received() { in_ns net awk '$1 == "Ip:" && n++ { print $4; exit }' /proc/net/snmp; }
ten_more() { [[ $("$1") -ge $(($2 + 10)) ]]; } # command before
arrive() { # how many of ten frames reach the other end of the uplink's cable, in the clear; should they?
	local judged received
	judged=$(judged) received=$(received)
	lab_bg count net "$FRAMES" count s0
	local pid=$LAB_PID
	lab_wait_for 5 grep -q ready "$LAB_TMP/count"
	thief --count 10 <<<"eth ip4 src=10.7.0.2 dst=10.3.0.9 udp dport=9 fill=100" >/dev/null
	lab_wait_for 20 ten_more judged "$judged"
	[[ $1 == no ]] || lab_wait_for 20 ten_more received "$received"
	lab_stop "$pid"
	got=$(awk '$2 == "10.3.0.9" { n += $4 } END { print n + 0 }' "$LAB_TMP/count")
}
arrive no
check "untold, nothing leaves" test "$got" = 0
entry 13
arrive no
check "nor while nobody looks after it" test "$got" = 0
believed 3600
was=$(frames hpf0 pass)
arrive yes
check "told, all of it leaves by XDP" test "$got" = 10
check "charged and counted once each" test $(($(frames hpf0 pass) - was)) = 10
check "and the last gate saw none" test "$(frames "p0 out" pass-gate)" = 0
entry 9
arrive no
check "without drop policies beneath nothing leaves" test "$got" = 0
entry 13
believed 0
arrive no
check "nor when who looked after it has gone" test "$got" = 0
believed 3600
check "the same in generic mode" in_dpu "$LOAD" attach --xdp generic --host hpf0 --uplink p0
arrive no
check "carries nothing" test "$got" = 0
done_testing
