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
# shellcheck source=../harness/live.sh
. "$here/live.sh"
# shellcheck source=../harness/documents.sh
. "$here/documents.sh"
# shellcheck source=../harness/web.sh
. "$here/web.sh"
WEB_VOLUME='1gb per 1d' web_lab --record on --latency on --management mgmt0
ln -s /etc/passwd "$LAB_TMP/page/passwd.txt"
echo secret >"$LAB_TMP/secret.txt"
kept() { # that something passed
	in_host ping -q -c 2 -i 0.1 -W 1 "$(lab_dest4 1)" >/dev/null 2>&1
	"$CTL" history d1 --state-dir "$LAB_TMP/state" --json >/dev/null 2>&1
}
check "control: and something into the history" lab_wait_for 30 kept
check "it listens, without a right but that of a reader" web_start

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
check "verify's result is there, in the end" lab_wait_for 60 gets 200 /api/v1/verify # an error is given again for a second
for d in "${names[@]}"; do
	check "$d is there" gets 200 "/api/v1/$d${query[$d]:-}"
	! can_judge || check "and is what its schema says" judge "${kind[$d]:-$d}" <"$LAB_TMP/got"
	check "and its age is told" head_has 'Age: [0-9]'
done
shows() { gets 200 "$1" && same "${@:2}"; } # path words…: a kernel's own frame between the two is counted in one
check "stats are those of bwlimit-ctl" lab_wait_for 30 shows /api/v1/stats stats
check "reasons are" lab_wait_for 30 shows /api/v1/reasons reasons
check "the policy is" lab_wait_for 30 shows /api/v1/policy policy show
check "a peer is" lab_wait_for 30 shows '/api/v1/peer?name=d1' peer show d1
get /api/v1/status
check "status says that programs are attached" jq -e '[.ports[].programs[].attached] | all' "$LAB_TMP/got"
check "and has no id of the kernel's, which are root's" jq -e '[.ports[].programs[] | .prog_id, .link_id, .tag] | all(. == null)' "$LAB_TMP/got"
check "control: root sees them" eval 'in_dpu "$LOAD" --json status | jq -e "[.ports[].programs[].prog_id] | all(. != null)"'
touch -d '-90 seconds' "/run/bwlimit/${LAB_PINS##*/}.verify"
old() { gets 200 /api/v1/verify && [[ $(sed -n 's/^Age: \([0-9]*\).*/\1/p' "$LAB_TMP/head") -ge 90 ]]; }
check "the age of verify is that of its result" lab_wait_for 10 old
check "a peer that is not there is not found" gets 404 '/api/v1/peer?name=nobody'
check "in the words of bwlimit-ctl" jq -e '.kind == "error" and (.error.text | contains("nobody"))' "$LAB_TMP/got"
check "nor is a document" gets 404 /api/v1/revoke
check "nor is a command's option let in by a value" gets 400 '/api/v1/history?peer=--state-dir'
check "nor by a key" gets 200 '/api/v1/stats?state-dir=/etc&pin-dir=/x'
check "HEAD has no body" gets 200 /api/v1/stats -I
once() { # two that ask at once get one document, unless it has just grown old
	[[ $(in_dpu curl -sS "http://$WEB_AT/api/v1/top" "http://$WEB_AT/api/v1/top" | jq -r .time | sort -u | wc -l) -eq 1 ]]
}
check "who asks again within its time gets the same one" lab_wait_for 60 once

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
in_dpu "$CTL" grant d1 volume +100mb once reason test >/dev/null 2>&1 # new maps count all of it as spent
lab_wait_for 30 lab_both
live "bwlimitd is started again"
kill $streaming 2>/dev/null

note "What goes on"
tops() { pgrep -P "$WEB_AGENT_PID" -f -- '--json top'; }
asks() { gets 200 /api/v1/top && tops; }
check "control: who asks for top has one run" lab_wait_for 30 asks # the stream's may still be ending
no_top() { ! tops; }
check "which ends when nobody asks again" lab_wait_for 30 no_top
# bwlimitd may still be ending the last one, whose place it takes.
check "control: it is there again" lab_wait_for 30 gets 200 /api/v1/top
# A stream asks each second: a run that nobody asks about for 3 s is ended. The last answer is shown until it is too old; whichever
# run there is at a look hangs from then on.
stream 'documents=top&every=1s'
hangs() {
	pkill -STOP -P "$WEB_AGENT_PID" -f -- '--json top'
	gets 503 /api/v1/top && as_error
}
as_error() { jq -e '.kind == "error" and .error.code == "ETIMEDOUT"' "$LAB_TMP/got" >/dev/null; }
check "a run that hangs is reported" lab_wait_for 300 hangs
check "as an error" as_error
kill $streaming 2>/dev/null
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

done_testing
