#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A power cut at every write: ledger and audit log of the real agent on ext4 (47_power_cut_xfs: on XFS), under
# traffic at the limit of volumes and with grants being given, on a device that logs each write (dm-log-writes).
# After each cut, what is left mounts and opens; the ledger has at least what had been released by then, and the log
# every record that was acknowledged (promises 3 and 6). BWL_CUT_STEP=10 cuts only at every tenth write.
# vm-cost: 1200
# leak: files
# vm-once: yes
# vm-env: BWL_CUT_STEP BWL_CUT_SECONDS
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-cut-$$ LAB_DESTS=2
# shellcheck source=../harness/tap.sh
. "$BWL_SOURCE/tests/harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$BWL_SOURCE/tests/harness/lab.sh"
# shellcheck source=../harness/live.sh
. "$BWL_SOURCE/tests/harness/live.sh"
POWERCUT=$LAB_BUILD/tests/harness/bwl-powercut
PATH=$PATH:/usr/sbin:/sbin
FS=${BWL_CUT_FS:-ext4}
for tool in dmsetup losetup "mkfs.$FS" python3; do
	command -v $tool >/dev/null || { echo "1..0 # SKIP $tool is not installed"; exit 77; }
done
modprobe -a loop "$FS" 2>/dev/null
grep -qw "$FS" /proc/filesystems || { echo "1..0 # SKIP this kernel has no $FS"; exit 77; }
modprobe dm-log-writes || { echo "1..0 # SKIP this kernel has no dm-log-writes"; exit 77; }
dm() { dmsetup --noudevsync --noudevrules "$@"; }
# shellcheck disable=SC2317 # called by the trap
tidy() {
	lab_clear 2>/dev/null # ends the agent; LAB_TMP is a mount point and stays
	umount "$STATE" "$OTHER" 2>/dev/null
	dm remove bwl-cut 2>/dev/null
	losetup -D
	umount "$DISK" 2>/dev/null
	rm -rf "$LAB_TMP"
}
lab_up || exit 1
DISK=$LAB_TMP/disk STATE=$LAB_TMP/state OTHER=$LAB_TMP/other
trap tidy EXIT
mkdir "$DISK" "$STATE" "$OTHER"
mount -t tmpfs none "$DISK" || exit 1
export BWLIMIT_AUDIT_DIR=

{
	echo "zones: { external: { volume: 100mb } }"
	echo "peers:"
	lab_peer sink 1 "zone: external, grant: { rate: 6mbit, volume: 10mb, burst: 64kb }"
	lab_peer day 2 "zone: external, grant: { rate: 2mbit, volume: 10mb per 1d, burst: 64kb }"
} | lab_policy_head >"$LAB_TMP/desired.yaml"

