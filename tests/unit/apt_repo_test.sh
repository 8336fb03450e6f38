#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# packaging/apt-repo, read by apt itself in a root of its own. What it signs is installed. What is changed later,
# unsigned, or signed by somebody else is not.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_dir=${BWL_SOURCE:-${here%/*/*}}
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
tmp=$(mktemp -d)
export GNUPGHOME=$tmp/gnupg
trap 'gpgconf --kill all; rm -rf "$tmp"' EXIT
for tool in dpkg-deb dpkg-scanpackages gpg gpgv apt-get; do
	command -v "$tool" >/dev/null || { echo "needs $tool"; exit 77; }
done
mkdir -m 700 "$GNUPGHOME"
make_key() { gpg --batch --quiet --passphrase '' --quick-gen-key "$1" ed25519 sign never 2>"$tmp/gpg"; }
make_key one@example.org && make_key two@example.org || { sed 's/^/# /' "$tmp/gpg"; exit 1; }
arch=$(dpkg --print-architecture)

package() { # version, content; prints its path
	local d=$tmp/build
	rm -rf "$d"
	mkdir -p "$d/DEBIAN" "$d/usr/share/bwl-sample"
	printf 'Package: bwl-sample\nVersion: %s\nArchitecture: %s\nMaintainer: t <t@example.org>\nDescription: sample\n' \
		"$1" "$arch" >"$d/DEBIAN/control"
	echo "$2" >"$d/usr/share/bwl-sample/text"
	dpkg-deb --root-owner-group --build "$d" "$tmp/sample-$1-$2.deb" >/dev/null && echo "$tmp/sample-$1-$2.deb"
}
repo() { "$source_dir/packaging/apt-repo" "$@" >"$tmp/out" 2>"$tmp/err"; }
told() { grep -qF -- "$1" "$tmp/err" || { sed 's/^/# /' "$tmp/err"; return 1; }; }
apt() { # key apt-get arguments…: `update` as the first argument begins with an empty root
	local key=$1 root=$tmp/root
	shift
	if [[ $1 == update ]]; then
		rm -rf "$root"
		mkdir -p "$root"/{state/lists/partial,cache/archives/partial,etc/apt.conf.d,etc/preferences.d,etc/trusted.gpg.d}
		: >"$root/state/status"
		echo "deb [signed-by=$key] copy:$tmp/repo stable main" >"$root/etc/sources.list"
	fi
	(cd "$root" && apt-get -qq -o Dir::State="$root/state" -o Dir::State::status="$root/state/status" \
		-o Dir::Cache="$root/cache" -o Dir::Etc="$root/etc" -o APT::Sandbox::User=root -o Acquire::Check-Valid-Until=true \
		-o Acquire::Check-Date=true -o APT::Architecture="$arch" \
		-o Dir::Log="$root" "$@") >"$tmp/apt" 2>&1
}
apt_says() { grep -q -- "$1" "$tmp/apt" || { sed 's/^/# /' "$tmp/apt"; return 1; }; }
restored() { rm -rf "$tmp/repo" && cp -a "$tmp/whole" "$tmp/repo"; }
newest() { (cd "$tmp/root" && echo cache/archives/*.deb); }

first=$(package 1.0 one)
check "a repository is made by one command" repo "$tmp/repo" --key one@example.org "$first"
key=$tmp/key.gpg
cp "$tmp/repo/bwlimit.gpg" "$key"
check "it says what a machine needs" grep -q 'signed-by=/etc/apt/keyrings/bwlimit.gpg' "$tmp/out"
check "apt takes it" apt "$key" update
check "and the package, ready to be installed" apt "$key" install -y --download-only bwl-sample
check "byte by byte" cmp -s "$first" "$tmp/root/$(newest)"
second=$(package 1.1 two)
check "a newer version joins it" repo "$tmp/repo" --key one@example.org --valid 30 "$second"
check "apt finds it" eval 'apt "$key" update && apt "$key" install -y --download-only bwl-sample && cmp -s "$second" "$tmp/root/$(newest)"'
check "and the one before, if asked" eval 'apt "$key" download bwl-sample=1.0 && cmp -s "$first" "$tmp/root"/bwl-sample_1.0_*.deb'
check "its word has an end" grep -q '^Valid-Until: ' "$tmp/repo/dists/stable/InRelease"
cp -a "$tmp/repo" "$tmp/whole"

# What apt refuses.
pool=$(echo "$tmp"/repo/pool/bwl-sample_1.1_*.deb)
cp "$(package 1.1 evil)" "$pool"
apt "$key" update
refute "a package that was exchanged is refused" apt "$key" install -y --download-only bwl-sample
check "by its checksum" apt_says 'Hash Sum mismatch\|unexpected size'
restored
sed -i 's/^Version: 1.1/Version: 1.2/' "$tmp/repo/dists/stable/main/binary-$arch/Packages"
gzip -9nkf "$tmp/repo/dists/stable/main/binary-$arch/Packages"
refute "an index that was changed is refused" apt "$key" update
restored
sed -i 's/^Suite: .*/Suite: other/' "$tmp/repo/dists/stable/InRelease"
refute "a Release that was changed is refused" apt "$key" update
restored
rm "$tmp/repo/dists/stable/InRelease"
check "Release and Release.gpg alone are taken" apt "$key" update
rm "$tmp/repo/dists/stable/Release.gpg"
refute "a Release that nobody signed is refused" apt "$key" update
check "as such" apt_says 'is not signed'
restored
sed -i 's/^Valid-Until: .*/Valid-Until: Sat, 01 Jan 2022 00:00:00 +0000/' "$tmp/repo/dists/stable/Release"
gpg --batch --yes -u one@example.org --output "$tmp/repo/dists/stable/InRelease" --clearsign "$tmp/repo/dists/stable/Release"
refute "one whose end has come is refused" apt "$key" update
restored
rm "$tmp/repo/bwlimit.gpg"
check "with another key it is made when the trusted one was put away" repo "$tmp/repo" --key two@example.org
refute "and is refused by who trusts the first" apt "$key" update
restored

# What apt-repo refuses before it writes anything.
before=$(cd "$tmp/repo" && find . -type f -exec sha256sum {} + | sort)
same() { [[ $(cd "$tmp/repo" && find . -type f -exec sha256sum {} + | sort) == "$before" ]]; }
refute "another file of a version that was given out" repo "$tmp/repo" --key one@example.org "$(package 1.1 other)"
check "is named" told 'a version is published only once'
refute "another key" repo "$tmp/repo" --key two@example.org "$(package 1.3 three)"
check "is not what machines trust" told 'which is what machines trust'
refute "no such key" repo "$tmp/repo" --key nobody@example.org "$second"
check "is told" told 'gpg has no secret key nobody@example.org'
echo text >"$tmp/text.deb"
refute "no package" repo "$tmp/repo" --key one@example.org "$(package 1.3 three)" "$tmp/text.deb"
check "is told by name" told "$tmp/text.deb is not a Debian package"
refute "a strange suite" repo "$tmp/repo" --key one@example.org --suite ../up "$second"
refute "a strange time" repo "$tmp/repo" --key one@example.org --valid 0 "$second"
refute "no key at all" repo "$tmp/repo" "$second"
check "and the repository is what it was" same
refute "an empty one is not made" repo "$tmp/none" --key one@example.org
done_testing
