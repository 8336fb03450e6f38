#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# bwlimit-ctl against attached programs: every command for people and as JSON, policies that
# are put in force as a whole or not at all, and `explain` compared with what the data plane counts.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB=bwl-h3ctl-$$ LAB_DESTS=1
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/../harness/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/../harness/live.sh"
JSON=$LAB_BUILD/tests/harness/bwl-json

ctl() { "$CTL" "$@" 2>"$LAB_TMP/err"; }
quiet() { ctl "$@" >"$LAB_TMP/out"; }
# The exit code is the first word: 0, 1 or 2.
exits() { # code, arguments…
	local want=$1 rc
	shift
	quiet "$@"
	rc=$?
	[[ $rc -eq $want ]] || {
		note "exit code $rc of bwlimit-ctl $*" "$(head -3 "$LAB_TMP/err")"
		return 1
	}
}
says() { grep -q -- "$1" "$LAB_TMP/out" "$LAB_TMP/err"; } # pattern, of the last command
get() { # path, arguments…: a value of the command's JSON
	local path=$1
	shift
	ctl --json "$@" | "$JSON" "$path"
}
is() { # wanted, path, arguments…
	local want=$1 got
	shift
	got=$(get "$@")
	[[ $got == "$want" ]] || {
		note "$* is '$got', not '$want'"
		return 1
	}
}

lab_up || exit 1

policy() { # rate of d1, [rate of d2]
	cat <<END
version: 1
node: tray-h3
uplinks: [p0]
host_ports:
  - dev: hpf0
    sources: [10.7.0.0/24, fd00:7:0::/64]
heartbeat: 1h
zones:
  external: { rate: 500mbit }
  tight: { rate: 1kbit, burst: 1518b }
peers:
  - name: d1
    addresses: [10.101.0.0/24, fd00:101::/64]
    path: clear
    via: $LAB_VIA4
    via6: $LAB_VIA6
    zone: external
    grant: { rate: $1, volume: 1gb per 1d, mode: police }
  - name: d2
    addresses: [10.102.0.0/24]
    path: clear
    via: $LAB_VIA4
    grant: { rate: ${2:-2mbit}, mode: shape }
    classes:
      https: { rate: 1mbit }
END
}
one_of_two() { # the policy in force is file A or file B entirely
	local f
	for f in "$@"; do
		[[ $(get changed policy diff "$f") == false ]] && return
	done
	return 1
}
policy 10mbit >"$LAB_TMP/a.yaml"
policy 20mbit 4mbit >"$LAB_TMP/b.yaml"
A=$LAB_TMP/a.yaml B=$LAB_TMP/b.yaml

# Nothing is attached.
check "without pins a command fails with exit code 1" exits 1 peer list
check "and says what to do" says 'bwlimit-load attach'
check "as JSON too" is ENOENT error.code grant list
check "policy check needs no pins" exits 0 policy check "$A"

in_dpu "$LOAD" attach --host hpf0 --uplink p0 --max-peers 256 --fresh-volume --drill \
	>"$LAB_TMP/attach" 2>&1 || {
	note "$(cat "$LAB_TMP/attach")"
	nok "the programs are attached"
	done_testing
	exit 1
}

# No policy yet.
check "without a policy peer list fails" exits 1 peer list
check "and says that everything is dropped" says 'everything is dropped'
check "explain says no-policy" is no-policy reason explain $HOST4 "$(lab_dest4 1)"
check "diff against nothing adds every peer" is added peers.1.change policy diff "$A"
check "reasons work without a policy" exits 0 reasons

