#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Records the documents that the page's tests serve: models/SCENE/DOCUMENT.json, as the tools print them in a real lab
# with real traffic. Run by hand, as root, when a document has changed: BWL_BUILD=… tests/web/record.sh. Takes two minutes.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB=bwl-record-$$ LAB_DESTS=4
# shellcheck source=../harness/lab.sh
. "$here/../harness/lab.sh"
lab_up || exit 1
export BWLIMIT_JOURNAL_DIR=$LAB_TMP/journal BWLIMIT_AUDIT_DIR=$LAB_TMP/audit
STATE=$LAB_TMP/state

scene() { # NAME: records every document as it is now
	local to=$here/models/$1 doc
	rm -rf "$to"
	mkdir -p "$to"
	in_dpu "$LOAD" status --json >"$to/status.json"
	in_dpu "$LOAD" verify --json >"$to/verify.json"
	in_dpu "$CTL" --json top --interval 1s --once >"$to/top.json"
	for doc in usage reasons policy stats; do in_dpu "$CTL" $doc $([[ $doc != policy ]] || echo show) --json >"$to/$doc.json"; done
	in_dpu "$CTL" grant list --json >"$to/grants.json"
	in_dpu "$CTL" peer list --json >"$to/peers.json"
	in_dpu "$CTL" lease show --json >"$to/lease.json"
	in_dpu "$CTL" exfil --size 1000000000000 --curve --json >"$to/exfil.json"
	in_dpu "$CTL" ipsec status --vici "$LAB_TMP/none" --json >"$to/ipsec-status.json" 2>/dev/null
	for doc in log-collector tray-3 object-store; do
		in_dpu "$CTL" peer show "$doc" --json >"$to/peer.$doc.json"
		in_dpu "$CTL" history "$doc" --state-dir "$STATE" --since 2m --step 1s --json >"$to/history.$doc.json"
	done
	in_dpu "$CTL" history --state-dir "$STATE" --json >"$to/history-peers.json"
	in_dpu "$CTL" explain $HOST4 10.103.0.9 tcp 443 --json >"$to/explain.json"
	find "$to" -empty -delete
	grep -l '"kind": *"error"' "$to"/*.json | sed "s|^$here/|# an error: |"
}
traffic() { # frames a second to log-collector; object-store gets a tenth of its limit
	printf 'eth ip4 src=%s dst=10.103.0.9 tcp dport=443 fill=1446\n' $HOST4 |
		in_host "$FRAMES" send h0 --gw "$(lab_mac dpu hpf0)" --seconds 25 --pps "$1" >/dev/null &
	printf 'eth ip4 src=%s dst=10.102.0.9 tcp dport=2049 fill=1446\n' $HOST4 |
		in_host "$FRAMES" send h0 --gw "$(lab_mac dpu hpf0)" --seconds 25 --pps 800 >/dev/null &
}

in_dpu "$LOAD" attach --fresh-volume --host hpf0 --uplink p0 >/dev/null || exit 1
"$CTL" journal init >/dev/null
in_dpu "$CTL" stop --off >/dev/null
in_dpu "$CTL" heartbeat --lift >/dev/null
scene no-policy
"$CTL" audit init >/dev/null
lab_bg agent dpu "$AGENT" --policy "$here/models/policy.yaml" --state-dir "$STATE" --tpm none --json
agent=$LAB_PID
lab_wait_for 30 in_dpu "$CTL" stats log-collector
in_dpu "$CTL" lease renew --for 24h >/dev/null
for peer in tray-3 object-store backup; do in_dpu "$CTL" grant $peer reason "ticket 4710" >/dev/null; done
in_dpu "$CTL" grant log-collector for 30d reason "ticket 4711" >/dev/null
traffic 300
sleep 23
scene healthy
wait -n; wait -n
traffic 2500
printf 'eth ip4 src=10.66.6.6 dst=10.101.0.9 tcp dport=443 fill=100\neth ip4 src=%s dst=10.199.0.9 tcp dport=443 fill=100\n' $HOST4 |
	thief --seconds 2 --pps 500 >/dev/null
sleep 20
scene limit
"$CTL" audit checkpoint --json >"$here/models/limit/audit.json"
kill -KILL "$agent"
wait "$agent" 2>/dev/null
sleep 13
scene agent-dead
lab_bg agent2 dpu "$AGENT" --policy "$here/models/policy.yaml" --state-dir "$STATE" --tpm none --json
sleep 4
in_dpu "$CTL" revoke object-store >/dev/null 2>&1
in_dpu "$CTL" stop >/dev/null
scene stopped
in_dpu "$CTL" stop --off >/dev/null
# bwlimitd sees that the kernel forwards by itself: a sign of tampering, for which it stops everything
lab_sysctl dpu net.ipv4.ip_forward=1
sleep 2
scene verify
lab_sysctl dpu net.ipv4.ip_forward=0
grep -h '"kind"' "$LAB_TMP/agent" "$LAB_TMP/agent2" >"$here/models/log.jsonl"
# Removes names of the machine that recorded.
find "$here/models" -name '*.json*' -exec sed -i -e "s|$here/models/policy.yaml|/etc/bwlimit/policy.yaml|g" \
	-e "s|$LAB_PINS|/sys/fs/bpf/bwlimit|g" -e "s|$LAB_TMP/none|/run/charon.vici|g" -e "s|$LAB_TMP|/var/lib/bwlimit|g" \
	-e "s|bwlimit/$(hostname)|bwlimit/tray-7|g; s|— bwlimit/[^ ]*|— bwlimit/tray-7|g" {} +
# One line each: this is small, and git shows what changed in which document.
find "$here/models" -name '*.json' -exec sh -c 'jq -c . "$1" >"$1.1" && mv "$1.1" "$1"' _ {} \;
