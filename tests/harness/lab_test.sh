#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The lab itself, without bwlimit: what the other tests rely on.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB=bwl-labtest-$$ LAB_HOSTS=2 LAB_UPLINKS=2 LAB_MGMT=1 LAB_DESTS=4
# shellcheck source=tap.sh
. "$here/tap.sh"
# shellcheck source=lab.sh
. "$here/lab.sh"
lab_up || exit 1

pings() { in_host ping -c 1 -W 2 "$1" >/dev/null; }
refute "the DPU forwards nothing by itself" pings "$(lab_dest4 1)"
lab_sysctl dpu net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1
ip_in dpu route add default via $LAB_VIA4
ip_in dpu -6 route add default via $LAB_VIA6
for i in 1 2 3 4; do
	check "destination $i answers over IPv4 when the DPU forwards" pings "$(lab_dest4 "$i")"
	check "destination $i answers over IPv6 when the DPU forwards" pings "$(lab_dest6 "$i")"
done
check "a destination answers on any address of its /64" pings fd00:102::dead:beef

lab_bg count d1 "$FRAMES" count eth0
counter=$LAB_PID
lab_wait_for 5 grep -q ready "$LAB_TMP/count"
read -r before _ < <(lab_rx d1 eth0)
thief --count 1000 >"$LAB_TMP/sent" <<END
eth ip4 src=$HOST4 dst=$(lab_dest4 1) udp dport=9 fill=100
eth ip6 src=$HOST6 dst=fd00:101::/64 udp dport=9 fill=100
END
lab_settle
lab_stop "$counter"
read -r after _ < <(lab_rx d1 eth0)
check "a thousand frames are sent" grep -q '^sent 1000 bytes 152000 refused 0' "$LAB_TMP/sent"
check "the counter sees the IPv4 half at one address" \
	grep -q "^0800 $(lab_dest4 1) $HOST4 500 71000$" "$LAB_TMP/count"
check "the counter sees the IPv6 half at 500 addresses" \
	[ "$(grep -c '^86dd fd00:101:' "$LAB_TMP/count")" -eq 500 ]
check "the interface counted as many bytes as the frames had" [ $((after - before)) -ge 152000 ]

# Every kind of frame is received if nothing blocks it, so that "not received" has a meaning:
# checksums are right, also under a tag, after extension headers, and of a datagram in fragments.
MARK=00112233445566778899aabbccddeeff
dpu4=10.7.0.1 dpu6=fd00:7:0::1
router_alert=0502000001
hears() { # sentence, what is heard (extended regex), frame…: heard by the DPU's sockets
	local sentence=$1 what=$2
	shift 2
	lab_bg listen dpu "$FRAMES" listen --marker $MARK 9
	local listener=$LAB_PID
	lab_wait_for 5 grep -q ready "$LAB_TMP/listen"
	printf '%s\n' "$@" | thief --marker $MARK >/dev/null || nok "sent: $sentence"
	lab_settle
	lab_stop "$listener"
	grep -qE "^heard (.* )?$what" "$LAB_TMP/listen" || note "$(cat "$LAB_TMP/listen")"
	check "$sentence" grep -qE "^heard (.* )?$what" "$LAB_TMP/listen"
}
v4="eth ip4 src=$HOST4 dst=$dpu4" v6="eth ip6 src=$HOST6 dst=$dpu6"
nobody='udp4 0 udp6 0 tcp4 0 tcp6 0 open4 0 open6 0 icmp4 0 icmp6 0 raw4 0 raw6 0 control4 0'
hears "UDP over IPv4 is heard" 'udp4 1 .* marked 1 bytes 101$' "$v4 udp dport=9 fill=101"
hears "UDP over IPv6 is heard" 'udp6 1 .* marked 1 bytes 101$' "$v6 udp dport=9 fill=101"
hears "the data of a SYN over IPv4 reaches a program" 'tcp4 [1-9].*open4 1 .* marked 2 bytes 200$' \
	"$v4 tcp sport=40001 dport=9 flags=2 fill=100"
hears "the data of a SYN over IPv6 reaches a program" 'tcp6 [1-9].*open6 1 .* marked 2 bytes 200$' \
	"$v6 tcp sport=40001 dport=9 flags=2 fill=100"
hears "ICMP is heard" 'icmp4 1 icmp6 0 .* marked 1 ' "$v4 icmp fill=100"
hears "ICMPv6 is heard" 'icmp4 0 icmp6 1 .* marked 1 ' "$v6 icmp kind=128 fill=100"
hears "an error that quotes is heard over IPv4" 'icmp4 1 .* marked 1 ' \
	"$v4 icmp kind=3 code=3 ip4 src=$dpu4 dst=$HOST4 udp fill=64"
hears "an error that quotes is heard over IPv6" 'icmp6 1 .* marked 1 ' \
	"$v6 icmp kind=1 code=4 ip6 src=$dpu6 dst=$HOST6 udp fill=64"
