#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A host reads and writes the other's disk with NVMe/TCP through the tunnel: the class is right, the
# rate holds as the receiver counts it, and data that is read is charged to its sender.
# vm-cost: 80
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-nvme-$$
for part in tests/harness/tap vm-testbed/topo/trays vm-testbed/topo/manual_sa tests/vm/lib/workload; do
	# shellcheck source=/dev/null
	. "$BWL_SOURCE/$part.sh"
done
modprobe -a nvmet nvmet-tcp nvme-tcp ||
	{ echo "1..0 # SKIP this kernel has no NVMe over TCP"; exit 77; }

NQN=nqn.2026-01.test:disk
TARGET=/sys/kernel/config/nvmet
target_up() { # the disk, in host2
	mountpoint -q /sys/kernel/config || mount -t configfs configfs /sys/kernel/config
	mkdir "$LAB_TMP/tmpfs" && mount -t tmpfs disk "$LAB_TMP/tmpfs" || return
	truncate -s 16M "$LAB_TMP/tmpfs/disk" # nvmet (6.12) sees no size for a file of an overlay
	mkdir "$TARGET/subsystems/$NQN" "$TARGET/subsystems/$NQN/namespaces/1" "$TARGET/ports/1" || return
	echo 1 >"$TARGET/subsystems/$NQN/attr_allow_any_host"
	echo 1 >"$TARGET/subsystems/$NQN/namespaces/1/buffered_io"
	echo "$LAB_TMP/tmpfs/disk" >"$TARGET/subsystems/$NQN/namespaces/1/device_path"
	echo 1 >"$TARGET/subsystems/$NQN/namespaces/1/enable" || return
	echo tcp >"$TARGET/ports/1/addr_trtype"
	echo ipv4 >"$TARGET/ports/1/addr_adrfam"
	echo 10.0.2.2 >"$TARGET/ports/1/addr_traddr"
	echo 4420 >"$TARGET/ports/1/addr_trsvcid"
	# The socket listens in the namespace of the process that makes the link.
	in_ns host2 ln -s "$TARGET/subsystems/$NQN" "$TARGET/ports/1/subsystems/$NQN"
}
# Counts the sectors that were read from the disk. udev probes a disk whenever a writer has closed it, and the
# storage side is charged for these reads: 0.4 MB after 3 MB were written. So udev is told to wait.
sectors_read() { awk '{ n += $3 } END { print n + 0 }' /sys/block/nvme*/stat; }
nobody_reads() { # whether the kernel has finished looking for partitions
	local was
	was=$(sectors_read)
	sleep 1
	[[ $(sectors_read) -eq $was ]]
}
disk_up() { # sets DISK: the block device, of host1's connection
	udevadm control --stop-exec-queue 2>/dev/null
	in_ns host1 sh -c "echo 'transport=tcp,traddr=10.0.2.2,trsvcid=4420,nqn=$NQN,nr_io_queues=1' >/dev/nvme-fabrics" || return
	DISK=/dev/$(cd /sys/class/nvme-subsystem && grep -l "$NQN" ./*/subsysnqn | sed 's/.*nvme-subsys\([0-9]*\).*/nvme\1n1/')
	lab_wait_for 30 sh -c "[ \$(blockdev --getsize64 $DISK) -eq $((16 << 20)) ]" &&
		lab_wait_for 30 nobody_reads
}
# shellcheck disable=SC2317 # called by the trap
gone() {
	for c in /sys/class/nvme/nvme*/delete_controller; do echo 1 >"$c"; done
	rm -f "$TARGET/ports/1/subsystems/$NQN"
	umount -l "$LAB_TMP/tmpfs"
	udevadm control --start-exec-queue
	rmdir "$TARGET/ports/1" "$TARGET/subsystems/$NQN/namespaces/1" "$TARGET/subsystems/$NQN"
	lab_down
} 2>/dev/null
copy() { timeout 100 dd bs=64k status=none "$@"; }

# Everything outside class NVMe/TCP (except pings) gets one frame now and then.
if ! workload_up 8 4 'other: { rate: 1kbit, burst: 1518b }'; then nok "two trays are up"; done_testing; exit 1; fi
trap gone EXIT
MB=3
head -c $((MB << 20)) /dev/urandom >"$LAB_TMP/data"
printf '%s' "$MARKER" | dd of="$LAB_TMP/data" bs=1 seek=100000 conv=notrunc status=none
printf '%s' "$MARKER" | dd of="$LAB_TMP/data" bs=1 seek=2000000 conv=notrunc status=none

capture_start wire s1 s2
check "the storage host exports a disk by NVMe/TCP" target_up
check "the other host connects to it through the tunnel" disk_up

owner=$(charged_at 1) storage=$(charged_at 2) sectors=$(sectors_read)
arrivals_start write host2 h0 'tcp port 4420'
check "it writes to the disk" copy if="$LAB_TMP/data" of="$DISK" oflag=direct
arrivals_stop write 8
owner=$(($(charged_at 1) - owner)) storage=$(($(charged_at 2) - storage))
note "written: $owner bytes charged to the writer's DPU, $storage to the storage's"
check "nobody read the disk meanwhile" test "$(sectors_read)" -eq "$sectors"
check "what is written is charged to the writer's grant" test $owner -ge $((MB << 20))
check "and the storage side pays for acknowledgements only" test $storage -lt $((MB << 17))
check "the receiver counts no more than rate × T + burst in any window" test "$excess" -le "$(burst_at 8)"
check "and no byte that was not charged" test "$arrived" -le $owner
check "the file holds what was written" cmp -n $((MB << 20)) "$LAB_TMP/data" "$LAB_TMP/tmpfs/disk"

owner=$(charged_at 1) storage=$(charged_at 2)
arrivals_start read host1 h0 'tcp port 4420'
check "it reads from the disk" copy if="$DISK" of="$LAB_TMP/read" iflag=direct count=$((MB << 4))
arrivals_stop read 4
owner=$(($(charged_at 1) - owner)) storage=$(($(charged_at 2) - storage))
note "read: $owner bytes charged to the reader's DPU, $storage to the storage's"
check "what is read is charged to the storage side's grant" test $storage -ge $((MB << 20))
check "and the reader pays for what it asks only" test $owner -lt $((MB << 17))
check "the reader's host receives no more than that grant's rate × T + burst in any window" \
	test "$excess" -le "$(burst_at 4)"
check "it has read what was written" cmp "$LAB_TMP/data" "$LAB_TMP/read"
check "nothing of it was of another class" test "$(frames_of 1 class-rate)$(frames_of 2 class-rate)" = 00

# The class has a limit of its own below the grant.
tray_apply 1 < <(workload_policy 1 2 8 'nvme-tcp: { rate: 2mbit, burst: 150000b }')
arrivals_start class host2 h0 'tcp port 4420'
check "with a lower limit for its class it writes" copy if="$LAB_TMP/data" of="$DISK" oflag=direct count=16
arrivals_stop class 2
check "and is held to that" test "$excess" -le "$(burst_at 2)"
check "by the limit of the class" test "$(frames_of 1 class-rate)" -gt 0

check "the captures are whole" capture_stop wire
check "only ESP, ARP and ND left the trays" capture_only_encrypted wire
check "the marker in the data never passed in the clear" capture_lacks_marker wire
leak_end
done_testing
