#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Two real charons with our policies and our PKI, up to the IKE_SA: ESP is not needed (tests/vm has it), so where the kernel
# lacks it all of this holds. Each part (ipsec/*.sh) begins with the files as they were issued, no charon and nothing attached;
# IPSEC_PARTS names some of them.
# live: no ESP here, and no peer that is open: tests/vm has what passes
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB=bwl-ipsec-$$ LAB_DESTS=0
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/../harness/lab.sh"
# shellcheck source=../harness/documents.sh
. "$here/../harness/documents.sh"
# shellcheck source=../harness/charon.sh
. "$here/../harness/charon.sh"
charon_require
lab_up || exit 1
lab_ns a && lab_ns b && lab_veth a e0 b e0 || exit 1
lab_addr a e0 192.0.2.7/24
lab_addr b e0 192.0.2.3/24
A=$(charon_dir a) B=$(charon_dir b) CA=$LAB_TMP/ca
export SWANCTL_DIR=$LAB_TMP/nobodys # not this machine's, whatever happens

ctl() { in_dpu "$CTL" "$@" >"$LAB_TMP/out" 2>"$LAB_TMP/err"; }
works() { ctl "$@" || { note "$*" "$(cat "$LAB_TMP/out" "$LAB_TMP/err")"; false; }; }
fails() { # status command…
	local status=0
	ctl "${@:2}" || status=$?
	[[ $status -eq $1 ]] || { note "status $status: ${*:2}" "$(cat "$LAB_TMP/out" "$LAB_TMP/err")"; false; }
}
says() { grep -q -- "$1" "$LAB_TMP/out" "$LAB_TMP/err" || { note "$(cat "$LAB_TMP/out" "$LAB_TMP/err")"; false; }; }
quietly() { "$@" >/dev/null 2>&1; }
SAID=() # further files to show if something does not come
eventually() { lab_wait_for 60 "$@" || { note "$*" "$(tail -n 12 "$A/log" "$B/log" "${SAID[@]}")"; false; }; }
# Of the DPU that is a (tray-7) or b (PEER), which are each other's peer; `start`: auto, trap…
policy() { # a|b start [another line] [a first peer]
	local ours=('10.7.0.0/24, "fd00:7::/64"' 192.0.2.7) theirs=('10.0.3.0/24, "fd00:3::/64"' 192.0.2.3) who
	who=(tray-7 "${ours[0]}" "$PEER" "${theirs[@]}")
	[[ $1 == a ]] || who=("$PEER" "${theirs[0]}" tray-7 "${ours[@]}")
	cat <<-END
	version: 1
	node: ${who[0]}
	uplinks: [p0]
	host_ports: [{ dev: hpf0, sources: [${who[1]}] }]
	heartbeat: none
	ipsec: { ca: bwlimit.pem, start: $2 }
	${3-}
	peers:
	${4-}
	  - { name: ${who[2]}, addresses: [${who[3]}], ipsec: { remote: ${who[4]} }, grant: { rate: 1gbit } }
	END
}
load_a() { works ipsec load "$LAB_TMP/a.yaml" --dir "$A/swanctl" --vici "$A/vici"; }
load_b() { # render, as a site that uses swanctl itself; its pins are not here
	BWLIMIT_PIN_DIR=/nonexistent "$CTL" ipsec render "$LAB_TMP/b.yaml" --dir "$B/swanctl" \
		--vici "$B/vici" >"$B/swanctl/conf.d/bwlimit.conf" || return
	swan b --load-all >"$LAB_TMP/swan" 2>&1 && return
	note "$(cat "$LAB_TMP/swan" "$B/swanctl/conf.d/bwlimit.conf")"
	return 1
}
ike() { # charon peer: the state of its IKE_SA
	"$CTL" ipsec status "$2" --vici "$(charon_socket "$1")" --json | jq -r '.ike_sas[0].state // "none"'
}
established() { [[ $(ike "$1" "$2") == ESTABLISHED ]]; }
gone() { [[ $(ike "$1" "$2") == none ]]; }
conns() { vici "$1" get-conns 2>/dev/null | jq -c '.conns | sort'; }
no_conns() { [[ $(conns "$1") == '[]' ]]; }
FAST=(env "LD_PRELOAD=$LAB_BUILD/tests/harness/bwl-clock.so" BWL_CLOCK_RATE=20) # a second of such a program takes 50 ms
begin() {
	local n
	for n in a b; do
		[[ ! -v CHARON_PID[$n] ]] || charon_kill $n
		rm -rf "$LAB_TMP/charon-$n"
		in_ns $n sh -c 'ip xfrm state flush; ip xfrm policy flush'
	done
	[[ ! -e $LAB_PINS ]] || in_dpu "$LOAD" detach >/dev/null 2>&1
	rm -rf "$LAB_PINS" "$CA"
	cp -a "$LAB_TMP/issued/." "$LAB_TMP"
	PEER=tray.3 SAID=()
}

# --- the PKI
check "a CA is made" works pki init --ca "$CA"
check "and not a second one over it" fails 1 pki init --ca "$CA"
check "which says what to do" says 'pki issue'
check "a node gets its folder" works pki issue tray-7 --ca "$CA" --out "$A/swanctl"
check "and another" works pki issue tray.3 --ca "$CA" --out "$B/swanctl"
check "nobody but root reads keys" test -z "$(find "$CA" "$A/swanctl" "$B/swanctl" -name '*.key' -perm /077)"
check "the chain verifies with openssl, with CRL" quietly openssl verify -x509_strict -crl_check -CAfile "$CA/ca.pem" \
	-CRLfile "$CA/crl.pem" "$A/swanctl/x509/tray-7.pem" "$B/swanctl/x509/tray.3.pem"
mkdir "$LAB_TMP/issued"
cp -a "$CA" "$A" "$B" "$LAB_TMP/issued"

for part in ${IPSEC_PARTS:-connections keep expel}; do
	note "$part"
	begin
	# shellcheck source=/dev/null
	. "$here/ipsec/$part.sh"
done
done_testing
