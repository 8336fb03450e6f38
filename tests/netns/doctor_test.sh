#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# probe, verify and exfil on a simulated DPU: a PCI bus of files, and tools that print recordings
# (tests/recordings). How recordings are read is tested in unit.tool_words_test.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB=bwl-doc-$$ LAB_DESTS=1
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/../harness/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/../harness/live.sh"
# shellcheck source=../harness/documents.sh
. "$here/../harness/documents.sh"
lab_up || exit 1
recordings=$here/../recordings
bus=$LAB_TMP/bus tools=$LAB_TMP/tools
mkdir -p "$bus" "$tools"

card() { # address device [class [vendor]]
	mkdir -p "$bus/$1/net"
	echo "0x$2" >"$bus/$1/device"
	echo "0x${3:-020000}" >"$bus/$1/class"
	echo "0x${4:-15b3}" >"$bus/$1/vendor"
}
prints() { # tool recording [exit status]
	printf '#!/bin/sh\necho "$0 $*" >>"%s/asked"\ncat "%s"\nexit %d\n' "$LAB_TMP" "$recordings/$2" "${3:-0}" >"$tools/$1"
	chmod +x "$tools/$1"
}
# In a separate mount namespace, with that bus and those tools.
there() { # command…
	in_dpu env PATH="$tools:$PATH" unshare --mount --propagation private \
		sh -c 'mount --bind "$0" /sys/bus/pci/devices && exec "$@"' "$bus" "$@"
}
probe() { there "$LOAD" probe --json "$@" >"$LAB_TMP/doc" 2>"$LAB_TMP/err"; }
said() { # port ("" for none) id jq's condition on the answer
	jq -e --arg p "$1" --arg i "$2" \
		"[.features[] | select(.port == (if \$p == \"\" then null else \$p end) and .id == \$i) | $3] == [true]" \
		"$LAB_TMP/doc" >/dev/null || { jq -c --arg i "$2" '.features[] | select(.id == $i)' "$LAB_TMP/doc" | sed 's/^/# /'; false; }
}
holds() { said "$1" "$2" '.works'; }
lacks() { said "$1" "$2" '(.works | not) and (.without | length > 0) and (.todo | length > 0)'; }
verifies() { there "$LOAD" verify --json >"$LAB_TMP/verify" 2>"$LAB_TMP/err"; true; }
host_rights() { # level words
	jq -e --arg l "$1" --arg w "$2" '[.checks[] | select(.id == "host-rights") | .result == $l and (.text | contains($w))] == [true]' \
		"$LAB_TMP/verify" >/dev/null || { jq -c '.checks[] | select(.id == "host-rights")' "$LAB_TMP/verify" | sed 's/^/# /'; false; }
}
a=0000:03:00.0

lab_policy_head none >"$LAB_TMP/policy.yaml" <<-END
peers:
$(lab_peer d1 1 "grant: { rate: 1gbit }")
END
lab_load attach --policy "$LAB_TMP/policy.yaml" --fresh-volume || exit 1

# --- no DPU here
check "an empty bus: probe" probe
check "there is no DPU, and it says so" lacks '' dpu
check "nothing is asked of one" eval 'jq -e "[.features[] | select(.id == \"host-level\" or .id == \"firmware\")] == []" "$LAB_TMP/doc" >/dev/null'
check "no card is unseen" said '' unseen-nics '.works and .answer == "0"'
verifies
check "verify has no line of it" eval 'jq -e "[.checks[] | select(.id == \"host-rights\")] == []" "$LAB_TMP/verify" >/dev/null'

# --- a BlueField-3, as delivered
card $a a2dc
card 0000:03:00.1 a2dc
card 0000:00:1f.0 1234 060100 8086
prints mlxprivhost mlxprivhost-privileged
prints mlxconfig mlxconfig-dpu
prints ovs-vsctl ovs-vsctl-show
prints ovs-appctl ovs-flows-offloaded
prints systemctl systemctl-show-limited
check "a BlueField-3: probe" probe --host hpf0 --uplink p0
if can_judge; then
	check "as its schema says" judge probe <"$LAB_TMP/doc"
else
	skip "as its schema says" "no python3-jsonschema"
fi
check "it is one DPU, of two functions" said '' dpu '.works and .answer == "BlueField-3"'
check "it is in DPU mode" said $a dpu-mode '.works and .answer == "DPU"'
for id in host-level host-rshim host-port-owner host-counters host-tracer; do
	check "as it comes: $id" eval "lacks $a $id && said $a $id '.answer == \"held\"'"
done
check "the next step names the card" said $a host-level '.todo | startswith("mlxprivhost -d 0000:03:00.0 r --disable_rshim")'
check "the bridges of the image are told" eval "lacks '' ovs-bridges && said '' ovs-bridges '.answer == \"2: ovsbr2, …\"'"
check "and its flows in the card" eval "lacks '' ovs-flows && said '' ovs-flows '.answer == \"3\"'"
check "a unit with a limit of memory" eval "lacks '' unit-memory && said '' unit-memory '.answer == \"bwlimitd.service\"'"
check "what no devlink tells is not told" said $a firmware '(.works | not) and .answer == "not told"'
check "every question has an answer or works, and a next step or works" \
	eval 'jq -e "[.features[] | select((.works | not) and ((.todo // \"\") == \"\" or (.without // \"\") == \"\"))] == []" "$LAB_TMP/doc" >/dev/null'
