#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# `bwlimit-ctl pki` is killed wherever it changes a file, and two run at once: a node always has a
# certificate with its key, and every issued certificate is on record.
# live: files of a CA alone are judged: no DPU is here
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
CTL=${BWL_BUILD:-$here/../../build/release}/ctl/bwlimit-ctl
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
if ! command -v strace >/dev/null; then
	echo "needs strace"
	exit 77
fi

ca=$tmp/ca
pki() { "$CTL" pki "$@" --ca "$ca" >"$tmp/out" 2>"$tmp/err"; }
says() { grep -q -- "$1" "$tmp/out" "$tmp/err" || { note "$(cat "$tmp/out" "$tmp/err")"; false; }; }
quietly() { "$@" >/dev/null 2>&1; }
key_of() { openssl x509 -in "$1" -noout -pubkey 2>/dev/null; }
# The certificate is complete, on record, and belongs to one of the keys.
pair() { # node
	local dir=$ca/nodes/$1 key serial
	serial=$(openssl x509 -in "$dir/x509/$1.pem" -noout -serial) || return
	serial=${serial#serial=}
	[[ -s $ca/issued/$1-${serial,,}.pem ]] || return
	openssl verify -crl_check -CAfile "$ca/ca.pem" -CRLfile "$dir/x509crl/bwlimit.pem" \
		"$dir/x509/$1.pem" >/dev/null 2>&1 || return
	for key in "$dir/private/$1"-*.key; do
		[[ $(openssl pkey -in "$key" -pubout) == "$(key_of "$dir/x509/$1.pem")" ]] && return
	done
	return 1
}
killed_at() { # call number command…
	local call=$1 n=$2
	shift 2
	strace -f -qq -o "$tmp/strace" -e trace="$call" -e inject="$call:signal=SIGKILL:when=$n" \
		"$CTL" pki "$@" --ca "$ca" >"$tmp/out" 2>"$tmp/err"
	[[ $? -gt 128 ]]
}

n=0
while killed_at renameat $((++n)) init; do :; done 2>/dev/null
check "a CA that was killed before each of its $((n - 1)) files is made in the end" test "$n" -gt 3
check "and verifies itself" quietly openssl verify -CAfile "$ca/ca.pem" "$ca/ca.pem"
n=0
while killed_at renameat $((++n)) issue tray-7; do :; done 2>/dev/null
check "a node whose certificate was killed before each file has a pair in the end ($((n - 1)) kills)" pair tray-7

for call in renameat unlink unlinkat fsync; do
	n=0 broken=0
	while killed_at "$call" $((++n)) renew tray-7; do
		pair tray-7 || broken=$((broken + 1))
	done 2>/dev/null
	check "a renewal killed at any $call leaves the node a pair ($((n - 1)) kills)" test "$broken" = 0
done
check "the last renewal left one key" test "$(find "$ca/nodes/tray-7/private" -name '*.key' | wc -l)" = 1
check "no file is left half made where charon would read it" \
	test -z "$(find "$ca/nodes" -type f ! -name '.*' -size 0)"

for i in 1 2 3 4 5 6; do "$CTL" pki issue "node-$i" --ca "$ca" >/dev/null 2>"$tmp/err.$i" & done
wait
check "six at once all succeed" test "$(find "$ca/nodes" -path '*x509/node-*.pem' | wc -l)" = 6

n=0
while killed_at renameat $((++n)) revoke node-1; do :; done 2>/dev/null
refute "a revocation killed before each of its $((n - 1)) files is complete in the end" quietly openssl verify -crl_check \
	-CAfile "$ca/ca.pem" -CRLfile "$ca/nodes/node-2/x509crl/bwlimit.pem" "$ca"/issued/node-1-*.pem
check "in every node's folder" test "$(cat "$ca"/nodes/*/x509crl/bwlimit.pem | sort -u | wc -l)" -le \
	"$(wc -l <"$ca/crl.pem")"
check "and its key is gone" test -z "$(find "$ca/nodes/node-1/private" -name '*.key')"

openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-384 -nodes -keyout "$tmp/own.key" \
	-subj /CN=somebody-else -out "$tmp/own.csr" 2>/dev/null
check "a key that was made elsewhere is certified" pki issue tray-8 --csr "$tmp/own.csr"
check "under the name the operator gave" test \
	"$(openssl x509 -in "$ca/nodes/tray-8/x509/tray-8.pem" -noout -subject)" = 'subject=CN = tray-8'
check "and no key is made for it" test ! -e "$ca/nodes/tray-8/private"
sed -i 's/^M/N/' "$tmp/own.csr"
refute "a request that was changed is refused" pki issue tray-9 --csr "$tmp/own.csr"
refute "a node without a certificate has none to renew" pki renew tray-9
check "and is told what to do" says 'pki issue tray-9'
refute "a node that nobody knows cannot be revoked" pki revoke tray-9
refute "a name that differs from another one's in the case of letters alone is none: charon takes both for one" pki issue TRAY-8
check "and is told whose" says 'tray-8 has or had a certificate, and IKE does not tell TRAY-8 from it'
touch "$ca/issued/TRAY-8-$(printf '%040d' 7).pem"
check "one that was mistyped before does not keep the right one from being renewed" pki renew tray-8
check "with a warning" grep -q 'warning: TRAY-8 has or had a certificate' "$tmp/err"
rm "$ca/issued/TRAY-8-"*
refute "a name with a path in it is none" pki issue ../x
check "and wrong use" says 'not the name of a node'
# With the authority's stolen key a thief can be any tray, and is on no revocation list: until there is a new authority.
cp -r "$ca" "$tmp/stolen"
check "control: by a stolen key the thief is whatever tray he likes" eval \
	'quietly "$CTL" pki issue tray-66 --ca "$tmp/stolen" && quietly openssl verify -crl_check -CAfile "$ca/ca.pem" -CRLfile "$ca/nodes/tray-7/x509crl/bwlimit.pem" "$tmp/stolen/nodes/tray-66/x509/tray-66.pem"'
check "a new authority certifies tray-7" eval 'quietly "$CTL" pki init --ca "$tmp/anew" && quietly "$CTL" pki issue tray-7 --ca "$tmp/anew"'
new=$tmp/anew/nodes/tray-7
by_new() { quietly openssl verify -crl_check -CAfile "$new/x509ca/$(ls "$new/x509ca")" -CRLfile "$new/x509crl/$(ls "$new/x509crl")" "$1"; }
check "control: by the files that it gives out it is tray-7" by_new "$new/x509/tray-7.pem"
refute "the thief's are not, by those" by_new "$tmp/stolen/nodes/tray-66/x509/tray-66.pem"
quietly "$CTL" pki issue tray-7 --ca "$tmp/stolen"
refute "nor those of the name that is certified anew" by_new "$tmp/stolen/nodes/tray-7/x509/tray-7.pem"

mv "$ca/ca.key" "$tmp/ca.key"
refute "without the CA's key nothing is signed" pki issue tray-9
check "and the missing file is named" says 'ca.key'
done_testing
