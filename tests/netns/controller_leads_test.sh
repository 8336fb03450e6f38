#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Of two bwlimit-controllers one leads, with a real etcd: when it hangs or dies the other one does, and the store refuses
# what a former leader writes. controller_test.sh: leaders that go in the middle of rollouts.
# live: no tray here: bwlimit-controller alone is killed
set -uo pipefail
ETCD_N=1 CONTROL_NET=net
# shellcheck source=../harness/controllers.sh
. "$(dirname "${BASH_SOURCE[0]}")/../harness/controllers.sh"
clean_up() { # in place of store_lab.sh's
	[[ ! -v ETCD_WATCH ]] || etcd_watch_end
}

set_up() { etcd_up >/dev/null && etcd_auth >/dev/null && etcd_tray tray-1 >/dev/null && controllers_user && controllers_people; }
check "control: etcd, roles, and people's keys are there" set_up

note "One leads"
start one
await 15 says one '"leads"'
start two
check "the first one leads" leads one
check "the second one knows it" await 10 says two '"leader".*"one"'
refute "and leads not" says two '"event":"leads"|"event": "leads"'
check "what is said has its schema" "$here/json_check.py" --lines \
	"${BWL_SOURCE:-${here%/*/*}}/docs/schema" controller <"$ETCD_DIR/one"
check "it says the time, signed" eval 'await 5 eval "[[ \$(at all/doc/timestamp/time) ]]" && at all/doc/timestamp/time >"$ETCD_DIR/time" &&
	"$ctl" policy verify "$ETCD_DIR/time" --root "$ETCD_DIR/root" >/dev/null'
check "control: a tray's certificate writes its status" eval 'etcdctl_as tray-1 put "$PREFIX/node/tray-1/out/status" "{}" >/dev/null'
refute "but nothing of the controllers'" etcdctl_as tray-1 put "$PREFIX/controller/leader/1" x 2>/dev/null
refute "and reads nothing of it" etcdctl_as tray-1 get --prefix "$PREFIX/controller/" 2>/dev/null
led_by() { [[ $(at all/doc/lease/base | sed -n 's/^signature: \([0-9a-f]*\) .*/\1/p') == "$(id "online-$1")" ]]; } # who has signed the lease
policy 1 10mbit good '}'
check "and signs the lease of a policy" await 30 led_by one

note "It hangs past its lease, and goes on"
freeze_process "${ours[one]}"

# Meanwhile: the fence, alone. Of two that believe that they lead one writes.
mkfifo "$ETCD_DIR/a" "$ETCD_DIR/b"
PREFIX=$PREFIX/fence etcd_store lead a <"$ETCD_DIR/a" >"$ETCD_DIR/a.out" 2>&1 &
exec 7>"$ETCD_DIR/a"
echo first >&7 # written once a leads: it does not renew its lease of 3 s
await 10 grep -q leads "$ETCD_DIR/a.out"
PREFIX=$PREFIX/fence etcd_store lead b <"$ETCD_DIR/b" >"$ETCD_DIR/b.out" 2>&1 &
exec 8>"$ETCD_DIR/b"
echo second >&8 # likewise
check "control: who leads writes" await 5 grep -qx put "$ETCD_DIR/a.out"
check "after its lease another one leads" await 15 grep -qx leads "$ETCD_DIR/b.out"
await 5 grep -qx put "$ETCD_DIR/b.out"
echo third >&7
check "what the first one writes then is refused by the store" await 5 grep -qx fenced "$ETCD_DIR/a.out"
check "and the second one's is there" is "$(etcdctl_as root get --print-value-only "$PREFIX/fence/all/led" | head -n 1)" second
exec 7>&- 8>&-

check "another controller leads" await 30 leads two
check "and signs" await 30 led_by two
line=$(lines one)
since=$(etcd_revision)
kill -CONT "${ours[one]}"
check "the first one sees that it leads no more" await 15 from one "$line" 'follows|fenced|leader'
renewed() { [[ $(terms lease/base | jq -r .policy) != "$before" ]] && led_by two; }
before=$(terms lease/base | jq -r .policy) # that of the policy before
policy 2 5mbit good '}'
check "control: what comes then has its lease" await 30 renewed
check "the second one leads on" leads two
# Who signed what was put since, up to that lease: times, leases; what people signed has other types.
signers() {
	awk '/^signature: / { who = who $2 "\n" }
		/^type: / { if ($2 == "timestamp" || $2 == "lease") printf "%s", who; who = "" }' "$ETCD_DIR/watch" | sort -u
}
at all/doc/lease/base >"$ETCD_DIR/lease"
etcd_watch root "$PREFIX/all/doc/" --rev $((since + 1))
check "control: what was put since is read" await 30 grep -qxF -- "terms: $(doc_terms <"$ETCD_DIR/lease")" "$ETCD_DIR/watch"
check "and it alone has signed since" is "$(signers)" "$(id online-two)"

note "It dies"
kill -9 "${ours[two]}" && wait "${ours[two]}" 2>/dev/null
unset "ours[two]"
check "the other one leads" await 30 leads one
check "and signs again" await 30 led_by one
kill "${ours[one]}"
check "it ends when it is told to" eval "wait ${ours[one]}"
unset "ours[one]"
check "and nobody leads" eval '[[ -z $(leader) ]]'
done_testing
