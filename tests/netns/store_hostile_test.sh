#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A server that answers as no etcd does: each call soon ends with an error that gives the reason, within
# its memory limit. tests/harness/h2_server.py is the server; `status` is the call.
# live: a client of the store alone is asked: no DPU is here
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${BWL_BUILD:-${here%/*/*}/build/release}
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
/usr/bin/python3 -c 'import h2' 2>/dev/null || { echo '1..0 # SKIP no python3-h2'; exit 77; }
tmp=$(mktemp -d)
server=
trap '[[ -z $server ]] || kill "$server"; rm -rf "$tmp"' EXIT

cert() { # authority name
	openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$2" \
		-keyout "$tmp/$2.key" -out "$tmp/$2.csr" 2>/dev/null
	openssl x509 -req -in "$tmp/$2.csr" -CA "$tmp/$1.pem" -CAkey "$tmp/$1.key" -CAcreateserial -days 2 \
		-out "$tmp/$2.pem" -extfile <(echo "subjectAltName=${3:-IP:127.0.0.1}") 2>/dev/null
}
for ca in ca other; do
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$ca" \
		-keyout "$tmp/$ca.key" -out "$tmp/$ca.pem" 2>/dev/null
done
cert ca server && cert ca elsewhere DNS:elsewhere.example && cert other stranger && cert ca client

serve() { # mode [certificate]: until it listens; sets $port
	[[ -z $server ]] || { kill "$server" && wait "$server"; } 2>/dev/null
	local cert=${2:-server}
	: >"$tmp/port"
	"$here/../harness/h2_server.py" "$1" "$tmp/$cert.pem" "$tmp/$cert.key" "$tmp/ca.pem" >"$tmp/port" 2>"$tmp/log" &
	server=$!
	until read -r port <"$tmp/port"; do
		kill -0 "$server" || { cat "$tmp/log"; return 1; }
		sleep 0.05
	done
}
ask() { # [client certificate]
	local who=${1:-client}
	"$build/tests/harness/bwl-store" "https://127.0.0.1:$port" "$tmp/ca.pem" "$tmp/$who.pem" "$tmp/$who.key" \
		/bwl status ${2:+"$2"} >"$tmp/out" 2>&1
}
refused() { # what it says [client certificate]
	ask ${2:+"$2"} && { note "taken: $(<"$tmp/out")"; return 1; }
	grep -qE -- "$1" "$tmp/out" || { note "$(<"$tmp/out")"; return 1; }
}

serve good
check "control: a server that answers as etcd does is understood" ask
check "and what it said is shown" grep -q 'etcd 3.5.33, a leader, taken' "$tmp/out"
https_proxy=http://127.0.0.1:1 check "no proxy of the environment is asked" ask
while IFS='|' read -r mode what sentence; do
	serve "$mode"
	check "$sentence" refused "$what"
done <<'EOF'
goaway|HTTP.?2|a server that leaves (GOAWAY) before it answers
rst|HTTP/2|a server that resets the stream
close|.|a server that hangs up
no-status|no gRPC status|an answer without a status
denied|no such luck. \(gRPC 7|an answer that refuses, with its reason
compressed|cannot parse its answer|a compressed message
large|more than 4194304 bytes|a message that says it is too large
two|cannot parse its answer|two answers to one question
half|cannot parse its answer|a message that ends in its middle
none|cannot parse its answer|no message at all
junk|cannot parse the message in its answer|a message that is none
html|gRPC 13|a page for people
http503|gRPC 14|an error of a proxy
silent|[Tt]imed? ?out|a server that says nothing
drip|[Tt]imed? ?out|a server that says one byte a second
headers|.|a server that never stops sending headers
http1|HTTP/2|a server that speaks only HTTP/1.1
tls12|protocol version|a server that has only TLS 1.2
EOF
serve refused-once
check "one that refuses a call, to be asked again, is asked again, with all that was said" ask
serve refused-later
check "so is one that refuses it over a connection that was used before" ask client twice
check "control: both calls were answered" eval '[[ $(grep -c "a leader, taken" "$tmp/out") == 2 ]]'
serve good elsewhere
check "a server whose certificate names another host" refused 'certificate'
serve good stranger
check "a server of another authority" refused 'authority'
serve good
check "a client of another authority is refused by the server" refused . stranger
check "control: and the right one is not" ask
done_testing
