#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# bwlimit-ctl check: every exit code, run by a member of bwlimit-read, on a real DPU with a real bwlimitd.
set -uo pipefail
# The test's own groups: a private file mounted over /etc/group, only in its own mount namespace.
if [[ ! -v CHECK_UNSHARED ]]; then
	CHECK_UNSHARED=1 exec unshare --mount --propagation private "$0" "$@"
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-chk-$$ LAB_DESTS=2 LAB_PEERS=64
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
lab_up || exit 1
READERS=64102 NOBODY=64103
grep -vE '^bwlimit(-read)?:' /etc/group >"$LAB_TMP/group"
printf 'bwlimit:x:64101:\nbwlimit-read:x:%d:\n' $READERS >>"$LAB_TMP/group"
mount --bind "$LAB_TMP/group" /etc/group
chmod 711 "$LAB_TMP"
# What bwlimitd runs for a reader: on a machine whose clock is synchronised, as below.
cat >"$LAB_TMP/ctl" <<-END
	#!/bin/sh
	. "$LAB_TMP/clock.sh"
	LD_PRELOAD="$LAB_BUILD/tests/harness/bwl-synchronised.so" exec "$CTL" "\$@"
END
chmod 755 "$LAB_TMP/ctl"
: >"$LAB_TMP/clock.sh"
export BWLIMIT_STATE_DIR=$LAB_TMP/state BWLIMIT_CTL=$LAB_TMP/ctl
VERIFIED=/run/bwlimit/${LAB_PINS##*/}.verify

as() { # group, command…: nobody's user with that group alone; on a machine whose clock is synchronised
	in_dpu setpriv --reuid $NOBODY --regid $NOBODY --groups "$1" --inh-caps=-all --bounding-set=-all --no-new-privs \
		env LD_PRELOAD="$LAB_BUILD/tests/harness/bwl-synchronised.so${PRELOAD:+:$PRELOAD}" "${@:2}"
}
# Exit code, word, and what the line contains.
says() { # code text [option…]: a reader is told so
	local code=$1 text=$2 words=(OK WARNING CRITICAL UNKNOWN) got
	shift 2
	export -p | sed -n 's,^declare -x \(BWL_[UC][A-Z_]*=\),export \1,p' >"$LAB_TMP/clock.sh"
	as "${GROUP:-$READERS}" "$CTL" check "$@" >"$LAB_TMP/out" 2>"$LAB_TMP/err"
	got=$?
	[[ $got -eq $code && $(wc -l <"$LAB_TMP/out") -eq 1 ]] &&
		grep -qE "^${words[code]}: ([^|]*; )?$text" "$LAB_TMP/out" && return
	note "exit code $got: $(cat "$LAB_TMP/out" "$LAB_TMP/err")"
	return 1
}
clean() { # as if verify had been clean: it never is of maps that a test made
	in_dpu "$LOAD" verify >/dev/null
	jq -c '.failed_count = 0 | .ok = true | .checks = []' "$VERIFIED" >"$LAB_TMP/clean" && cat "$LAB_TMP/clean" >"$VERIFIED"
}

check "without maps it is unknown" says 3 'nothing is attached|[a-z]'
lab_attach || exit 1
check "without a policy it is critical" says 2 'no policy is in force'
{
	echo "tamper: { command: clamp }"
	echo "lease: 1h"
	echo "peers:"
	lab_peer d1 1 "grant: { rate: 8mbit, burst: 64kb, volume: 30mb }"
	lab_peer d2 2 "contained: true, grant: { rate: 1mbit }"
} | lab_policy_head >"$LAB_TMP/policy.yaml"
agent_up() { lab_bg agent dpu "$AGENT" --policy "$LAB_TMP/policy.yaml" --state-dir "$BWLIMIT_STATE_DIR" --tpm none --json; agent=$LAB_PID; }
agent_up
check "bwlimitd puts a policy in force and renews its lease" lab_wait_for 30 "$CTL" lease renew
check "a result of verify that fails is critical" eval 'in_dpu "$LOAD" verify >/dev/null; says 2 "1 check of verify failed: "'
mode() { [[ $(stat -c '%u %g %a' "$VERIFIED") == "0 $READERS 640" ]]; }
check "which is root's, and its readers'" mode
clean
kept() { as $READERS "$CTL" history >/dev/null 2>&1; }
lab_wait_for 30 kept
check "where all is well it is OK" lab_wait_for 30 says 0 'lab, 2 peers, 16 checks'
says 0 'lab'
numbers='(U|[0-9]+(\.[0-9]+)?(s|%|c)?)(;[0-9.:]*){0,4}'
check "the line ends with numbers as plugins have them" grep -qE "^[^|]+ \|( [a-z_]+=$numbers)+$" "$LAB_TMP/out"
check "JSON says the same" eval 'as $READERS "$CTL" check --json >"$LAB_TMP/doc" &&
	jq -e ".kind == \"check\" and .result == \"ok\" and .exit_code == 0 and (.checks | length) == 16" "$LAB_TMP/doc" >/dev/null'
GROUP=$NOBODY check "who is in no group learns nothing" says 3 ''
PRELOAD=$LAB_BUILD/tests/harness/bwl-refuse.so
check "on a kernel below 5.19 bwlimitd looks for a reader" eval 'BWL_REFUSE_USERS=1 says 0 lab || BWL_REFUSE_USERS=1 says 1 "the wall clock"'
PRELOAD=

# --- each fault, and its repair
check "a clock that is not synchronised is a warning" eval 'BWL_UNSYNCHRONISED=1 says 1 "the wall clock is not synchronised"'
check "and so is one that may not be asked" eval 'BWL_CLOCK_REFUSED=1 says 1 "the wall clock is not synchronised"'
status_of() { in_dpu env LD_PRELOAD="$LAB_BUILD/tests/harness/bwl-synchronised.so" "$LOAD" status "$@"; }
check "status says that it is synchronised" eval 'status_of --json | jq -e .clock_synchronised >"$LAB_TMP/out" && ! status_of | grep_all "wall clock"'
check "that it is not" eval 'BWL_UNSYNCHRONISED=1 status_of --json | jq -e ".clock_synchronised == false" >"$LAB_TMP/out" && BWL_UNSYNCHRONISED=1 status_of | grep_all "wall clock is not synchronised"'
check "and that nobody could ask" eval 'BWL_CLOCK_REFUSED=1 status_of --json | jq -e ".clock_synchronised == false" >"$LAB_TMP/out"'
check "a result of verify that is old is a warning" eval 'touch -d "-1 hour" "$VERIFIED"; says 1 "verify was clean, but"'
check "as old as was asked for it is none" says 0 '' --verify-age 2h
chown $NOBODY "$VERIFIED"
check "one that is not root's is none" says 3 '.* is not a regular file owned by root'
rm -f "$VERIFIED"
check "none at all is unknown" says 3 'no result of verify'
clean
"$CTL" grant d2 rate 1mbit for 2h reason test >/dev/null 2>&1
check "a grant that ends within a day is a warning" says 1 '1 grant ends within 1d: d2'
check "within the time that was asked for" says 0 '' --ends-within 1h
"$CTL" grant d2 rate 1mbit for ever reason test >/dev/null 2>&1
"$CTL" revoke d2 reason test >/dev/null 2>&1
check "a peer that is closed is a warning" says 1 '1 peer is closed: d2'
"$CTL" grant d2 rate 1mbit for ever reason test >/dev/null 2>&1
check "open again it is none" says 0 ''
"$CTL" stop >/dev/null
check "a stop is critical" says 2 'nothing passes: stopped'
"$CTL" stop --off >/dev/null
"$CTL" lease renew --for 10m >/dev/null
check "a lease with less than a quarter is a warning" says 1 'the lease ends in'
"$CTL" lease renew >/dev/null
"$CTL" tamper test >/dev/null 2>&1
check "a sign of tampering is critical" says 2 'every grant is at its floor after a sign of tampering'
"$CTL" heartbeat --lift >/dev/null
check "and when it was lifted it is none" says 0 ''
"$CTL" policy apply "$LAB_TMP/policy.yaml" --confirm 1h >/dev/null 2>&1
check "a policy on trial is a warning" says 1 'a policy is on trial'
"$CTL" policy rollback >/dev/null

check "nothing has been at its limit" eval '! grep -q theft "$LAB_TMP/out"'
echo "eth ip4 src=$HOST4 dst=$(lab_dest4 1) udp dport=9 fill=958" >"$LAB_TMP/frame"
theft() { says 2 '.*a theft\? d1 has taken [0-9]+ % of its own rate' --limit-for 2s --limit 50 --volume-warning 200 --volume-critical 300; }
# For longer than anything is waited for.
nsenter --net="/run/netns/$LAB-host" "$FRAMES" send h0 --gw "$(lab_mac dpu hpf0)" --seconds $((LAB_PATIENCE + 600)) --pps 2000 <"$LAB_TMP/frame" >/dev/null &
stealing=$!
LAB_PIDS+=("$stealing")
check "a way out at its limit for long is critical" lab_wait_for 50 theft
kill "$stealing" 2>/dev/null
wait "$stealing" 2>/dev/null
"$CTL" usage --json >"$LAB_TMP/usage"
check "a volume that is nearly used is critical" lab_wait_for 5 says 2 '.*of the volume of peer d1 is used' --volume-warning 1 --volume-critical 2
check "below that a warning" says 1 '.*of the volume of peer d1 is used' --volume-warning 1 --volume-critical 300
check "and none below both" says 0 '' --volume-warning 200 --volume-critical 300

# --- not enforced: the same peer, its volume spent to the same part, in mode monitor
verify_says() { in_dpu "$LOAD" verify --json >"$LAB_TMP/verify"; jq -e ".checks[] | select(.id == \"enforced\") | $1" "$LAB_TMP/verify" >/dev/null; }
enforced() { # 0 or 1, as a metric, in JSON, and of d2, which is
	"$CTL" metrics >"$LAB_TMP/metrics" && grep -qxF "bwlimit_peer_enforced{peer=\"d1\"} $1" "$LAB_TMP/metrics" &&
		grep -qxF 'bwlimit_peer_enforced{peer="d2"} 1' "$LAB_TMP/metrics" &&
		[[ $("$CTL" peer show d1 --json | jq '.enforced | if . then 1 else 0 end') == "$1" ]] &&
		[[ $("$CTL" grant list --json | jq '.grants[] | select(.peer == "d1").enforced | if . then 1 else 0 end') == "$1" ]] ||
		{ note "$(grep peer_enforced "$LAB_TMP/metrics")" "$("$CTL" peer show d1 --json)" "$("$CTL" grant list --json)"; return 1; }
}
warned() { "$CTL" policy check "$1" --json | jq -e '.warnings | any(test("peer d1: mode monitor: its limits are counted, not enforced"))' >/dev/null; }
sed 's/volume: 30mb/&, mode: monitor/' "$LAB_TMP/policy.yaml" >"$LAB_TMP/monitor.yaml"
check "control: in mode police verify has nothing to warn of" verify_says '.result == "ok"'
check "nor policy check" eval '! warned "$LAB_TMP/policy.yaml"'
check "and it is enforced" enforced 1
clean
said() { "$CTL" "$@" >"$LAB_TMP/said" 2>&1; }
in_usage() { "$CTL" usage --json | jq -e ".volumes[] | select(.limit_key == \"peer d1\").enforced == $1" >/dev/null; }
check "usage says it of a volume" eval 'in_usage true && ! "$CTL" usage | grep_all "not enforced"'
# 10kbit: what passes in a second is more than all that they let pass in ten minutes.
check "who sets mode monitor reads that its limits are not enforced" eval 'said grant d1 mode monitor rate 10kbit burst 64kb reason test && grep -q "mode monitor (not enforced)" "$LAB_TMP/said"'
granted() { "$CTL" grant "$1" reason test --json 2>/dev/null | jq -e ".enforced == $2" >/dev/null; }
check "in JSON, too" eval 'granted d1 false && granted d2 true'
check "and so does who reads usage" eval 'in_usage false && "$CTL" usage | grep_all "peer d1 .*% (not enforced)"'
check "policy check warns of mode monitor, by the peer's name" warned "$LAB_TMP/monitor.yaml"
check "a peer that is only counted is a warning that names it, and its volume nothing critical" \
	says 1 'limits of 1 peer are counted, not enforced: d1' --volume-warning 1 --volume-critical 2
check "verify warns, and names it" verify_says '.result == "warn" and (.text | test("not enforced: d1$"))'
clean
check "metrics and documents say which" enforced 0
top() { "$CTL" top --once "$@" 2>/dev/null; }
check "top shows that its limit is only counted" eval 'top | grep_all "^d1 *counted " && top | grep_all "^d2 *live "'
check "in JSON, too" eval 'top --json | jq -e "[.peers[] | {peer, enforced}] | contains([{peer: \"d1\", enforced: false}, {peer: \"d2\", enforced: true}])" >/dev/null'
check "people read it where the mode is" eval '"$CTL" grant list | grep_all "d1 .*monitor (not enforced)" && "$CTL" peer show d1 | grep_all "mode .*monitor (not enforced)"'
of_reason() { "$CTL" reasons --port hpf0 --json | jq "[.reasons[] | select(.reason == \"$1\" and .hook == \"ingress\").$2] | add // 0"; }
unenforced() { "$CTL" stats d1 --json | jq ".peers[0].unenforced_$1"; }
check "control: in mode police nothing passed over the limits" eval '[[ $(unenforced frames) -eq 0 && $(unenforced bytes) -eq 0 ]]'
within=$(of_reason pass charged_bytes) since=${EPOCHREALTIME/./}
counted() { [[ $(unenforced frames) -gt 5000 ]] && says 1 '.*d1 has taken [0-9]+ % of its own rate for 2s, which is not enforced' --limit-for 2s --limit 50; }
nsenter --net="/run/netns/$LAB-host" "$FRAMES" send h0 --gw "$(lab_mac dpu hpf0)" --seconds $((LAB_PATIENCE + 600)) --pps 4000 <"$LAB_TMP/frame" >/dev/null &
over=$!
LAB_PIDS+=("$over")
check "sending above a rate that is not enforced is a warning" lab_wait_for 50 counted
kill "$over" 2>/dev/null
wait "$over" 2>/dev/null
"$CTL" revoke d1 reason test >/dev/null 2>&1
within=$(($(of_reason pass charged_bytes) - within)) most=$(((${EPOCHREALTIME/./} - since) / 800 + 65536)) # 10kbit are a byte per 800 µs
check "what counts as within the limits is what police lets pass" eval '[[ $within -ge 0 && $within -le $most ]] || ! note "$within, most $most"'
check "and all else is counted as not enforced: frames" eval '[[ $(unenforced frames) -gt 0 && $(unenforced frames) -eq $(of_reason pass-monitor frames) ]]'
check "and bytes, which are more than passed within" eval '[[ $(unenforced bytes) -eq $(of_reason pass-monitor charged_bytes) && $(unenforced bytes) -gt 65536 ]]'
check "and so say the metrics" eval '"$CTL" metrics >"$LAB_TMP/metrics" && grep -qxF "bwlimit_peer_unenforced_bytes_total{peer=\"d1\"} $(unenforced bytes)" "$LAB_TMP/metrics" &&
	grep -qxF "bwlimit_peer_unenforced_bytes_total{peer=\"d2\"} 0" "$LAB_TMP/metrics"'
check "people see it where there is any" eval '"$CTL" stats | grep_all "NOT ENFORCED" && ! "$CTL" stats d2 | grep_all "NOT ENFORCED"'
check "to a revoked peer nothing passes: its limits are no subject" eval 'says 1 "1 peer is closed: d1" && ! grep -q "counted, not enforced" "$LAB_TMP/out"'
past() { says 1 '.*d1 has taken [0-9]+ % of its own rate for 10m, which was not enforced then' --limit-for 10m && ! grep -q theft "$LAB_TMP/out"; }
check "what it took before it was revoked is no theft, but it is said" past
said grant d1 mode police volume 100gb reason test # however long it took, little of it is spent
check "nor what it took before the dry run ended" past
said grant d1 rate 8mbit reason test
check "in mode police again nothing is left of it" eval 'says 0 "" --limit 1000 && enforced 1'
check "in usage, too" in_usage true
live "the flood has ended, and the peer has its grant again"

# --- the step out of it, of a peer that has no limit: nothing but a rate, or a volume, enforces one
said grant d2 mode monitor rate unlimited reason test
todo() { jq -r '.checks[] | select(.id == "enforced").todo' "$1"; }
check "verify names a rate where there is none" eval 'verify_says ".result == \"warn\"" && [[ $(todo "$LAB_TMP/verify") == "bwlimit-ctl grant NAME rate R mode police reason TEXT" ]]'
clean
check "so does check" eval 'as $READERS "$CTL" check --json >"$LAB_TMP/doc"; [[ $(todo "$LAB_TMP/doc") == "bwlimit-ctl grant NAME rate R mode police reason TEXT" ]]'
for leave in 'grant d2 mode police reason test' 'grant d2 mode shape for 1h reason test' 'peer set d2 mode police'; do
	# shellcheck disable=SC2086 # words
	check "without one it is refused, with the same step: $leave" eval '! said $leave && grep -q "grant is empty" "$LAB_TMP/said" && grep -q "grant d2 rate R mode" "$LAB_TMP/said"'
	check "and is still not enforced" verify_says '.result == "warn" and (.text | test("not enforced: d2$"))'
done
said grant d2 for 1ms reason test
ended() { [[ $("$CTL" peer show d2 --json | jq -r .state) == expired ]]; }
check "control: its grant ends" lab_wait_for 5 ended
check "of a grant that has ended there is nothing to enforce" eval 'verify_says ".result == \"ok\"" && [[ $("$CTL" peer show d2 --json | jq .enforced) == true ]] && enforced 1'
check "with a rate it is enforced" eval 'said grant d2 rate 1mbit mode police for ever reason test && verify_says ".result == \"ok\""'
clean

# --- the agent
lab_stop "$agent"
check "without bwlimitd it is critical" says 2 'bwlimitd is not running' --volume-warning 200 --volume-critical 300
agent_up
answers() { says 0 '' --volume-warning 200 --volume-critical 300; }
check "with it again it is not" lab_wait_for 30 answers
live "bwlimitd is started again"
freeze_process "$agent"
check "one that hangs is critical" says 2 'bwlimitd does not answer' --volume-warning 200 --volume-critical 300
kill -CONT "$agent"
lab_wait_for 30 answers
live "bwlimitd that hung goes on"

# --- wrong use
for wrong in '--limit x' '--limit-for 0s' '--volume-warning' 'x' '--ends-within 5'; do
	# shellcheck disable=SC2086 # words
	check "wrong use is unknown: check $wrong" says 3 '' $wrong
done
done_testing
