#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The corpus over a veth (corpus_test.sh fetches it): promise 7 with XDP, TC, a real device and
# frames that no one here wrote. What the device received is what was counted since attach. Bytes
# are compared with what the sender handed over: a veth that receives through NAPI counts, at both
# ends, without the Ethernet header.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-replay-$$ LAB_DESTS=1 LAB_MTU=9000
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"

frames=$BWL_BUILD/corpus/frames.pcap
if [[ ! -s $frames ]]; then
	echo "1..0 # SKIP there is no corpus: prog.corpus could not fetch it"
	exit 77
fi
lab_up || exit 1
JSON=$BWL_BUILD/tests/harness/bwl-json

# Only the corpus: no frame of the host's own before, between or after.
quiet_host() {
	lab_sysctl host net.ipv6.conf.h0.disable_ipv6=1
	ip_in host link set h0 arp off
	sleep 0.3
}
counted() { # frames or bytes, of hpf0's ingress, over all reasons
	in_dpu "$CTL" --json reasons --port hpf0 --all | "$JSON" reasons | tr '{' '\n' |
		sed -n "s/.*\"hook\":\"ingress\".*\"$1\":\([0-9]*\).*/\1/p" |
		awk '{ n += $1 } END { printf "%.0f", n }'
}
settled() { # no frame under way
	local now
	now=$(counted frames)
	[[ $now -ge $((sent - dropped)) && $now == "$(counted frames)" ]]
}

quiet_host
read -r _ rx_frames < <(lab_rx dpu hpf0)
lab_attach || exit 1
lab_policy_head <<-'END' | sed 's/sources: .*/sources: [0.0.0.0\/0, "::\/0"]/' | lab_apply || exit 1
peers: []
END
quiet_host
read -r _ sent bytes _ refused < <(in_host "$BWL_BUILD/tests/prog/corpus_send" "$frames" h0)
dropped=$(in_host cat /proc/net/dev | awk '$1 == "h0:" { print $13 }')
lab_wait_for 5 settled
read -r _ now_frames < <(lab_rx dpu hpf0)
note "$sent frames of $bytes bytes sent, $refused not taken by the sender's device, $dropped lost in its ring"
note "received: $((now_frames - rx_frames)) frames"
note "counted: $(counted frames) frames, $(counted bytes) bytes"
in_dpu "$CTL" reasons --port hpf0 | sed 's/^/# /'

check "a corpus was sent" [ "$sent" -gt 1000 ]
check "every frame that the device received is counted under a reason" \
	[ "$(counted frames)" = $((now_frames - rx_frames)) ]
if [[ $dropped -eq 0 ]]; then
	check "and so are its bytes, tags and headers among them" [ "$(counted bytes)" = "$bytes" ]
else
	skip "and so are its bytes, tags and headers among them" "$dropped frames were lost in the ring"
fi
check "the uplink sent none of them" [ "$(lab_rx net s0 | cut -d' ' -f2)" -lt 20 ]
done_testing
