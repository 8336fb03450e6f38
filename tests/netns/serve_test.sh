#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# bwlimit-sync serves the tray's numbers: only to a controller's certificate, only by GET, bounded, and with
# only the right to ask bwlimitd for them. Everything that is refused has its positive control.
set -uo pipefail
# The test's own groups: a private file mounted over /etc/group, only in its own mount namespace.
if [[ ! -v SERVE_UNSHARED ]]; then
	SERVE_UNSHARED=1 exec unshare --mount --propagation private "$0" "$@"
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-serve-$$ LAB_DESTS=1
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
# shellcheck source=../harness/documents.sh
. "$here/documents.sh"
command -v curl >/dev/null || { echo '1..0 # SKIP no curl'; exit 77; }
lab_up || exit 1
SYNC=$LAB_BUILD/sync/bwlimit-sync AT=127.0.0.1:7443 pki=$LAB_TMP/pki
SYNC_GROUP=64104 USER_ID=64104
grep -vE '^bwlimit(-read|-sync)?:' /etc/group >"$LAB_TMP/group"
printf 'bwlimit-sync:x:%d:\n' $SYNC_GROUP >>"$LAB_TMP/group"
mount --bind "$LAB_TMP/group" /etc/group
chmod 711 "$LAB_TMP"
STATE=$LAB_TMP/state
export BWLIMIT_JOURNAL_DIR=$LAB_TMP/journal BWLIMIT_CTL=$CTL

authority() { # name
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$1" \
		-keyout "$pki/$1.key" -out "$pki/$1.pem" 2>/dev/null
}
issue() { # file authority subject [extension…]
	openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "$3" \
		-keyout "$pki/$1.key" -out "$pki/$1.csr" 2>/dev/null &&
		openssl x509 -req -in "$pki/$1.csr" -CA "$pki/$2.pem" -CAkey "$pki/$2.key" -CAcreateserial -days 2 \
			-out "$pki/$1.pem" -extfile <(printf '%s\n' "subjectAltName=IP:127.0.0.1" "${@:4}") 2>/dev/null
}
mkdir -p "$pki"
authority ca && authority other &&
	issue tray-1 ca /CN=tray-1 && issue tray-2 ca /CN=tray-2 && issue controller ca /CN=controller &&
	issue forged other /CN=controller && issue server ca /CN=controller extendedKeyUsage=serverAuth &&
	issue two ca /CN=tray-2/CN=controller && issue boss ca /CN=boss
chmod -R a+rX "$pki"
chown -R $USER_ID "$pki"

"$CTL" journal init >/dev/null
check "attach makes the pins" lab_attach
{
	echo "peers:"
	lab_peer d1 1 "grant: { rate: 8mbit, volume: 1gb per 1d }"
} | lab_policy_head >"$LAB_TMP/desired.yaml"
lab_bg agent dpu "$AGENT" --policy "$LAB_TMP/desired.yaml" --state-dir "$STATE" --json
in_force() { "$CTL" policy show >/dev/null 2>&1; }
check "control: a policy comes into force" lab_wait_for 30 in_force
"$CTL" heartbeat >/dev/null
kept() { "$CTL" history --state-dir "$STATE" --json >/dev/null 2>&1; }
lab_wait_for 30 kept
commands=$(find /run/bwlimit -name "$LAB.commands" -type s)

