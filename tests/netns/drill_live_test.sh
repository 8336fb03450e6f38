#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# drill live: tests the program of a port in use while its traffic continues; its results are announced, charged to
# its own peer, signed, and accepted only unchanged. A port that is broken on purpose fails.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-live-$$ LAB_DESTS=1
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
# shellcheck source=../harness/documents.sh
. "$here/../harness/documents.sh"
lab_up && lab_attach || exit 1
export BWLIMIT_AUDIT_DIR=$LAB_TMP/audit

policy() { # grant of the drill's peer, further top-level lines
	{
		[[ -z ${2:-} ]] || echo "$2"
		echo "peers:"
		lab_peer sink 1 "grant: { rate: 100mbit, burst: 10mb }"
		printf '  - { name: drill, addresses: [192.0.2.222/32], path: clear, via: %s, grant: { %s } }\n' "$LAB_VIA4" "$1"
	} | lab_policy_head | lab_apply
}
drills() { in_dpu "$CTL" drill live hpf0 --for 1s "$@" >"$LAB_TMP/out" 2>"$LAB_TMP/err"; }
told() { grep -q -- "$1" "$LAB_TMP/out" "$LAB_TMP/err" || { sed 's/^/# /' "$LAB_TMP/out" "$LAB_TMP/err"; return 1; }; }
all_held() { told '16 held, 0 failed, 1 skipped'; }
checked() { "$CTL" drill verify "$@" >"$LAB_TMP/out" 2>"$LAB_TMP/err"; }
passed() { # peer: bytes that were charged
	in_dpu "$CTL" stats --json 2>/dev/null | python3 -c '
import json, sys
print(*(p["passed_bytes"] for p in json.load(sys.stdin)["peers"] if p["peer"] == sys.argv[1]))' "$1"
}
on_wire() { lab_rx net s0 | cut -d' ' -f2; }

policy "rate: 1mbit" || exit 1
refute "without an audit log there is no drill" drills
check "and it says so" told 'announced in the audit log'
key=$("$CTL" audit init --origin lab.example/dpu 2>/dev/null | grep -o 'lab.example/dpu+[^ ]*')
check "there is a log" [ -n "$key" ]

was=$(passed drill) sink=$(passed sink) wire=$(on_wire)
in_host ping -q -i 0.01 -c 100 -W 5 "$(lab_dest4 1)" >"$LAB_TMP/ping" 2>&1 &
pinger=$!
check "everything holds at a port in use" drills --write "$LAB_TMP/report"
check "each of what is tried" all_held
wait $pinger
check "its traffic goes on meanwhile, without a loss" grep -q '100 received' "$LAB_TMP/ping"
check "the drill is charged to its peer" [ "$(passed drill)" -gt "$was" ]
check "and to nobody else: 100 pings of 98 bytes, and their answers" [ $(($(passed sink) - sink)) -eq 19600 ]
check "nothing of it leaves" [ $(($(on_wire) - wire)) -lt 150 ]
check "it is announced before" grep -q 'drill at host port hpf0, for 1s, charged to peer drill' <("$CTL" audit show)
check "and its end is told" grep -q 'drill at host port hpf0 ended: .* 16 held, 0 failed' <("$CTL" audit show)

check "the report is signed by the log's key" checked "$LAB_TMP/report" --key "$key"
check "and says what it was" told 'signed by lab.example/dpu: drill at host port hpf0 of lab'
sed 's/"failed_count":0/"failed_count":1/' "$LAB_TMP/report" >"$LAB_TMP/changed"
refute "a report that was changed is refused" checked "$LAB_TMP/changed" --key "$key"
other=$(BWLIMIT_AUDIT_DIR=$LAB_TMP/other "$CTL" audit init --origin lab.example/other 2>/dev/null | grep -o 'lab.example/other+[^ ]*')
refute "so is one by another key" checked "$LAB_TMP/report" --key "$other"
"$CTL" audit checkpoint >"$LAB_TMP/checkpoint"
refute "a checkpoint of the log is no report" checked "$LAB_TMP/checkpoint" --key "$key"
check "as such" told 'not the report of a drill'

if can_judge; then
	drills --json
	check "its document has its schema" judge drill-live <"$LAB_TMP/out"
	checked "$LAB_TMP/report" --key "$key" --json
	check "and so has that of the report" judge drill-verify <"$LAB_TMP/out"
fi
logged() { grep -q "$1" <("$CTL" audit show); }
lab_bg long dpu "$CTL" drill live hpf0 --for 60s
check "a long one has begun" lab_wait_for 30 logged 'hpf0, for 1m,'
refute "one at a time" drills
check "is told" told 'another drill is under way'
lab_stop "$LAB_PID"
check "one that was told to end says so in the log" logged 'ended: .*interrupted'

# Broken on purpose.
policy "rate: 1mbit, mode: monitor"
refute "a grant of mode monitor fails it" drills --write "$LAB_TMP/bad"
check "by that" told 'failed .*mode is monitor'
check "and by what passed" told 'failed .*more than the grant'
refute "the report of a drill that failed is no good news" checked "$LAB_TMP/bad" --key "$key"
check "and yet signed" told 'signed by lab.example/dpu: .* [1-9][0-9]* failed'
policy "rate: 1mbit"
in_dpu "$CTL" revoke drill >/dev/null 2>&1
refute "a revoked grant fails it" drills
check "as such" told 'the grant is revoked'
in_dpu "$CTL" grant drill rate 1mbit reason drill >/dev/null 2>&1
check "granted again it holds" drills
mv "$LAB_PINS/links/bwl_tc_host_hpf0" "$LAB_PINS/links/away" 2>/dev/null && rm "$LAB_PINS/links/away"
tc -n "$LAB-dpu" filter del dev hpf0 ingress 2>/dev/null
refute "a port without its program fails it" drills
check "as such" told 'failed .*it is not attached'
check "attach puts it back" lab_attach
live "a drill was interrupted, and a port that had lost its program is attached again"

# Wrong use.
refute "a peer that is none of a drill" drills --to sink
check "is refused" told "whose name begins with 'drill'"
refute "no such peer" drills --to drill-2
check "is told how to have one" told 'add a peer for drills to the policy'
refute "an uplink" in_dpu "$CTL" drill live p0
refute "too long" in_dpu "$CTL" drill live hpf0 --for 2m
policy "rate: 10gbit"
refute "a grant that is too large for it" drills
check "is refused" told 'more than 1gb'
done_testing
