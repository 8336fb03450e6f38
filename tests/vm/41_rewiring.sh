#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What somebody at the cables, or a DPU that was taken over, can do to two working trays (promises 1,
# 5, 8): replayed ESP, plaintext from the network, forged sources, a sender that ignores its limits,
# and a cable to a rogue device that has the other tray's addresses, and certificates of its own.
# vm-cost: 250
# vm-needs: strongswan
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-rew-$$
for part in tests/harness/tap vm-testbed/topo/trays tests/harness/charon \
	vm-testbed/topo/mesh; do
	# shellcheck source=/dev/null
	. "$BWL_SOURCE/$part.sh"
done
charon_require
trays_up 2 || exit 1

RATE=4000000 # bit/s
MESH_IPSEC='ca: bwlimit.pem, dpd: 2s'
mesh_ca
for n in 1 2; do mesh_tray_up "$n" "grant: { rate: ${RATE}bit, mode: police }"; done
# What a thief may have of tray 2: its certificate and key, and some that are no longer valid.
stolen=$LAB_TMP/stolen expired=$LAB_TMP/expired forged=$LAB_TMP/forged
cp -r "$(charon_dir 2)/swanctl" "$stolen"
mesh_quietly "$CTL" pki issue tray-2 --ca "$MESH_CA" --out "$expired" --life 1m
expiry=$((SECONDS + 62))
mesh_quietly "$CTL" pki init --ca "$LAB_TMP/rogue-ca"
mesh_quietly "$CTL" pki issue tray-2 --ca "$LAB_TMP/rogue-ca" --out "$forged"
check "the connections are loaded" mesh_load_both
check "both sides are open" lab_wait_for 40 mesh_open
check "and traffic passes" passes 10.0.2.2
capture_start wire s1

# --- counting at a host: frames with a source that only one attack uses
count_begin() { # host
	lab_bg count "$1" "$FRAMES" count h0
	COUNTER=$LAB_PID
	lab_wait_for 30 grep -q ready "$LAB_TMP/count"
}
counted() { # source
	awk -v s="$1" '$3 == s { n += $4 } END { print n + 0 }' "$LAB_TMP/count"
}
count_end() { sleep 0.5; lab_stop "$COUNTER"; } # frames in flight arrive first
seq_errors() { in_ns dpu2 awk '$1 == "XfrmInStateSeqError" { print $2 }' /proc/net/xfrm_stat; }
raises() { # tray port reason by command…
	local was tray=$1 port=$2 reason=$3 by=$4 is
	was=$(mesh_reason "$tray" "$port" "$reason")
	shift 4
	"$@"
	is=$(mesh_reason "$tray" "$port" "$reason")
	note "$reason at $port of tray $tray: $was, then $is"
	[[ $((is - was)) -ge $by ]]
}

# --- replay
from_host1() { # lines of frames
	in_ns host1 "$FRAMES" send h0 --gw "$(tray_mac 1 2)" --pps 50 "$@" >/dev/null
}
CAPTURE_SNAP=0 capture_start replay s1
count_begin host2
from_host1 --count 50 <<<"eth ip4 src=10.0.1.77 dst=10.0.2.2 udp dport=9 fill=100"
sleep 1
capture_stop replay
capture_frames replay 'ip proto 50 and src 192.0.2.1' "$(tray_mac 2 3)" >"$LAB_TMP/replay.frames"
lines=$(wc -l <"$LAB_TMP/replay.frames") before=$(seq_errors)
replay() { in_ns rogue "$FRAMES" send p0 --gw "$(tray_mac 2 3)" --count $((2 * lines)) <"$LAB_TMP/replay.frames"; }
check "the ESP of tray 1 is sent again, twice, by the rogue" tray_quiet replay
count_end
note "$lines ESP packets captured, $(($(seq_errors) - before)) of $((2 * lines)) refused as replayed"
check "the host got each datagram once" test "$(counted 10.0.1.77)" -eq 50
check "the kernel counts every replayed packet" test $(($(seq_errors) - before)) -ge $((2 * lines))

marker_start host1 10.0.2.2

