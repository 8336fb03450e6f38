# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034 # scripts that source this use its variables
#
# bwlimit-web in a lab's DPU, as a user that is only in group bwlimit-read. Source lab.sh first. Then call web_groups
# before anything else (in a private mount namespace of this test), then web_agent and web_start; or web_lab, which does all but the last.

WEB=$LAB_BUILD/web/bwlimit-web WEB_AT=127.0.0.1:9650
WEB_READERS=64102 WEB_USER=64103 WEB_PID=

web_groups() { # mounts a private file over /etc/group
	grep -vE '^bwlimit(-read)?:' /etc/group >"$LAB_TMP/group"
	printf 'bwlimit-read:x:%d:\n' $WEB_READERS >>"$LAB_TMP/group"
	mount --bind "$LAB_TMP/group" /etc/group
	chmod 711 "$LAB_TMP"
}
web_agent() { # policy: starts bwlimitd and waits until the policy is in force
	export BWLIMIT_CTL=$CTL BWLIMIT_LOAD=$LOAD
	lab_bg agent dpu "$AGENT" --policy "$1" --state-dir "$LAB_TMP/state" --json
	WEB_AGENT_PID=$LAB_PID
	lab_wait_for 30 web_in_force && "$CTL" heartbeat >/dev/null
}
web_in_force() { "$CTL" policy show >/dev/null 2>&1; }
web_page() { # makes a small page
	mkdir -p "$LAB_TMP/page/assets"
	echo '<!doctype html><title>lab</title>' >"$LAB_TMP/page/index.html"
	echo 'export {}' >"$LAB_TMP/page/assets/lab-1.js"
	chmod -R a+rX "$LAB_TMP/page"
}
web_reader() { # command…
	in_dpu setpriv --reuid $WEB_USER --regid $WEB_USER --groups $WEB_READERS --inh-caps=-all --bounding-set=-all \
		--no-new-privs "$@"
}
web_start() { # option…: listens at WEB_AT; sets WEB_PID
	[[ -z $WEB_PID ]] || lab_stop "$WEB_PID"
	lab_bg web dpu setpriv --reuid $WEB_USER --regid $WEB_USER --groups $WEB_READERS --inh-caps=-all --bounding-set=-all \
		--no-new-privs "$WEB" --page "$LAB_TMP/page" --commands "/run/bwlimit/${LAB_PINS##*/}.commands" --listen "$WEB_AT" "$@"
	WEB_PID=$LAB_PID
	lab_wait_for 10 web_listens
}
web_listens() {
	local host=${WEB_AT%:*}
	host=${host#[}
	in_dpu bash -c "exec 3<>/dev/tcp/${host%]}/${WEB_AT##*:}" 2>/dev/null
}

web_lab() { # option of attach…: the lab, and a policy of one peer, d1, in force; WEB_VOLUME: it has a volume
	command -v curl >/dev/null || { echo '1..0 # SKIP no curl'; exit 77; }
	lab_up || exit 1
	export BWLIMIT_JOURNAL_DIR=$LAB_TMP/journal BWLIMIT_AUDIT_DIR=$LAB_TMP/audit
	web_groups
	web_page
	"$CTL" journal init >/dev/null
	"$CTL" audit init >/dev/null
	check "attach makes the pins" in_dpu "$LOAD" attach "$@" --host hpf0 --uplink p0
	{
		echo "peers:"
		lab_peer d1 1 "grant: { rate: 8mbit${WEB_VOLUME:+, volume: $WEB_VOLUME} }"
	} | lab_policy_head >"$LAB_TMP/policy.yaml"
	check "control: a policy comes into force" web_agent "$LAB_TMP/policy.yaml"
}
TLS=()
get() { # path [curl's options]: what comes, its head, and its status in $LAB_TMP/code
	in_dpu curl -sS --max-time 120 --path-as-is -D "$LAB_TMP/head" -o "$LAB_TMP/got" -w '%{http_code}' "${TLS[@]}" \
		"${@:2}" "http${TLS:+s}://$WEB_AT$1" >"$LAB_TMP/code" 2>"$LAB_TMP/err"
}
gets() { # code path…
	get "${@:2}"
	[[ $(cat "$LAB_TMP/code") == "$1" ]] || { note "$(cat "$LAB_TMP/code" "$LAB_TMP/err"; head -c 300 "$LAB_TMP/got")"; return 1; }
}
head_has() { grep -qi -- "^$1" "$LAB_TMP/head" || { note "$(cat "$LAB_TMP/head")"; return 1; }; }
