# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154 # scripts that source this use its variables, and set $here and $build
# Two bwlimit-controllers, `one` and `two`, each with an online key of its own, and the people of their root, with a real etcd
# (store_lab.sh, which it sources). CONTROL_NET: the namespace of both; otherwise each is in one of its name.

# shellcheck source=../harness/store_lab.sh
. "$(dirname "${BASH_SOURCE[0]}")/store_lab.sh"
keys=$ETCD_DIR/keys ctl=$build/ctl/bwlimit-ctl controller=$build/fleet/controller/bwlimit-controller
SHOWN=(one two)
mkdir "$keys"

signed() { "$here/fake_trays.py" sign hall-3 "$@"; } # name version type body key…
both=("$keys/alice.pem" "$keys/bob.pem")
# A policy: its version, its rate, further fields of its document.
policy() { # version rate [word in it] [keys in front of the rest of JSON]
	local text
	text="version: 1
node: tray
uplinks: [p0]
host_ports: [{ dev: pf0, sources: [10.7.0.0/24] }]
heartbeat: none
# ${3:-good}
peers:
  - { name: d1, addresses: [10.101.0.0/24], path: clear, via: 192.0.2.254, grant: { rate: $2 } }
"
	signed base "$1" policy "$(jq -n --arg t "$text" "{text: \$t, lease_most: \"30s\"${4:-, stages: true\}}")" "${both[@]}" |
		etcd_publish - policy base
}
control() { # name [option…]
	local name=$1
	shift
	: >>"$ETCD_DIR/$name"
	nsenter --net="/run/netns/$(etcd_ns "${CONTROL_NET:-$name}")" "$controller" \
		--servers "$(etcd_urls)" --prefix "$PREFIX" --name "$name" --root "$ETCD_DIR/root" \
		--online-key "$keys/online-$name.pem" --witness-key "$keys/witness.pem" --ca "$pki/ca.pem" \
		--cert "$pki/controller.pem" --key "$pki/controller.key" --trust-clock "$@" >>"$ETCD_DIR/$name" 2>&1 &
	ours[$name]=$!
}
start() { control "$1" --accept-etcd-holes --soak "${SOAK:-4}s" --silent-after "${SILENT:-20}s" --json; } # name
says() { grep -qE -- "$2" "$ETCD_DIR/$1" 2>/dev/null; } # who pattern
leader() { # the last one that said it leads
	etcdctl_as root get --prefix --sort-by CREATE --limit 1 --print-value-only "$PREFIX/controller/leader/"
}
other() { [[ $1 == one ]] && echo two || echo one; }
leads() { [[ $(leader) == "$1" ]]; }
at() { etcdctl_as root get --print-value-only "$PREFIX/$1"; }
terms() { at "all/doc/$1" | doc_terms; }
digest() { doc_digest <(at "all/doc/$1"); }
from() { # who, line, pattern: said since
	tail -n "+$(($2 + 1))" "$ETCD_DIR/$1" | grep_all -E -- "$3"
}
lines() { wc -l <"$ETCD_DIR/$1"; }
# What both have said since a mark.
declare -A marks=([one]=0 [two]=0)
mark() { for w in "${!marks[@]}"; do [[ ! -e $ETCD_DIR/$w ]] || marks[$w]=$(lines "$w"); done; }
since() { for w in "${!marks[@]}"; do [[ ! -e $ETCD_DIR/$w ]] || tail -n "+$((marks[$w] + 1))" "$ETCD_DIR/$w"; done; }
since_says() { since | grep_all -E -- "$1"; }
stages() { since | jq -rs 'sort_by(.time)[] | select(.event == "rollout") | .subject' | awk '{ printf "%s ", $2 }'; } # in per cent

controllers_user() { # the certificate of both
	local role=${ETCD_SEAT:+$ETCD_SEAT-}controller
	etcdctl_as root role add "$role" >/dev/null &&
		etcdctl_as root role grant-permission "$role" readwrite "$PREFIX/" --prefix=true >/dev/null &&
		etcd_user controller "$role" >/dev/null
}
controllers_people() { # their keys, and the root
	local k
	for k in alice bob online-one online-two witness; do "$ctl" key new "$keys/$k.pem" >"$keys/$k" || return; done
	id() { sed -n 's/^key id *//p' "$keys/$1"; }
	pub() { sed -n 's/^public key *//p' "$keys/$1"; }
	jq -n --arg a "$(id alice)" --arg b "$(id bob)" --arg o "$(id online-one)" --arg o2 "$(id online-two)" --arg pa "$(pub alice)" \
		--arg pb "$(pub bob)" --arg po "$(pub online-one)" --arg po2 "$(pub online-two)" '{
		keys: {($a): {public: $pa, owner: "alice"}, ($b): {public: $pb, owner: "bob"},
			($o): {public: $po, owner: "controller"}, ($o2): {public: $po2, owner: "controller"}},
		roles: {root: {threshold: 2, keys: [$a, $b]}, policy: {threshold: 2, keys: [$a, $b]},
			online: {threshold: 1, keys: [$o, $o2]}}}' >"$ETCD_DIR/root.json"
	signed root 1 root "$(cat "$ETCD_DIR/root.json")" "${both[@]}" >"$ETCD_DIR/root"
}
