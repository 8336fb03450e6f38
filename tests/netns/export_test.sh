#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# bwlimit-export: the flow records of real traffic are exported unchanged, as seen by third-party readers
# (ipfixDump, nfcapd, python3-ipfix, openssl s_server); what exceeds the budget is withheld and reported;
# nothing is lost over restarts and lost collectors.
# live: no packet passes bwlimit-export, which is killed: it reads files
set -uo pipefail
LAB=bwl-export-$$ FLOWS_READERS="ipfixDump nfcapd nfdump"
# shellcheck source=../harness/flows_lab.sh
. "$(dirname "${BASH_SOURCE[0]}")/../harness/flows_lab.sh"
EXPORT=$LAB_BUILD/export/flows/bwlimit-export
flows_up small "grant: { rate: 100kbit, burst: 3000b }" || exit 1

# TCP and UDP, IPv4 and IPv6, and much to a peer with a low limit.
lab_iperf_server d1 5201
for to in "$(lab_dest4 1)" "$(lab_dest6 1)"; do
	lab_iperf 60 "$LAB_TMP/iperf" host -c "$to" -t 1 -b 10M
	lab_iperf 60 "$LAB_TMP/iperf" host -c "$to" -t 1 -b 5M -u -l 1000
done
in_host ping -q -c 60 -i 0.01 -s 1000 "$(lab_dest4 2)" >/dev/null 2>&1
all_recorded() {
	[[ $(cat "$FLOWS"/*.jsonl | jq -s '[.[] | select(.kind == "flow" and .ip_protocol == 1) | .frames] | add') -ge 60 ]]
}
lab_wait_for 20 all_recorded
flows_down
files() { find "$FLOWS" -name "0*.jsonl" | wc -l; }
note "$(files) intervals, $(cat "$FLOWS"/*.jsonl | wc -l) lines"

export_to() { # state destination options…
	mkdir -p "$LAB_TMP/$1"
	in_ns d1 "$EXPORT" --to "$2" --flows "$FLOWS" --state-dir "$LAB_TMP/$1" "${@:3}" 2>"$LAB_TMP/$1.err"
}
# The output of `flows --json`, and records read back, in the same form: one row per flow over all intervals.
told() {
	"$CTL" flows --state-dir "$STATE" --since 1h --json | jq -c '[(.flows, .remainders)[] | [.peer, .direction, .port, .class, .reason,
		.ip_protocol // 0, .source // "", .destination // "", .source_port // 0, .destination_port // 0, .frames, .bytes, .charged_bytes]] | sort'
}
read_back() { # JSON lines of read_ipfix.py on stdin
	jq -c -s '[.[] | select(has("flowId"))] | group_by([.bwlimitPeerName, .bwlimitDirection, .interfaceName, .applicationName,
		.bwlimitReasonName, .protocolIdentifier, .sourceIPv4Address, .sourceIPv6Address, .destinationIPv4Address, .destinationIPv6Address,
		.sourceTransportPort, .destinationTransportPort]) | map(.[0] as $x | [$x.bwlimitPeerName,
		(if $x.bwlimitDirection == 1 then "out" else "in" end), $x.interfaceName, $x.applicationName, $x.bwlimitReasonName,
		$x.protocolIdentifier // 0, $x.sourceIPv4Address // $x.sourceIPv6Address // "", $x.destinationIPv4Address // $x.destinationIPv6Address // "",
		$x.sourceTransportPort // 0, $x.destinationTransportPort // 0, (map(.packetDeltaCount) | add),
		(map(.layer2OctetDeltaCount) | add), (map(.bwlimitChargedOctetDeltaCount) | add)]) | sort'
}
# The module is Debian's, for Debian's python.
python_ipfix() { /usr/bin/python3 "$here/read_ipfix.py" "$@"; }
same_flows() { # file of JSON lines
	read_back <"$1" >"$LAB_TMP/back"
	told >"$LAB_TMP/told"
	cmp -s "$LAB_TMP/back" "$LAB_TMP/told" || { diff <(jq -c '.[]' "$LAB_TMP/told") <(jq -c '.[]' "$LAB_TMP/back") | head -4 | sed 's/^/# /'; false; }
}
enough() { told | jq -e 'length > 10 and any(.[]; .[7] | test(":")) and any(.[]; .[4] == "peer-rate") and any(.[]; .[5] == 17)' >/dev/null; }
check "control: there are flows of both families, of TCP and UDP, passed and refused" enough

# A file.
check "all there is goes into a file, and it ends" export_to file "file:$LAB_TMP/out.ipfix" --once --domain 7
check "python3-ipfix reads it: each message's sequence number is the number of records before it" eval \
	'python_ipfix <"$LAB_TMP/out.ipfix" >"$LAB_TMP/out.json"'
check "python3-ipfix reads the flows that bwlimit-ctl flows shows" same_flows "$LAB_TMP/out.json"
dumped() { # file: flows, frames and bytes by ipfixDump
	ipfixDump --in "$1" --rfc5610 --data 2>/dev/null | awk '/--- data record/ { flow = 0 } / flowId / { flow = 1; n++ }
		flow && / packetDeltaCount / { f += $NF } flow && / layer2OctetDeltaCount / { b += $NF }
		flow && /bwlimitChargedOctetDeltaCount/ { c += $NF } END { print n + 0, f + 0, b + 0, c + 0 }'
}
recorded() { cat "$FLOWS"/*.jsonl | jq -s -r '[.[] | select(.kind == "flow" or .kind == "flow-remainder")] |
	"\(length) \(map(.frames) | add) \(map(.bytes) | add) \(map(.charged_bytes) | add)"'; }
check "ipfixDump reads as many records, frames and bytes, and what our own elements are" test "$(dumped "$LAB_TMP/out.ipfix")" == "$(recorded)"
note "$(recorded): records, frames, bytes, charged"
sums() { jq -s -c "[.[] | select(has(\"flowId\") | not) | select(has(\"bwlimitPeerName\"))] | [(map(.packetDeltaCount) | add), (map(.bwlimitChargedOctetDeltaCount) | add)]"; }
check "what the counters grew by is there, too: the sum of all records" test \
	"$(sums <"$LAB_TMP/out.json")" == "$(cat "$FLOWS"/*.jsonl | jq -s -c '[.[] | select(.kind == "flow" or .kind == "flow-remainder")] |
	[(map(.frames) | add), (map(select(.reason | startswith("pass")) | .charged_bytes) | add)]')"
ignored() { jq -s -c '[.[] | select(has("ignoredPacketTotalCount"))] | last | .ignoredPacketTotalCount'; }
check "and what has no peer is counted as ignored" test "$(ignored <"$LAB_TMP/out.json")" -eq \
	"$(cat "$FLOWS"/*.jsonl | jq -s '[.[] | select(.kind == "flow-interval") | .other.frames + .other.dropped_frames] | add')"
cp "$LAB_TMP/out.ipfix" "$LAB_TMP/before.ipfix"
check "a second run adds nothing" export_to file "file:$LAB_TMP/out.ipfix" --once --domain 7
check "to the byte" cmp -s "$LAB_TMP/before.ipfix" "$LAB_TMP/out.ipfix"

# JSON lines.
check "JSON lines" export_to json "file:$LAB_TMP/out.jsonl" --format json --once
check "are the lines of the files" cmp -s <(grep -v '"kind":"flow-export"' "$LAB_TMP/out.jsonl") <(cat "$FLOWS"/*.jsonl)

# TCP, read by ipfixDump from a socket that nc accepts; and killed at any time.
listen() { # name port
	lab_bg "$1.taken" d1 python3 -c '
import socket, sys
s = socket.create_server(("127.0.0.1", int(sys.argv[1])))
while True:
    c, _ = s.accept()
    while True:
        b = c.recv(65536)
        if not b:
            break
        sys.stdout.buffer.write(b)
        sys.stdout.buffer.flush()
    c.close()' "$2"
	listener=$LAB_PID
	lab_wait_for 10 in_ns d1 sh -c "ss -Hltn 'sport = :$2' | grep -q ."
}
closed() { [[ -z $(in_ns d1 ss -Htn "sport = :$1") ]]; } # port
listened() { # port: ends it once it has written all, for then it closes the connection
	lab_wait_for 30 closed "$1"
	lab_stop "$listener"
}
ip_in d1 link set lo up
listen tcp 4739
check "TCP to a collector" export_to tcp tcp:127.0.0.1:4739 --once --domain 7
listened 4739
check "whose messages' sequence numbers fit" eval 'python_ipfix <"$LAB_TMP/tcp.taken" >"$LAB_TMP/tcp.json"'
check "which got the same flows" same_flows "$LAB_TMP/tcp.json"
check "of which ipfixDump reads as many records, frames and bytes" test "$(dumped "$LAB_TMP/tcp.taken")" == "$(recorded)"
listen kill 4740
mkdir -p "$LAB_TMP/kill"
for _ in $(seq 12); do
	nsenter --net="/run/netns/$LAB-d1" "$EXPORT" --to tcp:127.0.0.1:4740 --flows "$FLOWS" --state-dir "$LAB_TMP/kill" --format json --once 2>/dev/null &
	victim=$!
	sleep "0.0$((RANDOM % 9 + 1))"
	kill -KILL "$victim" 2>/dev/null
	wait "$victim" 2>/dev/null
done
check "killed twelve times, it goes on" export_to kill tcp:127.0.0.1:4740 --format json --once
listened 4740
# A kill can cut a line in two; the repeated part is marked as such.
of_intervals() { jq -R -c 'fromjson? | select(.kind == "flow-export")' | jq -s -c 'map(.sequence) | unique | length'; }
check "and no interval is left out" test "$(of_intervals <"$LAB_TMP/kill.taken")" -eq "$(files)"
twice() { jq -R -c 'fromjson? | select(.kind == "flow-export")' | jq -s -e 'group_by(.sequence) | all(length == 1 or (.[1:] | all(.sent_again)))' >/dev/null; }
check "what is there twice says that it was sent again" twice <"$LAB_TMP/kill.taken"
exec 8<"$LAB_TMP/kill/.lock" # the folder is open to readers
flock 8
refute "two of them with one state: the second does not start" export_to kill tcp:127.0.0.1:4740 --once
exec 8<&-
check "which it says" grep -q 'another bwlimit-export' "$LAB_TMP/kill.err"
refute "nobody listens: it says so, and ends with an error" export_to nobody tcp:127.0.0.1:4799 --once
check "in words" grep -q 'cannot reach 127.0.0.1 port 4799' "$LAB_TMP/nobody.err"
refute "a device that is not there" export_to device tcp:127.0.0.1:4739 --once --device nothere
check "is named" grep -q 'cannot use device nothere' "$LAB_TMP/device.err"
unprivileged() { # as nobody, by the device lo alone
	mkdir -p "$LAB_TMP/user" && chmod 755 "$LAB_TMP" "$STATE" "$FLOWS" && chmod 644 "$FLOWS"/*.jsonl && chown 65534 "$LAB_TMP/user"
	in_ns d1 setpriv --reuid 65534 --regid 65534 --clear-groups --no-new-privs --bounding-set=-all \
		"$EXPORT" --to tcp:127.0.0.1:4741 --device lo --flows "$FLOWS" --state-dir "$LAB_TMP/user" --once 2>"$LAB_TMP/user.err"
}
listen user 4741
check "it needs no right" unprivileged
sed 's/^/# /' "$LAB_TMP/user.err"
listened 4741
check "and what came is the same" test "$(dumped "$LAB_TMP/user.taken")" == "$(recorded)"

# UDP, to nfcapd.
mkdir "$LAB_TMP/nf"
lab_bg nfcapd d1 nfcapd -p 9995 -b 127.0.0.1 -w "$LAB_TMP/nf"
nfcapd=$LAB_PID
lab_wait_for 10 in_ns d1 sh -c "ss -Hlun 'sport = :9995' | grep -q ."
check "UDP to nfcapd" export_to udp udp:127.0.0.1:9995 --once
all_read() { [[ $(in_ns d1 ss -Hlun "sport = :9995" | awk '{ print $2 }') == 0 ]]; }
lab_wait_for 10 all_read
lab_stop "$nfcapd" # it writes what it has read
# It knows neither our elements nor layer 2: bytes of IP.
by_nfdump() { nfdump -R "$LAB_TMP/nf" -o json 2>/dev/null | jq -c 'group_by([.proto, .src4_addr, .src6_addr, .dst4_addr, .dst6_addr, .src_port, .dst_port]) |
	map(.[0] as $x | [$x.proto, $x.src4_addr // $x.src6_addr // "", $x.dst4_addr // $x.dst6_addr // "", (if $x.proto == 6 or $x.proto == 17 then $x.src_port, $x.dst_port else 0, 0 end),
	(map(.in_packets) | add), (map(.in_bytes) | add)]) | sort'; }
for_nfdump() { told | jq -c 'group_by(.[5:10]) | map(.[0] as $x | [$x[5], $x[6], $x[7], (if $x[5] == 6 or $x[5] == 17 then $x[8], $x[9] else 0, 0 end),
	(map(.[10]) | add), (map(.[11] - 14 * .[10]) | add)]) | sort'; }
same_by_nfdump() {
	[[ "$(by_nfdump)" == "$(for_nfdump)" ]] || { diff <(for_nfdump | jq -c '.[]') <(by_nfdump | jq -c '.[]') | head -6 | sed 's/^/# /'; false; }
}
check "nfdump shows the same flows" same_by_nfdump
# (Its own count of sequence errors is of no use: 1.7.1 does not count records of options templates, RFC 7011 does.)

# TLS: to openssl's own server, which requires a client certificate.
pem() { # name signer subject extension: NAME.pem, NAME.key
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$LAB_TMP/$1.key" -subj "/CN=$3" -out "$LAB_TMP/$1.csr" 2>/dev/null &&
		openssl x509 -req -in "$LAB_TMP/$1.csr" -CA "$LAB_TMP/$2.pem" -CAkey "$LAB_TMP/$2.key" -CAcreateserial -days 2 -out "$LAB_TMP/$1.pem" \
			-extfile <(echo "$4") 2>/dev/null
}
for ca in ca other; do
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$LAB_TMP/$ca.key" -subj "/CN=$ca" -days 2 -out "$LAB_TMP/$ca.pem" 2>/dev/null
done
pem server ca collector 'subjectAltName=IP:127.0.0.1,DNS:localhost'
pem wrong ca collector 'subjectAltName=DNS:elsewhere.example.org'
pem client ca tray-7 'extendedKeyUsage=clientAuth'
pem stranger other tray-7 'extendedKeyUsage=clientAuth'
mkfifo "$LAB_TMP/stdin"
tls_server() { # name port certificate options…
	# It ends when its standard input ends.
	lab_bg "$1.taken" d1 sh -c 'exec openssl s_server "$@" <>"$0"' "$LAB_TMP/stdin" -accept "127.0.0.1:$2" -cert "$LAB_TMP/$3.pem" \
		-key "$LAB_TMP/$3.key" -CAfile "$LAB_TMP/ca.pem" -Verify 2 -verify_return_error -quiet "${@:4}"
	listener=$LAB_PID
	lab_wait_for 10 in_ns d1 sh -c "ss -Hltn 'sport = :$2' | grep -q ."
}
tls() { # state port certificate host options…
	export_to "$1" "tls:${4:-127.0.0.1}:$2" --ca "$LAB_TMP/ca.pem" --cert "$LAB_TMP/$3.pem" --key "$LAB_TMP/$3.key" --once "${@:5}"
}
same_dump() { [[ $(dumped "$1") == "$(recorded)" ]]; }
for version in 1_2 1_3; do
	tls_server tls$version 47${version#1_}0 server -tls$version
	check "TLS ${version/_/.} to a collector that demands a certificate" tls tls$version 47${version#1_}0 client
	sed 's/^/# /' "$LAB_TMP/tls$version.err"
	check "which got the same flows" lab_wait_for 5 same_dump "$LAB_TMP/tls$version.taken"
	refute "a certificate of another authority: it refuses us" tls stranger$version 47${version#1_}0 stranger
	check "which is told" grep -qi 'refused us\|handshake\|alert' "$LAB_TMP/stranger$version.err"
	check "and nothing counts as sent" test "$(jq .begun "$LAB_TMP/stranger$version/state.json")-$(jq .next "$LAB_TMP/stranger$version/state.json")" == 0-0
	lab_stop "$listener"
done
tls_server name 4750 wrong
refute "a collector with another name" tls name 4750 client
check "is refused" grep -q 'certificate verify failed\|mismatch' "$LAB_TMP/name.err"
lab_stop "$listener"
refute "and got nothing" test -s "$LAB_TMP/name.taken"

# The budget.
small=$(($(stat -c %s "$LAB_TMP/out.ipfix") / 2))
check "with a budget of half the bytes it ends well" export_to budget "file:$LAB_TMP/half.ipfix" --once --budget "${small}b per 1d"
check "and says what it withholds" grep -q 'records are withheld' "$LAB_TMP/budget.err"
check "no more than the budget left" test "$(stat -c %s "$LAB_TMP/half.ipfix")" -le "$small"
check "most of it was used" test "$(stat -c %s "$LAB_TMP/half.ipfix")" -gt $((small / 2))
# Another run, on the next day: with the whole budget again.
jq '.used_bytes = 0' "$LAB_TMP/budget/state.json" >"$LAB_TMP/new" && cp "$LAB_TMP/new" "$LAB_TMP/budget/state.json"
cp "$FLOWS/0000000000000001.jsonl" "$FLOWS/0000000000009999.jsonl"
export_to budget "file:$LAB_TMP/half.ipfix" --once
rm "$FLOWS/0000000000009999.jsonl"
check "sequence numbers fit over what was withheld, and over a restart" eval 'python_ipfix <"$LAB_TMP/half.ipfix" >"$LAB_TMP/half.json"'
sent() { jq -s -r '[.[] | select(has("flowId"))] | unique_by([.bwlimitIntervalSequence, .flowId]) | length' "$LAB_TMP/half.json"; }
unsent() { jq -s -r '[.[] | select(has("notSentFlowTotalCount"))] | last | .notSentFlowTotalCount' "$LAB_TMP/half.json"; }
check "what was sent and what the collector is told that was not are all records" test $(($(sent) + $(unsent))) -eq "$(recorded | cut -d' ' -f1)"
exfil() { "$CTL" exfil --size 1tb --json --policy "$LAB_TMP/contained.yaml" "$@" 2>/dev/null; }
sed 's/grant: {/contained: true, grant: {/' "$LAB_TMP/desired.yaml" >"$LAB_TMP/contained.yaml"
check "control: under this policy nothing leaves" test "$(exfil | jq -c '[.never, .records_bytes]')" == '[true,null]'
check "exfil counts records as a way out" test "$(exfil --records '1gb per 1d' | jq -c '[.never, .records_bytes, (.least_s / 86400 | round), .binding]')" == \
	'[false,1073741824,1023,"records: volume 1gb per 1d"]'
"$CTL" exfil --size 1tb --json --export-state "$LAB_TMP/file" >"$LAB_TMP/exfil" 2>/dev/null
check "and without being told, by what bwlimit-export here may send" test "$(jq .records_bytes "$LAB_TMP/exfil")" == 104857600
"$CTL" exfil --size 1tb --json --export-state "$LAB_TMP/no-such-folder" >"$LAB_TMP/exfil" 2>/dev/null
check "where there is none nothing is counted" test "$(jq .records_bytes "$LAB_TMP/exfil")" == null
mkdir "$LAB_TMP/broken" && echo '{' >"$LAB_TMP/broken/budget.json"
refute "where that cannot be read there is no answer" "$CTL" exfil --size 1tb --export-state "$LAB_TMP/broken" 2>"$LAB_TMP/broken.err"
check "but what to do" grep -q -- '--records' "$LAB_TMP/broken.err"

# Wrong use.
for wrong in '' '--to nowhere' '--to tcp:host' '--to tcp:h:0' '--to tcp:::1:5' '--to file:' '--to file:x --format xml' '--to file:x --budget 5mb' \
	'--to file:x --domain -1' '--to udp:h:1 --format json' '--to file:x more'; do
	# shellcheck disable=SC2086 # words
	"$EXPORT" $wrong 2>"$LAB_TMP/wrong"
	check "wrong use: bwlimit-export $wrong" test $? -eq 2 -a -s "$LAB_TMP/wrong"
done
done_testing
