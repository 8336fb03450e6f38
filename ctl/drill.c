// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `drill`: the evasions of tests/thief, installed with the tools, against one host port of a lab
 * that they create with this kernel and these programs. Real ports are not touched.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "ctl.h"

/* Relative to this program's directory: installed, or in a build tree. */
static const char *const places[] = { "../libexec/bwlimit/thief/run", "../../../tests/thief/run" };

static int drill(struct ctl *c, int argc, char **argv)
{
	bool list = false, verbose = false;
	const struct ctl_opt opts[] = {
		{ "--list", &list, NULL },
		{ "--verbose", &verbose, NULL },
		{ NULL, NULL, NULL },
	};
	char exe[PATH_MAX], path[PATH_MAX], build[PATH_MAX], *slash;
	char **args;
	int r, i, n = 0;
	ssize_t len;

	r = ctl_opts(c, &argc, argv, opts);
	if (r)
		return r;
	len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	if (len < 0)
		return bwl_fail(&c->err, errno, "cannot tell where this program is: %s",
				strerror(errno));
	exe[len] = 0;
	slash = strrchr(exe, '/');
	*slash = 0;
	args = calloc((size_t)argc + 5, sizeof(*args));
	if (!args)
		return bwl_fail(&c->err, ENOMEM, "out of memory");
	args[n++] = path;
	if (c->json)
		args[n++] = (char *)"--json";
	if (list)
		args[n++] = (char *)"--list";
	if (verbose)
		args[n++] = (char *)"--verbose";
	for (i = 0; i < argc; i++)
		args[n++] = argv[i];
	for (i = 0; i < (int)(sizeof(places) / sizeof(places[0])); i++) {
		if (snprintf(path, sizeof(path), "%s/%s", exe, places[i]) >= (int)sizeof(path) ||
		    access(path, X_OK))
			continue;
		if (i == 1 && snprintf(build, sizeof(build), "%s/..", exe) < (int)sizeof(build))
			setenv("BWL_BUILD", build, 1);
		fflush(stdout);
		execv(path, args);
	}
	free(args);
	bwl_fail(&c->err, ENOENT, "the drill is not installed: there is no %s/%s", exe, places[0]);
	return bwl_hint(&c->err,
			"cmake --install puts it there; in a source tree: tests/thief/run");
}

const struct ctl_cmd ctl_drill_cmds[] = {
	{ "drill", NULL, "[--list] [--verbose] [NAME…]",
	  "Try every known evasion against a host port, and report which held",
	  "Creates a lab of network namespaces with its own host port, with this kernel and these\n"
	  "programs; ports in use are not touched. Needs root, iproute2 and ethtool; takes minutes.\n"
	  "Exit code 0: every evasion was held back.\n\n"
	  "  --list      only list the evasions, and the promise that each attacks\n"
	  "  --verbose   print every check\n"
	  "  NAME        only evasions whose name contains NAME\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl drill\n"
	  "  bwlimit-ctl drill fragments vlan --json\n",
	  drill },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
