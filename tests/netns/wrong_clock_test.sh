#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A tray whose wall clock is an hour slow or an hour fast (tests/harness/clock.c), with documents in a real etcd: a slow one
# prolongs nothing, a fast one opens nothing, and each recovers with a correct clock and a signed time.
set -uo pipefail
LAB=bwl-clock-$$ LAB_DESTS=2
# shellcheck source=../harness/documents_store.sh
. "$(dirname "${BASH_SOURCE[0]}")/../harness/documents_store.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
# bwlimitd, killed and restarted with another clock; the boot clock, which measures durations, stays.
clock_begin AGENT
by_clock() { # seconds ahead
	docs_die
	later $(($1 - LATER))
	docs_agent
}
its_clock() { # seconds from ours
	local at
	at=$(date -d "$(grep '"event":"start"' "$LAB_TMP/agent" | tail -n 1 | jq -r '.time // .at // .ts')" +%s) || return
	note "its clock: $((at - $(date +%s))) s from ours"
	[[ $((at - $(date +%s) - $1)) -gt -600 && $((at - $(date +%s) - $1)) -lt 600 ]] # an hour is 3600
}

opens() { lab_both 1 || { time_published; return 1; }; } # a signed time holds for 12 s: another one, until it is open

# Of a policy whose signed times hold for longer than a busy machine needs to send.
passes_again() { # rate, event
	local wanted
	LIFE=30m sign policy base alice,bob --offline-for 10m < <(docs_text "$1" "$1")
	wanted=".taken[\"policy/base\"].version == $NUMBER"
	publish policy base
	time_published
	lab_wait_for 30 status_now "$wanted and .taken[\"timestamp/time\"].version == $NUMBER and .fresh" ||
		note "the policy is not taken"
	lab_wait_for 30 lab_both 1
	live "$2"
}

documents_store_up
LIFE=30m sign policy base alice,bob --offline-for 12s < <(docs_text 4mbit 4mbit)
publish policy base
check "control: by a right clock it is open" lab_wait_for 30 opens

note "An hour slow"
by_clock -3600
check "its clock is slow" its_clock -3600
time_published
check "with a signed time it is open" lab_wait_for 20 opens
check "no limit is another" rate d1 4000000
check "without one it is at its floor when offline_for is over, though its clock says that there is an hour left" \
	lab_wait_for 40 lab_silent 1
check "and says so" status '(.fresh | not) and (.alarms | index("floor"))'

back() { # with a clock that is right
	by_clock 0
	time_published
	local begin=$SECONDS
	lab_wait_for 60 opens || return
	note "after $((SECONDS - begin)) s"
}
check "by a right clock it is open by a signed time" back
passes_again 4mbit "the clock, which was slow, is right, and a signed time is taken"

note "An hour fast"
by_clock 3600
check "its clock is fast" its_clock 3600
time_published
check "what people signed for half an hour has ended by its clock: it is closed" lab_wait_for 20 lab_silent 1
LIFE=30m sign policy base alice,bob --offline-for 12s < <(docs_text 8mbit 8mbit)
publish policy base
check "nothing opens it" lab_silent 1
check "and it says why" status '.fresh | not'

note "Right again"
check "it is open by a signed time" back
passes_again 8mbit "the clock, which was fast, is right, and a signed time is taken"
done_testing
