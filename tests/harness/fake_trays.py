#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Simulates trays of a fleet, as a controller sees them, and people who sign.

  fake_trays.py run SERVER PKI PREFIX FOLDER TRAY…
      each tray accepts policies and rollouts as in docs/fleet.md, and reports it with its own certificate (PKI/TRAY.pem).
      A policy whose text has "bad" in it makes its tray drop half of its packets, one with "unsafe" makes it lose two SAs.
      FOLDER/TRAY.log: what it accepted; FOLDER/TRAY.checkpoint: its audit log's status, as JSON (checkpoint,
      log_key, proof); FOLDER/TRAY.silent: it reports nothing.
  fake_trays.py crowd SERVER PKI PREFIX FOLDER N
      N trays, from tray-000 on, whose statuses are written a hundred at a time, with the certificate `root`.
      FOLDER/took: which tray accepted which version, at which percentage; while the newest policy has "sickens" in
      its text the first of those that get it between 10 and 25 % drops.
  fake_trays.py sign FLEET NAME VERSION TYPE BODY KEY…
      an envelope on standard output; BODY: the fields of its type, as JSON.

It verifies nothing: bwlimitd and tests/unit/signed do that."""
import base64
import datetime
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time

import signed_document

UTC = datetime.timezone.utc


def moment(seconds):
    return datetime.datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def key_id(path):
    der = subprocess.run(["openssl", "pkey", "-in", path, "-pubout", "-outform", "DER"], check=True,
                         capture_output=True).stdout
    return hashlib.sha256(der[-32:]).hexdigest()


def sign(fleet, name, version, kind, body, keys):
    now = int(time.time())
    terms = {"name": name, "epoch": 1, "version": int(version), "issued_at": moment(now),
             "not_after": moment((now // 86400 + 2) * 86400)}  # a later end would be wider
    payload = json.dumps({**terms, **json.loads(body)}).encode()
    ptype = f"application/vnd.bwlimit.{kind}+json;fleet={fleet};audience={os.environ.get('AUDIENCE', 'all')}"
    said = f"DSSEv1 {len(ptype)} {ptype} {len(payload)} ".encode() + payload
    signatures = []
    for key in keys:
        with tempfile.NamedTemporaryFile() as f:
            f.write(said)
            f.flush()
            sig = subprocess.run(["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", key, "-in", f.name], check=True,
                                 capture_output=True).stdout
        signatures.append({"keyid": key_id(key), "sig": base64.b64encode(sig).decode()})
    print(json.dumps({"payloadType": ptype, "payload": base64.b64encode(payload).decode(),
                      "signatures": signatures}))


class Tray:
    def __init__(self, fleet, name):
        self.fleet, self.name = fleet, name
        self.policy = self.version = None
        self.passed = self.dropped = 0
        self.alive = False

    def take(self, digest):
        if digest == self.policy or digest not in self.fleet.policies:
            return
        self.policy = digest
        self.version = self.fleet.policies[digest]["version"]
        self.fleet.took(self)

    def place(self, salt):
        return int.from_bytes(hashlib.sha256((salt + self.name).encode()).digest()[:4], "big") % 100

    def decide(self):
        newest = self.fleet.newest
        if newest is None:
            return
        rollout = self.fleet.rollout
        if not self.fleet.policies[newest].get("stages"):
            self.take(newest)
        elif rollout and rollout.get("back"):
            self.take(rollout["from"])
        elif rollout and self.place(rollout["salt"]) < rollout["percent"]:
            self.take(rollout["to"])
        elif rollout and "from" in rollout:
            self.take(rollout["from"])

    def say(self):
        self.decide()
        if os.path.exists(f"{self.fleet.folder}/{self.name}.silent"):
            return
        is_bad = self.policy and "bad" in self.fleet.policies[self.policy]["text"] or self.name in self.fleet.sick
        self.passed += 500 if is_bad else 1000
        self.dropped += 500 if is_bad else 1
        is_unsafe = self.policy and "unsafe" in self.fleet.policies[self.policy]["text"]
        log = {"checkpoint": None}
        if os.path.exists(f"{self.fleet.folder}/{self.name}.checkpoint"):
            with open(f"{self.fleet.folder}/{self.name}.checkpoint", encoding="utf-8") as f:
                log = json.load(f)
        status = {"tray": self.name, "epoch": 1, "seq": 1,
                  "policy": self.policy and {"name": "base", "version": self.version, "sha256": self.policy,
                                             "since": "2026-01-01T00:00:00Z"},
                  "taken": {}, "refused": {}, "fresh": True, "closed": [], "closed_count": 0, "alarms": [],
                  "ledger_seq": 0, **log,
                  "health": {"passed_packets": self.passed, "dropped_packets": self.dropped,
                             "sas_down": 2 if is_unsafe else 0, "lease_s": 0}}
        if not self.alive:
            self.alive = self.fleet.put(self.name, "alive", "1")
        self.fleet.put(self.name, "status", json.dumps(status))


class Fleet:
    def __init__(self, server, pki, prefix, folder, names):
        self.server, self.pki, self.prefix, self.folder = server, pki, prefix, folder
        self.policies, self.newest, self.rollout, self.sick = {}, None, None, set()
        self.trays = [Tray(self, n) for n in names]
        self.reader = names[0]

    def put(self, tray, what, value):
        return self.etcdctl(tray, "put", f"{self.prefix}/node/{tray}/out/{what}", value) is not None

    def took(self, tray):
        with open(f"{self.folder}/{tray.name}.log", "a", encoding="utf-8") as f:
            f.write(f"{tray.version}\n")

    def end_of_round(self):
        pass

    def etcdctl(self, who, *words, said=None):
        r = subprocess.run(["etcdctl", "--endpoints", self.server, "--cacert", f"{self.pki}/ca.pem", "--cert",
                            f"{self.pki}/{who}.pem", "--key", f"{self.pki}/{who}.key", "--command-timeout", "3s",
                            *words], capture_output=True, input=said, env={**os.environ, "ETCDCTL_API": "3"}, check=False)
        return r.stdout if r.returncode == 0 else None

    def read(self):
        out = self.etcdctl(self.reader, "get", "--prefix", f"{self.prefix}/all/doc/", "-w", "json")
        for kv in json.loads(out or b"{}").get("kvs", []):
            key = base64.b64decode(kv["key"]).decode()
            if not key.endswith(("/policy/base", "/rollout/base")):
                continue
            terms, digest = signed_document.read(base64.b64decode(kv["value"]))
            if key.endswith("/rollout/base"):
                self.rollout = terms
                continue
            self.newest = digest
            self.policies[digest] = terms

    def run(self):
        while True:
            self.read()
            for tray in self.trays:
                tray.say()
            self.end_of_round()
            time.sleep(0.2)


class Crowd(Fleet):
    """Writes many keys with few processes of etcdctl."""

    def __init__(self, server, pki, prefix, folder, count):
        super().__init__(server, pki, prefix, folder, [f"tray-{i:03}" for i in range(int(count))])
        self.reader, self.puts = "root", []

    def put(self, tray, what, value):
        self.puts.append(f"put {self.prefix}/node/{tray}/out/{what} {json.dumps(value)}\n")
        return True

    def took(self, tray):
        percent = self.rollout["percent"] if self.rollout else 0
        with open(f"{self.folder}/took", "a", encoding="utf-8") as f:
            f.write(f"{tray.name} {tray.version} {percent}\n")

    def end_of_round(self):
        for i in range(0, len(self.puts), 100):
            self.etcdctl("root", "txn", said=("\n" + "".join(self.puts[i : i + 100]) + "\n\n").encode())
        self.puts = []
        self.sick = set()
        rollout = self.rollout
        if self.newest and "sickens" in self.policies[self.newest]["text"] and rollout and rollout.get("to") == self.newest:
            self.sick = {next(t.name for t in self.trays if 10 <= t.place(rollout["salt"]) < 25)}


if sys.argv[1] == "sign":
    sign(*sys.argv[2:7], sys.argv[7:])
elif sys.argv[1] == "crowd":
    Crowd(*sys.argv[2:7]).run()
else:
    Fleet(*sys.argv[2:6], sys.argv[6:]).run()
