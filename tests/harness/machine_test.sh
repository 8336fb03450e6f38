#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A test says the same on every machine. Here some run on one that is as different as can be, each of them twice at the
# same time: bwlimit is installed and enforces, its groups are there, IPv6 is off, and so are other things that an
# operator's shell may have. All of that is in namespaces of its own. What is installed must not notice the tests.
#
#   MACHINE_TESTS="netns/x_test.sh …" tests/harness/machine_test.sh    # others: scripts below tests/, programs below BUILD/tests/
#   BWL_LONG=1: more of them
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [[ ! -v MACHINE_UNSHARED ]]; then
	[[ $(id -u) -eq 0 ]] || { echo "needs root for namespaces"; exit 77; }
	# Of processes, too: process 1, which the tools compare with, must see the same BPF file system.
	MACHINE_UNSHARED=1 exec unshare --mount --net --pid --fork --kill-child --mount-proc --propagation private "$0" "$@"
fi
unset MACHINE_UNSHARED

# The machine: its own /run, /etc, /var/lib and BPF file system.
disk=$(mktemp -d)
mount -t tmpfs bwl-machine "$disk" && mkdir "$disk/lib" && cp -a /etc "$disk" && mount --bind "$disk/etc" /etc || exit 1
for d in /var/lib/*/; do
	d=${d#/var/lib/} d=${d%/}
	[[ $d == bwlimit* ]] || { mkdir "$disk/lib/$d" && mount --bind "/var/lib/$d" "$disk/lib/$d"; } || exit 1
done
mount --rbind "$disk/lib" /var/lib || exit 1
export TMPDIR=$disk
mkdir -p /run/lock "$disk/lock" && mount --bind /run/lock "$disk/lock" && mount -t tmpfs run /run &&
	mkdir /run/netns /run/lock && mount --bind "$disk/lock" /run/lock || exit 1
while umount /sys/fs/bpf 2>/dev/null; do :; done
mount -t bpf bpf /sys/fs/bpf || exit 1
ip link set lo up
sysctl -q -w net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1 || exit 1
sed -i '/^bwlimit/d' /etc/group
printf '%s:x:%d:\n' bwlimit 64801 bwlimit-read 64802 bwlimit-sync 64803 >>/etc/group
rm -rf /etc/bwlimit

# shellcheck source=tap.sh
. "$here/tap.sh"
LAB=bwl-machine-$$ LAB_DESTS=1 LAB_PINS=/sys/fs/bpf/bwlimit
at=/var/lib/bwlimit
export BWLIMIT_STATE_DIR=$at/state BWLIMIT_AUDIT_DIR=$at/audit BWLIMIT_JOURNAL_DIR=$at/journal
# shellcheck source=lab.sh
. "$here/lab.sh"
lab_up || exit 1
trap 'lab_down; umount -l "$disk"; rmdir "$disk"' EXIT
mkdir -p /etc/bwlimit /var/lib/bwlimit
{ "$CTL" journal init && "$CTL" audit init; } >"$LAB_TMP/init" 2>&1 || { sed 's/^/# /' "$LAB_TMP/init"; exit 1; }
{
	echo "peers:"
	lab_peer installed 1 "grant: { rate: 8mbit }"
} | lab_policy_head 8h >/etc/bwlimit/policy.yaml
check "bwlimit is installed, and attached where it is by default" lab_attach
lab_bg agent dpu "$AGENT" --policy /etc/bwlimit/policy.yaml --tpm none
agent=$LAB_PID
installed() { "$CTL" --json peer list | jq -c '[.peers[] | [.peer, .grant]]'; }
in_force() { [[ $(installed 2>/dev/null) == *installed* ]]; }
check "its policy is in force" lab_wait_for 60 in_force
# All that it makes: what it makes later would be a trace.
has_begun() {
	[[ -e /var/lib/bwlimit/state/history.db && -e /var/lib/bwlimit/state/evidence && -e /run/bwlimit/bwlimit.log && -e /run/bwlimit/bwlimit.audit ]]
}
check "and it has begun to record" lab_wait_for 60 has_begun
# What a test could have changed: everything but numbers that grow by themselves.
traces() {
	installed
	"$LOAD" status --json | jq -c '[.ports[].programs[] | [.program, .link_id]]'
	find /sys/fs/bpf/bwlimit -printf '%p %M %g\n' | sort
	find /run/bwlimit -name 'bwlimit.*' -printf '%f %M %u %g\n' | sort
	find /etc/bwlimit /var/lib/bwlimit -printf '%p %M %u %g\n' | grep -vE '/(flows|evidence|audit)/|db-(wal|shm)' | sort
	"$CTL" audit show --json | jq -r 'select(.event == "tamper" or .data.level == "warning" or .data.level == "err") | .text'
	kill -0 "$agent" && echo "bwlimitd runs"
}
traces >"$LAB_TMP/before" 2>&1

# An operator's shell: new namespaces have no IPv6 (as after ipv6.disable_ipv6=1), the installed programs come first, there is
# no home, temporary files are elsewhere, files are for oneself, and the tools are told where what is installed keeps its own.
odd=$LAB_TMP/odd
mkdir -p "$odd/bin" "$disk/elsewhere"
for program in "$CTL" "$LOAD" "$AGENT"; do ln -s "$program" "$odd/bin"; done
cat >"$odd/bin/ip" <<-END
	#!/bin/sh
	$(command -v ip) "\$@" || exit
	[ "\$1 \$2" != "netns add" ] ||
		exec nsenter --net="/run/netns/\$3" sysctl -q -w net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
END
chmod +x "$odd/bin/ip"
oddly() (
	umask 077
	exec env -u HOME PATH="$odd/bin:$PATH" TMPDIR="$disk/elsewhere" LANG=en_US.UTF-8 LC_ALL=C.UTF-8 COLUMNS=40 JOURNAL_STREAM=8:1 \
		BWL_BUILD="$LAB_BUILD" "$@"
)
path_of() { [[ -e $here/../$1 ]] && echo "$here/../$1" || echo "$LAB_BUILD/tests/$1"; }
shown() { # file: what is worth a look
	grep -E '^not ok' -B 8 "$1" | sed 's/^/# /' | head -n 80
	tail -n 12 "$1" | sed 's/^/# … /'
}
# Users without rights and other groups, files that are given away, fixed ports, BPF programs, both families, every tool.
some='unit/group_test prog/pipeline_test netns/export_test.sh'
more='harness/lab_test.sh netns/loader_test.sh netns/readers_test.sh netns/recent_test.sh'
! long || some+=" $more"
read -ra tests <<<"${MACHINE_TESTS:-$some}"
for test in "${tests[@]}"; do
	pids=() began=$SECONDS
	for n in 1 2; do
		oddly "$(path_of "$test")" >"$LAB_TMP/said.$n" 2>&1 </dev/null &
		pids+=($!)
	done
	for n in 1 2; do
		wait "${pids[n - 1]}"
		rc=$?
		case $rc in
		0) ok "$test, $n of two" ;;
		77) skip "$test, $n of two" "$(grep -v '^$' "$LAB_TMP/said.$n" | head -n 1)" ;;
		*)
			nok "$test, $n of two: status $rc"
			shown "$LAB_TMP/said.$n"
			;;
		esac
	done
	note "$test: $((SECONDS - began)) s"
done

traces >"$LAB_TMP/after" 2>&1
check "what is installed did not notice" cmp -s "$LAB_TMP/before" "$LAB_TMP/after"
diff "$LAB_TMP/before" "$LAB_TMP/after" | sed 's/^/# /'
left() {
	ip netns list | grep -v "^$LAB-"
	find /sys/fs/bpf -mindepth 1 -maxdepth 1 ! -name bwlimit ! -name '*.debug'
	find /run/bwlimit -mindepth 1 ! -name 'bwlimit.*'
	find "$disk/elsewhere" -mindepth 1
}
check "and nothing is left of the tests" test -z "$(left)"
left | sed 's/^/# /' | head -n 20
done_testing
