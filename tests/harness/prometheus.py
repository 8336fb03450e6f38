#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Checks with a real Prometheus that a dashboard shows something.

  prometheus.py FOLDER TEXT DASHBOARD RULES…

TEXT is one output of a program's metrics. It is served at /metrics to a private Prometheus (data in
FOLDER, only on loopback), which evaluates RULES; then every query of every panel and of every variable of the
Grafana dashboard must return something, and every recorded series must be there, within BWL_PATIENCE_S seconds. The lines are TAP's."""
import http.server
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request

PATIENCE_S = float(os.environ.get("BWL_PATIENCE_S", 90))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def serve(text):
    class Metrics(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Metrics)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


class Prometheus:
    def __init__(self, folder, target, rules):
        self.url = f"http://127.0.0.1:{free_port()}"
        config = {
            "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
            "rule_files": [os.path.abspath(r) for r in rules],
            "scrape_configs": [{"job_name": "bwlimit", "static_configs": [{"targets": [target]}]}],
        }
        file = os.path.join(folder, "prometheus.json")  # JSON is YAML
        with open(file, "w", encoding="utf-8") as f:
            json.dump(config, f)
        self.log = open(os.path.join(folder, "prometheus.log"), "wb")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={file}", f"--storage.tsdb.path={folder}/data",
             f"--web.listen-address={self.url[7:]}"], stdout=self.log, stderr=self.log)

    def ask(self, path, **args):
        try:
            with urllib.request.urlopen(f"{self.url}{path}?{urllib.parse.urlencode(args)}", timeout=20) as r:
                return json.load(r)["data"]
        except OSError as e:
            return {"error": e.read().decode() if hasattr(e, "read") else str(e)}

    def results(self, query):
        said = self.ask("/api/v1/query", query=query)
        if "error" in said:
            return 0, said["error"]
        return len(said["result"]), ""

    def end(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()


def queries(dashboard, instance):
    """(where, PromQL) of each panel and variable, as Grafana sends it with everything selected."""
    def fill(q):
        for name, value in (("$__rate_interval", "1m"), ("$__range", "1m"), ("$instance", instance)):
            q = q.replace(name, value)
        return re.sub(r"\$[a-z]+", ".*", q)

    def panels(of):
        for p in of:
            yield p
            yield from panels(p.get("panels", []))

    for p in panels(dashboard["panels"]):
        for t in p.get("targets", []):
            yield f"{p['title']}, {t['refId']}", fill(t["expr"])
    for v in dashboard["templating"]["list"]:
        if v["type"] == "query":
            m = re.fullmatch(r"label_values\((.*), *(\w+)\)", v["query"]["query"])
            yield f"variable {v['name']}", f"count by ({m[2]}) ({fill(m[1])})"


def main():
    folder, text, dashboard, *rules = sys.argv[1:]
    with open(text, "rb") as f:
        instance = f"127.0.0.1:{serve(f.read())}"
    with open(dashboard, encoding="utf-8") as f:
        asked = list(queries(json.load(f), instance))
    recorded = [m for r in rules for m in re.findall(r"^ +- record: (\S+)$", open(r, encoding="utf-8").read(), re.M)]
    asked += [(f"recorded {m}", m) for m in recorded]
    p = Prometheus(folder, instance, rules)
    end, missing = time.monotonic() + PATIENCE_S, dict(asked)
    why = {}
    try:
        while missing and time.monotonic() < end and p.process.poll() is None:
            time.sleep(0.5)
            for where, query in list(missing.items()):
                n, why[where] = p.results(query)
                if n:
                    del missing[where]
        # Without queries or without scraping, everything would pass.
        up, _ = p.results('up{job="bwlimit"} == 1')
        nothing, _ = p.results("bwlimit_there_is_no_such_metric")
        sick = [f"{r['name']}: {r['lastError']}" for g in p.ask("/api/v1/rules").get("groups", [])
                for r in g["rules"] if r["health"] == "err"]
    finally:
        p.end()
    bad = 0

    def check(good, sentence, note=""):
        nonlocal bad
        bad += not good
        print(f"{'ok' if good else 'not ok'} - {sentence}" + ("" if good or not note else f"\n# {note}"))

    check(up and not nothing and len(asked) > 10, f"{len(asked)} queries were asked of a Prometheus that scrapes")
    check(not sick, "every rule is evaluated", "; ".join(sick))
    for where, query in asked:
        check(where not in missing, where, f"{query} {why.get(where)}")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