# Policies as files.
sed 's/rate: 2mbit/rate: 2mbots/' "$A" >"$LAB_TMP/bad.yaml"
check "policy check refuses a bad rate" exits 1 policy check "$LAB_TMP/bad.yaml"
check "and names file and line" says "bad.yaml:23:"
check "as JSON too" is 23 files.0.errors.0.line policy check "$LAB_TMP/bad.yaml"
sed 's/rate: 2mbit/rate: 2mbots/; s/^heartbeat:.*/heartbeat: soon/' "$A" >"$LAB_TMP/worse.yaml"
check "policy check tells all errors of a file" exits 1 policy check "$LAB_TMP/worse.yaml"
check "the first" says "worse.yaml:.*: heartbeat: 'soon' is not a time"
check "the last" says "worse.yaml:23:.*'2mbots'"
check "and how many there are" says 'worse.yaml: 2 errors'
check "policy check of several files fails for one of them" exits 1 policy check "$A" "$LAB_TMP/bad.yaml" "$LAB_TMP/none.yaml" "$B"
check "the others are told of" sh -c "[ \$(grep -c ': ok: ' '$LAB_TMP/out') = 2 ]"
check "and each bad one" says 'none.yaml: cannot open'
check "several good files are fine" exits 0 policy check "$A" "$B"
check "as JSON they are a list" is true files.1.ok policy check "$A" "$B"
check "policy check of no file is wrong use" exits 2 policy check
check "policy apply puts a file in force" exits 0 policy apply "$A"
check "diff against the file in force finds nothing" is false changed policy diff "$A"
check "policy show reads back as the same policy" sh -c \
	"'$CTL' policy show | '$CTL' --json policy diff - | '$JSON' changed | grep -qx false"
check "a file with an error in its last peer changes nothing" exits 1 policy apply "$LAB_TMP/bad.yaml"
check "so the old policy is still in force" one_of_two "$A"
check "diff shows a changed rate in the file's words" exits 0 policy diff "$B"
check "from and to" says 'grant rate: 10mbit -> 20mbit'
check "standard input is a file too" sh -c "'$CTL' policy apply - <'$B' >/dev/null 2>&1"
check "and it is in force" one_of_two "$B"
quiet policy apply "$A"

# `until:` is wall-clock time.
sed 's/rate: 2mbit/rate: 2mbit, until: 2099-01-01T00:00:00Z/' "$A" >"$LAB_TMP/until.yaml"
if adjtimex --print 2>/dev/null | grep_all 'return value = 5' ||
	timedatectl show -p NTPSynchronized 2>/dev/null | grep_all =no ||
	python3 -c 'import ctypes; exit(ctypes.CDLL(None).adjtimex((ctypes.c_char * 256)()) != 5)' 2>/dev/null; then
	check "until is refused while the wall clock is not synchronised" exits 1 policy apply "$LAB_TMP/until.yaml"
	check "and what to do" says 'trust-clock'
	check "the old policy is still in force" one_of_two "$A"
else
	skip "until is refused while the wall clock is not synchronised" "it is, or nobody can tell"
fi
check "with --trust-clock it is applied" exits 0 policy apply --trust-clock "$LAB_TMP/until.yaml"
quiet policy apply "$A"

# A volume with an unknown past: a grant settles it.
quiet grant d1 rate 2mbit volume 0b reason test
check "a grant that gives nothing says so, and what gives more" says 'volume +V'
quiet policy apply "$A"

# At a terminal, policy apply shows the difference and asks.
if command -v script >/dev/null; then
	at_terminal() { # answer, arguments…
		local answer=$1
		shift
		printf '%s\n' "$answer" | script -qec "$CTL $*" /dev/null >"$LAB_TMP/out" 2>&1
	}
	at_terminal n policy apply "$B"
	check "at a terminal policy apply shows the difference" says 'grant rate: 10mbit -> 20mbit'
	check "and changes nothing without a yes" one_of_two "$A"
	at_terminal y policy apply "$B"
	check "with a yes the policy holds" one_of_two "$B"
	at_terminal n policy apply "$A" --yes
	check "with --yes it does not ask" one_of_two "$A"
	lab_bg top dpu script -qec "$CTL top --interval 20ms" /dev/null
	lab_wait_for 3 grep -q 'd2 ' "$LAB_TMP/top"
	lab_stop "$LAB_PID"
	check "top draws the peers" grep -q 'd2 ' "$LAB_TMP/top"
