#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# bwlimit-controller with a real etcd of three members: one leads, and what one writes that leads no more is
# refused; rollouts in stages, and back; times, leases, cosignatures; what a stolen key does not do. Trays are
# played by tests/harness/fake_trays.py, each under its own certificate.
# Debian's etcd has known holes: it is taken with --accept-etcd-holes here, and refused without.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${BWL_BUILD:-${here%/*/*}/build/release}
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
[[ -x $(command -v etcd) && -x $(command -v etcdctl) ]] ||
	{ echo '1..0 # SKIP no etcd: packaging/install-deps fleet'; exit 77; }
ETCD_DIR=$(mktemp -d) PREFIX=/bwl/v1
# shellcheck source=../harness/etcd.sh
. "$here/../harness/etcd.sh"
pki=$ETCD_DIR/pki keys=$ETCD_DIR/keys trays=(tray-1 tray-2 tray-3 tray-4)
ctl=$build/ctl/bwlimit-ctl controller=$build/fleet/controller/bwlimit-controller
declare -A ours=()
finish() {
	local pid
	[[ $TAP_BAD -eq 0 ]] || tail -n 60 "$ETCD_DIR"/one "$ETCD_DIR"/two | sed 's/^/# /'
	for pid in "${ours[@]}"; do kill -CONT "$pid"; kill "$pid"; done
	wait "${ours[@]}"
	etcd_down
	for pid in one two; do ip netns del "$(etcd_ns "$pid")"; done
	rm -rf "$ETCD_DIR"
} 2>/dev/null
trap finish EXIT
# Each controller has a cable of its own, as members have: cut, heal.
control_net() {
	local i=0 w ns
	for w in one two; do
		ns=$(etcd_ns "$w")
		i=$((i + 1))
		ip netns add "$ns" && ip -n "$ns" link set lo up || return
		ip -n "$(etcd_ns net)" link add "to$w" type veth peer name eth0 netns "$ns"
		ip -n "$(etcd_ns net)" addr add "10.78.$i.1/24" dev "to$w"
		ip -n "$(etcd_ns net)" link set "to$w" up
		ip -n "$ns" addr add "10.78.$i.2/24" dev eth0
		ip -n "$ns" link set eth0 up
		ip -n "$ns" route add default via "10.78.$i.1" || return
	done
}

