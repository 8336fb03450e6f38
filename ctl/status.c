// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `status`: what bwlimit-load prints. A user who may not open the maps asks bwlimitd, through
 * main.c.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "bwl/beside.h"
#include "ctl.h"

static int status(struct ctl *c, int argc, char **argv)
{
	char path[PATH_MAX], *words[6] = { "bwlimit-load", "status" };
	int r = ctl_only_opts(c, argc, argv, (const struct ctl_opt[]){ { NULL, NULL, NULL } });
	unsigned int n = 2;
	struct bwl_pins *p;

	if (r)
		return r;
	if (geteuid()) {
		r = bwl_pins_open(c->pin_dir, false, &p, &c->err);
		if (r)
			return r;
		bwl_pins_close(p);
	}
	if (c->json)
		words[n++] = "--json";
	if (c->pin_dir) {
		words[n++] = "--pin-dir";
		words[n++] = (char *)c->pin_dir;
	}
	bwl_beside("BWLIMIT_LOAD", words[0], path);
	execv(path, words);
	return bwl_fail(&c->err, errno, "cannot run %.200s: %s", path, strerror(errno));
}

const struct ctl_cmd ctl_status_cmds[] = {
	{ "status", NULL, "",
	  "What is attached where, and the state: policy, heartbeat, lease, journal",
	  "The same as `bwlimit-load status`. Members of the groups bwlimit and bwlimit-read ask bwlimitd.\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl status\n"
	  "  bwlimit-ctl status --json | jq .policy\n",
	  status },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
