#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A power cut at every second write: the journal of closures (docs/journal.md) on ext4, on a device that logs
# each write (dm-log-writes), while names are closed and opened. Whatever is left of it at each cut is whole,
# goes on, and has closed what a tool had acknowledged and nobody had begun to open again. What was not
# acknowledged may be there or not. BWL_CUT_STEP=1 cuts at every write.
# vm-once: yes
# vm-timeout: 900
# vm-env: BWL_CUT_STEP
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
# shellcheck source=../harness/tap.sh
. "$BWL_SOURCE/tests/harness/tap.sh"
HARNESS=${BWL_BUILD:-$BWL_SOURCE/build/release}/tests/harness
PATH=$PATH:/usr/sbin:/sbin
for tool in dmsetup losetup mke2fs python3; do
	command -v $tool >/dev/null || { echo "1..0 # SKIP $tool is not installed"; exit 77; }
done
modprobe loop 2>/dev/null
modprobe dm-log-writes || { echo "1..0 # SKIP this kernel has no dm-log-writes"; exit 77; }
dm() { dmsetup --noudevsync --noudevrules "$@"; }
tmp=$(mktemp -d)
DISK=$tmp/disk STATE=$tmp/state OTHER=$tmp/other
# shellcheck disable=SC2317 # called by the trap
tidy() {
	umount "$STATE" "$OTHER" 2>/dev/null
	dm remove bwl-cut 2>/dev/null
	losetup -D
	umount "$DISK" 2>/dev/null
	rm -rf "$tmp"
}
trap tidy EXIT
mkdir "$DISK" "$STATE" "$OTHER"
mount -t tmpfs none "$DISK" || exit 1

live() { # steps, then what it runs under
	local steps=$1 data log status
	shift
	rm -f "$DISK"/*
	truncate -s 16M "$DISK/data"
	truncate -s 512M "$DISK/log"
	mke2fs -q -t ext4 -b 4096 -J size=4 -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 "$DISK/data" || return
	cp "$DISK/data" "$DISK/base"
	data=$(losetup -f --show "$DISK/data") && log=$(losetup -f --show "$DISK/log") || return
	dm create bwl-cut --table "0 $((16 << 11)) log-writes $data $log" && dm mknodes || return
	mount -t ext4 /dev/mapper/bwl-cut "$STATE" || return
	"$@" "$HARNESS/bwl-journalcut" write bwl-cut "$STATE/journal" "$steps"
	status=$?
	umount "$STATE" && dm remove bwl-cut && losetup -d "$data" "$log" && return $status
}
judged() { # step
	local scratch
	scratch=$(losetup -f --show "$DISK/data") || return
	BWL_CUT_STEP=$1 python3 "$BWL_SOURCE/tests/harness/power_cut.py" "$DISK/log" "$DISK/base" "$scratch" "$OTHER" \
		"$HARNESS/bwl-journalcut" journal >"$tmp/judged" || return
	losetup -d "$scratch"
	note "$(jq -c 'del(.what)' "$tmp/judged")"
}
says() { [[ -s $tmp/judged ]] && jq -e "$1" "$tmp/judged" >/dev/null || { jq -r '.what[]' "$tmp/judged" | sed 's/^/# /'; false; }; }

# Whether what follows would be seen at all: nothing is synchronised, and the writes are the kernel's idea.
check "names are closed and opened on a disk that logs every write, and nothing is synchronised" \
	live 40 env BWL_FSYNC_MS=never LD_PRELOAD="$HARNESS/bwl-slowdisk.so"
check "its log is replayed" judged 1
check "what was acknowledged is missed after a cut" says '.wrong > 0'

check "names are closed and opened on a disk that logs every write" live 40
check "its log is replayed, with cuts" judged "${BWL_CUT_STEP:-2}"
check "there were more than a hundred" says '.cuts > 100'
check "each leaves a journal that is whole, goes on, and has closed what was acknowledged" says '.wrong == 0'
done_testing
