#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The units give their programs enough rights: capabilities, groups and system calls of the unit files
# themselves (tests/harness/as_unit.py), with the commands of ExecStart. As root everything would work anyway.
set -uo pipefail
# The test's own groups: a private file mounted over /etc/group, only in its own mount namespace.
if [[ ! -v UNITS_UNSHARED ]]; then
	UNITS_UNSHARED=1 exec unshare --mount --propagation private "$0" "$@"
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-unit-$$ LAB_DESTS=1 # the second host port comes later
LAB_SOURCES=('10.7.0.0/24, "fd00:7::/64"' '10.7.1.0/24, "fd00:7:1::/64"')
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
if ! command -v systemd-analyze >/dev/null || ! /usr/bin/python3 -c 'import seccomp' 2>/dev/null; then
	echo "systemd-analyze or python3-seccomp is missing"
	exit 77
fi
lab_up || exit 1
grep -vE '^bwlimit(-read)?:' /etc/group >"$LAB_TMP/group"
printf 'bwlimit:x:64101:\nbwlimit-read:x:64102:\nbwlimit-sync:x:64103:\n' >>"$LAB_TMP/group"
mount --bind "$LAB_TMP/group" /etc/group
grep -v '^bwlimit-' /etc/passwd >"$LAB_TMP/passwd"
printf 'bwlimit-%s:x:%d:64103::/:/bin/false\n' web 64111 export 64112 >>"$LAB_TMP/passwd"
mount --bind "$LAB_TMP/passwd" /etc/passwd
chmod 711 "$LAB_TMP"
export BWLIMIT_JOURNAL_DIR=$LAB_TMP/journal BWLIMIT_AUDIT_DIR=$LAB_TMP/audit
"$CTL" journal init >/dev/null 2>&1
"$CTL" audit init >/dev/null
PINS=$LAB_PINS
as_unit() { # unit command…
	in_dpu /usr/bin/python3 "$here/as_unit.py" "$LAB_BUILD/packaging/$1.service" "${@:2}"
}
works() { "$@" >"$LAB_TMP/out" 2>&1 && return 0 || note "$(tail -c 600 "$LAB_TMP/out")"; return 1; }
refused() { ! "$@" >"$LAB_TMP/out" 2>&1 && grep -qi 'not permitted' "$LAB_TMP/out"; }
is_of() { # path group mode
	[[ $(stat -c '%G %a' "$1" 2>/dev/null) == "$2 $3" ]] || { note "$1: $(stat -c '%G %a' "$1")"; return 1; }
}

# --- control: the confinement is effective
mkdir "$LAB_TMP/dir"
check "a unit's program cannot set a set-group-id bit" refused as_unit bwlimit chmod 2755 "$LAB_TMP/dir"
check "and may change a mode otherwise" works as_unit bwlimit chmod 700 "$LAB_TMP/dir"
check "it cannot make a namespace" refused as_unit bwlimit unshare --net true
check "nor an internet socket" refused as_unit bwlimit /usr/bin/python3 -c 'import socket; socket.socket()'
check "it has not CAP_SYS_ADMIN" eval 'as_unit bwlimit grep -q "^CapEff:.*c000001000$" /proc/self/status'

