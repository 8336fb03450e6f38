# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# strongSwan's daemon in the namespaces of a lab, without systemd. Source lab.sh (or topo/trays.sh)
# first; a test in a VM says `# vm-needs: strongswan`. Each instance has a folder
# $LAB_TMP/charon-NAME with strongswan.conf, log, vici (the socket), and swanctl/ (SWANCTL_DIR).
# lab_down ends all instances with their namespaces.

CHARON=${CHARON:-/usr/sbin/charon-systemd}
VICI=$LAB_BUILD/tests/harness/bwl-vici
declare -A CHARON_PID=()

charon_require() {
	[[ -x $CHARON ]] && command -v swanctl >/dev/null && return
	echo "needs strongSwan (Debian: charon-systemd, strongswan-swanctl)"
	exit 77
}
charon_dir() { echo "$LAB_TMP/charon-$1"; }
charon_socket() { echo "$LAB_TMP/charon-$1/vici"; }

# Writes the configuration and starts it. Existing files in the directory stay (restarts).
charon_up() { # name namespace [line of strongswan.conf]…
	local name=$1 ns=$2 dir
	dir=$(charon_dir "$name")
	shift 2
	mkdir -p "$dir"/swanctl/{x509,x509ca,x509crl,private,conf.d}
	rm -f "$dir/vici"
	echo 'include conf.d/*.conf' >"$dir/swanctl/swanctl.conf"
	cat >"$dir/strongswan.conf" <<-END
	charon-systemd {
		filelog {
			log {
				path = $dir/log
				default = 1
				flush_line = yes
			}
		}
		plugins {
			include /etc/strongswan.d/charon/*.conf
			vici { socket = unix://$dir/vici }
		}
	}
	include $LAB_HERE/../../ipsec/bwlimit.conf
	charon-systemd {
		$(printf '%s\n' "$@")
	}
	swanctl {
		plugins {
			include /etc/strongswan.d/charon/*.conf
			vici { socket = unix://$dir/vici }
		}
	}
	END
	STRONGSWAN_CONF=$dir/strongswan.conf lab_bg "charon-$name.out" "$ns" "$CHARON"
	CHARON_PID[$name]=$LAB_PID
	lab_wait_for 60 "$VICI" "$dir/vici" version && return
	echo "# charon $name did not start"
	sed 's/^/# /' "$LAB_TMP/charon-$name.out.err" "$dir/log"
	return 1
}
has_ended() { [[ ! -e /proc/$1 || $(cut -d" " -f3 "/proc/$1/stat") == Z ]]; }
# As `systemctl stop`, which kills what does not end: strongSwan 5.9.8 may wait for ever in the destructor of its VICI
# plugin for a connection whose thread was cancelled.
charon_down() { # name
	local pid=${CHARON_PID[$1]}
	kill -CONT "$pid" 2>/dev/null
	kill -TERM "$pid" 2>/dev/null
	lab_wait_for 15 has_ended "$pid" || { note "charon $1 does not end by itself"; kill -KILL "$pid" 2>/dev/null; }
	wait "$pid" 2>/dev/null
	return 0
}
vici() { # name command [json]
	"$VICI" "$(charon_socket "$1")" "${@:2}"
}
# As the OOM killer would: charon's SAs stay in the kernel.
charon_kill() { # name
	kill -KILL "${CHARON_PID[$1]}" 2>/dev/null
	wait "${CHARON_PID[$1]}" 2>/dev/null
	return 0
}
# Searches what charon has logged since the last charon_mark.
charon_mark() { stat -c %s "$(charon_dir "$1")/log" >"$(charon_dir "$1")/mark"; }
charon_said() { # name regex
	grep -q -- "$2" <(tail -c +"$(($(cat "$(charon_dir "$1")/mark") + 1))" "$(charon_dir "$1")/log")
}
# Omits swanctl's messages about plugins that are not installed.
swan() { # name arguments of swanctl…
	STRONGSWAN_CONF=$(charon_dir "$1")/strongswan.conf SWANCTL_DIR=$(charon_dir "$1")/swanctl \
		swanctl "${@:2}" 2> >(grep -v '^plugin\|^opening directory' >&2)
}
