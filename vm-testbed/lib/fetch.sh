# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Unpacks Debian packages of any suite into the cache ($VM_CACHE). The host's own apt lists, sources
# and installed packages are not touched. What is in the cache is never fetched again. A function
# that fails prints why and returns 1.

VM_OWN_ARCH=$(dpkg --print-architecture 2>/dev/null)
VM_ARCH=${VM_ARCH:-$VM_OWN_ARCH} # the architecture of what is fetched
# Another architecture has its own lists.
vm_apt_dir() { # SUITE
	[[ $VM_ARCH == "$VM_OWN_ARCH" ]] && echo "$VM_CACHE/apt/$1" || echo "$VM_CACHE/apt/$1-$VM_ARCH"
}

# The mirrors from which this machine gets Debian itself: "URI SUITE" for its release, updates and security.
vm_mirrors() {
	local codename
	codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
	# shellcheck disable=SC2016 # apt's own variables
	apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' \
		'Created-By: Packages' 2>/dev/null |
		awk -v suite="$codename" 'index($1, suite) == 1 && $2 == "main" { print $3, $1 }' |
		sort -k 2 -u
}

# Runs apt with separate lists: vm_apt SUITE COMMAND…. Their lock is the cache's own, so no other apt of this machine is in its
# way; who holds the cache's lock (run) has them alone.
vm_apt() {
	local dir tool=$2
	dir=$(vm_apt_dir "$1")
	shift 2
	timeout 900 "$tool" -q -o Dir::State::lists="$dir/lists" -o Dir::Cache="$dir/cache" \
		-o APT::Architecture="$VM_ARCH" \
		-o Dir::Etc::sourcelist="$dir/list.sources" -o Dir::Etc::sourceparts=/dev/null \
		-o Dir::Etc::preferencesparts=/dev/null -o APT::Sandbox::User=root \
		-o Acquire::Retries=5 -o Acquire::Languages=none "$@"
}

# Fetches the package lists of a suite, at most once a day. For the machine's own release they include
# updates, so that versions match what is installed.
vm_lists() { # SUITE
	local dir mirrors uri suite
	dir=$(vm_apt_dir "$1")
	[[ -n $(find "$dir/fresh" -mtime -1 2>/dev/null) ]] && return
	mirrors=$(vm_mirrors)
	if [[ -z $mirrors ]]; then
		echo "no Debian mirror is configured for apt on this machine"
		return 1
	fi
	mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial"
	grep -q " $1\$" <<<"$mirrors" || mirrors="${mirrors%% *} $1"
	while read -r uri suite; do
		printf '%s\n' 'Types: deb' "URIs: $uri" "Suites: $suite" 'Components: main' \
			'Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg' ''
	done <<<"$mirrors" >"$dir/list.sources"
	if ! vm_apt "$1" apt-get -o APT::Update::Error-Mode=any update >"$dir/update.log" 2>&1; then
		echo "package lists of $1 cannot be fetched: $(grep -m 1 '^[EW]:' "$dir/update.log")"
		return 1
	fi
	touch "$dir/fresh"
}

# Downloads packages and unpacks them into DIR, as one tree: vm_unpack DIR SUITE PACKAGE…
vm_unpack() {
	local into=$1 suite=$2 tmp deb rc=0
	shift 2
	mkdir -p "$into" "$VM_CACHE/tmp" && tmp=$(mktemp -d -p "$VM_CACHE/tmp") || return
	# What this machine has installed is no candidate: its suite may have another version.
	if ! (cd "$tmp" && vm_apt "$suite" apt-get -o Dir::State::status=/dev/null download "$@") >"$tmp/log" 2>&1; then
		echo "cannot download $*: $(grep -m 1 '^E:' "$tmp/log")"
		rc=1
	else
		for deb in "$tmp"/*.deb; do
			dpkg -x "$deb" "$into" || { echo "cannot unpack ${deb##*/}"; rc=1; }
		done
	fi
	rm -rf "$tmp"
	return $rc
}

# What is missing of the host's packages: vm_install_deps PURPOSE…. That it waits for another apt is said at once.
vm_install_deps() {
	"$VM_HERE/../packaging/install-deps" "$@" 2>&1 | sed -u -e '/^install-deps: waiting/{w /dev/stderr' -e 'd}'
}

