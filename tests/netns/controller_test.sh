#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# bwlimit-controller with a real etcd of three members: rollouts with leaders, members and trays that go in the middle of
# them (rollout_test.sh: their stages; controller_leads_test.sh: the election and its fence); cosignatures; what a stolen key
# cannot do. Trays are simulated by tests/harness/fake_trays.py, each with its own certificate.
# live: no tray here but simulated ones, without a data plane
set -uo pipefail
# shellcheck source=../harness/controllers.sh
. "$(dirname "${BASH_SOURCE[0]}")/../harness/controllers.sh"
trays=(tray-1 tray-2 tray-3 tray-4)
clean_up() { # in place of store_lab.sh's
	local w
	for w in one two; do ip netns del "$(etcd_ns "$w")"; done
}
# Each controller has its own cable, as members have: cut, heal.
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

took() { grep -lx "$1" "$ETCD_DIR"/trays/*.log 2>/dev/null | wc -l; } # version: how many trays ever
have() { # version: how many trays have it now
	tail -qn 1 "$ETCD_DIR"/trays/*.log 2>/dev/null | grep -cx "$1"
}
first_stage() { # version, rate: a rollout begins; who leads then is in $was, and what it has said in $line
	mark
	policy "$1" "$2"
	await 20 since_says 'base 10 %'
	was=$(leader)
	line=$(lines "$was")
}
each_stage() { await 90 since_says rolled-out && is "$(stages)" "10 25 50 100 "; }
both_lost() { from one "$1" lost && from two "$2" lost; } # since those lines

mkdir "$ETCD_DIR/trays"
set_up() {
	local t
	etcd_up >/dev/null && etcd_auth >/dev/null && control_net || return
	for t in "${trays[@]}"; do etcd_tray "$t" >/dev/null || return; done
	controllers_user && controllers_people
}
check "control: three members of etcd, roles, and people's keys are there" set_up

note "Servers with known holes"
control one
check "Debian's etcd is refused, with the holes by name" await 10 says one 'CVE-2026-33343'
kill "${ours[one]}" && wait "${ours[one]}"
rm "$ETCD_DIR/one"

start one
check "control: one leads" await 15 leads one
start two
check "control: another one knows it" await 10 says two '"leader".*"one"'

nsenter --net="/run/netns/$(etcd_ns net)" "$here/fake_trays.py" run "$(etcd_url 1),$(etcd_url 2),$(etcd_url 3)" \
	"$pki" "$PREFIX" "$ETCD_DIR/trays" "${trays[@]}" 2>"$ETCD_DIR/trays.err" &
ours[trays]=$!
policy 1 1mbit first '}'
check "control: a policy without stages is in force" await 20 eval '[[ $(have 1) == 4 ]]'

note "One by which SAs go down is stopped in stage one"
mark
policy 4 30mbit unsafe
check "it goes out to the first stage" await 10 since_says 'base 10 %'
check "and back, by itself, with why" await 90 since_says '"back".*SAs'
check "all have what was before" await 20 eval '[[ $(have 1) == 4 ]]'
check "no second stage began" is "$(stages)" "10 "
check "and one tray alone ever had it" is "$(took 4)" 1

note "The leader dies in the middle"
first_stage 6 2mbit
kill -9 "${ours[$was]}" && wait "${ours[$was]}" 2>/dev/null
unset "ours[$was]"
check "the other one leads" await 15 leads "$(other "$was")"
note "after $AWAITED s"
check "goes on where it was, and ends it" each_stage
start "$was"

note "The leader is stopped past its lease, and goes on"
first_stage 7 3mbit
freeze_process "${ours[$was]}"
check "another one leads" await 20 leads "$(other "$was")"
await 30 since_says 'base 25 %'
kill -CONT "${ours[$was]}"
check "the first one sees that it does not" await 15 from "$was" "$line" 'follows|fenced|leader'
check "the rollout goes through each stage once" each_stage
check "the second one leads on" leads "$(other "$was")"

note "The leader is cut off"
first_stage 11 7mbit
cut "$was"
check "another one leads" await 30 leads "$(other "$was")"
check "the first one sees that it does not" await 15 from "$was" "$line" 'follows|lost'
await 40 since_says 'base 25 %'
heal "$was"
check "the rollout goes through each stage once" each_stage
check "the second one leads on" leads "$(other "$was")"

note "A lost tray stops a stage"
mark
policy 12 8mbit
await 20 eval '[[ $(took 12) -ge 1 ]]'
lost=$(basename "$(grep -lx 12 "$ETCD_DIR"/trays/*.log | head -n 1)" .log)
touch "$ETCD_DIR/trays/$lost.silent"
check "and it goes back" await 60 since_says '"back".*no longer reports'
check "before the second stage" is "$(stages)" "10 "
rm "$ETCD_DIR/trays/$lost.silent"

note "What a stolen key does not do"
mark
signed forged 1 policy '{"text": "version: 1\n", "stages": true}' "$keys/online-one.pem" >"$ETCD_DIR/forged"
check "control: one is in the store" etcd_publish - policy forged <"$ETCD_DIR/forged"
check "a policy that the online key signed goes nowhere" await 40 since_says 'policy/forged.*signed by 0'
refute "there is no rollout of it" eval '[[ $(at all/doc/rollout/forged) ]]'
signed base 99 lease '{"policy": "'"$(printf 'a%.0s' {1..64})"'", "for": "366d"}' "$keys/online-one.pem" >"$ETCD_DIR/lease"
check "control: a lease that it signed is well signed: what bounds it is the policy (unit.signed_bounds_test)" \
	eval '"$ctl" policy verify "$ETCD_DIR/lease" --root "$ETCD_DIR/root" >/dev/null'

note "Audit logs"
# Real logs, of simulated trays: LOGS/NAME. The status of one, with a proof from an earlier checkpoint.
logs=$ETCD_DIR/logs
mkdir "$logs"
new_log() { BWLIMIT_AUDIT_DIR=$logs/$1 "$ctl" audit init --origin "bwlimit/$1" >"$logs/$1.key" 2>/dev/null; }
grow() { # log, how many records
	local i
	for ((i = 0; i < $2; i++)); do
		rm -rf "$logs/journal"
		BWLIMIT_AUDIT_DIR=$logs/$1 BWLIMIT_JOURNAL_DIR=$logs/journal "$ctl" journal init >/dev/null 2>&1 || return
	done
}
say_log() { # tray log [checkpoint before]
	"$ctl" audit checkpoint --json --dir "$logs/$2" ${3:+--from "$3"} |
		jq --rawfile key "$logs/$2/key.pub" --argjson from "$(sed -n 2p "${3:-/dev/null}" | grep . || echo 0)" \
			'{checkpoint, log_key: ($key | rtrimstr("\n")), proof: (if $from > 0 then {from: $from, hashes: .proof} else null end)}' \
			>"$logs/new" && mv "$logs/new" "$ETCD_DIR/trays/$1.checkpoint"
}
witness=$(jq -rs 'map(select(.event == "witness"))[0].subject' "$ETCD_DIR/one")
cosigned() { # tray size: the tray can read it, and an auditor believes it
	etcdctl_as "$1" get --print-value-only "$PREFIX/node/$1/in/cosigned" | sed '$d' >"$logs/cosigned.$1" &&
		[[ $(sed -n 2p "$logs/cosigned.$1") == "$2" ]] &&
		"$ctl" audit verify --dir "$logs/$1" --key "$logs/$1.key" --witness "$witness" --checkpoint "$logs/cosigned.$1" >/dev/null
}
published() { at "node/$1/out/status" | jq -e --slurpfile l "$ETCD_DIR/trays/$1.checkpoint" '.checkpoint == $l[0].checkpoint' >/dev/null; }
check "a controller says the key of its cosignatures" eval '[[ $witness == bwlimit-witness+* ]]'
new_log tray-1 && new_log tray-2 && new_log tray-3 && new_log tray-4
say_log tray-1 tray-1
check "the first checkpoint of a tray is cosigned, below its log's own signature" await 20 cosigned tray-1 1
grow tray-1 6
say_log tray-1 tray-1
check "control: a larger one without a proof is kept" await 20 eval 'at controller/log/-/tray-1 | jq -e ".seen | split(\"\n\")[1] == \"7\"" >/dev/null'
check "and not cosigned" cosigned tray-1 1
say_log tray-1 tray-1 "$logs/cosigned.tray-1"
check "with one it is" await 20 cosigned tray-1 7
before=$(at node/tray-1/in/cosigned)
mark
new_log other && say_log tray-1 other
check "another key's log is told" await 20 since_says '"alarm".*tray-1.*another key'
grow tray-1 1
say_log tray-1 tray-1 "$logs/cosigned.tray-1"
check "and changes nothing: the log itself goes on" await 20 cosigned tray-1 8
cp -r "$logs/tray-1" "$logs/fork"
grow tray-1 1 && grow fork 2
say_log tray-1 tray-1 "$logs/cosigned.tray-1"
check "control: it goes on" await 20 cosigned tray-1 9
before=$(at node/tray-1/in/cosigned)
say_log tray-1 fork "$logs/cosigned.tray-1"
check "a log that does not begin as it did, signed by its own key, is an alarm" await 20 since_says '"alarm".*tray-1.*does not begin'
say_log tray-1 tray-1
check "control: what it says is in the store" await 20 published tray-1
say_log tray-4 tray-4 # behind it: when this one is signed, that one was judged
check "control: what another tray says after it is cosigned" await 20 cosigned tray-4 1
check "and nothing more is signed of it" is "$(at node/tray-1/in/cosigned)" "$before"
check "what contradicts it is kept" eval 'at controller/log/-/tray-1 | jq -e ".evidence | split(\"\n\")[1] == \"10\"" >/dev/null'
say_log tray-2 tray-2
cp -r "$logs/tray-2" "$logs/tray-2.old"
await 20 cosigned tray-2 1
grow tray-2 3
say_log tray-2 tray-2 "$logs/cosigned.tray-2"
await 20 cosigned tray-2 4
say_log tray-2 tray-2.old
check "a log that was rolled back is an alarm" await 20 since_says '"alarm".*tray-2.*shorter'
say_log tray-3 tray-3
cp -r "$logs/tray-3" "$logs/tray-3.fork"
await 20 cosigned tray-3 1
grow tray-3 2 && grow tray-3.fork 2
say_log tray-3 tray-3 "$logs/cosigned.tray-3"
await 20 cosigned tray-3 3
say_log tray-3 tray-3.fork
check "one of the same size with other records is an alarm" await 20 since_says '"alarm".*tray-3.*two histories'
was=$(leader)
kill "${ours[$was]}" && wait "${ours[$was]}" 2>/dev/null
check "control: another one leads" await 20 leads "$(other "$was")"
start "$was"
grow tray-3 1
say_log tray-3 tray-3 "$logs/cosigned.tray-3"
check "control: what it says is in the store" await 20 published tray-3
grow tray-4 1
say_log tray-4 tray-4 "$logs/cosigned.tray-4"
check "control: the next leader cosigns what another tray says after it" await 20 cosigned tray-4 2
check "and signs nothing of it, either" cosigned tray-3 3
etcdctl_as root del "$PREFIX/controller/log/-/tray-3" >/dev/null
check "until people have looked, and taken back what is kept" await 30 cosigned tray-3 4

note "Members that go, and come back"
mark
etcd_kill "$(etcd_leader)"
check "etcd's leader killed: one of the controllers leads on" await 30 eval '[[ $(leader) =~ one|two ]]'
for i in 1 2 3; do [[ -v "ETCD_PID[$i]" ]] || etcd_start "$i"; done
await 30 etcdctl_as root endpoint health
policy 13 9mbit
check "and a rollout ends" await 120 since_says rolled-out
first=$(lines one) second=$(lines two)
cut 1 && cut 2 && cut 3
check "all cut off: nobody leads" await 30 both_lost "$first" "$second"
heal 1 && heal 2 && heal 3
mark
await 30 etcdctl_as root endpoint health
policy 14 10mbit
check "and back: a rollout ends" await 120 since_says rolled-out

for w in one two; do
	stays_small "$w" "controller $w"
	ends_when_told "$w" "controller $w"
done
check "and nobody leads" eval '[[ -z $(leader) ]]'
done_testing
