# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# A cluster of etcd in network namespaces, for tests. Source tap.sh before it, and set its directory: ETCD_DIR.
#
# Each member has a namespace and a cable to the namespace `net`, where the agents are; cut() and
# heal() unplug cables and plug them in again. Certificates are made here: an authority for clients and
# members, root, and one for each tray.
#
# BWL_ETCD names the folder of an etcd that runs for several tests (etcd_shared.sh). A test that wants one member without
# options of its own joins it, by a cable of its own, and gets a PREFIX and an ETCD_HERE (the address of its `net`) of its
# own; its trays' roles are limited to that prefix. Users are named by their certificates, and a tray's certificate has its
# name, so a user has the roles of all tests that have one of that name: what a user may not do at another prefix, or after it
# was deleted, needs an etcd of the test's own. Otherwise, and in a test run by hand, it starts its own.

: "${ETCD_DIR:?a folder for the cluster}"
# shellcheck source=pause.sh
. "${BASH_SOURCE[0]%/*}/pause.sh"
ETCD_N=${ETCD_N:-3} ETCD_HERE=10.77.1.1 ETCD_SEAT=''
if [[ $ETCD_N -eq 1 && ${BWL_ETCD-} ]] && read -r ETCD_SHARED <"$BWL_ETCD/pid" && [[ -e /proc/$ETCD_SHARED/exe ]]; then
	for ETCD_SEAT in {10..250} ''; do ! mkdir "$BWL_ETCD/seat-$ETCD_SEAT" || break; done
	[[ -z $ETCD_SEAT ]] || PREFIX=/bwl/seat-$ETCD_SEAT ETCD_HERE=10.77.1.$ETCD_SEAT
fi 2>/dev/null
etcd_ns() { # member, or another name
	if [[ $ETCD_SEAT && $1 == 1 ]]; then echo "bwl-etcd-$ETCD_SHARED"; else echo "bwl-store-$$-$1"; fi
}
etcd_url() { echo "https://10.77.$1.2:2379"; } # member
etcd_urls() { # of all
	local i urls=
	for ((i = 1; i <= ETCD_N; i++)); do urls+=${urls:+,}$(etcd_url "$i"); done
	echo "$urls"
}
in_net() { nsenter --net="/run/netns/$(etcd_ns net)" "$@"; }

# name: a certificate with this CommonName, which is the etcd user
etcd_cert() { # name [subjectAltName]
	local name=$1 at=$ETCD_DIR/pki
	openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$name" \
		-keyout "$at/$name.key" -out "$at/$name.csr" 2>/dev/null &&
		openssl x509 -req -in "$at/$name.csr" -CA "$at/ca.pem" -CAkey "$at/ca.key" -CAcreateserial \
			-days 2 -out "$at/$name.pem" 2>/dev/null \
			-extfile <(echo "subjectAltName=${2:-DNS:$name}")
}
etcd_pki() {
	mkdir -p "$ETCD_DIR/pki"
	[[ -z $ETCD_SEAT ]] || { cp "$BWL_ETCD/pki/"{ca,root}.{pem,key} "$ETCD_DIR/pki"; return; }
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=test-ca \
		-keyout "$ETCD_DIR/pki/ca.key" -out "$ETCD_DIR/pki/ca.pem" 2>/dev/null
	local i
	for ((i = 1; i <= ETCD_N; i++)); do etcd_cert "m$i" "IP:10.77.$i.2,IP:127.0.0.1"; done
	etcd_cert root
}

