# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
#
# strongSwan's charon in namespaces of one kernel, one for each DPU, without systemd. Source after
# trays.sh. A test that uses this says `# vm-needs: strongswan`.
#
# DIR holds swanctl/ (swanctl.conf, x509/, private/ …) and gets strongswan.conf, charon.vici (the
# control socket), charon.log and pid. Put further lines for charon into DIR/charon.conf.

CHARON=${CHARON:-/usr/sbin/charon-systemd}
SWANCTL=${SWANCTL:-/usr/sbin/swanctl}

charon_start() { # namespace dir
	local ns=$1 dir=$2 pid
	mkdir -p "$dir/swanctl"/{conf.d,x509,x509ca,x509crl,private,rsa,ecdsa,pkcs8}
	touch "$dir/charon.conf"
	cat >"$dir/strongswan.conf" <<-END
	charon-systemd {
		install_routes = no
		plugins {
			include /etc/strongswan.d/charon/*.conf
			vici {
				socket = unix://$dir/charon.vici
			}
		}
		filelog {
			log {
				path = $dir/charon.log
				flush_line = yes
				time_format = %T
				default = 1
			}
		}
		include $dir/charon.conf
	}
	END
	# Without a socket of systemd to notify, charon-systemd runs in the foreground.
	STRONGSWAN_CONF=$dir/strongswan.conf SWANCTL_DIR=$dir/swanctl \
		nsenter --net="/run/netns/$LAB-$ns" "$CHARON" >"$dir/charon.out" 2>&1 &
	pid=$!
	LAB_PIDS+=("$pid")
	echo "$pid" >"$dir/pid"
	lab_wait_for 60 charon_swanctl "$ns" "$dir" --stats && return
	tail -n 20 "$dir/charon.out" "$dir/charon.log" 2>&1 | sed 's/^/# /'
	return 1
}
charon_swanctl() { # namespace dir arguments…
	local ns=$1 dir=$2 command=$3
	shift 3
	STRONGSWAN_CONF=$dir/strongswan.conf SWANCTL_DIR=$dir/swanctl \
		in_ns "$ns" timeout 60 "$SWANCTL" "$command" --uri "unix://$dir/charon.vici" "$@"
}
# Default: asked to end, so that it deletes its SAs; KILL leaves them to the kernel.
charon_stop() { # namespace dir [signal]
	local pid
	pid=$(<"$2/pid")
	kill "-${3:-TERM}" "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
	rm -f "$2/pid" "$2/charon.vici"
}
