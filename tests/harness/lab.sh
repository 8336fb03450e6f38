# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034 # scripts that source this use its variables
#
# A lab of network namespaces:
#
#   host ── h0    hpf0 ── dpu ── p0    s0 ── net ── n1    eth0 ── d1
#                                            (router) n2  eth0 ── d2 …
#   LAB_HOSTS=2: another host at hpf1.  LAB_UPLINKS=2: another uplink p1 to net.
#   LAB_MGMT=1: the DPU's management port mgmt0 to a separate namespace.
#   LAB_FLOODS=1: the neighbour table overflows (nothing is enforced), so no other lab is up meanwhile, whoever runs it.
#
# The dpu forwards nothing (ip_forward=0): only bwlimit's programs can. The router's ports to
# the destinations segment in software, so a destination's counters count frames as on a wire.
# Source it, set LAB to a unique prefix, call lab_up. Everything is removed at exit.

# shellcheck source=pause.sh
. "${BASH_SOURCE[0]%/*}/pause.sh"

LAB=${LAB:-bwl-lab-$$}
LAB_DESTS=${LAB_DESTS:-3} LAB_HOSTS=${LAB_HOSTS:-1} LAB_UPLINKS=${LAB_UPLINKS:-1}
LAB_MGMT=${LAB_MGMT:-0} LAB_MTU=${LAB_MTU:-1500}
LAB_PINS=${LAB_PINS:-/sys/fs/bpf/$LAB}
# The ports in its policy: the sources of each host port, the uplinks.
[[ -v LAB_SOURCES ]] || LAB_SOURCES=('10.7.0.0/24, "fd00:7::/64"')
LAB_POLICY_UPLINKS=${LAB_POLICY_UPLINKS:-p0}
LAB_TMP=
LAB_NETNS=() LAB_PIDS=()
export BWLIMIT_PIN_DIR=$LAB_PINS
export BWLIMIT_AUDIT_DIR=${BWLIMIT_AUDIT_DIR-} # off, unless a test makes one
export BWLIMIT_JOURNAL_DIR=${BWLIMIT_JOURNAL_DIR-} # likewise

# The tools: installed ones, those of BWL_BUILD, or of this tree's release build.
LAB_HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB_BUILD=${BWL_BUILD:-$LAB_HERE/../../build/release}
FRAMES=$LAB_BUILD/tests/harness/bwl-frames
FLOOD=$LAB_BUILD/tests/harness/bwl-flood
LOAD=$LAB_BUILD/loader/bwlimit-load
CTL=$LAB_BUILD/ctl/bwlimit-ctl
AGENT=$LAB_BUILD/agent/bwlimitd
IPSECD=$LAB_BUILD/ipsec/daemon/bwlimit-ipsecd
if [[ -x $LAB_HERE/bwl-frames ]]; then
	FRAMES=$LAB_HERE/bwl-frames
	LOAD=$LAB_HERE/../../../sbin/bwlimit-load
	CTL=$LAB_HERE/../../../sbin/bwlimit-ctl
	AGENT=$LAB_HERE/../../../sbin/bwlimitd
fi

# Addresses. Destination N also answers every other address of its two prefixes.
HOST4=10.7.0.2 HOST6=fd00:7:0::2
lab_dest4() { echo "10.10$1.0.9"; }
lab_dest6() { echo "fd00:10$1::9"; }
LAB_VIA4=192.0.2.254 LAB_VIA6=2001:db8::fe

# Run in a namespace, with this mount namespace: `ip netns exec` would hide bpffs.
in_ns() { # name, command…
	local ns=$1
	shift
	nsenter --net="/run/netns/$LAB-$ns" "$@"
}
ip_in() { # name, ip arguments…
	local ns=$1
	shift
	ip -n "$LAB-$ns" "$@"
}
in_dpu() { in_ns dpu "$@"; }
in_host() { in_ns host "$@"; }

lab_sysctl() { # namespace, key=value…
	local ns=$1
	shift
	in_ns "$ns" sysctl -q -w "$@"
}

lab_ns() { # name
	ip netns add "$LAB-$1" || return
	LAB_NETNS+=("$LAB-$1")
	# Also where new namespaces begin without IPv6.
	lab_sysctl "$1" net.ipv6.conf.all.disable_ipv6=0 net.ipv6.conf.default.disable_ipv6=0
	lab_sysctl "$1" net.ipv6.conf.all.accept_dad=0 net.ipv6.conf.default.accept_dad=0 \
		net.ipv6.conf.default.router_solicitations=0
	ip_in "$1" link set lo up
}