unprivileged() { # command…: of group bwlimit-sync alone
	setpriv --reuid $USER_ID --regid $SYNC_GROUP --clear-groups --inh-caps=-all --bounding-set=-all --no-new-privs "$@"
}
# shellcheck disable=SC2120 # check passes them
serve() { # option…
	[[ -z ${sync_pid:-} ]] || { kill "$sync_pid" && wait "$sync_pid"; } 2>/dev/null
	nsenter --net="/run/netns/$LAB-dpu" setpriv --reuid $USER_ID --regid $SYNC_GROUP --clear-groups --inh-caps=-all --bounding-set=-all \
		--no-new-privs "$SYNC" --servers https://127.0.0.1:1 --tray tray-1 --ca "$pki/ca.pem" \
		--cert "$pki/tray-1.pem" --key "$pki/tray-1.key" --serve $AT --commands "$commands" \
		--agent "$LAB_TMP/none" "$@" >"$LAB_TMP/sync" 2>&1 &
	sync_pid=$!
	lab_wait_for 10 listens
}
listens() { in_dpu bash -c "exec 3<>/dev/tcp/${AT/://}" 2>/dev/null; }
get() { # certificate path [curl's options]: what comes, and its status in $LAB_TMP/code
	in_dpu curl -sS --max-time 120 --cacert "$pki/ca.pem" ${1:+--cert "$pki/$1.pem" --key "$pki/$1.key"} \
		-o "$LAB_TMP/got" -w '%{http_code}' "${@:3}" "https://$AT$2" >"$LAB_TMP/code" 2>"$LAB_TMP/err"
}
gets() { # code certificate path…
	get "${@:2}"
	[[ $(cat "$LAB_TMP/code") == "$1" ]] || { note "$(cat "$LAB_TMP/code" "$LAB_TMP/err"; head -c 300 "$LAB_TMP/got")"; return 1; }
}
finish() {
	[[ -z ${sync_pid:-} ]] || kill "$sync_pid"
	lab_down
} 2>/dev/null
trap finish EXIT

check "it listens, without a right and without a store" serve
for d in top stats usage reasons history 'exfil?size=1tb'; do
	check "a controller gets $d" gets 200 controller "/v1/$d"
	kind=${d%%\?*}
	[[ $d == history ]] && kind=history-peers
	! can_judge || check "which is what its schema says" judge "$kind" <"$LAB_TMP/got"
done
lab_wait_for 20 gets 200 controller /v1/stats # the budget of requests
check "and it is what bwlimit-ctl says here" diff <(jq -S . "$LAB_TMP/got") <("$CTL" --json stats | jq -S .)
check "a status that bwlimitd has not is an error of its own kind" gets 503 controller /v1/status
mkdir "$LAB_TMP/docs"
lab_bg documents dpu "$here/fake_bwlimitd.py" "$LAB_TMP/none" "$LAB_TMP/docs" tray-1
lab_wait_for 10 test -S "$LAB_TMP/none"
chmod 666 "$LAB_TMP/none"
check "control: one that it has is served" gets 200 controller /v1/status
check "as it is in the store" grep -q '"tray":"tray-1"' "$LAB_TMP/got"
serve

note "Who is let in"
refused() { get "$@" && { note "$(cat "$LAB_TMP/code")"; return 1; }; [[ $(cat "$LAB_TMP/code") == 000 ]]; }
check "without a certificate: not through the handshake" refused '' /v1/stats
check "nor with a tray's" refused tray-2 /v1/stats
check "nor with a controller's of another authority" refused forged /v1/stats
check "nor with one that is for servers only" refused server /v1/stats
check "nor with one that has two names" refused two /v1/stats
check "nor by TLS 1.2" refused controller /v1/stats --tls-max 1.2
check "control: a controller is let in" gets 200 controller /v1/stats
check "control: it listens where another name is asked for" serve --serve-to boss
check "nor is a controller let in there" refused controller /v1/stats
check "control: who has that name is" gets 200 boss /v1/stats
serve

