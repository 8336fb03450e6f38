// SPDX-License-Identifier: GPL-2.0-or-later
/* Which policy is desired: see desired.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <bwl/desired.h>

static const char *said(const char *name, const char *otherwise)
{
	const char *s = getenv(name);

	return s && *s ? s : otherwise;
}

const char *bwl_state_dir(void)
{
	return said("BWLIMIT_STATE_DIR", BWL_STATE_DIR);
}

const char *bwl_source_file(void)
{
	return said("BWLIMIT_POLICY", "/etc/bwlimit/policy.yaml");
}

const char *bwl_desired_name(const char *file)
{
	return file ? bwl_policy_file_name(file) : "the desired policy";
}

const char *bwl_desired_path(const char *file, char buf[static BWL_DESIRED_PATH])
{
	if (file)
		return file;
	snprintf(buf, BWL_DESIRED_PATH, "%s/" BWL_ACCEPTED, bwl_state_dir());
	return access(buf, F_OK) && errno == ENOENT ? bwl_source_file() : buf;
}

int bwl_desired_load(const char *file, struct bwl_policy **ret, struct bwl_err *e)
{
	struct bwl_accepted a;
	int r;

	if (file)
		return bwl_policy_load(file, bwl_now_ns(), time(NULL), ret, e);
	bwl_accepted_look(bwl_state_dir(), &a);
	if (a.state == BWL_ACCEPTED_NONE) {
		bwl_info("bwlimitd has accepted no policy yet: using %s", bwl_source_file());
		return bwl_policy_load(bwl_source_file(), bwl_now_ns(), time(NULL), ret, e);
	}
	r = bwl_accepted_policy(&a, ret, e);
	if (a.state == BWL_ACCEPTED_DAMAGED && e)
		snprintf(e->file, sizeof(e->file), "%.200s/" BWL_ACCEPTED, bwl_state_dir());
	if (r)
		bwl_hint(
			e,
			"check %.100s, then pass it: bwlimit-load attach --policy FILE; a running bwlimitd stores it again",
			bwl_source_file());
	bwl_accepted_free(&a);
	return r;
}