else
	skip "at a terminal policy apply asks" "no script(1)"
fi

# Every command, both ways.
for command in 'peer list' 'peer show d1' 'grant list' 'zone list' 'policy show' 'stats' 'usage' \
	'stats d1 --interval 10ms' 'latency show' 'latency on d1' 'latency show d1 --for 10ms' 'latency off d1' 'reasons' 'reasons --all' 'reasons --port p0' 'top --once --interval 20ms' \
	"policy check $A" "policy diff $B" "explain $HOST4 10.102.0.1 tcp 443" 'heartbeat' \
	'exfil --size 1tb' "exfil --size 1tb --trays 8 --policy $B"; do
	# shellcheck disable=SC2086 # words
	check "$command: for people" exits 0 $command
	check "$command: it says something" test -s "$LAB_TMP/out"
	# shellcheck disable=SC2086 # words
	check "$command: as JSON" sh -c "'$CTL' --json $command 2>/dev/null | '$JSON'"
done
quiet exfil --size 1tb
check "exfil warns that one tray is not the site" says 'one tray is not the site'
check "and that shape may be late by the horizon" says 'mode shape'
check "twice the trays take half the time" sh -c "a=\$('$CTL' --json exfil --size 1tb --trays 1 | '$JSON' least_s)
	b=\$('$CTL' --json exfil --size 1tb --trays 2 | '$JSON' least_s)
	awk -v a=\$a -v b=\$b 'BEGIN { exit !(a > 1.99 * b && a < 2.01 * b) }'"
check "grant list says that shape polices without fq" sh -c "'$CTL' grant list | grep -q 'shape (polices: no fq on an uplink)'"
check "watch ends by itself" exits 0 watch --timeout 50ms
check "watch prints objects" sh -c "'$CTL' --json watch --timeout 50ms | '$JSON' --lines event_count >/dev/null"

# Peers one at a time.
check "peer add adds a destination" exits 0 peer add d3 10.103.0.0/24 10.104.0.1 rate 5mbit \
	volume 1gb per 1d path clear via $LAB_VIA4
check "it is there" is 5000000 grant.rate_bits_per_second peer show d3
check "adding the name again fails" exits 1 peer add d3 10.105.0.0/24 path clear via $LAB_VIA4
check "an overlapping prefix is refused" exits 1 peer add d4 10.103.0.0/24 path clear via $LAB_VIA4
check "encryption is given up explicitly only" exits 2 peer add d4 10.106.0.0/24 rate 1mbit
check "peer set changes the rate in place" exits 0 peer set d3 rate 6mbit
check "to what was said" is 6000000 grant.rate_bits_per_second peer show d3
check "and leaves the volume alone" is 1073741824 grant.volume_bytes peer show d3
check "peer set of nothing is a usage error" exits 2 peer set d3
check "peer set of an unknown peer fails" exits 1 peer set nobody rate 1mbit
check "peer del takes it away" exits 0 peer del d3
check "it is gone" exits 1 peer show d3
check "what is left is the file's policy" one_of_two "$A"
pids=()
for i in 1 2 3; do
	"$CTL" peer add "p$i" "10.11$i.0.0/24" path clear via $LAB_VIA4 >/dev/null 2>&1 &
	pids+=($!)
done
wait "${pids[@]}"
check "three peer add at the same time add three peers" [ "$(ctl peer list | grep -c '^p[123] ')" -eq 3 ]
check "zone set changes a shared limit" exits 0 zone set external rate 400mbit
check "to what was said" is 400000000 zones.0.rate_bits_per_second zone list
check "zone set of an unknown zone fails" exits 1 zone set nowhere rate 1mbit

