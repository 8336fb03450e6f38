# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Is what a program printed what docs/schema says of its kind? Source it after tap.sh and lab.sh.

documents=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
can_judge() { python3 -c 'import jsonschema' 2>/dev/null; }
# Standard input is one document of that kind; --lines: one a line, and one at least of that kind.
judge() { # [--lines] KIND
	"$documents/json_check.py" "${@:1:$#-1}" "$documents/../../docs/schema" "${@: -1}" 2>"$LAB_TMP/why" ||
		{ note "${*: -1}: $(cat "$LAB_TMP/why")"; false; }
}