# Two queues, one for each CPU of a small machine. GRO on: without NAPI a redirected frame is not
# received.
lab_veth() { # ns1 dev1 ns2 dev2
	ip link add name "$2" netns "$LAB-$1" mtu "$LAB_MTU" numtxqueues 2 numrxqueues 2 \
		type veth peer name "$4" netns "$LAB-$3" mtu "$LAB_MTU" numtxqueues 2 numrxqueues 2 ||
		return
	in_ns "$1" ethtool -K "$2" gro on
	in_ns "$3" ethtool -K "$4" gro on
	ip_in "$1" link set "$2" up
	ip_in "$3" link set "$4" up
}

lab_addr() { # ns dev address/len…
	local ns=$1 dev=$2 a
	shift 2
	for a in "$@"; do
		if [[ $a == *:* ]]; then
			ip_in "$ns" addr add "$a" dev "$dev" nodad
		else
			ip_in "$ns" addr add "$a" dev "$dev"
		fi
	done
}

# Each CPU sends through its own queue, as drivers of real devices configure it (XPS): even CPUs through
# the first, odd ones through the second. Masks are words of 32 CPUs, the highest first.
lab_xps() { # ns dev
	local left bits even='' odd=''
	for ((left = $(nproc --all); left > 0; left -= bits)); do
		bits=$((left % 32 == 0 ? 32 : left % 32))
		even+=$(printf ',%x' $((0x55555555 & ((1 << bits) - 1))))
		odd+=$(printf ',%x' $((0xaaaaaaaa & ((1 << bits) - 1))))
	done
	ip netns exec "$LAB-$1" sh -c "cd /sys/class/net/$2/queues &&
		echo ${even#,} >tx-0/xps_cpus && echo ${odd#,} >tx-1/xps_cpus" 2>/dev/null ||
		echo "# $2: no XPS"
}

lab_host() { # index: namespace host or host1, port hpf0 or hpf1
	local i=$1 ns=host
	[[ $i -eq 0 ]] || ns=host$i
	lab_ns "$ns"
	lab_veth "$ns" h0 dpu "hpf$i" || return
	lab_xps "$ns" h0
	lab_addr "$ns" h0 "10.7.$i.2/24" "fd00:7:$i::2/64"
	lab_addr dpu "hpf$i" "10.7.$i.1/24" "fd00:7:$i::1/64"
	ip_in "$ns" route add default via "10.7.$i.1"
	ip_in "$ns" -6 route add default via "fd00:7:$i::1"
}

lab_uplink() { # index: p0 to s0, p1 to s1
	local i=$1
	lab_veth dpu "p$i" net "s$i" || return
	if [[ $i -eq 0 ]]; then
		lab_addr dpu p0 192.0.2.1/24 2001:db8::1/64
		lab_addr net s0 $LAB_VIA4/24 $LAB_VIA6/64
	else
		lab_addr dpu "p$i" "192.0.$((2 + i)).1/24" "2001:db8:$i::1/64"
		lab_addr net "s$i" "192.0.$((2 + i)).254/24" "2001:db8:$i::fe/64"
	fi
}

lab_dest() { # number
	local n=$1
	lab_ns "d$n"
	lab_veth net "n$n" "d$n" eth0 || return
	lab_addr net "n$n" "172.16.$n.1/30" "fd00:ff:$n::1/64"
	lab_addr "d$n" eth0 "172.16.$n.2/30" "fd00:ff:$n::2/64"
	lab_addr "d$n" lo "$(lab_dest4 "$n")/32" "$(lab_dest6 "$n")/128"
	ip_in "d$n" route add local "10.10$n.0.0/24" dev lo
	ip_in "d$n" -6 route add local "fd00:10$n::/64" dev lo
	ip_in net route add "10.10$n.0.0/24" via "172.16.$n.2"
	ip_in net -6 route add "fd00:10$n::/64" via "fd00:ff:$n::2"
	ip_in "d$n" route add default via "172.16.$n.1" src "$(lab_dest4 "$n")"
	ip_in "d$n" -6 route add default via "fd00:ff:$n::1" src "$(lab_dest6 "$n")"
	in_ns net ethtool -K "n$n" tso off gso off tx-udp-segmentation off >/dev/null
	in_ns "d$n" ethtool -K eth0 gro off
}

# The kernel's neighbour table is one for all namespaces of the machine: while it is flooded nothing can be resolved, not in
# the labs of another run either. So labs of tests share a lock, and one that floods (LAB_FLOODS=1) has it alone. Who wants
# it alone shuts the gate first, behind which new labs wait. Nobody begins beside it, however long that takes: the lock of a
# lab that dies goes with it.
lab_lock() {
	local how=-s locks=${LAB_LOCKS:-/run/lock} gate lock
	# Only tests (tap.sh); LAB_LOCKED: one that runs this one has it.
	[[ -v TAP_N && ! -v LAB_LOCKED ]] || return 0
	mkdir -p "$locks"
	exec {gate}>>"$locks/bwl-labs-gate" {lock}>>"$locks/bwl-labs" || return 0
	export LAB_LOCKED=$$
	[[ -z ${LAB_FLOODS:-} ]] || how=-x
	{ flock "$how" "$gate" && flock "$how" "$lock"; } || { echo "# the lock of all labs cannot be had"; return 1; }
	exec {gate}>&-
	# Held by a process that ends with this one: what is open here every program would inherit.
	tail --pid=$$ -f /dev/null >/dev/null 2>&1 </dev/null &
	LAB_LOCK=$!
	disown "$LAB_LOCK"
	exec {lock}>&-
}
lab_unlock() {
	[[ ${LAB_LOCKED:-} == "$$" ]] || return 0
	kill "$LAB_LOCK"
	unset LAB_LOCKED
}

# The beginning of every lab; a script with its own namespaces calls this instead of lab_up.
lab_begin() {
	trap lab_down EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	lab_require || return
	lab_lock || return
	LAB_TMP=$(mktemp -d)
	export BWLIMIT_STATE_DIR=${BWLIMIT_STATE_DIR-$LAB_TMP/state-dir} # not this machine's own
}
lab_up() {
	local i
	lab_begin || return
	lab_ns dpu && lab_ns net || return
	lab_sysctl dpu net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=0
	lab_sysctl net net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 \
		net.ipv4.conf.all.rp_filter=0 net.ipv4.icmp_ratelimit=0
	for ((i = 0; i < LAB_UPLINKS; i++)); do lab_uplink "$i" || return; done
	for ((i = 0; i < LAB_HOSTS; i++)); do lab_host "$i" || return; done
	for ((i = 1; i <= LAB_DESTS; i++)); do lab_dest "$i" || return; done
	ip_in net route add 10.7.0.0/16 via 192.0.2.1
	ip_in net -6 route add fd00:7::/32 via 2001:db8::1
	if [[ $LAB_MGMT -eq 1 ]]; then
		lab_ns mgmt
		lab_veth dpu mgmt0 mgmt eth0 || return
		lab_addr dpu mgmt0 10.250.0.1/24 fd00:250::1/64
		lab_addr mgmt eth0 10.250.0.2/24 fd00:250::2/64
	fi
}

lab_require() {
	if [[ $(id -u) -ne 0 ]]; then
		echo "needs root for network namespaces"
		exit 77
	fi
	local tool
	for tool in "$FRAMES" "$LOAD" "$CTL"; do
		[[ -x $tool ]] || echo "# '$tool' is not there"
	done
}

# In the background, with output to a file in LAB_TMP; sets LAB_PID. lab_down ends it if it still runs.
lab_bg() { # file namespace command…
	local file=$1 ns=$2
	shift 2
	: >"$LAB_TMP/$file" # here, not in a child that begins late: who waits for a word must not find the last one's
	nsenter --net="/run/netns/$LAB-$ns" "$@" >"$LAB_TMP/$file" 2>"$LAB_TMP/$file.err" &
	LAB_PID=$!
	LAB_PIDS+=("$LAB_PID")
}
# bwlimitd in the DPU, until it has started: its process is AGENT_PID, what it says is in $LAB_TMP/agent.
lab_agent() { # option…
	lab_bg agent dpu "$AGENT" "$@" --json
	AGENT_PID=$LAB_PID
	lab_wait_for 30 grep -q '"event":"start"' "$LAB_TMP/agent"
}
# The end of a wait only ends a test that hangs: two minutes at the earliest. (tests/mutants/run, whose tests must fail, waits
# less.)
LAB_PATIENCE=${LAB_PATIENCE:-120}
lab_wait_for() { # seconds command…: until it succeeds
	local end=$((SECONDS + ($1 > LAB_PATIENCE ? $1 : LAB_PATIENCE))) asked
	shift
	until asked=${EPOCHREALTIME/[.,]/} && "$@" >/dev/null 2>&1; do
		[[ $SECONDS -lt $end ]] || return 1
		pause_since 50000 "$asked"
	done
}
# Pings the first destination every 2 ms while the command runs repeatedly, at least twice.
# No ping may be lost, and no run may fail.
lab_lossless() { # pings command…
	local pings=$1 n=0 pinger
	shift
	while [[ $n -lt 2 ]]; do
		in_host ping -q -i 0.002 -c "$pings" -W 2 "$(lab_dest4 1)" >"$LAB_TMP/ping" 2>&1 &
		pinger=$!
		while kill -0 $pinger 2>/dev/null; do
			"$@" || { kill $pinger; return 1; }
			n=$((n + 1))
		done
		wait $pinger
		echo "# $n times; $(grep transmitted "$LAB_TMP/ping")"
		grep -q "$pings received" "$LAB_TMP/ping" || return
	done
}
# What arrives at a destination while the host pings it, even if nothing can be answered: sets LAB_ARRIVED to
# "4 6", to one of them, or to nothing. A ping without a reply does not show whether a packet has left.
LAB_MARKER=6c61622d6d61726b65722d6f662d7468
lab_arriving() { # [n]
	local n=${1:-1} judge pings=() to
	lab_bg "arriving-$n" "d$n" "$FRAMES" count eth0 --marker $LAB_MARKER
	judge=$LAB_PID
	lab_wait_for 5 grep -q ready "$LAB_TMP/arriving-$n"
	for to in "$(lab_dest4 "$n")" "$(lab_dest6 "$n")"; do
		in_host ping -q -c 3 -i 0.05 -W 1 -s 64 -p $LAB_MARKER "$to" >/dev/null 2>&1 &
		pings+=($!)
	done
	wait "${pings[@]}"
	lab_stop "$judge"
	LAB_ARRIVED=$(awk '/^0800/ && $6 { four = "4" } /^86dd/ && $6 { six = "6" } /^total/ { ok = 1 }
		END { print ok ? four (four && six ? " " : "") six : "no judge" }' "$LAB_TMP/arriving-$n")
	return 0
}
lab_silent() { lab_arriving "$@" && [[ -z $LAB_ARRIVED ]]; }	# nothing arrives, of either family
lab_both() { lab_arriving "$@" && [[ $LAB_ARRIVED == "4 6" ]]; }	# its positive control
lab_stop() { # pid: ask, then wait for its last words
	kill -TERM "$1" 2>/dev/null
	wait "$1" 2>/dev/null
	return 0
}

lab_down() {
	trap '' INT TERM HUP
	lab_clear 2>/dev/null # bash would report every process killed
	trap - EXIT INT TERM HUP
}
lab_clear() {
	local ns pids
	for ns in "${LAB_NETNS[@]}"; do
		pids=$(ip netns pids "$ns" | tr '\n' ' ')
		# shellcheck disable=SC2086 # split into words
		[[ -z ${pids// /} ]] || kill -KILL $pids
		ip netns del "$ns"
	done
	[[ ${#LAB_PIDS[@]} -eq 0 ]] || wait "${LAB_PIDS[@]}"
	[[ ! -d $LAB_PINS ]] || rm -rf "$LAB_PINS"
	# Of agents that were killed; files for readers. Of other pin folders of this lab, too: with a dash behind the name.
	rm -f "/run/bwlimit/${LAB_PINS##*/}"{,-*}.*
	[[ -z $LAB_TMP ]] || rm -rf "$LAB_TMP"
	lab_unlock
}

lab_mac() { # namespace device
	ip_in "$1" -o link show dev "$2" | sed -n 's/.*link\/ether \([0-9a-f:]*\).*/\1/p'
}
lab_link_local() { # namespace device
	ip_in "$1" -6 -o addr show dev "$2" scope link | awk '{ sub("/.*", "", $4); print $4; exit }'
}
# rx or tx counters: "BYTES FRAMES"
lab_rx() { # namespace device
	in_ns "$1" cat /proc/net/dev | sed -n "s/^ *$2: *\([0-9]*\) *\([0-9]*\).*/\1 \2/p"
}
# Sends the frames described on standard input (tests/harness/frame.h) from the host's own port.
thief() { # options of bwl-frames send…
	in_host "$FRAMES" send h0 --gw "$(lab_mac dpu hpf0)" "$@"
}

lab_iperf_server() { # namespace port command-prefix…
	local ns=$1 port=$2
	shift 2
	lab_bg "iperf-$ns-$port" "$ns" "$@" iperf3 -s -p "$port"
	LAB_SERVER=$LAB_PID
	lab_wait_for 5 in_ns "$ns" sh -c "ss -Hltn 'sport = :$port' | grep -q ." ||
		echo "# iperf3 server in $ns did not start"
}

# A client. A server opens another socket after each: who comes before that is refused, which with -J is no status but an
# error in what is written, and comes again.
lab_iperf() { # seconds file namespace arguments of iperf3…
	local end=$((SECONDS + 180))
	until
		in_ns "$3" timeout "$1" iperf3 "${@:4}" >"$2" 2>&1
		! grep -q 'error' "$2"
	do
		[[ $SECONDS -lt $end ]] || return 1
		sleep 0.2
	done
}

# What was sent before has arrived wherever it goes, on a machine of any speed (settle.c). Not what is paced: until
# its time has come.
lab_settle() { in_ns net "$FRAMES" settle || echo "# the lab does not settle"; }

# Attaches bwlimit in the lab's DPU, on all its ports. LAB_XDP: the form of XDP (the best). LAB_PEERS: for so many peers (65536).
lab_attach() {
	local i ports=(${LAB_XDP:+--xdp "$LAB_XDP"} ${LAB_PEERS:+--max-peers "$LAB_PEERS"})
	for ((i = 0; i < LAB_HOSTS; i++)); do ports+=(--host "hpf$i"); done
	for ((i = 0; i < LAB_UPLINKS; i++)); do ports+=(--uplink "p$i"); done
	in_dpu "$LOAD" attach --drill --fresh-volume "${ports[@]}" >"$LAB_TMP/attach" 2>&1 && return
	sed 's/^/# /' "$LAB_TMP/attach"
	return 1
}
# One peer of a policy, for destination N: name, N, then the rest of its lines in flow style.
lab_peer() { # name n "grant: {…}"
	printf '  - { name: %s, addresses: ["10.10%s.0.0/24", "fd00:10%s::/64"], path: clear,\n' "$1" "$2" "$2"
	printf '      via: %s, via6: "%s", %s }\n' "$LAB_VIA4" "$LAB_VIA6" "$3"
}
lab_policy_head() { # [heartbeat]; further top-level lines on standard input, peers last
	local i
	printf 'version: 1\nnode: lab\nuplinks: [%s]\nhost_ports:\n' "$LAB_POLICY_UPLINKS"
	for i in "${!LAB_SOURCES[@]}"; do
		printf '  - dev: hpf%d\n    sources: [%s]\n' "$i" "${LAB_SOURCES[i]}"
	done
	echo "heartbeat: ${1:-1h}"
	cat
}
lab_apply() { # policy on standard input; renews the heartbeat
	cat >"$LAB_TMP/policy.yaml"
	in_dpu "$CTL" policy apply "$LAB_TMP/policy.yaml" >"$LAB_TMP/apply" 2>&1 &&
		in_dpu "$CTL" heartbeat >/dev/null && return
	sed 's/^/# /' "$LAB_TMP/apply"
	return 1
}
# bwlimit-load in the DPU; its output goes to LAB_TMP/out and LAB_TMP/err.
lab_load() { in_dpu "$LOAD" "$@" >"$LAB_TMP/out" 2>"$LAB_TMP/err"; }
# verify is clean. Its lines begin with ok, as TAP's do: they are not printed, and a failure becomes a note.
lab_verifies() { # options of verify…
	lab_load verify "$@" && return
	grep -A1 FAIL "$LAB_TMP/out" | sed 's/^/# /'
	return 1
}
# verify is not clean, and says why.
lab_verify_finds() { # regex, options of verify…
	lab_load verify "${@:2}"
	[[ $? -eq 1 ]] && grep -q "FAIL.*$1" "$LAB_TMP/out"
}
lab_is_up() { [[ $(ip_in dpu -o link show dev "$1") =~ [\<,]UP[,\>] ]]; } # device