# Grants.
quiet policy apply "$A"
check "help before a command is --help behind it" eval 'diff <("$CTL" help grant) <("$CTL" grant --help)'
check "and alone it lists the commands" eval 'diff <("$CTL" help) <("$CTL" --help)'
check "a grant without a reason is a usage error" exits 2 grant d1 rate 1mbit
check "grant with a reason works" exits 0 grant d1 rate 3mbit for 1h reason ticket 4711
check "it says what holds now" says '^  now rate 3mbit, burst .*, used .* of 1 GiB.*, mode police, expires in '
check "a rate in bytes a second is taken" exits 0 grant d1 rate 1mbps for 1h reason bytes
check "with a warning that it is eight times the bits" says '1mbps means bytes a second, as in tc: 8mbit; for bits write 1mbit'
check "peer set says what holds now, too" exits 0 peer set d1 rate 3mbit
check "without what the peer has not" says '^  now rate 3mbit, '
check "how much may arrive, too, if that is not the grant's rate" exits 0 peer set d1 accept 2mbit
check "after what may leave" says '^  now rate 3mbit, .*, accept 2mbit$'
for set in 'peer set d1 rate' 'peer set d1 accept' 'zone set external rate' "peer add d9 10.109.0.0/24 path clear via $LAB_VIA4 rate"; do
	read -ra set <<<"$set 40mbps"
	check "${set[*]} is taken" exits 0 "${set[@]}"
	check "with the same warning" says '40mbps means bytes a second, as in tc: 320mbit; for bits write 40mbit'
done
quiet peer del d9
quiet zone set external rate 400mbit
quiet peer set d1 rate 3mbit accept 3mbit
check "it ends" sh -c "'$CTL' grant list | grep -q '^d1 .*in [0-9]'"
check "a grant for ever says so" sh -c "'$CTL' grant d1 for ever reason x 2>/dev/null | grep -q 'granted for ever'"
check "and one that keeps that" sh -c "'$CTL' grant d1 reason x 2>/dev/null | grep -q 'as before, it never expires'"
check "a total volume" exits 0 grant d1 volume 1gb reason total
check "volume +1gb adds to it" exits 0 grant d1 volume +1gb reason more
check "by exactly that" is 2147483648 grant.volume_bytes peer show d1
quiet grant d1 for 200ms reason short
expired() { is expired grants.0.state grant list; }
check "a grant expires by itself" lab_wait_for 5 expired
quiet grant d1 for ever reason back
check "revoke ends a grant" exits 0 revoke d1
check "the list says revoked" is revoked grants.0.state grant list
quiet policy apply "$B"
check "it survives another policy" is revoked grants.0.state grant list
quiet peer set d1 rate 9mbit
check "peer set of a revoked one says so" says '^  now revoked, with rate 9mbit, '
check "it survives peer set" is revoked grants.0.state grant list
quiet peer del d1
quiet peer add d1 10.101.0.0/24 rate 10mbit path clear via $LAB_VIA4
check "it survives peer del and peer add" is revoked state peer show d1
quiet peer add d8 10.108.0.0/24 rate 1mbit path clear via $LAB_VIA4
quiet revoke d8
quiet peer del d8
quiet peer add d8 10.108.0.0/24 rate 1mbit path clear via $LAB_VIA4
check "also without a volume that is remembered" is revoked state peer show d8
check "an option in the reason is refused" exits 2 grant d1 reason sorry --for 2h
check "and it says where it belongs" says "'--for' after 'reason'"
check "which --json may be anywhere" is d1 peer grant d1 reason sorry --json
check "behind the reason of tamper an unknown option is refused" exits 2 tamper the door was opened --peeer d1
check "and not a part of the reason" says "unknown option '--peeer'"
quiet revoke d1
check "a reason in quotes may hold one" exits 0 grant d1 reason "was --for 2h"
quiet revoke d1
check "grant lifts it" exits 0 grant d1 reason sorry
check "the grant is live" is live state peer show d1
check "revoke of several names goes on after a wrong one" exits 1 revoke nobody d1
check "so the right one is revoked" is revoked state peer show d1
check "it has its line" says '^revoked: d1$'
check "the wrong one, too" says '^nobody: not revoked: there is no such peer'
check "as JSON likewise" eval '[[ $(ctl --json revoke nobody d1 | head -c 100000 | jq -c "select(.kind == \"revoke\") | [.peer_names, [.not_revoked[].peer], .why]") == "[[\"d1\"],[\"nobody\"],null]" ]]'
check "a wrong one alone is an error" exits 1 revoke d11
check "with the nearest name" says "d11 is not revoked: there is no such peer; did you mean 'd1'"
check "a reason is no name" exits 0 revoke d1 d2 reason theft, ticket 4711
check "and no line" sh -c "! grep -q theft '$LAB_TMP/out'"
quiet grant d1 reason again
for reason in "$(head -c 300 /dev/zero | tr '\0' x)" '' $'caf\xe9' '--at-night'; do
	check "no reason keeps anything open: $(printf %q "${reason:0:8}")" exits 0 revoke d1 reason "$reason"
	check "it is revoked" is revoked state peer show d1
	quiet grant d1 reason again
