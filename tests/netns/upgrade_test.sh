#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# `bwlimit-load upgrade` from 0.3.0 to this version (docs/upgrade.md), under traffic: its real tools attach, apply, revoke; then
# this tree's tools take over. Judged by the receiver: never a byte above a volume, no packet to the revoked peer. The same with
# recorded maps, in a clone without history: prog.recorded_maps_test.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-upgr-$$ LAB_DESTS=3
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
# shellcheck source=../harness/old.sh
. "$here/old.sh"
TOTAL=$((5 << 20)) WINDOW=$((3 << 20)) # bytes
lab_up || exit 1
BPFTOOL=$(command -v bpftool || echo /usr/sbin/bpftool)

load() { in_dpu "$LOAD" "$@" >"$LAB_TMP/out" 2>"$LAB_TMP/err"; }
shown() { "$@" || { note "$(cat "$LAB_TMP/out" "$LAB_TMP/err")"; false; }; }
ctl() { in_dpu "$CTL" "$@"; }
is_up() { ip_in dpu -o link show dev "$1" | grep_all '[<,]UP[,>]'; }
peer() { ctl peer show "$1" --json | jq -r "$2"; }
says() { grep -q -- "$1" "$LAB_TMP/err" || { note "$(cat "$LAB_TMP/err")"; false; }; }
at_least() { [[ $1 -ge $2 ]] || { note "$1 is less than $2"; false; }; }
is() { [[ $1 -eq $2 ]] || { note "$1 is not $2"; false; }; }
at_most() { [[ $1 -le $2 ]] || { note "$1 is more than $2"; false; }; }
# Pins of the maps and what each link runs, by the kernel's ids: a refusal must not change them.
everything() {
	local pin
	for pin in "$LAB_PINS"/maps/*; do
		echo "${pin##*/} $("$BPFTOOL" -j map show pinned "$pin" | jq -c '[.id, .bytes_value, .max_entries]')"
	done
	for pin in "$LAB_PINS"/links/*; do
		echo "${pin##*/} $("$BPFTOOL" -j link show pinned "$pin" | jq -c '[.id, .prog_id]')"
	done
	"$BPFTOOL" map dump pinned "$LAB_PINS/maps/bwl_schema_v1"
	"$BPFTOOL" map dump pinned "$LAB_PINS/maps/bwl_ctl_v1"
}
# Which name has which id, and what is revoked.
owners() {
	"$BPFTOOL" map dump pinned "$LAB_PINS/maps/bwl_name_v1"
	"$BPFTOOL" map dump pinned "$LAB_PINS/maps/bwl_gate_v1"
}
frames_of() { # reason
	ctl reasons --port hpf0 --json | jq --arg r "$1" '[.reasons[] | select(.reason == $r) | .frames] | add // 0'
}
# Frames that the host's port received without a reason: they came before attach. Read while no frame comes.
unaccounted() {
	local rx again counted
	for _ in 1 2 3 4 5; do
		rx=$(lab_rx dpu hpf0)
		counted=$(ctl reasons --port hpf0 --json | jq '[.reasons[].frames] | add // 0')
		again=$(lab_rx dpu hpf0)
		[[ $rx != "$again" ]] || break
	done
	echo $((${rx#* } - counted))
}
arrived() { # judge destination: bytes of what the host sent there
	awk -v to="$(lab_dest4 "$2")" '$1 == "0800" && $2 == to { n += $5 } END { printf "%d\n", n }' "$LAB_TMP/$1"
}
judge_on() { # name destination: sets LAB_PID
	lab_bg "$1" "d$2" "$FRAMES" count eth0
	lab_wait_for 5 grep -q ready "$LAB_TMP/$1"
}

policy() {
	lab_policy_head none <<-END
	peers:
	$(lab_peer total 1 "grant: { rate: 8mbit, volume: ${TOTAL}b }")
	$(lab_peer window 2 "grant: { rate: 8mbit, volume: ${WINDOW}b per 1h }")
	$(lab_peer gone 3 "grant: { rate: 8mbit }")
	END
}

# What the old version leaves behind for the new one, with traffic on it.
begin() {
	old
	[[ ! -d $LAB_PINS ]] || load detach
	policy >"$LAB_TMP/policy.yaml"
	load attach --policy "$LAB_TMP/policy.yaml" --max-peers 64 --fresh-volume || return
	in_host ping -q -c 3 -i 0.2 -W 2 "$(lab_dest4 3)" >/dev/null # neighbours are known
}
# Where 0.3.0 cannot be built: this one's, for what follows.
begin_here() {
	new
	policy >"$LAB_TMP/policy.yaml"
	load attach --policy "$LAB_TMP/policy.yaml" --max-peers 64 --fresh-volume
}
steal() { # to all three: file of what is said, packets a second of 1 kB; sets LAB_PID
	local i
	for i in 1 2 3; do echo "eth ip4 src=$HOST4 dst=$(lab_dest4 $i) udp dport=9 fill=1000"; done >"$LAB_TMP/frames"
	lab_bg "$1" host sh -c 'exec "$@" <"$0"' "$LAB_TMP/frames" \
		"$FRAMES" send h0 --gw "$(lab_mac dpu hpf0)" --seconds 1200 --pps "$2"
}
spent() { # both volumes
	[[ $(peer total .left.used_bytes) -ge $((TOTAL - 1100)) && $(peer window .left.used_bytes) -ge $((WINDOW - 1100)) ]]
}

sent_frames() { in_host awk '$1 == "h0:" { print $11 }' /proc/net/dev; }
sends_on() { [[ $(sent_frames) -gt $((sent_at + 1000)) ]]; }

crossing() { # does a map change its shape?
	local stops=$1 judges=() thieves=() owned used windowed passed before same=''
	old_wanted "an upgrade from $OLD_VERSION" || return
	check "$OLD_VERSION attaches" shown begin
	before=$(unaccounted)
	for i in 1 2 3; do judge_on "at-$i" $i; judges+=("$LAB_PID"); done
	steal slowly 900 # the window lasts until the upgrade, on a slow machine too
	thieves=("$LAB_PID")
	lab_wait_for 20 eval '[ "$(peer window .left.used_bytes)" -gt $((WINDOW / 6)) ]'
	ctl revoke gone >/dev/null 2>&1
	lab_settle
	lab_stop "${judges[2]}"
	check "the peer that is revoked got something before" at_least "$(arrived at-3 3)" 100000
	judge_on revoked 3
	judges[2]=$LAB_PID
	owned=$(owners) used=$(peer total .left.used_bytes) windowed=$(peer window .left.used_bytes)
	passed=$(frames_of pass)
	check "$OLD_VERSION counts" at_least "$passed" 1000
	check "volumes are not spent yet" at_most "$windowed" $((WINDOW - 100000))

	new
	if load status; then
		same=yes
		check "tools of this version read its maps: their layout is the same" [ "$(peer gone .state)" = revoked ]
	else
		refute "tools of this version refuse its maps" load verify
		check "and say what to do" says "bwlimit-load upgrade"
	fi
	lab_bg guard dpu "$LOAD" guard --uplink p0
	lab_wait_for 5 grep -q watching "$LAB_TMP/guard.err"
	ip_in dpu link set hpf0 alias "looked at" # news of it
	sleep 0.3
	lab_stop "$LAB_PID"
	check "but its guard knows that the port is attached" is_up hpf0
	steal quickly 3600
	thieves+=("$LAB_PID")
	check "upgrade takes them over under traffic" shown load upgrade
	check "no name has another id, and no revocation is gone" [ "$(owners)" = "$owned" ]
	check "what is spent stays spent" at_least "$(peer total .left.used_bytes)" "$used"
	check "in the window, too" at_least "$(peer window .left.used_bytes)" "$windowed"
	check "counters go on" at_least "$(frames_of pass)" "$passed"
	if [[ $stops == yes ]]; then
		check "what came in between has the reason upgrade" at_least "$(frames_of upgrade)" 1
	else
		check "no packet was refused in between" [ "$(frames_of upgrade)" -eq 0 ]
	fi
	check "verify is clean" shown load verify
	check "and the peer is still revoked" [ "$(peer gone .state)" = revoked ]
	check "the rest of both volumes can be used" lab_wait_for 30 spent
	sent_at=$(sent_frames)
	check "and they are beyond it" lab_wait_for 60 sends_on
	for i in "${thieves[@]}"; do lab_stop "$i"; done
	lab_settle
	for i in "${judges[@]}"; do lab_stop "$i"; done
	note "$(arrived at-1 1) of $TOTAL bytes, $(arrived at-2 2) of $WINDOW in the window, $(arrived revoked 3) revoked"
	check "never a byte above the volume arrived" at_most "$(arrived at-1 1)" $TOTAL
	check "nor above the window's" at_most "$(arrived at-2 2)" $WINDOW
	check "but all of it, up to what the upgrade caught on its way" at_least "$(arrived at-1 1)" $((TOTAL - 20000))
	check "and of the window" at_least "$(arrived at-2 2)" $((WINDOW - 20000))
	check "nothing for the revoked peer" [ "$(arrived revoked 3)" -eq 0 ]
	check "every frame that the port received has its reason" is "$(unaccounted)" "$before"

	before=$(everything) owned=$(owners) used=$(peer total .left.used_bytes)
	old
	if [[ $same ]]; then
		check "while the layouts are the same, its upgrade leads back" shown load upgrade
		check "where verify is clean" shown load verify
		check "no name has another id, and no revocation is gone" [ "$(owners)" = "$owned" ]
		check "what is spent stays spent" at_least "$(peer total .left.used_bytes)" "$used"
		new
		check "and this version's leads here again" eval 'shown load upgrade && shown load verify'
	else
		refute "a downgrade is refused" load upgrade
		check "and says what to do" says "detach"
		check "before it has touched anything" [ "$(everything)" = "$before" ]
		new
	fi
}

crossing yes
[[ -d $LAB_PINS ]] || begin_here

# A layout of a version before 0.3.0, and one of a version that does not exist yet.
check "there are maps" [ -d "$LAB_PINS" ]
if [[ -d $LAB_PINS ]]; then
	was=$("$BPFTOOL" -j map lookup pinned "$LAB_PINS/maps/bwl_schema_v1" key 0 0 0 0 | jq -r '.value | join(" ")')
	of_layout() { # its 8 bytes, the last ones of the schema
		# shellcheck disable=SC2046 # bytes
		"$BPFTOOL" map update pinned "$LAB_PINS/maps/bwl_schema_v1" key hex 00 00 00 00 value hex \
			$(sed 's/0x//g; s/\( [^ ]*\)\{8\}$//' <<<"$was") "$@"
	}
	of_layout f4 3c 16 44 e0 9f 26 1c
	refute "maps of a version before 0.3.0 are refused" load upgrade
	check "and it says with what to go on" says "of a version before 0.3.0: install 0.3.0 and run its bwlimit-load upgrade"
	of_layout ee ee ee ee ee ee ee ee
	before=$(everything)
	refute "maps of a version that is unknown are refused" load upgrade
	check "and it says so" says "of a later version: install it, or a later one, and run its bwlimit-load upgrade"
	refute "other tools refuse them, too" load verify
	refute "and attach does not touch them" load attach --host hpf0 --uplink p0
	check "before anything was touched" [ "$(everything)" = "$before" ]
	# shellcheck disable=SC2086
	"$BPFTOOL" map update pinned "$LAB_PINS/maps/bwl_schema_v1" key hex 00 00 00 00 value hex ${was//0x/}
	check "of this one they are upgraded again" shown load upgrade
	check "attach opens the host port, which it had set down when it was refused" shown load attach --host hpf0 --uplink p0
	ctl grant gone reason again >/dev/null 2>&1
	lab_wait_for 30 lab_both 3
	LIVE_DEST=3 live "maps whose layout was damaged are upgraded and attached, and the peer is granted again"
	check "and detach takes all away" shown load detach
fi
done_testing
