#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Hidden pins are distinguished from "nothing is attached": each case has an id and a next step, and
# there is no second attach next to hidden pins.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB=bwl-hid-$$ LAB_DESTS=1
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/../harness/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/../harness/live.sh"
lab_up || exit 1
never=$LAB_PINS-never

# bwlimit-load in a separate mount namespace, after a command there.
hid() { # mount command, command of bwlimit-load…
	in_dpu unshare --mount --propagation private sh -c "$1"' && shift && exec "$@"' sh "$1" "$LOAD" "${@:2}" \
		>"$LAB_TMP/out" 2>"$LAB_TMP/err"
}
UMOUNT='while umount /sys/fs/bpf 2>/dev/null; do :; done; ! mountpoint -q /sys/fs/bpf'
TMPFS='mount -t tmpfs none /sys/fs/bpf'
SYS='mount -t sysfs none /sys'
OTHER='mount -t bpf bpf /sys/fs/bpf'
OWN="$UMOUNT && $OTHER"
is_said() { # id, words of the next step
	jq -e --arg id "$1" --arg todo "$2" '.kind == "error" and .error.id == $id and (.error.todo | contains($todo))' \
		"$LAB_TMP/out" >/dev/null || { note "$(cat "$LAB_TMP/out" "$LAB_TMP/err")"; false; }
}
names_ports() { jq -e '.error.text | contains("hpf0") and contains("p0")' "$LAB_TMP/out" >/dev/null; }
each_says() { # mount command, id, next step [verbs]: of every verb that needs the pins
	local verb
	for verb in status verify up upgrade ${4-detach}; do
		hid "$1" $verb --json && return 1
		is_said "$2" "$3" || { note "$verb"; return 1; }
	done
}
attach_here() { lab_load attach --policy "$LAB_TMP/policy.yaml" --fresh-volume "$@"; }
refused_beside() { # mount command
	! hid "$1" attach --host hpf0 --uplink p0 --json && jq -e '.error.id | startswith("bpffs-")' "$LAB_TMP/out" >/dev/null
}
# What enforces, by the kernel's own ids: programs on the ports, and the rules.
enforces() {
	in_dpu "${BPFTOOL:=$(command -v bpftool || echo /usr/sbin/bpftool)}" -j net show | jq -S .
	ip_in dpu rule; ip_in dpu -6 rule
}
stays() { [[ $(enforces) == "$before" ]]; }

lab_policy_head none >"$LAB_TMP/policy.yaml" <<-END
peers:
$(lab_peer d1 1 "grant: { rate: 1gbit }")
END

# --- nothing is there
check "with nothing attached each says so" each_says true nothing-attached "bwlimit-load attach"
check "without a BPF file system each says that" each_says "$UMOUNT" bpffs-missing "mount -t bpf"
check "and attach, too" eval '! hid "$UMOUNT" attach --host hpf0 --uplink p0 --json && is_said bpffs-missing "mount -t bpf"'
check "with a mount over it each says what lies there" each_says "$TMPFS" bpffs-hidden "umount /sys/fs/bpf"
check "also with one over a folder above" each_says "$SYS" bpffs-hidden "umount /sys"

# --- attached
check "attach" attach_here
check "traffic passes" lab_both
before=$(enforces)
check "with a mount over it each says what lies there, and on which ports programs are" \
	each_says "$TMPFS" bpffs-hidden "umount /sys/fs/bpf"
check "by name" names_ports
check "also with one over a folder above" each_says "$SYS" bpffs-hidden "umount /sys"
check "a second BPF file system over the first hides it" each_says "$OTHER" bpffs-hidden "umount /sys/fs/bpf"
check "in a mount namespace without it each says where it is" each_says "$UMOUNT" bpffs-elsewhere "nsenter --mount"
check "by name of the ports" names_ports
check "also in one with a BPF file system of its own" each_says "$OWN" bpffs-elsewhere "nsenter --mount"
for how in "$TMPFS" "$OTHER" "$UMOUNT" "$OWN"; do
	check "nobody attaches beside it: $how" refused_beside "$how"
done
check "and whatever was typed, programs and rules are as they were" stays
check "traffic passes as before" lab_both
live "what lay over the pins is gone"
check "and the pins, in sight, are clean" lab_verifies --management lo

# --- another folder's
check "of another folder it says that programs are on the ports" \
	eval '! lab_load status --json --pin-dir "$never" && is_said pins-removed "--pin-dir"'
check "by name" names_ports

# --- pins that were removed
rm "$LAB_PINS"/maps/*
check "without the maps' pins it says that they were removed" each_says true pins-removed "bwlimit-load attach with the same ports" ""
check "by name of the ports" names_ports
check "attach repairs it" attach_here
check "and says what was there" grep -q "they were removed; new maps are made" "$LAB_TMP/err"
check "verify is clean then" lab_verifies --management lo
check "and traffic passes" lab_both
live "the maps' pins were removed, and it is attached again"
lab_load detach
check "with clsact filters" attach_here --tc clsact
rm -r "$LAB_PINS"
check "the filters stay when all pins are removed, and are found" each_says true pins-removed "bwlimit-load attach with the same ports"
check "attach repairs that, too" attach_here --tc clsact
check "to a clean verify" lab_verifies --management lo
live "all pins were removed, and it is attached again"
check "detach takes it away" lab_load detach
check "and then nothing is attached" each_says true nothing-attached "bwlimit-load attach"
done_testing
