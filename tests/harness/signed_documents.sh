# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# bwlimitd in a lab, with signed documents for it, and the people who sign them (people.sh): set LAB and LAB_DESTS, then source
# it first. LAB_UP: what makes the lab (lab_up; lab_begin: no tray).

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
${LAB_UP:-lab_up} || exit 1
# shellcheck source=../harness/people.sh
. "$here/people.sh"
export BWLIMIT_AUDIT_DIR=$LAB_TMP/audit BWLIMIT_JOURNAL_DIR=$LAB_TMP/journal BWLIMIT_STATE_DIR=$LAB_TMP/state
SOCKET=/run/bwlimit/${LAB_PINS##*/}.documents
docs_begin() { # makes journal, audit log and a policy file with two peers; attaches, and starts bwlimitd
	"$CTL" audit init --origin test/documents >/dev/null 2>&1
	"$CTL" journal init >/dev/null 2>&1
	docs_text 5mbit 5mbit >"$LAB_TMP/desired.yaml"
	lab_attach && docs_agent && people_root && people_enrolment
	SHA=$("$CTL" --json policy verify "$FLEET/root" | jq -r .digest)
}
docs_enrol() { "$CTL" enrol "$FLEET/root" "$FLEET/enrolment" --sha256 "$SHA" >/dev/null 2>&1; } # this tray
docs_text() { # rate of d1, rate of d2
	lab_policy_head 1h <<-END
	peers:
	$(lab_peer d1 1 "grant: { rate: $1 }")
	$(lab_peer d2 2 "grant: { rate: $2 }")
	END
}
docs_agent() {
	lab_agent --policy "$LAB_TMP/desired.yaml" --state-dir "$BWLIMIT_STATE_DIR" && lab_wait_for 30 test -S "$SOCKET"
}
docs_die() { # kills bwlimitd with SIGKILL
	kill -KILL "$AGENT_PID"
	wait "$AGENT_PID" 2>/dev/null
	rm -f "$SOCKET"
}
NUMBER=0
sign() { # KIND NAME WHO OPTIONS…, the content on standard input: $FLEET/NAME. LIFE, NUMBER
	NUMBER=$((NUMBER + 1))
	cat >"$FLEET/$2.content"
	people_sign "$FLEET/$2.content" "$FLEET/$2" "$3" --type "$1" --name "$2" --number "$NUMBER" --for "${LIFE:-1h}" "${@:4}"
}
give() { # KIND NAME [file]
	"$LAB_HERE/give_document.py" "$SOCKET" "$1/$2" "${3:-$FLEET/$2}" >"$LAB_TMP/said" 2>&1
}
status_now() { # jq; a status that is signed is read as it is inside
	"$LAB_HERE/give_document.py" "$SOCKET" 2>/dev/null |
		jq -e ".status | (if type == \"string\" then fromjson.payload | @base64d | fromjson else . end) | $1" >/dev/null
}
# The programs fall to a floor by their own clock, bwlimitd looks once a second: what it says may come after what they do.
status() { # jq
	lab_wait_for 10 status_now "$1" || { note "$("$LAB_HERE/give_document.py" "$SOCKET" 2>&1 | tail -c 3000)"; false; }
}
taken() { # sentence KIND NAME WHO OPTIONS…, the content on standard input
	if sign "${@:2}" && give "$2" "$3"; then ok "$1"; else nok "$1"; note "$(cat "$LAB_TMP/said" "$FLEET/said")"; fi
}
says() { grep -q -- "$1" "$LAB_TMP/said" || { note "$(cat "$LAB_TMP/said")"; false; }; }
refused() { # sentence id KIND NAME [file]
	give "${@:3}"
	check "$1" says "\"id\": \"$2\""
}
now_signed() { sign timestamp time controller <<<'{}' && give timestamp time; }
rate() { [[ $("$CTL" --json peer show "$1" | jq .grant.rate_bits_per_second) == "$2" ]]; }
state() { [[ $("$CTL" --json peer show "$1" | jq -r .state) == "$2" ]]; }
