#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A host floods a real port with unknown destinations, spoofed sources and a spent rate: the audit log stays
# small, every other event is in it, the operator's commands work, and the journal contains nothing from the host.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-events-$$ LAB_DESTS=2
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
lab_up || exit 1
export BWLIMIT_AUDIT_DIR=$LAB_TMP/audit
"$CTL" audit init --origin test/events >"$LAB_TMP/pub" 2>/dev/null

desired() { # rate
	lab_policy_head <<-END
	peers:
	$(lab_peer d1 1 "grant: { rate: $1, mode: police }")
	$(lab_peer d2 2 "grant: { rate: 1gbit, volume: 3kb }")
	END
}
records() { "$CTL" audit show --json | jq -c "select($1)"; }
count() { records "$1" | wc -l; }
has() { [[ $(count "$1") -ge ${2:-1} ]]; }
ctl() { in_dpu timeout 300 "$CTL" "$@" >"$LAB_TMP/out" 2>&1 || { note "$(cat "$LAB_TMP/out")"; false; }; }
bytes() { cat "$BWLIMIT_AUDIT_DIR"/log-*.jsonl | wc -c; }
refused() { # reason: frames
	in_dpu "$CTL" --json reasons --all | jq "[.reasons[] | select(.port == \"hpf0\" and .reason == \"$1\").frames] | add // 0"
}
refused_many() { [[ $(refused no-peer) -gt 2000 && $(refused source-address) -gt 2000 ]]; }

lab_attach || exit 1
desired 1mbit >"$LAB_TMP/desired.yaml"
lab_bg agent dpu "$AGENT" --policy "$LAB_TMP/desired.yaml" --state-dir "$LAB_TMP/state" --json --totals none
agent=$LAB_PID
lab_wait_for 30 ctl grant d1 reason ready || exit 1

# --- the flood: different addresses in each of 400 frames, both families
for ((i = 1; i <= 200; i++)); do
	echo "eth ip4 src=10.7.0.2 dst=10.99.$((i % 250)).$((i * 7 % 250)) udp sport=$((1000 + i)) dport=$((2000 + i)) fill=100"
	echo "eth ip6 src=fd00:7::2 dst=fd00:99::$i udp sport=$((1000 + i)) fill=100"
	echo "eth ip4 src=10.66.$((i % 250)).9 dst=$(lab_dest4 1) udp fill=100"
	echo "eth ip6 src=fd00:66::$i dst=$(lab_dest6 1) udp fill=100"
done >"$LAB_TMP/junk"
echo "eth ip4 src=10.7.0.2 dst=$(lab_dest4 1) udp fill=1200" >"$LAB_TMP/limit"
flood() { # name pps; what is in the background has no standard input of its own
	# shellcheck disable=SC2016 # for the inner shell
	lab_bg "$1.out" host sh -c 'exec "$0" send h0 --gw "$1" --seconds 120 --pps "$2" <"$3"' "$FRAMES" \
		"$(lab_mac dpu hpf0)" "$2" "$LAB_TMP/$1"
}
flood junk 10000
junk=$LAB_PID
flood limit 2000
limit=$LAB_PID
check "the flood is refused at the host port" lab_wait_for 30 refused_many
note "no-peer $(refused no-peer), source-address $(refused source-address), peer-rate $(refused peer-rate)"
spend() { in_host ping -c 1 -s 1000 -W 1 "$(lab_dest4 2)" >/dev/null 2>&1; has '.event == "exhausted"'; }
check "a volume that is spent is on record during it" lab_wait_for 30 spend
stray() { in_dpu ping -c 1 -W 1 192.0.2.254 >/dev/null 2>&1; has '.event == "gate" and .data.port == "p0"'; }
check "so is what the last gate stopped" lab_wait_for 30 stray
check "a grant is given" ctl grant d1 rate 2mbit reason during the flood
desired 3mbit >"$LAB_TMP/other.yaml"
check "a policy is applied" ctl policy apply --yes "$LAB_TMP/other.yaml"
check "a revocation is on record" ctl revoke d1
check "all three are" test "$(count '.by.program == "bwlimit-ctl" and (.event | . == "grant" or . == "policy" or . == "revoke") and
	(.text | test("during the flood|other.yaml|revoke d1"))')" -ge 3
again() { [[ $(refused no-peer) -gt 20000 ]]; }
check "it goes on for some ten thousand packets" lab_wait_for 30 again
before=$(count true)
check "an unknown destination is a record" has '.event == "new-destination" and .data.port == "hpf0"'
check "with the addresses of one of them" has '.event == "new-destination" and (.text | test("10\\.99\\.|fd00:99::"))'
# Each of these two kinds has one line, and one sum every half hour (SUMS_JUNK_NS), whatever is sent. At the
# host's port: what the kernels on the wire send by themselves (MLD) is refused at p0, and counted there.
junk_records='.data.port == "hpf0" and (.event == "new-destination" or .event == "spoofed-source" or .event == "drop")'
n=$(count "$junk_records") all=$(count true)
per=$(($(bytes) / all))
note "$all records, $(bytes) bytes, $n of the flood; $per bytes a record with its checkpoint"
check "of each there is one, not one a packet" test "$n" -le 2
check "so that a day of it is less than 5 MB" test $((2 * (86400 / 1800 + 1) * per)) -lt 5000000
check "refusals by a rate are no records" test "$(count '.data.port == "hpf0" and .event == "drop"')" = 0
check "but reasons" test "$(refused peer-rate)" -gt 100
kill -KILL $junk $limit
wait $junk $limit 2>/dev/null
check "control: the peer is granted again" ctl grant d1 reason after the flood
live "the flood has ended"
lab_stop "$agent"
check "what was summed is a record when the agent ends" has '.event == "new-destination" and .data.sum'
check "so is what was spoofed, with an address of it" has '.data.sum and .event == "spoofed-source" and (.text | test("10\\.66\\.|fd00:66::"))'
check "with the number of packets" has '.event == "new-destination" and .data.sum and .data.counted > 10000'
check "the journal was told of both kinds" grep -q '"event":"spoofed-source"' "$LAB_TMP/agent"
note "$(grep -E 'new-destination|spoofed' "$LAB_TMP/agent" | head -4)"
check "and has no address that the host chose" sh -c "! grep -E '10\.99\.|10\.66\.|fd00:(99|66):' '$LAB_TMP/agent' '$LAB_TMP/agent.err'"
powers_of_two() {
	jq -r 'select(.event == "new-destination").text' "$LAB_TMP/agent" | grep -oE '[0-9]+ times' |
		awk '{ for (n = $1; n > 1 && n % 2 == 0; n /= 2); bad = bad || n != 1; any = 1 } END { exit bad || !any }'
}
check "nor an exact number" powers_of_two
# Its own lines begin with ok, like those of a test case.
verifies() { "$CTL" audit verify --key "$LAB_TMP/pub" | sed 's/^/# /'; return "${PIPESTATUS[0]}"; }
check "the log verifies" verifies
note "records before the end: $before, after: $(count true)"
done_testing
