#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The end of the audit log and its newest checkpoint, readable for members of bwlimit-read and nobody else: kept by bwlimitd, with
# only its unit's rights, whoever appended; served by bwlimit-web.
set -uo pipefail
# The test's own groups: a private file mounted over /etc/group, only in its own mount namespace.
if [[ ! -v WEB_UNSHARED ]]; then
	WEB_UNSHARED=1 exec unshare --mount --propagation private "$0" "$@"
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-recent-$$ LAB_DESTS=1
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/documents.sh
. "$here/documents.sh"
# shellcheck source=../harness/web.sh
. "$here/web.sh"
command -v curl >/dev/null || { echo '1..0 # SKIP no curl'; exit 77; }
lab_up || exit 1
export BWLIMIT_JOURNAL_DIR=$LAB_TMP/journal BWLIMIT_AUDIT_DIR=$LAB_TMP/audit BWLIMIT_CTL=$CTL BWLIMIT_LOAD=$LOAD
web_groups
web_page
log=/run/bwlimit/${LAB_PINS##*/}.log signed=/run/bwlimit/${LAB_PINS##*/}.audit
"$CTL" journal init >/dev/null
check "attach makes the pins" in_dpu "$LOAD" attach --host hpf0 --uplink p0
{
	echo "peers:"
	lab_peer d1 1 "grant: { rate: 8mbit }"
} | lab_policy_head >"$LAB_TMP/policy.yaml"
agent() { # as packaging/systemd/bwlimitd.service.in has it: it may chown nothing but to groups of its own
	lab_bg agent dpu setpriv --groups $WEB_READERS --bounding-set=-all,+bpf,+net_admin --no-new-privs \
		bash -c 'umask 077; exec "$@"' - "$AGENT" --policy "$LAB_TMP/policy.yaml" --state-dir "$LAB_TMP/state" --json
	agent=$LAB_PID
	lab_wait_for 30 web_in_force
}
check "bwlimitd runs with the rights that its unit has" agent
check "control: it has no right to give files away" eval \
	'[[ $(sed -n "s/^CapEff:	//p" "/proc/$agent/status") == 0000008000001000 ]]'
has() { gets 200 /api/v1/log && jq -e "$1" "$LAB_TMP/got" >/dev/null; } # jq, of the log
age() { sed -n 's/^Age: \([0-9]*\).*/\1/p' "$LAB_TMP/head"; }
check "bwlimit-web is there" web_start
check "without an audit log there is no log" gets 404 /api/v1/log
check "and what makes one is said" jq -e '.error.todo | contains("bwlimit-ctl audit init")' "$LAB_TMP/got"
check "nor a checkpoint" gets 404 /api/v1/audit

"$CTL" audit init >/dev/null
in_dpu "$CTL" grant d1 reason "ticket 4711" >/dev/null 2>&1
check "what a tool recorded is there soon" lab_wait_for 10 has '.lines[] | select(.event == "grant" and .program == "bwlimit-ctl" and (.text | test("grant d1.*ticket 4711")))'
check "once, without what was intended" has '[.lines[] | select(.text | contains("ticket 4711"))] | length == 1'
! can_judge || check "as its schema says" judge log-lines <"$LAB_TMP/got"
in_dpu "$CTL" tamper the lid was opened >/dev/null 2>&1
check "so is a sign of tampering, as an alert, by the tool and by bwlimitd" lab_wait_for 10 has \
	'[.lines[] | select(.event == "tamper" and .level == "alert" and (.text | contains("the lid was opened"))).program] | sort == ["bwlimit-ctl", "bwlimitd"]'
# A host's junk is no line for readers. Kernels make some by themselves (IPv6 router solicitations).
thief --pps 10 <<<"eth ip4 src=10.66.6.6 dst=$(lab_dest4 1) udp dport=53 fill=100" >/dev/null
has_junk() { "$CTL" audit show --json | jq -se 'any(.[]; .junk)'; }
check "control: the log has a host's junk" lab_wait_for 10 has_junk
as_root_reads() {
	gets 200 /api/v1/log &&
		diff <(jq -r ".lines[] | \"\(.record) \(.time) \(.text)\"" "$LAB_TMP/got") <("$CTL" audit show --json | jq -r "select(.event != \"intent\" and .event != \"totals\" and .regular != true and .junk != true) | \"\(.n) \(.time) \(.text)\"") >"$LAB_TMP/differ"
}
soon_as_root_reads() { # a line may come between the two readings
	lab_wait_for 30 as_root_reads || { sed 's/^/# /' "$LAB_TMP/differ"; false; }
}
check "the oldest first, as root reads them, without junk" soon_as_root_reads

note "Acknowledged"
refute "control: nobody has acknowledged it" has '.lines[] | select(.acknowledged)'
sign=$(jq '[.lines[] | select(.event == "tamper").record] | max' "$LAB_TMP/got")
other=$(jq '[.lines[] | select(.event == "grant").record] | max' "$LAB_TMP/got")
refuses() { # words that it must say, word…
	! in_dpu "$CTL" audit ack "${@:2}" >"$LAB_TMP/out" 2>&1 && grep -q "$1" "$LAB_TMP/out" || { note "$(cat "$LAB_TMP/out")"; return 1; }
}
check "what is no sign is refused, with the newest one's record" refuses "newest is record $sign" "$other" seen
check "so is a record that is yet to come" refuses "no sign of tampering" 999999 seen
check "and who says nothing of why" refuses "reason is missing" "$sign"
refute "nobody reads an acknowledgement that was refused" has '.lines[] | select(.acknowledged)'
in_dpu "$CTL" tamper and again >/dev/null 2>&1
check "control: a new sign comes" lab_wait_for 10 has '[.lines[] | select(.event == "tamper" and (.text | contains("and again")))] | length == 2'
check "bwlimit-ctl audit ack acknowledges signs up to a record" eval \
	'in_dpu "$CTL" --json audit ack "$sign" the lid: "ticket 12" >"$LAB_TMP/out" && jq -e ".record == $sign and .sign_count == 2" "$LAB_TMP/out" >/dev/null || { note "$(cat "$LAB_TMP/out")"; false; }'
check "those are told as acknowledged" lab_wait_for 10 has \
	'[.lines[] | select(.acknowledged).text] | length == 2 and all(contains("the lid was opened"))'
check "with who said why" has '.lines[] | select(.event == "ack" and .program == "bwlimit-ctl" and (.text | contains("ticket 12")))'
check "and the new one is not" has '[.lines[] | select(.event == "tamper" and (.text | contains("and again"))).acknowledged] == [false, false]'
check "said again it is no record more" eval 'in_dpu "$CTL" --json audit ack "$sign" again | jq -e ".sign_count == 0" >/dev/null'
check "once" has '[.lines[] | select(.event == "ack")] | length == 1'
newest() { gets 200 /api/v1/audit && diff <(jq -S . "$LAB_TMP/got") <("$CTL" --json audit checkpoint 2>/dev/null | jq -S .) >/dev/null; }
check "the newest checkpoint is there" lab_wait_for 10 newest
! can_judge || check "as its schema says" judge audit-checkpoint <"$LAB_TMP/got"

note "Who may read them"
stranger() { # file: nobody of the group reads it
	in_dpu setpriv --reuid $WEB_USER --regid $WEB_USER --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs cat "$1" >/dev/null
}
for f in "$log" "$signed"; do
	check "${f##*.}: root's, for the group alone" test "$(stat -c '%a %u %g' "$f")" = "640 0 $WEB_READERS"
	check "${f##*.}: a member of the group reads it" eval 'web_reader cat "$f" >/dev/null'
	refute "${f##*.}: and does not write it" web_reader tee "$f"
	refute "${f##*.}: nobody else reads it" stranger "$f"
done
check "control: the log itself is root's alone" eval \
	'[[ $(stat -c %a "$LAB_TMP/audit") == 700 ]] && ! find "$LAB_TMP/audit" -name "log-*" -perm /077 | grep .'
secret=$(cut -d+ -f5- "$LAB_TMP/audit/key") # "PRIVATE+KEY+NAME+HASH+BASE64", and base64 has a + of its own
check "control: the key is whole" test ${#secret} -ge 40
refute "the key is in none of them" grep -qF "$secret" "$log" "$signed"
check "control: it would be found" grep -qF "$secret" "$LAB_TMP/audit/key"
check "64 KiB at most" test "$(stat -c %s "$log")" -lt 65536
refute "nothing is left half made" ls "${log%/*}/.${log##*/}.new"

note "How old they are"
renewed() { [[ $(stat -c %Y "$log") -gt $made ]]; }
fresh() { made=$(stat -c %Y "$log"); lab_wait_for 30 renewed && gets 200 /api/v1/log && [[ $(age) -le 3 ]]; } # nothing is recorded
check "while bwlimitd looks they are new, also where nothing happens" lab_wait_for 60 fresh
lab_stop "$agent"
old() { gets 200 /api/v1/log && [[ $(age) -ge 5 ]]; }
check "without it they get old, and stay" lab_wait_for 20 old
check "with all that it told" has '.lines[] | select(.event == "tamper")'

note "What is none of root's making"
answers() { [[ $(web_answers) == "$1" ]]; }
web_answers() { get /api/v1/log; cat "$LAB_TMP/code"; }
mv "$log" "$LAB_TMP/log"
again() { # root's own, so that no answer is one of before
	rm "$log" && cp -p "$LAB_TMP/log" "$log" && lab_wait_for 10 answers 200
}
mkfifo "$log"
check "a pipe in its place is an error, and holds up nobody" lab_wait_for 10 answers 502
check "control: root's is read" again
rm "$log" && install -o $WEB_USER -m 644 "$LAB_TMP/log" "$log"
check "somebody's own file is an error" lab_wait_for 10 answers 502
check "control: root's is read" again
rm "$log" && ln -s "$LAB_TMP/log" "$log"
check "so is a link" lab_wait_for 10 answers 502
check "control: root's is read" again
done_testing
