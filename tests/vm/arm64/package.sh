#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The arm64 package on an arm64 kernel, for any page size: attach, limit, verify, upgrade, detach. vm-testbed/arm64
# runs this inside its guest; everything that it uses comes from the package.
set -uo pipefail
harness=/usr/libexec/bwlimit/harness
LAB=bwl-arm64-$$ LAB_DESTS=2
# shellcheck source=../../harness/tap.sh
. $harness/tap.sh
# shellcheck source=../../harness/lab.sh
. $harness/lab.sh

check "the machine is an arm64" [ "$(uname -m)" = aarch64 ]
page=$(od -An -v -w16 -t u8 /proc/self/auxv | awk '$1 == 6 { print $2 }') # AT_PAGESZ
note "$(cut -d' ' -f1-3 /proc/version), $(nproc) CPUs, pages of $page bytes"
check "its pages are those of the kernel that was to be booted" [ "$page" = $((1024 * $(</testbed/page))) ]
check "bwlimit-load finds out what the kernel offers" \
	eval 'bwlimit-load probe --json >/run/probe && [[ -s /run/probe ]]'
jq -r '.features[] | select(.works | not) | "# lacks: \(.port // "kernel"): \(.text) (\(.error))"' /run/probe
check "and all that bwlimit needs is there" \
	eval "jq -e '[.features[] | select(.without == \"bwlimit does not run\")] == []' /run/probe >/dev/null"

lab_up || exit 1
cat >"$LAB_TMP/policy.yaml" <<END
version: 1
node: arm64
uplinks: [p0]
host_ports: [{ dev: hpf0, sources: [10.7.0.0/24, "fd00:7::/64"] }]
heartbeat: none
peers:
  - { name: d1, addresses: ["10.101.0.0/24", "fd00:101::/64"], path: clear, via: $LAB_VIA4,
      via6: "$LAB_VIA6", grant: { rate: 4mbit, burst: 64kb } }
END
tool() { in_dpu "$@" >"$LAB_TMP/out" 2>&1 || { sed 's/^/# /' "$LAB_TMP/out"; false; }; }
is_up() { ip_in dpu -o link show dev "$1" | grep_all '[<,]UP[,>]'; }
refute "nothing passes before anything is attached" eval 'in_host ping -q -c 1 -W 2 "$(lab_dest4 1)" >/dev/null'
older=/testbed/older/usr/sbin
[[ -d $older ]] || older=/usr/sbin
check "it attaches" tool $older/bwlimit-load attach --policy "$LAB_TMP/policy.yaml"
[[ $TAP_BAD -eq 0 ]] || { done_testing; exit 1; }
if [[ $older != /usr/sbin ]]; then
	note "attached by $($older/bwlimit-load --version), upgraded by $(bwlimit-load --version)"
	check "with an older package IPv4 passes" eval 'in_host ping -q -c 3 -i 0.2 -W 5 "$(lab_dest4 1)" >/dev/null'
	check "its programs and maps are replaced in place" tool bwlimit-load upgrade
fi
in_dpu bwlimit-load status | sed -n 's/^ *\(bwl_[a-z_]*\) .*\(tcx\|clsact\|generic\|native\).*/# \1 by \2/p'
check "verify is clean" tool bwlimit-load verify
check "IPv4 passes" eval 'in_host ping -q -c 3 -i 0.2 -W 5 "$(lab_dest4 1)" >/dev/null'
check "IPv6 passes" eval 'in_host ping -q -c 3 -i 0.2 -W 5 "$(lab_dest6 1)" >/dev/null'

# --- the limit: three times the limit is offered
lab_bg stranger d2 "$FRAMES" count eth0
stranger=$LAB_PID
lab_wait_for 10 grep -q ready "$LAB_TMP/stranger"
flood() { # destination, source, seconds
	thief --seconds "$3" --pps 1500 <<<"eth ip4 src=$2 dst=$1 udp dport=9 fill=1000"
}
flood "$(lab_dest4 1)" $HOST4 8 >"$LAB_TMP/sent" &
read -r bytes frames ns < <(in_ns d1 "$FRAMES" sample eth0 5 --from-first)
wait %+
note "4 Mbit/s: $frames frames, $bytes bytes in $ns ns: $((bytes * 8 * 1000000 / ns)) kbit/s"
check "at most rate x T + burst arrives" [ "$bytes" -le $((500000 * ns / 1000000000 + 65536)) ]
# An emulated sender that pauses for longer than the burst lasts cannot catch up.
check "and most of that" [ "$bytes" -ge $((350000 * ns / 1000000000)) ]

# --- a volume, to the byte
# Charged at hpf0: 1042 bytes per frame.
check "a volume is granted" tool bwlimit-ctl grant d1 rate 100mbit volume 200000b reason test
lab_bg counted d1 "$FRAMES" count eth0
counter=$LAB_PID
lab_wait_for 10 grep -q ready "$LAB_TMP/counted"
thief --count 400 --pps 400 <<<"eth ip4 src=$HOST4 dst=$(lab_dest4 1) udp dport=9 fill=1000" >/dev/null
flood "$(lab_dest4 2)" $HOST4 1 >/dev/null
flood "$(lab_dest4 1)" 10.66.6.6 1 >/dev/null
lab_stop "$counter"
bytes=$(awk -v s="$HOST4" '$3 == s { n += $5 } END { print n + 0 }' "$LAB_TMP/counted")
note "a volume of 200000 bytes, 416800 sent: $bytes arrived"
check "no byte more than the volume arrives" [ "$bytes" -le 200000 ]
check "and no whole frame less" [ "$bytes" -gt $((200000 - 1042)) ]
check "nothing comes from a spoofed source" eval '! awk "\$3 == \"10.66.6.6\"" "$LAB_TMP/counted" | grep_all .'
lab_stop "$stranger"
check "nothing reaches who has no grant" eval '! awk "\$3 == \"$HOST4\"" "$LAB_TMP/stranger" | grep_all .'
in_dpu bwlimit-ctl reasons | sed 's/^/# /'

# --- upgrade and detach
check "programs are replaced in place" tool bwlimit-load upgrade
check "verify is clean" tool bwlimit-load verify
check "detach works" tool bwlimit-load detach
refute "the host port is down" is_up hpf0

# --- evasions, in the drill's own lab
check "what the package's drill tries is held" \
	eval 'env -u BWLIMIT_PIN_DIR bwlimit-ctl drill 03_ 05_ 08_ >"$LAB_TMP/out" 2>&1'
sed 's/^/# /' "$LAB_TMP/out"
done_testing
