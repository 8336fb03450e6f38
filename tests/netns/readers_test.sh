#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Real users: a member of bwlimit-read sees what operators see and changes nothing, a member of bwlimit
# can write, and a user in neither group gets nothing.
set -uo pipefail
# The test's own groups: a private file mounted over /etc/group, only in its own mount namespace.
if [[ ! -v READERS_UNSHARED ]]; then
	READERS_UNSHARED=1 exec unshare --mount --propagation private "$0" "$@"
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-read-$$ LAB_DESTS=1
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
lab_up || exit 1
TRY=$LAB_BUILD/tests/harness/bwl-pintry
WRITERS=64101 READERS=64102 NOBODY=64103
grep -vE '^bwlimit(-read)?:' /etc/group >"$LAB_TMP/group"
printf 'bwlimit:x:%d:\nbwlimit-read:x:%d:\n' $WRITERS $READERS >>"$LAB_TMP/group"
mount --bind "$LAB_TMP/group" /etc/group
chmod 711 "$LAB_TMP"
STATE=$LAB_TMP/state
export BWLIMIT_JOURNAL_DIR=$LAB_TMP/journal BWLIMIT_AUDIT_DIR=$LAB_TMP/audit

as() { # group, command…: nobody's user with that group alone, and without any capability
	in_dpu setpriv --reuid $NOBODY --regid $NOBODY --groups "$1" --inh-caps=-all \
		--bounding-set=-all --no-new-privs "${@:2}"
}
reader() { as $READERS "$@"; }
writer() { as $WRITERS "$@"; }
stranger() { as $NOBODY "$@"; }
run() { "$@" >"$LAB_TMP/out" 2>"$LAB_TMP/err" && return 0 || note "$(head -c 300 "$LAB_TMP/err")"; return 1; }
quiet() { "$@" >"$LAB_TMP/out" 2>"$LAB_TMP/err"; }
says() { grep -q -- "$1" "$LAB_TMP/out" "$LAB_TMP/err"; }
fails() { ! "$@" >"$LAB_TMP/out" 2>"$LAB_TMP/err"; }

# In this order: an attach without groups must work, too.
"$CTL" journal init >/dev/null
"$CTL" audit init >/dev/null
check "attach makes the pins" lab_attach
{
	echo "peers:"
	lab_peer d1 1 "grant: { rate: 8mbit, volume: 1gb per 1d }"
} | lab_policy_head >"$LAB_TMP/desired.yaml"
export BWLIMIT_CTL=$CTL BWLIMIT_LOAD=$LOAD # which bwlimitd runs for others
lab_bg agent dpu "$AGENT" --policy "$LAB_TMP/desired.yaml" --state-dir "$STATE" --json
in_force() { "$CTL" policy show >/dev/null 2>&1; }
check "a policy comes into force" lab_wait_for 30 in_force
"$CTL" heartbeat >/dev/null
kept() { "$CTL" history --state-dir "$STATE" --json >/dev/null 2>&1; }
lab_wait_for 30 kept

verbs=("peer list" "peer show d1" "grant list" "stats" "stats d1" "top --once" "usage" "reasons"
	history "explain 10.7.0.2 10.101.0.9 tcp 443" "zone list" "policy show" "exfil --size 1tb"
	status)
for verb in "${verbs[@]}"; do
	# shellcheck disable=SC2086 # words
	check "a reader runs $verb" run reader "$CTL" $verb
	# shellcheck disable=SC2086
	check "and gets JSON" run reader "$CTL" --json $verb
	# shellcheck disable=SC2086
	check "who is in no group does not" fails stranger "$CTL" $verb
