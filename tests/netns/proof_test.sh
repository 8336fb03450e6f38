#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What an outsider gets of the audit log: proofs of single records, its tiles, cosignatures. Everything is checked
# twice, by bwlimit-ctl and by tests/harness/tlog_check.go, which shares no code with it (Go's sumdb/note and
# sumdb/tlog), while the log is pruned, and after changes.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${BWL_BUILD:-${here%/*/*}/build/release}
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
gocode=/usr/share/gocode
if [[ ! -x $(command -v go) || ! -d $gocode/src/golang.org/x/mod/sumdb ]]; then
	echo '1..0 # SKIP no go, or no golang-golang-x-mod-dev'
	exit 77
fi
# In memory if possible: a thousand records wait for the disk twice each.
tmp=$(mktemp -d "$([[ -w /dev/shm ]] && echo /dev/shm || echo /tmp)/bwl-proof-XXXXXX")
trap 'rm -rf "$tmp"' EXIT
ctl=$build/ctl/bwlimit-ctl mix=$build/tests/harness/bwl-auditmix go=$build/tests/harness/tlog_check
export BWLIMIT_AUDIT_DIR=$tmp/log
# Once for each tree: with an empty cache, which nobody else's state is in, Go compiles its library, too.
if [[ ! $go -nt $here/../harness/tlog_check.go ]]; then
	GO111MODULE=off GOFLAGS='' GOPATH=$gocode GOCACHE=$tmp/cache go build -o "$tmp/tlog_check" "$here/../harness/tlog_check.go" &&
		mv "$tmp/tlog_check" "$go" || exit 1
	rm -rf "$tmp/cache"
fi

