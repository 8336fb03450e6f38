#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The rooms of lib/: their size, what each is built on, and that there are no cycles. Rooms and what they are built on
# are read from lib/*/CMakeLists.txt, what they need from the archives. Nor are there cycles between files in the
# folders of the programs, or between those folders.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_dir=${BWL_SOURCE:-${here%/*/*}} build=${BWL_BUILD:-${here%/*/*}/build/release}
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
cd "$source_dir/lib" || exit 1

LINES_MAX=4800

rooms=(*/)
rooms=("${rooms[@]%/}")
# "room room": the first is built on the second, according to CMake.
direct=$(for r in "${rooms[@]}"; do
	sed -n 's/^bwl_room(\(.*\))$/\1/p' "$r/CMakeLists.txt" | tr ' ' '\n' |
		sed -n "2,\$s/^bwl_\([a-z]*\)\$/$r \1/p"
done)
# Including what it is built on indirectly.
built_on=$(awk '{ on[$1, $2]; n[$1]; n[$2] }
	END { do { more = 0
		for (a in n) for (b in n) for (c in n)
			if (((a, b) in on) && ((b, c) in on) && !((a, c) in on)) { on[a, c]; more = 1 }
	} while (more)
	for (k in on) { split(k, x, SUBSEP); print x[1], x[2] } }' <<<"$direct" | sort)
# Arrays of bash: to ask a program for each of some thousand pairs takes most of a minute on a slow machine.
declare -A is_built_on room_of
while read -r user used; do is_built_on["$user $used"]=1; done <<<"$built_on"
allowed() { # room room; may the first use the second?
	[[ $1 == "$2" || -v is_built_on["$1 $2"] ]]
}
no_circle() { # pairs "user used" on stdin
	local out
	out=$(awk '$1 != $2' | sort -u | tsort 2>&1 >/dev/null) || { note "${out//tsort: /}"; return 1; }
}

# "user used", files by their room: the first calls what the second defines.
calls=$(nm -A "$build"/lib/*/libbwl_*.a | awk 'NF == 3 {
	split($1, at, ":"); room = at[1]; sub(/.*libbwl_/, "", room); sub(/\.a$/, "", room)
	file = room "/" at[2]; sub(/\.o$/, "", file); kind = $(NF - 1); symbol = $NF
	if (kind == "U") uses[file, symbol]
	else if (kind ~ /[TDBRVW]/ && symbol ~ /^bwl_/) made[symbol] = file
} END { for (k in uses) { split(k, x, SUBSEP); if (x[2] in made) print x[1], made[x[2]] } }' | sort -u)
# "includer header"; and for public headers "header room".
includes=$(for r in "${rooms[@]}"; do
	(cd "$r" && grep -HoE '^#include ["<][^">]+[">]' ./*.[ch] include/bwl/*.h) 2>/dev/null |
		sed "s/^\.\///; s/:#include [\"<]/ /; s/[\">]\$//; s/^/$r\//"
done)
public=$(for r in "${rooms[@]}"; do
	find "$r/include" -name '*.h' 2>/dev/null | sed 's/.*include\///; s/$/ '"$r/"
done)
while read -r header r; do room_of[$header]=$r; done <<<"$public"
header_pairs() { # room; prints which of its own headers include each other, without folders
	awk -v r="$1/" 'index($1, r) == 1 && $1 ~ /\.h$/ { sub(/.*\//, "", $1); sub(/.*\//, "", $2); print }' <<<"$includes"
}

check "rooms, calls between files and includes are found" \
	[ ${#rooms[@]} -ge 4 -a "$(wc -l <<<"$calls")" -gt 50 -a "$(wc -l <<<"$includes")" -gt 50 ]
check "no room is built on itself" no_circle <<<"$direct"

small() { # room
	local n
	n=$(find "$1" -name '*.[ch]' -exec cat {} + | wc -l)
	[[ $n -le $LINES_MAX ]] || { note "$n lines"; return 1; }
}
keeps_below() { # room; it includes and calls only the rooms below it
	local bad=0 user used header room
	while read -r user used; do
		[[ ${user%%/*} == "$1" ]] && ! allowed "$1" "${used%%/*}" && { note "$user calls $used"; bad=1; }
	done <<<"$calls"
	while read -r user header; do
		[[ ${user%%/*} == "$1" ]] || continue
		[[ $header == lib/* || $header == ../* ]] && { note "$user includes $header"; bad=1; }
		room=${room_of[$header]-}
		[[ -z $room ]] || allowed "$1" "$room" || { note "$user includes $header of $room"; bad=1; }
	done <<<"$includes"
	return $bad
}
for r in "${rooms[@]}"; do
	check "$r has at most $LINES_MAX lines" small "$r"
	check "$r needs no room but those that it is built on" keeps_below "$r"
	check "no file of $r calls in a circle" no_circle < <(grep "^$r/.* $r/" <<<"$calls")
	check "no header of $r includes in a circle" no_circle < <(header_pairs "$r")
done

# Outside lib/, only tests include a room's own headers.
peeks() {
	local bad
	bad=$(cd .. && git grep -nE '#include "(\.\./)*lib/' -- '*.[ch]' ':!tests' ':!bpf') && note "$bad"
}
[[ ! -e ../.git ]] || refute "nobody includes a header that is a room's own" peeks

# A map is written, and walked, where an error that passes is tried again (bwl/map_io.h).
bare() {
	local bad
	bad=$(cd .. && git grep -nE '\bbpf_map_(_?(update|delete)_elem|(update|delete)_batch|get_next_key)\(' \
		-- '*.c' ':!tests' ':!bench' ':!bpf' ':!lib/tables/map_io.c') && note "$bad"
}
[[ ! -e ../.git ]] || refute "nobody writes a map past lib/tables/map_io.c" bare

# What other programs, trays, files and people said is printed by what makes it plain: bwl_say, bwl_put, bwl_cell (bwl/show.h).
raw() {
	local bad
	bad=$(cd .. && git ls-files ctl loader sync ipsec/daemon fleet/controller/main.c | grep '\.c$' | xargs perl -0777 -ne \
		'while (/(?<!\w)printf\(\s*"(?:[^"\\]|\\.)*?%[-0-9.*]*s/g) { print "$ARGV: ", substr($_, $-[0], 60), "\n" }') &&
		[[ $bad ]] && note "$bad"
}
[[ ! -e ../.git ]] || refute "no tool prints text past bwl/show.h" raw

# The folders beside lib/: "user used", files by their path, of everything that is built there.
folders=(agent asking audit ctl evidence export fleet flows history hook ipsec journal loader signed sync tap tpm web)
objects() { # objects of existing sources: a source that was moved leaves its old object behind
	local o src
	find "${folders[@]/#/$build/}" -path '*/CMakeFiles/*' -name '*.c.o' | while read -r o; do
		src=${o#"$build/"}
		src=${src/CMakeFiles\/*.dir\//}
		[[ ! -e ../${src%.o} ]] || echo "$o"
	done
}
outer_calls=$(objects | xargs nm -A | awk -v build="$build/" 'NF == 3 {
	split($1, at, ":"); file = at[1]; sub(/\.o$/, "", file); sub(/CMakeFiles\/[^\/]*\.dir\//, "", file)
	file = substr(file, length(build) + 1); folder = file; sub(/\/.*/, "", folder)
	if ($NF == "main") next # each program has one
	if ($(NF - 1) == "U") uses[file, $NF]
	else if ($(NF - 1) ~ /[TDBRVW]/) { here[folder, $NF] = file; made[$NF] = file }
} END { for (k in uses) {
	split(k, x, SUBSEP); folder = x[1]; sub(/\/.*/, "", folder)
	if ((folder, x[2]) in here) print x[1], here[folder, x[2]]
	else if (x[2] in made) print x[1], made[x[2]]
} }' | sort -u)
# "header header": the second is beside the first, in its folder, or at the top.
outer_includes=$(cd .. && for f in "${folders[@]}"; do
	find "$f" -name '*.h' -exec grep -HoE '^#include "[^"]+"' {} + |
		sed 's/:#include "/ /; s/"$//' | while read -r file header; do
		for at in "${file%/*}" "${file%%/*}" .; do
			[[ -e $at/$header ]] || continue
			header=$at/$header
			[[ $header != *./* ]] || header=$(realpath --relative-to=. "$header")
			echo "$file $header"
			break
		done
	done
done)
check "calls and includes of the folders are found" \
	[ "$(wc -l <<<"$outer_calls")" -gt 300 -a "$(wc -l <<<"$outer_includes")" -gt 50 ]
for f in "${folders[@]}"; do
	check "no file of $f/ calls in a circle" no_circle < <(grep "^$f/.* $f/" <<<"$outer_calls")
	check "no header of $f/ includes in a circle" no_circle < <(grep "^$f/.* $f/" <<<"$outer_includes")
done
# What two programs use has a folder of its own, such as hook/.
stays_out() { # folder
	local bad
	bad=$(cd .. && grep -rnE --include='*.[ch]' '^#include "(agent|ctl|loader)/' "$1" | grep -v "#include \"$1/") || return 0
	note "$bad"
	return 1
}
for f in "${folders[@]}"; do
	check "$f/ includes nothing that is a program's own" stays_out "$f"
done
check "no folder calls another that calls it" \
	no_circle < <(awk '{ gsub(/\/[^ ]*/, ""); print }' <<<"$outer_calls")

# Code that reads policies needs neither libbpf nor libmnl nor the layout of a map.
needed_by() { # program; prints the libraries that the dynamic loader reads
	readelf -d "$build/$1" | sed -n 's/.*(NEEDED).*\[lib\(.*\)\.so.*/\1/p'
}
linked_with() { # program; prints the libraries that it is linked with
	awk -v rule="build $1:" 'index($0, rule) == 1 { mine = 1 } !NF { mine = 0 }
		mine && $1 == "LINK_LIBRARIES" { for (i = 3; i <= NF; i++) print $i }' "$build/build.ninja" |
		sed 's/.*\/lib//; s/^-l//; s/\.\(so\|a\)$//'
}
has() { # word…; stdin has all of them
	local all
	all=$(cat)
	for word; do grep -qxF "$word" <<<"$all" || return 1; done
}
has_but_not() { # word word…; stdin has the first and none of the others
	local all word
	all=$(cat)
	has "$1" <<<"$all" || { note "no $1"; return 1; }
	shift
	for word; do ! has "$word" <<<"$all" || { note "$word"; return 1; }; done
}
check "control: bwlimit-ctl needs both" has bpf mnl < <(needed_by ctl/bwlimit-ctl)
check "control: bwlimit-ctl is linked with both" \
	has bwl_policy bwl_tables bpf mnl < <(linked_with ctl/bwlimit-ctl)
for t in policy_test policy_errors_{form,top,peer,size}_test policy_random_test; do
	check "$t needs neither libbpf nor libmnl" has_but_not cyaml bpf mnl < <(needed_by "tests/unit/$t")
	check "$t is linked with neither, nor with a room that is" \
		has_but_not bwl_policy bpf mnl bwl_tables bwl_net bwl_publish < <(linked_with "tests/unit/$t")
done
beyond_words() {
	local bad
	bad=$(grep -E '^(base|policy|exfil)/' <<<"$includes" |
		grep -E ' (maps/|linux/bpf|bpf/|libmnl)' | grep -v ' maps/words\.h$') && note "$bad"
}
refute "of maps/, what reads policies includes words.h alone" beyond_words
refute "which includes nothing" grep -n '^ *# *include' ../maps/words.h

done_testing
