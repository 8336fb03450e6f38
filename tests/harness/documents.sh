# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Does a program's output match the schema of its kind in docs/schema? Source it after tap.sh and lab.sh.

documents=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
can_judge() { python3 -c 'import jsonschema' 2>/dev/null; }
# Standard input is one document of that kind; --lines: one per line, and at least one of that kind.
judge() { # [--lines] KIND
	"$documents/json_check.py" "${@:1:$#-1}" "$documents/../../docs/schema" "${@: -1}" 2>"$LAB_TMP/why" ||
		{ note "${*: -1}: $(cat "$LAB_TMP/why")"; false; }
}
