// SPDX-License-Identifier: GPL-2.0-or-later
/* Printing events, counting lost ones, and the reader's lock: see bwl/events.h. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include "bwl/events.h"
#include "bwl/model.h"

json_t *bwl_event_doc(const struct bwl_pins *p, const struct bwl_event *e)
{
	json_t *o = bwl_doc("event");
	char when[BWL_TIME_BUF];

	json_object_set_new(o, "time", json_string(bwl_utc_boot(e->time_ns, when)));
	json_object_set_new(o, "event", json_string(bwl_event_name(e->kind)));
	json_object_update_new(o, bwl_json_packet(p, e));
	return o;
}

json_t *bwl_event_lost_doc(uint64_t lost, uint64_t behind)
{
	json_t *o = bwl_doc("event-lost");

	json_object_set_new(o, "lost_count", bwl_json_u64(lost));
	json_object_set_new(o, "behind_count", bwl_json_u64(behind));
	return o;
}

int bwl_event_losses(const struct bwl_pins *p, struct bwl_event_losses *ret, struct bwl_err *e)
{
	struct bwl_event_count n;
	int r = 0;

	memset(ret, 0, sizeof(*ret));
	for (uint32_t port = 0; port < BWL_MAX_PORTS && !r; port++) {
		/* 0 also stands for interfaces that are not ports */
		if (port && !p->dev[port].ifindex && !*p->dev[port].name)
			continue;
		for (uint32_t kind = 0; kind < _BWL_EVENT_MAX && !r; kind++) {
			r = bwl_event_counted(p, kind, port, &n, e);
			ret->n[kind][port] = r ? 0 : n.lost;
		}
	}
	return r;
}

uint64_t bwl_event_lost_between(const struct bwl_event_filter *f, const struct bwl_pins *p,
				const struct bwl_event_losses *from,
				const struct bwl_event_losses *to)
{
	uint64_t n = 0;

	for (uint32_t kind = 0; kind < _BWL_EVENT_MAX; kind++)
		for (uint32_t port = 0; port < BWL_MAX_PORTS; port++)
			if (to->n[kind][port] > from->n[kind][port] &&
			    bwl_filter_has(f, p, kind, port))
				n += to->n[kind][port] - from->n[kind][port];
	return n;
}

int bwl_event_lock(const struct bwl_pins *p, int *ret_fd, struct bwl_err *e)
{
	BWL_AUTO_CLOSE int fd = -1;
	char path[sizeof(p->dir) + 8];

	*ret_fd = -1;
	snprintf(path, sizeof(path), "%s/maps", p->dir);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return bwl_fail(e, errno, "cannot open %s: %s", path, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB))
		return bwl_fail(e, errno == EWOULDBLOCK ? EBUSY : errno,
				"another process is reading the events already");
	*ret_fd = bwl_take_fd(&fd);
	return 0;
}