check "in words, too" eval 'there "$LOAD" probe 2>&1 | grep_all "^no   0000:03:00.0: the host has no rshim (held): verify fails"'
check "tools are asked, and set nothing" eval '! grep -vE " (-d 0000:03:00.0 (query( --full)?|-e query INTERNAL_[A-Z_]+)|--timeout=5 (show|dpctl/dump-flows type=offloaded)|show -p .*)$" "$LAB_TMP/asked"'

verifies
check "verify fails while the host owns it" host_rights fail 'the host has level PRIVILEGED, rshim, port owner'
ip_in dpu link set hpf0 down
up() { there "$LOAD" up >"$LAB_TMP/out" 2>&1; }
is_up() { ip_in dpu -br link show hpf0 | grep_all ' UP '; }
check "and up does not open the host ports" eval '! up && grep -q "whoever can write" "$LAB_TMP/out" && ! is_up'
prints mlxprivhost mlxprivhost-level-alone
verifies
check "the level alone is not enough" host_rights fail 'the host has rshim, port owner:'
prints mlxprivhost mlxprivhost-full-two-hosts
verifies
check "of two hosts, one that is privileged is enough" host_rights fail 'the host has level PRIVILEGED, port owner:'
prints mlxprivhost mlxprivhost-restricted
verifies
check "zero trust is clean" host_rights ok 'neither rshim nor the port'
check "and up opens them" eval 'up && is_up'
live "the card is in zero trust, and up has opened the host ports"
prints mlxprivhost mlxconfig-error 1
verifies
check "a tool that fails is a warning" host_rights warn 'it: mlxprivhost does not answer'
prints mlxprivhost mlxconfig-error 0
verifies
check "so is one that says something else" host_rights warn 'it: mlxprivhost does not answer'

# --- what systemd runs outside of a unit's sandbox
export BWLIMIT_HOST_DIR=$LAB_TMP/heard
asks() { there "$here/../../packaging/ask-host" "$BWLIMIT_HOST_DIR"; }
prints mlxprivhost mlxprivhost-privileged
check "ask-host leaves the words of the tool" eval 'asks && cmp -s "$BWLIMIT_HOST_DIR/$a" "$recordings/mlxprivhost-privileged" && [[ $(ls "$BWLIMIT_HOST_DIR") == "$a" ]]'
rm "$tools/mlxprivhost"
verifies
check "verify of a unit, where no tool answers, believes it" host_rights fail 'the host has level PRIVILEGED'
touch -d '-16 minutes' "$BWLIMIT_HOST_DIR/$a"
verifies
check "but nothing that is old" host_rights warn 'cannot tell'
touch "$BWLIMIT_HOST_DIR/$a" && chmod 0666 "$BWLIMIT_HOST_DIR/$a"
verifies
check "nor what anybody can write" host_rights warn 'cannot tell'
prints mlxprivhost mlxprivhost-restricted 1
check "an answer of a tool that fails is not left" eval 'asks && [[ -z $(ls "$BWLIMIT_HOST_DIR") ]]'
prints mlxprivhost mlxprivhost-restricted
asks
prints mlxprivhost mlxprivhost-privileged
verifies
check "a tool that answers goes before what was left" host_rights fail 'the host has level PRIVILEGED'
rm -r "$BWLIMIT_HOST_DIR" "$tools/mlxprivhost"
verifies
check "and none at all" host_rights warn 'it: neither mlxprivhost'
prints mstprivhost mlxprivhost-privileged
verifies
check "the free sibling is asked, too" host_rights fail 'the host has level PRIVILEGED'

# --- configured correctly
prints mstprivhost mlxprivhost-restricted
prints mlxconfig mlxconfig-nic-after-boot
prints ovs-vsctl mlxconfig-error 1
rm "$tools"/ovs-appctl
probe
check "it leaves the mode at the next boot" eval "lacks $a dpu-mode && said $a dpu-mode '.answer == \"DPU, next boot NIC\"'"
for id in host-level host-rshim host-port-owner host-counters host-tracer; do
	check "zero trust: $id" holds $a $id
done
check "Open vSwitch that is stopped is no bridge" said '' ovs-bridges '.works and .answer == "not running"'
check "and one that is not installed has no flow" said '' ovs-flows '.works and .answer == "not installed"'
rm "$tools/mlxconfig"
probe
check "without MFT the mode is not known" eval "lacks $a dpu-mode && said $a dpu-mode '.answer == \"no tool\"'"

# --- other cards next to it
exfil() { there "$CTL" exfil --size 1tb --json >"$LAB_TMP/exfil" 2>/dev/null; }
warned() { jq -e --arg w "$1" '.warnings | any(contains($w))' "$LAB_TMP/exfil" >/dev/null; }
exfil
check "control: with the DPU alone exfil does not speak of ports" eval '! warned "does not see"'
card 0000:41:00.0 1021
card 0000:41:00.1 1021
card 0000:81:00.0 1593 020000 8086
card 0000:82:00.0 101e
: >"$bus/0000:82:00.0/physfn"
: >"$bus/0000:81:00.0/net/mgmt0"
probe
check "three cards are unseen, a virtual function is none" eval "lacks '' unseen-nics && said '' unseen-nics '.answer == \"3\"'"
check "the next step names the first" said '' unseen-nics '.todo | startswith("0000:41:00.0 and others")'
probe --management mgmt0
check "what is named is seen" said '' unseen-nics '.answer == "2"'
exfil
check "exfil says that this machine has 3 ports that bwlimit does not see" warned 'has 3 ports that bwlimit does not see'
: >"$bus/0000:41:00.0/net/p0"
exfil
check "a port of bwlimit's is seen" warned 'has 2 ports'
done_testing
