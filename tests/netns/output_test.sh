#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Output that cannot be written: on a full disk, to a descriptor that is closed, to a reader that has left, past the limit of file
# sizes. Every program and every command: what is lost is no success, and what a command changes is done and on record, or it is
# not done, and the command says so.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB=bwl-out-$$ LAB_DESTS=1
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/../harness/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/../harness/live.sh"
lab_up || exit 1
export BWLIMIT_AUDIT_DIR=$LAB_TMP/audit BWLIMIT_JOURNAL_DIR=$LAB_TMP/journal
export BWLIMIT_LOAD=$LOAD
FILE=$LAB_TMP/policy.yaml STATE=$LAB_TMP/state

# A pipe that nobody reads.
mkfifo "$LAB_TMP/gone"
exec 8<>"$LAB_TMP/gone"
exec 9>"$LAB_TMP/gone" 8>&-
SINKS='full closed gone limited'
# What the command says on standard error goes through a pipe: it arrives in each case.
lose() { # sink, command…: sets err and rc
	case $1 in
	full) err=$("${@:2}" 2>&1 >/dev/full 9>&-) ;;
	closed) err=$("${@:2}" 2>&1 >&- 9>&-) ;;
	gone) err=$("${@:2}" 2>&1 >&9 9>&-) ;;
	limited) err=$( (ulimit -f 0 && "${@:2}" 2>&1 >"$LAB_TMP/limited" 9>&-)) ;;
	esac
	rc=$?
}
# A reader that has left (`| head`) needs no words.
told() { # sink
	[[ $rc -gt 0 && $rc -lt 126 && ($1 == gone || $err == *'cannot write the output'*) ]]
}
# What the command prints is lost in each way, and it says so. Of several commands with one sentence the bad ones are noted.
BAD=0 LOST=0
loses() { # command…
	local sink
	"$@" >"$LAB_TMP/out" 2>"$LAB_TMP/err" </dev/null
	[[ -s $LAB_TMP/out ]] || { note "control: nothing is printed by: $*" "$(cat "$LAB_TMP/err")"; BAD=1; }
	for sink in $SINKS; do
		lose "$sink" "$@" </dev/null
		told "$sink" || { note "$sink, exit code $rc: $*" "$err"; BAD=1; }
		LOST=$((LOST + 1))
	done
}
# All commands say their help by one function: each loses it in one way, in turn; with BWL_LONG=1 in all.
TURN=0
loses_help() { # command…
	local all=($SINKS)
	long || SINKS=${all[TURN++ % ${#all[@]}]}
	loses "$@" --help
	SINKS=${all[*]}
}
lost_all() { # sentence
	check "$1 ($LOST outputs)" [ $BAD -eq 0 ]
	BAD=0 LOST=0
}

# --- help and version
programs=("$CTL" "$LOAD" "$AGENT" "$IPSECD" "$LAB_BUILD"/{web/bwlimit-web,sync/bwlimit-sync,export/flows/bwlimit-export,fleet/controller/bwlimit-controller})
installed() { # by CMake, without the folders
	grep -rhoP --include=CMakeLists.txt 'install\(TARGETS \Kbwlimit[a-z-]*' "$here"/../../{agent,ctl,export,fleet,ipsec,loader,sync,web} | sort
}
[[ ! -d $here/../../ctl ]] ||
	check "these are all programs that are installed" [ "$(installed)" = "$(printf '%s\n' "${programs[@]##*/}" | sort)" ]
for program in "${programs[@]}"; do
	loses "$program" --help
	loses "$program" --version
done
lost_all "what each program says of itself is not lost in silence"
for verb in attach detach upgrade status verify up down guard probe await; do loses_help "$LOAD" "$verb"; done
lost_all "nor what bwlimit-load says of each command"
commands() { # of bwlimit-ctl [--fleet]
	"$CTL" "$@" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\( [a-z-]*\)\{0,1\}\)  .*/\1/p'
}
check "control: commands are found" eval '[[ $(commands | wc -l) -gt 70 && $(commands --fleet | wc -l) -gt 12 ]]'
while read -ra words; do loses_help "$CTL" "${words[@]}"; done < <(commands)
while read -ra words; do loses_help "$CTL" --fleet "${words[@]}"; done < <(commands --fleet)
lost_all "nor what bwlimit-ctl says of each"

# --- what reads
{ in_dpu "$CTL" audit init --origin bwlimit/lab >"$LAB_TMP/pub"; in_dpu "$CTL" journal init; } >/dev/null 2>"$LAB_TMP/err"
check "there are a log and a journal" [ -s "$LAB_TMP/pub" -a -d "$BWLIMIT_JOURNAL_DIR" ]
lab_attach || exit 1
policy() { # rate of d1
	lab_policy_head </dev/null
	printf 'zones:\n  ext: { rate: 500mbit }\npeers:\n'
	lab_peer d1 1 "zone: ext, grant: { rate: $1, volume: 1gb per 1d }"
}
policy 10mbit | lab_apply || exit 1
cp "$FILE" "$LAB_TMP/other.yaml"
A4=$(lab_dest4 1)
while read -ra words; do
	loses in_dpu "$CTL" "${words[@]}"
	loses in_dpu "$CTL" --json "${words[@]}"
done <<-END
	peer list
	peer show d1
	grant list
	zone list
	policy check $LAB_TMP/other.yaml
	policy diff $LAB_TMP/other.yaml
	policy show
	stats
	reasons --all
	usage
	explain $HOST4 $A4 udp 9
	exfil --size 1tb
	audit show
	audit verify --key $LAB_TMP/pub
	journal show
	check
	status
	lease show
END
loses in_dpu "$CTL" metrics
loses in_dpu "$CTL" audit checkpoint
loses in_dpu "$CTL" top --once
lost_all "what is read is not lost in silence, as text or JSON"
for form in '' --json; do
	loses in_dpu "$LOAD" $form status
	loses in_dpu "$LOAD" $form verify
	loses in_dpu "$LOAD" $form probe --host hpf0 --uplink p0
done
lost_all "nor what bwlimit-load finds"
loses "$CTL" --json peer show nobody
loses "$CTL" --json nothing
loses "$LOAD" --json nothing
lost_all "nor an error, as JSON on standard output"

# --- what changes something
get() { "$CTL" --json "${@:2}" | jq -r "$1"; } # filter, command…
records() { # event: of the log
	"$CTL" audit show --json | grep -c "\"event\":\"$1\""
}
is() { # wanted, filter, command…
	local got
	got=$(get "${@:2}")
	[[ $got == "$1" ]] || { note "'$got', not '$1': ${*:2}"; return 1; }
}
closed_after_reboot() { is true '[.. | strings] | index("d1") != null' journal show; }
# With the output lost the change is done, and the exit code and a sentence tell of both.
done_all_the_same() { [[ $rc -eq 1 && $err == *'cannot write the output'*'the command itself was done'* ]] || { note "exit code $rc: $err"; false; }; }
for sink in full closed gone; do
	n=$(records revoke)
	lose "$sink" "$CTL" --json revoke d1
	check "$sink: a revocation is done, and said to be" done_all_the_same
	check "$sink: its peer is revoked" is revoked .state peer show d1
	check "$sink: it is on record" [ "$(records revoke)" -eq $((n + 1)) ]
	check "$sink: and in the journal" closed_after_reboot
	n=$(records grant)
	lose "$sink" "$CTL" --json grant d1 rate 20mbit reason lost output
	check "$sink: a grant is done, and said to be" done_all_the_same
	check "$sink: its peer is live" is live .state peer show d1
	check "$sink: it is on record" [ "$(records grant)" -eq $((n + 1)) ]
	lose "$sink" "$CTL" --json stop
	check "$sink: everything is stopped, and said to be" done_all_the_same
	check "$sink: it is" is stop .reason explain $HOST4 "$A4" udp 9
	lose "$sink" "$CTL" --json stop --off
	check "$sink: it is opened again, and said to be" done_all_the_same
	check "$sink: it is" is pass .reason explain $HOST4 "$A4" udp 9
	policy 30mbit >"$LAB_TMP/next.yaml"
	lose "$sink" "$CTL" --json policy apply "$LAB_TMP/next.yaml" --yes
	check "$sink: a policy is put in force, and said to be" done_all_the_same
	check "$sink: it is" is false .changed policy diff "$LAB_TMP/next.yaml"
	lose "$sink" "$CTL" --json zone set ext rate 400mbit
	check "$sink: a zone is changed, and said to be" done_all_the_same
	lose "$sink" "$CTL" --json peer set d1 rate 40mbit
	check "$sink: a peer is changed, and said to be" done_all_the_same
	check "$sink: both are" is true .changed policy diff "$LAB_TMP/next.yaml"
	lose "$sink" in_dpu "$LOAD" --json upgrade
	check "$sink: programs are replaced, and said to be" done_all_the_same
done
# On standard error stands what a command reports: it is output, too.
"$CTL" revoke d1 >/dev/null 2>/dev/full
rc=$?
check "without standard error a revocation is no success" [ $rc -eq 1 ]
check "but done" is revoked .state peer show d1
# Files of no bytes: neither log nor journal can be written. What closes is done all the same, what opens is not.
lose limited "$CTL" grant d1 rate 20mbit reason no room
check "what cannot be recorded is not opened" [ $rc -eq 1 ]
check "it says so" [ "${err/audit log/}" != "$err" ]
check "its peer stays closed" is revoked .state peer show d1
"$CTL" grant d1 rate 20mbit reason room again &>/dev/null
check "control: with room it is" is live .state peer show d1
lose limited "$CTL" revoke d1
check "a revocation that cannot be kept is no success" [ $rc -eq 1 ]
check "it says that nothing is kept" eval '[[ $err == *"audit log"* && $err == *journal* ]]'
check "but it is done" is revoked .state peer show d1
check "with all this the log is whole" eval '"$CTL" audit verify --key "$LAB_TMP/pub" >/dev/null' # which begins with "ok"
"$CTL" grant d1 rate 20mbit reason 'done' &>/dev/null
live "audit log and journal can be written again"

# --- what runs on: nobody reads what it prints, and no file can be written
rate_is() { [[ $(get .grant.rate_bits_per_second peer show d1) == "$1" ]]; }
started() { [[ $(records start) -gt 0 ]]; }
policy 50mbit | lab_apply || nok "the desired policy is in force"
mkdir "$STATE"
nsenter --net="/run/netns/$LAB-dpu" "$AGENT" --policy "$FILE" --state-dir "$STATE" --json >&9 2>&1 9>&- &
PID=$!
LAB_PIDS+=("$PID")
check "without a reader bwlimitd starts" lab_wait_for 30 started
# What has changed before its first look is not the news of this file: what is in force would stay.
check "and knows what is in force" lab_wait_for 30 test -s "$STATE/desired"
policy 60mbit >"$FILE"
check "and puts what is desired in force" lab_wait_for 30 rate_is 60000000
check "and goes on" kill -0 "$PID"
kill -TERM "$PID"
wait "$PID"
check "at its end the loss is no success" [ $? -eq 1 ]
mkdir "$STATE.limited"
(ulimit -f 0; exec nsenter --net="/run/netns/$LAB-dpu" "$AGENT" --policy "$FILE" --state-dir "$STATE.limited" --json 2>&1 9>&-) \
	> >(cat >"$LAB_TMP/says") &
PID=$!
LAB_PIDS+=("$PID")
check "with files of no bytes bwlimitd says what it cannot write" lab_wait_for 30 grep -q 'File too large' "$LAB_TMP/says"
check "and goes on" kill -0 "$PID"
kill -TERM "$PID"
wait "$PID"
done_testing
