#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# record_version.sh COMMIT NAME: what the tools of a commit leave behind, into tests/recordings/: maps-NAME, the
# pinned maps as text (recorded.h), and state-NAME.tar.gz, the state directory. Run once for each version; its tests read
# these files, and need neither the history nor the old tools. All traffic is sent by the first CPU.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[[ $# -eq 2 ]] || { echo "usage: record_version.sh COMMIT NAME" >&2; exit 2; }
LAB=bwl-record-$$ LAB_DESTS=4 LAB_HOSTS=2
LAB_SOURCES=('10.7.0.0/24, "fd00:7::/64"' '10.7.1.0/24')
# shellcheck source=lab.sh
. "$here/lab.sh"
# shellcheck source=old.sh
. "$here/old.sh"
into=$here/../recordings
OLD=$(old_tools "$1") || { echo "no tools of $1" >&2; exit 1; }
old
lab_up || exit 1
state=$LAB_TMP/state
mkdir -p "$state/audit"
export BWLIMIT_STATE_DIR=$state BWLIMIT_JOURNAL_DIR=$state/journal BWLIMIT_AUDIT_DIR=$state/audit

must() { "$@" || { cat "$LAB_TMP/err" "$LAB_TMP/out" >&2; echo "failed: $*" >&2; exit 1; }; }
ctl() { in_dpu "$CTL" "$@" >"$LAB_TMP/out" 2>&1 || { cat "$LAB_TMP/out" >&2; return 1; }; }
used() { in_dpu "$CTL" peer show "$1" --json | jq .left.used_bytes; }
say() { # packets destination words
	echo "eth ip4 src=$HOST4 dst=$(lab_dest4 "$2") $3 fill=1000" |
		in_host taskset -c 0 "$FRAMES" send h0 --gw "$(lab_mac dpu hpf0)" --count "$1" >/dev/null
}
is_released() { in_dpu "$CTL" --json peer show "$1" | jq -e '.left.used_bytes > 20000' >/dev/null; }
is_written() { in_dpu "$CTL" history "$1" --state-dir "$state" --json --since 1h | jq -e '.total.sent_bytes > 20000' >/dev/null; }

classes="ssh: { rate: 1mbit, burst: 32kb }, other: { rate: 8mbit, burst: 64kb, volume: 90kb }"
accept="rate: 8mbit, volume: 100kb"
lab_policy_head none <<-END >"$LAB_TMP/policy.yaml"
zones:
  ext: { rate: 100mbit, volume: 20mb }
peers:
$(lab_peer total 1 "grant: { rate: 80mbit, burst: 64kb, volume: 200kb }")
$(lab_peer window 2 "grant: { rate: 80mbit, burst: 64kb, volume: 300kb per 1h }")
$(lab_peer gone 3 "grant: { rate: 80mbit, burst: 64kb, volume: 10mb }")
$(lab_peer parts 4 "zone: ext, grant: { rate: 80mbit, burst: 64kb }, accept: { $accept }, classes: { $classes }")
END
must ctl journal init
must ctl audit init --origin bwlimit/recorded
must lab_load attach --policy "$LAB_TMP/policy.yaml" --max-peers 64 --max-extras 256 --max-windows 16 --fresh-volume
lab_bg agent dpu "$AGENT" --policy "$LAB_TMP/policy.yaml" --state-dir "$state" --tpm none --history-size 8mb --totals none
agent=$LAB_PID
must lab_wait_for 30 test -s "$state/ledger.db"
for i in 1 2 3 4; do in_host ping -q -c 2 -i 0.2 -W 2 "$(lab_dest4 $i)" >/dev/null; done # neighbours are known
for i in 1 2 3 4; do must say 40 $i "udp dport=9"; done
must say 10 4 "tcp dport=22"
must ctl revoke gone
must say 5 3 "udp dport=9"
must lab_wait_for 30 is_released total
must lab_wait_for 30 is_released window
must lab_wait_for 60 is_written parts
lab_stop "$agent"
echo "used: total $(used total), window $(used window), gone $(used gone)"
must "$LAB_BUILD/tests/harness/bwl-record-maps" "$LAB_PINS" >"$LAB_TMP/maps"
{
	echo "# The maps of $2 (commit $1), by tests/harness/record_version.sh."
	cat "$LAB_TMP/maps"
} >"$into/maps-$2"
rm -rf "$into/state-$2"
find "$state" -type s -delete
tar -C "$state" --sort=name --owner=0 --group=0 --numeric-owner -cf - . | gzip -9n >"$into/state-$2.tar.gz"
ls -l "$into/maps-$2" "$into/state-$2.tar.gz"
tar -tzf "$into/state-$2.tar.gz"
