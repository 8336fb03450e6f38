// SPDX-License-Identifier: GPL-2.0-or-later
/* See verified.h. */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <bwl/agent.h>
#include <bwl/bytes.h>
#include <bwl/cleanup.h>
#include <bwl/for_readers.h>
#include "verified.h"

#define FILE_MAX (1U << 20)

static int open_it(const char *path, struct stat *st, struct bwl_err *e)
{
	int fd = bwl_for_readers_open(path, st, e);

	if (fd >= 0 || fd == -EBADMSG)
		return fd;
	bwl_fail(e, -fd, "no result of verify at %s: %s", path, strerror(-fd));
	return bwl_hint(e, "bwlimit-load verify, as root; bwlimit-verify.timer does it");
}

static void take_first(const json_t *checks, struct bwl_verified *ret)
{
	const json_t *check;
	size_t i;

	json_array_foreach(checks, i, check)
	{
		const char *result = json_string_value(json_object_get(check, "result")),
			   *text = json_string_value(json_object_get(check, "text"));

		if (!result || strcmp(result, "fail") || !text)
			continue;
		snprintf(ret->first, sizeof(ret->first), "%s", text);
		return;
	}
}

int bwl_verified(const char *pin_dir, struct bwl_verified *ret, struct bwl_err *e)
{
	BWL_AUTO_CLOSE int fd = -1;
	BWL_AUTO_FREE char *text = NULL;
	struct sockaddr_un at;
	struct stat st;
	size_t len;
	json_t *o;
	int failed, warned;
	int r = bwl_agent_address(pin_dir, BWL_VERIFIED, &at, e);

	*ret = (struct bwl_verified){ 0 };
	if (r)
		return r;
	fd = open_it(at.sun_path, &st, e);
	if (fd < 0)
		return fd;
	r = bwl_bytes_read(fd, FILE_MAX, &text, &len, e);
	if (r)
		return r;
	o = json_loadb(text, len, 0, NULL);
	r = json_unpack(o, "{s:i, s:i}", "failed_count", &failed, "warned_count", &warned) ||
	    failed < 0 || warned < 0;
	if (!r) {
		ret->at_s = st.st_mtime;
		ret->failed = (unsigned)failed;
		ret->warned = (unsigned)warned;
		take_first(json_object_get(o, "checks"), ret);
	}
	json_decref(o);
	return r ? bwl_fail(e, EBADMSG, "%s is not a result of verify", at.sun_path) : 0;
}
