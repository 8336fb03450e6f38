#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A rollout to two hundred trays, by the real bwlimit-controller and a real etcd: which trays are in which stage, how long
# a stage lasts, what stops it and how far it got, and what needs no stages. Trays are simulated by
# tests/harness/fake_trays.py.
# live: fake_trays.py stands in for trays: no DPU is here
set -uo pipefail
ETCD_N=1 CONTROL_NET=net TRAYS=200 SOAK=3 SILENT=60
# shellcheck source=../harness/controllers.sh
. "$(dirname "${BASH_SOURCE[0]}")/../harness/controllers.sh"
played=$ETCD_DIR/trays
SHOWN+=(crowd)

salt() { etcdctl_as root get --print-value-only "$PREFIX/all/doc/rollout/base" | doc_terms | jq -r .salt; }
# Each tray's place: "TRAY PLACE".
places() { # salt
	/usr/bin/python3 -c 'import hashlib, sys
for i in range(int(sys.argv[2])):
    name = f"tray-{i:03}"
    print(name, int(hashlib.sha256((sys.argv[1] + name).encode()).hexdigest()[:8], 16) % 100)' "$1" "$TRAYS"
}
# Each tray took the version in the first stage above its place, and no sooner; only trays below `most` (100).
as_placed() { # version [most]
	local most=${2:-100}
	places "$(salt)" | awk -v most="$most" '{ at = $2 < 10 ? 10 : $2 < 25 ? 25 : $2 < 50 ? 50 : 100 } at <= most { print $1, at }' >"$ETCD_DIR/want"
	awk -v v="$1" '$2 == v && !seen[$1]++ { print $1, $3 }' "$played/took" | sort >"$ETCD_DIR/are"
	sort "$ETCD_DIR/want" | diff - "$ETCD_DIR/are" >"$ETCD_DIR/diff" || { note "$(head -n 5 "$ETCD_DIR/diff")"; return 1; }
}
near() { # number, per cent of all: the salt is one that comes near it
	[[ $1 -ge $((TRAYS * $2 * 8 / 1000)) && $1 -le $((TRAYS * $2 * 12 / 1000)) ]] || { note "$1 of $TRAYS"; return 1; }
}
# By the controller's own times: no stage is shorter than its soak.
soaked() {
	since | jq -es --argjson soak "$SOAK" '[.[] | select(.event == "rollout" or .event == "rolled-out") | .time | sub("\\.[0-9]+"; "") | fromdateiso8601] |
		length == 5 and ([.[1:], .[:-1]] | transpose | map(.[0] - .[1]) | all(. >= $soak - 1))' >/dev/null
}
rollouts() { # jq program
	in_net "$ctl" --fleet rollouts --json --servers "$(etcd_url 1)" --ca "$pki/ca.pem" --cert "$pki/root.pem" --cert-key "$pki/root.key" \
		--prefix "$PREFIX" --accept-etcd-holes >"$ETCD_DIR/rollouts" && jq -e "$1" "$ETCD_DIR/rollouts" >/dev/null || { note "$(jq -c . "$ETCD_DIR/rollouts")"; return 1; }
}
heard() { [[ $(etcdctl_as root get --prefix --keys-only "$PREFIX/node/" | grep -c /status) == "$TRAYS" ]]; }

set_up() {
	mkdir "$played"
	etcd_up >/dev/null && etcd_auth >/dev/null && controllers_user && controllers_people || return
	nsenter --net="/run/netns/$(etcd_ns net)" "$here/fake_trays.py" crowd "$(etcd_url 1)" "$pki" "$PREFIX" "$played" "$TRAYS" 2>"$ETCD_DIR/crowd" &
	ours[crowd]=$!
	await 30 heard || return
	start one
	await 15 says one '"leads"'
}
check "control: etcd, two hundred trays that speak, and a controller that leads" set_up

note "Stages"
current() { awk '{ now[$1] = $2 } END { for (t in now) n += now[t] == '"$1"'; print n + 0 }' "$played/took"; }
all_have() { [[ $(current "$1") == "$TRAYS" ]]; } # version
policy 1 8mbit first '}'
check "a policy without stages is taken when it comes" await 30 all_have 1
check "and has a lease, for as long as people allowed" eval 'await 5 eval "[[ \$(at all/doc/lease/base) ]]" &&
	is "$(terms lease/base | jq -r .for)" 30s'
mark
policy 2 10mbit
digest=$(digest policy/base)
check "one with stages goes out to all" await 180 since_says rolled-out
check "by 10, 25, 50 and 100 %" is "$(stages)" "10 25 50 100 "
check "each tray took it in the stage that the salt and its name say" as_placed 2
check "and the first stage is about a tenth" near "$(grep -c ' 10$' "$ETCD_DIR/are")" 10
check "no stage was shorter than its soak" soaked
check "and people read that it is done, since when" rollouts '.rollouts[0] | .document == "policy/base" and .document_version == 2 and .phase == "done" and
	.percent == 100 and (.stage_since | . > "2026") and .why == null'

note "A bad policy"
mark
policy 3 20mbit bad
check "it goes out to the first stage, and back, with why" await 120 since_says '"back".*drops'
check "no second stage began" is "$(stages)" "10 "
check "people read that it went back, from which stage, and why" rollouts '.rollouts[0] | .phase == "back" and .document_version == 3 and .percent == 10 and
	(.why | test("tray-[0-9]+ drops")) and .from_digest != null'
check "and who had it is the first stage, nobody else" as_placed 3 10
check "all have what was before" await 30 all_have 2
leased() { [[ $(terms lease/base.from | jq -r .policy) == "$digest" ]]; }
check "and the lease is of that" await 20 leased

note "One that is sick in the second stage"
mark
policy 4 30mbit sickens # from the first stage on: no race with its end
await 60 since_says 'base 10 %'
sick=$(places "$(salt)" | awk '$2 >= 10 && $2 < 25 { print $1; exit }')
check "control: there is one" test -n "$sick"
check "does not stop the first stage, which does not reach it, but its own, and all goes back" await 120 since_says "\"back\".*$sick"
check "before the third stage" is "$(stages)" "10 25 "
check "which nobody of it had seen" as_placed 4 25
check "control: all have what was before" await 30 all_have 2

note "What widens nothing"
mark
policy 5 1mbit
check "is out in one step" eval 'await 120 since_says rolled-out && is "$(stages)" "100 "'
check "and all have it" await 30 all_have 5

note "One by which SAs go down, and stay so: controller_test.sh has that it goes back"
policy 6 50mbit unsafe
waits() {
	rollouts '.rollouts[0] | .phase == "going" and .percent == 10 and .next_percent == 25 and .stage_percents == [10, 25, 50, 100] and
		.soak_ends_in_s <= '"$SOAK"' and .unwell_count > 0 and .judged_count >= .unwell_count and .bad_count == 0 and
		(.waited_tray_names | length) > 0 and (.why | test("has more SAs down than before")) and .judged_at != null'
}
check "while it waits, people read at which stage it is, how many are unwell, who, and why" await 50 waits
stays_small one bwlimit-controller
done_testing