store() { # word…
	in_net "$build/tests/harness/bwl-store" "$(etcd_url "${AT:-1}")" "$pki/ca.pem" "$pki/root.pem" \
		"$pki/root.key" "$PREFIX" "$@"
}
signed() { "$here/../harness/fake_trays.py" sign hall-3 "$@"; } # name version type body key…
both=("$keys/alice.pem" "$keys/bob.pem")
# A policy: its version, its rate, what else its document says.
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
		store publish - policy base >/dev/null
}
control() { # name [option…]
	local name=$1
	shift
	nsenter --net="/run/netns/$(etcd_ns "$name")" "$controller" \
		--servers "$(etcd_url 1),$(etcd_url 2),$(etcd_url 3)" --name "$name" --root "$ETCD_DIR/root" \
		--online-key "$keys/online.pem" --witness-key "$keys/witness.pem" --ca "$pki/ca.pem" \
		--cert "$pki/controller.pem" --key "$pki/controller.key" --trust-clock "$@" >>"$ETCD_DIR/$name" 2>&1 &
	ours[$name]=$!
}
start() { control "$1" --accept-etcd-holes --soak 4s --silent-after 20s --json; }
says() { grep -qE -- "$2" "$ETCD_DIR/$1" 2>/dev/null; } # who pattern
either() { says one "$1" || says two "$1"; }
leader() { # the last one that said it leads
	etcdctl_as root get --prefix --sort-by CREATE --limit 1 --print-value-only "$PREFIX/controller/leader/"
}
other() { [[ $1 == one ]] && echo two || echo one; }
leads() { [[ $(leader) == "$1" ]]; }
at() { etcdctl_as root get --print-value-only "$PREFIX/$1"; }
revision() { etcdctl_as root get -w json "$PREFIX/$1" | jq '.kvs[0].mod_revision'; }
payload() { at "all/doc/$1" | jq -r .payload | base64 -d; }
took() { grep -lx "$1" "$ETCD_DIR"/trays/*.log 2>/dev/null | wc -l; } # version: how many trays ever
have() { # version: how many trays have it now
	tail -qn 1 "$ETCD_DIR"/trays/*.log 2>/dev/null | grep -cx "$1"
}
is() { [[ $1 == "$2" ]] || { note "$1"; return 1; }; }
# Percents of the rollouts that were said since a mark.
mark() { for w in one two; do wc -l <"$ETCD_DIR/$w" >"$ETCD_DIR/$w.mark"; done; }
since() { for w in one two; do tail -n "+$(($(cat "$ETCD_DIR/$w.mark") + 1))" "$ETCD_DIR/$w"; done; }
stages() { since | jq -rs 'sort_by(.time)[] | select(.event == "rollout") | .subject' | awk '{ printf "%s ", $2 }'; }
since_says() { since | grep -qE -- "$1"; }

mkdir "$keys" 2>/dev/null || mkdir -p "$keys"
mkdir "$ETCD_DIR/trays"
set_up() {
	local t k
	etcd_up >/dev/null && etcd_auth >/dev/null && control_net || return
	for t in "${trays[@]}"; do etcd_tray "$t" >/dev/null || return; done
	etcd_cert controller && etcdctl_as root role add controller >/dev/null &&
		etcdctl_as root role grant-permission controller readwrite "$PREFIX/" --prefix=true >/dev/null &&
		etcdctl_as root user add controller --no-password >/dev/null &&
		etcdctl_as root user grant-role controller controller >/dev/null || return
	for k in alice bob online witness; do "$ctl" key new "$keys/$k.pem" >"$keys/$k" || return; done
	id() { sed -n 's/^key id *//p' "$keys/$1"; }
	pub() { sed -n 's/^public key *//p' "$keys/$1"; }
	jq -n --arg a "$(id alice)" --arg b "$(id bob)" --arg o "$(id online)" --arg pa "$(pub alice)" \
		--arg pb "$(pub bob)" --arg po "$(pub online)" '{
		keys: {($a): {public: $pa, owner: "alice"}, ($b): {public: $pb, owner: "bob"},
			($o): {public: $po, owner: "controller"}},
		roles: {root: {threshold: 2, keys: [$a, $b]}, policy: {threshold: 2, keys: [$a, $b]},
			online: {threshold: 1, keys: [$o]}}}' >"$ETCD_DIR/root.json"
	signed root 1 root "$(cat "$ETCD_DIR/root.json")" "${both[@]}" >"$ETCD_DIR/root"
}
check "control: three members of etcd, roles, and people's keys are there" set_up

note "Servers with known holes"
control one
check "Debian's etcd is refused, with the holes by name" await 10 says one 'CVE-2026-33343'
kill "${ours[one]}" && wait "${ours[one]}"
rm "$ETCD_DIR/one"

note "One leads"
start one
await 15 says one '"leads"'
start two
check "the first one leads" leads one
check "the second one knows it" await 10 says two '"leader".*"one"'
refute "and leads not" says two '"event":"leads"|"event": "leads"'
check "what is said has its schema" "$here/../harness/json_check.py" --lines \
	"${BWL_SOURCE:-${here%/*/*}}/docs/schema" controller <"$ETCD_DIR/one"
check "it says the time, signed" eval 'await 5 eval "[[ \$(at all/doc/timestamp/time) ]]" && at all/doc/timestamp/time >"$ETCD_DIR/time" &&
	"$ctl" policy verify "$ETCD_DIR/time" --root "$ETCD_DIR/root" >/dev/null'
refute "a tray's certificate writes nothing of the controllers'" etcdctl_as tray-1 put "$PREFIX/controller/leader/1" x 2>/dev/null
refute "and reads nothing of it" etcdctl_as tray-1 get --prefix "$PREFIX/controller/" 2>/dev/null

