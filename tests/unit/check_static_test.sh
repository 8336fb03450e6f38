#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# packaging/check-static: by ELF headers it finds what Ubuntu 22.04 would lack. The packages here hold one small program
# each.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_dir=${BWL_SOURCE:-${here%/*/*}}
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
for tool in cc dpkg-deb objdump; do
	command -v "$tool" >/dev/null || { echo "needs $tool"; exit 77; }
done
package() { # name, main's body, options of cc…; prints its path
	local d=$tmp/$1
	mkdir -p "$d/DEBIAN" "$d/usr/sbin"
	printf 'Package: bwl-sample\nVersion: 1\nArchitecture: %s\nMaintainer: t <t@example.org>\nDescription: sample\n' \
		"$(dpkg --print-architecture)" >"$d/DEBIAN/control"
	printf '#include <stdlib.h>\nint main(void) { %s }\n' "$2" >"$tmp/main.c"
	cc -o "$d/usr/sbin/sample" "$tmp/main.c" "${@:3}" || return
	printf '#!/bin/sh\n' >"$d/usr/sbin/script" && chmod +x "$d/usr/sbin/script"
	dpkg-deb --root-owner-group --build "$d" "$tmp/$1.deb" >/dev/null && echo "$tmp/$1.deb"
}
checked() { "$source_dir/packaging/check-static" "$@" >"$tmp/out" 2>&1; }
told() { grep -qx "check-static: $1" "$tmp/out" || { sed 's/^/# /' "$tmp/out"; false; }; }

good=$(package good 'return 0;')
check "a program that needs the C library alone passes" checked "$good"
printf 'void bwl_x(void) {}\n' >"$tmp/x.c"
cc -shared -fPIC -Wl,-soname,libxdp.so.1 -o "$tmp/libxdp.so.1" "$tmp/x.c"
check "one that needs a library that is missing there does not" eval '! checked "$(package missing "return 0;" -Wl,--no-as-needed "$tmp/libxdp.so.1")"'
check "the library is named" told '/usr/sbin/sample needs libxdp.so.1'
printf 'unsigned int arc4random(void); ' >"$tmp/declare.h"
newer=$(package newer 'return arc4random() == 0 && arc4random() == 0;' -include "$tmp/declare.h" 2>/dev/null)
if [[ -n $newer ]] && objdump -T "$tmp/newer/usr/sbin/sample" | grep_all GLIBC_2.36; then
	refute "nor one with a symbol of a newer C library" checked "$newer"
	check "its version is named" told '/usr/sbin/sample needs GLIBC_2.36'
else
	skip "nor one with a symbol of a newer C library" "this C library has none (arc4random, 2.36)"
fi
check "of several packages each is looked at" eval '! checked "$good" "$tmp/missing.deb"'
rm "$tmp/good/usr/sbin/sample"
dpkg-deb --root-owner-group --build "$tmp/good" "$tmp/empty.deb" >/dev/null
refute "a package without a program is an error" checked "$tmp/empty.deb"
if [[ $(id -u) -eq 0 ]]; then
	refute "nor does one pass that does not start" checked "$(package fails 'return 1;')"
	check "which is said" told 'sample does not start without libbpf and libxdp'
else
	skip "one that does not start is found" "it needs root"
fi
done_testing
