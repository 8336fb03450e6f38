#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A fleet's traffic, as told by bwlimit-controller: a real etcd, a real controller, three real bwlimit-sync that
# serve their tray's numbers, each in a namespace; bwlimitd is replaced by tests/harness/fake_numbers.py.
# live: fake_numbers.py stands in for bwlimitd: no DPU is here
set -uo pipefail
# shellcheck source=../harness/desk.sh
. "$(dirname "${BASH_SOURCE[0]}")/../harness/desk.sh"
AT=$ETCD_HERE:7444
answer() { fleet "$@" --json >"$ETCD_DIR/said" 2>"$ETCD_DIR/err"; }
says() { jq -e "$1" "$ETCD_DIR/said" >/dev/null || { note "$(head -c 400 "$ETCD_DIR/said" "$ETCD_DIR/err")"; return 1; }; }
is() { answer "${@:2}" && says "$1"; } # jq's condition, command…
schema() { ! can_judge || judge "$1" <"$ETCD_DIR/said"; }

numbers() { # tray: what its bwlimitd would say
	local at=$ETCD_DIR/tray-$1
	mkdir -p "$at"
	jq -n --argjson n "$1" '{version: 1, kind: "top", time: "2026-11-22T05:30:00Z", node: "t",
		passed_bits_per_second: ($n * 1000), dropped_bits_per_second: 80, passed_bytes: 1000, dropped_bytes: 10,
		stopped: false, switch: "running", peers: [{peer: "log", state: (if $n == 3 then "revoked" else "live" end),
		passed_bits_per_second: ($n * 1000), rate_bits_per_second: 1000000, dropped_bits_per_second: 80, left: null}]}' >"$at/top"
	jq -n --argjson n "$1" '{version: 1, kind: "usage", ledger: "none", volumes: [{limit_key: "zone external",
		used_bytes: ($n * 100), volume_bytes: 1000, window_s: 86400, released_bytes: null, ledger_state: "none"}]}' >"$at/usage"
	jq -n --argjson n "$1" '{version: 1, kind: "reasons", reasons: [{port: "h0", hook: "ingress", reason: "pass", passes: true,
		text: "x", todo: null, frames: $n, bytes: ($n * 10), charged_bytes: ($n * 11)}]}' >"$at/reasons"
	"$CTL" exfil --size 1tb --policy "$desk/p$1.yaml" --curve --json >"$at/exfil"
}
policy() { # rate
	printf 'version: 1\nnode: t\nuplinks: [p0]\nheartbeat: 60s\nhost_ports: [{ dev: h0, sources: [10.0.7.0/24] }]\npeers:\n  - { name: log, addresses: [192.0.2.1/32], path: clear, via: 10.9.9.9, grant: { rate: %s } }\n' "$1"
}
tray_start() { # tray
	local at=$ETCD_DIR/tray-$1
	[[ -z ${ours[agent$1]:-} ]] || stop "agent$1"
	"$here/fake_numbers.py" "$at.sock" "$at" >"$at.out" 2>&1 &
	ours[agent$1]=$!
	await 5 grep -q ready "$at.out"
	sync_start "$1" --agent "$ETCD_DIR/none" --serve "$(tray_at "$1"):7443" --commands "$at.sock"
}
up() {
	local i
	etcd_up && etcd_auth && desk_people || return
	for i in 1 2 3; do
		policy "${i}mbit" >"$desk/p$i.yaml"
		numbers "$i" && etcd_tray "tray-$i" && tray_net "$i" || return
	done
	etcd_user controller root "IP:$ETCD_HERE" && etcd_user people root
} >/dev/null
check "control: a store, three trays' numbers, a root" up
# One tray has a label.
enrolment() {
	jq -n --arg r "$("$CTL" --json policy verify "$desk/root" | jq -r .digest)" '{tray: "tray-1", root: $r, labels: ["rack=1"]}' >"$desk/enrolment.json"
	sign "$desk/enrolment.json" alice --type enrolment --fleet hall --audience tray:tray-1 \
		--name tray-1 --number 1 --for 365d --out "$desk/enrolment" 2>"$ETCD_DIR/out" &&
		etcdctl_as root put "$PREFIX/node/tray-1/in/doc/enrolment/tray-1" <"$desk/enrolment" >/dev/null
}
check "control: a label of one of them" eval 'enrolment || { note "$(cat "$ETCD_DIR/out")"; false; }'
tray_start 1
tray_start 2
# In place of the third, a program that claims to be at tray-1's address.
etcdctl_as root put "$PREFIX/node/tray-3/out/alive" x >/dev/null
etcdctl_as root put "$PREFIX/node/tray-3/out/at" "$(tray_at 1):7443" >/dev/null
controller_start() {
	nsenter --net="/run/netns/$(etcd_ns net)" "$build/fleet/controller/bwlimit-controller" --servers "$(etcd_url 1)" --prefix "$PREFIX" \
		--name one --root "$desk/root" --online-key "$desk/controller.pem" --ca "$pki/ca.pem" --cert "$pki/controller.pem" \
		--key "$pki/controller.key" --trust-clock --accept-etcd-holes --serve "$AT" "$@" >"$ETCD_DIR/controller" 2>&1 &
	ours[controller]=$!
}
controller_start
desk_conf "cert = $pki/people.pem" "key = $pki/people.key" "controller = https://$AT" "fleet = hall" "root = $desk/root"