hears "another protocol is heard over IPv4" 'raw4 1 raw6 0' "$v4 type=47 fill=100"
hears "another protocol is heard over IPv6" 'raw4 0 raw6 1' "$v6 type=47 fill=100"
hears "UDP to a port without a program is heard by a raw socket" 'raw4 1 raw6 1' \
	"$v4 udp dport=99 fill=100" "$v6 udp dport=99 fill=100"
hears "IGMP is heard, as control" 'control4 1 .* marked 0 ' \
	"eth dst=01:00:5e:00:00:01 ip4 src=$HOST4 dst=224.0.0.1 ttl=1 opt=94040000 igmp kind=0x11 fill=20"
hears "MLD is heard, as control" 'control6 1 marked 0 ' "eth dst=33:33:00:00:00:01 ip6 src=fe80::1 \
dst=ff02::1 hop=1 ext kind=0 size=8 hex=$router_alert icmp kind=130 hex=00000000000000000000000000000000 fill=20"
if ip_in dpu link add link hpf0 name hpf0.5 type vlan id 5 2>/dev/null; then
	ip_in dpu link set hpf0.5 up
	lab_addr dpu hpf0.5 10.7.5.1/24 fd00:7:5::1/64
	hears "UDP below a tag is heard" 'udp4 1 udp6 1 ' \
		"eth vlan id=5 ip4 src=10.7.5.2 dst=10.7.5.1 udp dport=9 fill=100" \
		"eth vlan id=5 ip6 src=fd00:7:5::2 dst=fd00:7:5::1 udp dport=9 fill=100"
else
	skip "UDP below a tag is heard" "this kernel has no VLAN devices"
fi
hears "UDP behind IPv4 options and IPv6 extension headers is heard" 'udp4 1 udp6 1 ' \
	"eth ip4 src=$HOST4 dst=$dpu4 opt=01010101 udp dport=9 fill=100" \
	"eth ip6 src=$HOST6 dst=$dpu6 ext kind=0 size=264 options=1 ext kind=60 size=512 options=1 udp dport=9 fill=100"
for part in 0,1008 1008,1008 2016,1008; do
	echo "eth ip4 src=$HOST4 dst=$dpu4 id=7 udp dport=9 fill=2500 slice=$part"
	echo "eth ip6 src=$HOST6 dst=$dpu6 frag6 id=7 udp dport=9 fill=2500 slice=$part"
done >"$LAB_TMP/parts"
hears "a datagram in three fragments is heard as one" 'udp4 1 udp6 1 .* marked 2 bytes 5000$' \
	"$(cat "$LAB_TMP/parts")"
hears "a length that lies is right up to there" 'udp4 1 udp6 1 .* bytes 16$' \
	"eth ip4 src=$HOST4 dst=$dpu4 len=36 udp dport=9 len=16 fill=100" \
	"eth ip6 src=$HOST6 dst=$dpu6 len=16 udp dport=9 len=16 fill=100"
hears "UDP over IPv4 without a checksum is heard" 'udp4 1 udp6 0 ' \
	"$v4 udp sum=zero dport=9 fill=100" "$v6 udp sum=zero dport=9 fill=100"
hears "a wrong checksum is asked for by name, and no program hears it" \
	'udp4 0 udp6 0 tcp4 1 tcp6 1 open4 0 open6 0 ' \
	"$v4 udp sum=bad dport=9 fill=100" "$v6 udp sum=bad dport=9 fill=100" \
	"$v4 tcp sum=bad sport=40002 dport=9 flags=2 fill=100" \
	"$v6 tcp sum=0x1234 sport=40002 dport=9 flags=2 fill=100"
hears "nor is an IPv4 header with one" "$nobody" "eth ip4 sum=bad src=$HOST4 dst=$dpu4 udp dport=9 fill=100"

# Answers are recognised by the marker, whatever their source.
answers() { # sentence, condition of awk on the counter's lines, frame…
	local sentence=$1 what=$2
	shift 2
	printf '%s\n' "$@" >"$LAB_TMP/asks"
	# Asked again until then: a kernel takes its time for some answers.
	lab_wait_for 120 is_answered "$what" || note "$(cat "$LAB_TMP/back")"
	check "$sentence" awk "$what { n = 1 } END { exit !n }" "$LAB_TMP/back"
}
is_answered() { # condition
	lab_bg back host "$FRAMES" count h0 --marker $MARK
	local counter=$LAB_PID
	lab_wait_for 60 grep -q ready "$LAB_TMP/back"
	thief --marker $MARK <"$LAB_TMP/asks" >/dev/null
	lab_settle
	sleep 0.01 # an answer to MLD may be that late
	lab_settle
	lab_stop "$counter"
	awk "$1 { n = 1 } END { exit !n }" "$LAB_TMP/back"
}
lab_bg listen dpu "$FRAMES" listen 9
listener=$LAB_PID
lab_wait_for 5 grep -q ready "$LAB_TMP/listen"
from4="\$1 == \"0800\" && \$3 == \"$dpu4\"" from6="\$1 == \"86dd\" && \$3 == \"fd00:7::1\""
answers "a SYN over IPv4 is answered" "$from4" "$v4 tcp sport=40003 dport=9 flags=2"
answers "a SYN over IPv6 is answered" "$from6 && \$4 > \$9" "$v6 tcp sport=40003 dport=9 flags=2"
lab_stop "$listener"
answers "an echo over IPv4 is the thief's, though the DPU sent it" "$from4 && \$6 == 1 && \$8 == 100" \
	"$v4 icmp fill=100"