# --- plaintext from the network
esp_like=00001001000000014500001c0001000040110000
cat >"$LAB_TMP/plain" <<END
eth ip4 src=10.0.2.66 dst=10.0.1.2 udp dport=9 fill=64
eth ip6 src=fd00:2::66 dst=fd00:1::2 udp dport=9 fill=64
eth ip4 src=10.0.1.66 dst=10.0.1.2 udp dport=9 fill=64
eth ip4 src=192.0.2.2 dst=10.0.1.2 udp dport=9 fill=64
eth vlan id=5 ip4 src=10.0.2.66 dst=10.0.1.2 udp dport=9 fill=64
eth ip4 src=192.0.2.2 dst=192.0.2.1 type=4 ip4 src=10.0.2.66 dst=10.0.1.2 udp dport=9 fill=64
eth ip4 src=192.0.2.2 dst=192.0.2.1 type=41 ip6 src=fd00:2::66 dst=fd00:1::2 udp dport=9 fill=64
eth ip4 src=192.0.2.2 dst=192.0.2.1 type=50 hex=$esp_like
eth ip4 src=192.0.2.2 dst=192.0.2.1 udp sport=4500 dport=4500 hex=$esp_like
END
inject() { in_ns rogue "$FRAMES" send p0 --gw "$(tray_mac 1 3)" --count 90 <"$LAB_TMP/plain" >/dev/null; }
count_begin host1
check "plaintext in the name of tray 2 is dropped at the uplink" raises 1 p0 no-sa 20 inject
check "and so is what is nobody's or tunnelled in the clear" raises 1 p0 uplink-in 40 inject
count_end
check "nothing of it reached the host" test "$(counted 10.0.2.66)$(counted fd00:2::66)$(counted 10.0.1.66)$(counted 192.0.2.2)" = 0000

# --- a host that forges sources
forge() {
	from_host1 --count 80 <<-END
	eth ip4 src=10.0.2.67 dst=10.0.2.2 udp dport=9 fill=64
	eth ip4 src=10.0.9.67 dst=10.0.2.2 udp dport=9 fill=64
	eth ip6 src=fd00:2::67 dst=fd00:2::2 udp dport=9 fill=64
	eth ip4 src=192.0.2.2 dst=10.0.2.2 udp dport=9 fill=64
	END
}
count_begin host2
check "a host with the source of another tray is stopped at its own DPU" raises 1 pf0hpf source-address 80 forge
count_end
check "and nothing of it arrives" test "$(counted 10.0.2.67)$(counted 10.0.9.67)$(counted fd00:2::67)$(counted 192.0.2.2)" = 0000

# --- accept
refused() { mesh_reason 2 bwl0 accept-rate; } # for a conforming sender: 43_accept
udp() { # destination Mbit/s seconds
	in_ns host2 iperf3 -s -1 -D >/dev/null
	in_ns host1 timeout 60 iperf3 -c "$1" -u -b "$2M" -l 1200 -t "$3" -J >"$LAB_TMP/udp.json"
}
tray_apply 1 < <(mesh_policy 1 "grant: { rate: 1gbit }") # whoever controls tray 1 can do this
was=$(refused)
udp 10.0.2.2 25 8 & sending=$!
over_limit() { [[ $(refused) -gt $((was + 100)) ]]; }
check "its burst is spent" lab_wait_for 30 over_limit
# The burst of accept is the grant's burst, 5 ms more, and a tenth of a per cent of the rate.
in_ns host2 "$FRAMES" sample h0 6 >"$LAB_TMP/sample"
wait $sending
read -r bytes _ ns <"$LAB_TMP/sample"
note "25 Mbit/s sent, $((bytes * 8000 / (ns / 1000000))) bit/s arrived of $RATE; $(($(refused) - was)) refused"
check "a DPU that ignores its limits is held to accept by the other" \
	awk "BEGIN { exit !($bytes > 0.5 * $RATE * $ns / 8e9 && $bytes <= 1.001 * $RATE * $ns / 8e9 + 80000) }"
check "which counts what is too much" test $(($(refused) - was)) -gt 1000

# --- the cable of tray 2 goes to the rogue, which replaces it at the switch
opens() { grep -c "open: SA" "$LAB_TMP/watch$1"; }
closed() { mesh_tunnel 1 '.sa_out or .sa_in | not'; }
leak_pause 2
tray_cable_to_rogue 2
ip_in rogue link set p0 down
ip_in rogue link set p0 address "$(tray_mac 2 3)"
ip_in rogue addr flush dev p0
ip_in rogue link set p0 up
lab_addr rogue p0 192.0.2.2/24
lab_addr rogue lo 10.0.2.2/32 # it would even answer pings
ip_in rogue route add 10.0.1.0/24 via 192.0.2.1
lab_sysctl rogue net.ipv4.ip_forward=0
capture_start taken rogue:c0 rogue:p0
# and it tells tray 2 that it is tray 1
echo "eth dst=$(tray_mac 2 3) arp op=2 smac=$(tray_mac 2 4) sip=192.0.2.1 tmac=$(tray_mac 2 3) tip=192.0.2.2" >"$LAB_TMP/arp"
nsenter --net="/run/netns/$LAB-rogue" "$FRAMES" send c0 --gw "$(tray_mac 2 3)" --seconds 600 --pps 5 <"$LAB_TMP/arp" >/dev/null &
lying=$!
LAB_PIDS+=("$lying")
marker_from host2 fd00:1::2 30 0.1
check "tray 1 closes when the other side is not there any more" lab_wait_for 60 closed
refute "nothing passes then" pings 10.0.2.2
check "because there is no SA" raises 1 pf0hpf no-sa 3 pings 10.0.2.2

