#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# monitoring/: a real DPU's metrics in a real Prometheus: every query of the dashboard returns
# something, every rule is evaluated. The fleet's dashboard is tested in numbers_test.sh.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
source_dir=${BWL_SOURCE:-${here%/*/*}}
LAB=bwl-mon-$$ LAB_DESTS=2
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
[[ -x $(command -v prometheus) ]] || { echo '1..0 # SKIP no prometheus: packaging/install-deps test'; exit 77; }
lab_up || exit 1
lab_attach || exit 1
check "a policy with everything that a metric may be of is in force" eval '{
	echo "lease: 1h"
	echo "zones: { external: { rate: 100mbit, volume: 2gb } }"
	echo "peers:"
	lab_peer sink 1 "zone: external, grant: { rate: 8mbit, burst: 64kb, volume: 1gb }, accept: { rate: 8mbit, volume: 3gb }, ports: { hpf0: { rate: 80mbit, volume: 5gb } }"
	lab_peer idle 2 "contained: true, grant: { rate: 1mbit, mode: monitor }"
	echo "  - { name: tray-3, addresses: [10.0.3.0/24], ipsec: { remote: 192.0.2.3 }, grant: { rate: 1mbit } }"
} | lab_policy_head >"$LAB_TMP/policy.yaml"
in_dpu "$CTL" policy apply "$LAB_TMP/policy.yaml" --fresh-volume >"$LAB_TMP/out" 2>&1 || { note "$(cat "$LAB_TMP/out")"; false; }'
in_dpu "$CTL" grant idle rate 1mbit for 2h reason test >/dev/null 2>&1
in_dpu "$LOAD" verify >/dev/null
lab_bg agent dpu "$AGENT" --policy "$LAB_TMP/policy.yaml" --state-dir "$LAB_TMP/state" --json
check "bwlimitd renews the lease" lab_wait_for 30 "$CTL" lease renew
has() { "$CTL" metrics >"$LAB_TMP/text" && grep -q "$1" "$LAB_TMP/text"; }
check "and the heartbeat, and looks after SAs" lab_wait_for 30 has '^bwlimit_sa_tracking_deadline_timestamp_seconds [1-9]'
echo "eth ip4 src=$HOST4 dst=$(lab_dest4 1) udp dport=9 fill=958" | thief --seconds 1 --pps 4000 >/dev/null
"$CTL" metrics >"$LAB_TMP/text"
check "promtool finds nothing to say of the metrics" eval 'out=$(promtool check metrics <"$LAB_TMP/text" 2>&1) && [[ -z $out ]] || { note "$out"; false; }'

show() { # dashboard rules: loopback of a namespace of its own
	mkdir "$LAB_TMP/prometheus"
	unshare --net sh -c 'ip link set lo up && exec "$@"' sh "$here/prometheus.py" "$LAB_TMP/prometheus" "$LAB_TMP/text" \
		"$1" "$2" >"$LAB_TMP/shown"
	local r=$?
	grep -A1 '^not ok' "$LAB_TMP/shown" | sed 's/^/# /'
	note "$(grep -c '^ok' "$LAB_TMP/shown") of its checks hold"
	rm -r "$LAB_TMP/prometheus"
	return $r
}
monitoring=$source_dir/monitoring
check "every query of the dashboard of a DPU, and every rule, finds something" show \
	"$monitoring/grafana/node.json" "$monitoring/prometheus/node.rules.yml"
# The test can fail: a metric that does not exist.
sed 's/bwlimit_peers_not_shown/bwlimit_peers_not_there/' "$monitoring/grafana/node.json" >"$LAB_TMP/wrong.json"
BWL_PATIENCE_S=15 refute "a panel of a metric that nobody has is found" show "$LAB_TMP/wrong.json" "$monitoring/prometheus/node.rules.yml"
done_testing
