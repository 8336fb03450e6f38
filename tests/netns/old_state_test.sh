#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What 0.3.0 left on disk (tests/recordings/state-0.3.0.tar.gz: desired and accepted policy, journal,
# ledger, history, audit log) is opened by this one after a boot: what was revoked stays so, what was spent stays
# spent, and logs go on. Its maps: prog.recorded_maps_test.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-ostate-$$ LAB_DESTS=4 LAB_HOSTS=2
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
lab_up || exit 1
STATE=$LAB_TMP/state
mkdir "$STATE"
tar -C "$STATE" -xzf "$here/../recordings/state-0.3.0.tar.gz" || exit 1
chmod 700 "$STATE"
export BWLIMIT_STATE_DIR=$STATE BWLIMIT_JOURNAL_DIR=$STATE/journal BWLIMIT_AUDIT_DIR=$STATE/audit
cp "$STATE/audit/key.pub" "$LAB_TMP/pub"
was=$(cat "$STATE"/audit/log-*.jsonl)

ctl() { in_dpu "$CTL" "$@"; }
peer() { ctl peer show "$1" --json | jq -r "$2"; }
shown() { "$@" || { note "$(cat "$LAB_TMP/out" "$LAB_TMP/err")"; false; }; }
usage() { ctl --json usage | jq -r ".volumes[] | select(.limit_key == \"peer $1\") | $2"; }
is() { [[ $1 -eq $2 ]] || { note "$1 is not $2"; false; }; }
is_known() { [[ $(usage total .ledger_state) == released ]]; }
within() { [[ $1 -ge $2 && $1 -le $3 ]] || { note "$1 is not from $2 to $3"; false; }; }
sends() { # packets destination
	echo "eth ip4 src=$HOST4 dst=$(lab_dest4 "$2") udp dport=9 fill=1000" |
		in_host "$FRAMES" send h0 --gw "$(lab_mac dpu hpf0)" --count "$1" >/dev/null
}

check "a boot puts the policy in force that the earlier version had accepted" shown lab_load attach --max-peers 64
check "its journal is read: who was revoked stays so" [ "$(peer gone .state)" = revoked ]
refute "and nobody else is" grep -q revoked <<<"$(peer total .state) $(peer window .state) $(peer parts .state)"
check "the journal is whole" [ "$(ctl --json journal show | jq -r .state)" = ok ]
lab_bg agent dpu "$AGENT" --policy "$STATE/accepted.yaml" --state-dir "$STATE" --tpm none --history-size 8mb --totals none
agent=$LAB_PID
check "its ledger is read" lab_wait_for 60 is_known
# What was released and not spent is lost at a boot: at most a release (docs/ledger.md).
SPENT=41876 RELEASE=73728
check "what was spent stays spent, and no more than a release is lost" \
	within "$(peer total .left.used_bytes)" $SPENT $((SPENT + RELEASE))
check "in the window, too" within "$(peer window .left.used_bytes)" $SPENT $((SPENT + RELEASE))
check "nothing was damaged" [ -z "$(find "$STATE" -name "*.bad")" ]
in_host ping -q -c 2 -i 0.2 -W 2 "$(lab_dest4 1)" >/dev/null # the neighbour is known
has_spent() { [[ $(peer total .left.used_bytes) -ge $1 ]]; }
can_be_used() {
	local before
	before=$(peer total .left.used_bytes)
	sends 5 1
	lab_wait_for 30 has_spent $((before + 5000))
}
check "what is left can be used" can_be_used
check "the audit log goes on" eval 'ctl revoke total >/dev/null 2>&1 && ctl audit show | grep_all "revoke total"'
check "after what the earlier version wrote" \
	[ "$(head -n "$(wc -l <<<"$was")" < <(cat "$STATE"/audit/log-*.jsonl))" = "$was" ]
check "and verifies by the key of then" eval 'ctl audit verify --key "$LAB_TMP/pub" >"$LAB_TMP/out" 2>"$LAB_TMP/err" ||
	shown false'
lab_stop "$agent"
check "the history has whom the earlier version counted" \
	[ "$(ctl history --state-dir "$STATE" --json | jq -c .peer_names)" = '["gone","parts","total","window"]' ]
done_testing