done
check "a reader runs status" run reader "$LOAD" status
check "one status: bwlimit-ctl prints the same" eval 'diff <(reader "$LOAD" status | sed "s/attached .* ago//") <(reader "$CTL" status | sed "s/attached .* ago//")'
check "a reader runs status" run reader "$LOAD" status
check "which names the ports" says "hpf0 .*host"
check "and does not say of a program that it is missing" eval '! says "not attached"'
same() { # arguments: what a reader reads is what root reads
	diff <("$CTL" --json "$@" | jq -S 'del(.. | .debt_bytes?, .expires_in_s?)') \
		<(reader "$CTL" --json "$@" | jq -S 'del(.. | .debt_bytes?, .expires_in_s?)') >"$LAB_TMP/out"
}
check "a reader reads what root reads: peers" same peer show d1
check "grants" same grant list
check "counters" same reasons
check "the policy" same policy show

# --- each pin, each way
every_pin() { # of readers and of writers, those of the generation too
	find "$LAB_PINS" -type f
}
breaches() { # group: ways that succeeded and would change something
	local pin
	while read -r pin; do
		as "$1" "$TRY" "$pin" "${@:2}" | grep -E '^(open|update|mmap|mprotect|pin|freeze|chmod|chown|rename|unlink) done' |
			sed "s|^|$pin |"
		as "$1" "$TRY" "$pin" "${@:2}" | grep -E '^delete (done|ENOENT)' | sed "s|^|$pin |"
	done < <(every_pin)
	true # grep that finds nothing says 1
}
none() { # on standard input
	cat >"$LAB_TMP/out"
	[[ ! -s $LAB_TMP/out ]] || {
		note "$(head -5 "$LAB_TMP/out")"
		return 1
	}
}
count=$(every_pin | wc -l)
check "there are pins of two generations of names at least ($count)" [ "$count" -gt 50 ]
reads() { [[ $(find "$LAB_PINS/read" -type f | while read -r pin; do reader "$TRY" "$pin" | grep -c '^info done'; done | sort | uniq -c | tr -s ' ') == " $(find "$LAB_PINS/read" -type f | wc -l) 1" ]]; }
check "a reader opens every pin for readers" reads
check "and can change none of all pins, in no way" eval 'breaches $READERS destroy | none'
check "who is in no group opens none" eval 'breaches $NOBODY destroy | none'
writes() { [[ $(writer "$TRY" "$LAB_PINS/maps/bwl_gate_v1" | grep -cE '^(open|update|mmap) done') -eq 3 ]]; }
check "the same ways are open to an operator" writes
check "who cannot unpin, rename or give away a pin" eval \
	'! writer "$TRY" "$LAB_PINS/maps/bwl_winown_v1" destroy | grep -E "^(chmod|chown|rename|unlink) done"'
lists() { as "$1" ls "$LAB_PINS" >/dev/null 2>&1 || as "$1" ls "$LAB_PINS/maps" >/dev/null 2>&1; }
refute "a reader lists no folder of pins" lists $READERS
locks() { as "$1" flock -sn "$LAB_PINS" true 2>/dev/null; }
refute "and cannot hold the lock that writers wait for" locks $READERS
check "which root can" flock -sn "$LAB_PINS" true
opens() { "$@" bash -c 'exec 3<"$0"' "$LAB_PINS/maps" 2>/dev/null; }
refute "nor open the folder whose lock says who reads the events" opens reader
refute "who is in no group does not either" opens stranger
check "root opens it" opens in_dpu

# --- each command that changes something
changes=("grant d1 rate 9mbit" "peer set d1 rate 9mbit" "peer del d1" "revoke d1" "revoke --all" "stop"
	"heartbeat" "policy apply $LAB_TMP/desired.yaml" "policy rollback" "policy confirm" "tamper test"
	"lease renew" "audit ack 1 seen")
before=$("$CTL" --json policy show | jq -S .)
# Some of these would fail for root as well: what is said tells why.
refused() { # words, command of a reader…
	fails reader "${@:2}" && says "$1" && return
	note "$(cat "$LAB_TMP/out" "$LAB_TMP/err")"
	return 1
}
for verb in "${changes[@]}"; do
	[[ $verb =~ ^(peer|policy|lease|audit)\ [a-z]+|^[a-z]+ ]]
	# shellcheck disable=SC2086
	check "a reader may not: $verb" refused "^bwlimit-ctl: permission denied: ${BASH_REMATCH[0]}\$" "$CTL" $verb
