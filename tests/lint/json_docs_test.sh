#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# docs/schema, docs/json.md and the programs' sources agree: one name, one type, one unit; every kind and every id of
# a check is documented. tests/netns/json_test.sh checks what the programs print.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_dir=${BWL_SOURCE:-${here%/*/*}}
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
check_docs=$here/../harness/json_check.py
python3 -c 'import jsonschema' 2>/dev/null || { echo '1..0 # SKIP no python3-jsonschema'; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

check "schemas, page and programs agree" "$check_docs" --docs "$source_dir"
# The check works: it refuses a copy with one change.
copy() { rm -rf "$tmp/tree" && mkdir "$tmp/tree" && cp -r "$source_dir"/{docs,loader,ctl,agent,lib,sync,fleet,web} "$tmp/tree"; }
refuses() { # message, file, sed program
	copy
	sed -i "$3" "$tmp/tree/$2"
	! "$check_docs" --docs "$tmp/tree" 2>"$tmp/why" && grep -q -- "$1" "$tmp/why"
}
check "a field of another type is seen" refuses 'stopped is' docs/schema/stop.json \
	'/"stopped": {/,/}/s|"$ref": .*|"type": "integer"|'
check "a schema that lets fields come is seen" refuses 'may be left out, or added' docs/schema/stop.json \
	's/"additionalProperties": false/"additionalProperties": true/'
check "a check that the page does not tell of is seen" refuses 'id stop-thing' loader/verify.c \
	's/"stop-switch"/"stop-thing"/'
check "a feature that the page does not tell of is seen" refuses 'feature queue-things' loader/probe_card.c \
	's/"queues"/"queue-things"/'
check "a kind without a schema is seen" refuses 'kind halt' ctl/heartbeat.c \
	's/ctl_print_list("stop"/ctl_print_list("halt"/'
check "a field that the page does not tell of is seen" refuses 'field stopped' docs/json.md '/^| `stopped` |/d'
done_testing
