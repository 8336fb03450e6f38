#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# bwlimit-web serves what bwlimit-ctl prints, to permitted users, by GET only, and can reach only its own askers.
# Everything that is refused has its positive control.
set -uo pipefail
# The test's own groups: a private file mounted over /etc/group, only in its own mount namespace.
if [[ ! -v WEB_UNSHARED ]]; then
	WEB_UNSHARED=1 exec unshare --mount --propagation private "$0" "$@"
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-web-$$ LAB_DESTS=1 LAB_MGMT=1
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/documents.sh
. "$here/documents.sh"
# shellcheck source=../harness/web.sh
. "$here/web.sh"
command -v curl >/dev/null || { echo '1..0 # SKIP no curl'; exit 77; }
lab_up || exit 1
export BWLIMIT_JOURNAL_DIR=$LAB_TMP/journal BWLIMIT_AUDIT_DIR=$LAB_TMP/audit
web_groups
web_page
ln -s /etc/passwd "$LAB_TMP/page/passwd.txt"
echo secret >"$LAB_TMP/secret.txt"

"$CTL" journal init >/dev/null
"$CTL" audit init >/dev/null
check "attach makes the pins" in_dpu "$LOAD" attach --record on --latency on --host hpf0 --uplink p0 --management mgmt0
{
	echo "peers:"
	lab_peer d1 1 "grant: { rate: 8mbit, volume: 1gb per 1d }"
} | lab_policy_head >"$LAB_TMP/policy.yaml"
check "control: a policy comes into force" web_agent "$LAB_TMP/policy.yaml"
kept() { # that something passed
	in_host ping -q -c 2 -i 0.1 -W 1 "$(lab_dest4 1)" >/dev/null 2>&1
	"$CTL" history d1 --state-dir "$LAB_TMP/state" --json >/dev/null 2>&1
}
check "control: and something into the history" lab_wait_for 30 kept
check "it listens, without a right but that of a reader" web_start

TLS=()
get() { # path [curl's options]: what comes, its head, and its status in $LAB_TMP/code
	in_dpu curl -sS --max-time 30 --path-as-is -D "$LAB_TMP/head" -o "$LAB_TMP/got" -w '%{http_code}' "${TLS[@]}" \
		"${@:2}" "http${TLS:+s}://$WEB_AT$1" >"$LAB_TMP/code" 2>"$LAB_TMP/err"
}
gets() { # code path…
	get "${@:2}"
	[[ $(cat "$LAB_TMP/code") == "$1" ]] || { note "$(cat "$LAB_TMP/code" "$LAB_TMP/err"; head -c 300 "$LAB_TMP/got")"; return 1; }
}
head_has() { grep -qi -- "^$1" "$LAB_TMP/head" || { note "$(cat "$LAB_TMP/head")"; return 1; }; }
same() { # words of bwlimit-ctl…: is what came what it says?
	diff <(jq -S 'del(.. | .debt_bytes?, .expires_in_s?)' "$LAB_TMP/got") \
		<("$CTL" --json "$@" | jq -S 'del(.. | .debt_bytes?, .expires_in_s?)') >"$LAB_TMP/out" || { note "$(head -3 "$LAB_TMP/out")"; return 1; }
}

