# SPDX-License-Identifier: GPL-2.0-or-later
# shellcheck shell=bash
# Tools of an earlier commit: source this after lab.sh.

# The commit of the last version. All tests of two versions ask for OLD_FLEET, so that it is built once.
OLD_FLEET_COMMIT=539d1420
OLD_FLEET=(agent/bwlimitd sync/bwlimit-sync fleet/controller/bwlimit-controller)

# Builds bwlimit-load and bwlimit-ctl of a commit, and programs given as FOLDER/NAME, once below the build directory:
# all tests of a commit must ask for the same programs. OLD_TOOLS=DIR: they are taken from DIR/COMMIT if they are there, otherwise
# built there. Prints their directory. Returns 77 if the history does not have the commit. They are not optimised: they
# run for seconds, and compiling them would take twice as long. Their BPF programs are, as ever.
old_tools() { # commit [FOLDER/NAME…]
	local source=${BWL_SOURCE:-$LAB_HERE/../..} commit=$1
	local dir=${OLD_TOOLS:-$LAB_BUILD/old}/$commit at all=1
	local programs=(loader/bwlimit-load ctl/bwlimit-ctl "${@:2}")
	mkdir -p "$dir" || return
	(
		exec 9>"$dir/lock"
		flock 9
		for at in "${programs[@]}"; do [[ -x $dir/${at##*/} ]] || all=''; done
		[[ -z $all ]] || exit 0
		git() { command git -c safe.directory='*' -C "$source" "$@"; }
		git cat-file -e "$commit^{commit}" 2>/dev/null || exit 77
		rm -rf "$dir/tree"
		mkdir "$dir/tree"
		git archive "$commit" | tar -x -C "$dir/tree" || exit 1
		{
			cmake -S "$dir/tree" -B "$dir/tree/build" -G Ninja \
				-DCMAKE_BUILD_TYPE= -DCMAKE_C_FLAGS='-O0 -DNDEBUG' -DBWL_TESTS=OFF &&
				cmake --build "$dir/tree/build" --target "${programs[@]##*/}"
		} >"$dir/log" 2>&1 || exit 1
		for at in "${programs[@]}"; do mv "$dir/tree/build/$at" "$dir" || exit 1; done
		rm -rf "$dir/tree"
	) || return
	echo "$dir"
}
# Sets OLD to the tools of the last version. Where the history lacks it that is skipped, and 77 returned, except in a long run;
# tools that are not built are a failure, and 1.
# shellcheck disable=SC2034 # OLD is for who sources this
old_wanted() { # sentence
	local rc
	OLD=$(old_tools "$OLD_FLEET_COMMIT" "${OLD_FLEET[@]}") && return
	rc=$?
	if [[ $rc -eq 77 ]] && ! long; then
		skip "$1" "no commit $OLD_FLEET_COMMIT in this clone"
		return 77
	fi
	[[ $rc -ne 77 ]] || note "no commit $OLD_FLEET_COMMIT in this clone"
	[[ $rc -eq 77 ]] || note "$(tail -n 20 "${OLD_TOOLS:-$LAB_BUILD/old}/$OLD_FLEET_COMMIT/log")"
	nok "$1: the tools of $OLD_FLEET_COMMIT are built"
	return 1
}
