// SPDX-License-Identifier: GPL-2.0-or-later
/* Where the bwlimitd of a pin directory listens: see bwl/agent.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "bwl/agent.h"
#include "bwl/pins.h"

#define BPFFS "/sys/fs/bpf/"

int bwl_agent_address(const char *pin_dir, const char *ending, struct sockaddr_un *ret,
		      struct bwl_err *e)
{
	const char *dir = bwl_pin_dir(pin_dir);
	size_t start = sizeof(BWL_RUN_DIR "/") - 1;
	int n;

	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (!strncmp(dir, BPFFS, sizeof(BPFFS) - 1))
		dir += sizeof(BPFFS) - 1;
	n = snprintf(ret->sun_path, sizeof(ret->sun_path), BWL_RUN_DIR "/%s%s", dir, ending);
	if (n < 0 || (size_t)n >= sizeof(ret->sun_path))
		return bwl_fail(e, ENAMETOOLONG,
				"the pin directory's path is too long for a socket's name: %.200s",
				dir);
	for (char *s = ret->sun_path + start; *s; s++)
		if (*s == '/')
			*s = '-';
	return 0;
}

int bwl_run_dir_make(void)
{
	return !mkdir(BWL_RUN_DIR, 0711) && chmod(BWL_RUN_DIR, 0711) ? -errno : 0;
}

bool bwl_agent_is_sealed(int doc)
{
	int seals = fcntl(doc, F_GET_SEALS);

	return seals >= 0 && (seals & BWL_AGENT_SEALS) == BWL_AGENT_SEALS;
}
