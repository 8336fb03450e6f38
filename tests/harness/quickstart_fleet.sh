# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# ./quickstart --fleet: shows on three trays what a fleet does, each step with a verdict. Source it after fleet_lab.sh,
# in a script that has say(), die() and show().

FLEET_POLICY=packaging/examples/fleet.yaml
FLEET_STAGES=34,100
fleet_rows=()
fleet_failed=0

fleet_row() { # what, what was seen, seconds or null, command…: ok where it succeeds
	local verdict=ok
	"${@:4}" || verdict='not as it should be' fleet_failed=1
	[[ $verdict == ok ]] || fleet_failed=1
	fleet_rows+=("$1|$2|$3|$verdict")
	printf '   %-58s %-34s %s\n' "$1" "$2" "$verdict"
}
# Steps that take longer than a second report progress: at a terminal in one line, otherwise every ten seconds.
await() { # what, seconds, command…
	local began=$SECONDS end=$((SECONDS + $2)) told=0 what=$1 asked
	shift 2
	until asked=${EPOCHREALTIME/[.,]/} && "$@" >/dev/null 2>&1; do
		if [[ $SECONDS -ge $end ]]; then
			[[ $told -eq 0 || ! -t 1 ]] || echo
			printf '   %s: not within %d s\n' "$what" $((end - began))
			return 1
		fi
		if [[ -t 1 && $SECONDS -gt $began ]]; then
			printf '\r   … %s: %d s ' "$what" $((SECONDS - began))
			told=1
		elif [[ $((SECONDS - began)) -ge $((told + 10)) ]]; then
			told=$((SECONDS - began))
			printf '   … %s: %d s\n' "$what" "$told"
		fi
		pause_since 100000 "$asked"
	done
	[[ $told -eq 0 || ! -t 1 ]] || echo
}
ms() { echo $(($(date +%s%N) / 1000000)); }
seconds() { awk -v ms=$(($(ms) - $1)) 'BEGIN { printf "%.1f", ms / 1000 }'; } # since that ms()