note "What is asked"
check "POST is refused" gets 405 controller /v1/stats -X POST
check "so is a body" gets 413 controller /v1/stats -X GET --data x
check "and HEAD" gets 405 controller /v1/stats -I
check "a command that is not in the list is none" gets 404 controller /v1/policy
check "nor is a path around it" gets 404 controller /v1/../stats --path-as-is
check "an option in a value is refused" gets 400 controller '/v1/history?peer=--state-dir'
check "and one behind a space" gets 400 controller '/v1/history?peer=d1%20--state-dir'
check "so are a path that has a control" gets 400 controller '/v1/stats%00'
check "and a header with a space before its colon" gets 400 controller /v1/stats -H 'Content-Length : 5'
check "what bwlimit-ctl refuses is its error" gets 502 controller '/v1/history?peer=nobody'
check "which says why" grep -q "no history of" "$LAB_TMP/got"
head=$(printf 'x%.0s' {1..20000})
big() { get controller /v1/stats -H "X-Large: $head"; [[ $(cat "$LAB_TMP/code") =~ ^(000|413|431|400)$ ]]; }
check "a head of 20 000 bytes is refused" big
check "control: after all that it answers" gets 200 controller /v1/stats

# Requests with bytes changed, left out and inserted, each on a separate connection, by a controller.
serve
mangled() {
	nsenter --net="/run/netns/$LAB-dpu" /usr/bin/python3 - "$pki" 300 <<'P'
import random, socket, ssl, sys
random.seed(7)
pki, n = sys.argv[1], int(sys.argv[2])
tls = ssl.create_default_context(cafile=pki + "/ca.pem")
tls.load_cert_chain(pki + "/controller.pem", pki + "/controller.key")
good = (b"GET /v1/history?peer=d1&since=5m HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\n"
        b"Cookie: a=b\r\nConnection: close\r\n\r\n")
bits = [b"\r\n", b"\0", b"%", b"%00", b"?", b"&", b"=", b"HTTP/9.9", b"\xff" * 9, b"A" * 4000, b"Content-Length: -1\r\n",
        b"Transfer-Encoding: chunked\r\n", b" ", b"POST", b"/../", b"Expect: 100-continue\r\n"]
answered = 0
for i in range(n):
    data = bytearray(good)
    for _ in range(random.randint(1, 4)):
        at = random.randrange(len(data))
        if random.random() < 0.5:
            data[at:at + random.randint(0, 8)] = random.choice(bits)
        else:
            data[at] = random.randrange(256)
    # Every other one ends early; the rest end as a request does. Who says no end would hold a place for ten seconds.
    with socket.create_connection(("127.0.0.1", 7443), 60) as raw, tls.wrap_socket(raw, server_hostname="127.0.0.1") as s:
        try:
            s.sendall(data + b"\r\n\r\n" * (i % 2))
            if i % 2 == 0:
                s.shutdown(socket.SHUT_WR)
            answered += s.recv(64).startswith(b"HTTP/1.")
        except OSError:
            pass
print(f"# {answered} of {n} were answered")
sys.exit(0 if answered > 20 else 1)
P
}
check "300 mangled requests end, answered or not" mangled
alive() { kill -0 "$sync_pid" 2>/dev/null && gets 200 controller /v1/stats; }
check "control: the same process answers after them" lab_wait_for 30 alive

note "Bounds"
serve
many() { # requests that were refused as too many: of 120 by one curl: a slow machine takes some seconds for 16
	local urls
	mapfile -t urls < <(yes "https://$AT/v1/usage" | head -n 119)
	get controller /v1/usage -w '\n%{http_code}\n' "${urls[@]}"
	grep -qx 429 "$LAB_TMP/code" || { note "none was: $(cat "$LAB_TMP/err")"; return 1; }
}
check "more than one request a second, in the end, is too many" lab_wait_for 120 many
check "control: a little later it answers" lab_wait_for 10 gets 200 controller /v1/usage
# Who has shown no certificate has places apart, and displaces only others of these, however many come.
crowd() { # 300 connections that say nothing, and others for those that are hung up on
	cat >"$LAB_TMP/crowd.py" <<-'END'
	import selectors, socket, sys
	at = sys.argv[1], int(sys.argv[2])
	several, begun = selectors.DefaultSelector(), 0
	while True:
	    while len(several.get_map()) < 300:
	        s = socket.socket()
	        s.setblocking(False)
	        s.bind(("127.0.0.2", 0))  # another address than the controller's
	        s.connect_ex(at)
	        several.register(s, selectors.EVENT_READ)
	        begun += 1
	        if begun == 300:
	            print("ready", flush=True)
	    for key, _ in several.select():
	        several.unregister(key.fileobj)
	        key.fileobj.close()
	END
	lab_bg crowd dpu /usr/bin/python3 "$LAB_TMP/crowd.py" "${AT%:*}" "${AT#*:}"
	crowd=$LAB_PID
	lab_wait_for 30 grep -q ready "$LAB_TMP/crowd"
}
ten() {
	local i n=0
	for ((i = 0; i < 10; i++)); do lab_wait_for 30 gets 200 controller /v1/usage && ((n++)); done
	[[ $n -eq 10 ]] || { note "$n of 10"; return 1; }
}
check "control: more connections that say nothing come than there are places" crowd
check "ten of ten requests of a controller are answered meanwhile" ten
lab_stop "$crowd"
live "those who said nothing have gone"

