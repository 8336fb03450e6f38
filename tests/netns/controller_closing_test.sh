#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What closes is named by signed times until it ends: also where somebody took it out of the store, and every controller
# was restarted since. A real etcd of one member, a real bwlimit-controller.
# Debian's etcd has known holes: it is taken with --accept-etcd-holes here.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${BWL_BUILD:-${here%/*/*}/build/release}
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
[[ -x $(command -v etcd) && -x $(command -v etcdctl) ]] ||
	{ echo '1..0 # SKIP no etcd: packaging/install-deps fleet'; exit 77; }
ETCD_DIR=$(mktemp -d) PREFIX=/bwl/v1 ETCD_N=1
# shellcheck source=../harness/etcd.sh
. "$here/../harness/etcd.sh"
pki=$ETCD_DIR/pki keys=$ETCD_DIR/keys PID=''
ctl=$build/ctl/bwlimit-ctl
finish() {
	[[ $TAP_BAD -eq 0 ]] || tail -n 20 "$ETCD_DIR/said" | sed 's/^/# /'
	[[ -z $PID ]] || { kill "$PID" && wait "$PID"; }
	etcd_down
	rm -rf "$ETCD_DIR"
} 2>/dev/null
trap finish EXIT
signed() { "$here/../harness/fake_trays.py" sign hall-3 "$@"; } # name version type body key…
publish() { # type name
	in_net "$build/tests/harness/bwl-store" "$(etcd_url 1)" "$pki/ca.pem" "$pki/root.pem" "$pki/root.key" "$PREFIX" \
		publish - "$1" "$2" >/dev/null
}
at() { etcdctl_as root get --print-value-only "$PREFIX/$1"; }
set_up() {
	local k
	etcd_up && etcd_auth || return
	mkdir "$keys"
	for k in alice bob online; do "$ctl" key new "$keys/$k.pem" >"$keys/$k" || return; done
	id() { sed -n 's/^key id *//p' "$keys/$1"; }
	pub() { sed -n 's/^public key *//p' "$keys/$1"; }
	jq -n --arg a "$(id alice)" --arg b "$(id bob)" --arg o "$(id online)" --arg pa "$(pub alice)" \
		--arg pb "$(pub bob)" --arg po "$(pub online)" '{
		keys: {($a): {public: $pa, owner: "alice"}, ($b): {public: $pb, owner: "bob"},
			($o): {public: $po, owner: "controller"}},
		roles: {root: {threshold: 2, keys: [$a, $b]}, policy: {threshold: 2, keys: [$a, $b]},
			online: {threshold: 1, keys: [$o]}}}' >"$ETCD_DIR/root.json"
	signed root 1 root "$(cat "$ETCD_DIR/root.json")" "$keys/alice.pem" "$keys/bob.pem" >"$ETCD_DIR/root"
} >/dev/null
control_up() {
	nsenter --net="/run/netns/$(etcd_ns net)" "$build/fleet/controller/bwlimit-controller" --servers "$(etcd_url 1)" \
		--name one --root "$ETCD_DIR/root" --online-key "$keys/online.pem" --ca "$pki/ca.pem" --cert "$pki/root.pem" \
		--key "$pki/root.key" --trust-clock --accept-etcd-holes --json >>"$ETCD_DIR/said" 2>&1 &
	PID=$!
}
again() { # killed: it hands over nothing
	kill -KILL "$PID"
	wait "$PID" 2>/dev/null
	etcdctl_as root del "$PREFIX/all/doc/timestamp/time" >/dev/null
	etcdctl_as root del --prefix "$PREFIX/controller/leader/" >/dev/null
	control_up
}
named() { # which names the time in the store has; jq -e says nothing of no time at all
	local said
	said=$(at all/doc/timestamp/time | jq -r .payload | base64 -d) && [[ $said ]] &&
		jq -e --argjson w "$1" '[.closing[].name] | sort == $w' <<<"$said" >/dev/null
}
copies() { [[ $(etcdctl_as root get --prefix --keys-only "$PREFIX/controller/closing/" | grep -c .) -eq $1 ]]; }

