#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Random command lines under the sanitizers: bwlimit-ctl ends with 0, 1 or 2, never by a signal or a sanitizer, and
# with --json it prints JSON or nothing. The same lines in every run; SEED=… for others. Looking for leaks takes three
# quarters of a short run: one line in four does it, another quarter of them in each run; LEAKS=0 to 3 for one of these.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB=bwl-h3argv-$$ LAB_DESTS=0
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/../harness/lab.sh"
JSON=$LAB_BUILD/tests/harness/bwl-json
export UBSAN_OPTIONS=halt_on_error=1:exitcode=99
RUNS=${RUNS:-400} LEAKS=${LEAKS:-$((SRANDOM % 4))} run=0
RANDOM=${SEED:-7}
asan=${ASAN_OPTIONS:+$ASAN_OPTIONS:}
note "LEAKS=$LEAKS"

lab_up || exit 1
cat >"$LAB_TMP/p.yaml" <<END
version: 1
node: tray-h3
uplinks: [p0]
host_ports: [{ dev: hpf0, sources: [10.7.0.0/24] }]
heartbeat: none
zones: { z: { rate: 1gbit } }
peers:
  - { name: d1, addresses: [10.101.0.0/24], path: clear, via: $LAB_VIA4, zone: z, grant: { rate: 1mbit } }
END

long=$(printf 'x%.0s' {1..3000})
commands=('peer list' 'peer show' 'peer add' 'peer set' 'peer del' 'grant' 'grant list' 'revoke' 'zone list'
	'zone set' 'policy check' 'policy diff' 'policy apply' 'policy confirm' 'policy rollback'
	'policy show' 'policy sign' 'policy verify' 'approve' 'break-glass' 'enrol' 'key show' 'stats' 'usage' 'history --state-dir /nonexistent' 'flows --state-dir /nonexistent' 'flows intervals --state-dir /nonexistent' 'tap' 'latency show' 'latency on' 'latency off' 'reasons' 'metrics' 'check' 'top --once --interval 10ms' 'watch --timeout 20ms' 'explain'
	'exfil' 'heartbeat' 'lease show' 'lease renew' 'lease sign' 'tamper' 'audit ack' 'audit prove --dir /nonexistent' 'audit check-proof' 'audit tiles --dir /nonexistent' 'evidence export --dir /nonexistent' 'evidence open --dir /nonexistent' 'evidence challenge --dir /nonexistent' 'evidence verify' 'evidence reconcile' 'stop' 'ipsec status --vici /nonexistent' 'ipsec rekey --vici /nonexistent'
	'ipsec render --vici /nonexistent' 'ipsec load --vici /nonexistent' 'ipsec track' 'drill live' 'drill verify' 'pki revoke --ca /nonexistent' 'peer' 'policy' 'xyz' '')
words=(d1 d2 z rate burst volume mode for reason zone via via6 path clear contained accept none mark
	from uplink ipsec per unlimited police mark monitor shape xfrm 1mbit 10gbit -1mbit 1kbit 64kb
	1518b 1b +1gb 1gb 1d 11s 0s 1ms 99999999999999999999gbit 0 -1 65535 65536 tcp udp icmp 255 256
	10.101.0.1 10.7.0.2 10.102.0.0/24 10.102.0.1/24 fd00::1 ::/0 0.0.0.0/0 1.2.3 192.0.2.254
	--json --for --all --port --size --interval --count --confirm --yes --off --trays --compression
	--policy --once --sort --filter --timeout --help --pin-dir -- - --x --port= '' ' ' $'\t' $'\n' $'\xff\xfe' $'\e[31m'
	'%s%n%s' "$LAB_TMP/p.yaml" /dev/null /nonexistent hpf0 p0 "$long" 'ünï')

try() { # label: one random line
	local line=() i n=$((RANDOM % 7)) rc
	read -ra line <<<"${commands[RANDOM % ${#commands[@]}]}"
	for ((i = 0; i < n; i++)); do line+=("${words[RANDOM % ${#words[@]}]}"); done
	ASAN_OPTIONS=${asan}exitcode=99:detect_leaks=$((run++ % 4 == LEAKS)) timeout -k 1 20 "$CTL" "${line[@]}" </dev/null >"$LAB_TMP/out" 2>"$LAB_TMP/err"
	rc=$?
	if [[ $rc -gt 2 && ! (${line[0]:-} == check && $rc -eq 3) ]]; then
		note "exit code $rc: ${line[*]@Q}" "$(head -5 "$LAB_TMP/err")"
		return 1
	fi
	local arg
	for arg in "${line[@]}"; do
		case $arg in
		--) break ;;
		--help | --version | -h | --pin-dir*) return 0 ;;
		esac
	done
	for arg in "${line[@]}"; do
		[[ $arg != -- ]] || return 0
		[[ $arg == --json ]] || continue
		[[ ! -s $LAB_TMP/out ]] || "$JSON" --lines <"$LAB_TMP/out" 2>/dev/null || {
			note "no JSON: ${line[*]@Q}" "$(head -3 "$LAB_TMP/out")"
			return 1
		}
	done
}
rounds() { # runs
	local i bad=0
	for ((i = 0; i < $1; i++)); do try || bad=$((bad + 1)); done
	[[ $bad -eq 0 ]]
}
check "random command lines without pins end with 0, 1 or 2" rounds $((RUNS / 4))
in_dpu "$LOAD" attach --host hpf0 --uplink p0 --max-peers 64 --fresh-volume --drill \
	>"$LAB_TMP/attach" 2>&1 || note "$(cat "$LAB_TMP/attach")"
check "random command lines without a policy end with 0, 1 or 2" rounds $((RUNS / 4))
check "a policy can be applied after them" sh -c \
	"('$CTL' policy rollback; '$CTL' stop --off && '$CTL' policy apply '$LAB_TMP/p.yaml') >/dev/null 2>&1"
check "random command lines with a policy end with 0, 1 or 2" rounds $((RUNS / 2))
check "and leave a policy that reads back" sh -c "'$CTL' policy show | '$CTL' policy check - >/dev/null"
done_testing
