/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See order.h. The folder is root's alone, so nobody else's datagram comes here. */
#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent.h"
#include "bwl/agent.h"
#include "order.h"

int order_open(const char *pin_dir, struct bwl_err *e)
{
	struct sockaddr_un at;
	int fd, r = bwl_agent_address(pin_dir, &at, e);

	if (r)
		return r;
	if (mkdir(BWL_RUN_DIR, 0700) && errno != EEXIST)
		return bwl_fail(e, errno, "cannot make %s: %s", BWL_RUN_DIR, strerror(errno));
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0)
		unlink(at.sun_path);	/* of one that was killed: the state directory is locked */
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) || chmod(at.sun_path, 0600)) {
		r = bwl_fail(e, errno, "cannot listen at %s: %s", at.sun_path, strerror(errno));
		if (fd >= 0)
			close(fd);
		return bwl_hint(e, "bwlimit-ctl tamper acts by itself");
	}
	return fd;
}

void order_close(int fd, const char *pin_dir)
{
	struct sockaddr_un at;

	if (fd < 0)
		return;
	if (!bwl_agent_address(pin_dir, &at, NULL))
		unlink(at.sun_path);
	close(fd);
}

static uint32_t find(const struct bwl_pins *p, const char *name)
{
	for (uint32_t id = 1; *name && id < p->schema.max_peers; id++)
		if (!strncmp(p->name[id].name, name, BWL_NAME_LEN))
			return id;
	return 0;
}

static json_t *tamper(struct bwl_pins *p, const json_t *ask)
{
	const char *why = json_string_value(json_object_get(ask, "tamper"));
	const char *peer = json_string_value(json_object_get(ask, "peer"));
	uint32_t id = peer ? find(p, peer) : 0;
	enum bwl_action did = BWL_ACTION_LOG;
	char text[300];

	if (!why || (peer && !id))
		return json_pack("{s:s}", "error", why ? "there is no such peer" : "not understood");
	snprintf(text, sizeof(text), "%s%.31s%s%.200s", peer ? "peer " : "", peer ? peer : "",
		 peer ? ": " : "", why);
	agent_tamper(p, &(struct agent_sign){ .input = BWL_TAMPER_command, .what = text, .peer = &id,
		     .npeers = id ? 1 : 0, .did = &did }, false);
	return json_pack("{s:s}", "action", bwl_action_name(did));
}

static void answer(int fd, const struct sockaddr_un *to, socklen_t len, json_t *o)
{
	char buf[BWL_AGENT_DATAGRAM];
	size_t n = o ? json_dumpb(o, buf, sizeof(buf), JSON_COMPACT) : 0;

	/* who does not wait for it needs none */
	if (n && n <= sizeof(buf))
		sendto(fd, buf, n, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)to, len);
	json_decref(o);
}

void order_read(int fd, struct bwl_pins *p)
{
	char buf[BWL_AGENT_DATAGRAM];
	struct sockaddr_un from;
	socklen_t len = sizeof(from);
	json_t *ask;
	ssize_t n;

	while ((n = recvfrom(fd, buf, sizeof(buf), 0, (struct sockaddr *)&from, &len)) >= 0) {
		ask = json_loadb(buf, (size_t)n, 0, NULL);
		answer(fd, &from, len, json_is_integer(json_object_get(ask, "lease")) ? lease_order(p, ask)
										   : tamper(p, ask));
		json_decref(ask);
		len = sizeof(from);
	}
}
