#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Several places agree: --help, manual pages and completion of each command; the package's control files and what the
# tree builds with and installs.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_dir=${BWL_SOURCE:-${here%/*/*}} build=${BWL_BUILD:-${here%/*/*}/build/release}
packaging=$source_dir/packaging
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"

# Both have the same words, in any order.
same() { # words words
	local difference
	difference=$(diff <(tr ' ' '\n' <<<"$1" | sort -u) <(tr ' ' '\n' <<<"$2" | sort -u)) ||
		{ note "$difference"; return 1; }
}
within() { # words words; all of the first are in the second
	local missing
	missing=$(comm -23 <(tr ' ' '\n' <<<"$1" | sort -u) <(tr ' ' '\n' <<<"$2" | sort -u))
	[[ -z $missing ]] || { note "missing: ${missing//$'\n'/ }"; return 1; }
}
options() { sed 's/swanctl --[a-z-]*//g' | grep -oE -- '--[a-z][a-z0-9-]*' | sort -u; }
# Converts roff to plain text.
man_text() { # program
	sed 's/\\f[A-Z]//g; s/\\-/-/g; s/\\&//g; s/" *"//g' "$packaging/$1.8"
}
man_options() { man_text "$1" | sed '/^\.SH EXAMPLES/,/^\.SH/d' | options; }

declare -A program=([bwlimit-controller]=fleet/controller [bwlimit-ctl]=ctl [bwlimit-export]=export/flows [bwlimit-ipsecd]=ipsec/daemon [bwlimit-load]=loader [bwlimit-sync]=sync [bwlimit-web]=web [bwlimitd]=agent)
mapfile -t programs < <(sed -n 's/^set(programs \(.*\))$/\1/p' "$packaging/CMakeLists.txt" | tr ' ' '\n')
check "every program that is installed is known to this test" \
	same "${programs[*]}" "${!program[*]}"

# Every level of help, asked once: lint.help reads it as people do.
declare -A asked
for p in "${!program[@]}"; do asked[$p]=$("$build/${program[$p]}/$p" --help || echo "failed: $p"); done
ctl=$build/ctl/bwlimit-ctl
fleet_help=$("$ctl" --fleet --help)
mapfile -t commands < <(sed -n '/^Commands:/,/^$/s/^  \([a-z-]\+\( [a-z-]\+\)\?\)  .*/\1/p' <<<"${asked[bwlimit-ctl]}")
mapfile -t fleet_commands < <(sed -n '/^Commands:/,/^$/s/^  \([a-z]\+\)  .*/\1/p' <<<"$fleet_help")
check "bwlimit-ctl names its commands to a fleet" [ ${#fleet_commands[@]} -gt 10 ]
check "bwlimit-ctl names its commands" [ ${#commands[@]} -gt 20 ]
asked[bwlimit-ctl]+=$(
	# shellcheck disable=SC2086 # noun and verb
	for c in "${commands[@]}"; do "$ctl" $c --help || echo "failed: $c"; done
	for c in "${fleet_commands[@]}"; do "$ctl" --fleet "$c" --help || echo "failed: --fleet $c"; done
)
check "every --help ends with 0, and leaks nothing" same '' "$(printf '%s\n' "${asked[@]}" | grep '^failed: ')"
declare -A helps
for p in "${!program[@]}"; do helps[$p]=$(options <<<"${asked[$p]}"); done
strangers=$(printf '%s\n' "${helps[@]}" | sort -u)
for p in "${!program[@]}"; do
	help=$(grep -vxE -- '--(help|version)' <<<"${helps[$p]}")
	# `policy apply --confirm` and the like appear in other programs' pages as well.
	manual=$(man_options "$p" | grep -vxE -- '--(help|version)')
	completed=$(options <"$packaging/completion/$p.bash" | grep -vxE -- '--(help|version)')
	check "the manual page of $p has every option that --help has" within "$help" "$manual"
	check "the completion of $p has every option that --help has" within "$help" "$completed"
	check "the completion of $p has no option that --help has not" within "$completed" "$help"
	check "the manual page of $p names no option that no program has" within "$manual" "$strangers"
done

# A command's words in the completion: the noun in the first list, the verb in the noun's list.
nouns=$(printf '%s\n' "${commands[@]% *}" | sort -u)
check "the completion of bwlimit-ctl has every command" within "$nouns" \
	"$(sed -n "s|^\t/) words='\(.*\)' ;;|\1|p" "$packaging/completion/bwlimit-ctl.bash")"
for noun in $(printf '%s\n' "${commands[@]}" | awk 'NF > 1 { print $1 }' | grep -v "^grant$" | sort -u); do # grant takes a name or list
	check "and every verb of $noun" within \
		"$(printf '%s\n' "${commands[@]}" | sed -n "s/^$noun //p")" \
		"$(sed -n "s|^\t$noun/) words='\(.*\)' ;;|\1|p" "$packaging/completion/bwlimit-ctl.bash")"
done
check "and every command to a fleet" within "${fleet_commands[*]}" \
	"$(sed -n "s|^\tfleet-/) words='\(.*\)' ;;|\1|p" "$packaging/completion/bwlimit-ctl.bash")"
manual=$(man_text bwlimit-ctl | tr -d '"')
for c in "${fleet_commands[@]}"; do
	grep -qE "^\.B[IR]? --fleet .*\b$c\b" <<<"$manual" || { note "not in bwlimit-ctl.8: --fleet $c"; missing=1; }
done
for c in "${commands[@]}"; do
	grep -qE "^\.B[IR]? .*\b$c\b" <<<"$manual" || { note "not in bwlimit-ctl.8: $c"; missing=1; }
done
check "the manual page of bwlimit-ctl has every command" [ -z "${missing:-}" ]
commands_of_load=$(sed -n '/^commands:/,/^$/s/^  \([a-z]\+\)  .*/\1/p' <<<"${asked[bwlimit-load]}")
check "the manual page of bwlimit-load has every command" within "$commands_of_load" \
	"$(man_text bwlimit-load | sed -n 's/^\.B \([a-z]*\)$/\1/p')"
check "the completion of bwlimit-load has every command" within "$commands_of_load" \
	"$(sed -n "s/^\t'') words='\(.*\)' ;;/\1/p" "$packaging/completion/bwlimit-load.bash")"

