#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What single host ports may send to a peer (`ports`), under real traffic of two hosts to one destination: bytes of whole frames
# at the destination's own interface, by who sent them, against rate x T + burst of each port and of the peer, and to the byte
# against a volume, usage, reasons and history.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-ports-$$ LAB_DESTS=2 LAB_HOSTS=2 LAB_SOURCES=('10.7.0.0/24, "fd00:7:0::/64"' '10.7.1.0/24, "fd00:7:1::/64"')
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
lab_up && lab_attach || exit 1
FILE=$LAB_TMP/desired.yaml

HOST=(host host1) # by port
SRC4=(10.7.0.2 10.7.1.2) SRC6=(fd00:7::2 fd00:7:1::2)
source_of() { local -n all=SRC$2; echo "${all[$1]}"; } # port, family
dest_of() { "lab_dest$2" "$1"; }		       # destination, family

policy() { # name of the peer, its grant, its ports or nothing
	local limits=${3:+", ports: { $3 }"}
	{
		echo "peers:"
		lab_peer "$1" 1 "grant: { $2 }$limits"
		lab_peer other 2 "grant: { rate: 1gbit }"
	} | lab_policy_head >"$FILE"
	lab_apply <"$FILE" || exit 1
}

# Counters of a destination's own interface, by who sent; T is no less than the time of what they have.
judge_on() { # destination
	lab_bg "at-$1" "d$1" "$FRAMES" count eth0
	judge=$LAB_PID
	lab_wait_for 5 grep -q ready "$LAB_TMP/at-$1"
	judged_from=${EPOCHREALTIME/[.,]/}
}
judge_off() { # destination
	lab_settle
	T=$((${EPOCHREALTIME/[.,]/} - judged_from))
	lab_stop "$judge"
	grep -q '^total .* lost 0$' "$LAB_TMP/at-$1" || nok "the judge at $1 saw everything"
}
arrived() { # destination, port: bytes of both families
	awk -v four="${SRC4[$2]}" -v six="${SRC6[$2]}" '$3 == four || $3 == six { n += $5 } END { printf "%.0f\n", n }' "$LAB_TMP/at-$1"
}
# Mbit/s to bytes in T, and a burst.
most() { echo $((T * $1 / 8 + $2)); }

# UDP frames of so many bytes, in the background; FRAMES and BYTES that it sent are in sent-PORT at the end.
offers() { # port, family, destination, pps, size of a frame, then as for send
	local headers=42
	[[ $2 -eq 4 ]] || headers=62
	echo "eth ip$2 src=$(source_of "$1" "$2") dst=$(dest_of "$3" "$2") udp dport=9 fill=$(($5 - headers))" >"$LAB_TMP/frames-$1"
	# Not by in_ns: a signal must reach it, and not a shell around it.
	nsenter --net="/run/netns/$LAB-${HOST[$1]}" "$FRAMES" send h0 --gw "$(lab_mac dpu "hpf$1")" --pps "$4" "${@:6}" <"$LAB_TMP/frames-$1" >"$LAB_TMP/sent-$1" &
	senders+=($!)
}
senders=()
all_sent() {
	wait "${senders[@]}"
	senders=()
}
sent() { awk '{ print $4 }' "$LAB_TMP/sent-$1"; }	     # port: bytes
sent_frames() { awk '{ print $2 }' "$LAB_TMP/sent-$1"; } # port

# A queue that stands still on a busy machine loses frames which bwlimit never sees, or has passed: at most three times, until it
# is so; the checks that follow judge the last time. What may never be, in no attempt, ends it.
undisturbed() { # what is so, what may never be, what makes the traffic…
	for _ in 1 2 3; do
		"${@:3}" || return
		"$2" && return
		"$1" && return
		note "again"
	done
}

