#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The uplink's own count of what it sent, against what was let out through it: a frame that passed the last gate unseen is
# found, whoever sent it, and neither GSO traffic nor a restart is taken for one. BWL_COUNTERS_SECONDS=20 for more
# traffic. XDP as a sender and the port's own counters: tests/vm/56_counters.sh.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-counters-$$ LAB_DESTS=1
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
SECONDS_OF_TRAFFIC=${BWL_COUNTERS_SECONDS:-6}
lab_up || exit 1

desired() { # action
	lab_policy_head <<-END
	tamper: { counters: $1 }
	peers:
	$(lab_peer d1 1 "grant: { rate: 2gbit, burst: 4mb }")
	END
}
signs() { cat "$LAB_TMP"/agent.* | grep -c '"event":"tamper".*counters: '; }
said() { cat "$LAB_TMP"/agent.* | grep_all "\"event\":\"tamper\".*counters: $1"; }
state() { [[ $("$CTL" --json peer show d1 | jq -r .state) == "$1" ]]; }
starts=0
start() { # action
	desired "$1" >"$LAB_TMP/desired.yaml"
	in_dpu "$CTL" policy apply --yes "$LAB_TMP/desired.yaml" >/dev/null 2>&1
	in_dpu "$CTL" heartbeat >/dev/null 2>&1
	lab_bg agent.$((++starts)) dpu "$AGENT" --policy "$LAB_TMP/desired.yaml" --state-dir "$LAB_TMP/state" \
		--tpm none --json
	agent=$LAB_PID
	lab_wait_for 30 grep -q '"event":"start"' "$LAB_TMP/agent.$starts"
	lab_wait_for 30 state live
}
reached() { in_host ping -c1 -W1 "$(lab_dest4 1)"; }
past() { # frames, bytes of each, how
	echo "eth type=0x88b5 fill=$(($2 - 14))" |
		in_dpu "$FRAMES" send p0 --gw ff:ff:ff:ff:ff:ff --count "$1" "$3" >"$LAB_TMP/past"
}
found() { # what is said, once it knows what was before: a frame past the gate every four seconds until then
	local i
	for ((i = 0; i < 1800; i++)); do
		[[ $((i % 80)) -gt 0 ]] || past 1 64 --bypass
		said "$1" && return
		sleep 0.05
	done
	return 1
}
segments() { # of the flow that arrived: in GSO packets at the gate
	[[ $(in_ns d1 awk '$1 == "Tcp:" && n++ { print $11; exit }' /proc/net/snmp) -gt 1000 ]]
}
rule() { in_dpu tc qdisc "$@" dev p0 root ${rate:+tbf rate 1gbit burst 200 limit 1mb}; }
lost() { in_dpu tc -s -j qdisc show dev p0 root | jq -e '.[0].drops >= 20' >/dev/null; }

lab_attach || exit 1
start log
check "one frame past the gate is found out" found 'p0 sent 1 frame that did not pass its last gate; action log'
check "to log it closes nothing" state live

# As many frames as were lost behind the gate go past it, and larger ones: a count of frames does not show it.
rate=yes rule replace
echo "eth ip4 src=$HOST4 dst=$(lab_dest4 1) udp dport=9 fill=400" |
	in_host "$FRAMES" send h0 --gw "$(lab_mac dpu hpf0)" --count 20 >/dev/null
check "twenty frames are lost behind the gate" lab_wait_for 20 lost
rate='' rule del
past 20 1514 --bypass
check "twenty larger ones past it are found by their bytes" \
	lab_wait_for 30 said 'p0 sent [0-9]* more bytes than passed its last gate; action log'
refute "and not by their number" said 'p0 sent 20 frames'
live "what lost frames behind the gate is gone"

was=$(signs)
lab_bg server d1 iperf3 -s -1
lab_wait_for 30 in_ns d1 sh -c 'ss -ltn | grep -q :5201'
in_dpu ethtool -K p0 tso off >/dev/null # the device is given segments, and counts them
in_host timeout 90 iperf3 -c "$(lab_dest4 1)" -t "$SECONDS_OF_TRAFFIC" >"$LAB_TMP/iperf" 2>&1 ||
	note "$(tail -n 3 "$LAB_TMP/iperf")"
check "a host's GSO packets were sent" segments
check "three frames by AF_XDP leave" past 3 64 --xsk
check "right after that traffic, and are found to the frame" \
	lab_wait_for 30 said 'p0 sent 3 frames that did not pass its last gate; action log'
check "and neither that traffic nor anything else was a sign" test $(($(signs) - was)) -eq 1

in_dpu ethtool -K p0 tso on >/dev/null
was=$(signs)
in_dpu "$LOAD" detach >/dev/null 2>&1
in_dpu ping -c3 -i0.2 "$LAB_VIA4" >/dev/null 2>&1 # what no gate sees
lab_attach
in_dpu "$CTL" policy apply --yes "$LAB_TMP/desired.yaml" >"$LAB_TMP/applied" 2>&1
in_dpu "$CTL" heartbeat >>"$LAB_TMP/applied" 2>&1
goes_on() {
	lab_wait_for 30 reached && return
	note "$(cat "$LAB_TMP/applied")" "$(in_dpu "$LOAD" verify 2>&1)" "$(tail -n 12 "$LAB_TMP/agent.$starts")"
	return 1
}
check "it goes on after detach and attach" goes_on
lab_stop "$agent"
ip_in dpu link del p0 # an uplink made anew counts from 0
in_dpu "$LOAD" detach >/dev/null 2>&1
lab_uplink 0
ip_in net route replace 10.7.0.0/16 via 192.0.2.1
lab_attach
start revoke
check "and with an uplink whose counters began anew" goes_on
live "the uplink was made anew, and attached"
refute "none of it is taken for frames past the gate" test "$(signs)" -ne "$was"
check "with revoke it says so" found 'p0 sent [0-9]* frames\{0,1\} that .*action revoke'
check "and everything is closed" lab_wait_for 20 state revoked
lab_stop "$agent"
done_testing
