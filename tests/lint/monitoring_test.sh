#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# monitoring/ without a running Prometheus: promtool checks the rules and runs their tests; the programs have every
# metric that a rule or a panel names; every alert has a test. lint.docs checks docs/runbooks.md.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_dir=${BWL_SOURCE:-${here%/*/*}}
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
[[ -x $(command -v promtool) ]] || { echo '1..0 # SKIP no promtool: packaging/install-deps test'; exit 77; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
at=$source_dir/monitoring

quiet() { "$@" >"$tmp/out" 2>&1 || { note "$(head -n 20 "$tmp/out")"; return 1; }; }
for rules in "$at"/prometheus/*.rules.yml; do
	name=$(basename "$rules" .rules.yml)
	check "promtool takes the rules: $name" quiet promtool check rules "$rules"
	check "and they do what their tests say" quiet promtool test rules "$at/prometheus/tests/$name.test.yml"
done
sed "s|/usr/share/bwlimit/monitoring|$at|; s|_file: /.*|_file: /dev/null|" "$at/prometheus/scrape.yml" >"$tmp/scrape.yml"
check "promtool takes the example of what to scrape" quiet promtool check config --syntax-only "$tmp/scrape.yml"
if command -v amtool >/dev/null; then
	check "amtool takes the example of a route" quiet amtool check-config "$at/alertmanager/alertmanager.yml"
	receiver() { # severity
		[[ $(amtool config routes test --config.file "$at/alertmanager/alertmanager.yml" alertname=BwlimitX severity="$1" 2>"$tmp/err") == "$2" ]]
	}
	check "what is critical wakes somebody" receiver critical woken
	check "what is a warning does not" receiver warning morning
	check "nor does what is for information" receiver info morning
else
	skip "amtool takes the example of a route" "no amtool (Debian: prometheus-alertmanager)"
fi

# --- names
cat "$source_dir"/export/*.c "$source_dir"/fleet/model/metrics.c >"$tmp/code"
names() { grep -ohE '\bbwlimit_[a-z_]+' "$@" | sort -u; }
unknown() { # files; prints the names that no program has
	local name
	for name in $(names "$@"); do
		grep -qF "\"${name#bwlimit_}\"" "$tmp/code" || echo "$name"
	done
}
exprs() { # file; prints its queries alone
	/usr/bin/python3 - "$1" <<'END'
import json, re, sys
text = open(sys.argv[1], encoding="utf-8").read()
if sys.argv[1].endswith(".json"):
    for q in re.findall(r'"(?:expr|query)": (".*")', text):
        print(json.loads(q))
else:
    print("\n".join(re.findall(r"^ +expr: (?:>-\n)?((?:.*\n)(?: {10}.*\n)*)", text, re.M)))
END
}
for file in "$at"/prometheus/*.rules.yml "$at"/grafana/*.json; do
	exprs "$file" | sed -E 's/[a-z_]+:bwlimit_[a-z_]+:[a-z0-9]+//g' >"$tmp/exprs"
	check "every metric of $(basename "$file") is one of ours" eval '[[ -s $tmp/exprs && -z $(unknown "$tmp/exprs") ]] || { note "$(unknown "$tmp/exprs")"; false; }'
done
echo 'bwlimit_peer_sent' >"$tmp/exprs"
refute "a metric that nobody prints is found" eval '[[ -z $(unknown "$tmp/exprs") ]]'
# Metrics that no alert or panel uses. A few are for people alone.
unused() {
	cat "$at"/prometheus/*.rules.yml "$at"/grafana/*.json >"$tmp/used"
	grep -ohE '"(peer|port|limit|tray|fleet|verify|policy|heartbeat|lease|clock|sa|attach|peers)[a-z_]*_[a-z_]+"' "$tmp/code" |
		tr -d '"' | sort -u | while read -r name; do
		[[ $name =~ ^(peer_passed_frames_total|peer_dropped_frames_total|peer_unenforced_frames_total)$ ]] ||
			grep -q "bwlimit_$name\b" "$tmp/used" || echo "$name"
	done
}
check "no metric is without a rule or a panel" eval '[[ -z $(unused) ]] || { note "$(unused)"; false; }'

# --- alerts
mapfile -t alerts < <(sed -n 's/^ *- alert: //p' "$at"/prometheus/*.rules.yml)
check "there are alerts" [ ${#alerts[@]} -gt 20 ]
for alert in "${alerts[@]}"; do
	check "the runbook of $alert is its section" grep -qx " *runbook: docs/runbooks.md#${alert,,}" "$at"/prometheus/*.rules.yml
	check "and a test has seen it raised" grep -qE "^ +runbook: docs/runbooks.md#${alert,,}$" "$at"/prometheus/tests/*.test.yml
done

# --- words of the journal
words() { # priority; prints bwlimitd's words of that priority, from agent/
	/usr/bin/python3 - "$1" "$source_dir" <<'END'
import os, re, sys
for where, _, names in os.walk(os.path.join(sys.argv[2], "agent")):
    for n in names:
        text = open(os.path.join(where, n), encoding="utf-8").read() if n.endswith(".c") else ""
        for m in re.finditer(r'\b(?:LOG_([A-Z]+)[^";{}]{0,80}?),\s*"([a-z-]+)"', text):
            if m[1] == sys.argv[1]:
                print(m[2])
END
}
told() { # priority, beginning of the page's row
	local word missing='' row
	row=$(grep "^| $2" "$source_dir/docs/monitoring.md")
	for word in $(words "$1" | sort -u); do
		[[ $row == *"\`$word\`"* ]] || missing+=" $word"
	done
	[[ -n $(words "$1") && -z $missing ]] || { note "not told of:$missing"; false; }
}
check "the page has every word of an alert in the journal" told ALERT 'alert (1)'
check "of a failure" told ERR 'crit (2), err (3)'
check "of a warning" told WARNING 'warning (4)'
check "and of a notice" told NOTICE 'notice (5)'

# --- dashboards
dashboards() {
	/usr/bin/python3 - "$at"/grafana/*.json <<'END'
import json, sys
for name in sys.argv[1:]:
    d = json.load(open(name, encoding="utf-8"))
    assert d["schemaVersion"] >= 39 and d["uid"] and d["title"] and "id" not in d, name
    ids, places = [], []
    for p in d["panels"]:
        ids.append(p["id"])
        g = p["gridPos"]
        assert g["x"] + g["w"] <= 24, (name, p["title"])
        for q in places:
            assert g["x"] >= q["x"] + q["w"] or q["x"] >= g["x"] + g["w"] or g["y"] >= q["y"] + q["h"] or \
                q["y"] >= g["y"] + g["h"], f"{name}: {p['title']} lies over another panel"
        places.append(g)
        if p["type"] == "row":
            continue
        assert p["targets"] and p["datasource"]["uid"] == "${datasource}", (name, p["title"])
        assert p["fieldConfig"]["defaults"]["unit"], (name, p["title"])
    assert len(set(ids)) == len(ids), name
END
}
check "dashboards have panels side by side, each with a unit and the chosen source" quiet dashboards
check "the examples for others are YAML" quiet /usr/bin/python3 -c 'import sys, yaml; [yaml.safe_load(open(f)) for f in sys.argv[1:]]' \
	"$at/otel/collector.yaml"
done_testing
