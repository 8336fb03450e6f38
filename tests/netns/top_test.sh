#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-or-later
# bwlimit-ctl top on a pseudo terminal of 80 and of 120 columns: its output, its keys, and that the
# terminal is restored, however it ends. Also --sort and --filter for pipes.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../harness" && pwd)
LAB=bwl-top-$$ LAB_DESTS=2
# shellcheck source=../harness/tap.sh
. "$here/tap.sh"
# shellcheck source=../harness/lab.sh
. "$here/lab.sh"
lab_up || exit 1
lab_attach || exit 1
long="a-peer-with-a-name-of-31-letters"
{
	echo "peers:"
	lab_peer busy 1 "grant: { rate: 100mbit, volume: 20gb }"
	lab_peer "${long:0:31}" 2 "grant: { rate: 1gbit }"
	for ((i = 10; i < 60; i++)); do
		echo "  - { name: peer-$i, addresses: [10.0.$i.0/24], path: clear, via: $LAB_VIA4, grant: { rate: 1mbit } }"
	done
} | lab_policy_head | lab_apply || exit 1
"$CTL" revoke peer-33 reason test >/dev/null 2>&1
echo "eth ip4 src=$HOST4 dst=$(lab_dest4 1) udp dport=9 fill=958" >"$LAB_TMP/frame"
lab_bg sender host sh -c 'exec "$@" <"$0"' "$LAB_TMP/frame" "$FRAMES" send h0 --gw "$(lab_mac dpu hpf0)" --seconds 900 --pps 1000

on_terminal() { # columns rows; steps on standard input
	cat >"$LAB_TMP/steps"
	in_dpu "$here/pty_top.py" "$1" "$2" "$LAB_TMP/steps" "$CTL" top --interval 200ms >"$LAB_TMP/said" 2>&1 && return
	sed 's/^/# /' "$LAB_TMP/said"
	return 1
}
check "at 80 columns it shows who sends, with its limit and what is used" on_terminal 80 24 <<-END
	wait lab: 52 peers
	first busy
	wait PASSES NOW
	wait 100mbit
	wait Mbit/s
	gone VOLUME USED
	wait 1 to 21 of 52, by now
	wait s sort  / filter  p pause  q quit
	key q
	end
END
check "at 120 columns volumes in full and ends as well" on_terminal 120 30 <<-END
	first busy
	wait VOLUME USED
	wait of 20 GiB
	wait ENDS
	wait never
	wait ${long:0:31}
	key q
	end
END
check "a window that grows has them, and one that shrinks has not" on_terminal 80 24 <<-END
	first busy
	gone VOLUME USED
	size 130 40
	wait VOLUME USED
	wait 1 to 37 of 52
	size 80 10
	wait 1 to 7 of 52
	gone VOLUME USED
	key q
	end
END
check "s takes another order, and at last the first one again" on_terminal 80 24 <<-END
	first busy
	key s
	wait by name
	first ${long:0:19}>
	key s
	wait by state
	first peer-33
	key s
	wait by passes
	first busy
	key s
	wait by limit
	first ${long:0:19}>
	key ssss
	wait by now
	first busy
	key q
	end
END
check "/ shows those whose name has a text, what was typed can be taken back, and Esc shows all" on_terminal 80 24 <<-END
	first busy
	key /peer-4x
	wait filter: peer-4x_
	gone peer-47
	key \x7f7\r
	wait 1 to 1 of 1, by now, with 'peer-47'
	first peer-47
	key /
	wait filter: peer-47_
	key \x1b
	wait 1 to 21 of 52
	key q
	end
END
check "arrows and pages go through the list" on_terminal 80 24 <<-END
	wait 1 to 21 of 52
	key \x1b[B
	wait 2 to 22 of 52
	key \x1b[6~
	wait 23 to 43 of 52
	key \x1b[6~
	wait 32 to 52 of 52
	key \x1b[B
	key \x1b[A
	wait 31 to 51 of 52
	key \x1b[5~\x1b[5~
	wait 1 to 21 of 52
	key \x1bOA
	wait 1 to 21 of 52
	key q
	end
END
check "p holds the picture, in which keys go on, and lets go" on_terminal 80 24 <<-END
	first busy
	key p
	wait PAUSED
	key s
	wait PAUSED  1 to 21 of 52, by name
	key p
	gone PAUSED
	key q
	end
END
for sig in INT TERM HUP; do
	check "the terminal is as it was after SIG$sig" on_terminal 80 24 <<-END
		first busy
		signal $sig
		end
	END
done
check "and after Ctrl-C" on_terminal 80 24 <<-END
	first busy
	key \x03
	end
END

# --- for pipes
names() { "$CTL" top --once --interval 200ms "$@" --json | jq -r '[.peers[].peer] | join(" ")'; }
check "--once is a table, without a terminal's marks" eval \
	'"$CTL" top --once --interval 200ms >"$LAB_TMP/out" && grep -q "^busy" "$LAB_TMP/out" && ! grep -q "$(printf "\033")" "$LAB_TMP/out"'
check "--filter chooses by a part of the name, whatever its case" eval '[[ $(names --filter PEER-4 --sort name) == "$(echo peer-4{0..9})" ]]'
check "--sort puts what is not live first" eval '[[ $(names --sort state --most 1) == peer-33 ]]'
check "or the highest limit" eval '[[ $(names --sort limit --most 2) == "${long:0:31} busy" ]]'
check "or what is used" eval '[[ $(names --sort used --most 1) == busy ]]'
sums() { "$CTL" top --once --interval 200ms "$@" --json | jq .passed_bytes; }
check "sums are of all peers, whatever the filter" eval '[[ $(sums --filter peer-4) -gt 0 ]]'
refute "another word is refused" eval '"$CTL" top --once --sort speed >"$LAB_TMP/out" 2>&1'
check "with those that there are" grep -q 'now, name, state, passes, limit, of, drops or used' "$LAB_TMP/out"
done_testing