# 1. A port that has a limit is held to it, one that has none has the rest of the peer's.
PORT=5 PEER=30 PORT_BURST=156250 PEER_BURST=937500 # Mbit/s, bytes: 250 ms
S=2
# Both ports send, until each has once had LEAST per cent of what is its own for two times S seconds, its burst not counted: by
# tokens, so a busy machine only makes it longer. Then never more than the most.
uses() { # port, Mbit/s, burst of what refuses it, per cent, [port]
	lab_bg "uses-$1" dpu "$LAB_BUILD/tests/harness/bwl-tokens" "$LAB_PINS" "hpf$1" $(($2 * 1000000)) "$3" 70000 \
		using $((2 * S)) "${@:4}"
	users+=("$LAB_PID")
	lab_wait_for 60 grep -q ready "$LAB_TMP/uses-$1" || nok "the judge of hpf$1 is ready"
}
used() { # all of them have
	local pid good=true
	for pid in "${users[@]}"; do wait "$pid" || good=false; done
	users=()
	$good
}
users=()
both_flood() { # family: both ports send more than the peer may have
	offers 0 "$1" 1 5000 1400 --seconds 600
	offers 1 "$1" 1 5000 1400 --seconds 600
}
stop_all() {
	kill -TERM "${senders[@]}"
	all_sent
}
note_arrived() { note "IPv$1: $(arrived 1 0) and $(arrived 1 1) bytes arrived in $((T / 1000)) ms"; }
held() { # what makes the traffic, family
	local good=true
	judge_on 1
	uses 0 $PORT $PORT_BURST $LEAST port
	uses 1 $((PEER - PORT)) $PEER_BURST $LEAST
	"$@"
	used || good=false
	stop_all
	judge_off 1
	note_arrived "$2"
	(($(arrived 1 0) <= $(most $PORT $PORT_BURST) && $(arrived 1 0) + $(arrived 1 1) <= $(most $PEER $PEER_BURST))) && $good
}
unheld() { # what makes the traffic, family: the control
	local good=true
	judge_on 1
	uses 0 $PORT $PEER_BURST 150
	"$@"
	used || good=false
	stop_all
	judge_off 1
	note_arrived "$2"
	$good
}
LEAST=60
policy held "rate: ${PEER}mbit" "hpf0: { rate: ${PORT}mbit }"
for family in 4 6; do
	check "IPv$family: a port is held to its limit, another has the rest of the peer's, both no more than the peer" held both_flood $family
done
LEAST=50
for n in 1 2; do lab_iperf_server d1 520$n; done
tcp() { # family
	local n
	for n in 0 1; do
		lab_bg "tcp-$n" "${HOST[n]}" iperf3 -c "$(dest_of 1 "$1")" -p 520$((n + 1)) -t 600
		senders+=("$LAB_PID")
	done
}
for family in 4 6; do
	check "IPv$family: so it is with TCP and its GSO packets" held tcp $family
done
check "explain names the limit of the one" sh -c "$CTL explain ${SRC4[0]} $(lab_dest4 1) udp | grep -q 'hpf0 to this peer'"
refute "and not of the other" sh -c "$CTL explain ${SRC4[1]} $(lab_dest4 1) udp | grep -q 'to this peer'"
policy held "rate: ${PEER}mbit"
for family in 4 6; do check "IPv$family: without that limit it has more: the control" unheld both_flood $family; done

# 2. Ports that have limits of their own do not spend each other's.
policy own "rate: ${PEER}mbit" "hpf0: { rate: ${PORT}mbit }, hpf1: { rate: ${PORT}mbit, burst: 1000000b }"
beside() { # family: a greedy one, ten times its limit, and one with half of its own
	sleep 1 # its bucket is not empty
	judge_on 1
	offers 0 "$1" 1 5000 1400 --count $((5000 * S))
	offers 1 "$1" 1 225 1400 --count $((225 * S))
	all_sent
	judge_off 1
	note "IPv$1: $(arrived 1 0) and $(arrived 1 1) bytes of $(sent 0) and $(sent 1) arrived in $((T / 1000)) ms"
}
whole() { [[ $(arrived 1 1) -eq $(sent 1) ]]; } # the modest one's
over() { [[ $(arrived 1 0) -gt $(most $PORT "$burst") ]]; }
burst=$PORT_BURST
for family in 4 6; do
	check "IPv$family: a greedy port and a modest one send" undisturbed whole over beside $family
	check "IPv$family: the modest one loses nothing" [ "$(arrived 1 1)" -eq "$(sent 1)" ]
	check "IPv$family: the greedy one has its own limit and no more" [ "$(arrived 1 0)" -le "$(most $PORT $PORT_BURST)" ]
	check "IPv$family: it lost some" [ "$(arrived 1 0)" -lt "$(sent 0)" ]
