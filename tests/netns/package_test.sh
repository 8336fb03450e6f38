#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The package's maintainer scripts on a lab's ports: an upgrade keeps enforcing under traffic, a
# removal leaves host ports down unless they were opened before. Purge is shown in a VM.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB=bwl-pack-$$ LAB_DESTS=2
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/../harness/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/../harness/live.sh"
lab_up || exit 1

# Programs as the package installs them, and stand-ins for what would touch this machine's units.
mkdir "$LAB_TMP/bin" "$LAB_TMP/broken"
ln -s "$LOAD" "$CTL" "$LAB_TMP/bin"
for stub in systemctl deb-systemd-invoke; do
	printf '#!/bin/sh\necho "%s $*" >>%s/systemd\n' $stub "$LAB_TMP" >"$LAB_TMP/bin/$stub"
	chmod +x "$LAB_TMP/bin/$stub"
done
printf '#!/bin/sh\nexit 1\n' >"$LAB_TMP/broken/bwlimit-load"
chmod +x "$LAB_TMP/broken/bwlimit-load"
maint() { maint_of bwlimit "$@"; } # script arguments…
maint_of() { # package script arguments…
	local script=$here/../../debian/$1.$2
	shift 2
	in_dpu env PATH="$LAB_TMP/bin:$PATH" sh "$script" "$@" >"$LAB_TMP/out" 2>&1
}
shown() { "$@" || { note "$(cat "$LAB_TMP/out")"; false; }; }
says() { grep -q -- "$1" "$LAB_TMP/out" || { note "$(cat "$LAB_TMP/out")"; false; }; }
pings() { in_host ping -q -c "${1:-1}" -i 0.2 -W 2 "$(lab_dest4 1)" >/dev/null; }
links() { in_dpu "$LOAD" status --json | jq -c '[.ports[].programs[] | [.program, .link_id]]'; }
attach() { in_dpu "$LOAD" attach --policy "$LAB_TMP/policy.yaml" >"$LAB_TMP/out" 2>&1; }

check "installed where nothing is attached, it attaches nothing" shown maint postinst configure
check "and nothing is started" [ ! -e "$LAB_TMP/systemd" ]
cat >"$LAB_TMP/policy.yaml" <<END
version: 1
node: package
uplinks: [p0]
host_ports: [{ dev: hpf0, sources: [10.7.0.0/24, "fd00:7::/64"] }]
heartbeat: none
peers:
  - { name: d1, addresses: [10.101.0.0/24, "fd00:101::/64"], path: clear, via: $LAB_VIA4, via6: "$LAB_VIA6", grant: { rate: 100mbit } }
END
attach || exit 1
before=$(links)

# --- upgrade, while a host sends where it may and where it may not
lab_bg stranger d2 "$FRAMES" count eth0
stranger=$LAB_PID
lab_wait_for 5 grep -q ready "$LAB_TMP/stranger"
echo "eth ip4 src=$HOST4 dst=$(lab_dest4 2) udp dport=9 fill=1000" >"$LAB_TMP/frame"
lab_bg sent host sh -c 'exec "$@" <"$0"' "$LAB_TMP/frame" \
	"$FRAMES" send h0 --gw "$(lab_mac dpu hpf0)" --seconds 900 --pps 500
flood=$LAB_PID
upgraded() { maint prerm upgrade 9.9 && maint preinst upgrade 0.3.0 9.9 && maint postinst configure 0.3.0; }
check "an upgrade loses no packet that the policy allows" lab_lossless 1000 upgraded
check "programs were replaced in the links that they had" [ "$(links)" = "$before" ]
check "verify is clean" lab_verifies
if [[ -d /run/systemd/system ]]; then
	check "daemons are restarted, bwlimit.service is not" eval \
		'grep -q "restart bwlimitd" "$LAB_TMP/systemd" && ! grep -q "bwlimit\.service" "$LAB_TMP/systemd"'
else
	skip "daemons are restarted, bwlimit.service is not" "no systemd runs here"
fi

