#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# What is remembered of glass that was broken: what is in force is used up, wherever its command was killed; what people
# close later ends it, or is not opened by it; when as many as can be remembered have not ended, or the memory is damaged,
# none is broken.
set -uo pipefail
LAB=bwl-glassused-$$ LAB_DESTS=2
# shellcheck source=../harness/glass_lab.sh
. "$(dirname "${BASH_SOURCE[0]}")/../harness/glass_lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"

people_enrol "$STATE" || exit 1

# --- killed at any point: what is in force is used up
ctl policy apply "$FILE" --yes --trust-clock
no_agent
# shellcheck disable=SC2034 # of kill_at
KILL_IN=(nsenter --net="/run/netns/$LAB-dpu")
n=20 kills=0 wrong=0
for at in renameat:1 fsync:1 fsync:2 bpf:9 bpf:23 bpf:41 bpf:57 bpf:83 bpf:120; do
	sign "$LAB_TMP/wide.yaml" killed alice,bob $((++n)) --break-glass >/dev/null
	kill_at "${at%:*}" "${at#*:}" "$CTL" break-glass "$LAB_TMP/killed" && kills=$((kills + 1))
	used=$(grep -c "\"version\":$n," "$STATE/broken-glass.json")
	rate_is d1 50000 && [[ $used -eq 0 ]] && wrong=$((wrong + 1))
	ctl policy rollback
	[[ $used -eq 0 ]] || fails signed-old break_glass "$LAB_TMP/killed" || wrong=$((wrong + 1))
	rate_is d1 5000 || wrong=$((wrong + 1))
done
note "$kills kills"
check "killed anywhere, nothing is in force that is not used up, and the policy before is not lost" \
	test "$kills" -ge 3 -a "$wrong" -eq 0
live "a break-glass that was killed is rolled back"

# --- an old emergency document opens nothing that people closed later
sign "$LAB_TMP/wide.yaml" drawer alice,bob 40 --break-glass --opens d2
agent
echo '{"peers": ["d2"], "reason": "its key was stolen"}' >"$LAB_TMP/closed.json"
people_sign "$LAB_TMP/closed.json" "$FLEET/closed" alice --type revocation --name closed --number 1 --for 1d
check "bwlimitd takes a revocation" lab_wait_for 30 "$LAB_HERE/give_document.py" "/run/bwlimit/${LAB_PINS##*/}.documents" \
	revocation/closed "$FLEET/closed"
no_agent
check "what was signed before it does not open it" fails signed-old break_glass "$LAB_TMP/drawer"
check "and is not used up" eval '! grep -q "\"version\":40," "$STATE/broken-glass.json"'
later
sign "$LAB_TMP/wide.yaml" anew alice,bob 41 --break-glass --opens d2
check "control: what is signed anew does" eval 'break_glass "$LAB_TMP/anew" >/dev/null'
ctl policy rollback

# --- the document that broke the glass can be revoked like any other
agent
revoked_as() { # name, the rest of the revocation
	echo "{$2, \"reason\": \"its key was stolen\"}" >"$LAB_TMP/$1.json"
	people_sign "$LAB_TMP/$1.json" "$FLEET/$1" alice --type revocation --name "$1" --number 1 --for 1d &&
		"$LAB_HERE/give_document.py" "/run/bwlimit/${LAB_PINS##*/}.documents" "revocation/$1" "$FLEET/$1"
}
sign "$LAB_TMP/wide.yaml" other alice,bob 50 --break-glass
sign "$LAB_TMP/wide.yaml" digest alice,bob 51 --break-glass
check "control: it is in force" eval 'break_glass "$LAB_TMP/digest" >/dev/null && rate_is d1 50000'
# bwlimitd listens only after it says that it starts.
check "a revocation of another document" lab_wait_for 30 revoked_as else "\"documents\": [\"$(doc_digest "$LAB_TMP/other")\"]"
# The glass is judged before the answer (docs_mind_end), and one that is over ends then: "ends it" below shows it, without a wait.
check "leaves it in force" rate_is d1 50000
check "one of its digest" lab_wait_for 30 revoked_as it "\"documents\": [\"$(doc_digest "$LAB_TMP/digest")\"]"
check "ends it, by the answer" rate_is d1 5000
check "and an alarm says so" lab_wait_for 5 said break-glass 'was revoked'
sign "$LAB_TMP/wide.yaml" epoch alice,bob 52 --break-glass
check "control: another is in force" eval 'break_glass "$LAB_TMP/epoch" >/dev/null && rate_is d1 50000'
no_agent
agent
check "control: bwlimitd that comes again sees it" lab_wait_for 30 said break-glass 'an emergency policy is in force'
check "and leaves it" rate_is d1 50000
check "a new epoch" lab_wait_for 30 revoked_as epochs '"new_epoch": 2'
check "ends it, too" rate_is d1 5000
no_agent

# --- as many as can be remembered
full() { # epoch: 256 that have not ended
	python3 - "$1" >"$STATE/broken-glass.json" <<-'END'
	import hashlib, json, sys
	used = [{"type": "policy", "name": f"n{i}", "epoch": int(sys.argv[1]), "version": 1, "not_after": 4000000000} for i in range(256)]
	text = json.dumps({"count": 300, "used": used})
	print(f"# bwlimit glass 1 {hashlib.sha256(text.encode()).hexdigest()}\n{text}", end="")
	END
}
full 2
sign "$LAB_TMP/wide.yaml" many alice,bob 60 --break-glass --epoch 2
check "when 256 have not ended no more are broken" grep -q 'none has ended' <<<"$(break_glass "$LAB_TMP/many")"
full 1
check "those of an epoch that is over are forgotten" eval 'break_glass "$LAB_TMP/many" >/dev/null && rate_is d1 50000'
ctl policy rollback

# --- the memory of it cannot be bypassed
echo '#' >>"$STATE/broken-glass.json"
sign "$LAB_TMP/wide.yaml" late alice,bob 9 --break-glass --epoch 2
check "where that is damaged none is broken" grep -q 'cannot tell which documents broke glass' <<<"$(break_glass "$LAB_TMP/late")"
done_testing
