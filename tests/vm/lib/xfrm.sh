# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034 # variables are for who sources this
# SAs and policies made by iproute2, and bwlimit's view of them, in the lab's DPU (lab.sh).

XFRM=$LAB_BUILD/tests/harness/bwl-xfrm
ME=192.0.2.1

# Prints words of `ip xfrm` for one line of a batch: direction, if_id, SPI, the other DPU.
words_sa() { # out|in if_id spi remote further…
	local from=$ME to=$4 replay=''
	[[ $1 == out ]] || from=$4 to=$ME replay='replay-window 64'
	echo "xfrm state add src $from dst $to proto esp spi $3 reqid $2 mode tunnel if_id $2" \
		"aead rfc4106(gcm(aes)) $KEY 128 $replay ${*:5}"
}
words_policy() { # in|fwd|out if_id remote family-prefix
	local from=$ME to=$3
	[[ $1 == out ]] || from=$3 to=$ME
	echo "xfrm policy add dir $1 src $4 dst $4 if_id $2" \
		"tmpl src $from dst $to proto esp reqid $2 mode tunnel"
}
KEY=0x$(printf '%072d' 7)
sa() { in_dpu ip -batch - < <(words_sa "$@"); }
sa_gone() { # to spi
	in_dpu ip xfrm state delete src "${3:-$ME}" dst "$1" proto esp spi "$2"
}
policy() { in_dpu ip -batch - < <(words_policy "$@"); }
policy_gone() { # dir if_id prefix
	in_dpu ip xfrm policy delete dir "$1" src "$3" dst "$3" if_id "$2"
}

# What the data plane reads.
tunnel() { # peer
	in_dpu "$CTL" peer show "$1" --json | jq -c .tunnel
}
is() { # peer jq-condition on .tunnel
	in_dpu "$CTL" peer show "$1" --json | jq -e ".tunnel | ($2)" >/dev/null
}
becomes() { lab_wait_for 20 is "$@"; } # peer condition
says() { # jq-condition on a line of the watcher
	jq -e "select($1)" <"$LAB_TMP/watch" >/dev/null 2>&1
}
alarms() { grep -q "$1" "$LAB_TMP/watch.err"; }
track() { # peer: what `ipsec track` prints about it
	in_dpu "$CTL" ipsec track --dry-run --json | jq -c ".peers[] | select(.peer == \"$1\")"
}
apply() { lab_policy_head < <(echo peers:; cat) | lab_apply; } # lines of peers on standard input
encrypted() { # name octet remote
	echo "  - { name: $1, addresses: [10.$2.0.0/16], ipsec: { remote: $3 }, grant: { rate: 1gbit, mode: police } }"
}
watch_up() {
	lab_bg watch dpu "$IPSECD" track --json
	WATCH=$LAB_PID
	lab_wait_for 20 listens
}
# Finds sockets of XFRM (protocol 6) that listen to groups: port id, groups, drops and inode.
listens() { in_dpu awk '$2 == 6 && $3 > 0 && $4 != "00000000"' /proc/net/netlink | grep_all .; }
lost() { # notifications that the watcher's socket dropped
	in_dpu cat /proc/net/netlink | awk -v inodes="$(find "/proc/$WATCH/fd" -printf '%l\n' | tr -dc '0-9\n' | tr '\n' ' ')" '
		BEGIN { split(inodes, a, " "); for (i in a) mine[a[i]] = 1 }
		$2 == 6 && mine[$10] { n += $9 } END { print n + 0 }'
}

attach() { # host-port options…
	in_dpu "$LOAD" attach --drill --fresh-volume --host "$1" --uplink p0 "${@:2}" \
		>"$LAB_TMP/attach" 2>&1 && return
	sed 's/^/# /' "$LAB_TMP/attach"
	return 1
}
