#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The metrics for Prometheus, read by Prometheus' own client library, compared with stats, reasons and usage.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-met-$$ LAB_DESTS=2
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
/usr/bin/python3 -c 'import prometheus_client' 2>/dev/null ||
	{ echo '1..0 # SKIP no python3-prometheus-client'; exit 77; }
lab_up || exit 1
trap lab_down EXIT

# NAME{LABEL=VALUE,…} VALUE, one per line; the parser fails on anything that is not exposition format.
parse() { # file
	/usr/bin/python3 - "$1" <<'END'
import sys
from prometheus_client.parser import text_string_to_metric_families as families
for f in families(open(sys.argv[1]).read()):
    assert f.documentation, f.name
    for s in f.samples:
        assert (f.type == "counter") == s.name.endswith("_total"), s.name
        print(s.name + "{" + ",".join(k + "=" + v for k, v in sorted(s.labels.items())) + "}", repr(s.value))
END
}
look() { "$CTL" metrics "$@" >"$LAB_TMP/text" && parse "$LAB_TMP/text" >"$LAB_TMP/seen"; }
value() { awk -v n="$1" '$1 == n { printf "%.0f\n", $2; found = 1 } END { exit !found }' "$LAB_TMP/seen"; }
is() { # sample, value
	local now
	now=$(value "$1") && [[ $now == "$2" ]] || { note "$1: ${now:-missing}, not $2"; return 1; }
}
has() { value "$1" >/dev/null; }
# A reset is answered by nothing, so the frames are those that are sent.
send() {
	echo "eth ip4 src=$HOST4 dst=$(lab_dest4 1) tcp dport=9 flags=4 fill=946" |
		in_host "$FRAMES" send h0 --gw "$(lab_mac dpu hpf0)" --count 400 --pps 4000 >/dev/null
}
# On a busy machine frames are on their way after they were sent.
all_counted() {
	[[ $("$CTL" stats sink --json | jq '.peers[0] | .passed_frames + .dropped_frames') -eq 450 ]]
}

# 0: synchronised; as adjtimex(2) says it, of 64-bit kernels.
adjtimex_state() {
	/usr/bin/python3 - <<'END'
import ctypes, time
timex = (ctypes.c_int * 64)()
state = ctypes.CDLL(None).adjtimex(ctypes.byref(timex))
print(1 if state == 5 or timex[10] & 0x40 or time.time() < 1.7e9 else 0)
END
}
lab_attach || exit 1
check "without a policy there are metrics" look
check "and they say so" is 'bwlimit_policy_in_force{}' 0
{
	echo "zones: { external: { rate: 100mbit, volume: 2gb } }"
	echo "peers:"
	lab_peer sink 1 "zone: external, grant: { rate: 80kbit, burst: 64kb, volume: 1gb }, accept: { rate: 8mbit, volume: 3gb }, ports: { hpf0: { rate: 80mbit, volume: 5gb } }"
	lab_peer idle 2 "contained: true, grant: { rate: 1mbit }"
} | lab_policy_head >"$LAB_TMP/policy.yaml"
"$CTL" policy apply "$LAB_TMP/policy.yaml" --fresh-volume >/dev/null 2>&1 || exit 1
"$CTL" heartbeat >/dev/null || exit 1
send
echo "eth ip4 src=$(lab_dest4 1) dst=$HOST4 tcp dport=9 flags=4 fill=946" |
	in_ns d1 "$FRAMES" send eth0 --gw "$(lab_mac net n1)" --count 50 --pps 1000 >/dev/null
check "all that was sent is counted" lab_wait_for 60 all_counted
check "with a policy there are metrics" look
check "a policy is in force" is 'bwlimit_policy_in_force{}' 1
check "the switch says running" is 'bwlimit_switch{state=running}' 1
"$CTL" stats sink --json >"$LAB_TMP/stats"
stat() { jq ".peers[0].$1" "$LAB_TMP/stats"; }
check "something passed and something was dropped" sh -c \
	"jq -e '.peers[0] | .passed_bytes > 0 and .dropped_bytes > 0' '$LAB_TMP/stats' >/dev/null"
for way in passed dropped; do
	check "$way bytes are those of stats" is "bwlimit_peer_${way}_bytes_total{peer=sink}" \
		"$(stat "${way}_bytes")"
	check "$way frames are those of stats" is "bwlimit_peer_${way}_frames_total{peer=sink}" \
		"$(stat "${way}_frames")"
