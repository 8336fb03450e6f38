#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# bwlimit-ctl tap: the headers of one peer's packets, and nothing else, as tshark, capinfos and tcpdump read them;
# as many frames and bytes as in the flow records. It ends by itself, and is in the audit log.
set -uo pipefail
LAB=bwl-tap-$$ FLOWS_READERS="tshark capinfos tcpdump"
# shellcheck source=../harness/flows_lab.sh
. "$(dirname "${BASH_SOURCE[0]}")/../harness/flows_lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
disk=$LAB_TMP/disk
mkdir "$disk"
mount -t tmpfs -o size=1m bwl-audit "$disk" || exit 1
trap 'umount -l "$disk"; lab_down' EXIT
export BWLIMIT_AUDIT_DIR=$disk/audit
flows_up other "grant: { rate: 2gbit, burst: 8mb }" || exit 1
check "an audit log" eval '"$CTL" audit init --origin bwlimit/lab >/dev/null'
in_host ethtool -K h0 gso off tso off >/dev/null 2>&1

tapped() { in_dpu "$CTL" tap "$@" 2>"$LAB_TMP/tap.err"; }
lab_bg tap dpu "$CTL" tap sink --for 1m --write "$LAB_TMP/sink.pcapng"
tap=$LAB_PID
lab_wait_for 10 grep -q 'headers of sink' "$LAB_TMP/tap.err"
lab_bg server d1 python3 -c '
import socket
u = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); u.bind(("::", 7007))
while True:
    b, a = u.recvfrom(2000)
    u.sendto(b, a)'