check "control: a store, a root" set_up
control_up
check "control: the time names nothing" await 30 named '[]'
signed stolen 1 revocation '{"peers": ["log"], "reason": "drill"}' "$keys/alice.pem" | publish revocation stolen
signed tray-9 1 expulsion '{"tray": "tray-9", "reason": "drill"}' "$keys/bob.pem" | publish expulsion tray-9
check "the controllers keep a copy of what closes" await 30 copies 2
again
check "another one names them" await 30 named '["stolen", "tray-9"]'
etcdctl_as root del --prefix "$PREFIX/all/doc/revocation/" >/dev/null
etcdctl_as root del --prefix "$PREFIX/all/doc/expulsion/" >/dev/null
again
check "and one that never saw them in the store: somebody took them out" await 30 named '["stolen", "tray-9"]'

note "Who writes there"
signed forged 1 revocation '{"peers": ["log"], "reason": "drill"}' "$keys/online.pem" >"$ETCD_DIR/forged"
etcdctl_as root put "$PREFIX/controller/closing/-/$(printf 'a%.0s' {1..64})" <"$ETCD_DIR/forged" >/dev/null
etcdctl_as root put "$PREFIX/controller/closing/-/$(printf 'b%.0s' {1..64})" junk >/dev/null
again
check "names nothing that people did not sign" await 30 named '["stolen", "tray-9"]'

note "A label that a tray gets later"
enrol() { # tray number labels
	signed "$1" "$2" enrolment "{\"tray\": \"$1\", \"root\": \"$(printf 'a%.0s' {1..64})\", \"labels\": $3}" \
		"$keys/alice.pem" "$keys/bob.pem" | etcdctl_as root put "$PREFIX/node/$1/in/doc/enrolment/$1" >/dev/null
}
has() { [[ -n $(at "node/$1/in/doc/revocation/$2") ]]; }
AUDIENCE=label:rack=7 signed rack 1 revocation '{"all": true, "reason": "drill"}' "$keys/alice.pem" >"$ETCD_DIR/rack"
etcdctl_as root put "$PREFIX/node/tray-1/in/doc/revocation/rack" <"$ETCD_DIR/rack" >/dev/null # as the desk does it
enrol tray-1 1 '["rack=7"]'
enrol tray-2 1 '["rack=8"]'
check "control: the controllers keep a copy" await 30 copies 5
enrol tray-2 2 '["rack=7"]'
check "a tray that is enrolled with it is given what was revoked for it" await 30 has tray-2 rack
check "as people signed it" eval '[[ $(at node/tray-2/in/doc/revocation/rack) == "$(cat "$ETCD_DIR/rack")" ]]'
enrol tray-3 1 '["rack=9"]'
enrol tray-4 1 '["rack=7"]'
check "so is one that is new" await 30 has tray-4 rack
refute "and nobody else" has tray-3 rack
refute "nor is anything else given" has tray-4 stolen
etcdctl_as root del "$PREFIX/node/tray-4/in/doc/revocation/rack" >/dev/null
again
check "also where the controller was away" await 30 has tray-4 rack
etcdctl_as root del --prefix "$PREFIX/node/" >/dev/null
again
check "control: it is named, too" await 30 named '["rack", "stolen", "tray-9"]'

note "The next root"
signed root 2 root "$(cat "$ETCD_DIR/root.json")" "$keys/alice.pem" "$keys/bob.pem" >"$ETCD_DIR/root2"
publish root root <"$ETCD_DIR/root2"
check "control: it took it" await 30 grep -q '"took"' "$ETCD_DIR/said"
again
check "names what it judges good" await 30 named '["rack", "stolen", "tray-9"]'
signed more 1 revocation '{"all": true, "reason": "drill", "new_epoch": 2}' "$keys/alice.pem" | publish revocation more
check "control: a new epoch is kept, too" await 30 copies 6
again
check "and ends what is of the one before" await 30 named '["more"]'
done_testing
