# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash disable=SC2034 # scripts that source this use its variables
# The tools of the last version: source this after lab.sh.

OLD_VERSION=0.3.0 OLD_COMMIT=539d1420
OLD_PROGRAMS=({loader/bwlimit-load,ctl/bwlimit-ctl,agent/bwlimitd,sync/bwlimit-sync,fleet/controller/bwlimit-controller})

# Builds the tools of a commit, once below the build directory. OLD_TOOLS=DIR: they are taken from DIR/COMMIT if they are there,
# otherwise built there. Prints their directory. Returns 77 if the history does not have the commit. They are not optimised: they
# run for seconds, and compiling them would take twice as long. Their BPF programs are, as ever.
old_tools() { # commit
	local source=${BWL_SOURCE:-$LAB_HERE/../..} commit=$1
	local dir=${OLD_TOOLS:-$LAB_BUILD/old}/$commit at all=1
	mkdir -p "$dir" || return
	(
		exec 9>"$dir/lock"
		flock 9
		for at in "${OLD_PROGRAMS[@]}"; do [[ -x $dir/${at##*/} ]] || all=''; done
		[[ -z $all ]] || exit 0
		git() { command git -c safe.directory='*' -C "$source" "$@"; }
		git cat-file -e "$commit^{commit}" 2>/dev/null || exit 77
		rm -rf "$dir/tree"
		mkdir "$dir/tree"
		git archive "$commit" | tar -x -C "$dir/tree" || exit 1
		{
			cmake -S "$dir/tree" -B "$dir/tree/build" -G Ninja \
				-DCMAKE_BUILD_TYPE= -DCMAKE_C_FLAGS='-O0 -DNDEBUG' -DBWL_TESTS=OFF &&
				cmake --build "$dir/tree/build" --target "${OLD_PROGRAMS[@]##*/}"
		} >"$dir/log" 2>&1 || exit 1
		for at in "${OLD_PROGRAMS[@]}"; do mv "$dir/tree/build/$at" "$dir" || exit 1; done
		rm -rf "$dir/tree"
	) || return
	echo "$dir"
}
# Sets OLD to the directory of $OLD_VERSION's tools. Where the history lacks them that is skipped, and 77 returned, except in a
# long run; tools that are not built are a failure, and 1.
old_wanted() { # sentence
	local rc
	OLD=$(old_tools "$OLD_COMMIT") && return
	rc=$?
	if [[ $rc -eq 77 ]] && ! long; then
		skip "$1" "no commit $OLD_COMMIT in this clone"
		return 77
	fi
	[[ $rc -ne 77 ]] || note "no commit $OLD_COMMIT in this clone"
	[[ $rc -eq 77 ]] || note "$(tail -n 20 "${OLD_TOOLS:-$LAB_BUILD/old}/$OLD_COMMIT/log")"
	nok "$1: the tools of $OLD_VERSION are built"
	return 1
}
# Which tools a test runs from then on: those of $OLD_VERSION, or this tree's.
NEW_LOAD=$LOAD NEW_CTL=$CTL NEW_AGENT=$AGENT
old() { LOAD=$OLD/bwlimit-load CTL=$OLD/bwlimit-ctl AGENT=$OLD/bwlimitd SYNC=$OLD/bwlimit-sync; }
new() { LOAD=$NEW_LOAD CTL=$NEW_CTL AGENT=$NEW_AGENT SYNC=$LAB_BUILD/sync/bwlimit-sync; }
