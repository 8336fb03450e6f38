// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes the newest result of verify to a file in /run/bwlimit, for members of bwlimit-read, so
 * that checking whether every promise holds does not need root. It is only data for people and
 * their monitoring.
 */
#include <stdlib.h>
#include <unistd.h>
#include "bwl/agent.h"
#include "bwl/cleanup.h"
#include "bwl/for_readers.h"
#include "verify.h"

void bwl_verify_keep(const char *pin_dir, const json_t *doc)
{
	BWL_AUTO_FREE char *text = NULL;
	struct sockaddr_un at;
	struct bwl_err e;

	if (geteuid() || bwl_agent_address(pin_dir, BWL_VERIFIED, &at, NULL))
		return;
	if (bwl_run_dir_make())
		return;
	text = bwl_must(json_dumps(doc, JSON_COMPACT));
	bwl_for_readers_put(at.sun_path, text, &e);
}
