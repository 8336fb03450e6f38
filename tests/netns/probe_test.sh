#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# probe on ports without a card: its report, when it refuses to try, and that
# nothing of a try is left, however it ends. Reports on cards are tested in unit.probe_card_test and
# tests/vm/03_probe.sh.
# live: nothing is attached to a port that is probed: none passes a packet
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB=bwl-probe-$$ LAB_DESTS=0
# shellcheck source=../harness/tap.sh
. "$here/../harness/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/../harness/lab.sh"
# shellcheck source=../harness/documents.sh
. "$here/../harness/documents.sh"
# shellcheck source=../harness/probe_held.sh
. "$here/../harness/probe_held.sh"
export ASAN_OPTIONS=detect_leaks=0 # it cannot work under strace

lab_begin || exit 1
lab_ns dpu && lab_ns host && lab_ns net || exit 1
lab_veth dpu hpf0 host h0 && lab_veth dpu p0 net s0 || exit 1
ports=(--host hpf0 --uplink p0)
cpus=$(getconf _NPROCESSORS_ONLN)

# shellcheck disable=SC2120 # check passes them
probes() { # further options…
	in_dpu "$LOAD" probe "${ports[@]}" --json "$@" >"$LAB_TMP/doc" 2>"$LAB_TMP/err"
}
doc_is() { jq -e "$@" "$LAB_TMP/doc" >/dev/null; }
said() { # jq's condition on one answer: port id condition
	jq -e --arg p "$1" --arg i "$2" --arg cpus "$cpus" \
		"[.features[] | select(.port == (if \$p == \"\" then null else \$p end) and .id == \$i) | $3] == [true]" \
		"$LAB_TMP/doc" >/dev/null || { jq -c --arg i "$2" '.features[] | select(.id == $i)' "$LAB_TMP/doc" | sed 's/^/# /'; false; }
}
check "probe says what the ports' card offers" probes
if can_judge; then
	check "as its schema says" judge probe <"$LAB_TMP/doc"
else
	skip "as its schema says" "no python3-jsonschema"
fi
for id in eswitch-mode eswitch-encap flow-steering ipsec-functions; do
	check "a port without a card: $id is not offered" said p0 $id '.answer == "not offered" and (.works | not)'
done
check "and what to do stands beside everything that is not there" \
	doc_is '[.features[] | select((.works | not) and ((.todo // "") == "" or (.without // "") == ""))] == []'
check "nothing to do beside what works" \
	doc_is '[.features[] | select(.works and (.todo or .without))] == []'
check "IPsec is asked of the uplink alone" \
	doc_is '[.features[] | select(.id == "esp-offload") | .port] == ["p0"]'
check "without --try-hardware nothing is tried" \
	doc_is '[.features[] | select(.id | startswith("try-"))] == []'

# What encryption needs of the kernel, and what blocks it. Without a card the kernel's own ESP is asked.
for f in 4 6; do
	check "ESP for IPv$f is asked" said "" esp$f '(.works and .answer == "there") or ((.works | not) and .answer == "missing")'
done
check "so is whether the hole of ESP is mended" said "" esp-mended '.answer == "yes" or .answer == "no ESP" or .answer == "cannot be told"'
if said "" esp4 .works >/dev/null && said "" esp6 .works >/dev/null; then
	skip "the file that blocks them is named" "ESP is loaded here: tests/vm/03_probe.sh"
else
	mkdir "$LAB_TMP/modprobe.d" 2>/dev/null
	printf 'install esp4 /bin/false\nblacklist esp6\n' >"$LAB_TMP/modprobe.d/dirtyfrag.conf"
	# shellcheck disable=SC2016 # for that shell
	in_dpu unshare --mount --propagation private sh -c 'mount --bind "$0" /etc/modprobe.d && exec "$@"' \
		"$LAB_TMP/modprobe.d" "$LOAD" probe "${ports[@]}" --json >"$LAB_TMP/doc" 2>"$LAB_TMP/err"
	check "the file that blocks ESP for IPv4 is named" said "" esp4 \
		'.answer == "blocked" and (.error | contains("/etc/modprobe.d/dirtyfrag.conf: install esp4 /bin/false"))'
	check "and for IPv6" said "" esp6 '.answer == "blocked" and (.error | contains("/etc/modprobe.d/dirtyfrag.conf: blacklist esp6"))'
fi
probes

