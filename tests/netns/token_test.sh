#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A person's key on a PKCS#11 token (SoftHSM): it signs and approves like one in a file, its PIN is nowhere
# readable to others, and a wrong PIN is reported as such.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
CTL=${BWL_BUILD:-$here/../../build/release}/ctl/bwlimit-ctl
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
module=/usr/lib/softhsm/libsofthsm2.so
[[ -x $(command -v softhsm2-util) && -x $(command -v pkcs11-tool) && -e $module ]] ||
	{ echo '1..0 # SKIP no SoftHSM, or no pkcs11-tool: packaging/install-deps test'; exit 77; }
export SOFTHSM2_CONF=$tmp/softhsm2.conf BWLIMIT_AUDIT_DIR=''
mkdir "$tmp/tokens"
printf 'directories.tokendir = %s/tokens\nobjectstore.backend = file\n' "$tmp" >"$SOFTHSM2_CONF"
umask 077
echo 471147 >"$tmp/pin"
echo 471148 >"$tmp/wrong"
token() { pkcs11-tool --module $module --token-label alice --login --pin 471147 "$@" 2>&1; }
uri() { echo "pkcs11:token=alice;object=${2:-bwlimit}${1:+?pin-source=file:$tmp/$1}"; } # [file of the PIN] [key]
# Without a terminal, like a service.
ctl() { setsid "$CTL" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null; }
says() { grep -qE -- "$1" "$tmp/out" "$tmp/err" || { note "$(cat "$tmp/out" "$tmp/err")"; false; }; }
refused() { # what it says, command…
	! ctl "${@:2}" && says "$1"
}
id_of() { ctl --json key show "$1" && jq -r .key_id "$tmp/out"; }
public_of() { ctl --json key show "$1" && jq -r .raw_public_key "$tmp/out"; }
make_token() {
	softhsm2-util --init-token --free --label alice --pin 471147 --so-pin 471100 >/dev/null &&
		token --keypairgen --key-type EC:edwards25519 --label bwlimit --id 01 >/dev/null &&
		token --keypairgen --key-type EC:prime256v1 --label other --id 02 >/dev/null
}
check "control: a token with an Ed25519 key and another one" make_token

note "The key"
point=$(token --list-objects --type pubkey --label bwlimit | sed -n 's/^ *EC_POINT: *0420//p')
check "its public part is the token's" eval '[[ ${#point} == 64 && $(public_of "$(uri pin)" | base64 -d | od -An -v -tx1 | tr -d " \n") == "$point" ]]'
"$CTL" key new "$tmp/bob.pem" >/dev/null && "$CTL" key new "$tmp/online.pem" >/dev/null
alice=$(id_of "$(uri pin)") bob=$(id_of "$tmp/bob.pem") online=$(id_of "$tmp/online.pem")
jq -n --arg a "$alice" --arg b "$bob" --arg o "$online" --arg pa "$(public_of "$(uri pin)")" \
	--arg pb "$(public_of "$tmp/bob.pem")" --arg po "$(public_of "$tmp/online.pem")" '{
	keys: {($a): {public: $pa, owner: "alice"}, ($b): {public: $pb, owner: "bob"}, ($o): {public: $po, owner: "controller"}},
	roles: {root: {threshold: 2, keys: [$a, $b]}, policy: {threshold: 2, keys: [$a, $b]}, online: {threshold: 1, keys: [$o]}}}' \
	>"$tmp/root.json"

note "Signing"
check "it signs a root" ctl policy sign "$tmp/root.json" --type root --key "$(uri pin)" --fleet hall-3 --name root \
	--number 1 --for 365d --out "$tmp/root"
check "control: bob signs it by a file" ctl policy sign "$tmp/root" --key "$tmp/bob.pem"
check "which libcrypto finds signed by both" eval 'ctl policy verify "$tmp/root" && says "verified +2"'
policy() { # rate
	printf 'version: 1\nnode: tray-7\nuplinks: [p0]\nhost_ports: [{ dev: pf0, sources: [10.7.0.0/24] }]\nheartbeat: 1h\n'
	printf 'peers:\n  - { name: d1, addresses: [10.1.0.0/24], path: clear, via: 192.0.2.254, grant: { rate: %s } }\n' "$1"
}
policy 1mbit >"$tmp/before.yaml"
policy 2mbit >"$tmp/p.yaml"
said=(--fleet hall-3 --audience tray:tray-7 --name tray-7 --number 1 --for 30d --reason drill)
check "it signs a policy" ctl policy sign "$tmp/p.yaml" --key "$(uri pin)" "${said[@]}"
check "by one person" eval 'ctl policy verify "$tmp/p.yaml.signed" --root "$tmp/root" && says "verified +1"'
check "and bob approves it" ctl approve "$tmp/p.yaml.signed" --root "$tmp/root" --against "$tmp/before.yaml" --key "$tmp/bob.pem" --yes
check "it approves what bob signed" eval 'ctl policy sign "$tmp/p.yaml" --key "$tmp/bob.pem" "${said[@]}" --out "$tmp/b.signed" &&
	ctl approve "$tmp/b.signed" --root "$tmp/root" --against "$tmp/before.yaml" --key "$(uri pin)" --yes &&
	ctl policy verify "$tmp/b.signed" --root "$tmp/root" && says "verified +2"'