# A document is sent, and trays are waited for: progress is shown here, the result is in $LAB_TMP/order.
order() { # command…
	"$@" --json 2>"$LAB_TMP/order.err" | tee "$LAB_TMP/order.all" | jq --unbuffered -r \
		'select(.kind == "fleet-wait") | "   … \(.acknowledged_count) of \(.tray_count) trays have it"' | uniq
	jq -cs last "$LAB_TMP/order.all" >"$LAB_TMP/order"
}
ordered() { jq -r "$1" "$LAB_TMP/order"; }
took() { ordered '.took_s * 1000 | round / 1000'; }
order_is() { jq -e "$1" "$LAB_TMP/order" >/dev/null || { head -c 600 "$LAB_TMP/order" "$LAB_TMP/order.err"; false; }; }
fleet_sign() { # FILE WHO OPTIONS…: signed to FILE.signed, or one signature more
	show bwlimit-ctl policy sign "${1##*/}" --key "$2.pem" "${@:3}"
	"$CTL" policy sign "$1" --key "$FLEET/keys/$2.pem" "${@:3}" >"$LAB_TMP/said" || die "$(cat "$LAB_TMP/said")"
}
# Rates and states from the trays' maps.
tray_rate() { tray_peer "$1" "$2" .grant.rate_bits_per_second; }
tray_state() { tray_peer "$1" "$2" .state; }
trays_with() { # rate peer: on how many trays
	local n count=0
	for n in "${FLEET_TRAYS[@]}"; do [[ $(tray_rate "$n" "$2") != "$1" ]] || count=$((count + 1)); done
	echo "$count"
}
all_with() { [[ $(trays_with "$1" log-collector) -eq 3 ]]; }
some_with() { [[ $(trays_with "$1" log-collector) -gt 0 ]]; }
all_arriving() { # destination tray…: how many frames of each arrive
	local n out=()
	for n in "${@:2}"; do out+=("$(fleet_arriving "$n" "$1")"); done
	echo "${out[*]}"
}
all_come() { [[ " $1 " != *' 0 '* && $1 != *judge* ]]; }
none_comes() { [[ -z ${1//[0 ]/} ]]; }

fleet_begin() {
	local n
	say "The fleet: bwlimit-controller --dev, and three trays"
	cat <<-END
	   host1 ── hpf0 [tray-1] p0 ─┐
	   host2 ── hpf0 [tray-2] p0 ─┼─ router ── tray-1, tray-2, tray-3 (whom the policy names), log-collector
	   host3 ── hpf0 [tray-3] p0 ─┘
	   Each tray: its own maps, bwlimitd and bwlimit-sync. On a management network of their own:
	   bwlimit-controller, the etcd that it starts, and people. Debian's etcd has known holes; it is for a trial.
	END
	fleet_dir
	mkdir -m 711 "$FLEET_DIR" || die "cannot make $FLEET_DIR"
	trap fleet_down EXIT
	fleet_net || die "the namespaces could not be made"
	show bwlimit-controller --dev fleet --stages $FLEET_STAGES --soak 2s
	fleet_controller --stages $FLEET_STAGES --soak 2s
	await "etcd starts, and the controller leads" 60 controller_says '^leads' ||
		{ cat "$FLEET_DIR/controller.log"; die "there is no controller"; }
	sed 's/rate: [0-9]*mbit/rate: 1mbit/' "$FLEET_POLICY" >"$FLEET_DIR/before.yaml"
	for n in "${FLEET_TRAYS[@]}"; do
		tray_up "$n" "$FLEET_DIR/before.yaml" || die "tray-$n could not be made"
		await "bwlimitd of tray-$n" 30 test -S "$(tray_socket "$n" documents)" ||
			{ cat "$FLEET_DIR/tray-$n/log"; die "bwlimitd of tray-$n does not run"; }
		show bwlimit-ctl enrol root enrolments/tray-"$n" --sha256 …
		tray_enrol "$n" >"$LAB_TMP/said" 2>&1 || { cat "$LAB_TMP/said"; die "tray-$n was not enrolled"; }
		tray_sync "$n"
	done
	await "the store hears of three trays" 60 fleet_alive 3
	show bwlimit-ctl --fleet trays
	people trays | sed 's/^/   /'
	fleet_row "three trays, enrolled and heard of" "$(fleet_alive_count) of 3" null fleet_alive 3
}
fleet_alive_count() { people trays --json 2>/dev/null | jq '[.trays[] | select(.alive and .enrolled)] | length'; }
fleet_alive() { [[ $(fleet_alive_count) == "$1" ]]; }

fleet_policy() {
	local at first
	say "A policy of two people, in stages"
	cp "$FLEET_POLICY" "$FLEET_DIR/base.yaml"
	fleet_sign "$FLEET_DIR/base.yaml" alice --fleet dev --name base --number 1 --for 30d --stages --reason "quickstart"
	show bwlimit-ctl approve base.yaml.signed --root root --against before.yaml --key bob.pem
	"$CTL" approve "$FLEET_DIR/base.yaml.signed" --root "$FLEET/root" --against "$FLEET_DIR/before.yaml" \
		--key "$FLEET/keys/bob.pem" --yes 2>&1 | sed 's/^/   /'
	show bwlimit-ctl policy publish base.yaml.signed
	at=$(ms)
	publish "$FLEET_DIR/base.yaml.signed" --no-wait --conf "$FLEET/fleet.conf" | sed 's/^/   /'
	await "its first stage, ${FLEET_STAGES%,*} % of the trays" 60 some_with 10000000
	first=$(trays_with 10000000 log-collector)
	fleet_row "the first stage of its rollout (${FLEET_STAGES%,*} %)" "in force on $first of 3" "$(seconds "$at")" \
		test "$first" -ge 1
	await "its second stage: each tray says twice how it fares, every 30 s" 180 all_with 10000000
	fleet_row "the policy in force, by the maps of the trays" "on $(trays_with 10000000 log-collector) of 3" "$(seconds "$at")" \
		all_with 10000000
	await "and the rollout ends when all have said that twice" 180 controller_says '^rolled-out base'
	grep -E '^(rollout|rolled-out|back|stuck) ' "$FLEET_DIR/controller.log" | sed 's/^/   bwlimit-controller: /'
	fleet_row "its rollout is over, and went well" "$(grep -cE '^rollout base' "$FLEET_DIR/controller.log") stages" "$(seconds "$at")" \
		controller_says '^rolled-out base'
	[[ $fleet_failed -eq 0 ]] || return
	at=$(all_arriving 4 1 2 3)
	fleet_row "frames of each host that come to log-collector" "$at of 3 each" null all_come "$at"
}

fleet_grant() { # FILE mbit
	printf '{"peer": "log-collector", "limit": {"rate": "%s"}, "reason": "ticket 4711"}' "$2" >"$1"
}
fleet_forged() {
	say "A forged document: a grant of 1 Gbit/s, with a key that nobody enrolled"
	"$CTL" key new "$FLEET/keys/eve.pem" >/dev/null
	fleet_grant "$FLEET_DIR/forged" 1gbit
	fleet_sign "$FLEET_DIR/forged" eve --type grant --fleet dev --name forged --number 1 --for 1h
	order publish "$FLEET_DIR/forged.signed" --conf "$FLEET/fleet.conf"
	fleet_row "forged: at the desk, which knows the root" "$(ordered '.error.id // "taken"')" null \
		order_is '.error'
	echo "   Put into the store all the same, as one who has stolen a certificate of the store's could:"
	grep -v '^root' "$FLEET/fleet.conf" >"$FLEET_DIR/no-root.conf"
	order publish "$FLEET_DIR/forged.signed" --timeout 10s --conf "$FLEET_DIR/no-root.conf"
	ordered '.trays[] | "   \(.tray): \(.state): \(.error_id): \(.why)"'
	fleet_row "forged: on the trays" "$(ordered .refused_count) of 3 refuse it" null \
		order_is '.refused_count == 3 and all(.trays[]; .error_id == "signed-untrusted")'
	fleet_row "forged: in the maps" "$(trays_with 10000000 log-collector) of 3 as before" null all_with 10000000
}
fleet_widen() {
	local at
	say "A widening: three times the rate to log-collector, for an hour"
	fleet_grant "$FLEET_DIR/more" 30mbit
	fleet_sign "$FLEET_DIR/more" alice --type grant --fleet dev --name more --number 1 --for 1h
	show bwlimit-ctl policy publish more.signed
	order publish "$FLEET_DIR/more.signed" --timeout 10s --conf "$FLEET/fleet.conf"
	ordered '.trays[] | "   \(.tray): \(.state): \(.error_id): \(.why)"'
	fleet_row "widened by alice alone: on the trays" "$(ordered .refused_count) of 3 refuse it" null \
		order_is '.refused_count == 3 and all(.trays[]; .error_id == "signed-widens" and (.why | test("log-collector")))'
	fleet_row "widened by alice alone: in the maps" "$(trays_with 10000000 log-collector) of 3 as before" null all_with 10000000
	show bwlimit-ctl approve more.signed --root root --against base.yaml.signed --key bob.pem
	"$CTL" approve "$FLEET_DIR/more.signed" --root "$FLEET/root" --against "$FLEET_DIR/base.yaml.signed" \
		--key "$FLEET/keys/bob.pem" --yes 2>&1 | sed 's/^/   /'
	at=$(ms)
	order publish "$FLEET_DIR/more.signed" --conf "$FLEET/fleet.conf"
	fleet_row "widened by alice and bob: on the trays" "$(ordered .acknowledged_count) of 3 have it" "$(took)" \
		order_is '.acknowledged_count == 3'
	await "in the maps" 10 all_with 30000000
	fleet_row "widened by alice and bob: in force, by the maps" "on $(trays_with 30000000 log-collector) of 3" "$(seconds "$at")" \
		all_with 30000000
}
heard_count() { people status --json 2>/dev/null | jq '[.trays[] | select(.heard_ago_s != null)] | length'; }
heard() { [[ $(heard_count) == 3 ]]; }
answers() { people exfil --size 1tb --json 2>/dev/null | jq -e '.tray_count == 3 and .least_s > 0' >/dev/null; }
fleet_numbers() { # what the controller knows about all trays
	say "The fleet's numbers"
	await "the controller asks every tray each half minute" 70 heard
	show bwlimit-ctl --fleet status
	people status 2>&1 | sed 's/^/   /'
	fleet_row "--fleet status" "$(heard_count) of 3 heard" null heard
	await "how long a theft takes, of each tray" 70 answers
	show bwlimit-ctl --fleet exfil --size 1tb
	people exfil --size 1tb 2>&1 | sed 's/^/   /'
	fleet_row "--fleet exfil: 1 TB by all doors at once" \
		"$(people exfil --size 1tb --json | jq -r '"in \((.least_s // 0) / 3600 | floor) hours at the earliest"')" null answers
}
fleet_revoke() {
	local came
	say "A revocation, by one person"
	came=$(all_arriving 4 1 2 3)
	show bwlimit-ctl --fleet revoke --all log-collector --key alice.pem
	order people revoke --all log-collector --key "$FLEET/keys/alice.pem"
	fleet_row "revocation: acknowledged" "$(ordered .acknowledged_count) of 3 in $(took) s" "$(took)" \
		order_is '.acknowledged_count == 3'
	fleet_row "revocation: frames to log-collector, before" "$came of 3 each" null all_come "$came"
	came=$(all_arriving 4 1 2 3)
	fleet_row "revocation: and after" "$came of 3 each" null none_comes "$came"
	came=$(all_arriving 2 1 3)
	fleet_row "revocation: frames of 1 and 3 to tray-2 go on" "$came of 3 each" null all_come "$came"
}
revoked_on() { # peer tray…
	local n
	for n in "${@:2}"; do [[ $(tray_state "$n" "$1") == revoked ]] || return; done
}
fleet_expel() {
	local came
	say "tray-3 is expelled, by one person"
	came=$(all_arriving 3 1 2)
	show bwlimit-ctl --fleet expel tray-3 --key alice.pem --reason "chassis opened"
	order people expel tray-3 --key "$FLEET/keys/alice.pem" --reason "chassis opened"
	fleet_row "expulsion: acknowledged by the others" "$(ordered .acknowledged_count) of 2 in $(took) s" "$(took)" \
		order_is '.acknowledged_count == 2'
	fleet_row "expulsion: tray-3 in the maps of the others" "$(tray_state 1 tray-3) and $(tray_state 2 tray-3)" null revoked_on tray-3 1 2
	fleet_row "expulsion: frames of 1 and 2 to tray-3, before" "$came of 3 each" null all_come "$came"
	came=$(all_arriving 3 1 2)
	fleet_row "expulsion: and after" "$came of 3 each" null none_comes "$came"
	await "it closes itself" 10 revoked_on tray-2 3
	came=$(all_arriving 2 3)
	fleet_row "expulsion: frames of tray-3 to tray-2" "$came of 3 each" null none_comes "$came"
	came=$(all_arriving 2 1)
	fleet_row "expulsion: frames of 1 to tray-2 go on" "$came of 3 each" null all_come "$came"
}

fleet_json() { # file
	local r what seen took verdict separator=''
	{
		printf '{"rows": ['
		for r in "${fleet_rows[@]}"; do
			IFS='|' read -r what seen took verdict <<<"$r"
			printf '%s\n  {"what": "%s", "seen": "%s", "seconds": %s, "verdict": "%s"}' "$separator" "$what" "$seen" \
				"${took:-null}" "$verdict"
			separator=,
		done
		printf '\n]}\n'
	} >"$1" || die "cannot write $1"
}
fleet_keep() {
	trap - EXIT INT TERM HUP
	rm -rf "$LAB_TMP"
	say "The fleet stays, in $FLEET_DIR. As people, on the management network:"
	cat <<-END
	   alias ctl='nsenter --net=/run/netns/$LAB-mgmt $CTL'
	   ctl --fleet trays --conf $FLEET/fleet.conf
	   ctl --fleet status --conf $FLEET/fleet.conf
	   ctl --fleet revoke --all tray-2 --key $FLEET/keys/alice.pem --conf $FLEET/fleet.conf

	On tray-1 (its log: $FLEET_DIR/tray-1/log):
	   nsenter --net=/run/netns/$LAB-dpu1 $CTL --pin-dir $(tray_pins 1) peer list

	From its host:
	   nsenter --net=/run/netns/$LAB-host1 ping $(lab_dest4 1)

	Remove it:
	   ./quickstart --remove $LAB
	END
}
# Runs all of it: fails if a row failed.
fleet_quickstart() { # json-file or '', keep
	lab_begin || die "the lab could not be made"
	fleet_begin
	if fleet_policy; then
		fleet_forged
		fleet_widen
		fleet_numbers
		fleet_revoke
		fleet_expel
	else
		echo "   The rest stands on that policy, and is left out."
	fi
	say "Result (rates and states are those of the trays' maps, frames those that destinations counted)"
	local r what seen verdict
	for r in "${fleet_rows[@]}"; do
		IFS='|' read -r what seen _ verdict <<<"$r"
		printf '   %-58s %-34s %s\n' "$what" "$seen" "$verdict"
	done
	[[ -z $1 ]] || fleet_json "$1"
	[[ $2 -eq 0 ]] || fleet_keep
	echo
	[[ $fleet_failed -eq 0 ]]
}