quiet() { "$@" >"$tmp/out" 2>"$tmp/err" || { note "$*: $(cat "$tmp/out" "$tmp/err")"; false; }; }
# With exit code 1: 2 is wrong usage.
refused() { "$@" >"$tmp/out" 2>&1; [[ $? -eq 1 ]] || { note "$*: $(<"$tmp/out")"; false; }; }
says() { # what, command
	refused "${@:2}" || return
	grep -q "$1" "$tmp/out" || { note "$(<"$tmp/out")"; false; }
}
prove() { "$ctl" audit prove "$@" 2>"$tmp/err"; }
# Both accept or both refuse: anything else is a fault of one of them.
both_take() { # proof record [k witness…]
	local w=() key
	for key in "${@:4}"; do w+=(--witness "$key"); done
	[[ $# -lt 3 ]] || w+=(--witnesses "$3")
	quiet "$ctl" audit check-proof "$1" --key "$tmp/key" --record "$2" "${w[@]}" && quiet "$go" proof "$1" "$tmp/key" "${@:2}"
}
both_refuse() { # the same
	local w=() key
	for key in "${@:4}"; do w+=(--witness "$key"); done
	[[ $# -lt 3 ]] || w+=(--witnesses "$3")
	refused "$ctl" audit check-proof "$1" --key "$tmp/key" --record "$2" "${w[@]}" && refused "$go" proof "$1" "$tmp/key" "${@:2}"
}

"$ctl" audit init --origin bwlimit/tray-7 >"$tmp/key" 2>/dev/null
quiet "$mix" "$tmp/log" 0 20 3
"$ctl" audit checkpoint >"$tmp/early"
records=$(sed -n 2p "$tmp/early")

each() { # every record of a log of which nothing was pruned
	local n
	for ((n = 0; n < records; n++)); do
		prove $n --write "$tmp/$n.tlog-proof" --record "$tmp/$n.json" && both_take "$tmp/$n.tlog-proof" "$tmp/$n.json" || return
	done
}
check "control: there is a log of a few records, and none of them is pruned" test "$records" -ge 20 -a -z "$(find "$tmp/log" -name '*.kept')"
check "each record is proved, and both verifiers take it" each
check "a record that the log has not is not proved" says "must be below $records," "$ctl" audit prove "$records"
check "a proof of another record is refused" both_refuse "$tmp/7.tlog-proof" "$tmp/8.json"

# Each field, and one bit of each hash.
printf 'extra AAAA\n' >"$tmp/extra"
sed "1r $tmp/extra" "$tmp/7.tlog-proof" >"$tmp/with-extra"
check "extra data, which nobody has signed, changes nothing" both_take "$tmp/with-extra" "$tmp/7.json"
tampered() { # sentence, sed program
	sed "$2" "$tmp/7.tlog-proof" >"$tmp/bad"
	cmp -s "$tmp/bad" "$tmp/7.tlog-proof" && { nok "$1 (nothing was changed)"; return; }
	check "$1" both_refuse "$tmp/bad" "$tmp/7.json"
}
tampered "another format is refused" '1s/v1/v2/'
tampered "another number is refused" '2s/7/6/'
tampered "a number that is not in the tree is refused" "2s/7/$records/"
tampered "a negative number is refused" '2s/7/-7/'
hashes=$(sed -n '3,/^$/p' "$tmp/7.tlog-proof" | grep -c .)
for ((h = 0; h < hashes; h++)); do
	tampered "hash $h of the proof with other bits is refused" "$((h + 3)){s/^\(.\{5\}\)A/\1B/;t;s/^\(.\{5\}\)./\1A/}"
done
tampered "a hash that is left out is refused" '3d'
tampered "a hash too many is refused" '3p'
tampered "hashes in another order are refused" '3{h;d};4G'
line=$((hashes + 4))
tampered "a checkpoint of another log is refused" "${line}s/tray-7/tray-8/"
tampered "of another size, too" "$((line + 1))s/\$/1/"
tampered "and of another root" "$((line + 2))s/^\(.\{5\}\)./\1_/"
tampered "a signature that was changed is refused" "$((line + 4))s/\(.\{40\}\)[A-Za-z]/\10/; $((line + 4))s/\(.\{44\}\)[A-Za-z]/\11/"
tampered "none, as well" "$((line + 4))d"
sed 's/operator/Operator/; s/host/Host/' "$tmp/7.json" >"$tmp/7.bad"
check "a record of which a letter was changed is refused" both_refuse "$tmp/7.tlog-proof" "$tmp/7.bad"
"$ctl" audit init --dir "$tmp/other" --origin bwlimit/tray-7 >"$tmp/other.key" 2>/dev/null
check "another key of the same name takes nothing" refused "$ctl" audit check-proof "$tmp/7.tlog-proof" --key "$tmp/other.key" --record "$tmp/7.json"
check "nor does Go's with it" refused "$go" proof "$tmp/7.tlog-proof" "$tmp/other.key" "$tmp/7.json"

# It grows and is pruned meanwhile; its tiles are written every ten records, so before that.
cp -r "$tmp/log" "$tmp/fork"
grow() { # to that many
	local n
	for ((n = records; n < $1; n += 10)); do
		quiet "$mix" "$tmp/log" $n $((n + 10)) 3 200000 && quiet "$ctl" audit tiles "$tmp/tiles" || return
	done
}
check "tiles go on while the log is pruned" grow 600
check "control: of some files hashes are left, of others one hash over many" test -n "$(find "$tmp/log" -name '*.kept')" -a -n "$(find "$tmp/log" -name '*.least')"
size=$(sed -n 2p "$tmp/tiles/checkpoint")
whole() { quiet "$go" tiles "$tmp/tiles" "$tmp/key" && [[ $(<"$tmp/out") == "$size records proved, 0 by their hash alone" ]]; }
check "Go's reader of tiles proves every record of them, those that were pruned too" whole
check "and that they begin with the log of before" quiet "$go" grown "$tmp/tiles" "$tmp/key" "$tmp/early"
check "a proof of before holds still" both_take "$tmp/7.tlog-proof" "$tmp/7.json"
check "nothing is missing in them, and the file says so" test "$(<"$tmp/tiles/retention")" == $'policy docs/retention.md\nminimum index 0'
sweep() { # sets how many records have which kind of proof
	local n
	line=0 hash=0 none=0 bad=0
	for ((n = 0; n < size; n += 3)); do
		"$go" entry "$tmp/tiles" $n >"$tmp/entry" 2>"$tmp/err" || { note "$(<"$tmp/err")"; return 1; }
		if prove $n --write "$tmp/p" --record "$tmp/r"; then
			line=$((line + 1))
			cmp -s "$tmp/r" "$tmp/entry" && both_take "$tmp/p" "$tmp/r" || bad=$((bad + 1))
		elif prove $n --write "$tmp/p"; then
			hash=$((hash + 1))
			both_take "$tmp/p" "$tmp/entry" || bad=$((bad + 1))
		else
			none=$((none + 1))
			grep -q 'was pruned\|begins later' "$tmp/err" || { note "$(<"$tmp/err")"; bad=$((bad + 1)); }
		fi
	done
	note "$line with the record, $hash by their hash, $none refused"
	[[ $bad -eq 0 ]]
}
check "what the pruned log proves is taken by both, and is what the tiles have; what it cannot it names" sweep
check "control: some with their bytes, some by their hash alone, and some are refused" test "$line" -ge 10 -a "$hash" -ge 10 -a "$none" -ge 10

# One byte of the tiles is changed, in each kind of file.
spoiled() { # file
	rm -rf "$tmp/spoiled" && cp -r "$tmp/tiles" "$tmp/spoiled"
	flip_byte "$tmp/spoiled/$1" 300
	refused "$go" tiles "$tmp/spoiled" "$tmp/key"
}
check "Go's reader finds a changed tile" spoiled tile/0/000
check "a changed entry" spoiled tile/entries/001
sed -i 's/^\(.\{20\}\)./\1_/' "$tmp/spoiled/checkpoint"
check "and a changed checkpoint" refused "$go" tiles "$tmp/spoiled" "$tmp/key"

# A different history from record 20 on, with the same key.
quiet "$mix" "$tmp/fork" 20 64 2 2000000
"$ctl" audit checkpoint --dir "$tmp/fork" >"$tmp/forked"
check "a log that was forked proves nothing in a tree that others have seen" says "not the one of the checkpoint" "$ctl" audit prove 7 --witnessed "$tmp/forked"
check "nor does it go on with the tiles" says "an older one, or the log was cut" "$ctl" audit tiles "$tmp/tiles" --dir "$tmp/fork" --witnessed "$tmp/forked"
cp -r "$tmp/fork" "$tmp/longer"
quiet "$mix" "$tmp/longer" 64 $((size + 50)) 2 2000000
before=$(find "$tmp/tiles" -type f -exec sha256sum {} + | sort)
check "even where it is longer" says forked "$ctl" audit tiles "$tmp/tiles" --dir "$tmp/longer"
check "and nothing is written" test "$before" == "$(find "$tmp/tiles" -type f -exec sha256sum {} + | sort)"
check "Go finds that the tiles do not begin with it" refused "$go" grown "$tmp/tiles" "$tmp/key" "$tmp/forked"

# Witnesses: of three known ones two must have cosigned.
for w in a b c unknown; do "$go" key "example.com/$w" >"$tmp/$w.pub"; done
cosigned() { # file, witness…
	local w
	cp "$tmp/now" "$tmp/sum"
	for w in "${@:2}"; do "$go" cosign "example.com/$w" "$tmp/now" >>"$tmp/sum"; done
	mv "$tmp/sum" "$tmp/$1"
}
"$ctl" audit checkpoint >"$tmp/now"
last=$(($(sed -n 2p "$tmp/now") - 1))
known=("$tmp/a.pub" "$tmp/b.pub" "$tmp/c.pub")
demanded() { # file: is a proof under it taken?
	prove $last --witnessed "$tmp/$1" --write "$tmp/w.tlog-proof" --record "$tmp/w.json" && "$2" "$tmp/w.tlog-proof" "$tmp/w.json" 2 "${known[@]}"
}
verified() { "$ctl" audit verify --key "$tmp/key" --checkpoint "$tmp/$1" --witness "${known[0]}" --witness "${known[1]}" --witness "${known[2]}" --witnesses 2; }
cosigned none
cosigned one a
cosigned twice a a
cosigned strangers a unknown
cosigned two c a
cosigned all a b c
check "nobody's cosignature is not two" demanded none both_refuse
check "one is not two" demanded one both_refuse
check "the same one twice is not two" demanded twice both_refuse
check "one that is not known does not count" demanded strangers both_refuse
check "two of three are taken, in whatever order" demanded two both_take
check "and three" demanded all both_take
for f in one twice strangers; do check "\`audit verify\` wants two as well ($f)" says "1 of the 3 known witnesses" verified $f; done
check "and takes two" quiet verified two
sed '/^— example.com\/c/s/[A-Z]/Z/4g' "$tmp/all" >"$tmp/false"
check "a false line of one that is known spoils the others" eval 'cp "$tmp/w.tlog-proof" "$tmp/bad"; sed -n "1,/^\$/p" "$tmp/bad" >"$tmp/head"; cat "$tmp/head" "$tmp/false" >"$tmp/bad"; both_refuse "$tmp/bad" "$tmp/w.json" 2 "${known[@]}"'
check "a witness that is named twice is refused" says twice "$ctl" audit check-proof "$tmp/w.tlog-proof" --key "$tmp/key" --record "$tmp/w.json" --witness "$tmp/a.pub" --witness "$tmp/a.pub"
refute "more than there are cannot be demanded" quiet "$ctl" audit check-proof "$tmp/w.tlog-proof" --key "$tmp/key" --record "$tmp/w.json" --witness "$tmp/a.pub" --witnesses 2
check "tiles take the cosigned checkpoint" quiet "$ctl" audit tiles "$tmp/tiles" --witnessed "$tmp/all"
check "which stands there" cmp "$tmp/all" "$tmp/tiles/checkpoint"

# A folder that is started only now, for a log of which only junk was pruned.
fresh() {
	"$ctl" audit init --dir "$tmp/late" --origin bwlimit/tray-7 >"$tmp/key" 2>/dev/null && quiet "$mix" "$tmp/late" 0 100 30 40000 &&
		quiet "$ctl" audit tiles "$tmp/late.tiles" --dir "$tmp/late" && quiet "$go" tiles "$tmp/late.tiles" "$tmp/key" &&
		grep -q '^missing entries 0 ' "$tmp/late.tiles/retention" && grep -q ' by their hash alone$' "$tmp/out" && ! grep -q ' 0 by their' "$tmp/out"
}
check "a folder that is begun after junk was pruned has all hashes, and names what is missing" fresh
done_testing