note "Documents"
check "the API says what there is" gets 200 /api/v1/
! can_judge || check "as its schema says" judge api <"$LAB_TMP/got"
check "of a node" jq -e '.kind == "api" and .version == 1 and .scope == "node"' "$LAB_TMP/got"
mapfile -t names < <(jq -r '.documents[]' "$LAB_TMP/got")
check "a dozen documents and more" [ ${#names[@]} -gt 12 ]
declare -A query=([peer]='?name=d1' [exfil]='?size=1tb' [history]='?peer=d1&since=5m'
	[explain]='?source=10.7.0.2&destination=10.101.0.9&protocol=tcp&destination_port=443')
check "before anybody verified there is no result" gets 404 /api/v1/verify
check "control: root verifies" eval 'in_dpu "$LOAD" verify --management mgmt0 --json >"$LAB_TMP/verified"; [[ -s $LAB_TMP/verified ]]'
declare -A kind=([log]=log-lines [audit]=audit-checkpoint)
sleep 1 # so long an error is given again
for d in "${names[@]}"; do
	check "$d is there" gets 200 "/api/v1/$d${query[$d]:-}"
	! can_judge || check "and is what its schema says" judge "${kind[$d]:-$d}" <"$LAB_TMP/got"
	check "and its age is told" head_has 'Age: [0-9]'
done
get '/api/v1/stats' && check "stats are those of bwlimit-ctl" same stats
get '/api/v1/reasons' && check "reasons are" same reasons
get '/api/v1/policy' && check "the policy is" same policy show
get '/api/v1/peer?name=d1' && check "a peer is" same peer show d1
get /api/v1/status
check "status says that programs are attached" jq -e '[.ports[].programs[].attached] | all' "$LAB_TMP/got"
check "and has no id of the kernel's, which are root's" jq -e '[.ports[].programs[] | .prog_id, .link_id, .tag] | all(. == null)' "$LAB_TMP/got"
check "control: root sees them" sh -c "'$LOAD' --json status | jq -e '[.ports[].programs[].prog_id] | all(. != null)'"
touch -d '-90 seconds' "/run/bwlimit/${LAB_PINS##*/}.verify"
old() { gets 200 /api/v1/verify && [[ $(sed -n 's/^Age: \([0-9]*\).*/\1/p' "$LAB_TMP/head") -ge 90 ]]; }
check "the age of verify is that of its result" lab_wait_for 10 old
check "a peer that is not there is not found" gets 404 '/api/v1/peer?name=nobody'
check "in the words of bwlimit-ctl" jq -e '.kind == "error" and (.error.text | contains("nobody"))' "$LAB_TMP/got"
check "nor is a document" gets 404 /api/v1/revoke
check "nor is a command's option let in by a value" gets 400 '/api/v1/history?peer=--state-dir'
check "nor by a key" gets 200 '/api/v1/stats?state-dir=/etc&pin-dir=/x'
check "HEAD has no body" gets 200 /api/v1/stats -I
once() { # two that ask at once get one document
	in_dpu curl -sS "http://$WEB_AT/api/v1/top" "http://$WEB_AT/api/v1/top" | jq -r .time | sort -u | wc -l
}
check "who asks again within its time gets the same one" [ "$(once)" -eq 1 ]

note "Metrics"
check "Prometheus' text" gets 200 /metrics
check "by its type" head_has 'Content-Type: text/plain; version=0.0.4'
if command -v promtool >/dev/null; then
	check "promtool has nothing to say of it" sh -c "promtool check metrics <'$LAB_TMP/got' 2>&1 | grep . && exit 1 || exit 0"
else
	skip "promtool has nothing to say of it" "no promtool"
fi
check "OpenMetrics to who prefers it" gets 200 /metrics -H 'Accept: application/openmetrics-text; version=1.0.0,text/plain;version=0.0.4;q=0.5'
check "by its type" head_has 'Content-Type: application/openmetrics-text; version=1.0.0'
refute "without a certificate none ends" grep -q bwlimit_web_certificate "$LAB_TMP/got"
if /usr/bin/python3 -c 'import prometheus_client.openmetrics' 2>/dev/null; then
	check "which the other side's parser takes" /usr/bin/python3 - "$LAB_TMP/got" <<'P'
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as families
names = [f.name for f in families(open(sys.argv[1]).read())]
sys.exit("bwlimit_peer_passed_bytes" not in names)
P
fi

note "The page"
check "the page is there" gets 200 /
csp="default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
for h in "Content-Security-Policy: $csp.\\?\$" 'X-Content-Type-Options: nosniff' \
	'Referrer-Policy: no-referrer' 'Cross-Origin-Resource-Policy: same-origin' 'X-Frame-Options: DENY'; do
	check "with ${h%%:*}" head_has "$h"
done
refute "and no cookie" head_has Set-Cookie
refute "nor a word that lets other pages in" head_has Access-Control
check "its script is kept for ever" eval 'gets 200 /assets/lab-1.js && head_has "Cache-Control:.*immutable"'
for p in /assets/../index.html /../secret.txt /..%2fsecret.txt /assets/%2e%2e/%2e%2e/secret.txt //secret.txt /passwd.txt \
	/assets/ /assets /.htaccess /assets/lab-1.js/; do
	check "no file by $p" gets 404 "$p"
done
check "POST is refused" gets 405 /api/v1/stats -X POST
check "so is OPTIONS" gets 405 /api/v1/stats -X OPTIONS
check "and a body" gets 413 /api/v1/stats -X GET --data x
check "a name that was pointed here is refused" gets 421 /api/v1/stats -H 'Host: evil.example:9650'
check "also on another port" gets 421 /api/v1/stats -H 'Host: 127.0.0.1:80'
check "control: localhost is not" gets 200 /api/v1/stats -H 'Host: localhost:9650'
check "a page elsewhere may not have it loaded" gets 403 /api/v1/stats -H 'Sec-Fetch-Site: cross-site' -H 'Sec-Fetch-Mode: no-cors'
check "control: a link to it may be followed" gets 200 / -H 'Sec-Fetch-Site: cross-site' -H 'Sec-Fetch-Mode: navigate'

note "Events"
count() { grep -c "^event: $1\$" "$LAB_TMP/events"; }
stream() { # query: in the background; not by in_dpu, of which kill would end the shell alone
	: >"$LAB_TMP/events"
	nsenter --net="/run/netns/$LAB-dpu" timeout 300 curl -sSN "http://$WEB_AT/api/v1/stream?$1" >"$LAB_TMP/events" 2>/dev/null &
	streaming=$!
}
stream 'documents=top,lease,peers&every=1s'
both_come() { [[ $(count top) -ge 2 && $(count peers) -ge 1 ]]; }
check "top comes again and again" lab_wait_for 20 both_come
kill "$streaming"
wait "$streaming" 2>/dev/null
check "what has not changed comes once" [ "$(count peers)" -eq 1 ]
data() { grep -A1 "^event: $1\$" "$LAB_TMP/events" | sed -n 's/^data: //p' | tail -1; }
check "an event has the document and its age" eval 'data top | jq -e ".age_ms >= 0 and .document.kind == \"top\""'
! can_judge || check "which is what its schema says" judge top < <(data top | jq .document)
check "a stream of nothing is refused" gets 400 '/api/v1/stream'
check "of what is not there, too" gets 404 '/api/v1/stream?documents=revoke'
check "and one that wants to be told all the time" gets 400 '/api/v1/stream?documents=top&every=1ms'
stream 'documents=top,usage&every=1s'
lab_wait_for 10 eval '[[ $(count top) -ge 2 ]]'
lab_stop "$WEB_AGENT_PID"
told() { [[ $(count error) -ge 1 ]]; }
check "when bwlimitd dies a stream says so" lab_wait_for 15 told
check "and which document that is of" eval 'data error | jq -e ".name and .document.kind == \"error\""'
before=$(count top)
check "control: bwlimitd is back" web_agent "$LAB_TMP/policy.yaml"
again() { [[ $(count top) -gt $before ]]; }
check "and the same stream goes on" lab_wait_for 20 again
kill $streaming 2>/dev/null

note "What goes on"
tops() { pgrep -P "$WEB_AGENT_PID" -f -- '--json top'; }
asks() { gets 200 /api/v1/top && tops; }
check "control: who asks for top has one run" lab_wait_for 30 asks # the stream's may still be ending
no_top() { ! tops; }
check "which ends when nobody asks again" lab_wait_for 30 no_top
# bwlimitd may still be ending the last one, whose place it takes.
check "control: it is there again" lab_wait_for 30 gets 200 /api/v1/top
# Its last answer is shown until it is too old. A run that nobody asks about for 3 s is ended: it is asked without a pause.
hangs() {
	local end=$((SECONDS + 15))
	gets 200 /api/v1/top
	tops | xargs -r kill -STOP
	until gets 503 /api/v1/top; do [[ $SECONDS -lt $end ]] || return 1; done
	as_error # and not that it was ended, since nobody asked for 3 s
}
as_error() { jq -e '.kind == "error" and .error.code == "ETIMEDOUT"' "$LAB_TMP/got" >/dev/null; }
check "a run that hangs is reported" lab_wait_for 90 hangs
check "as an error" as_error
check "and another one is asked" lab_wait_for 30 gets 200 /api/v1/top

note "What a thief has who has the process"
check "it runs behind a list of system calls" grep -q '^Seccomp:	2' "/proc/$WEB_PID/status"
check "with no right" grep -q '^CapEff:	0000000000000000' "/proc/$WEB_PID/status"
check "and no way to one" grep -q '^NoNewPrivs:	1' "/proc/$WEB_PID/status"
strangers() { # descriptors that are no socket of HTTP, no pair, no wait; ctest lets its log through to what it runs
	find "/proc/$WEB_PID/fd" -printf '%l\n' | grep -vE '^(socket|anon_inode|pipe):|^/dev/null$|web(\.err)?$|LastTest\.log\.tmp( \(deleted\))?$|^$'
}
refute "it has no file open" strangers
unix() { # process: UNIX sockets of its that have a name, or whose other end has one
	local i all
	all=$(in_dpu ss -Hxa)
	for i in $(find "/proc/$1/fd" -printf '%l\n' | sed -n 's/^socket:\[\(.*\)\]/\1/p'); do
		awk -v i="$i" '($6 == i || $8 == i) && $5 != "*"' <<<"$all"
	done | grep_all .
}
check "control: bwlimitd's are found" unix "$WEB_AGENT_PID"
refute "nor a socket of another unit's" unix "$WEB_PID"

note "IPv6's loopback"
WEB_AT='[::1]:9650'
check "it is listened at, without certificates" web_start
check "who names it gets documents" gets 200 /api/v1/stats
check "and who says localhost" gets 200 /api/v1/stats -H 'Host: localhost:9650'
check "another address of this machine is refused" gets 421 /api/v1/stats -H 'Host: [::2]:9650'
check "so is the same one on another port" gets 421 /api/v1/stats -H 'Host: [::1]:80'
check "IPv4's is not listened at then" eval '! WEB_AT=127.0.0.1:9650 web_listens'

note "Beyond loopback"
openssl_new() { openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "$@" 2>/dev/null; }
pki=$LAB_TMP/pki
mkdir -p "$pki"
for a in ca other; do openssl_new -x509 -days 2 -subj "/CN=$a" -keyout "$pki/$a.key" -out "$pki/$a.pem"; done
issue() { # file authority subject [extension…]
	openssl_new -subj "$3" -keyout "$pki/$1.key" -out "$pki/$1.csr" &&
		openssl x509 -req -in "$pki/$1.csr" -CA "$pki/$2.pem" -CAkey "$pki/$2.key" -CAcreateserial -days 2 \
			-out "$pki/$1.pem" -extfile <(printf '%s\n' "subjectAltName=IP:10.250.0.1" "${@:4}") 2>/dev/null
}
issue web ca /CN=tray-7 && issue people ca /CN=people && issue tray ca /CN=tray-2 && issue forged other /CN=people &&
	issue server ca /CN=people extendedKeyUsage=serverAuth && issue two ca /CN=tray-2/CN=people
chmod -R a+rX "$pki"
CERTS=(--ca "$pki/ca.pem" --cert "$pki/web.pem" --key "$pki/web.key")
refused() { # words that it must say, option…: it does not start
	timeout 40 nsenter --net="/run/netns/$LAB-dpu" setpriv --reuid $WEB_USER --regid $WEB_USER --groups $WEB_READERS \
		--inh-caps=-all --bounding-set=-all --no-new-privs "$WEB" --page none \
		--commands "/run/bwlimit/${LAB_PINS##*/}.commands" "${@:2}" >"$LAB_TMP/out" 2>&1
	[[ $? -ne 124 ]] && grep -q "$1" "$LAB_TMP/out" || { note "$(cat "$LAB_TMP/out")"; return 1; }
}
check "an address that is not loopback needs certificates" refused "certificates on both sides" --listen 10.250.0.1:9650
check "every address at once is refused" refused "every address" --listen 0.0.0.0:9650 "${CERTS[@]}"
check "so is an uplink's" refused "not a management device" --listen 192.0.2.1:9650 "${CERTS[@]}"
check "and a host port's" refused "not a management device" --listen 10.7.0.1:9650 "${CERTS[@]}"
for fleet in 10.250.0.1 192.0.2.1 '[fd00:7::1]'; do
	check "of a fleet, too, $fleet needs certificates" refused "certificates on both sides" --fleet --listen "$fleet:9650"
done
for every in 0.0.0.0 '[::]' '[::ffff:0.0.0.0]'; do
	check "and $every is refused" refused "every address" --fleet --listen "$every:9650" "${CERTS[@]}"
done
WEB_AT=10.250.0.1:9650
check "control: a management device's is taken" web_start "${CERTS[@]}"
as() { TLS=(--cacert "$pki/ca.pem" ${1:+--cert "$pki/$1.pem" --key "$pki/$1.key"}); }
as people
check "who is let in gets documents" gets 200 /api/v1/stats
check "and is told to come by TLS alone" head_has 'Strict-Transport-Security: max-age='
ends() { ends_as web "$@"; }
ends_as() { # certificate [curl's options]: its end is told in metrics, behind bwlimit-ctl's own
	local end=bwlimit_web_certificate_expiry_timestamp_seconds file=$pki/$1.pem
	gets 200 /metrics "${@:2}" && grep -qx "$end $(date -d "$(openssl x509 -noout -enddate -in "$file" | cut -d = -f 2)" +%s)" "$LAB_TMP/got" &&
		grep -q '^bwlimit_peer_passed_bytes' "$LAB_TMP/got"
}
check "metrics say when this certificate ends" ends
! command -v promtool >/dev/null || check "as promtool likes it" sh -c "promtool check metrics <'$LAB_TMP/got' 2>&1 | grep . && exit 1 || exit 0"
check "in OpenMetrics, too" ends -H 'Accept: application/openmetrics-text; version=1.0.0'
check "which ends as it has to" eval '[[ $(tail -n 1 "$LAB_TMP/got") == "# EOF" ]]'
no_way_in() { as "$1"; get /api/v1/stats "${@:2}" && { note "$(cat "$LAB_TMP/code")"; return 1; }; [[ $(cat "$LAB_TMP/code") == 000 ]]; }
check "without a certificate: not through the handshake" no_way_in ''
check "nor with another name's" no_way_in tray
check "nor with one of another authority" no_way_in forged
check "nor with one that is for servers only" no_way_in server
check "nor with one that has two names" no_way_in two
check "nor by TLS 1.2" no_way_in people --tls-max 1.2
plain() { [[ $(in_dpu curl -s --max-time 5 -o /dev/null -w '%{http_code}' "http://$WEB_AT/") == 000 ]]; }
check "nor without TLS" plain
as people
check "control: he is let in" gets 200 /api/v1/stats
events_by_tls() { in_dpu timeout 60 curl -sSN "${TLS[@]}" "https://$WEB_AT/api/v1/stream?documents=top&every=1s" 2>/dev/null | grep -m 2 -c '^event: top'; }
check "and gets events" [ "$(events_by_tls)" -eq 2 ]

note "Read anew"
mkdir "$pki/db"
: >"$pki/db/index.txt"
echo 01 >"$pki/db/crlnumber"
printf '[ca]\ndefault_ca=x\n[x]\ndatabase=%s\ncrlnumber=%s\ndefault_md=sha256\n' "$pki/db/index.txt" "$pki/db/crlnumber" >"$pki/ca.conf"
sign_list() { # file authority [option of openssl ca…]: its list of revoked certificates
	openssl ca -config "$pki/ca.conf" -cert "$pki/$2.pem" -keyfile "$pki/$2.key" -gencrl -out "$pki/$1.pem" \
		"${@:3}" 2>"$LAB_TMP/out" || { note "$(cat "$LAB_TMP/out")"; return 1; }
	chmod a+r "$pki/$1.pem"
}
issue gone ca /CN=people && issue web2 ca /CN=tray-7-anew && chmod -R a+rX "$pki"
cp "$pki/ca.pem" "$pki/now-ca.pem"
cp "$pki/web.pem" "$pki/now.pem"
cp "$pki/web.key" "$pki/now.key"
sign_list crl ca -crldays 2
check "control: with a list of nobody it starts" web_start --ca "$pki/now-ca.pem" --cert "$pki/now.pem" --key "$pki/now.key" --crl "$pki/crl.pem"
as people
check "who is not in the list is let in" gets 200 /api/v1/stats
as gone
check "control: so is who is to be revoked" gets 200 /api/v1/stats
anew() { # words that it says: told to, it has read its files anew, or not
	local n
	n=$(grep -c "$1" "$LAB_TMP/web.err")
	kill -HUP "$WEB_PID" && lab_wait_for 20 more_than "$n" "$1" || { note "$(tail -n 3 "$LAB_TMP/web.err")"; return 1; }
}
more_than() { [[ $(grep -c "$2" "$LAB_TMP/web.err") -gt $1 ]]; }
flows() { # certificate: a stream of events that goes on, in $LAB_TMP/$1.events
	nsenter --net="/run/netns/$LAB-dpu" timeout 600 curl -sSN --cacert "$pki/ca.pem" --cert "$pki/$1.pem" --key "$pki/$1.key" \
		"https://$WEB_AT/api/v1/stream?documents=top&every=1s" >"$LAB_TMP/$1.events" 2>/dev/null &
	lab_wait_for 20 grep -q '^event: top' "$LAB_TMP/$1.events"
}
tops_of() { grep -c '^event: top' "$LAB_TMP/$1.events"; }
flows people
stays=$!
flows gone
goes=$!
check "control: both have a stream" [ "$(tops_of people)" -ge 1 -a "$(tops_of gone)" -ge 1 ]
openssl ca -config "$pki/ca.conf" -cert "$pki/ca.pem" -keyfile "$pki/ca.key" -revoke "$pki/gone.pem" 2>/dev/null
sign_list crl ca -crldays 2
cp "$pki/web2.pem" "$pki/now.pem"
cp "$pki/web2.key" "$pki/now.key"
check "told to by SIGHUP it reads its files anew, and hangs up on one" anew 'reread .*; clients disconnected: 1$'
check "who is revoked is not let in any more" no_way_in gone
as people
check "who is not, is" gets 200 /api/v1/stats
shown() { in_dpu openssl s_client -connect "$WEB_AT" -cert "$pki/people.pem" -key "$pki/people.key" -CAfile "$pki/ca.pem" </dev/null 2>/dev/null | grep -o "CN = $1\$" | head -n 1; }
check "it shows its new certificate" [ -n "$(shown tray-7-anew)" ]
refute "and the old one to nobody" [ -n "$(shown tray-7)" ]
check "metrics say when the new one ends" ends_as now
ended() { ! kill -0 "$goes" 2>/dev/null; }
check "the stream of who is revoked has ended" lab_wait_for 20 ended
was=$(tops_of people)
goes_on() { [[ $(tops_of people) -gt $((was + 1)) ]]; }
check "the one of who is not goes on" lab_wait_for 20 goes_on
cp "$pki/web.key" "$pki/now.key"
check "a key that does not fit is told, and not taken" anew 'what was read before stays in use'
check "the one before is shown" [ -n "$(shown tray-7-anew)" ]
cp "$pki/web2.key" "$pki/now.key"
sign_list crl other -crldays 2
check "nor is a list of another authority" anew 'list of revoked certificates is not signed by .*what was read before stays in use'
check "so who is revoked stays so" no_way_in gone
rm "$pki/crl.pem"
check "nor is one that is not there" anew "cannot read '.*crl.pem'.*what was read before stays in use"
check "so who is revoked stays so" no_way_in gone
cp "$pki/other.pem" "$pki/now-ca.pem"
sign_list crl other -crldays 2
check "another authority is taken, and hangs up on who is none of its" anew 'reread .*; clients disconnected: [1-9]'
check "who was let in by the old one is not any more" no_way_in people
as forged
TLS=(--cacert "$pki/ca.pem" "${TLS[@]:2}")
check "who has a certificate of the new one is" gets 200 /api/v1/stats
sign_list crl other -crlsec 1
too_old() { [[ $(date +%s) -gt $(date -d "$(openssl crl -noout -nextupdate -in "$pki/crl.pem" | cut -d = -f 2)" +%s) ]]; }
check "control: a list gets too old" lab_wait_for 20 too_old
check "which is not taken then" anew 'has expired; what was read before stays in use'
kill "$stays" 2>/dev/null
check "it is the same process all the time" kill -0 "$WEB_PID"
check "without a certificate SIGHUP ends nothing" eval 'WEB_AT=127.0.0.1:9650; web_start && anew "no certificate to reread"'
WEB_AT=10.250.0.1:9650
web_start "${CERTS[@]}" --serve-to boss
check "where another name is asked for he is not" no_way_in people
done_testing
