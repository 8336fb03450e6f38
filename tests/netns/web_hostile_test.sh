#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Clients that are slow, send too much or send nothing keep nobody out of bwlimit-web: while a thousand of them try, requests
# are answered; its memory stays bounded, and bwlimitd and the limits are not affected.
set -uo pipefail
if [[ ! -v WEB_UNSHARED ]]; then
	WEB_UNSHARED=1 exec unshare --mount --propagation private "$0" "$@"
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-webh-$$ LAB_DESTS=1
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/live.sh"
# shellcheck source=../harness/web.sh
. "$here/web.sh"
ulimit -n 4096
web_lab
check "it listens" web_start

S=http
CURL=()
# shellcheck disable=SC2120 # check passes them
answers() { [[ $(in_dpu curl -sS --max-time 120 "${CURL[@]}" -o /dev/null -w '%{http_code}' "$S://$WEB_AT${1:-/api/v1/usage}" 2>"$LAB_TMP/err") == 200 ]]; }
same_process() { [[ -e /proc/$WEB_PID/stat ]] && answers; }
bounded() { # resident bytes of the three processes together
	local kb
	# shellcheck disable=SC2046 # pids
	kb=$(awk '/^VmRSS/ { s += $2 } END { print s }' /proc/"$WEB_PID"/status $(pgrep -P "$WEB_PID" | sed 's|.*|/proc/&/status|'))
	note "$kb kB"
	[[ $kb -lt 131072 ]]
}
# A crowd in the background: prints "ready" when all have connected, and then stays; USR1: prints how many are still connected.
crowd() { # name number what-they-send…
	lab_bg "$1" dpu /usr/bin/python3 "$here/web_crowd.py" "${WEB_AT%:*}" "${WEB_AT##*:}" "${@:2}"
	CROWD=$LAB_PID
	lab_wait_for 60 grep -q ready "$LAB_TMP/$1"
}
connected() { sed -n 's/^ready //p' "$LAB_TMP/$1"; }

check "control: it answers" answers
note "A thousand slow ones"
check "a thousand connect and say nothing" crowd silent 1000 ''
check "control: they did" [ "$(connected silent)" -eq 1000 ]
check "who asks is answered" answers
check "again and again" eval 'for i in 1 2 3 4 5; do answers || exit 1; done'
check "also by a stream" eval '[[ $(in_dpu timeout 60 curl -sSN "http://$WEB_AT/api/v1/stream?documents=top&every=1s" 2>/dev/null | grep -m 2 -c "^event: top") -eq 2 ]]'
lab_stop "$CROWD"
check "a thousand say half a head" crowd half 1000 'GET /api/v1/stats HTTP/1.1\r\nHost: 127.0.0.1:9650\r\nX-Slow: '
check "who asks is answered" answers
check "and one of them more each second: he has ten in all" crowd drip 100 'GET / HTTP/1.1\r\nHost: 127.0.0.1:9650\r\n' drip
check "who asks is answered even so" answers
gone() { grep -q '^left 0$' "$LAB_TMP/drip"; }
check "until all of them are hung up on" lab_wait_for 40 gone
lab_stop "$CROWD"
check "its memory is bounded" bounded

note "Those who do not read"
check "a hundred streams are asked for, and nobody reads" crowd deaf 100 'GET /api/v1/stream?documents=top,policy,usage&every=1s HTTP/1.1\r\nHost: 127.0.0.1:9650\r\n\r\n'
check "who asks is answered" answers
check "and another gets a stream" eval '[[ $(in_dpu timeout 60 curl -sSN --interface 127.0.0.2 "http://$WEB_AT/api/v1/stream?documents=usage" 2>/dev/null | grep -m 1 -c "^event: usage") -eq 1 ]]'
check "answers that nobody takes" crowd greedy 60 "$(printf 'GET /metrics HTTP/1.1\\r\\nHost: 127.0.0.1:9650\\r\\n\\r\\n%.0s' {1..50})"
check "hold up nobody" lab_wait_for 10 answers
check "its memory is bounded" bounded
lab_stop "$CROWD"

note "Too much"
big=$(printf 'x%.0s' {1..40000})
refuses() { # codes, curl's options: one of them, or it hangs up; who is never answered is not refused
	local code
	code=$(in_dpu curl -s --max-time 120 -o /dev/null -w '%{http_code}' "${@:2}")
	[[ $? -ne 28 && $code =~ ^(000|$1)$ ]]
}
too_much() { refuses '400|413|431' -H "X-Large: $big" "http://$WEB_AT/api/v1/stats"; }
check "a head of 40 000 bytes is refused" too_much
long_path() { refuses '400|404|414|431' "http://$WEB_AT/$big"; }
check "so is a path of that length" long_path
many() { # different questions, each a command of its own: those that find no place are told so
	local i
	for ((i = 0; i < 300; i++)); do echo "url = \"http://$WEB_AT/api/v1/history?peer=x$i\""; done >"$LAB_TMP/urls"
	in_dpu curl -sS --max-time 60 -Z --parallel-max 100 -o /dev/null -K "$LAB_TMP/urls" >/dev/null 2>&1
	true
}
many &
asking=$!
# From another address: of one that has more than 64 connections, any may have to go.
elsewhere() { local CURL=(--interface 127.0.0.2); answers "$@"; }
check "while 300 different questions are asked, what is known already is answered" elsewhere /api/v1/
check "and the page is" elsewhere /
wait $asking
check "and then the rest" lab_wait_for 60 answers
mangled() { # requests with bytes changed, left out, put in
	nsenter --net="/run/netns/$LAB-dpu" /usr/bin/python3 "$here/web_mangled.py" "${WEB_AT%:*}" "${WEB_AT##*:}" 1500
}
check "1500 mangled requests end, answered or not" mangled
check "the same process answers after them" same_process

note "A storm of handshakes"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=people" -addext subjectAltName=IP:127.0.0.1 \
	-keyout "$LAB_TMP/people.key" -out "$LAB_TMP/people.pem" 2>/dev/null
chmod 644 "$LAB_TMP"/people.*
S=https CURL=(--cacert "$LAB_TMP/people.pem" --cert "$LAB_TMP/people.pem" --key "$LAB_TMP/people.key")
check "with TLS it listens" web_start --ca "$LAB_TMP/people.pem" --cert "$LAB_TMP/people.pem" --key "$LAB_TMP/people.key"
check "control: it answers" answers
check "600 begin a handshake and leave it" crowd tls 600 tls-hello
check "who asks is answered" answers
check "a thousand say nothing in TLS" crowd tls-silent 1000 ''
check "who asks is answered even so" answers
storm() { # handshakes without a certificate, one after the other, until killed
	while :; do in_dpu curl -sk --max-time 5 -o /dev/null "https://$WEB_AT/"; done
}
storms=()
for _ in 1 2 3 4; do storm & storms+=($!); done
check "while strangers shake hands all the time" eval 'for i in 1 2 3; do answers || exit 1; done'
kill "${storms[@]}" 2>/dev/null
wait "${storms[@]}" 2>/dev/null
check "the same process answers after that" same_process
check "its memory is bounded" bounded

note "The limits"
check "bwlimitd runs" kill -0 "$WEB_AGENT_PID"
check "the policy is in force, and nothing was tampered with" eval 'jq -e ".stopped == false and .policy_in_force" < <("$LOAD" --json status)'
passes() { in_host ping -q -c 3 -i 0.1 -W 1 "$(lab_dest4 1)" >/dev/null; }
check "what is granted passes" passes
live "the storms at the page have ended"
done_testing