note "Of those who answer"
two() { is '[.trays[] | select(.heard_ago_s)] | length == 2' status; }
check "two trays have answered, within the first round" await 60 two
check "what shows another's certificate is told, and its numbers count for nobody" await 30 \
	is '.trays[] | select(.tray == "tray-3") | .alive and .passed_bits_per_second == null and (.why | test("certificate|SSL"))' status
etcdctl_as root del --prefix "$PREFIX/node/tray-3/out/" >/dev/null
tray_start 3
three() { is '[.trays[] | select(.heard_ago_s)] | length == 3' status; }
check "control: with its own it answers" await 90 three
check "which is what its schema says" schema fleet-status
all_exfil() { is '.tray_count == 3 and .exit_count == 3' exfil --size 1tb; }
check "all of them have said what leaves by when" await 60 all_exfil
check "and it is what its schema says" schema exfil
true_time() { "$CTL" exfil --size 1tb --policy <(policy 6mbit) --json | jq .least_s; }
check "1 TB by all doors takes as long as by one of their sum, less a tenth at most" eval \
	"says \"(.least_s <= $(true_time)) and (.least_s > $(true_time) / 1.1)\""
check "people are told in words" eval 'fleet exfil --size 1tb 2>/dev/null | grep_all "all doors of 3 trays: at least"'
check "top adds up, and says the worst state" is \
	'.passed_bits_per_second == 6000 and (.peers[0] | .peer == "log" and .passed_bits_per_second == 6000 and .rate_bits_per_second == 3000000 and .state == "revoked")' top
check "and is what its schema says" schema top
check "usage, by limit" is '.volumes[0] | .limit_key == "zone external" and .used_bytes == 600 and .volume_bytes == 3000' usage
check "and is what its schema says" schema usage
check "reasons" is '.reasons[0] | .reason == "pass" and .frames == 6 and .charged_bytes == 66' reasons
check "and is what its schema says" schema reasons
check "history is an hour of minutes" is '(.points | length) == 60' history
check "and is what its schema says" schema fleet-history
check "one tray alone" is '.passed_bits_per_second == 2000' top --tray tray-2
check "a label that one has is its numbers alone" is '.passed_bits_per_second == 1000' top --label rack=1
check "a label that nobody has" is '.passed_bits_per_second == 0 and (.peers | length) == 0' top --label rack=9
check "the sum of a zone says who is worst" is '.sums[] | select(.group_kind == "zone") | .group == "external" and .worst_tray == "tray-3"' status
for v in status top usage reasons history; do
	check "people read $v" eval "fleet $v >\"\$ETCD_DIR/said\" 2>&1 && [[ -s \$ETCD_DIR/said ]]"
done

note "A part of the trays"
check "the two that drop and pass most" is '[.trays[].tray] == ["tray-3", "tray-2"] and .tray_count == 3' status --sort passed --limit 2
check "the rest" is '[.trays[].tray] == ["tray-1"] and .tray_count == 3' status --sort passed --offset 2
check "by name, as ever" is '[.trays[].tray] == ["tray-1", "tray-2", "tray-3"]' status
check "behind the last there is none" is '(.trays | length) == 0 and .tray_count == 3' status --offset 9
refute "an order that there is not is refused" answer status --sort colour
refute "and a number that is none" answer status --limit -1

note "Certificates"
days() { # until the end of a certificate's file
	echo $((($(date -d "$(openssl x509 -in "$1" -noout -enddate | cut -d= -f2)" +%s) - $(date +%s)) / 86400))
}
check "a tray's certificate is seen when it is asked, and when it ends" is ".trays[0] | .tray == \"tray-1\" and
	((.certificate_ends_in_s / 86400 - $(days "$pki/tray-1.pem")) | . > -1 and . < 2)" status

note "Closures"
etcdctl_as root put "$PREFIX/node/tray-3/out/status" '{"tray": "tray-3", "policy": null, "closed": ["log"], "closed_count": 1, "alarms": ["clamped"],
	"closed_since": {"closed": [1795372000], "stopped": 0, "clamped": 1795371000}, "missing": ["revocation/r1"]}' >/dev/null