note "The fence, alone: of two that believe that they lead one writes"
mkfifo "$ETCD_DIR/a" "$ETCD_DIR/b"
PREFIX=/fence store lead a <"$ETCD_DIR/a" >"$ETCD_DIR/a.out" 2>&1 &
exec 7>"$ETCD_DIR/a"
await 10 grep -q leads "$ETCD_DIR/a.out"
PREFIX=/fence store lead b <"$ETCD_DIR/b" >"$ETCD_DIR/b.out" 2>&1 &
exec 8>"$ETCD_DIR/b"
echo first >&7
check "control: who leads writes" await 5 grep -qx put "$ETCD_DIR/a.out"
check "after its lease another one leads" await 15 grep -qx leads "$ETCD_DIR/b.out"
echo second >&8
await 5 grep -qx put "$ETCD_DIR/b.out"
echo third >&7
check "what the first one writes then is refused by the store" await 5 grep -qx fenced "$ETCD_DIR/a.out"
check "and the second one's is there" is "$(PREFIX=/fence etcdctl_as root get --print-value-only /fence/all/led | head -n 1)" second
exec 7>&- 8>&-

note "A rollout in stages"
nsenter --net="/run/netns/$(etcd_ns net)" "$here/../harness/fake_trays.py" run "$(etcd_url 1),$(etcd_url 2),$(etcd_url 3)" \
	"$pki" "$PREFIX" "$ETCD_DIR/trays" "${trays[@]}" 2>"$ETCD_DIR/trays.err" &
ours[trays]=$!
policy 1 10mbit first '}'
check "a policy without stages is taken when it comes" await 20 eval '[[ $(have 1) == 4 ]]'
check "and has a lease, for as long as people allowed" eval 'await 5 eval "[[ \$(at all/doc/lease/base) ]]" &&
	is "$(payload lease/base | jq -r .for)" 30s'
mark
policy 2 20mbit
check "one with stages goes out" await 10 since_says 'base 10 %'
check "to one of four trays first" eval 'await 10 eval "[[ \$(took 2) == 1 ]]"'
check "from 10 to 25, 50 and 100 %" eval 'await 90 since_says rolled-out && is "$(stages)" "10 25 50 100 "'
check "and all have it" await 10 eval '[[ $(have 2) == 4 ]]'

note "A bad policy is stopped in stage one"
mark
policy 3 30mbit bad
check "it goes out to the first stage" await 10 since_says 'base 10 %'
check "and back, by itself, with why" await 60 since_says '"back".*drops'
check "all have what was before" await 20 eval '[[ $(have 2) == 4 ]]'
check "no second stage began" is "$(stages)" "10 "
check "and one tray alone ever had it" is "$(took 3)" 1
check "the lease is of what is in force" eval 'await 20 eval "[[ \$(at all/doc/lease/base.from) ]]"'

note "Tightening skips the stages"
mark
policy 4 1mbit
check "what widens nothing is out in one step" eval 'await 30 since_says rolled-out && is "$(stages)" "100 "'

note "The leader dies in the middle"
mark
policy 6 2mbit
await 20 since_says 'base 10 %'
was=$(leader)
kill -9 "${ours[$was]}" && wait "${ours[$was]}" 2>/dev/null
unset "ours[$was]"
check "the other one leads within 15 s" await 15 leads "$(other "$was")"
check "goes on where it was, and ends it" eval 'await 90 since_says rolled-out && is "$(stages)" "10 25 50 100 "'
start "$was"

note "The leader is stopped past its lease, and goes on"
was=$(leader)
mark
policy 7 3mbit
await 20 since_says 'base 10 %'
kill -STOP "${ours[$was]}"
check "another one leads" await 20 leads "$(other "$was")"
await 30 since_says 'base 25 %'
kill -CONT "${ours[$was]}"
check "the first one sees that it does not" await 15 eval 'tail -n 3 "$ETCD_DIR/$was" | grep -qE "follows|fenced|leader"'
check "the rollout goes through each stage once" eval 'await 90 since_says rolled-out && is "$(stages)" "10 25 50 100 "'
check "the second one leads on" leads "$(other "$was")"

note "The leader is cut off"
was=$(leader)
mark
policy 11 7mbit
await 20 since_says 'base 10 %'
cut "$was"
check "another one leads" await 30 leads "$(other "$was")"
check "the first one sees that it does not" await 15 eval 'tail -n 4 "$ETCD_DIR/$was" | grep -qE "follows|lost"'
await 40 since_says 'base 25 %'
heal "$was"
check "the rollout goes through each stage once" eval 'await 90 since_says rolled-out && is "$(stages)" "10 25 50 100 "'
check "the second one leads on" leads "$(other "$was")"

