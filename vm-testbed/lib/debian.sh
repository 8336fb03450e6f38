# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Makes whole Debian systems of this machine's release for guests, with what the package needs. Source
# lib/fetch.sh first. A function that fails prints why and returns 1.

# The path of another package that is built together with bwlimit's, beside it.
vm_beside() { # tools, controller or export; DEB of bwlimit
	printf '%s\n' "${2%/*}/$(sed "s/^bwlimit_/bwlimit-$1_/" <<<"${2##*/}")"
}
# What .debs depend on (except on one another), as mmdebstrap's --include takes it.
vm_depends() { # DEB…
	local deb
	for deb in "$@"; do dpkg-deb -f "$deb" Depends; done |
		sed 's/([^)]*)//g; s/ //g; s/|[^,]*//g' | tr ',' '\n' | grep -v '^bwlimit' | sort -u | paste -sd ,
}

# vm_debian TARGET ARCH VARIANT PACKAGES [option of mmdebstrap…]
vm_debian() {
	local target=$1 arch=$2 variant=$3 packages=$4 codename mirrors list
	shift 4
	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	mirrors=$(vm_mirrors)
	[[ -n $mirrors ]] || { echo "no Debian mirror is configured for apt on this machine"; return 1; }
	mkdir -p "$VM_CACHE/tmp"
	list=$(mktemp -p "$VM_CACHE/tmp")
	awk '{ print "deb", $1, $2, "main" }' <<<"$mirrors" >"$list"
	if ! timeout 1500 mmdebstrap --mode=root --variant="$variant" --architectures="$arch" \
		--include="$packages" "$@" "$codename" "$target" "$list" >"$list.log" 2>&1; then
		echo "mmdebstrap failed: $(grep -m 1 '^E:' "$list.log" || tail -n 1 "$list.log")"
		rm -f "$list" "$list.log"
		return 1
	fi
	rm -f "$list" "$list.log"
}

# The cache's name for a system with these packages: it changes when they change.
vm_name() { # NAME PACKAGES
	echo "$1-$(md5sum <<<"$2" | cut -c 1-8)"
}
# vm_cached; also removes systems of that name with other packages.
vm_once() { # NAME COMMAND…
	local old
	for old in "$VM_CACHE/${1%-*}"-*; do
		[[ $old == "$VM_CACHE/$1" ]] || rm -rf "$old"
	done
	vm_cached "$@"
}
