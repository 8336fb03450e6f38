#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# bwlimitd's status of its tray: the audit log's newest checkpoint, and a proof from the one that was cosigned last,
# which can be checked without the log; the ledger's number; the SAs that the policy wants and the kernel lacks.
set -uo pipefail
LAB=bwl-status-$$ LAB_DESTS=2
# shellcheck source=../harness/signed_documents.sh
. "$(dirname "${BASH_SOURCE[0]}")/../harness/signed_documents.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
docs_begin || exit 1
said() { COSIGNED=${1:-0} "$here/give_document.py" "$SOCKET" >"$LAB_TMP/status" 2>/dev/null; }
value() { jq -r ".status | $1" "$LAB_TMP/status"; } # of what was said
note_of() { jq -j .status.checkpoint "$LAB_TMP/status"; }
size() { note_of | sed -n 2p; }
is() { said "${3:-0}" && [[ $(value "$1") == "$2" ]]; }

check "without an enrolment nothing is said of the log" is '.checkpoint, .log_key, .proof' $'null\nnull\nnull'
docs_enrol
note "The audit log"
"$CTL" audit checkpoint >"$LAB_TMP/kept"
verified() { "$CTL" audit verify --key "$BWLIMIT_AUDIT_DIR/key.pub" --checkpoint "$LAB_TMP/told" >/dev/null; }
newest() { said && note_of >"$LAB_TMP/told" && "$CTL" audit checkpoint | diff -q - "$LAB_TMP/told" >/dev/null; }
check "the newest checkpoint is told, as a signed note" lab_wait_for 20 newest
check "with the key that it is signed by" eval '[[ $(value .log_key) == "$(<"$BWLIMIT_AUDIT_DIR/key.pub")" ]]'
check "which somebody without the log verifies" verified
check "without a cosignature there is nothing to prove" eval '[[ $(value .proof) == null ]]'
from=$(size)
grow() { # how many records
	local i
	for ((i = 0; i < $1; i++)); do
		rm -rf "$LAB_TMP/other" # a journal that is whole is left alone, and nothing recorded
		BWLIMIT_JOURNAL_DIR=$LAB_TMP/other "$CTL" journal init >/dev/null 2>&1
	done
}
more() { said "$from" && (($(size) > from)); }
check "control: the log grows" eval 'grow 5; lab_wait_for 20 more'
# The output of `audit checkpoint --from`, made from a status.
request() { { echo "old $1"; value '.proof.hashes[]'; echo; note_of; } >"$LAB_TMP/request"; }
proven() { # from, with the checkpoint of that size in told
	said "$1" && [[ $(value .proof.from) == "$1" ]] && request "$1" &&
		"$CTL" audit verify --key "$BWLIMIT_AUDIT_DIR/key.pub" --checkpoint "$LAB_TMP/told" --proof "$LAB_TMP/request" >/dev/null
}
check "a proof from what was told, and cosigned, comes with it" proven "$from"
check "control: it is of hashes" eval '(( $(value ".proof.hashes | length") > 0 ))'
said 999999999
check "from a size that the log has not there is none" eval '[[ $(value .proof) == null ]]'
said "$from"
grow 3
docs_die
docs_agent
check "a bwlimitd that comes again makes it from the files" lab_wait_for 20 proven "$from"
lab_wait_for 30 lab_both 1
live "bwlimitd is started again after a kill"
cp "$LAB_TMP/kept" "$LAB_TMP/told"
check "so it does from an older one that it never told" lab_wait_for 20 proven "$(sed -n 2p "$LAB_TMP/kept")"

note "A status is bounded"
for i in {1..20}; do
	echo '{"peers": ["nobody-of-a-long-name-'"$i"'"], "reason": "test"}' |
		sign revocation "a-name-of-some-length-$i" alice && give revocation "a-name-of-some-length-$i"
done
for i in 1 2 3 4 5; do
	echo '{"peer": "d1", "limit": {"rate": "99mbit"}, "reason": "x"}' | sign grant "more-than-one-may-say-$i" alice
	give grant "more-than-one-may-say-$i"
done
check "with a proof, and all it took and refused, it has no more than 4000 bytes" eval 'lab_wait_for 20 proven "$(sed -n 2p "$LAB_TMP/kept")" &&
	(( $(value . | jq -cj . | wc -c) <= 4000 ))'
check "and what it took last is in it" eval '[[ $(value ".taken | keys | length") -ge 4 && $(value ".taken[\"revocation/a-name-of-some-length-20\"].sha256") != null ]]'

note "The ledger, and SAs"
# A volume makes the ledger write.
sign policy base alice,bob < <(lab_policy_head 1h <<-END
	peers:
	$(lab_peer d1 1 "grant: { rate: 5mbit, volume: 1gb }")
	END
)
check "control: a policy with a volume is in force" eval 'give policy base && now_signed'
check "the ledger's number is told" lab_wait_for 30 eval 'said && (( $(value .ledger_seq) > 0 ))'
check "a policy without encrypted peers lacks no SA" eval '[[ $(value .health.sas_down) == 0 ]]'
sign policy base alice,bob < <(lab_policy_head 1h <<-END
	ipsec: { ca: ca.pem }
	peers:
	$(lab_peer d1 1 "grant: { rate: 5mbit, volume: 1gb }")
	  - { name: tray-3, addresses: [10.0.3.0/24], ipsec: { remote: 192.0.2.33 }, grant: { rate: 1mbit } }
	  - { name: tray-4, addresses: [10.0.4.0/24], ipsec: { remote: 192.0.2.34 }, grant: { rate: 1mbit } }
	END
)
check "control: one with two is in force" give policy base
check "without SAs two of each are down" lab_wait_for 10 is .health.sas_down 4
# As the part \`tracking\` writes it where the kernel has them: this one has no ESP.
sa() { # peer flags
	local id
	id=$("$CTL" --json peer show "$1" | jq .tunnel.if_id)
	local map=("$LAB_PINS"/maps/*tunnel*) value
	value=$(bpftool -j map lookup pinned "${map[0]}" key "$id" 0 0 0 | jq -r '.value | map(.[2:]) | join(" ")')
	# shellcheck disable=SC2086 # bytes
	bpftool map update pinned "${map[0]}" key "$id" 0 0 0 value hex $2 ${value#* }
}
check "a peer with both is not" lab_wait_for 10 eval 'sa tray-3 03 && is .health.sas_down 2'
check "one alone, and the other is" lab_wait_for 10 eval 'sa tray-3 01 && is .health.sas_down 3'
taken "control: the other one is revoked" revocation off alice <<<'{"peers": ["tray-4"], "reason": "test"}'
check "who was revoked is to have none" lab_wait_for 10 eval 'sa tray-3 01 && is .health.sas_down 1'
done_testing
