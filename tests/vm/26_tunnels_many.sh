#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A thousand tunnels of one DPU, actually negotiated: a policy with a thousand encrypted peers, each with its own
# address and identity, is loaded into charon; all come up on one xfrm interface and reach the
# tracker, one packet goes through each, and one command revokes all. One charon with a thousand addresses and
# identities plays the thousand other DPUs.
# vm-cost: 1200
# leak: the far end decrypts at the device that would be watched; 40_mesh has a switch between
# vm-once: yes
# vm-needs: strongswan
# vm-env: BWL_TUNNELS
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-tun-$$ LAB_DESTS=0
# shellcheck source=../harness/tap.sh
. "$BWL_SOURCE/tests/harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$BWL_SOURCE/tests/harness/lab.sh"
# shellcheck source=../harness/charon.sh
. "$BWL_SOURCE/tests/harness/charon.sh"
# shellcheck source=lib/xfrm.sh
. "$BWL_SOURCE/tests/vm/lib/xfrm.sh"
TUNNELS=${BWL_TUNNELS:-1000}
charon_require
lab_up || exit 1

name() { echo "tray-$1"; }
remote() { echo "198.18.$(($1 / 250)).$(($1 % 250 + 1))"; }
inside() { echo "10.$((200 + $1 / 250)).$(($1 % 250))"; }
each() { # command…: runs it with every number
	local n
	for ((n = 0; n < TUNNELS; n++)); do "$@" "$n"; done
}
ms() { echo $((($(date +%s%N) - $1) / 1000000)); } # since
rss_mb() { awk '/^VmRSS/ { print int($2 / 1024) }' "/proc/$1/status"; }

# --- the other side: every node has an address and an identity
CA=$LAB_TMP/ca FAR=$(charon_dir far)/swanctl
quietly() { "$@" >/dev/null 2>&1; }
# One certificate for fifty nodes: making a thousand would take longer than using them.
certificate() { # first
	local n names=''
	for ((n = $1; n < $1 + 50; n++)); do names+=,DNS:$(name "$n"); done
	openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-384 -nodes -subj "/CN=far-$1" \
		-keyout "$FAR/private/$1.key" -out "$LAB_TMP/csr" &&
		openssl x509 -req -in "$LAB_TMP/csr" -CA "$CA/ca.pem" -CAkey "$CA/ca.key" -sha384 -days 7 \
			-extfile <(echo "subjectAltName=${names#,}") -out "$FAR/x509/$1.pem"
}
certificates() {
	local n
	quietly "$CTL" pki init --ca "$CA" &&
		quietly "$CTL" pki issue lab --ca "$CA" --out "$(charon_dir dpu)/swanctl" || return
	mkdir -p "$FAR"/{x509,private}
	for ((n = 0; n < TUNNELS; n += 50)); do quietly certificate $n || return; done
	cp -r "$(charon_dir dpu)"/swanctl/{x509ca,x509crl} "$FAR/"
}
start=$(date +%s%N)
check "a CA certifies $TUNNELS identities" certificates
note "after $(ms "$start") ms"
address() { echo "addr add $(remote "$1")/32 dev lo"; }
each address | ip_in net -batch -
ip_in net route add local 10.200.0.0/14 dev lo
ip_in dpu route add 198.18.0.0/16 via "$LAB_VIA4"
mkdir -p "$FAR/conf.d"
cat >"$FAR/conf.d/far.conf" <<-END
	connections {
		far {
			version = 2
			proposals = aes256gcm16-prfsha384-ecp384
			mobike = no
			unique = replace
			send_cert = always
			local {
				auth = pubkey
				id = %any
			}
			remote {
				auth = pubkey
				id = fqdn:lab
				cacerts = bwlimit.pem
				revocation = strict
			}
			children {
				far {
					esp_proposals = aes256gcm16-ecp384-esn-noesn
					local_ts = 10.200.0.0/14
					remote_ts = 10.7.0.0/24
				}
			}
		}
	}
END
PATIENT=('retransmit_timeout = 8' 'retransmit_tries = 6')
# Settings for what a thousand charons would do on as many machines: no limit for the single address that sends all
# requests, and no more negotiations begun at once than the guest's two CPUs can finish.
check "a charon for them starts" charon_up far net 'cookie_threshold_ip = 2000' 'block_threshold = 3000' \
	'init_limit_half_open = 40' "${PATIENT[@]}"
check "and has their certificates" quietly swan far --load-all
note "$(swan far --list-certs --type x509 2>/dev/null | grep -c '^  subject:') certificates, $(rss_mb "${CHARON_PID[far]}") MB"

