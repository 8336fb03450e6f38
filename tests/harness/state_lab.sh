# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034 # scripts that source this use its variables
#
# A tray with what it keeps: a policy file, bwlimitd's state directory with a journal, an audit log; and its reboots (boot.sh).
# Set LAB and LAB_DESTS, then source it first. The test has a function `policy`, which prints the file's text.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/boot.sh
. "$here/boot.sh"
lab_up || exit 1
STATE=$LAB_TMP/state FILE=$LAB_TMP/desired.yaml AGENT_PID=
mkdir "$STATE"
export BWLIMIT_STATE_DIR=$STATE BWLIMIT_POLICY=$FILE BWLIMIT_JOURNAL_DIR=$STATE/journal BWLIMIT_AUDIT_DIR=$LAB_TMP/audit
"$CTL" audit init --origin test/state >/dev/null 2>&1
"$CTL" journal init >/dev/null 2>&1
desire() { policy "$@" >"$FILE.new" && mv "$FILE.new" "$FILE"; }
agent() { lab_agent --policy "$FILE" --state-dir "$STATE" --tpm none --history-size 0b --totals none; }
no_agent() { [[ -z $AGENT_PID ]] || { kill -KILL "$AGENT_PID"; wait "$AGENT_PID"; AGENT_PID=; } 2>/dev/null; }
once() { in_dpu "$AGENT" --policy "$FILE" --state-dir "$STATE" --tpm none --once >"$LAB_TMP/once" 2>&1; }
said() { grep -q "\"event\":\"$1\".*$2" "$LAB_TMP/agent"; } # event pattern
