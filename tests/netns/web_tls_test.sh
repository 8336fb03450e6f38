#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Where bwlimit-web may listen, and beyond loopback whom it lets in: by certificates, which it reads anew when it is told to.
# Everything that is refused has its positive control.
set -uo pipefail
# The test's own groups: a private file mounted over /etc/group, only in its own mount namespace.
if [[ ! -v WEB_UNSHARED ]]; then
	WEB_UNSHARED=1 exec unshare --mount --propagation private "$0" "$@"
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-webt-$$ LAB_DESTS=1 LAB_MGMT=1
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/web.sh
. "$here/web.sh"
web_lab --management mgmt0

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
plain() { # hung up on
	local code
	code=$(in_dpu curl -s --max-time 120 -o /dev/null -w '%{http_code}' "http://$WEB_AT/")
	[[ $? -ne 28 && $code == 000 ]]
}
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
