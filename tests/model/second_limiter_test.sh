#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Sequences of the model (sequence.c) with a trace, and the second limiter, which judges each packet of it again: it must agree to the
# byte. MODEL_ROUNDS=N: so many, MODEL_FIRST=N: from that one on.
#
# Runs: promises_plain_test
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
unset CMOCKA_MESSAGE_OUTPUT
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
n=100
long && n=1000
export MODEL_ROUNDS=${MODEL_ROUNDS:-$n}
reasons=pass,peer-rate,peer-volume,zone-rate,zone-volume,revoked,expired,no-peer,no-policy,stop,upgrade

BWL_TRACE=$work/trace "$BWL_BUILD/tests/model/promises_plain_test" >"$work/out" 2>&1
check "$MODEL_ROUNDS sequences pass with a trace" test $? -eq 0
"$here/../second_limiter.py" --least $((200 * MODEL_ROUNDS)) --reasons $reasons "$work/trace" >"$work/judged" 2>&1
check "and the second limiter agrees" test $? -eq 0
note "$(cut -c1-1500 "$work/judged")"
done_testing
