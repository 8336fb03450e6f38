// SPDX-License-Identifier: GPL-2.0-or-later
/* A question to the running bwlimitd: see bwl/agent.h. */
#include <sys/time.h>
#include <unistd.h>
#include "bwl/agent.h"
#include "ctl.h"

json_t *ctl_ask_agent(const struct ctl *c, const json_t *what, unsigned wait_s)
{
	struct sockaddr_un at, me = { .sun_family = AF_UNIX };
	struct timeval wait = { .tv_sec = wait_s };
	char buf[BWL_AGENT_DATAGRAM];
	json_t *answer = NULL;
	ssize_t n = -1;
	size_t len = json_dumpb(what, buf, sizeof(buf), JSON_COMPACT);
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return NULL;
	/* an address by which to be answered: the kernel picks one */
	if (!bwl_agent_address(c->pin_dir, &at, NULL) &&
	    !bind(fd, (struct sockaddr *)&me, sizeof(me.sun_family)) &&
	    !connect(fd, (struct sockaddr *)&at, sizeof(at)) &&
	    !setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait)) &&
	    len <= sizeof(buf) && send(fd, buf, len, MSG_DONTWAIT | MSG_NOSIGNAL) > 0)
		n = recv(fd, buf, sizeof(buf), 0);
	if (n > 0)
		answer = json_loadb(buf, (size_t)n, 0, NULL);
	close(fd);
	return answer;
}