# --- our side
check "bwlimit attaches with one tunnel device" attach hpf0 --max-peers 2048 --tunnel bwl0
peer() {
	echo "  - { name: $(name "$1"), addresses: [$(inside "$1").0/24], ipsec: { remote: $(remote "$1") }," \
		"grant: { rate: 1mbit, mode: police } }"
}
policy_in_force() {
	# checking a thousand live tunnels every 10 s would leave an emulated CPU no time for anything else
	{ echo 'ipsec: { ca: bwlimit.pem, dpd: 1h }'; echo peers:; each peer; } | lab_policy_head none | lab_apply
}
check "a policy with $TUNNELS encrypted peers is in force" policy_in_force
check "charon starts" charon_up dpu dpu "${PATIENT[@]}"
rendered() { in_dpu "$CTL" ipsec render "$LAB_TMP/policy.yaml" --vici "$(charon_socket dpu)" >"$LAB_TMP/swanctl.conf"; }
check "the policy becomes connections" rendered
check "$TUNNELS of them" test "$(grep -c 'remote_addrs' "$LAB_TMP/swanctl.conf")" = "$TUNNELS"
watch_up
cpu_ms() { awk -v hz="$(getconf CLK_TCK)" '{ print int(($14 + $15) * 1000 / hz) }' "/proc/$WATCH/stat"; }
usable() { in_dpu "$CTL" ipsec track --dry-run --json | jq '[.peers[] | select(.sa_out and .sa_in)] | length'; }
opened() { jq -r 'select(.sa_out and .sa_in) | .peer' <"$LAB_TMP/watch" | sort -u | wc -l; }
all_open() { [[ $(opened) -eq $TUNNELS ]]; }
all_made() { sleep 2; [[ $(in_dpu ip xfrm state count | sed -n 's/.*count \([0-9]*\).*/\1/p') -ge $((2 * TUNNELS)) ]]; }
load() {
	in_dpu "$CTL" ipsec load "$LAB_TMP/policy.yaml" --dir "$(charon_dir dpu)/swanctl" \
		--vici "$(charon_socket dpu)" --timeout 60s >"$LAB_TMP/load" 2>&1
	local rc=$?
	sed 's/^/# /' "$LAB_TMP/load"
	return $rc
}
before=$(rss_mb "${CHARON_PID[dpu]}") start=$(date +%s%N) used=$(cpu_ms)
check "they are loaded into charon" load
note "after $(ms "$start") ms; charon has $(rss_mb "${CHARON_PID[dpu]}") MB, $before MB before"
# As bwlimit-charon.service does: peers that charon gave up under this load are initiated again.
lab_bg keep dpu "$IPSECD" charon "$LAB_TMP/policy.yaml" --dir "$(charon_dir dpu)/swanctl" \
	--vici "$(charon_socket dpu)" --json
check "every one has its SAs" lab_wait_for 3600 all_made
note "after $(ms "$start") ms; charon has $(rss_mb "${CHARON_PID[dpu]}") MB"
note "given up and begun again: $(grep -c 'giving up' "$(charon_dir dpu)/log"); retransmissions: $(grep -c 'retransmit [0-9]' "$(charon_dir dpu)/log"); cookies: $(grep -c 'N(COOKIE)' "$(charon_dir dpu)/log")"
start=$(date +%s%N)
check "the tracker has seen all $TUNNELS become usable" lab_wait_for 120 all_open
note "after at most $(ms "$start") ms more, with $(($(cpu_ms) - used)) ms of CPU in all"
check "the data plane may use $TUNNELS of them" test "$(usable)" -eq "$TUNNELS"
status() { in_dpu "$CTL" --json ipsec status --vici "$(charon_socket dpu)" --timeout 60s >"$LAB_TMP/status"; }
check "ipsec status tells of all" status
check "none of which is without an SA" test "$(jq -c '[(.ike_sas | map(.peer) | unique | length), (.without_sa | length)]' \
	"$LAB_TMP/status")" = "[$TUNNELS,0]"

# --- a packet through each tunnel
arrived() { in_ns net awk '$1 == "Udp:" && n++ { print $3 }' /proc/net/snmp; } # no port is open
frame() { echo "eth ip4 src=$HOST4 dst=$(inside "$1").9 udp dport=9 fill=100"; }
each frame >"$LAB_TMP/frames"
have=$(arrived)
thief --pps 200 <"$LAB_TMP/frames" >/dev/null
came() { [[ $(($(arrived) - have)) -ge $TUNNELS ]]; }
check "a packet passes through every one of them" lab_wait_for 60 came
note "$(($(arrived) - have)) arrived"

# --- and all of them closed
no_states() { [[ -z $(in_ns "$1" ip xfrm state list) ]]; }
revoke() {
	in_dpu "$CTL" revoke --all --vici "$(charon_socket dpu)" --timeout 30m >"$LAB_TMP/revoke" 2>&1
	local rc=$?
	sed 's/^/# /' "$LAB_TMP/revoke"
	return $rc
}
check "revoke --all" revoke
check "no SA is left here" no_states dpu
check "nor on the other side, which was told" lab_wait_for 600 no_states net
# charon, which tells 1 000 others that it ends, may be too busy to answer the first question.
no_connection() { [[ $(vici dpu get-conns | tee "$LAB_TMP/conns" | jq '[.conns[]? | select(startswith("bwl-"))] | length') == 0 ]]; }
check "charon has no connection left" eval 'lab_wait_for 60 no_connection || { head -c 500 "$LAB_TMP/conns" | sed "s/^/# /"; false; }'
closed() { [[ $(jq -s 'group_by(.if_id) | map(last | select(.sa_out)) | length' <"$LAB_TMP/watch") -eq 0 ]]; }
check "the tracker saw all of them close" lab_wait_for 60 closed
have=$(arrived)
thief --pps 200 <"$LAB_TMP/frames" >/dev/null
check "and nothing passes any more" test "$(arrived)" -eq "$have"
lab_stop "$WATCH"
done_testing