done
elsewhere() { # what it may not send to this peer says nothing of another
	for _ in 1 2 3; do
		beyond "$1" && return
	done
	return 1
}
beyond() { # family
	offers 0 "$1" 1 5000 1400 --count 5000
	all_sent
	judge_on 2
	offers 0 "$1" 2 500 1400 --count 500
	all_sent
	judge_off 2
	[[ $(arrived 2 0) -eq $(sent 0) ]]
}
for family in 4 6; do check "IPv$family: a port over its limit to a peer reaches another without loss" elsewhere $family; done
# Of bursts this large each CPU holds a share (docs/limits.md); that of the grant is never all spent.
SHARED_BURST=2097152
policy own "rate: 1gbit, burst: 64mb" "hpf0: { rate: ${PORT}mbit, burst: 2mb }"
burst=$SHARED_BURST
for family in 4 6; do
	check "IPv$family: with shares of CPUs: both send" undisturbed whole over beside $family
	check "IPv$family: with shares of CPUs: a port has its limit and no more" [ "$(arrived 1 0)" -le "$(most $PORT $SHARED_BURST)" ]
	check "IPv$family: with shares of CPUs: it lost some" [ "$(arrived 1 0)" -lt "$(sent 0)" ]
	check "IPv$family: with shares of CPUs: the other loses nothing" [ "$(arrived 1 1)" -eq "$(sent 1)" ]
done
policy own "rate: ${PORT}mbit"
for family in 4 6; do
	check "IPv$family: both send within one grant" beside $family
	check "IPv$family: then the modest one loses some: the control" [ "$(arrived 1 1)" -lt "$(sent 1)" ]
done

# 3. A volume ends the port that has it, to the byte.
VOLUME=500000
usage() { "$CTL" --json usage | jq -e ".volumes[] | select(.limit_key == \"tenant $1\") | $2" >/dev/null; }
refusals() { "$CTL" --json reasons --port "$1" | jq "[.reasons[] | select(.hook == \"ingress\" and .reason == \"$2\") | .frames] | add // 0"; }
explained() { [[ $("$CTL" explain --json --size 1000 "$(source_of "$1" "$2")" "$(dest_of 1 "$2")" udp | jq -r .reason) == "$3" ]]; }
volumes() { # family, of a volume each
	judge_on 1
	offers 0 "$1" 1 500 1000 --count 900
	offers 1 "$1" 1 500 1000 --count 900
	all_sent
	judge_off 1
	note "IPv$1: $(arrived 1 0) and $(arrived 1 1) bytes of $(sent 0) and $(sent 1) arrived"
}
# A peer for each family: an account follows the addresses, too.
{
	echo "peers:"
	for family in 4 6; do
		lab_peer vol$family 1 "grant: { rate: 100mbit }, ports: { hpf0: { volume: ${VOLUME}b }, hpf1: { volume: 5000000b } }" |
			sed "s#addresses: .*, path#addresses: [\"$(dest_of 1 $family)\"], path#"
	done
} | lab_policy_head >"$FILE"
anew() { # no account has spent anything
	in_dpu "$LOAD" detach >/dev/null 2>&1
	lab_attach && lab_apply <"$FILE" || exit 1
	sleep 1 # buckets fill
}
spent() { # family
	anew
	before=$(refusals hpf0 port-volume) beside=$(refusals hpf1 port-volume)
	volumes "$1"
}
all_came() { [[ $(arrived 1 0) -eq $VOLUME && $(arrived 1 1) -eq $(sent 1) ]] && all_said; }
all_said() { [[ $(($(refusals hpf0 port-volume) - before)) -eq $(($(sent_frames 0) - VOLUME / 1000)) ]]; }
too_much() { [[ $(arrived 1 0) -gt $VOLUME ]]; }
any_more() { [[ $(arrived 1 0) -gt 0 ]]; }
for family in 4 6; do
	undisturbed all_came too_much spent $family
	check "IPv$family: a port's volume passes to the byte" [ "$(arrived 1 0)" -eq $VOLUME ]
	check "IPv$family: its end is not the other port's" [ "$(arrived 1 1)" -eq "$(sent 1)" ]
	check "IPv$family: usage has of both what arrived" eval 'usage vol$family/hpf0 ".used_bytes == $VOLUME and .volume_bytes == $VOLUME" &&
		usage vol$family/hpf1 ".used_bytes == $(arrived 1 1) and .volume_bytes == 5000000"'
	check "IPv$family: reasons has every frame that did not" all_said
	check "IPv$family: and none of the other's" [ "$(refusals hpf1 port-volume)" -eq "$beside" ]
	check "IPv$family: explain says it of the one" explained 0 $family port-volume
	check "IPv$family: and of the other that it passes" explained 1 $family pass
	lab_apply <"$FILE" || exit 1
	undisturbed whole any_more volumes $family # three times at most: less than the other's volume
	check "IPv$family: the same policy again gives nothing back" [ "$(arrived 1 0)" -eq 0 ]
	check "IPv$family: nor takes it from the other" [ "$(arrived 1 1)" -eq "$(sent 1)" ]