done
for verb in "journal init" "audit init --origin x/y"; do # root's: not sent to bwlimitd at all
	# shellcheck disable=SC2086
	check "a reader may not: $verb" refused "^bwlimit-ctl: cannot open .*$LAB_TMP/${verb%% *}: Permission denied\$" "$CTL" $verb
done
for verb in "attach --host hpf0 --uplink p0" detach upgrade up down; do
	# shellcheck disable=SC2086
	check "nor: bwlimit-load $verb" refused ': \(Permission denied\|Operation not permitted\)$' "$LOAD" $verb
done
check "the policy is what it was" [ "$before" = "$("$CTL" --json policy show | jq -S .)" ]
state() { [[ $("$CTL" --json peer show d1 | jq -r .state) == "$1" ]]; }
check "the peer is not revoked" eval '! state revoked && ! state silent'

# --- a kernel below 5.19, where only root may call bpf() at all: bwlimitd does it for them
old() { as "$1" env BWL_REFUSE_USERS=1 LD_PRELOAD="$LAB_BUILD/tests/harness/bwl-refuse.so" "${@:2}"; }
check "on a kernel below 5.19 bwlimitd reads for a reader" run old $READERS "$CTL" peer list
check "what it reads" says d1
check "as JSON too" run old $READERS "$CTL" --json stats
check "which is a document" jq -e '.kind == "stats"' "$LAB_TMP/out"
check "nobody else's" fails old $NOBODY "$CTL" peer list
check "an operator revokes there" run old $WRITERS "$CTL" revoke d1
check "the peer is revoked" state revoked

# --- what a member of bwlimit does, by bwlimitd, which records it
granted() { [[ $("$CTL" --json peer show d1 | jq .grant.rate_bits_per_second) == "$1" ]]; }
check "an operator grants" run writer "$CTL" grant d1 rate 9mbit reason "ticket 4711"
check "that comes into force" granted 9000000
check "an operator edits a peer" run writer "$CTL" peer set d1 rate 7mbit
check "that does, too" granted 7000000
sed 's/8mbit/6mbit/' "$LAB_TMP/desired.yaml" >"$LAB_TMP/mine.yaml"
chmod 600 "$LAB_TMP/mine.yaml"
chown $NOBODY "$LAB_TMP/mine.yaml"
check "an operator applies a file of his own" run writer "$CTL" policy apply "$LAB_TMP/mine.yaml"
check "that comes into force, too" granted 6000000
echo "hidden-word: 1" >"$LAB_TMP/secret"
chmod 600 "$LAB_TMP/secret"
check "a file that he may not read is not read for him" fails writer "$CTL" policy apply "$LAB_TMP/secret"
refute "nothing of it is shown" says hidden-word
check "an option that names a path is root's" fails writer "$CTL" history --state-dir "$LAB_TMP"
check "an operator stops everything" run writer "$CTL" stop
stopped() { [[ $("$LOAD" status --json | jq .stopped) == true ]]; }
check "everything is stopped" stopped
check "and lets it go on" run writer "$CTL" stop --off
full() { ! "$@" >/dev/full 2>"$LAB_TMP/err" && : >"$LAB_TMP/out" && says 'cannot write the output'; }
check "output that bwlimitd made is not lost in silence" full writer "$CTL" --json grant d1 rate 9mbit reason full
check "it is said that the grant was given all the same" says 'the command itself was done'
check "nor is it for a reader" full reader "$CTL" peer list
check "the exit code is the command's" eval 'quiet writer "$CTL" grant nobody rate 1mbit reason x; [[ $? -eq 1 ]]'
check "so is what it says" says "no peer 'nobody'"
refute "a command that goes on is not run" quiet old $READERS "$CTL" top
words() { # group, JSON of a request to the socket of commands
	as "$1" /usr/bin/python3 - "/run/bwlimit/$2" "$3" <<-'END'
	import socket, sys
	s = socket.socket(socket.AF_UNIX)
	s.settimeout(300) # what readers run comes after everything else
	s.connect(sys.argv[1])
	s.sendall(sys.argv[2].encode() + b"\n")
	print(s.makefile().read()) # the answer comes in parts
	END
}
commands=$LAB.commands
exits() { run words "$1" "$commands" "$2" && says "$3"; } # group, request, answer
check "an operator tells of tampering" run writer "$CTL" tamper a test
sign=$("$CTL" audit show --json | jq -s '[.[] | select(.event == "tamper").n] | max')
check "by hand a reader acknowledges no sign" exits $READERS '{"argv":["audit","ack","'"$sign"'","seen"]}' '"exit":1'
check "that is for operators" says "permission denied: audit ack"
check "an operator does" run writer "$CTL" audit ack "$sign" ticket 12
check "and the audit log says who" eval \
	'[[ $("$CTL" audit show --json | jq -s "[.[] | select(.event == \"ack\").text]") =~ "record $sign: ticket 12, ordered by "[^\"]*$NOBODY ]]'