# zsh asks bash. compadd is replaced, so that this prints what zsh would offer.
in_zsh() { # words…; prints what is offered for the last one
	BWLIMIT_BASH_COMPLETIONS=$packaging/completion PATH=$build/ctl:$build/loader:$PATH \
		zsh -fc 'words=("$@") CURRENT=$# service=$1
			compadd() { shift; print -l -- "$@" }
			. '"$packaging"'/completion/_bwlimit' zsh "$@"
}
offered() { # word words…
	local want=$1
	shift
	in_zsh "$@" | grep_all -x -- "$want" || { note "$(in_zsh "$@")"; false; }
}
if command -v zsh >/dev/null; then
	check "zsh completes a command" offered policy bwlimit-ctl po
	check "and its verb" offered apply bwlimit-ctl policy ''
	check "and an option" offered --fresh-volume bwlimit-load attach --fr
	check "of the agent too" offered --state-dir bwlimitd --
else
	skip "zsh completes what bash does" "zsh is not installed"
fi

# Manual pages of lists in the code.
listed() { # page; prints the names of its paragraphs
	sed -n '/^\.SH [RE][A-Z]*S$/,/^\.SH SEE/s/^\.B //p' "$build/packaging/$1.7" | sed 's/\\-/-/g'
}
names() { # header; prints the second word of each line of its list
	sed -n 's/^\tX([A-Z0-9_]*, "\([a-z0-9-]*\)".*/\1/p' "$source_dir/maps/$1.h"
}
for list in reason event; do
	check "bwlimit-${list}s(7) has every $list of the code" same "$(names $list)" "$(listed bwlimit-${list}s)"
done
check "and what one means, and what to do" grep -qA2 '^\.B no\\-peer$' "$build/packaging/bwlimit-reasons.7"

# bwlimit-policy(5) is made from docs/policy.md; unit.policy_test compares its keys with the code's.
rows() { sed -n 's/^| `\([a-z0-9_]*\)` |.*/\1/p' "$source_dir/docs/policy.md" | sort -u; }
if command -v lowdown >/dev/null; then
	shown=$(MANWIDTH=1000 man -l -E UTF-8 "$build/packaging/bwlimit-policy.5" 2>/dev/null | tr -cs 'a-z0-9_' '\n' | sort -u)
	check "control: docs/policy.md has keys" [ "$(rows | wc -l)" -gt 50 ]
	check "bwlimit-policy(5) has every key of docs/policy.md" same "" "$(comm -23 <(rows) - <<<"$shown")"
else
	skip "bwlimit-policy(5) has every key of docs/policy.md" "lowdown is not installed"
fi

# The package.
debian=$source_dir/debian
check "the package has the version of the tree" [ \
	"$(sed -n '1s/.*(\(.*\)).*/\1/p' "$debian/changelog")" = \
	"$(sed -n 's/^project(bwlimit VERSION \([^ ]*\).*/\1/p' "$source_dir/CMakeLists.txt")" ]