# Only one run at a time fills the cache: it holds descriptor 9. Another waits, and says so; not on
# stdout, whose first line may be why there is no VM.
vm_lock() {
	mkdir -p "$VM_CACHE"
	exec 9>"$VM_CACHE/lock"
	flock -n 9 && return
	echo "# another run fills $VM_CACHE: waiting for it, for 30 minutes at most" >&2
	flock -w 1800 9
}

# Makes PATH in the cache once, by a command whose last argument is the empty folder to fill:
# vm_cached PATH COMMAND…
vm_cached() {
	local path=$VM_CACHE/$1
	shift
	if [[ ! -e $path/.complete ]]; then
		rm -rf "$path"
		mkdir -p "$path"
		"$@" "$path" || { rm -rf "$path"; return 1; }
		touch "$path/.complete"
	fi
}

# Kernel image and modules of a suite; the file `release` has what uname -r will print. FLAVOUR: -16k.
vm_kernel() { # SUITE [FLAVOUR] DIR
	local suite=$1 dir=${!#} flavour='' image release
	[[ $# -eq 2 ]] || flavour=$2
	vm_lists "$suite" || return
	image=$(vm_apt "$suite" apt-cache depends --no-recommends --no-suggests \
		"linux-image-$VM_ARCH$flavour/$suite" 2>/dev/null |
		sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
	[[ -n $image ]] || { echo "suite $suite has no linux-image-$VM_ARCH$flavour"; return 1; }
	release=${image#linux-image-}
	# Newer kernels have image and modules in separate packages, all in /usr/lib/modules.
	mapfile -t pkgs < <(echo "$image" && vm_apt "$suite" apt-cache depends "$image" |
		sed -n "s/^ *Depends: \(linux-[a-z]*-$release\)\$/\1/p")
	vm_unpack "$dir/root" "$suite" "${pkgs[@]}" || return
	# virtme looks for /boot and /lib/modules.
	if [[ -f $dir/root/usr/lib/modules/$release/vmlinuz ]]; then
		mkdir -p "$dir/root/boot"
		ln -sfn usr/lib "$dir/root/lib"
		ln -sf "../lib/modules/$release/vmlinuz" "$dir/root/boot/vmlinuz-$release"
	fi
	[[ -d $dir/root/lib/modules/$release && -f $dir/root/boot/vmlinuz-$release ]] || {
		echo "$image holds no modules or no image"; return 1; }
	depmod -a -b "$dir/root" "$release" || return
	echo "$release" >"$dir/release"
}

# Unpacks a set of vm-testbed/packages, with what it depends on and the host lacks (apt simulates an
# installation). What `tools` depends on is in packaging/debian-deps.txt instead.
vm_package_set() { # SET DIR
	local set=$1 dir=$2 name suite package
	local -A of=()
	while read -r name suite package; do
		[[ $name == "$set" ]] && of[$suite]+=" $package"
	done <"$VM_HERE/packages"
	[[ ${#of[@]} -gt 0 ]] || { echo "vm-testbed/packages has no set '$set'"; return 1; }
	for suite in "${!of[@]}"; do
		vm_lists "$suite" || return
		# shellcheck disable=SC2086 # split into words
		mapfile -t pkgs < <(printf '%s\n' ${of[$suite]}; [[ $set == tools ]] ||
			vm_apt "$suite" apt-get -s -y --no-install-recommends -o Debug::NoLocking=1 \
				install ${of[$suite]} 2>/dev/null |
				sed -n 's/^Inst \([^ ]*\) (.*/\1/p')
		mapfile -t pkgs < <(printf '%s\n' "${pkgs[@]}" | sort -u)
		vm_unpack "$dir/root" "$suite" "${pkgs[@]}" || return
	done
	# If /bin is a link to /usr/bin, what a package has in /bin belongs into /usr/bin, too.
	for name in bin sbin lib; do
		[[ ! -d $dir/root/$name ]] || { mkdir -p "$dir/root/usr/$name" &&
			cp -a "$dir/root/$name/." "$dir/root/usr/$name" && rm -r "${dir:?}/root/$name"; }
	done
}