done
check "nor one that is missing" exits 0 revoke d1 reason
check "which is said" says 'the reason is empty'
check "an option after it is one" is theft why revoke d1 reason theft --timeout 1s
check "of a long one there is what has room, in whole characters" eval '[[ $(ctl --json revoke d1 reason "$(printf "é%.0s" {1..200})" | jq ".why | length") == 127 ]]'
check "stop closes, whatever comes after its reason" exits 0 stop reason theft --off
check "it is stopped" says '^stopped'
quiet stop --off
quiet grant d1 reason again
quiet grant d2 reason again
check "revoke --all ends every grant" exits 0 revoke --all reason theft
check "also the others" is revoked state peer show d2
quiet policy apply "$A"
check "and that survives another policy" is revoked state peer show d2
check "grant --all wants a reason" exits 2 grant --all
check "and takes no limits" exits 2 grant --all rate 1mbit reason why
check "grant --all gives back what the policy says" exits 0 grant --all reason false alarm
check "and says of how many" says 'granted: 2 peers'
check "to all that were revoked" is live state peer show d1
check "and" is live state peer show d2
check "at the policy's rate" is 2000000 grant.rate_bits_per_second peer show d2
check "a second time there is nobody" exits 0 grant --all reason again
check "and it says so" says 'no peer to grant'
quiet grant d1 for 1h reason for a while
quiet revoke --all
quiet grant --all reason false alarm
check "what ends keeps its end" sh -c "'$CTL' --json peer show d1 | '$JSON' expires_in_s | grep -qE '^3[56][0-9]{2}'"
quiet grant d1 for 1s reason soon over
quiet revoke --all
sleep 1
check "what has expired stays revoked" exits 0 grant --all reason false alarm
check "and is told of" says 'still revoked, because the grant has expired: 1'
check "as it is" is revoked state peer show d1
if command -v script >/dev/null; then
	quiet revoke --all
	at_terminal n grant --all reason x
	check "at a terminal it names the peers and asks" says '  d2'
	check "without a yes nothing is granted" is revoked state peer show d2
	at_terminal n grant --all --yes reason x
	check "with --yes it does not ask" is live state peer show d2
fi
for p in d1 d2; do quiet grant $p for ever reason again; done

# Standard output is the answer: it may be sent to a file. What is said beside it is not there.
apart() { # pattern of every line of standard output, pattern of standard error, arguments…
	"$CTL" "${@:3}" >"$LAB_TMP/out" 2>"$LAB_TMP/err" </dev/null || { note "$(cat "$LAB_TMP/err")"; return 1; }
	if [[ ! -s $LAB_TMP/out ]] || grep -qvE -- "$1" "$LAB_TMP/out" || ! grep -qE -- "$2" <<<"$(<"$LAB_TMP/err")"; then
		note "stdout:" "$(head -4 "$LAB_TMP/out")" "stderr:" "$(head -4 "$LAB_TMP/err")"
		return 1
	fi
}
check "grant: the limits; its record and a warning are apart" apart '^(d1: granted for 1h|  now rate 24mbit, .*)$' \
	'warning: 3mbps means' grant d1 rate 3mbps for 1h reason apart