server=$LAB_PID
lab_wait_for 10 in_ns d1 sh -c "ss -Hlun 'sport = :7007' | grep -q ."
cat >"$LAB_TMP/send.py" <<'END'
import socket, sys
n = 0
for dest in sys.argv[1:]:
    s = socket.socket(socket.AF_INET6 if ":" in dest else socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(1)
    for i in range(50):
        s.sendto(b"secret payload " * 40, (dest, 7007))
        try:
            s.recv(2000)
            n += 1
        except socket.timeout:
            pass
print(n)
END
echoed=$(in_host python3 "$LAB_TMP/send.py" "$(lab_dest4 1)" "$(lab_dest6 1)")
lab_iperf_server d1 5201
in_host timeout 60 iperf3 -c "$(lab_dest4 1)" -t 1 -b 5M >/dev/null 2>&1
in_host ping -q -c 3 -i 0.1 "$(lab_dest4 2)" >/dev/null 2>&1
note "$echoed of 100 datagrams were echoed"
all_closed() { # both ends of TCP: what they say later is in the records alone
	! in_ns d1 ss -Htan 'sport = :5201' | grep_all -vE '^(LISTEN|TIME-WAIT)' && ! in_host ss -Htan 'dport = :5201' | grep_all -v '^TIME-WAIT'
}
lab_wait_for 10 all_closed
in_host ping -q -c 1 "$(lab_dest4 1)" >/dev/null 2>&1 # behind all others
has_last() { tshark -r "$LAB_TMP/sink.pcapng" -Y icmp 2>/dev/null | grep_all "Echo (ping) reply"; }
check "control: the last packet is in the file" lab_wait_for 10 has_last
kill -TERM "$tap"
check "told to end it ends well" wait "$tap"
flows_down
lab_stop "$server"

frames_of() { tshark -r "$LAB_TMP/sink.pcapng" -T fields -e frame.cap_len -e frame.len -e frame.interface_name -e frame.packet_flags_direction -Y "$1" 2>/dev/null; }
check "capinfos says what it is: pcapng, of the host port, with its filter" eval \
	'capinfos "$LAB_TMP/sink.pcapng" >"$LAB_TMP/info" && grep -q "pcapng" "$LAB_TMP/info" && grep -q "Name = hpf0" "$LAB_TMP/info" &&
	grep -qi "Filter string = (ip or ip6) and (net 10.101.0.0/24" "$LAB_TMP/info" && grep -q "tap of peer sink for 1m" "$LAB_TMP/info"'
sed 's/^/# /' "$LAB_TMP/info" | grep -i 'filter\|comment\|drop\|Capture length' | head -5
# bytes as the hook saw them, of one protocol and direction
recorded() { # direction protocol
	cat "$FLOWS"/*.jsonl | jq -r -s --arg d "$1" --argjson p "$2" '[.[] | select(.kind == "flow" and .peer == "sink" and .direction == $d and .ip_protocol == $p)] |
		"\(map(.frames) | add) \(map(.bytes) | add)"'
}
seen() { # flags direction, tshark filter
	frames_of "$2" | awk -v d="$1" '$4 == d { n++; s += $2 } END { print n + 0, s + 0 }'
}
for protocol in 'udp 17' 'tcp 6'; do
	read -r word number <<<"$protocol"
	check "$word from the host: as many frames and bytes as the flow records have" test "$(seen 0x00000001 "$word")" == "$(recorded out "$number")"
	check "$word to the host: likewise" test "$(seen 0x00000002 "$word" | cut -d' ' -f1)" == "$(recorded in "$number" | cut -d' ' -f1)"
	note "$word: $(seen 0x00000001 "$word") out, $(seen 0x00000002 "$word") in, records $(recorded out "$number"), $(recorded in "$number")"
done
check "of no other peer is anything there" test -z "$(frames_of "ip.addr == $(lab_dest4 2)")"
check "tcpdump reads as many frames" test "$(tcpdump -nn -r "$LAB_TMP/sink.pcapng" 2>/dev/null | wc -l)" -eq "$(tshark -r "$LAB_TMP/sink.pcapng" 2>/dev/null | wc -l)"
refute "no byte of the payload is in the file" grep -aq 'secret' "$LAB_TMP/sink.pcapng"
check "UDP over IPv4 is 42 bytes, over IPv6 62" test "$(frames_of udp | cut -f1 | sort -un | tr '\n' ' ')" == "42 62 "
no_tcp_payload() { # each frame of TCP is cut where its header ends
	tshark -r "$LAB_TMP/sink.pcapng" -T fields -e frame.cap_len -e ip.hdr_len -e tcp.hdr_len -Y tcp 2>/dev/null |
		awk '$1 != 14 + $2 + $3 { bad++ } END { exit bad > 0 || NR == 0 }'
}
check "of TCP everything up to its options, and no more" no_tcp_payload
check "the file is its owner's alone" test "$(stat -c %a "$LAB_TMP/sink.pcapng")" == 600
check "the audit log has its beginning and its end" eval \
	'"$CTL" audit show | grep_all "tap of peer sink for 1m: headers alone" && "$CTL" audit show | grep_all "tap of peer sink ended: [0-9]* frames*, 0 lost"'

# It ends by itself, whatever happens to it.
sockets() { in_dpu sh -c 'tail -n +2 /proc/net/packet' | wc -l; }
before=$(sockets)
SECONDS=0
check "it ends by itself" tapped sink --for 1s --write "$LAB_TMP/short.pcapng"
check "not before its time" test "$SECONDS" -ge 1
check "and what it left is whole" eval 'capinfos "$LAB_TMP/short.pcapng" >/dev/null 2>&1'
nsenter --net="/run/netns/$LAB-dpu" "$CTL" tap sink --for 1h --write "$LAB_TMP/killed.pcapng" 2>"$LAB_TMP/killed.err" &
victim=$!
lab_wait_for 10 grep -q 'headers of sink' "$LAB_TMP/killed.err"
check "control: it listens" test "$(sockets)" -gt "$before"
in_host ping -q -c 5 -i 0.1 "$(lab_dest4 1)" >/dev/null 2>&1
has_ping() { tshark -r "$LAB_TMP/killed.pcapng" -Y icmp 2>/dev/null | grep_all "Echo (ping) request"; }
lab_wait_for 10 has_ping
kill -KILL "$victim"
wait "$victim" 2>/dev/null
check "killed, it listens no more" test "$(sockets)" -eq "$before"
check "and what it had is whole" has_ping
nsenter --net="/run/netns/$LAB-dpu" "$CTL" tap sink --for 30s --most 2kb --write "$LAB_TMP/full.pcapng" 2>"$LAB_TMP/full.err" &
victim=$!
lab_wait_for 10 grep -q 'headers of sink' "$LAB_TMP/full.err"
in_host ping -q -c 60 -i 0.01 "$(lab_dest4 1)" >/dev/null 2>&1
check "a file that is full ends it" wait "$victim"
check "which it says" grep -q 'ended early' "$LAB_TMP/full.err"
check "and it is no larger" test "$(stat -c %s "$LAB_TMP/full.pcapng")" -le 3000

# What it refuses.
refuses() { # word command…
	local word=$1
	shift
	if ! "$@" >"$LAB_TMP/said" 2>&1 && grep -q -- "$word" "$LAB_TMP/said"; then return 0; fi
	note "$(cat "$LAB_TMP/said")"
	return 1
}
check "a peer that there is not" refuses "no peer 'nobody'" in_dpu "$CTL" tap nobody --for 1s --write "$LAB_TMP/x"
check "a file that is there" refuses 'does not exist yet' in_dpu "$CTL" tap sink --for 1s --write "$LAB_TMP/sink.pcapng"
check "no time" refuses '--for is missing' in_dpu "$CTL" tap sink --write "$LAB_TMP/x"
check "more than an hour" refuses 'at most 1h' in_dpu "$CTL" tap sink --for 2h --write "$LAB_TMP/x"
check "who has no right to capture" refuses 'as root, on the DPU' in_dpu setpriv --bounding-set=-net_raw --inh-caps=-net_raw \
	"$CTL" tap sink --for 1s --write "$LAB_TMP/norights"
mount -o remount,ro "$disk"
check "what the audit log cannot record" refuses 'audit' in_dpu "$CTL" tap sink --for 1s --write "$LAB_TMP/nolog"
refute "is not captured" test -s "$LAB_TMP/nolog"
live "tap was killed, and the audit log's disk cannot be written"
done_testing