check "its build dependencies are the tree's" same \
	"$(sed -n '/^Build-Depends:/,/^$/p' "$debian/control" | grep -v debhelper | tr -d ' ,' | sed 's/:native//')" \
	"$(awk '!/^#/ && $2 == "build" && $1 != "build-essential" { print $1 }' "$packaging/debian-deps.txt")"
check "every unit is installed" same \
	"$(sed -n 's/^set(units \(.*\))$/\1/p' "$packaging/CMakeLists.txt")" \
	"$(cd "$packaging/systemd" && printf '%s\n' *.service.in | sed 's/\.service\.in//')"
check "and the package says which of them are enabled" same \
	"$(grep -o '[a-z-]*\.service' "$debian/rules")" \
	"$(cd "$packaging/systemd" && printf '%s\n' *.service.in | sed 's/\.in//')"
check "every manual page and completion belongs to a program that is installed" same "${programs[*]}" \
	"$(cd "$packaging" && printf '%s\n' *.8 completion/*.bash | sed 's|.*/||; s/\.\(8\|bash\)$//')"
# The controller does not run on a DPU: it has a package of its own, and the other package has none of its files.
check "what the controller is made of goes into its own package" same \
	"$(sed -n 's/^CONTROLLER := //p' "$debian/rules" | tr ' ' '\n' | grep -o '[^/]*$')" \
	"$(cd "$packaging" && printf '%s\n' bwlimit-controller bwlimit-controller.8 bwlimit-controller.service bwlimit-web-fleet.service bwlimit-controller.conf)
bwlimit-controller"
check "and that package is there" grep -qx 'Package: bwlimit-controller' "$debian/control"
check "likewise bwlimit-export, which brings glib" same "$(sed -n 's/^EXPORT := //p' "$debian/rules" | tr ' ' '\n' | grep -o '[^/]*$')" \
	"$(cd "$packaging" && printf '%s\n' bwlimit-export bwlimit-export.8 bwlimit-export.service bwlimit-export.conf)
bwlimit-export"
check "and that package is there, too" grep -qx 'Package: bwlimit-export' "$debian/control"
# A description is one field of /etc/passwd. With a colon, systemd-sysusers refuses the whole file, and the package
# cannot be configured.
words_of_users() { awk -F '"' '$1 ~ /^u / { n++; if ($2 == "" || $2 ~ /:/) { print FILENAME ": " $2; bad = 1 } } END { exit bad || !n }' "$packaging"/sysusers/*.conf; }
check "what is said of a user has no colon" words_of_users
if command -v systemd-sysusers >/dev/null; then
	for users in "$packaging"/sysusers/*.conf; do
		none=$(mktemp -d)
		mkdir "$none/etc"
		check "systemd-sysusers takes ${users##*/}" eval 'said=$(systemd-sysusers --dry-run --root="$none" "$users" 2>&1) || { note "$said"; false; }'
		rm -r "$none"
	done
else
	skip "systemd-sysusers takes the users" "no systemd-sysusers"
fi
# Both need the package of people's tools in the same version; that package needs neither.
for p in bwlimit bwlimit-controller; do
	check "$p brings bwlimit-ctl and bwlimit-web" \
		grep -q '^Depends:.*bwlimit-tools (= ${binary:Version})' <(sed -n "/^Package: $p\$/,/^\$/p" "$debian/control")
done
refute "which need neither" grep -q '^Depends:.*bwlimit' <(sed -n '/^Package: bwlimit-tools$/,/^$/p' "$debian/control")
check "they, their pages, completions and the page are in that package" within \
	'usr/sbin/bwlimit-ctl usr/sbin/bwlimit-web usr/share/man/man8/bwlimit-ctl.8 usr/share/man/man8/bwlimit-web.8 usr/share/bwlimit/page' \
	"$(sed -n 's/^TOOLS := //p' "$debian/rules")"
for script in "$debian"/*.{preinst,postinst,prerm,postrm}; do
	check "${script##*/} is a shell script" sh -n "$script"
done
# bwlimit-web-fleet.service: its example names the files that systemd puts there.
unit=$packaging/systemd/bwlimit-web-fleet.service.in example=$packaging/examples/bwlimit-web-fleet.conf
example_reads() { { "$ctl" --json --fleet status --conf "$1" || true; } | jq -e '.kind == "error" and .error.line == null' >/dev/null; }
check "the example of its fleet.conf is one" example_reads "$example"
refute "control: a line that is none would be seen" example_reads <(echo servants = x)
check "every file that it names is a credential of the unit" same \
	"$(sed -n 's|.*= /run/credentials/bwlimit-web-fleet.service/||p' "$example")" \
	"$(sed -n 's/^LoadCredential=\([^:]*\):.*/\1/p' "$unit" | grep -v '^fleet.conf$')"
