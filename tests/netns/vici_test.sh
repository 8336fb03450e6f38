#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Our VICI client and strongSwan's charon: commands, streams, refusals, a daemon that hangs.
# live: charon alone runs here: nothing is attached
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB=bwl-vici-$$
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/../harness/lab.sh"
# shellcheck source=../harness/charon.sh
. "$here/../harness/charon.sh"
charon_require
lab_begin || exit 1
lab_ns a || exit 1
charon_up one a || exit 1

says() { grep -q -- "$1" "$LAB_TMP/out" || { note "$(cat "$LAB_TMP/out")"; false; }; }
quietly() { "$@" >/dev/null; }
fails() { ! vici "$@" >"$LAB_TMP/out" 2>&1; }

check "charon says which it is" test "$(vici one version | jq -r .daemon)" = charon-systemd
check "a deep answer is read: stats" test "$(vici one stats | jq -r .workers.total)" -gt 0
check "every algorithm of it can be read" test "$(vici one get-algorithms | jq '.encryption | length')" -gt 3
conn='{"bwl-x": {"version": "2", "local": {"auth": "pubkey", "id": "fqdn:x"}, "remote": {"auth": "pubkey"},
	"remote_addrs": ["192.0.2.9"], "children": {"bwl-x": {"remote_ts": ["10.0.0.0/8", "fd00::/8"]}}}}'
check "a connection is loaded" quietly vici one load-conn "$conn"
check "and listed as a stream, with both families" test "$("$VICI" --event list-conn "$(charon_socket one)" list-conns |
	jq -c '.["bwl-x"].children["bwl-x"]["remote-ts"]')" = '["10.0.0.0/8","fd00::/8"]'
check "what charon does not take is an error" fails one load-conn '{"bwl-x": {"mobike": "maybe"}}'
check "in its own words" says 'charon refuses load-conn: invalid value for: mobike'
check "and so is a command that it does not know" fails one dance
check "and the connection is unloaded" quietly vici one unload-conn '{"name": "bwl-x"}'
check "and gone" test -z "$("$VICI" --event list-conn "$(charon_socket one)" list-conns)"

for name in p1 p2 p1000 kept; do vici one load-conn "${conn//bwl-x/bwl-$name}" >/dev/null; done
freeze_process "${CHARON_PID[one]}"
check "a charon that is stopped is told from one that refuses" fails one version
check "and named" says 'does not answer'
peers() { printf 'p%d ' {1..1000}; }
# shellcheck disable=SC2046 # a thousand words
drop() { "$VICI" --drop "$(charon_socket one)" 200 $(peers) >"$LAB_TMP/out" 2>&1; says '"posted": true'; }
check "a thousand peers that are revoked meanwhile all get into its socket" drop
kill -CONT "${CHARON_PID[one]}"
left() { vici one get-conns | jq -r '.conns[]?'; }
gone() { [[ $(left) == bwl-kept ]]; }
check "and their connections go when it goes on, the last one's too, and no others" lab_wait_for 20 gone
check "it answers again when it goes on" quietly vici one version
charon_down one
check "a charon that has ended is told, too" fails one version
check "with what to do" says 'systemctl start strongswan'
done_testing