check "which tray, what, since when and what opens it" await 60 is '.closure_count == 2 and ([.closures[] | [.tray, .closure, .peer, .closed_at]] ==
	[["tray-3", "clamped", null, "2026-11-22T18:10:00Z"], ["tray-3", "peer", "log", "2026-11-22T18:26:40Z"]]) and (.closures[1].todo | test("--opens log$"))' closures
check "and who lacks which document" says '.unacknowledged == [{document: "revocation/r1", lack: "missing", tray_count: 1, tray_names: ["tray-3"]}]'
check "which is what its schema says" schema fleet-closures
check "of another tray there is none" is '.closure_count == 0 and .unacknowledged == []' closures --tray tray-1
check "people read them" eval 'fleet closures >"$ETCD_DIR/said" && grep -q "^revocation/r1 is missing on 1 tray: tray-3" "$ETCD_DIR/said" && grep -q "clamped .*--lifts clamp" "$ETCD_DIR/said"'

note "The page's API of a fleet"
web_start() {
	nsenter --net="/run/netns/$(etcd_ns net)" env BWLIMIT_CTL="$CTL" "$build/web/bwlimit-web" --fleet --name hall --conf "$desk/fleet.conf" --page none \
		--listen 127.0.0.1:9650 >"$ETCD_DIR/web" 2>&1 &
	ours[web]=$!
	await 10 web /api/v1/
}
web() { in_net curl -sS --max-time 40 -f "http://127.0.0.1:9650$1" >"$ETCD_DIR/said" 2>"$ETCD_DIR/err"; }
check "bwlimit-web --fleet listens" web_start
check "it is of a fleet" says '.scope == "fleet" and .name == "hall"'
web_is() { web "$2" && says "$1"; } # jq's condition, path
check "trays, those first who pass most" web_is '[.trays[].tray] == ["tray-3", "tray-2"]' '/api/v1/fleet-status?sort=passed&limit=2'
check "which is what its schema says" schema fleet-status
check "versions, and who is late" says '.late_count == 0 and (.policies | type) == "array" and (.trays[0] | has("late"))'
check "sums of peers" web_is '.passed_bits_per_second == 6000' /api/v1/top
check "of one tray" web_is '.passed_bits_per_second == 2000' '/api/v1/top?tray=tray-2'
check "of a label" web_is '(.peers | length) == 0' '/api/v1/top?label=rack=9'
check "an hour of minutes" web_is '(.points | length) == 60' /api/v1/fleet-history
check "closures" web_is '.closure_count == 2' /api/v1/fleet-closures
check "what leaves by when" web_is '.tray_count == 3' '/api/v1/exfil?size=1tb'
check "what waits for signatures" web_is '.documents == []' /api/v1/fleet-pending
check "which is what its schema says" schema fleet-pending
check "what goes out in stages" web_is '.rollout_count == 0 and .rollouts == []' /api/v1/fleet-rollouts
check "which is what its schema says" schema fleet-rollouts
check "the trays of the store" web_is '[.trays[].tray] | index("tray-1") and index("tray-3")' /api/v1/fleet-trays
check "which is what its schema says" schema fleet-trays
refute "no path is an option of bwlimit-ctl's" web '/api/v1/top?conf=/etc/passwd&tray=--conf'
kill "${ours[controller]}" && wait "${ours[controller]}" 2>/dev/null
refute "without a controller there is an error" web /api/v1/reasons
check "which says so" eval 'in_net curl -sS "http://127.0.0.1:9650/api/v1/reasons" | jq -e ".kind == \"error\" and .error.program == \"bwlimit-ctl\""'
kill "${ours[web]}"
controller_start
check "control: it is back" await 90 three

note "Prometheus"
get() { # certificate path [option…]
	in_net curl -sS --max-time 20 --cacert "$pki/ca.pem" ${1:+--cert "$pki/$1.pem" --key "$pki/$1.key"} \
		-o "$ETCD_DIR/got" -w '%{http_code}' "${@:3}" "https://$AT$2" >"$ETCD_DIR/code" 2>"$ETCD_DIR/err"
}
gets() { get "${@:2}"; [[ $(cat "$ETCD_DIR/code") == "$1" ]] || { note "$(cat "$ETCD_DIR/code" "$ETCD_DIR/err")"; return 1; }; }
check "metrics are there" gets 200 people /metrics
check "of the fleet, its zones and its trays" eval 'grep -q "^bwlimit_fleet_passed_bytes_per_second 750$" "$ETCD_DIR/got" && grep -q "^bwlimit_fleet_zone_volume_used_bytes{zone=\"external\"} 600$" "$ETCD_DIR/got" && grep -q "^bwlimit_tray_up{tray=\"tray-1\"} 1$" "$ETCD_DIR/got"'
if command -v promtool >/dev/null; then
	check "promtool finds nothing to say" eval 'out=$(promtool check metrics <"$ETCD_DIR/got" 2>&1) && [[ -z $out ]] || { note "$out"; false; }'