# The number of queues is the driver's: for a veth, as many as it was made with, if ethtool reports them.
in_dpu ethtool -L hpf0 rx 1 tx 1 && in_dpu ethtool -L p0 rx 2 tx 1 && probes
check "one queue is counted against the CPUs" said hpf0 queues '.answer == "1 of " + $cpus'
check "of an uplink those count that send" said p0 queues '.answer == "1 of " + $cpus'
if [[ $cpus -eq 2 ]]; then
	check "the next step is one that helps" eval \
		'in_dpu $(jq -r ".features[] | select(.id == \"queues\" and .port == \"hpf0\") | .todo" "$LAB_TMP/doc") && probes &&
			said hpf0 queues ".works"'
else
	skip "the next step is one that helps" "$cpus CPUs, and the veth has two queues"
fi

# --- --try-hardware: when it refuses
refused() { # words options…
	local words=$1
	shift
	! in_dpu "$LOAD" probe "$@" --try-hardware >"$LAB_TMP/out" 2>"$LAB_TMP/err" &&
		grep -q -- "$words" "$LAB_TMP/err" && [[ ! -s $LAB_TMP/out ]] ||
		{ sed 's/^/# /' "$LAB_TMP/err"; false; }
}
check "it wants to be told of which ports" refused 'try-hardware needs ports'
check "it refuses while a port is up" refused 'its device hpf0 is up' "${ports[@]}"
ip_in dpu link set hpf0 down
check "also the uplink" refused 'its device p0 is up' "${ports[@]}"
ip_in dpu link set p0 down
in_dpu "$LOAD" attach --drill --fresh-volume --max-peers 64 --keep-down "${ports[@]}" >"$LAB_TMP/out" 2>&1 ||
	sed 's/^/# /' "$LAB_TMP/out"
ip_in dpu link set p0 down
check "it refuses while programs are attached" refused 'bwlimit is attached' "${ports[@]}"
check "although their pins are in another folder" refused 'bwlimit is attached: programs are on' "${ports[@]}" \
	--pin-dir "$LAB_PINS-other"
in_dpu "$LOAD" detach >/dev/null 2>&1
ip_in dpu link set hpf0 down
ip_in dpu link set p0 down

# --- and what it says
check "with everything down it tries" probes --try-hardware
if can_judge; then
	check "and says so as its schema says" judge probe <"$LAB_TMP/doc"
fi
tried=(try-meter try-sa try-drop-policy try-rule try-rule-after-sa try-sa-after-rule)
for id in "${tried[@]}"; do
	check "no card here: $id does not work, and says why" \
		doc_is --arg i "$id" '[.features[] | select(.id == $i) | (.works | not) and (.error | length > 3) and
			(.answer | test("^(refused|not offered|not in hardware|not tried)$"))] == [true]'
done
in_dpu "$LOAD" probe --uplink p0 --json --try-hardware >"$LAB_TMP/doc" 2>"$LAB_TMP/err"
for id in try-rule-after-sa try-sa-after-rule; do
	check "without a host port $id is not tried" said p0 $id '.answer == "not tried"'
done
empty() {
	[[ -z $(ip_in dpu xfrm state 2>/dev/null)$(ip_in dpu xfrm policy 2>/dev/null) ]] &&
		! in_dpu tc qdisc show dev hpf0 | grep_all clsact && [[ ! -e $LAB_PINS ]]
}
check "nothing of it is left" empty

# --- killed in between
has_policy() { ip_in dpu xfrm policy 2>/dev/null | grep_all 'if_id 0x62776c01'; }
locked() { ! flock -n "$LAB_PINS" true; }
if ! command -v strace >/dev/null || ! ip_in dpu xfrm policy >/dev/null 2>&1 ||
	! probe_hold 'XFRM_MSG_GETPOLICY' "${ports[@]}"; then
	skip "what was tried is removed by whoever is left" "no strace, or no IPsec policies"
else
	check "control: stopped in between, its policy is in the kernel" has_policy
	check "and it holds the lock that attach waits for" locked
	kill -KILL "$PROBE"
	check "killed, another process removes what it made" lab_wait_for 20 empty
	probe_hold 'XFRM_MSG_GETPOLICY' "${ports[@]}"
	kill -TERM "$PROBE"
	kill -CONT "$PROBE"
	check "ended by SIGTERM, too" lab_wait_for 20 empty
	probe_hold 'XFRM_MSG_GETPOLICY' "${ports[@]}"
	probe_kill_both
	check "control: with both killed it stays" has_policy
	check "until the next run" eval 'tries "${ports[@]}" && ! has_policy'
fi
done_testing