note "The PIN"
check "a wrong one is said to be wrong" refused "token alice refuses this PIN" key show "$(uri wrong)"
check "and nothing is signed" eval 'rm -f "$tmp/p.yaml.signed"; ! ctl policy sign "$tmp/p.yaml" --key "$(uri wrong)" "${said[@]}" &&
	says "is not tried" && [[ ! -e $tmp/p.yaml.signed ]]'
check "a file's is not tried where the token says that one was wrong" refused "the one in $tmp/pin is not tried" \
	key show "$(uri pin)"
locks() { ! token --list-objects >/dev/null; }
wrong_ones() { for _ in {1..12}; do refused "$tmp/wrong is not tried" key show "$(uri wrong)" || return 1; done; }
check "so a service that comes again and again with a wrong one does not lock it" wrong_ones
refute "control: the right one, by hand, is taken" locks
check "and the file's after it" ctl key show "$(uri pin)"
check "one on the command line is refused, before the token is asked" refused "every user here can read" \
	key show "pkcs11:token=alice;object=bwlimit?pin-value=471147"
check "and so where it is said in front" refused "every user here can read" \
	key show "pkcs11:token=alice;object=bwlimit;pin-value=471147"
chmod 644 "$tmp/pin"
check "one in a file that others read is refused" refused "users other than its owner" key show "$(uri pin)"
chmod 600 "$tmp/pin"
check "a file that is not there is named" refused "cannot read the PIN in $tmp/none" key show "$(uri none)"
check "without a terminal and a file there is nobody to ask" refused "no terminal" key show "$(uri)"
# At a separate terminal: what is typed, then what was shown.
terminal() { # PIN command…
	/usr/bin/python3 - "$@" <<'END'
import os, pty, sys
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[2], sys.argv[2:])
seen = b""
while b"PIN of" not in seen:
    seen += os.read(fd, 1000)
os.write(fd, sys.argv[1].encode() + b"\n")
try:
    while more := os.read(fd, 1000):
        seen += more
        if seen.count(b"PIN of") > 1:
            sys.exit("asked again")
except OSError:
    pass
print(seen.decode())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
}
check "at a terminal it is asked for" eval 'terminal 471147 "$CTL" key show "$(uri)" >"$tmp/out" 2>"$tmp/err" && says "PIN of the token alice" && says "$alice"'
refute "and not shown" grep -q 471147 "$tmp/out"
check "a wrong one is asked for once" eval '! terminal 471148 "$CTL" key show "$(uri)" >"$tmp/out" 2>"$tmp/err" && says "refuses this PIN"'
# The unit does not restart a program that ends with 3 (RestartPreventExitStatus=); it gets no further than the key.
controller() { "${CTL%/ctl/*}/fleet/controller/bwlimit-controller" --servers https://127.0.0.1:1 --ca "$tmp/root" --cert "$tmp/root" --key "$tmp/bob.pem" --root "$tmp/root" --online-key "$1" >"$tmp/out" 2>"$tmp/err"; }
ends() { local code; "${@:2}"; code=$?; [[ $code == "$1" ]] || { note "$code: $(cat "$tmp/err")"; false; }; }
check "a controller whose key's PIN is not tried ends with 3" ends 3 controller "$(uri wrong)"
check "control: without its key it ends with 1" ends 1 controller "$tmp/none.pem"

token --list-objects >/dev/null # with the right PIN: the token forgets the wrong one

note "Tokens and keys that are not there"
check "no such token" refused "there is no token" key show "pkcs11:token=carol;object=bwlimit?pin-source=$tmp/pin"
check "no such key" refused "no private key" key show "$(uri pin nothing)"
check "a key that is no Ed25519 key" refused "is not an Ed25519 key but EC" key show "$(uri pin other)"
check "no URI" refused "not a PKCS#11 URI" key show "pkcs11:token"
done_testing
