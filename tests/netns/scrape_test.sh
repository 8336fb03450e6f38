#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A real Prometheus scrapes a real bwlimit-web: by HTTP on loopback, and, as in the example of monitoring/, through the management
# network with certificates on both sides. What bwlimit-ctl counts arrives; without a certificate nothing does.
set -uo pipefail
# The test's own groups and host names, only in its own mount namespace.
if [[ ! -v WEB_UNSHARED ]]; then
	WEB_UNSHARED=1 exec unshare --mount --propagation private "$0" "$@"
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
source_dir=${BWL_SOURCE:-${here%/*/*}}
LAB=bwl-scrape-$$ LAB_DESTS=1 LAB_MGMT=1
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
# shellcheck source=../harness/web.sh
. "$here/web.sh"
[[ -x $(command -v prometheus) ]] || { echo '1..0 # SKIP no prometheus: packaging/install-deps test'; exit 77; }
web_lab --management mgmt0
host=tray-7.mgmt.example.org # as the example says
printf '127.0.0.1 localhost\n10.250.0.1 %s\n' $host >"$LAB_TMP/hosts"
mount --bind "$LAB_TMP/hosts" /etc/hosts
check "bwlimit-web listens on loopback" web_start

pki=$LAB_TMP/pki
mkdir -p "$pki"
openssl_new() { openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "$@" 2>/dev/null; }
issue() { # file subject
	openssl_new -subj "$2" -keyout "$pki/$1.key" -out "$pki/$1.csr" &&
		openssl x509 -req -in "$pki/$1.csr" -CA "$pki/bwlimit-ca.pem" -CAkey "$pki/ca.key" -CAcreateserial -days 2 \
			-out "$pki/$1.pem" -extfile <(echo "subjectAltName=DNS:$host") 2>/dev/null
}
openssl_new -x509 -days 2 -subj /CN=ca -keyout "$pki/ca.key" -out "$pki/bwlimit-ca.pem"
issue web /CN=$host && issue bwlimit /CN=people
chmod -R a+rX "$pki"
WEB_PID='' WEB_AT=10.250.0.1:9650 # a second one, beside the first
check "another one by the management device, with certificates" web_start --host $host --ca "$pki/bwlimit-ca.pem" \
	--cert "$pki/web.pem" --key "$pki/web.key"

# The example, with this test's paths; and scrapers on loopback, and without a certificate.
{
	sed -e "s,/etc/prometheus/,$pki/,; s,/usr/share/bwlimit,$source_dir,; s,15s,1s," \
		-e 's,/monitoring/monitoring,/monitoring,' "$source_dir/monitoring/prometheus/scrape.yml"
	cat <<-END
	  - job_name: bwlimit-loopback
	    static_configs: [{ targets: ['127.0.0.1:9650'] }]
	  - job_name: bwlimit-stranger
	    scheme: https
	    tls_config: { ca_file: $pki/bwlimit-ca.pem }
	    static_configs: [{ targets: ['$host:9650'] }]
	END
} >"$LAB_TMP/prometheus.yml"
check "promtool takes the example" promtool check config "$LAB_TMP/prometheus.yml"
lab_bg prometheus dpu prometheus --config.file="$LAB_TMP/prometheus.yml" --storage.tsdb.path="$LAB_TMP/data" \
	--web.listen-address=127.0.0.1:9090
ask() { # query: its values, one a line
	in_dpu curl -sS --max-time 20 --get --data-urlencode "query=$1" http://127.0.0.1:9090/api/v1/query | jq -r '.data.result[].value[1]'
}
is() { [[ $(ask "$2") == "$1" ]]; }
shows() { lab_wait_for 60 is "$1" "$2" || { note "$2: $(ask "$2")" "$(in_dpu curl -sS http://127.0.0.1:9090/api/v1/targets | jq -c '.data.activeTargets[] | [.scrapePool, .health, .lastError]')"; return 1; }; }
check "what is on loopback is up" shows 1 'up{job="bwlimit-loopback"}'
check "so is what is behind certificates, as the example says" shows 1 "up{job=\"bwlimit\",instance=\"$host:9650\"}"
echo "eth ip4 src=$HOST4 dst=$(lab_dest4 1) udp dport=9 fill=958" | thief --count 20 --pps 200 >/dev/null
passed() { "$CTL" --json stats | jq '.peers[] | select(.peer == "d1").passed_bytes'; }
check "control: something passes" eval '[[ $(passed) -gt 0 ]] || { note "$("$CTL" --json stats)" "$("$CTL" reasons)"; false; }'
for job in bwlimit-loopback bwlimit; do
	check "$job: what has passed arrives" shows "$(passed)" "bwlimit_peer_passed_bytes_total{job=\"$job\",peer=\"d1\"}"
	check "$job: with its limit" shows 1000000 "bwlimit_peer_grant_bytes_per_second{job=\"$job\",peer=\"d1\"}"
done
check "behind certificates when that of bwlimit-web ends, too" shows 1 \
	'count(bwlimit_web_certificate_expiry_timestamp_seconds{job="bwlimit"} > time())'
check "the rules are evaluated over it" shows 1 'count(peer:bwlimit_limit_used:ratio5m{job="bwlimit",peer="d1"})'
check "who has no certificate gets nothing" shows 0 'up{job="bwlimit-stranger"}'
refute "not a series" [ -n "$(ask 'bwlimit_build_info{job="bwlimit-stranger"} or bwlimit_peer_passed_bytes_total{job="bwlimit-stranger"}')" ]
done_testing