answers "an echo over IPv6 is too" "$from6 && \$6 == 1 && \$8 == 100" "$v6 icmp kind=128 fill=100"
answers "so is what an unreachable port quotes over IPv4" "$from4 && \$6 == 1 && \$8 == 100" \
	"$v4 udp dport=99 fill=100"
answers "and over IPv6" "$from6 && \$6 == 1 && \$8 == 1000" "$v6 udp dport=99 fill=1000"
me=$(lab_mac host h0)
answers "a solicitation is answered" '$1 == "86dd" && $3 == "fd00:7::1" && $9 == 1' \
	"eth dst=33:33:ff:00:00:01 ip6 src=fd00:7::77 dst=ff02::1:ff00:1 hop=255 nd target=$dpu6 sll=$me"
check "and learnt from" [ -n "$(ip_in dpu -6 neigh show fd00:7::77 | grep "$me")" ]
answers "a query of MLD is answered, as control" '$1 == "86dd" && $2 == "ff02::16" && $9 > 0 && $6 == 0' \
	"eth dst=33:33:00:00:00:01 ip6 src=fe80::1 dst=ff02::1 hop=1 ext kind=0 size=8 hex=$router_alert icmp kind=130 rest=0x10000 hex=0000000000000000000000000000000000000000"
check "the interface's own counter agrees" \
	awk '/^total/ { n = $2 } /^device/ { d = $2 } END { exit !(n > 0 && n == d) }' "$LAB_TMP/back"

read -r _ before < <(lab_rx dpu hpf0)
lab_bg flood host "$FLOOD" h0 600 "$(lab_mac dpu hpf0)" "eth ip4 src=$HOST4 dst=10.99.0.1 udp fill=22"
flood=$LAB_PID
floods() {
	read -r _ after < <(lab_rx dpu hpf0)
	[[ $((after - before)) -ge 50000 ]]
}
check "a flood of live frames arrives at the host port" lab_wait_for 120 floods
lab_stop "$flood"
note "flood: $(cat "$LAB_TMP/flood"), arrived $((after - before)) by then"

lab_iperf_server d2 5201
read -r bytes0 frames0 < <(lab_rx d2 eth0)
in_host timeout 300 iperf3 -c "$(lab_dest4 2)" -n 50M >"$LAB_TMP/tcp" || note "$(tail -n 3 "$LAB_TMP/tcp")"
read -r bytes frames < <(lab_rx d2 eth0)
bytes=$((bytes - bytes0)) frames=$((frames - frames0))
note "TCP: $bytes bytes, $frames frames"
check "TCP with GSO on arrives as frames of at most 1514 bytes" \
	[ $((bytes / frames)) -le 1514 ]
check "and mostly as full ones" [ $((bytes / frames)) -ge 1000 ]

# Labs of several runs: "a" when lab a is up, "-a" when it ends; it ends when it is told.
locks=$LAB_TMP/locks
mkdir "$locks"
declare -A end=()
labs=()
begins() { # name, VARIABLE=VALUE…
	mkfifo "$locks/$1.end"
	# shellcheck disable=SC2016 # the child's
	env -u LAB_LOCKED LAB="bwl-other-$$-$1" LAB_LOCKS="$locks" ORDER="$locks/order" "${@:2}" bash -c '
		. "$0/tap.sh"; . "$0/lab.sh"
		lab_begin && echo "$1" >>"$ORDER" && read -r _; echo "-$1" >>"$ORDER"; lab_down' "$here" "$1" \
		<"$locks/$1.end" >"$locks/$1.out" 2>&1 &
	labs+=($!)
	exec {fd}>"$locks/$1.end"
	end[$1]=$fd
}
ends() { echo >&"${end[$1]}"; }
says() { [[ $(tr '\n' ' ' <"$locks/order") == "$1 " ]]; }
begins a
check "a lab begins" lab_wait_for 60 says "a"
begins b
check "and another beside it" lab_wait_for 60 says "a b"
begins f LAB_FLOODS=1
shut() { ! flock -n -s "$locks/bwl-labs-gate" true; }
check "one that waits to be alone lets no new lab begin" lab_wait_for 60 shut
check "and has not begun beside those that are there" says "a b"
begins c
ends a
ends b
check "it begins when the others have ended" lab_wait_for 60 eval '[[ $(tail -n 1 "$locks/order") == f ]]'
ends f
check "and the new lab after it" lab_wait_for 60 eval '[[ $(tail -n 1 "$locks/order") == c ]]'
check "in this order" eval '[[ $(tr "\n" " " <"$locks/order") =~ ^a\ b\ -[ab]\ -[ab]\ f\ -f\ c\ $ ]]'
ends c
wait "${labs[@]}"
done_testing