done
check "a rate is in bytes a second" is 'bwlimit_peer_grant_bytes_per_second{peer=sink}' 10000
check "a volume is told" is 'bwlimit_peer_grant_volume_bytes{peer=sink}' $((1 << 30))
check "and what is used of it" is 'bwlimit_peer_grant_volume_used_bytes{peer=sink}' \
	"$("$CTL" usage --json | jq '.volumes[] | select(.limit_key == "peer sink").used_bytes')"
used() { "$CTL" usage --json | jq ".volumes[] | select(.limit_key == \"$1\").used_bytes"; }
check "what a host port may send to a peer is told: its rate" is 'bwlimit_peer_port_bytes_per_second{peer=sink,port=hpf0}' 10000000
check "its volume" is 'bwlimit_peer_port_volume_bytes{peer=sink,port=hpf0}' $((5 << 30))
check "what is used of it" is 'bwlimit_peer_port_volume_used_bytes{peer=sink,port=hpf0}' "$(used "tenant sink/hpf0")"
check "and what passed from there: all but what arrived" is 'bwlimit_peer_port_passed_bytes_total{peer=sink,port=hpf0}' \
	$(($(stat passed_bytes) - $(used "accept sink")))
check "what was refused from there" has 'bwlimit_peer_port_dropped_bytes_total{peer=sink,port=hpf0}'
refute "a peer without such a limit tells none" grep -q '^bwlimit_peer_port.*peer=idle' "$LAB_TMP/seen"
check "the volume of accept is told" is 'bwlimit_peer_accept_volume_bytes{peer=sink}' $((3 << 30))
check "and what is used of it" is 'bwlimit_peer_accept_volume_used_bytes{peer=sink}' "$(used "accept sink")"
check "to which something arrived" [ "$(used "accept sink")" -gt 0 ]
refute "nor does a peer without it tell one" has 'bwlimit_peer_accept_volume_bytes{peer=idle}'
refute "a grant without a volume tells none" has 'bwlimit_peer_grant_volume_bytes{peer=idle}'
check "a grant in force is live" is 'bwlimit_peer_grant_live{peer=sink}' 1
check "a zone's volume is told" is 'bwlimit_limit_volume_bytes{level=zone,name=external}' $((2 << 30))
check "and a peer's is no zone's, nor a port's to a peer" sh -c "! grep 'limit_volume_bytes{' '$LAB_TMP/seen' | grep -v 'level=zone'"
check "a peer that is contained is told from a way out" is 'bwlimit_peer_contained{peer=idle}' 1
check "and the other way round" is 'bwlimit_peer_contained{peer=sink}' 0
refute "a peer in the clear has no SA to tell of" has 'bwlimit_peer_sa{peer=sink}'
check "how long silence is borne is told" is 'bwlimit_heartbeat_seconds{}' 3600
refute "a policy without a lease has no end of one" has 'bwlimit_lease_end_timestamp_seconds{}'
check "nothing is clamped" is 'bwlimit_clamped{}' 0
synchronised=$([[ $(adjtimex_state) == 0 ]] && echo 1 || echo 0)
check "whether the clock is synchronised is the kernel's word" is 'bwlimit_clock_synchronised{}' "$synchronised"
verified() { "$CTL" metrics >"$LAB_TMP/text" && parse "$LAB_TMP/text" >"$LAB_TMP/seen"; has 'bwlimit_verify_failed_checks{}'; }
refute "without a result of verify none is told" verified
in_dpu "$LOAD" verify --json >"$LAB_TMP/verify"
check "after verify ran its result is told" verified
check "as it was" is 'bwlimit_verify_failed_checks{}' "$(jq .failed_count "$LAB_TMP/verify")"
check "drops have their reason" is \
	'bwlimit_port_frames_total{hook=ingress,port=hpf0,reason=peer-rate,verdict=drop}' \
	"$("$CTL" reasons --port hpf0 --json | jq '.reasons[] | select(.reason == "peer-rate").frames')"
"$CTL" revoke idle reason test >/dev/null 2>&1
check "after a revocation there are metrics" look
check "a revoked grant is not live" is 'bwlimit_peer_grant_live{peer=idle}' 0
check "and is told from one that has ended" is 'bwlimit_peer_revoked{peer=idle}' 1
check "which the other is not" is 'bwlimit_peer_revoked{peer=sink}' 0
check "of many peers the first have metrics" look --peers 1
check "the others are counted" is 'bwlimit_peers_not_shown{}' 1
check "and have none" sh -c "! grep -q 'peer=idle' '$LAB_TMP/seen' && grep -q 'peer=sink' '$LAB_TMP/seen'"
refute "--json says what to use" sh -c "'$CTL' metrics --json >'$LAB_TMP/err' 2>&1"
check "by name" grep -q 'stats' "$LAB_TMP/err"
done_testing