rogue_charon() { # folder with certificate and key
	local dir
	dir=$(charon_dir rogue)
	[[ -z ${CHARON_PID[rogue]:-} ]] || charon_kill rogue
	rm -rf "$dir"/swanctl
	charon_up rogue rogue || return
	cp "$1"/x509/* "$dir/swanctl/x509" && cp "$1"/private/* "$dir/swanctl/private"
	cp "$stolen"/x509ca/* "$dir/swanctl/x509ca" # it trusts tray 1
	cat >"$dir/swanctl/conf.d/rogue.conf" <<-END
	connections { rogue {
		version = 2
		mobike = no
		local_addrs = 192.0.2.2
		remote_addrs = 192.0.2.1
		proposals = aes256gcm16-prfsha384-ecp384
		send_cert = always
		local { auth = pubkey
			id = fqdn:tray-2 }
		remote { auth = pubkey
			id = fqdn:tray-1
			revocation = relaxed }
		children { net {
			local_ts = 10.0.2.0/24, fd00:2::/64
			remote_ts = 10.0.1.0/24, fd00:1::/64
			esp_proposals = aes256gcm16-ecp384
		} }
	} }
	END
	tray_quiet swan rogue --load-all
}
# Both initiate: tray 1 to the rogue, and the rogue to tray 1.
meets() { # what tray 1 must log
	charon_mark 1
	charon_mark rogue
	mesh_load 1
	lab_wait_for 40 charon_said 1 "$1" && lab_wait_for 40 charon_said rogue 'N(AUTH_FAILED)' || met || return
	charon_mark 1
	charon_mark rogue
	vici rogue initiate '{"ike": "rogue", "child": "net", "timeout": "-1"}' >/dev/null 2>&1
	lab_wait_for 40 charon_said 1 "$1" &&
		lab_wait_for 40 charon_said rogue 'received AUTHENTICATION_FAILED' || met
}
met() {
	note "$(tail -n 15 "$(charon_dir 1)/log")" "$(tail -n 15 "$(charon_dir rogue)/log")"
	false
}
no_sa_opened() { # times before
	[[ $(opens 1) -eq $1 ]] && closed && mesh_no_states 1
}
was=$(opens 1)
rogue_charon "$forged"
check "a certificate of the rogue's own CA is refused" meets 'no trusted ECDSA public key found\|no issuer certificate found'
check "and opens nothing" no_sa_opened "$was"
while [[ $SECONDS -lt $expiry ]]; do sleep 1; done
rogue_charon "$expired"
check "an expired one of the real CA is refused" meets 'certificate invalid (valid from'
check "and opens nothing" no_sa_opened "$was"
mesh_quietly "$CTL" pki revoke tray-2 --ca "$MESH_CA"
cp "$MESH_CA/crl.pem" "$(charon_dir 1)/swanctl/x509crl/bwlimit.pem"
rogue_charon "$stolen"
check "a revoked one is refused" meets 'certificate was revoked'
check "and opens nothing" no_sa_opened "$was"
refute "nothing passes to the rogue" pings 10.0.2.2
charon_kill rogue

# --- and the cable goes back
lab_stop $lying
check "what the rogue got from tray 2 was captured whole" capture_stop taken
check "tray 1 had sent it ESP" test "$(capture_count taken 'ip proto 50 and src 192.0.2.1')" -gt 0
check "and tray 2 had" test "$(capture_count taken 'ip proto 50 and src 192.0.2.2')" -gt 0
check "and both nothing but ESP, IKE, ARP and ND" capture_only_encrypted taken
ip_in rogue addr flush dev p0
ip_in rogue link set p0 address "$(tray_mac 9 3)"
tray_cable_back 2
mesh_issue 2
cp "$MESH_CA/crl.pem" "$(charon_dir 2)/swanctl/x509crl/bwlimit.pem"
mesh_load 2
mesh_load 1
check "with its cable back and a new certificate tray 2 is reached again" passes 10.0.2.2
live "the cable of tray 2 is back, and it has a new certificate"

marker_stop
check "the captures are whole" capture_stop wire
check "only ESP, IKE, ARP and ND ever left tray 1" capture_only_encrypted wire
check "the marker never passed in the clear" capture_lacks_marker wire
check "nor to the rogue" capture_lacks_marker taken
leak_end
done_testing
