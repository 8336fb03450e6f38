#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Finds out by trying what this guest's kernel offers; vm-testbed/matrix prints the `# lacks` lines. The
# cases are what every kernel of the table must have.
# vm-cost: 10
# leak: only what the kernel offers
set -uo pipefail
BWL_SOURCE=${BWL_SOURCE:-$(cd "$(dirname "$0")/../.." && pwd)}
LAB=bwl-guest-$$ LAB_DESTS=0
# shellcheck source=../harness/tap.sh
. "$BWL_SOURCE/tests/harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$BWL_SOURCE/tests/harness/lab.sh"

# Notes "has" or "lacks", for people.
tried() { # what it is, command…
	local what=$1 said
	shift
	if said=$("$@" 2>&1); then
		note "has: $what"
	else
		note "lacks: $what ($(tail -n 1 <<<"$said" | tr -d '#'))"
		return 1
	fi
}
must() { # sentence, what it is, command…
	local sentence=$1
	shift
	check "$sentence" tried "$@"
}

lab_up || exit 1 # host and DPU: h0 - hpf0, p0 - s0 in net
note "kernel $(uname -r), $(nproc) CPUs, clocksource $(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)"

key=0x$(printf '%072d' 1)
esp() { # further words of ip xfrm state add
	in_dpu ip xfrm state add src 192.0.2.1 dst 192.0.2.9 proto esp spi "0x$RANDOM" reqid 7 \
		mode tunnel aead 'rfc4106(gcm(aes))' "$key" 128 "$@"
}
must "the kernel has BTF" BTF test -r /sys/kernel/btf/vmlinux
must "it takes an ESP state with AES-256-GCM" ESP esp replay-window 64
must "it takes an ESP state with an extended sequence number" ESN \
	esp flag esn replay-window 128
must "it makes an interface for one peer's SAs" "xfrm interface" \
	ip_in dpu link add ipsec7 type xfrm dev p0 if_id 7
tried "xfrm interface in collect-metadata mode" ip_in dpu link add ipsecx type xfrm external
tried "kfunc that sets the if_id of a packet" sh -c \
	'grep -q " bpf_skb_set_xfrm_info" /proc/kallsyms'
must "fq paces on the uplink" fq tc -n "$LAB-dpu" qdisc replace dev p0 root fq
tried "mq with fq beneath" tc -n "$LAB-dpu" qdisc replace dev p0 root mq
must "the null cipher is there" "null cipher" \
	in_dpu ip xfrm state add src 192.0.2.1 dst 192.0.2.8 proto esp spi 0x100 mode tunnel \
	enc 'ecb(cipher_null)' '' auth 'digest_null' ''
for module in act_police sch_htb openvswitch nft_limit rdma_rxe nvmet_tcp nvme_tcp bonding; do
	tried "module $module" modprobe -n -q "$module"
done

# The tools themselves, and what they find about the kernel (answers without a port are about the machine).
check "bwlimit-load finds out what the kernel offers" \
	sh -c "timeout 60 '$LOAD' probe --json >$LAB_TMP/probe"
while read -r yes what; do
	tried "$what" test "$yes" = true
done < <(jq -r '.features[] | select(.port or .answer == null) | "\(.works) \(.port // "kernel"): \(.text)"' "$LAB_TMP/probe")
check "bwlimit-ctl runs" sh -c "'$CTL' --help >/dev/null"
check "a packet passes from one namespace to another" \
	sh -c "nsenter --net=/run/netns/$LAB-host ping -c 1 -W 5 10.7.0.1 >/dev/null"
attach() {
	lab_attach && in_dpu "$LOAD" status >"$LAB_TMP/status" && sed 's/^/# /' "$LAB_TMP/status"
}
check "bwlimit-load attaches to host port and uplink" attach
# Prints the hooks that are attached in a weaker form, and which.
sed -n 's/^ *\(bwl_[a-z_]*\) .*\(clsact\|generic\).*/# fell back: \1 by \2/p' "$LAB_TMP/status"
done_testing