note "A lost tray stops a stage"
mark
policy 12 8mbit
await 20 eval '[[ $(took 12) -ge 1 ]]'
lost=$(basename "$(grep -lx 12 "$ETCD_DIR"/trays/*.log | head -n 1)" .log)
touch "$ETCD_DIR/trays/$lost.silent"
check "and it goes back" await 60 since_says '"back".*says nothing'
check "before the second stage" is "$(stages)" "10 "
rm "$ETCD_DIR/trays/$lost.silent"

note "What a stolen key does not do"
mark
signed forged 1 policy '{"text": "version: 1\n", "stages": true}' "$keys/online.pem" | store publish - policy forged >/dev/null
check "a policy that the online key signed goes nowhere" await 40 since_says 'policy/forged.*signed by 0'
refute "there is no rollout of it" eval '[[ $(at all/doc/rollout/forged) ]]'
signed base 99 lease '{"policy": "'"$(printf 'a%.0s' {1..64})"'", "for": "366d"}' "$keys/online.pem" >"$ETCD_DIR/lease"
check "control: a lease that it signed is well signed: what bounds it is the policy (unit.signed_bounds_test)" \
	eval '"$ctl" policy verify "$ETCD_DIR/lease" --root "$ETCD_DIR/root" >/dev/null'

note "Audit logs"
root_a=$(head -c 32 /dev/zero | base64) root_b=$(printf 'b%.0s' {1..32} | base64)
printf 'bwlimit/tray-1\n12\n%s\n' "$root_a" >"$ETCD_DIR/trays/tray-1.checkpoint"
check "the first checkpoint of a tray is cosigned, and the tray can read it" await 20 eval \
	'etcdctl_as tray-1 get --print-value-only $PREFIX/node/tray-1/in/cosigned | grep -q "bwlimit-witness"'
before=$(at node/tray-1/in/cosigned)
mark
printf 'bwlimit/tray-1\n12\n%s\n' "$root_b" >"$ETCD_DIR/trays/tray-1.checkpoint"
check "the same size with another root is an alarm" await 20 since_says '"alarm".*two histories'
printf 'bwlimit/tray-1\n20\n%s\n' "$root_b" >"$ETCD_DIR/trays/tray-1.checkpoint"
printf 'bwlimit/tray-2\n12\n%s\n' "$root_a" >"$ETCD_DIR/trays/tray-2.checkpoint"
await 20 eval '[[ $(at node/tray-2/in/cosigned) ]]'
printf 'bwlimit/tray-2\n11\n%s\n' "$root_b" >"$ETCD_DIR/trays/tray-2.checkpoint"
check "a log that became shorter is another one" await 20 since_says '"alarm".*shorter'
check "and nothing more is signed of the first" is "$(at node/tray-1/in/cosigned)" "$before"

note "Members that go, and come back"
mark
etcd_kill "$(etcd_leader)"
check "etcd's leader killed: one of the controllers leads on" await 30 eval '[[ $(leader) =~ one|two ]]'
for i in 1 2 3; do [[ -v "ETCD_PID[$i]" ]] || etcd_start "$i"; done
await 30 etcdctl_as root endpoint health
policy 13 9mbit
check "and a rollout ends" await 120 since_says rolled-out
cut 1 && cut 2 && cut 3
check "all cut off: nobody leads" await 30 eval 'tail -n 4 "$ETCD_DIR/one" | grep -q lost && tail -n 4 "$ETCD_DIR/two" | grep -q lost'
heal 1 && heal 2 && heal 3
mark
await 30 etcdctl_as root endpoint health
policy 14 10mbit
check "and back: a rollout ends" await 120 since_says rolled-out

for w in one two; do
	rss=$(awk '/^VmHWM/ { print $2 }' "/proc/${ours[$w]}/status")
	note "controller $w had $rss kB at most"
	kill "${ours[$w]}"
	check "controller $w ends when it is told to" eval "wait ${ours[$w]}"
	unset "ours[$w]"
done
check "and nobody leads" eval '[[ -z $(leader) ]]'
done_testing