note "Read anew"
mkdir "$pki/db"
: >"$pki/db/index.txt"
echo 01 >"$pki/db/crlnumber"
printf '[ca]\ndefault_ca=x\n[x]\ndatabase=%s\ncrlnumber=%s\ndefault_md=sha256\n' "$pki/db/index.txt" "$pki/db/crlnumber" >"$pki/ca.conf"
list() { # [option of openssl ca…]: the authority's list of revoked certificates
	openssl ca -config "$pki/ca.conf" -cert "$pki/ca.pem" -keyfile "$pki/ca.key" "$@" 2>"$LAB_TMP/out" || { note "$(cat "$LAB_TMP/out")"; return 1; }
}
issue gone ca /CN=controller && issue tray-anew ca /CN=tray-anew && list -gencrl -crldays 2 -out "$pki/crl.pem" && chmod -R a+rX "$pki"
for f in pem key; do cp "$pki/tray-1.$f" "$pki/now.$f"; done
chown -R $USER_ID "$pki"
check "control: with a list of nobody it serves" serve --cert "$pki/now.pem" --key "$pki/now.key" --crl "$pki/crl.pem"
check "control: who is in no list gets in" gets 200 gone /v1/usage
anew() { kill -HUP "$sync_pid"; }
shows() { # CommonName
	{ in_dpu openssl s_client -connect $AT </dev/null 2>/dev/null; true; } | openssl x509 -noout -subject 2>/dev/null | grep_all "CN = $1\$"
}
in_dpu /usr/bin/python3 - "$pki" "${AT%:*}" "${AT#*:}" >"$LAB_TMP/open" 2>&1 <<'P' &
import socket, ssl, sys
c = ssl.create_default_context(cafile=sys.argv[1] + "/ca.pem")
c.load_cert_chain(sys.argv[1] + "/gone.pem", sys.argv[1] + "/gone.key")
s = c.wrap_socket(socket.create_connection((sys.argv[2], int(sys.argv[3]))), server_hostname=sys.argv[2])
s.sendall(b"GET /v1/nothing HTTP/1.1\r\nHost: x\r\n\r\n")
print(s.recv(65536)[:12].decode(), flush=True)
s.settimeout(60)
while s.recv(65536):
    pass
print("hung up on", flush=True)
P
opened=$!
check "control: and stays, between two requests" lab_wait_for 10 grep -q '^HTTP/1.1 404' "$LAB_TMP/open"
list -revoke "$pki/gone.pem" && list -gencrl -crldays 2 -out "$pki/crl.pem" && chmod a+r "$pki/crl.pem"
for f in pem key; do cp "$pki/tray-anew.$f" "$pki/now.$f"; done
check "control: until it is told to, it shows what it read" shows tray-1
anew
check "told to, it shows the new certificate" lab_wait_for 10 shows tray-anew
check "and says what it read: until when, and how many are revoked" \
	grep -qE '^read: certificate until 20.*Z; list of revoked certificates of 20.*Z, until 20.*Z: 1$' "$LAB_TMP/sync"