# Namespaces: a star, the members around `net`, which forwards between them.
etcd_net() {
	local i ns net
	net=$(etcd_ns net)
	ip netns add "$net" && ip -n "$net" link set lo up || return
	in_net sysctl -qw net.ipv4.ip_forward=1
	[[ -z $ETCD_SEAT ]] || { etcd_cable; return; }
	for ((i = 1; i <= ETCD_N; i++)); do
		ns=$(etcd_ns "$i")
		ip netns add "$ns"
		ip -n "$ns" link set lo up
		ip -n "$net" link add "to$i" type veth peer name eth0 netns "$ns"
		ip -n "$net" addr add "10.77.$i.1/24" dev "to$i"
		ip -n "$net" link set "to$i" up
		ip -n "$ns" addr add "10.77.$i.2/24" dev eth0
		ip -n "$ns" link set eth0 up
		ip -n "$ns" route add default via "10.77.$i.1"
	done
}
etcd_cable() { # to the bridge of the shared one, where no test reaches another one's
	local net
	net=$(etcd_ns net)
	ip -n "$net" link add to1 type veth peer name "seat$ETCD_SEAT" netns "$(etcd_ns 1)" &&
		ip -n "$net" addr add "$ETCD_HERE/24" dev to1 && ip -n "$net" link set to1 up &&
		ip -n "$(etcd_ns 1)" link set "seat$ETCD_SEAT" up master br0 &&
		ip -n "$(etcd_ns 1)" link set "seat$ETCD_SEAT" type bridge_slave isolated on
}
cut() { ip -n "$(etcd_ns net)" link set "to$1" down; } # member
heal() { ip -n "$(etcd_ns net)" link set "to$1" up; }

declare -A ETCD_PID
# A member, in place of this shell. Further arguments are etcd's options.
etcd_run() { # member [option…]
	local i=$1 j at="$ETCD_DIR/pki" peers=""
	shift
	for ((j = 1; j <= ETCD_N; j++)); do peers+="${peers:+,}m$j=https://10.77.$j.2:2380"; done
	exec nsenter --net="/run/netns/$(etcd_ns "$i")" "${ETCD_IN[@]}" etcd --name "m$i" --data-dir "$ETCD_DIR/data$i" \
		--initial-cluster "$peers" --initial-cluster-state new \
		--initial-advertise-peer-urls "https://10.77.$i.2:2380" \
		--listen-peer-urls "https://10.77.$i.2:2380" \
		--advertise-client-urls "$(etcd_url "$i")" --listen-client-urls "$(etcd_url "$i")" \
		--client-cert-auth --trusted-ca-file "$at/ca.pem" --cert-file "$at/m$i.pem" --key-file "$at/m$i.key" \
		--peer-client-cert-auth --peer-trusted-ca-file "$at/ca.pem" --peer-cert-file "$at/m$i.pem" \
		--peer-key-file "$at/m$i.key" --heartbeat-interval 100 --election-timeout 1000 \
		--logger zap --log-level warn "$@" >>"$ETCD_DIR/m$i.log" 2>&1
}
ETCD_IN=() # a command that runs it
etcd_start() { # member [option…]
	etcd_run "$@" &
	ETCD_PID[$1]=$!
}
etcd_kill() { # member
	kill -9 "${ETCD_PID[$1]}" 2>/dev/null
	wait "${ETCD_PID[$1]}" 2>/dev/null
	unset "ETCD_PID[$1]"
}