make_ext4() { mkfs.ext4 -q -b 4096 -J size=4 -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 "$1"; }
make_xfs() { mkfs.xfs -q -K --unsupported "$1"; } # like a whole disk; below 300 MB mkfs requires --unsupported
disk_up() { # a file system of 16 MiB whose writes are logged
	rm -f "$DISK"/*
	truncate -s 16M "$DISK/data"
	truncate -s 512M "$DISK/log"
	"make_$FS" "$DISK/data" || return
	cp "$DISK/data" "$DISK/base"
	data=$(losetup -f --show "$DISK/data") && log=$(losetup -f --show "$DISK/log") || return
	dm create bwl-cut --table "0 $((16 << 11)) log-writes $data $log" && dm mknodes || return
	mount -t "$FS" /dev/mapper/bwl-cut "$STATE"
}
disk_down() {
	umount "$STATE" && dm remove bwl-cut && losetup -d "$data" "$log"
}
arrived() { in_ns "d$1" awk '$1 == "Ip:" && n++ { print $4; exit }' /proc/net/snmp; }
send() { # seconds
	{
		echo "eth ip4 src=$HOST4 dst=$(lab_dest4 1) udp dport=9 fill=958"
		echo "eth ip4 src=$HOST4 dst=$(lab_dest4 2) udp dport=9 fill=958"
	} >"$LAB_TMP/frames"
	lab_bg send host sh -c "exec '$FRAMES' send h0 --gw $(lab_mac dpu hpf0) --seconds $1 --pps 2000 <'$LAB_TMP/frames'"
	SEND=$LAB_PID
}
agent() { # command-prefix…
	lab_bg agent dpu "$@" "$AGENT" --policy "$LAB_TMP/desired.yaml" --state-dir "$STATE" --json
	AGENT_PID=$LAB_PID
}
records() { in_dpu "$CTL" --json audit checkpoint 2>/dev/null | jq .record_count; }
# Acknowledges everything before this grant, and the record of the grant.
grant() { # command-prefix…
	local n
	n=$(records) && in_dpu "$@" "$CTL" grant day rate "$((2000 + RANDOM % 100))kbit" reason test >/dev/null 2>&1 &&
		dm message bwl-cut 0 mark "audited=$((n + 1))"
}
flowing() { [[ $(arrived 1) -gt $1 ]]; }
usage() { in_dpu "$CTL" --json usage | jq -e "$1" >/dev/null; }
released() { usage '[.volumes[] | select(.released_bytes)] | length == 3'; }

# The agent's life on that disk, from the first file on. Takes seconds, then the command under which agent and grants run.
agent_lives() {
	local seconds=$1 end given=0
	shift
	in_dpu "$LOAD" detach >/dev/null 2>&1
	lab_attach || return
	disk_up || return
	export BWLIMIT_AUDIT_DIR=$STATE/audit
	key=$(in_dpu "$@" "$CTL" audit init 2>/dev/null) || return
	dm message bwl-cut 0 mark audited=0
	agent "$@"
	lab_wait_for 60 usage '.volumes | length == 3' || return
	lab_bg watch dpu "$POWERCUT" watch bwl-cut
	WATCH=$LAB_PID
	lab_wait_for 60 released || return
	send $((seconds + 120))
	lab_wait_for 60 flowing "$(arrived 1)" || return
	end=$((SECONDS + seconds))
	while [[ $SECONDS -lt $end ]]; do grant "$@" && given=$((given + 1)); done
	note "$given grants; $(arrived 1) and $(arrived 2) frames arrived"
	kill "$SEND"
	lab_stop "$AGENT_PID"
	kill "$WATCH" 2>/dev/null
	cp "$STATE"/audit/log-*.jsonl "$LAB_TMP/"
	export BWLIMIT_AUDIT_DIR=
	disk_down
}
judged() { # step
	scratch=$(losetup -f --show "$DISK/data") || return
	BWL_CUT_STEP=$1 python3 "$BWL_SOURCE/tests/harness/power_cut.py" "$FS" "$DISK/log" "$DISK/base" "$scratch" "$OTHER" \
		"$POWERCUT" "$key" "$LAB_TMP"/log-*.jsonl "$DISK/kept" >"$LAB_TMP/judged" || return
	losetup -d "$scratch"
	note "$(jq -c 'del(.what)' "$LAB_TMP/judged")"
}
says() { jq -e "$1" "$LAB_TMP/judged" >/dev/null || { jq -r '.what[]' "$LAB_TMP/judged" | sed 's/^/# /'; false; }; }

# Control: the test would see a loss. Nothing is synchronised, and the kernel decides when to write.
check "the agent runs on a disk that logs every write, and never syncs" \
	agent_lives 6 env BWL_FSYNC_MS=never LD_PRELOAD="$LAB_BUILD/tests/harness/bwl-slowdisk.so"
check "its log is replayed" judged 3
check "what had been released or acknowledged is missed after a cut" says '.wrong > 0'
rm -f "$LAB_TMP"/log-*.jsonl

check "the agent runs on a disk that logs every write" agent_lives "${BWL_CUT_SECONDS:-4}"
check "its log is replayed, with a cut at every write" judged "${BWL_CUT_STEP:-1}"
check "there were more than two hundred" says '.cuts > 200 or '"${BWL_CUT_STEP:-1} > 1"
check "each leaves a ledger and an audit log that are whole and go on, and have all that was released and acknowledged" \
	says '.wrong == 0'

# The agent itself after one of the cuts: a boot with new maps, and the disk of the middle cut.
in_dpu "$LOAD" detach >/dev/null 2>&1
again() { in_dpu "$LOAD" attach --drill --host hpf0 --uplink p0 >/dev/null 2>&1; }
check "the programs come back after a cut" again
mount -o loop "$DISK/kept" "$STATE"
agent
check "the agent releases again" lab_wait_for 60 released
restored() {
	local was is
	was=$(jq '.kept["peer sink"]' "$LAB_TMP/judged")
	is=$(in_dpu "$CTL" --json usage | jq '.volumes[] | select(.limit_key == "peer sink") | .used_bytes')
	note "released before the cut: $was, spent after it: $is"
	[[ $is -ge $was ]]
}
check "and nothing that had been released is given back" restored
LIVE_DEST=2 LIVE_PPS=500 live "the agent releases again from the disk of a cut"
lab_stop "$AGENT_PID"
done_testing