check "peer set likewise" apart '^(d1: changed|  now rate 10mbit, .*)$' '^bwlimit-ctl: peer set d1' peer set d1 rate 10mbit
check "metrics: what Prometheus reads" apart '^(# (HELP|TYPE) bwlimit_|bwlimit_)' '^$' metrics
check "audit init: the key" env BWLIMIT_AUDIT_DIR="$LAB_TMP/apart" bash -c \
	'said=$("$0" audit init --origin bwlimit/lab 2>"$1") && [[ $said =~ ^bwlimit/lab\+[0-9a-f]{8}\+[A-Za-z0-9+/=]+$ ]] && grep -q "audit init" "$1"' "$CTL" "$LAB_TMP/err"

# A file that is not there is said to be missing.
missing() { exits 1 "$@" && says 'No such file or directory'; }
key=$LAB_TMP/none.pem
check "a key to show that is not there" missing key show "$key"
check "one to sign with" missing policy sign "$A" --key "$key" --fleet lab --number 1 --for 1d
check "the log's public key" missing audit verify --dir "$LAB_TMP/apart" --key "$LAB_TMP/none.pub"
check "a CA" missing pki issue tray-1 --ca "$LAB_TMP/none"
quiet key new "$LAB_TMP/person.pem" && quiet policy sign "$A" --key "$LAB_TMP/person.pem" --fleet lab --number 1 --for 1d --out "$LAB_TMP/a.signed"
check "a root" missing policy verify "$LAB_TMP/a.signed" --root "$LAB_TMP/none"

# --confirm.
quiet policy apply "$A"
check "apply --confirm puts the new policy in force" exits 0 policy apply "$B" --confirm 10s
check "at once" one_of_two "$B"
check "an edit meanwhile is refused" exits 1 peer add d9 10.109.0.0/24 path clear via $LAB_VIA4
check "and says what to do" says 'policy confirm'
check "and until when it waits" says 'on trial.* at the latest in [0-9]'
check "so is another policy" exits 1 policy apply "$A"
check "and says until when it waits" says 'on trial.* at the latest in [0-9]'
check "a revocation meanwhile is not" exits 0 revoke d2
over() { [[ $(get returns_in_s policy show) == -* ]]; }
check "without confirmation its time runs out" lab_wait_for 60 over
check "its grants have ended then, without a daemon" is expired state peer show d1
check "confirming too late fails" exits 1 policy confirm
check "and says what to do" says 'policy rollback'
check "an edit is refused" exits 1 peer set d1 rate 1mbit
check "rollback goes back, too late or not" exits 0 policy rollback
check "to the old policy" one_of_two "$A"
check "which undoes no revocation" is revoked state peer show d2
quiet policy apply "$B" --confirm 600s
check "rollback goes back now" exits 0 policy rollback
check "to the old policy" one_of_two "$A"
quiet policy apply "$B" --confirm 600s
check "confirm keeps the new one" exits 0 policy confirm
check "for good" one_of_two "$B"
check "rollback has nothing to do then" exits 1 policy rollback
quiet policy apply "$A"
"$CTL" policy apply "$A" >/dev/null 2>&1 & one=$!
"$CTL" policy apply "$B" >/dev/null 2>&1 & two=$!
wait $one; rc1=$?
wait $two; rc2=$?
check "two apply at the same time both succeed" [ "$rc1$rc2" = 00 ]
check "and one of the two holds entirely" one_of_two "$A" "$B"
quiet policy apply "$A"
quiet grant d2 reason again