else
	skip "promtool finds nothing to say" "no promtool (Debian: prometheus)"
fi
if command -v prometheus >/dev/null; then
	dashboard() {
		mkdir "$ETCD_DIR/prometheus"
		unshare --net sh -c 'ip link set lo up && exec "$@"' sh "$here/prometheus.py" "$ETCD_DIR/prometheus" \
			"$ETCD_DIR/got" "$monitoring/grafana/fleet.json" "$monitoring/prometheus/fleet.rules.yml" >"$ETCD_DIR/shown" ||
			{ note "$(grep -A1 '^not ok' "$ETCD_DIR/shown")"; return 1; }
	}
	monitoring=${BWL_SOURCE:-${here%/*/*}}/monitoring
	check "every query of the dashboard of a fleet, and every rule, finds something" dashboard
else
	skip "every query of the dashboard of a fleet, and every rule, finds something" "no prometheus"
fi
check "a parser of Prometheus takes it" eval '/usr/bin/python3 -c "
import sys
from prometheus_client.parser import text_string_to_metric_families as p
sys.exit(0 if len(list(p(open(sys.argv[1]).read()))) > 10 else 1)" "$ETCD_DIR/got"'

note "Who is let in"
none() { get "$@" && { note "$(cat "$ETCD_DIR/code")"; return 1; }; [[ $(cat "$ETCD_DIR/code") == 000 ]]; }
check "nobody without a certificate" none '' /v1/top
check "nor a tray" none tray-1 /v1/top
check "nor a controller: it asks nobody" none controller /v1/top
check "POST is refused" gets 405 people /v1/top -X POST
check "what is not there is said" gets 404 people /v1/policy
check "a size that is none is wrong" gets 400 people '/v1/exfil?size=much'
check "control: people are let in" gets 200 people /v1/top
check "a tray does not tell its numbers to people" eval \
	'! in_net curl -sS --max-time 5 --cacert "$pki/ca.pem" --cert "$pki/people.pem" --key "$pki/people.key" --connect-to "tray-1:7443:$(tray_at 1):7443" https://tray-1:7443/v1/top 2>/dev/null'

note "Trays that lie, and go"
echo '{"kind": "top", "peers": [' >"$ETCD_DIR/tray-2/top"
head -c 300000 /dev/zero >"$ETCD_DIR/tray-1/usage"
lies() { is '([.trays[] | select(.why)] | length) == 2' status; }
check "junk, and more than a document may have, is told" await 90 lies
check "control: the controller is there, and so are the rest" is '.alive_count == 3' status
kill "${ours[sync3]}" && wait "${ours[sync3]}" 2>/dev/null
unset 'ours[sync3]'
gone() { is '[.trays[] | select(.tray == "tray-3" and .alive)] | length == 0' status; }
check "one that is stopped is seen to be gone when its lease has ended" await 60 gone

note "Certificates that are read anew"
echo 01 >"$pki/crlnumber"
: >"$pki/index.txt"
printf '[ca]\ndefault_ca=x\n[x]\ndatabase=%s\ncrlnumber=%s\ndefault_md=sha256\n' "$pki/index.txt" "$pki/crlnumber" >"$pki/ca.conf"
list() { openssl ca -config "$pki/ca.conf" -cert "$pki/ca.pem" -keyfile "$pki/ca.key" "$@" 2>"$ETCD_DIR/out" || { note "$(cat "$ETCD_DIR/out")"; return 1; }; }
list -gencrl -crldays 2 -out "$pki/crl.pem"
kill "${ours[controller]}" && wait "${ours[controller]}"
controller_start --crl "$pki/crl.pem"
check "control: with a list of nobody people are let in" await 30 gets 200 people /v1/top
list -revoke "$pki/people.pem" && list -gencrl -crldays 2 -out "$pki/crl.pem"
check "control: until it is told to, it knows nobody else" gets 200 people /v1/top
kill -HUP "${ours[controller]}"
shut_out() { ! get people /v1/top || [[ $(cat "$ETCD_DIR/code") != 200 ]]; }
check "told to, it lets nobody in who was revoked" await 20 shut_out
echo junk >"$pki/crl.pem"
kill -HUP "${ours[controller]}"
check "what does not fit is reported, and what was read before stays in use" await 20 grep -q 'trouble certificates: the list of revoked certificates' "$ETCD_DIR/controller"
check "as it is" shut_out
kill "${ours[controller]}"
wait "${ours[controller]}"
check "the controller ends when it is told" [ $? = 0 ]
unset 'ours[controller]'
done_testing
