#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The page as bwlimit-web serves it, with a lab and real traffic: a thief at his limit, revoked, stopped, and without bwlimitd.
set -uo pipefail
# The groups exist only for this test: its own file is mounted over /etc/group, in its own mount namespace.
if [[ ! -v WEB_UNSHARED ]]; then
	WEB_UNSHARED=1 exec unshare --mount --propagation private "$0" "$@"
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB=bwl-page-$$ LAB_DESTS=4
# With tap.sh it takes the lock of labs: none floods beside it.
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/../harness/lab.sh"
# shellcheck source=../harness/live.sh
. "$here/../harness/live.sh"
# shellcheck source=../harness/web.sh
. "$here/../harness/web.sh"
# shellcheck source=deps.sh
. "$here/deps.sh"
web_browser
[[ $(id -u) -eq 0 ]] || web_skip "needs root"
web_deps
lab_up 2>/dev/null || exit 1
export BWLIMIT_JOURNAL_DIR=$LAB_TMP/journal BWLIMIT_AUDIT_DIR=$LAB_TMP/audit
web_groups
mkdir "$LAB_TMP/page"
cp -r "$BWL_SOURCE/web/page/dist/." "$LAB_TMP/page/"
chmod -R a+rX "$LAB_TMP/page"
"$CTL" journal init >/dev/null
"$CTL" audit init >/dev/null
in_dpu "$LOAD" attach --fresh-volume --host hpf0 --uplink p0 >/dev/null 2>&1 || exit 1
in_dpu "$CTL" stop --off >/dev/null 2>&1
in_dpu "$CTL" heartbeat --lift >/dev/null 2>&1
sed '/^lease:/d; s/40mb per/100gb per/' "$here/models/policy.yaml" >"$LAB_TMP/policy.yaml"
web_agent "$LAB_TMP/policy.yaml" || exit 1
for peer in object-store log-collector backup; do in_dpu "$CTL" grant "$peer" reason a test >/dev/null 2>&1; done
# Outside the lab any free port; inside the same port, because the server answers only to its own address.
node "$here/forward.mjs" 0 "$LAB_TMP/forward" >"$LAB_TMP/out" 2>&1 &
outside=$!
trap 'kill "$outside" "$thief" "$orders" 2>/dev/null; lab_down' EXIT
thief=$outside orders=$outside
lab_wait_for 10 grep -q ready "$LAB_TMP/out"
WEB_AT=127.0.0.1:$(sed -n 's/^ready //p' "$LAB_TMP/out")
web_start || exit 1
lab_bg in dpu node "$here/forward.mjs" "$LAB_TMP/forward" "${WEB_AT#*:}"
lab_wait_for 10 grep -q ready "$LAB_TMP/in"
# Twice the thief's limit, for as long as the test may take.
printf 'eth ip4 src=%s dst=10.103.0.9 tcp dport=443 fill=1446\n' $HOST4 >"$LAB_TMP/frame"
in_host "$FRAMES" send h0 --gw "$(lab_mac dpu hpf0)" --seconds 7200 --pps 1700 <"$LAB_TMP/frame" >/dev/null 2>&1 &
thief=$!
# Orders of the page's script to the lab, one word per line. What `live` found is in the file lives.
mkfifo "$LAB_TMP/orders"
(while read -r order; do
	case $order in
	tamper) in_dpu "$CTL" tamper the lid was opened ;;
	revoke) in_dpu "$CTL" revoke log-collector ;;
	stop) in_dpu "$CTL" stop ;;
	kill) kill -KILL "$WEB_AGENT_PID" ;;
	live)
		web_agent "$LAB_TMP/policy.yaml"
		in_dpu "$CTL" stop --off
		LIVE_DEST=2 live "bwlimitd is started again, and stop is lifted" >"$LAB_TMP/live.said" # object-store
		mv "$LAB_TMP/live.said" "$LAB_TMP/lives"
		;;
	esac
done <"$LAB_TMP/orders") >"$LAB_TMP/orders.out" 2>&1 &
orders=$! # it waits for a writer, and there may be none
node "$here/real.mjs" "http://$WEB_AT/" "$LAB_TMP/orders" "$LAB_TMP/lives"
