# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034,SC2154 # variables of lab.sh, and of scripts that source this
# bwlimit-load in a lab: its words, and a policy of one peer. Source it after lab_up.

other=$LAB_PINS-other # a second instance plays the stranger
fails() { # status, command of bwlimit-load…
	local want=$1 status=0
	shift
	lab_load "$@" || status=$?
	[[ $status -eq $want ]] || { note "status $status, wanted $want: $*" "$(cat "$LAB_TMP/out" "$LAB_TMP/err")"; false; }
}
BPFTOOL=$(command -v bpftool || echo /usr/sbin/bpftool)
works() { fails 0 "$@"; }
says() { grep -q -- "$1" "$LAB_TMP/out" "$LAB_TMP/err" || { note "$(cat "$LAB_TMP/out" "$LAB_TMP/err")"; false; }; }
says_not() { ! grep -q -- "$1" "$LAB_TMP/out" "$LAB_TMP/err"; }
attach() { works attach --policy "$LAB_TMP/policy.yaml" --fresh-volume "$@"; }
verify() { lab_verifies --management mgmt0; }
notices() { lab_verify_finds "$1" --management mgmt0; }
ports_down() { ! lab_is_up hpf0; }
pings() { in_host ping -q -c "${1:-1}" -i 0.2 -W 2 "$(lab_dest4 1)" >/dev/null; }
in_status() { # jq filter that must be true
	in_dpu "$LOAD" status --json | jq -e "$1" >/dev/null
}
in_json() { jq -e "$1" "$LAB_TMP/out" >/dev/null; }

cat >"$LAB_TMP/policy.yaml" <<END
version: 1
node: h2
uplinks: [p0]
host_ports:
  - dev: hpf0
    sources: [10.7.0.0/24, "fd00:7::/64"]
heartbeat: none
peers:
  - name: d1
    addresses: [10.101.0.0/24, "fd00:101::/64"]
    path: clear
    via: $LAB_VIA4
    via6: "$LAB_VIA6"
    grant: { rate: 1gbit, burst: 1mb }
END