done

# 4. With the agent, its ledger and its history, in new maps.
both_send() { # with an agent and a state of its own
	[[ -z $agent ]] || lab_stop "$agent"
	in_dpu "$LOAD" detach >/dev/null 2>&1
	STATE=$(mktemp -d -p "$LAB_TMP")
	lab_attach || exit 1
	policy sink "rate: 100mbit" "hpf0: { rate: 8mbit, volume: 1gb }, hpf1: { rate: 8mbit }"
	lab_bg agent dpu "$AGENT" --policy "$FILE" --state-dir "$STATE" --json
	agent=$LAB_PID tried=0
	released=$(lab_wait_for 20 usage sink/hpf0 '.released_bytes > 0' && echo released)
	judge_on 1
	for family in 4 6; do
		offers 0 $family 1 2000 1000 --count 4000
		offers 1 $family 1 2000 1000 --count 4000
		all_sent
		tried=$((tried + $(sent_frames 0)))
	done
	judge_off 1
	note "$(arrived 1 0) and $(arrived 1 1) bytes of both families arrived"
}
within_rates() { for n in 0 1; do (($(arrived 1 $n) <= $(most 8 250000))) || return 1; done; }
too_fast() { ! within_rates; }
both_came() { within_rates && (($(arrived 1 0) > 500000 && $(arrived 1 1) > 500000)); }
hist() { "$CTL" history sink --state-dir "$STATE" --json "$@" | jq '.total.sent_bytes // -1'; }
remembered() { [[ $(hist --class "port/hpf$1") -eq $(arrived 1 "$1") ]]; }
told() { [[ $(refusals hpf0 port-rate) -eq $((tried - $(arrived 1 0) / 1000)) ]]; }
used_it() { usage sink/hpf0 ".used_bytes == $(arrived 1 0)"; }
# The history has all of it when the maps have; of the other port only the history tells.
nothing_lost() { told && used_it && lab_wait_for 30 remembered 1; }
agent=
undisturbed nothing_lost too_fast both_send
check "the ledger releases a port's volume by its own name" [ -n "$released" ]
check "both ports have what they may, over both families" both_came
for n in 0 1; do check "the history of port/hpf$n is what arrived from it, to the byte" lab_wait_for 30 remembered $n; done
check "both together are the peer's" [ "$(hist)" -eq $(($(arrived 1 0) + $(arrived 1 1))) ]
check "usage says the same of a volume" used_it
check "reasons has every frame that did not arrive" told
live "the floods of both ports have ended"
lab_stop "$agent"
done_testing
