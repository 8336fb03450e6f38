#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A rollout to two hundred trays, by the real bwlimit-controller and a real etcd: which trays are in which stage, how long
# a stage lasts, what stops it and how far it got, and what needs no stages. Trays are simulated by
# tests/harness/fake_trays.py.
# Debian's etcd has known vulnerabilities: it is accepted here with --accept-etcd-holes.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${BWL_BUILD:-${here%/*/*}/build/release}
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
etcd_wanted
ETCD_DIR=$(mktemp -d) PREFIX=/bwl/v1 ETCD_N=1 TRAYS=200 SOAK=4
# shellcheck source=../harness/etcd.sh
. "$here/../harness/etcd.sh"
# shellcheck disable=SC2034 # of people.sh
LAB_TMP=$ETCD_DIR LAB_BUILD=$build CTL=$build/ctl/bwlimit-ctl
# shellcheck source=../harness/people.sh
. "$here/../harness/people.sh"
pki=$ETCD_DIR/pki played=$ETCD_DIR/trays
crowd='' control=''
finish() {
	[[ $TAP_BAD -eq 0 ]] || tail -n 20 "$ETCD_DIR/control" "$ETCD_DIR/crowd" | sed 's/^/# /'
	kill ${crowd:+"$crowd"} ${control:+"$control"}
	wait ${crowd:+"$crowd"} ${control:+"$control"}
	etcd_down
	rm -rf "$ETCD_DIR"
} 2>/dev/null
trap finish EXIT

policy() { # version rate [word in it]
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
	"$here/../harness/fake_trays.py" sign hall-3 base "$1" policy "$(jq -n --arg t "$text" '{text: $t, stages: true}')" \
		"$FLEET/alice.pem" "$FLEET/bob.pem" |
		etcd_publish - policy base
}
lines=0
mark() { lines=$(wc -l <"$ETCD_DIR/control"); }
since() { tail -n "+$((lines + 1))" "$ETCD_DIR/control"; }
says() { since | grep_all -E -- "$1"; }
is() { [[ $1 == "$2" ]] || { note "$1, not $2"; return 1; }; }
stages() { since | jq -rs '.[] | select(.event == "rollout") | .subject' | awk '{ printf "%s ", $2 }'; }
salt() { etcdctl_as root get --print-value-only "$PREFIX/all/doc/rollout/base" | jq -r .payload | base64 -d | jq -r .salt; }
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
	in_net "$CTL" --fleet rollouts --json --servers "$(etcd_url 1)" --ca "$pki/ca.pem" --cert "$pki/root.pem" --cert-key "$pki/root.key" \
		--prefix "$PREFIX" --accept-etcd-holes >"$ETCD_DIR/rollouts" && jq -e "$1" "$ETCD_DIR/rollouts" >/dev/null || { note "$(jq -c . "$ETCD_DIR/rollouts")"; return 1; }
}
heard() { [[ $(etcdctl_as root get --prefix --keys-only "$PREFIX/node/" | grep -c /status) == "$TRAYS" ]]; }

set_up() {
	mkdir "$played"
	etcd_up >/dev/null && etcd_auth >/dev/null && people_root || return
	nsenter --net="/run/netns/$(etcd_ns net)" "$here/../harness/fake_trays.py" crowd "$(etcd_url 1)" "$pki" "$PREFIX" "$played" "$TRAYS" 2>"$ETCD_DIR/crowd" &
	crowd=$!
	await 30 heard || return
	nsenter --net="/run/netns/$(etcd_ns net)" "$build/fleet/controller/bwlimit-controller" --servers "$(etcd_url 1)" \
		--prefix "$PREFIX" --name one --root "$FLEET/root" --online-key "$FLEET/controller.pem" \
		--ca "$pki/ca.pem" --cert "$pki/root.pem" --key "$pki/root.key" --trust-clock \
		--accept-etcd-holes --soak ${SOAK}s --silent-after 60s --json >"$ETCD_DIR/control" 2>&1 &
	control=$!
	await 15 says '"leads"'
}
check "control: etcd, two hundred trays that speak, and a controller that leads" set_up

note "Stages"
policy 1 10mbit
check "a policy goes out to all" await 180 says rolled-out
check "by 10, 25, 50 and 100 %" is "$(stages)" "10 25 50 100 "
check "each tray took it in the stage that the salt and its name say" as_placed 1
check "and the first stage is about a tenth" near "$(grep -c ' 10$' "$ETCD_DIR/are")" 10
check "no stage was shorter than its soak" soaked
check "and people read that it is done, since when" rollouts '.rollouts[0] | .document == "policy/base" and .document_version == 1 and .phase == "done" and
	.percent == 100 and (.stage_since | . > "2026") and .why == null'

note "A bad policy"
mark
policy 2 20mbit bad
check "it goes out to the first stage, and back, with why" await 120 says '"back".*drops'
check "no second stage began" is "$(stages)" "10 "
check "people read that it went back, from which stage, and why" rollouts '.rollouts[0] | .phase == "back" and .document_version == 2 and .percent == 10 and
	(.why | test("tray-[0-9]+ drops")) and .from_digest != null'
check "and who had it is the first stage, nobody else" as_placed 2 10
current() { awk '{ now[$1] = $2 } END { for (t in now) n += now[t] == '"$1"'; print n + 0 }' "$played/took"; }
check "all have what was before" await 30 eval "[[ \$(current 1) == $TRAYS ]]"

note "One that is sick in the second stage"
mark
policy 3 30mbit
await 60 says 'base 10 %'
places "$(salt)" | awk '$2 >= 10 && $2 < 25 { print $1; exit }' >"$played/sick"
check "control: there is one" test -s "$played/sick"
check "does not stop the first stage, which does not reach it, but its own, and all goes back" await 120 says "\"back\".*$(cat "$played/sick")"
check "before the third stage" is "$(stages)" "10 25 "
check "which nobody of it had seen" as_placed 3 25
rm "$played/sick"
check "control: all have what was before" await 30 eval "[[ \$(current 1) == $TRAYS ]]"

note "What widens nothing"
mark
policy 4 1mbit
check "is out in one step" eval 'await 120 says rolled-out && is "$(stages)" "100 "'
check "and all have it" await 30 eval "[[ \$(current 4) == $TRAYS ]]"
note "One whose SAs stay down"
policy 5 50mbit unsafe
waits() {
	rollouts '.rollouts[0] | .phase == "going" and .percent == 10 and .next_percent == 25 and .stage_percents == [10, 25, 50, 100] and
		.soak_ends_in_s <= '"$SOAK"' and .unwell_count > 0 and .judged_count >= .unwell_count and .bad_count == 0 and
		(.waited_tray_names | length) > 0 and (.why | test("has more SAs down than before")) and .judged_at != null'
}
check "while it waits, people read at which stage it is, how many are unwell, who, and why" await 50 waits
rss=$(awk '/^VmHWM/ { print $2 }' "/proc/$control/status")
note "bwlimit-controller had $rss kB at most"
[[ $build == */dev ]] || check "it had less than 64 MB at any time" test "$rss" -lt 65536
done_testing