# --- bwlimit.service
{
	echo "peers:"
	lab_peer d1 1 "grant: { rate: 8mbit}"
} | lab_policy_head >"$LAB_TMP/policy.yaml"
check "attach runs under bwlimit.service" works as_unit bwlimit "$LOAD" attach --keep-down --record on --policy "$LAB_TMP/policy.yaml" --management mgmt0
check "and again" works as_unit bwlimit "$LOAD" attach --keep-down --policy "$LAB_TMP/policy.yaml" --management mgmt0
check "writers get the maps" is_of $PINS/maps/bwl_ctl_v1 bwlimit 660
check "and the folder of a policy's maps" is_of $PINS/gen bwlimit 710
check "readers get theirs" is_of $PINS/read/gen bwlimit-read 710
of_group() { # folder group mode: each pin in it
	local pin n=0
	for pin in "$1"/*; do
		is_of "$pin" "$2" "$3" || [[ ! -e $pin ]] || return # of the policy before, that went meanwhile
		n=$((n + 1))
	done
	((n > 0))
}
check "a policy's maps are the writers'" of_group $PINS/gen bwlimit 660
check "and the readers'" of_group $PINS/read/gen bwlimit-read 440
check "up runs under it" works as_unit bwlimit "$LOAD" up --management mgmt0
"$CTL" heartbeat >/dev/null
check "traffic passes" lab_wait_for 60 lab_both

# --- bwlimit-verify, bwlimit-guard
check "verify runs under bwlimit-verify.service, and is clean" works as_unit bwlimit-verify "$LOAD" verify --management mgmt0
lab_bg guard dpu /usr/bin/python3 "$here/as_unit.py" "$LAB_BUILD/packaging/bwlimit-guard.service" "$LOAD" guard --management mgmt0 --uplink p0
guard=$LAB_PID
lab_wait_for 60 grep -q watching "$LAB_TMP/guard.err"
ip_in dpu link add later type veth peer name later2
ip_in dpu link set later up
check "guard sets a device down under bwlimit-guard.service" lab_wait_for 60 eval '! lab_is_up later'
lab_stop "$guard"
ip_in dpu link del later

# --- bwlimit-await
lab_bg await dpu /usr/bin/python3 "$here/as_unit.py" "$LAB_BUILD/packaging/bwlimit-await.service" "$LOAD" await
await=$LAB_PID
lab_wait_for 60 grep -q waiting "$LAB_TMP/await.err"
lab_host 1
in_force() { in_dpu "$LOAD" status --json | jq -e '.ports[] | select(.port == "hpf1") | .up and (.programs | all(.attached))' >/dev/null; }
check "await attaches and opens a host port that appears under bwlimit-await.service" lab_wait_for 60 in_force || note "$(cat "$LAB_TMP/await.err")"
lab_stop "$await"

# --- bwlimitd.service: it makes a policy's maps, too
export BWLIMIT_CTL=$CTL BWLIMIT_LOAD=$LOAD
lab_bg agent dpu /usr/bin/python3 "$here/as_unit.py" "$LAB_BUILD/packaging/bwlimitd.service" "$AGENT" --policy "$LAB_TMP/policy.yaml" --state-dir "$LAB_TMP/state" --flows-every 2s --json
agent=$LAB_PID
accepted() { "$CTL" status --json 2>/dev/null | jq -e '.desired.sha256 != null' >/dev/null || [[ -e $LAB_TMP/state/accepted.yaml ]]; }
check "bwlimitd runs under bwlimitd.service" lab_wait_for 60 accepted
sed -i 's/8mbit/16mbit/' "$LAB_TMP/policy.yaml"
in_force() { "$CTL" peer show d1 --json | jq -e '.grant.rate_bits_per_second == 16000000' >/dev/null; }
check "an edited policy comes into force" lab_wait_for 60 in_force
check "its new maps are the writers'" of_group $PINS/gen bwlimit 660
check "and the readers'" of_group $PINS/read/gen bwlimit-read 440
check "bwlimitd has no warning that says that it may not" eval '! grep -qi "not permitted" "$LAB_TMP/agent.err"'

# --- bwlimit-web.service, bwlimit-export.service
chmod 711 "$LAB_TMP/state"
mkdir "$LAB_TMP/page" "$LAB_TMP/sent"
echo '<!doctype html><title>lab</title>' >"$LAB_TMP/page/index.html"
chmod -R a+rX "$LAB_TMP/page"
chown bwlimit-export "$LAB_TMP/sent"
lab_bg web dpu /usr/bin/python3 "$here/as_unit.py" "$LAB_BUILD/packaging/bwlimit-web.service" "$LAB_BUILD/web/bwlimit-web" --page "$LAB_TMP/page" \
	--commands "/run/bwlimit/${LAB_PINS##*/}.commands"
web=$LAB_PID
answers() { in_dpu curl -sSf --max-time 20 "http://127.0.0.1:9650/api/v1/status" 2>/dev/null | jq -e '.ports[0].programs[0].attached' >/dev/null; }
check "bwlimit-web runs under bwlimit-web.service, and bwlimitd answers it" lab_wait_for 60 answers
lab_stop "$web"
lab_both
recorded() { grep -qs '"peer":"d1"' "$LAB_TMP"/state/flows/*; }
check "control: flows are recorded" lab_wait_for 60 recorded
check "bwlimit-export runs under bwlimit-export.service" works as_unit bwlimit-export "$LAB_BUILD/export/flows/bwlimit-export" \
	--to "file:$LAB_TMP/sent/out" --format json --flows "$LAB_TMP/state/flows" --state-dir "$LAB_TMP/sent" --once
check "and puts them out" grep -q '"peer":"d1"' "$LAB_TMP/sent/out"
lab_stop "$agent"
check "upgrade runs under bwlimit.service" works as_unit bwlimit "$LOAD" upgrade
check "traffic passes still" lab_wait_for 60 lab_both
lab_down
done_testing