# explain's answer, and what the data plane counts.
count_of() { # reason at hpf0
	ctl --json reasons --port hpf0 --all | "$JSON" reasons >"$LAB_TMP/r"
	sed 's/},{/\n/g' "$LAB_TMP/r" | sed -n "s/.*\"hook\":\"ingress\",\"reason\":\"$1\".*\"frames\":\([0-9]*\),.*/\1/p"
}
agree() { # reason, src, dst, proto, port
	local reason before after
	reason=$(get reason explain --port hpf0 --size 1442 "$2" "$3" "$4" "$5")
	[[ $reason == "$1" ]] || {
		note "explain says '$reason', not '$1'"
		return 1
	}
	before=$(count_of "$1")
	thief --count 1 >/dev/null <<END
eth ip4 src=$2 dst=$3 $4 dport=$5 fill=1400
END
	# shellcheck disable=SC2317 # lab_wait_for calls it
	counted() { after=$(count_of "$1"); [[ $after -gt $before ]]; }
	lab_wait_for 3 counted "$1" || {
		note "$1 was not counted: $(ctl reasons --port hpf0)"
		return 1
	}
}
quiet heartbeat
check "explain and the counters agree: pass" agree pass $HOST4 "$(lab_dest4 1)" udp 9
check "explain and the counters agree: no-peer" agree no-peer $HOST4 10.199.0.1 udp 9
check "explain and the counters agree: source-address" agree source-address 10.99.0.1 "$(lab_dest4 1)" udp 9
check "explain and the counters agree: local-protocol" agree local-protocol $HOST4 169.254.1.1 udp 9
quiet revoke d1
check "explain and the counters agree: revoked" agree revoked $HOST4 "$(lab_dest4 1)" udp 9
quiet grant d1 for 1ms reason brief
check "explain and the counters agree: expired" agree expired $HOST4 "$(lab_dest4 1)" udp 9
quiet grant d1 rate 1kbit burst 1518b for ever reason slow
thief --count 10 >/dev/null <<END
eth ip4 src=$HOST4 dst=$(lab_dest4 1) udp dport=9 fill=1400
END
lab_settle
check "explain and the counters agree: peer-rate" agree peer-rate $HOST4 "$(lab_dest4 1)" udp 9
quiet grant d1 rate 10mbit volume 100b reason little
check "explain and the counters agree: peer-volume" agree peer-volume $HOST4 "$(lab_dest4 1)" udp 9
quiet grant d1 volume 1gb reason much
quiet peer add d5 10.105.0.0/24 path clear via $LAB_VIA4
check "explain and the counters agree: no-grant" agree no-grant $HOST4 10.105.0.1 udp 9
quiet peer add d6 10.106.0.0/24 rate 1mbit ipsec 192.0.2.77
check "explain and the counters agree: no-sa" agree no-sa $HOST4 10.106.0.1 udp 9
quiet peer add d7 10.101.1.0/24 rate 1gbit zone tight path clear via $LAB_VIA4
thief --count 10 >/dev/null <<END
eth ip4 src=$HOST4 dst=10.101.1.9 udp dport=9 fill=1400
END
lab_settle
check "explain and the counters agree: zone-rate" agree zone-rate $HOST4 10.101.1.9 udp 9
quiet stop
check "explain and the counters agree: stop" agree stop $HOST4 "$(lab_dest4 1)" udp 9
check "stop --off lets the policy apply again" exits 0 stop --off
check "explain and the counters agree: pass again" agree pass $HOST4 "$(lab_dest4 1)" udp 9
check "explain of a prefix is a usage error" exits 2 explain $HOST4 10.101.0.0/24
check "explain of two families is a usage error" exits 2 explain $HOST4 fd00:101::9
check "explain of an unknown port says no-port" is no-port reason explain --port eth9 $HOST4 10.101.0.9
check "stats have counted d1's frames" sh -c "[ $(get peers.0.passed_frames stats d1) -ge 2 ]"
check "watch has seen the events" sh -c \
	"'$CTL' --json watch --count 3 --timeout 2m 2>/dev/null | '$JSON' --lines event_count | grep -qx 3"