# --- the journal: made by a first installation, and never if it should exist already
export BWLIMIT_JOURNAL_DIR=$LAB_TMP/journal
journal() { "$CTL" --json journal show | jq -r .state; }
check "an upgrade" shown maint postinst configure 0.3.0
check "makes none: one that is missing was taken away" [ "$(journal)" = missing ]
check "and says what to do" says "there is no journal of what is closed"
check "a first installation makes one" eval 'shown maint postinst configure && [ "$(journal)" = ok ]'
in_dpu "$CTL" revoke d1 >/dev/null
check "the same again" shown maint postinst configure
check "an upgrade, too" shown maint postinst configure 0.3.0
refute "says nothing of a journal that is there" grep -q journal "$LAB_TMP/out"
check "keeps what is in it" eval '[ "$("$CTL" --json journal show | jq -r ".peer_names[]")" = d1 ]'
in_dpu "$CTL" grant d1 reason test >/dev/null
export BWLIMIT_JOURNAL_DIR=

# --- from a version before 0.3.0: refused before anything is unpacked
printf '#!/bin/sh\necho 0.2.5\n' >"$LAB_TMP/bin/dpkg-query"
chmod +x "$LAB_TMP/bin/dpkg-query"
says_first() { says "Install 0.3.0 first" && says "apt install bwlimit=0.3.0 bwlimit-tools=0.3.0"; }
for how in "bwlimit upgrade 0.2.5 0.4.0" "bwlimit upgrade 0.1.0 0.4.0" "bwlimit-tools install" "bwlimit-tools upgrade 0.2.5 0.4.0"; do
	# shellcheck disable=SC2086 # words
	refute "refused: $how" maint_of ${how%% *} preinst ${how#* }
	check "it says which version comes first" says_first
done
check "from 0.3.0 on it goes on" shown maint preinst upgrade 0.3.0 0.4.0
check "a first installation does" shown maint preinst install
printf '#!/bin/sh\necho 0.3.0\n' >"$LAB_TMP/bin/dpkg-query"
check "of the tools, too, beside 0.3.0" shown maint_of bwlimit-tools preinst install
printf '#!/bin/sh\nexit 1\n' >"$LAB_TMP/bin/dpkg-query"
check "and on a desk" shown maint_of bwlimit-tools preinst install
rm "$LAB_TMP/bin/dpkg-query"

# --- an upgrade that is refused: the new version does not know the layout of the maps
mv "$LAB_PINS/maps/bwl_state_v1" "$LAB_PINS/bwl_state_v1"
: >"$LAB_TMP/systemd"
check "an upgrade that is refused is no failed installation" shown maint postinst configure 0.3.0
check "it says that the version before enforces" says "still of version 0.3.0"
check "and one next step" [ "$(grep -c 'bwlimit: .*bwlimit-load' "$LAB_TMP/out")" -eq 1 ]
if [[ -d /run/systemd/system ]]; then
	refute "no daemon is restarted: it may not know these maps" grep -q restart "$LAB_TMP/systemd"
else
	skip "no daemon is restarted: it may not know these maps" "no systemd runs here"
fi
check "granted traffic passes" pings 3
check "of both families: the judge of what must not pass is not deaf" lab_both
check "the host port is up" lab_is_up hpf0
live "an upgrade was refused"
mv "$LAB_PINS/bwl_state_v1" "$LAB_PINS/maps/bwl_state_v1"

# --- removal
mv "$LAB_TMP/bin/bwlimit-load" "$LAB_TMP"
ln -s "$LAB_TMP/broken/bwlimit-load" "$LAB_TMP/bin"
refute "a removal fails where detach does" maint prerm remove
check "and what is attached enforces" pings 3
live "a removal has failed"
mv "$LAB_TMP/bwlimit-load" "$LAB_TMP/bin"
check "a removal works" shown maint prerm remove
refute "the host port is down" lab_is_up hpf0
check "no pin is left" [ ! -e "$LAB_PINS" ]
check "what is not attached any more refuses no version" shown maint preinst upgrade 0.2.5 0.4.0
ip_in dpu link set hpf0 up
check "and nothing forwards, also where something sets it up again" lab_silent
attach
check "who wants it open says so before" eval 'in_dpu "$LOAD" detach --open >"$LAB_TMP/out" 2>&1'
check "then a removal" shown maint prerm remove
check "leaves it so" lab_is_up hpf0
check "the host sends where it may not, to the end" kill -TERM "$flood"
wait "$flood"
lab_stop "$stranger"
check "not one frame reached who has no grant" eval \
	'grep -q "^total" "$LAB_TMP/stranger" && ! awk -v s="$HOST4" "\$3 == s" "$LAB_TMP/stranger" | grep_all .'
done_testing
