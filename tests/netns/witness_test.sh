#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A third-party witness: litewitness (Debian's torchwood, from sid, unpacked next to the testbed's packages and
# never installed) cosigns the audit log by c2sp.org/tlog-witness, with what `audit checkpoint --from` prints as
# request, and refuses a log that was forked; `audit verify --witness` accepts its cosignature, and so does the proof of
# a record (`audit prove --witnessed`).
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${BWL_BUILD:-${here%/*/*}/build/release} source_dir=${BWL_SOURCE:-${here%/*/*}}
# A separate network, after the downloads.
if [[ -z ${WITNESS_BIN:-} ]]; then
	for tool in curl ssh-agent ssh-add ssh-keygen jq; do
		[[ -x $(command -v "$tool") ]] || { echo "1..0 # SKIP no $tool"; exit 77; }
	done
	export VM_CACHE=${BWL_VM_CACHE:-$source_dir/build/vm} VM_HERE=$source_dir/vm-testbed
	# shellcheck source=../../vm-testbed/lib/fetch.sh
	. "$VM_HERE/lib/fetch.sh"
	mkdir -p "$VM_CACHE"
	exec 9>"$VM_CACHE/lock"
	flock -w 600 9 || { echo "1..0 # SKIP another run has been filling $VM_CACHE for 10 minutes"; exit 77; }
	if [[ ! -e $VM_CACHE/packages/witness/.complete ]]; then
		[[ -z ${BWL_NO_INSTALL:-} ]] || { echo '1..0 # SKIP litewitness is not in the cache'; exit 77; }
		why=$(vm_cached packages/witness vm_package_set witness) || { echo "1..0 # SKIP no litewitness: $why"; exit 77; }
	fi
	exec 9>&-
	WITNESS_BIN=$VM_CACHE/packages/witness/root/usr/bin exec unshare --net "$0"
fi
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
ip link set lo up
ctl=$build/ctl/bwlimit-ctl tmp=$(mktemp -d) url=http://127.0.0.1:7380 pids=()
export BWLIMIT_AUDIT_DIR=$tmp/audit SSH_AUTH_SOCK=$tmp/agent
finish() {
	[[ $TAP_BAD -eq 0 ]] || sed 's/^/# /' "$tmp/witness.log"
	for pid in "${pids[@]}"; do kill "$pid"; wait "$pid"; done
	rm -rf "$tmp"
} 2>/dev/null
trap finish EXIT

records() { # how many, into the log that BWLIMIT_AUDIT_DIR names
	local i
	for ((i = 0; i < $1; i++)); do
		rm -rf "$tmp/journal"
		BWLIMIT_JOURNAL_DIR=$tmp/journal "$ctl" journal init >/dev/null 2>&1 || return
	done
}
# "old N", hashes, an empty line, a checkpoint: 200 and a signature line, or another code.
add_checkpoint() { # FILE
	curl -s -o "$tmp/said" -w '%{http_code}' --data-binary "@$1" "$url/add-checkpoint" >"$tmp/code"
}
is_code() { [[ $(<"$tmp/code") == "$1" ]] || { note "$(<"$tmp/code") $(<"$tmp/said")"; false; }; }

"$ctl" audit init --origin bwlimit/tray-7 >"$tmp/key" 2>/dev/null
ssh-keygen -q -t ed25519 -N '' -C '' -f "$tmp/witness"
ssh-agent -D -a "$SSH_AUTH_SOCK" >/dev/null &
pids+=($!)
for _ in {1..1200}; do [[ -S $SSH_AUTH_SOCK ]] && break; sleep 0.1; done
ssh-add -q "$tmp/witness" 2>/dev/null
"$WITNESS_BIN/witnessctl" add-log -db "$tmp/db" -origin bwlimit/tray-7 2>/dev/null
"$WITNESS_BIN/witnessctl" add-key -db "$tmp/db" -origin bwlimit/tray-7 -key "$(<"$tmp/key")" 2>"$tmp/added"
check "litewitness takes the log's key, as \`audit init\` prints it" grep -q 'Added key' "$tmp/added"
"$WITNESS_BIN/litewitness" -db "$tmp/db" -ssh-agent "$SSH_AUTH_SOCK" -name example.com/witness -listen 127.0.0.1:7380 \
	-key "$(ssh-keygen -lf "$tmp/witness.pub" | awk '{ print $2 }')" >"$tmp/witness.log" 2>&1 &