# Heartbeat: silent in the data plane, back with one command.
sed 's/heartbeat: 1h/heartbeat: 1s/' "$A" >"$LAB_TMP/short.yaml"
quiet policy apply "$LAB_TMP/short.yaml"
quiet heartbeat
silent() { is silent state peer show d1; }
check "without a heartbeat grants fall silent by themselves" lab_wait_for 5 silent
check "heartbeat renews them" exits 0 heartbeat
renewed() { quiet heartbeat && is live state peer show d1; }
check "they are live" lab_wait_for 5 renewed
sed 's/heartbeat: 1h/heartbeat: none/' "$A" >"$LAB_TMP/none.yaml"
quiet policy apply "$LAB_TMP/none.yaml"
sleep 3 # the heartbeat before would have lapsed
check "heartbeat: none needs no heartbeat" is live state peer show d1
check "explain and the counters agree on that" agree pass $HOST4 "$(lab_dest4 1)" udp 9
live "the heartbeat had lapsed, and a policy that needs none is in force"

# An output that cannot be written.
check "a reader that leaves early is no reason to complain" sh -c \
	"'$CTL' reasons --all 2>'$LAB_TMP/err' | head -1 >/dev/null; test ! -s '$LAB_TMP/err'"
check "a full disk is" sh -c "! '$CTL' reasons --all >/dev/full 2>'$LAB_TMP/err' && grep -q 'cannot write' '$LAB_TMP/err'"

# Wrong use.
for words in 'nothing' 'peer' 'peer lst' 'peer show' 'peer set d1 rate' 'peer set d1 rate 1' \
	'peer set d1 rate -1mbit' 'peer set d1 rate 1mbit rate 2mbit' 'peer set d1 burst x' \
	'peer set d1 mode soft' 'grant' 'grant d1 for 0s reason x' 'grant d1 reason' 'revoke' \
	'revoke --all d1' 'revoke --any' 'zone set' 'zone set external' 'policy' 'policy apply' \
	'policy apply a b' 'policy apply a --confirm' 'policy apply a --confirm 3' 'policy apply a --confirm 36500d' 'stats --interval 0s' \
	'reasons x' 'metrics x' 'metrics --peers 0' 'top x' 'watch --count 0' 'explain' 'explain 10.0.0.1' 'explain x y' \
	'explain 10.0.0.1 10.0.0.2 xyz' 'explain 10.0.0.1 10.0.0.2 icmp 3' 'exfil' \
	'exfil --size x' 'exfil --size 1tb --compression 0.5' 'exfil --size 1tb --trays 0' \
	'heartbeat now' 'stop it' 'latency on' 'latency off' 'latency off --all d1' 'latency show --for 0s' 'latency show --for 2h' 'drill live' \
	'drill live hpf0 --to d1' 'drill live hpf0 --for 0s' 'drill verify' 'drill verify /dev/null' '--pin-dir'; do
	# shellcheck disable=SC2086 # words
	check "wrong use exits with 2: $words" exits 2 $words
done
quiet policy apply "$A" --confirm 36500d
check "a trial of a century is refused with how long one may last" says '36500d: must be 1s to 4h'
quiet grnat
check "an unknown command suggests the nearest" says "did you mean 'grant'"
quiet peer shwo d1
check "an unknown verb too" says "did you mean 'peer show'"
quiet peer set d1 rat 1mbit
check "and an unknown word" says "did you mean 'rate'"
check "wrong use as JSON is JSON" is EINVAL error.code peer set d1 rate
for words in '--help' 'peer --help' 'peer add --help' 'grant --help' 'exfil --help' '--version'; do
	# shellcheck disable=SC2086 # words
	check "$words exits with 0" exits 0 $words
done
done_testing
