# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# A tray on which glass can be broken, with bwlimitd dead: set LAB and LAB_DESTS=2, then source it. It has two peers, a
# policy file that is in force, wide.yaml for an emergency, and people who can sign; nothing is enrolled yet.

# shellcheck source=../harness/state_lab.sh
. "$(dirname "${BASH_SOURCE[0]}")/state_lab.sh"
# shellcheck source=../harness/documents.sh
. "$here/documents.sh"
# shellcheck source=../harness/people.sh
. "$here/people.sh"

clock_begin
ATTACH=("$LOAD" attach --drill --max-peers 4096)
policy() { # rate of d1 [heartbeat] [another line]
	lab_policy_head "${2:-1h}" <<-END
	${3-}
	peers:
	$(lab_peer d1 1 "grant: { rate: $1, burst: 1mb }")
	$(lab_peer d2 2 "grant: { rate: 1mbit }")
	END
}
rate_is() { [[ $("$CTL" --json peer show "$1" | jq '.grant.rate_bits_per_second / 1000 | round') == "$2" ]]; }
fails() { # id, command…
	[[ $("${@:2}" 2>/dev/null | jq -r .error.id) == "$1" ]] || { note "$("${@:2}" 2>&1)"; false; }
}
break_glass() { in_dpu "$CTL" --json break-glass "$@"; }
sign() { # file out who number options…
	people_sign "$1" "$LAB_TMP/$2" "$3" --name emergency --number "$4" --for "${LIFE:-1d}" --audience "${WHO:-tray:tray-7}" \
		--reason 'line 2 is down' "${@:5}"
}

policy 5mbit >"$FILE"
in_dpu "${ATTACH[@]}" --fresh-volume >/dev/null 2>&1
once
ctl heartbeat
policy 50mbit >"$LAB_TMP/wide.yaml"
people_root && people_enrolment || exit 1