check "by hand a reader may read" exits $READERS '{"argv":["peer","list"]}' '"exit":0'
check "and revoke nothing" exits $READERS '{"argv":["revoke","d1"]}' '"exit":1'
check "no file of root's is read by name" exits $WRITERS '{"argv":["policy","check","'"$LAB_TMP"'/secret"]}' '"exit":1'
check "no other maps are taken, not even the same by name" exits $WRITERS '{"argv":["--pin-dir","'"$LAB_PINS"'","peer","list"]}' '"exit":1'
check "nor a file by a trick of its place" exits $WRITERS '{"argv":["policy","check","--"]}' '"exit":1'
check "what is root's stays so" exits $WRITERS '{"argv":["pki","init"]}' '"exit":1'
check "nor a second file, which root would read" sh -c \
	"BWLIMIT_ORDERED_BY=x BWLIMIT_ORDERED_AS=read '$CTL' policy check - /etc/shadow </dev/null 2>&1 | grep -q 'only one file: -'"
check "nor is a word a number" exits $WRITERS '{"argv":[1]}' 'the words of a command must be text'
refute "who is in no group is not heard" words $NOBODY "$commands" '{"argv":["peer","list"]}'
check "the peer is still open" state live
idle() { ! pgrep -P "$LAB_PID" >/dev/null; } # what a reader left has ended
began() { [[ $(($(pgrep -c -P "$LAB_PID") + $(grep -c 'too many commands' "$LAB_TMP/busy"))) -eq ${#busy[@]} ]]; }
lab_wait_for 60 idle
leave() { # they hang up, so bwlimitd ends what they asked for
	local of
	for of in "${busy[@]}"; do pkill -P "$of"; done
	wait "${busy[@]}"
} 2>/dev/null
busy=()
: >"$LAB_TMP/busy"
for _ in 1 2 3; do
	old $READERS "$CTL" top --once --interval 10m >/dev/null 2>>"$LAB_TMP/busy" & busy+=($!)
	lab_wait_for 10 began
done
check "what readers have under way takes no operator's place" run writer "$CTL" heartbeat
check "control: it is under way" began
leave
check "one of them has two commands at once" [ "$(grep -c 'too many commands' "$LAB_TMP/busy")" -eq 1 ]
begins() { # group user request…: the beginning of what each is told; they go on until it ends
	in_dpu setpriv --reuid "$2" --regid "$2" --groups "$1" --inh-caps=-all --bounding-set=-all --no-new-privs \
		/usr/bin/python3 - "/run/bwlimit/$commands" "${@:3}" <<-'END'
	import socket, sys
	held = []
	for request in sys.argv[2:]:
	    s = socket.socket(socket.AF_UNIX)
	    s.settimeout(900)
	    s.connect(sys.argv[1])
	    s.sendall(request.encode() + b"\n")
	    f = s.makefile()
	    head, line = f.readline().strip(), f.readline().strip()
	    print(head, f.read().replace("\n", " ") if line == "{" else line, flush=True)
	    held.append((s, f))
	END
}
# shellcheck disable=SC2034 # used by eval
stream='{"argv":["--json","top","--interval","1s"],"stream":true}'
# shellcheck disable=SC2034
fast='{"argv":["--json","top","--interval","10ms"],"stream":true}'
# shellcheck disable=SC2034
once='{"argv":["--json","top","--once"]}'
check "control: a reader has a stream, and two commands beside it" eval \
	'lab_wait_for 60 idle && begins $READERS $NOBODY "$stream" "$once" "$once" >"$LAB_TMP/out" && [[ $(grep -c "\"kind\":\"top\"" "$LAB_TMP/out") -eq 3 ]]'
check "a second stream he has not" eval \
	'lab_wait_for 60 idle && begins $READERS $NOBODY "$stream" "$stream" >"$LAB_TMP/out"; [[ $(grep -c "too many commands" "$LAB_TMP/out") -eq 1 ]]'
check "nor one that is faster than a line a second" eval \
	'lab_wait_for 60 idle && begins $READERS $NOBODY "$fast" >"$LAB_TMP/out"; says "1s to 1h" && ! says "\"kind\":\"top\""'
busy=()
: >"$LAB_TMP/busy"
slow='{"argv":["--json","top","--once","--interval","10m"]}'
lab_wait_for 60 idle
for user in 64111 64111 64112 64112 64113; do # one after the other
	begins $READERS $user "$slow" >>"$LAB_TMP/busy" & busy+=($!)
	lab_wait_for 10 began
done
are_nice() { [[ $(ps -o ni= --ppid "$LAB_PID" | sort -u | tr -d ' ') == 10 ]]; }
check "what readers run comes after everything else" lab_wait_for 10 are_nice
leave
check "who has two leaves places for others: one of five is told to wait" [ "$(grep -c 'too many commands' "$LAB_TMP/busy")" -eq 1 ]
freeze_process "$LAB_PID"
agent=$LAB_PID
lab_bg revoking dpu setpriv --reuid $NOBODY --regid $NOBODY --groups $WRITERS --inh-caps=-all \
	--bounding-set=-all --no-new-privs "$CTL" revoke d1
check "while bwlimitd hangs an operator's revocation closes" lab_wait_for 60 state revoked
lab_stop "$LAB_PID" # it waits for the journal
LAB_PID=$agent
kill -CONT "$LAB_PID"
check "root grants again after that" run "$CTL" grant d1 rate 8mbit reason test

# --- with bwlimitd dead: closing through the maps only
lab_stop "$LAB_PID"
quiet writer "$CTL" revoke d1
check "with bwlimitd dead an operator revokes by the maps" state revoked
check "and is told that bwlimitd writes the journal" says "bwlimitd writes the journal"
alone() { # ping for as long as it reads
	local pings r
	in_host ping -i 0.3 -W 1 10.99.9.9 >/dev/null 2>&1 &
	pings=$!
	run "$1" "$CTL" watch --event new-destination --count 1 --timeout 120s && says 10.99.9.9
	r=$?
	pkill -P $pings
	return $r
}
check "with bwlimitd dead an operator watches the events by himself" alone writer
refute "a reader does not" alone reader
check "what opens is not for him then" fails writer "$CTL" grant d1 rate 8mbit reason x
check "on a kernel below 5.19 he cannot even revoke" fails old $WRITERS "$CTL" revoke d1
check "and is told who does" says "root alone sees and revokes"
lab_bg agent dpu "$AGENT" --policy "$LAB_TMP/desired.yaml" --state-dir "$STATE" --json
agent=$LAB_PID
journaled() { "$CTL" journal show | grep_all 'd1'; }
check "bwlimitd writes the journal when it is back" lab_wait_for 20 journaled
check "root grants again" run "$CTL" grant d1 rate 8mbit reason test
live "bwlimitd, which hung and ended, is started again, and root has granted again"

# --- sockets
sockets() { find /run/bwlimit -type s -name "$LAB.sock"; }
is_answered() { # command…: by a socket that takes orders
	# shellcheck disable=SC2046 # words
	"$@" /usr/bin/python3 - $(sockets) <<-'END'
	import socket, sys
	for path in sys.argv[1:]:
	    s = socket.socket(socket.AF_UNIX)
	    s.settimeout(60)
	    try:
	        s.connect(path)
	        s.sendall(b'{"verb":"no such order"}\n')
	        if s.recv(1):
	            sys.exit(0)
	    except OSError:
	        continue
	sys.exit(1)
	END
}
check "bwlimitd takes orders of root" is_answered in_dpu
refute "a reader gives none" is_answered reader
refute "nor does who is in no group" is_answered stranger

refute "a reader does not even see which sockets there are" reader ls /run/bwlimit
lab_bg seen dpu setpriv --reuid $NOBODY --regid $NOBODY --groups $READERS --inh-caps=-all --bounding-set=-all \
	--no-new-privs "$CTL" --json watch
watching=$LAB_PID
check "a reader's watch is answered by bwlimitd" lab_wait_for 10 grep -q 'come from bwlimitd' "$LAB_TMP/seen.err"
sees() { # until it is there: something that has no grant
	in_host ping -c 1 -W 1 10.99.9.9 >/dev/null 2>&1
	grep -q '"event":"new-destination"' "$LAB_TMP/seen"
}
check "and he sees an event" lab_wait_for 10 sees
lab_stop "$watching"
check "who is in no group sees none" fails stranger timeout 20 "$CTL" watch --count 1
check "for he may not" says "as a member of group bwlimit"

# --- a generation's pins come and go with it
inner() { find "$LAB_PINS/$1" -type f | wc -l; }
check "a generation has a pin for each of its maps, twice" [ "$(inner gen) $(inner read/gen)" = "8 8" ]
"$CTL" policy apply "$LAB_TMP/desired.yaml" >/dev/null
check "the next policy's have taken their place" [ "$(inner gen) $(inner read/gen)" = "8 8" ]
check "and a reader reads it" run reader "$CTL" peer list
rm "$(find "$LAB_PINS/read/gen" -type f | head -n 1)"
check "a reader whose pin is gone is told so" fails reader "$CTL" peer list
check "and what mends it without a loss" says "bwlimit-load upgrade, as root"
check "root reads on" run "$CTL" peer list
check "upgrade makes it again" run in_dpu "$LOAD" upgrade
check "and keeps both" [ "$(inner gen) $(inner read/gen)" = "8 8" ]
check "for readers" run reader "$CTL" peer list
check "detach takes all of them away" eval 'lab_stop "$agent"; run in_dpu "$LOAD" detach && [[ ! -e $LAB_PINS ]]'

# --- root in neither group and without CAP_CHOWN, as in a unit that lacks SupplementaryGroups
may_not_give() { in_dpu setpriv --clear-groups --inh-caps=-chown --bounding-set=-chown "$@"; }
refute "who may give no pin away attaches nothing, which would lock others out" quiet may_not_give "$LOAD" attach --drill --fresh-volume --host hpf0 --uplink p0
check "the error says of what" says "cannot give .*$LAB_PINS/.* to group $WRITERS: Operation not permitted"
check "and what to do" says "SupplementaryGroups=bwlimit bwlimit-read"
check "with them as its groups it attaches" run in_dpu setpriv --groups $WRITERS,$READERS --inh-caps=-chown --bounding-set=-chown \
	"$LOAD" attach --drill --fresh-volume --host hpf0 --uplink p0
check "a policy comes into force" run "$CTL" policy apply "$LAB_TMP/desired.yaml"
check "which a reader reads" run reader "$CTL" peer list
refute "who may give no pin away does not upgrade" quiet may_not_give "$LOAD" upgrade
check "a reader reads on: no pin was replaced by one that he cannot open" run reader "$CTL" peer list
refute "nor does he put a policy in force" quiet may_not_give "$CTL" policy apply "$LAB_TMP/desired.yaml"
check "which is told what to do" says "SupplementaryGroups=bwlimit bwlimit-read"
check "a reader reads on" run reader "$CTL" peer list
check "root upgrades" run in_dpu "$LOAD" upgrade
done_testing