check "who was revoked meanwhile is hung up on" lab_wait_for 10 grep -q 'hung up on' "$LAB_TMP/open"
kill "$opened" 2>/dev/null
check "and not let in" refused gone /v1/usage
check "control: who was not is" lab_wait_for 10 gets 200 controller /v1/usage
echo junk >"$pki/crl.pem"
anew
check "what does not fit is reported, and what was read before stays in use" lab_wait_for 10 grep -q 'what was read before stays in use' "$LAB_TMP/sync"
check "the list, too" refused gone /v1/usage
check "control: it serves on" lab_wait_for 10 gets 200 controller /v1/usage

export CREDENTIALS_DIRECTORY=$pki
ends_soon() { # it has not ended when it is read, also where that takes long
	local s
	for s in 6 30 150; do
		list -gencrl -crlsec $s -out "$pki/crl.pem" && chmod a+r "$pki/crl.pem"
		serve --cert "$pki/now.pem" --key "$pki/now.key" --crl "$pki/crl.pem" --json && return
	done
}
check "control: a list that ends soon is taken" ends_soon
unset CREDENTIALS_DIRECTORY
anew
check "of what systemd copied at the start it says that it reads no other" lab_wait_for 10 grep -q 'pem is the copy that systemd made' "$LAB_TMP/sync"
check "that it has ended is said without being asked" lab_wait_for 200 grep -q 'list of revoked certificates (--crl) expired at' "$LAB_TMP/sync"
check "in lines of its schema" judge --lines sync <"$LAB_TMP/sync"
list -gencrl -crldays 2 -out "$pki/crl.pem" && cat "$pki/ca.pem" "$pki/other.pem" >"$pki/both.pem" && chmod a+r "$pki"/*.pem
refute "with two authorities and the list of one it does not start" \
	serve --cert "$pki/now.pem" --key "$pki/now.key" --crl "$pki/crl.pem" --ca "$pki/both.pem"
check "it says whose is missing, and what to do" eval \
	'grep -q "no list of revoked certificates of the authority .CN=other" "$LAB_TMP/sync" && grep -q "a list of each authority" "$LAB_TMP/sync"'
: >"$pki/other.txt"
openssl ca -config <(sed "s,index.txt,../other.txt," "$pki/ca.conf") -cert "$pki/other.pem" -keyfile "$pki/other.key" -gencrl -crldays 2 2>/dev/null >>"$pki/crl.pem"
check "control: with the lists of both it does" serve --cert "$pki/now.pem" --key "$pki/now.key" --crl "$pki/crl.pem" --ca "$pki/both.pem"
check "and serves" gets 200 controller /v1/usage

note "What a thief has who has the process"
ask() { # word…: what bwlimitd says to group bwlimit-sync
	unprivileged /usr/bin/python3 - "$commands" "$@" <<'P'
import json, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(json.dumps({"argv": ["--json"] + sys.argv[2:]}).encode() + b"\n")
data = b""
while part := s.recv(65536):
    data += part
line, _, rest = data.partition(b"\n")
print(rest.decode())
sys.exit(json.loads(line).get("exit", 1))
P
}
quietly() { ask "$@" >/dev/null; }
check "control: stats" quietly stats
for w in "policy show" "peer list" "journal show" "revoke d1" "revoke --all" "grant d1 rate 1gbit" stop "policy check -" \
	"explain 10.7.0.2 10.101.0.9 tcp 443" "history --state-dir /etc" "audit show"; do
	# shellcheck disable=SC2086 # words
	refute "not: $w" quietly $w
done
not_him() { unprivileged /usr/bin/python3 -c 'import socket, sys
s = socket.socket(socket.AF_UNIX)
try: s.connect(sys.argv[1])
except PermissionError: sys.exit(0)
s.sendall(b"{}\n"); sys.exit("by" in s.recv(4096).decode())' "$1"; }
check "nor the events" not_him "${commands%.commands}.events"
refute "nor orders" unprivileged test -w "${commands%.commands}.sock"
done_testing
