# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# A fleet of two people, alice and bob, and a controller's online key, in $FLEET; source it after lab.sh.

FLEET=$LAB_TMP/fleet
ENROL=$LAB_BUILD/tests/harness/bwl-enrol
# Documents are timed in whole seconds, and which of two of the same second is newer nobody can tell. After clock_begin, CTL
# and AGENT (or the one of them that is named) have a wall clock that `later` moves on by a second, so that no test waits
# for one.
clock_begin() { # [CTL|AGENT]
	local tool
	LATER=0
	later 0
	mkdir -p "$LAB_TMP/clocked"
	for tool in ${1:-CTL AGENT}; do
		printf '#!/bin/sh\nexec env LD_PRELOAD=%q BWL_CLOCK=%q %q "$@"\n' "$LAB_BUILD/tests/harness/bwl-clock.so" \
			"$LAB_TMP/clock" "${!tool}" >"$LAB_TMP/clocked/$tool"
		chmod +x "$LAB_TMP/clocked/$tool"
		declare -g "$tool=$LAB_TMP/clocked/$tool"
	done
}
later() { # [seconds]
	LATER=$((LATER + ${1:-1}))
	printf '%08d' "$LATER" 1<>"$LAB_TMP/clock"
}
clock_now() { echo $(($(date +%s) + LATER)); }
people_root() { # [epoch] [number]: $FLEET/root
	mkdir -p "$FLEET"
	local who ids=()
	for who in alice bob controller; do
		[[ -e $FLEET/$who.pem ]] || "$CTL" --json key new "$FLEET/$who.pem" >"$FLEET/$who.json" || return
		ids+=("$(jq -r .key_id "$FLEET/$who.json")")
	done
	jq -n --arg a "${ids[0]}" --arg b "${ids[1]}" --arg c "${ids[2]}" \
		--slurpfile pa "$FLEET/alice.json" --slurpfile pb "$FLEET/bob.json" --slurpfile pc "$FLEET/controller.json" '
		{keys: {($a): {public: $pa[0].raw_public_key, owner: "alice"}, ($b): {public: $pb[0].raw_public_key, owner: "bob"},
			($c): {public: $pc[0].raw_public_key, owner: "controller"}},
		 roles: {root: {threshold: 2, keys: [$a, $b]}, policy: {threshold: 2, keys: [$a, $b]},
			online: {threshold: 1, keys: [$c]}}}' >"$FLEET/root.json"
	people_sign "$FLEET/root.json" "$FLEET/root" alice,bob --type root --name root --number "${2:-1}" --epoch "${1:-1}" --for 365d
}
# A document signed by them; the last words go to `policy sign`.
people_sign() { # FILE OUT WHO[,WHO] OPTIONS…
	local file=$1 out=$2 who first=1
	local -a all
	IFS=, read -ra all <<<"$3"
	shift 3
	for who in "${all[@]}"; do
		if [[ $first ]]; then
			"$CTL" policy sign "$file" --key "$FLEET/$who.pem" --fleet hall-3 --out "$out" "$@" >"$FLEET/said" 2>&1 ||
				{ cat "$FLEET/said"; return 1; }
			first=
		else
			"$CTL" policy sign "$out" --key "$FLEET/$who.pem" >"$FLEET/said" 2>&1 || { cat "$FLEET/said"; return 1; }
		fi
	done
}
people_enrolment() { # [number] [epoch]: $FLEET/enrolment
	local root
	root=$("$CTL" --json policy verify "$FLEET/root" | jq -r .digest)
	jq -n --arg r "$root" '{tray: "tray-7", root: $r}' >"$FLEET/enrolment.json"
	people_sign "$FLEET/enrolment.json" "$FLEET/enrolment" alice,bob --type enrolment --audience tray:tray-7 --name tray-7 \
		--number "${1:-1}" --epoch "${2:-1}" --for 365d
}
people_enrol() { # DIR: signed.json there
	people_root && people_enrolment && "$ENROL" "$1" "$FLEET/root" "$FLEET/enrolment"
}
