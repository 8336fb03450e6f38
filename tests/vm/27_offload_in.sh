#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What an uplink's hardware decrypts (lib/offload.sh): it holds SAs of both directions, and our patch attaches the SA to
# received packets, as mlx5 does. From there to the host everything is the kernel's and the programs'.
# vm-cost: 70
# vm-needs: netdevsim iproute2
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-ofi-$$
# shellcheck source=lib/offload.sh
. "$BWL_SOURCE/tests/vm/lib/offload.sh"

offload_up "what a device decrypts"
policy() { # accept: of tray 2 at tray 1, where tray-3 is another encrypted peer
	offload_policy "accept: { rate: $1 }"
	echo "  - { name: tray-3, addresses: [10.0.3.0/24], ipsec: { remote: 192.0.2.3 }, $OFFLOAD_GRANT }"
}
check "tray 1 takes a policy with a peer of path offload" tray_apply 1 < <(policy 200mbit)
# Tray 2 lets its host send with a source that is not its own.
tray_apply 2 < <(sa_tray_policy 2 "$OFFLOAD_GRANT" | sed 's|10.0.2.0/24, |10.0.2.0/24, 10.0.3.0/24, |')
offload_words
offload_add "$SA_OUT" "$SA_IN" "$POL4" "$POL6" "$POL4_IN" "$POL6_IN" "$BLOCK4" "$BLOCK6"
offload_tray2
offload_box_up
offload_watch_up
check "XDP carries what leaves" lab_wait_for 60 is_why xdp
# A trap at the host port, for a packet that a card would misread.
ip_in host1 link set h0 up
in_ns dpu1 tc qdisc replace dev pf0hpf clsact
check "what an SA hangs to would be dropped at the host port" \
	in_ns dpu1 tc filter add dev pf0hpf egress bpf da obj "$LAB_BUILD/tests/harness/secpath.bpf.o" sec tc

grew() { # port reason was
	test "$(frames "$1" "$2")" -gt "$3"
}
forge() { # spec…: the rogue, in the clear, to DPU 1
	in_ns rogue "$FRAMES" send p0 --gw "$(tray_mac 1 3)" --count 20 >/dev/null <<<"$1"
}
accepted=$(frames bwl0 ^pass-accept)
check "a ping over IPv4 passes both ways" pings 10.0.2.2
check "a ping over IPv6 passes both ways" pings fd00:2::2
check "what came was taken at the uplink as ESP" grew p0 ^pass-esp 5
check "and charged to accept as what comes out of a tunnel" grew bwl0 ^pass-accept "$((accepted + 5))"
check "TCP from tray 2" tcp host2 host1 10.0.1.2 700000
check "none of it was merged" test "$(frames p0 ^merged)" -eq 0
no_trap() { in_ns dpu1 tc -s qdisc show dev pf0hpf clsact | grep 'dropped 0,' | sed 's/^/# /'; }

seen() { # at host 1: UDP of port 7777
	in_ns host1 nft list table inet seen | sed -n 's/.*udp dport 7777 counter packets \([0-9]*\).*/\1/p'
}
in_ns host1 nft -f - <<-'END'
table inet seen {
	chain in {
		type filter hook prerouting priority 0;
		udp dport 7777 counter
	}
}
END
was=$(frames p0 ^no-sa)
forge "eth ip4 src=10.0.2.2 dst=10.0.1.2 udp dport=7777 fill=40"
forge "eth ip6 src=fd00:2::2 dst=fd00:1::2 udp dport=7777 fill=40"
check "cleartext in the peer's name, from the wire, has no SA" lab_wait_for 60 grew p0 ^no-sa $((was + 39))
udp() { # source [bytes]
	in_ns host2 "$FRAMES" send h0 --gw "$(tray_mac 2 2)" --count 20 >/dev/null <<<"eth ip4 src=$1 dst=10.0.1.2 udp dport=7777 fill=${2:-40}"
}
was=$(seen)
check "the host has seen none of that" test "$was" -eq 0
udp 10.0.2.2
all_seen() { test "$(seen)" -eq 20; }
check "the same through the SA arrives" lab_wait_for 60 all_seen
was=$(frames bwl0 ^tunnel-source)
udp 10.0.3.2
check "through the SA, in the name of another peer: dropped" lab_wait_for 60 grew bwl0 ^tunnel-source $((was + 19))
check "and not seen" test "$(seen)" -eq 20

tray_apply 1 < <(policy '100kbit, burst: 20kb')
was=$(frames bwl0 ^accept-rate)
for ((i = 0; i < 10; i++)); do udp 10.0.2.2 1300; done
check "accept holds for what a device decrypted" lab_wait_for 60 grew bwl0 ^accept-rate "$was"
tray_apply 1 < <(policy 200mbit)

has() { # level text
	tray_load 1 verify --json >"$LAB_TMP/verify" # it fails for other reasons: a drill
	jq -e --arg t "$2" --arg l "$1" '.checks[] | select(.result == $l and (.text | contains($t)))' "$LAB_TMP/verify" >/dev/null
}
tray_load 1 verify | sed 's/^/# /'
check "verify says that nothing is merged" has ok "p0 merges none of the frames"
in_ns dpu1 ethtool -K p0 gro on
# The box sends one frame at a time: without this each frame would be a poll of its own.
ip netns exec "$LAB-dpu1" sh -c 'echo 20000000 >/sys/class/net/p0/gro_flush_timeout'
check "and that something may be, with GRO" has warn "p0 merges received frames"
lab_bg iperf host1 timeout 600 iperf3 -s -1
lab_wait_for 60 in_ns host1 sh -c 'ss -Hltn "sport = :5201" | grep -q .'
lab_bg merge host2 timeout 600 iperf3 -c 10.0.1.2 -t 300
check "what GRO has merged is refused" lab_wait_for 120 grew p0 ^merged 0
lab_stop "$LAB_PID"
in_ns dpu1 ethtool -K p0 gro off
check "a ping passes again" pings 10.0.2.2

was=$(frames p0 ^no-sa)
in_ns dpu1 ip xfrm state delete src 192.0.2.2 dst 192.0.2.1 proto esp spi 0x1002
refute "without the inbound SA nothing passes" pings 10.0.2.2
offload_add "$SA_IN"
check "with it again it does" lab_wait_for 60 pings 10.0.2.2
LIVE_FROM=2 live "the inbound SA is back in the device"
tray_ctl 1 revoke tray-2 >/dev/null 2>&1
offload_add "$SA_IN" # revoke removed it
was=$(seen)
revoked() { udp 10.0.2.2; grew bwl0 ^revoked 0; }
check "revoked, it is not taken even with an SA in the device" lab_wait_for 60 revoked
check "and not seen" test "$(seen)" -eq "$was"

lab_stop "$BOX"
note "$(tail -n 1 "$LAB_TMP/box")"
check "no SA hung to what was handed to the host" no_trap
offload_end
