#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Tests of the programs with a trace, and the second limiter, which judges each packet of it again: it must agree to the byte. With
# BWL_LONG=1 also those that send most.
#
# Runs: accounts_test grant_test shape_test accept_test
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
unset CMOCKA_MESSAGE_OUTPUT
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

agrees() { # test, least number of packets, verdicts that must be among them
	if ! BWL_TRACE=$work/trace "$BWL_BUILD/tests/prog/$1" >"$work/out" 2>&1; then
		note "$(tail -n 20 "$work/out")"
		nok "$1 passes with a trace"
		return
	fi
	if "$here/../second_limiter.py" --least "$2" --reasons "$3" "$work/trace" >"$work/out" 2>&1; then
		ok "$1: the second limiter agrees"
	else
		nok "$1: the second limiter agrees"
	fi
	note "$(cut -c1-1500 "$work/out")"
}

all=pass,pass-floor,pass-marked,pass-monitor,expired,silent,revoked,peer-rate,peer-volume,class-rate,class-volume,zone-rate,zone-volume
agrees accounts_test 8000 $all,port-rate,port-volume,node-rate,node-volume
agrees grant_test 400 $all,port-rate,port-volume,node-rate,node-volume,floor-rate,floor-volume,no-peer,no-grant
agrees shape_test 2000 pass,pass-marked,pass-floor,peer-rate,expired,floor-rate
agrees accept_test 1500 pass-accept,accept-rate,accept-volume
if long; then
	ACCOUNTS_FIRST=1000 ACCOUNTS_ROUNDS=200 agrees accounts_test 80000 $all
	agrees volumes_test 15000 pass,peer-volume,zone-volume,class-volume
	agrees tenants_test 5000 pass,port-rate,port-volume,pass-monitor
	agrees clock_test 4000 pass,peer-rate,port-rate,zone-rate,expired,silent
	agrees shares_test 60000 pass,peer-rate,peer-volume,node-rate,pass-marked
	agrees limits_test 30000 pass,peer-rate,zone-rate,class-rate
	agrees weights_test 200000 pass,zone-rate
fi

# One byte that differs, of each kind, is found.
wrong() { # what, sed script
	sed -E "$2" "$work/trace" >"$work/wrong"
	if cmp -s "$work/trace" "$work/wrong"; then
		nok "$1 of one record is changed"
		return
	fi
	"$here/../second_limiter.py" "$work/wrong" >"$work/out" 2>&1
	check "$1 that is not so is an error" test $? -eq 1
	check "which names the record" grep -q "^$work/wrong: record [0-9]*: " "$work/out"
}
BWL_TRACE=$work/trace "$BWL_BUILD/tests/prog/grant_test" >"$work/out" 2>&1
wrong 'a verdict' '0,/"pass":\[1,/s//"pass-floor":[1,/'
wrong 'a charge' '0,/("pass":\[1,[0-9]+,)[0-9]+/s//\17/'
wrong 'the account of a rate' '0,/("said":\{"state":\{"[0-9]+":\[)[0-9]+/s//\17/'
wrong 'the account of a volume' '0,/("said":\{"state":\{"[0-9]+":\[[0-9]+,)[1-9][0-9]*/s//\17/'
wrong "a peer's count" '0,/("peers":\{"[0-9]+":\[)1,/s//\12,/'
done_testing