# etcdctl as one of the users.
etcdctl_as() { # name word…
	local name=$1 i urls=""
	shift
	for i in "${!ETCD_PID[@]}"; do urls+="${urls:+,}$(etcd_url "$i")"; done
	ETCDCTL_API=3 in_net etcdctl --endpoints "${ETCD_AT:-$urls}" --cacert "$ETCD_DIR/pki/ca.pem" \
		--cert "$ETCD_DIR/pki/$name.pem" --key "$ETCD_DIR/pki/$name.key" --command-timeout 10s \
		--dial-timeout 5s "$@"
}
# A user of that certificate. In a shared etcd a user of that name may be there, with roles for other tests' prefixes.
etcd_user() { # name role
	etcd_cert "$1" "${3:-}" && { etcdctl_as root user add "$1" --no-password 2>/dev/null || [[ $ETCD_SEAT ]]; } &&
		etcdctl_as root user grant-role "$1" "$2"
}
# A tray may read documents for all and for itself, and write its own statuses: only these keys.
etcd_tray() { # tray
	local p=${PREFIX:-/bwl/v1} key role=${ETCD_SEAT:+$ETCD_SEAT-}$1
	etcdctl_as root role add "$role" &&
		etcdctl_as root role grant-permission "$role" read "$p/all/" --prefix=true &&
		etcdctl_as root role grant-permission "$role" read "$p/part/" --prefix=true &&
		etcdctl_as root role grant-permission "$role" read "$p/node/$1/in/" --prefix=true &&
		for key in alive at status; do
			etcdctl_as root role grant-permission "$role" write "$p/node/$1/out/$key" || return
		done &&
		etcd_user "$1" "$role"
}
etcd_auth() {
	[[ -z $ETCD_SEAT ]] || return 0
	etcdctl_as root user add root --no-password &&
		etcdctl_as root user grant-role root root &&
		etcdctl_as root auth enable
}
# Waits for a condition, within bounds, and retries as soon as possible. Three minutes are enough for any
# machine; the time it took is in $AWAITED, for a note.
await() { # seconds command…
	local begin=$SECONDS most=$(($1 > 180 ? $1 : 180)) asked
	shift
	until asked=${EPOCHREALTIME/[.,]/} && "$@" >/dev/null 2>&1; do
		((SECONDS - begin < most)) || return 1
		pause_since 100000 "$asked"
	done
	# shellcheck disable=SC2034 # tests use it
	AWAITED=$((SECONDS - begin))
}
etcd_revision() { etcdctl_as root get -w json --keys-only --limit 1 --prefix "$PREFIX/" | jq .header.revision; }
# A watch in the background, in $ETCD_DIR/watch.
etcd_watch() { # name prefix [option…]
	: >"$ETCD_DIR/watch"
	etcdctl_as "$1" watch --prefix "${@:2}" >>"$ETCD_DIR/watch" 2>&1 &
	ETCD_WATCH=$!
}
# shellcheck disable=SC2046 # split into numbers
etcd_watch_end() { kill $(pgrep -P "$ETCD_WATCH") "$ETCD_WATCH"; wait "$ETCD_WATCH"; } 2>/dev/null
# The watch delivers what is put there; false: it was refused.
etcd_watch_brings() { # prefix
	local i
	for ((i = 0; i < 600; i++)); do
		grep -q '^PUT' "$ETCD_DIR/watch" && return 0
		kill -0 "$ETCD_WATCH" 2>/dev/null || return 1
		etcdctl_as root put "$1zz" x >/dev/null
		sleep 0.1
	done
	return 1
}
may_watch() { # name prefix
	etcd_watch "$@"
	etcd_watch_brings "$2"
	local r=$?
	etcd_watch_end
	return $r
}
# bwl-store (tests/harness/store.c), as root, at member MEMBER.
etcd_store() { # word…
	in_net "${LAB_BUILD:-$build}/tests/harness/bwl-store" "$(etcd_url "${MEMBER:-1}")" "$ETCD_DIR/pki/ca.pem" \
		"$ETCD_DIR/pki/root.pem" "$ETCD_DIR/pki/root.key" "$PREFIX" "$@"
}
# Publishes the document on standard input. On a busy machine a call takes longer than its 3 s, and tests waited in vain for
# documents that were not published: it is published again until the call succeeds.
etcd_publish() { # tray|- kind name
	cat >"$ETCD_DIR/document"
	await 120 etcd_publish_once "$@" || { note "$2 $3 is not published"; return 1; }
}
etcd_publish_once() { etcd_store publish "$@" <"$ETCD_DIR/document"; }
etcd_up() { # with all members; or joins the shared one
	local i
	etcd_pki && etcd_net || return
	if [[ $ETCD_SEAT ]]; then
		[[ $# -eq 0 ]] || { note 'options for an etcd that others use, too'; return 1; }
		ETCD_PID[1]=$ETCD_SHARED
		await 30 etcdctl_as root endpoint health
		return
	fi
	for ((i = 1; i <= ETCD_N; i++)); do etcd_start "$i" "$@"; done
	await 30 etcdctl_as root endpoint health
}
etcd_leader() { # while they elect one there is none: on a busy machine that takes seconds
	local i begin=$SECONDS
	while ((SECONDS - begin < 60)); do
		for i in "${!ETCD_PID[@]}"; do
			ETCD_AT=$(etcd_url "$i") etcdctl_as root endpoint status -w json 2>/dev/null |
				jq -e '.[0].Status | .leader == .header.member_id' >/dev/null && echo "$i" && return
		done
		sleep 0.2
	done
	return 1
}
etcd_down() {
	local i
	[[ -z $ETCD_SEAT ]] || { ip netns del "$(etcd_ns net)" 2>/dev/null; return; }
	for i in "${!ETCD_PID[@]}"; do etcd_kill "$i"; done
	for i in net $(seq "$ETCD_N"); do ip netns del "$(etcd_ns "$i")" 2>/dev/null; done
}