check "which are files of its own folder" test -z "$(grep '^LoadCredential' "$unit" | grep -v ':/etc/bwlimit/web-fleet/')"
check "its user is made, and is in no group" grep -qx "u $(sed -n 's/^User=//p' "$unit") - \"[^\"]*\"" "$packaging/sysusers/bwlimit-controller.conf"
# Purges in a folder in place of /: each package removes its own files, whichever is purged first.
purge() { # folder package
	sed "s|/etc/bwlimit|$1/etc/bwlimit|g; s|/var/lib/bwlimit|$1/var/lib/bwlimit|g" "$debian/$2.postrm" | sh -s purge
}
left() { (cd "$1" && find . ! -type d | sed 's|.*/etc/bwlimit/||' | sort | tr '\n' ' '); }
filled() {
	local root f
	root=$(mktemp -d)
	for f in policy.yaml .hidden pki/ca.key web/cert.pem controller/key.pem web-fleet/fleet.conf export/key.pem fleet/ca.pem fleet.conf; do
		mkdir -p "$root/etc/bwlimit/$(dirname "$f")" "$root/var/lib/bwlimit"
		echo x >"$root/etc/bwlimit/$f"
	done
	echo "$root"
}
of_tools='fleet.conf fleet/ca.pem ' of_controller='controller/key.pem ' of_web='web-fleet/fleet.conf ' of_export='export/key.pem '
root=$(filled)
purge "$root" bwlimit
check "a purge of bwlimit leaves what is the controller's, the exporter's and the desk's" test "$(left "$root")" = "$of_controller$of_export$of_tools$of_web"
refute "and no state of its own" test -e "$root/var/lib/bwlimit"
purge "$root" bwlimit-controller
check "one of bwlimit-controller leaves the exporter's and the desk's" test "$(left "$root")" = "$of_export$of_tools"
purge "$root" bwlimit-export
check "and one of bwlimit-export the desk's" test "$(left "$root")" = "$of_tools"
purge "$root" bwlimit-tools
refute "and with the last one nothing is left" test -e "$root/etc/bwlimit"
rm -r "$root"
root=$(filled)
purge "$root" bwlimit-controller
purge "$root" bwlimit-export
purge "$root" bwlimit-tools
check "the other way round the DPU's own stays" test "$(left "$root")" = '.hidden pki/ca.key policy.yaml web/cert.pem '
rm -r "$root"

# @system-service allows what puts pages of a file into a packet; the kernel has decrypted those in place (CVE-2026-43284).
faces=0
for unit in "$packaging"/systemd/*.service.in; do
	grep -q '^RestrictAddressFamilies=.*AF_INET' "$unit" || continue
	faces=$((faces + 1))
	check "${unit##*/} faces the network and has no splice" \
		eval '[[ $(grep "^SystemCallFilter=" "$unit") == *$'"'"'\n'"'"'"SystemCallFilter=~splice tee vmsplice sendfile"* ]]'
	check "and nothing gives it back" eval '! grep -Eq "^SystemCallFilter=[^~]*\b(splice|tee|vmsplice|sendfile|@io-event|@file-system)\b" "$unit"'
done
check "of the units five face the network" test "$faces" -eq 5
check "and none of their programs calls these" eval \
	'! for p in bwlimit-controller bwlimit-export bwlimit-sync bwlimit-web; do nm -D --undefined-only "$build/${program[$p]}/$p"; done | grep -Ew "splice|tee|vmsplice|sendfile|sendfile64"'

# Without this option preinst stops a unit, and postinst restarts only running units: dh_installsystemd(1).
check "no upgrade stops a unit for good" eval \
	'grep -q dh_installsystemd "$source_dir/debian/rules" && ! grep "^	dh_installsystemd" "$source_dir/debian/rules" | grep -v -- --no-stop-on-upgrade'
mapfile -t with_units < <(sed -n 's/^	dh_installsystemd -p \([a-z-]*\) .*/\1/p' "$debian/rules" | sort -u)
check "control: three packages have units" same "${with_units[*]}" "bwlimit bwlimit-controller bwlimit-export"
for p in "${with_units[@]}"; do
	check "an upgrade of $p restarts what runs of it" grep -q 'deb-systemd-invoke restart' "$debian/$p.postinst"
	check "and a removal ends it" grep -q 'deb-systemd-invoke stop\|systemctl stop' "$debian/$p.prerm"
done
done_testing