pids+=($!)
for _ in {1..1200}; do curl -s -o /dev/null "$url/" && break; sleep 0.1; done
vkey=$(sed -n 's/.*vkey=//p' "$tmp/witness.log")
check "control: litewitness listens, and says its key" test -n "$vkey"

"$ctl" audit checkpoint >"$tmp/first"
{ printf 'old 0\n\n'; cat "$tmp/first"; } >"$tmp/request"
add_checkpoint "$tmp/request"
check "it cosigns the first checkpoint" is_code 200
cat "$tmp/first" "$tmp/said" >"$tmp/first.cosigned"
verified() { "$ctl" audit verify --key "$tmp/key" --witness "$vkey" --checkpoint "$1" >"$tmp/out" 2>&1 || { note "$(<"$tmp/out")"; false; }; }
check "and our \`audit verify --witness\` takes its cosignature" verified "$tmp/first.cosigned"
refute "without it the checkpoint is not cosigned" "$ctl" audit verify --key "$tmp/key" --witness "$vkey" --checkpoint "$tmp/first" 2>/dev/null
sed 's/^\(— example.com\/witness .\{20\}\)A/\1B/; t; s/^\(— example.com\/witness .\{20\}\)./\1A/' "$tmp/first.cosigned" >"$tmp/forged"
refute "nor by another signature of that name" "$ctl" audit verify --key "$tmp/key" --witness "$vkey" --checkpoint "$tmp/forged" 2>/dev/null

cp -r "$tmp/audit" "$tmp/fork"
check "control: the log grows" records 5
"$ctl" audit checkpoint --from "$tmp/first" >"$tmp/request"
add_checkpoint "$tmp/request"
check "what \`audit checkpoint --from\` prints is its request: it cosigns what has grown" is_code 200
sed '1,/^$/d' "$tmp/request" | cat - "$tmp/said" >"$tmp/second.cosigned"
check "which is verified, too" verified "$tmp/second.cosigned"
# One record for somebody without the log, who knows this witness and requires it.
given() { # checkpoint: a proof in its tree, taken?
	"$ctl" audit prove 3 --witnessed "$tmp/$1" --write "$tmp/3.tlog-proof" --record "$tmp/3.json" 2>"$tmp/out" &&
		"$ctl" audit check-proof "$tmp/3.tlog-proof" --key "$tmp/key" --record "$tmp/3.json" --witness "$vkey" --witnesses 1 >"$tmp/out" 2>&1
}
check "a proof of a record takes the cosignature with it" given second.cosigned
check "and says that one witness cosigned it" grep -q '; 1 of 1 known witnesses cosigned it$' "$tmp/out"
sed '1,/^$/d' "$tmp/request" >"$tmp/second"
refute "a proof without it is refused where the witness is demanded" given second
check "as that" grep -q '0 of the 1 known witnesses' "$tmp/out"
check "tiles take the cosigned checkpoint" eval '"$ctl" audit tiles "$tmp/tiles" --witnessed "$tmp/second.cosigned" >"$tmp/out" 2>&1 && cmp "$tmp/tiles/checkpoint" "$tmp/second.cosigned"'
add_checkpoint "$tmp/request"
check "the same again is a conflict, with the size that it holds" eval 'is_code 409 && [[ $(<"$tmp/said") == "$(sed -n 2p "$tmp/second.cosigned")" ]]'
# Several witnesses are asked one after the other while the log grows: each is shown the same checkpoint.
"$ctl" audit checkpoint >"$tmp/third"
check "control: it grows once more" records 3
"$ctl" audit checkpoint --from "$tmp/second.cosigned" --to "$tmp/third" >"$tmp/request"
add_checkpoint "$tmp/request"
cat "$tmp/third" "$tmp/said" >"$tmp/third.cosigned"
check "a checkpoint that is not the newest one any more is cosigned as well" eval 'is_code 200 && verified "$tmp/third.cosigned"'
refute "control: there is a newer one" cmp -s "$tmp/third" <("$ctl" audit checkpoint)
check "control: so does a copy of it as it was, otherwise" eval 'BWLIMIT_AUDIT_DIR=$tmp/fork records 9'
BWLIMIT_AUDIT_DIR=$tmp/fork "$ctl" audit checkpoint --from "$tmp/third.cosigned" >"$tmp/request"
add_checkpoint "$tmp/request"
check "which is a fork, signed by the same key: it is refused" is_code 422
refute "and our own verification says so" "$ctl" audit verify --key "$tmp/key" --checkpoint "$tmp/third.cosigned" --proof "$tmp/request" 2>/dev/null
done_testing
