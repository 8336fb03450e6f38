#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# A sign of tampering closes the map even if everything after that hangs: the reader of the log, the
# disk of the ledger and of the audit log (every fsync, and it is full), and charon, if the kernel has
# IPsec. BWL_LIMIT_MS (tests/vm/95_tamper, under --icount): maximum time from the sign to the closed map.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-hang-$$ LAB_DESTS=1
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
lab_up || exit 1
ROUNDS=${BWL_ROUNDS:-2}
disk=$LAB_TMP/disk
mkdir "$disk"
mount -t tmpfs -o size=4m bwl-hang "$disk" || exit 1
trap '[[ -z $reader ]] || kill -KILL "$reader"; umount -l "$disk"; rm -f "$VICI"; lab_down' EXIT
VICI='' reader=''

# A charon that listens, but neither accepts nor answers.
if modprobe -a xfrm_interface esp4 2>/dev/null && [[ ! -e /run/charon.vici ]]; then
	VICI=/run/charon.vici
	lab_bg charon dpu python3 -c "import socket, time
s = socket.socket(socket.AF_UNIX); s.bind('$VICI'); s.listen(64); time.sleep(3600)"
	lab_wait_for 30 test -S "$VICI"
	in_dpu "$LOAD" attach --drill --fresh-volume --host hpf0 --uplink p0 --tunnel bwl0 >"$LAB_TMP/attach" 2>&1 ||
		note "$(cat "$LAB_TMP/attach")"
else
	note "no IPsec here, or a charon of its own: nothing hangs in its place"
	lab_attach || exit 1
fi

export BWLIMIT_AUDIT_DIR=$disk/audit
"$CTL" audit init >/dev/null 2>&1 || exit 1
lab_policy_head <<-END >"$LAB_TMP/desired.yaml"
	tamper: { carrier: revoke, port: revoke, intrusion: revoke, cleartext: revoke }
	peers:
	$(lab_peer d1 1 "grant: { rate: 5mbit, volume: 1gb }")
END
in_dpu "$CTL" policy apply --yes "$LAB_TMP/desired.yaml" >/dev/null 2>&1 || exit 1
mkdir -p "$LAB_TMP/class/hwmon/hwmon0" "$LAB_TMP/sys"
ln -s "$LAB_TMP/sys/class/net" "$LAB_TMP/class/net" # of the agent's network namespace
alarm=$LAB_TMP/class/hwmon/hwmon0/intrusion0_alarm
echo 0 >"$alarm"
# The DPU's own IPv6 messages when a link comes up are stopped by the last gate: not a sign here.
lab_sysctl dpu net.ipv6.conf.p0.disable_ipv6=1
ip_in dpu route replace 10.101.0.0/24 via 192.0.2.254

state() { [[ $("$CTL" --json peer show d1 | jq -r .state) == "$1" ]]; }
audited() { # input
	BWLIMIT_AUDIT_DIR=$disk/audit "$CTL" audit show 2>/dev/null | grep "$1: .*action revoke" >/dev/null
}

# The log goes to a pipe, whose reader is stopped later; then the pipe is filled.
mkfifo "$LAB_TMP/pipe"
exec 8<>"$LAB_TMP/pipe"
cat <"$LAB_TMP/pipe" 8>&- >"$LAB_TMP/log" &
reader=$!
LAB_PIDS+=("$reader")
nsenter --net="/run/netns/$LAB-dpu" unshare -m sh -c 'mount -t sysfs sysfs "$0/sys" && mount --bind "$0/class" /sys/class && exec "$@"' "$LAB_TMP" \
	env ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD="$LAB_BUILD/tests/harness/bwl-slowdisk.so" BWL_FSYNC_FILE="$LAB_TMP/hang" \
	"$AGENT" --policy "$LAB_TMP/desired.yaml" --state-dir "$disk/state" --json >&8 2>"$LAB_TMP/err" &
agent=$!
LAB_PIDS+=("$agent")
check "the agent runs, and the grant is live" lab_wait_for 30 state live
# Once a new link is seen the links have been read: neighbours are read in the same order.
seen() {
	ip_in dpu neigh replace 192.0.2.77 lladdr "02:00:00:00:00:0$((RANDOM % 9))" dev p0 nud permanent
	grep -q '"event":"tamper".*neighbour' "$LAB_TMP/log"
}
check "and it sees what the kernel tells" lab_wait_for 30 seen

freeze_process "$reader"
dd if=/dev/zero of="$LAB_TMP/pipe" bs=4096 count=1024 oflag=nonblock 2>/dev/null # 16 pages, of 64 KiB at most
refute "the log takes no line any more" dd if=/dev/zero of="$LAB_TMP/pipe" bs=4096 count=1 oflag=nonblock status=none 2>/dev/null
touch "$LAB_TMP/hang"
head -c 8M /dev/zero >"$disk/fill" 2>/dev/null
refute "nor the disk a byte" sh -c "echo more >>'$disk/fill'" 2>/dev/null

again() { # what opens is refused with this audit log: without it
	echo 0 >"$alarm"
	ip_in net link set s0 up
	ip_in host link set h0 up
	BWLIMIT_AUDIT_DIR='' in_dpu "$CTL" heartbeat >/dev/null 2>&1
	BWLIMIT_AUDIT_DIR='' in_dpu "$CTL" grant d1 reason again >/dev/null 2>&1
	lab_wait_for 30 state live || return
	in_dpu timeout 300 sh -c 'until ip -o link show p0 | grep -q LOWER_UP && ip -o link show hpf0 | grep -q LOWER_UP; do sleep 0.05; done'
}
closes() { # sentence namespace sign what
	local ns worst=0 i
	for ((i = 0; i < ROUNDS; i++)); do
		again || { nok "$1: the grant is live again"; return; }
		ns=$("$LAB_BUILD/tests/harness/bwl-closed" "$LAB_PINS" "/run/netns/$LAB-$2" "$3" "$4") ||
			{ nok "$1 closes the map, round $i"; return; }
		((ns <= worst)) || worst=$ns
	done
	ok "$1 closes the map while all that comes after hangs"
	note "$1: worst of $ROUNDS $((worst / 1000)) us"
	[[ -z ${BWL_LIMIT_MS-} ]] || check "$1: within $BWL_LIMIT_MS ms" test "$worst" -lt $((BWL_LIMIT_MS * 1000000))
}
closes "carrier loss" net down s0
closes "a host port that goes" host down h0
closes "an opened chassis" dpu write "$alarm"
closes "cleartext at the last gate" dpu send 10.101.0.9
refute "nothing was said of it yet" grep -q '"event":"tamper".*carrier' "$LAB_TMP/log"
refute "and the audit log waits for the disk with the first of them" audited intrusion

rm -f "$disk/fill" "$LAB_TMP/hang"
kill -CONT "$reader"
check "when the log goes on it is said" lab_wait_for 60 grep -qa '"event":"tamper".*carrier: .*action revoke' "$LAB_TMP/log"
check "when the disk does, it is recorded" lab_wait_for 60 audited intrusion
again
LIVE_FAMILIES=4 live "log and disk go on, links are up, and the peer is granted again"
kill -KILL "$agent"
done_testing
