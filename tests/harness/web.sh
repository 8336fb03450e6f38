# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034 # scripts that source this use its variables
#
# bwlimit-web in a lab's DPU, as a user that is only in group bwlimit-read. Source lab.sh first. Then call web_groups
# before anything else (in a private mount namespace of this test), then web_agent and web_start.

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
