#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Captures that no one here wrote, from the test corpora in Debian's source packages, frame by
# frame through the programs and against tshark (corpus/compare.c). They are fetched into the
# build folder when they are not there yet, by this machine's own APT configuration. The script
# puts everything else there too, and changes nothing outside.
#
#   BWL_CORPUS_SOURCES  source packages, default "tcpdump wireshark". ndpi has 200 000 frames
#                       more in 127 MB.
set -uo pipefail

sources=${BWL_CORPUS_SOURCES:-tcpdump wireshark}
corpus=$BWL_BUILD/corpus
bin=$BWL_BUILD/tests/prog
fields=(frame.protocols eth.dst eth.type vlan.id ieee8021ad.id ip.hdr_len ip.len ip.flags.mf
	ip.frag_offset ip.proto ip.dst ip.opt.type ipv6.plen ipv6.src ipv6.dst ipv6.nxt icmpv6.type
	tcp.srcport tcp.dstport tcp.hdr_len udp.srcport udp.dstport udp.length
	infiniband.bth.opcode _ws.malformed)

skip() {
	echo "1..0 # SKIP $1"
	echo "skipped: $1"
	exit 77
}

[[ $(id -u) -eq 0 ]] || skip "needs root for BPF_PROG_TEST_RUN"
for tool in tshark apt-get tar; do
	command -v "$tool" >/dev/null || skip "needs $tool"
done

# Source entries beside the binary ones that this machine already has, in a folder of ours.
apt_options() {
	local apt=$corpus/apt f
	mkdir -p "$apt/parts" "$apt/lists/partial" "$apt/cache/archives/partial"
	for f in /etc/apt/sources.list.d/*.sources; do
		[[ -f $f ]] && sed 's/^Types:.*/Types: deb-src/' "$f" >"$apt/parts/${f##*/}"
	done
	for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
		[[ -f $f ]] && sed -n 's/^ *deb\( \|\t\)/deb-src\1/p' "$f" >"$apt/parts/${f##*/}.list"
	done
	options=(-q -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$apt/parts"
		-o "Dir::State::lists=$apt/lists" -o "Dir::Cache=$apt/cache"
		-o APT::Sandbox::User=root -o Acquire::Retries=2 -o Acquire::http::Timeout=20)
}

fetch() { # package
	local dir=$corpus/$1
	[[ -f $dir/complete ]] && return
	if [[ ! -f $corpus/apt/updated ]]; then
		timeout 120 apt-get "${options[@]}" update >"$corpus/apt.log" 2>&1 || return
		touch "$corpus/apt/updated"
	fi
	rm -rf "$dir"
	mkdir -p "$dir"
	(cd "$dir" && timeout 300 apt-get "${options[@]}" source --download-only "$1") \
		>>"$corpus/apt.log" 2>&1 || return
	for f in "$dir"/*.orig.tar.*; do
		[[ $f == *.asc ]] || tar -xf "$f" -C "$dir" --wildcards '*cap*' 2>/dev/null
	done
	find "$dir" -type f -name '*.gz' -path '*/captures/*' -exec gunzip -kf {} + 2>/dev/null
	rm -f "$dir"/*.tar.*
	touch "$dir/complete"
}

mkdir -p "$corpus" || exit 1
apt_options
for package in $sources; do
	fetch "$package" || skip "cannot fetch the source of $package (offline?): see $corpus/apt.log"
done
for package in $sources; do
	find "$corpus/$package" -type f
done | sort | "$bin/corpus_merge" "$corpus/frames.pcap" | sed 's/^/# /'

args=()
for f in "${fields[@]}"; do args+=(-e "$f"); done
# Headers as they are in the frame: nothing put together, nothing presumed.
tshark -n -r "$corpus/frames.pcap" -o ip.defragment:FALSE -o ipv6.defragment:FALSE \
	-o ip.tso_support:FALSE -o tcp.desegment_tcp_streams:FALSE \
	-T fields -E separator=/t -E occurrence=a "${args[@]}" \
	>"$corpus/fields.tsv" 2>"$corpus/tshark.log" || {
	echo "1..1"
	echo "not ok 1 - tshark reads the corpus: $(tail -n 1 "$corpus/tshark.log")"
	exit 1
}
exec "$bin/corpus_compare" "$corpus/frames.pcap" "$corpus/fields.tsv"
