#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Latency through the real hooks: if off, nothing is measured; if on, every packet is in one histogram, by name or among
# the others, and the last gate clears the field that carried the time. Exact times by an injected clock: prog.latency.
# Shape with fq and ESP: tests/vm.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-lat-$$ LAB_DESTS=2
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
lab_up || exit 1
trap lab_down EXIT
lab_attach || exit 1
{
	echo "peers:"
	lab_peer one 1 "grant: { rate: 1gbit }"
	lab_peer two 2 "grant: { rate: 1gbit }"
} | lab_policy_head >"$LAB_TMP/policy.yaml"
"$CTL" policy apply "$LAB_TMP/policy.yaml" --fresh-volume >/dev/null 2>&1 || exit 1
"$CTL" heartbeat >/dev/null || exit 1

send() { # peer's number, frames [per second]
	echo "eth ip4 src=$HOST4 dst=$(lab_dest4 "$1") udp dport=9 fill=958" |
		in_host "$FRAMES" send h0 --gw "$(lab_mac dpu hpf0)" --count "$2" --pps "${3:-$2}" >/dev/null && lab_settle
}
# What hosts sent; a peer's counter includes what it sent back (ICMP).
passed() { "$CTL" reasons --port hpf0 --json | jq '[.reasons[] | select(.reason == "pass" and (.hook // "") != "gate") | .frames] | add // 0'; }
ctl() { "$CTL" "$@" >"$LAB_TMP/out" 2>"$LAB_TMP/err"; }
says() { cat "$LAB_TMP/out" "$LAB_TMP/err" | grep_all -F -- "$1"; }
# From a row (null: all others): frames at the gate, in shape, unmatched.
frames() { "$CTL" latency show --json | jq -c --argjson p "$1" '.peers[] | select(.peer == $p) | [.gate.frames, .shape.frames, .unmatched_frames]'; }
bins_add_up() { "$CTL" latency show --json | jq -e 'all(.peers[] | .gate, .shape; (.bins | map(.frames) | add // 0) == .frames)' >/dev/null; }

check "at first it is off" sh -c "'$CTL' latency show --json | jq -e '.measured == false' >/dev/null"
ctl latency on one
check "a peer may be named before, and it says what is missing" says "bwlimit-load upgrade --latency on"
send 1 500
check "off, nothing is counted" test "$(frames '"one"')" == "[0,0,0]"
check "but packets pass" test "$(passed)" -gt 100
check "upgrade switches it on" lab_load upgrade --latency on
check "and it says so" sh -c "'$CTL' latency show --json | jq -e .measured >/dev/null"
was=$(passed)
send 1 500
now=$(($(passed) - was))
note "$now passed; $(frames "\"one\"")"
check "every packet that passes is counted at both" test "$(frames '"one"')" == "[$now,$now,0]"
check "it passed" test "$now" -gt 100
was=$(passed)
send 2 500
now=$(($(passed) - was))
note "$now passed; $(frames null)"
check "who is not named is among all others" test "$(frames null)" == "[$now,$now,0]"
check "bins add up" bins_add_up
check "nothing waits where nothing is shaped" sh -c "'$CTL' latency show one --json | jq -e '.peers[0].shape | .sum_s == 0 and (.bins | length) == 1' >/dev/null"
check "the way to the gate takes longer than 100 ns and less than 10 s" sh -c "'$CTL' latency show one --json |
	jq -e '.peers[0].gate | .sum_s / .frames | . > 1e-7 and . < 10' >/dev/null"
check "for people: a line of it" sh -c "'$CTL' latency show one | grep -q '^one '"
refute "of a peer that is not measured by name" ctl latency show two
check "it says how" says "bwlimit-ctl latency on two"
refute "of one that is not there" ctl latency on nobody
check "upgrade leaves it on" sh -c "nsenter --net=/run/netns/$LAB-dpu '$LOAD' upgrade >/dev/null 2>&1 && '$CTL' latency show --json | jq -e .measured >/dev/null"
was=$(frames '"one"' | jq '.[0]')
check "and what was measured stays" test "$was" -gt 100
send 1 500 100 & # for 5 s: some of it is in those 3 s, whenever they begin
sent=$!
"$CTL" latency show one --for 3s --json >"$LAB_TMP/for"
wait $sent
check "--for: of that time alone" sh -c "jq -e '.peers[0].gate.frames | . > 0 and . <= 500' '$LAB_TMP/for' >/dev/null"

if /usr/bin/python3 -c 'import prometheus_client' 2>/dev/null; then
	"$CTL" metrics >"$LAB_TMP/text"
	check "Prometheus' own library reads the histograms" /usr/bin/python3 - "$LAB_TMP/text" "$(frames '"one"')" <<'END'
import json, sys
from prometheus_client.parser import text_string_to_metric_families as families
gate, shape, unmatched = json.loads(sys.argv[2])
seen = {}
for f in families(open(sys.argv[1]).read()):
    if not f.name.endswith("_delay_seconds"):
        continue
    assert f.type == "histogram", f
    for peer in {s.labels["peer"] for s in f.samples}:
        mine = [s for s in f.samples if s.labels["peer"] == peer]
        buckets = [(float(s.labels["le"]), s.value) for s in mine if s.name.endswith("_bucket")]
        count = [s.value for s in mine if s.name.endswith("_count")][0]
        assert [s for s in mine if s.name.endswith("_sum")][0].value >= 0
        assert buckets == sorted(buckets) and buckets[-1] == (float("inf"), count), buckets
        assert all(a[1] <= b[1] for a, b in zip(buckets, buckets[1:])), buckets
        assert 20 < len(buckets) < 30
        seen[f.name, peer] = count
assert seen["bwlimit_gate_delay_seconds", "one"] == gate and seen["bwlimit_shape_delay_seconds", "one"] == shape, seen
assert ("bwlimit_gate_delay_seconds", "") in seen and ("bwlimit_gate_delay_seconds", "two") not in seen, seen
END
else
	skip "Prometheus' own library reads the histograms" "no python3-prometheus-client"
fi

check "no more by name" ctl latency off one
refute "it has no row" ctl latency show one
ctl latency on one
check "named again it begins anew" test "$(frames '"one"')" == "[0,0,0]"
check "all names at once" ctl latency off --all
check "one row is left" test "$("$CTL" latency show --json | jq '.peers | length')" -eq 1
was=$(frames null) now=$(passed)
check "switched off" lab_load upgrade --latency off
send 2 500
check "nothing is counted any more" test "$(frames null)" == "$was"
check "and packets pass" test $(($(passed) - now)) -gt 100
lab_load detach
done_testing
