// SPDX-License-Identifier: GPL-2.0-or-later
/* See link_carrier.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "bwl/cleanup.h"
#include "bwl/pins.h"
#include "link_carrier.h"

#define SECOND_NS 1000000000ULL

static bool number(int fd, unsigned long *ret)
{
	char text[24] = "";
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	if (n > 0)
		*ret = strtoul(text, NULL, 10);
	return n > 0;
}

static int open_in(int dir, const char *name)
{
	return openat(dir, name, O_RDONLY | O_CLOEXEC);
}

void tamper_port_close(struct tamper_port *x)
{
	if (x->ifindex) {
		close(x->dir);
		close(x->count);
	}
	*x = (struct tamper_port){ 0 };
}

/* By name, but only if it is the same device: sysfs may show another network namespace. */
static bool open_port(struct tamper_port *x, const struct bwl_dev *d)
{
	BWL_AUTO_CLOSE int dir = -1, index = -1, count = -1;
	unsigned long ifindex = 0;
	char path[64];

	snprintf(path, sizeof(path), "/sys/class/net/%.15s", d->name);
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return false;
	index = open_in(dir, "ifindex");
	if (index < 0 || !number(index, &ifindex) || ifindex != d->ifindex)
		return false;
	count = open_in(dir, "carrier_down_count"); /* since kernel 4.16; takes no lock */
	if (count < 0 || !number(count, &x->was))
		return false;
	x->dir = bwl_take_fd(&dir);
	x->count = bwl_take_fd(&count);
	x->ifindex = d->ifindex;
	return true;
}

/* Reading `carrier` waits for others who change links: so it is read only after a loss. */
static enum tamper_loss judge(const struct tamper_port *x)
{
	BWL_AUTO_CLOSE int fd = open_in(x->dir, "carrier");
	unsigned long up;

	if (fd < 0)
		return TAMPER_LOST;
	errno = 0;
	if (number(fd, &up))
		return up ? TAMPER_BACK : TAMPER_LOST;
	return errno == EINVAL ? TAMPER_SET_DOWN : TAMPER_LOST;
}

enum tamper_loss tamper_port_look(struct tamper_port *x, const struct bwl_dev *d)
{
	unsigned long now;

	if (x->ifindex && x->ifindex != d->ifindex)
		tamper_port_close(x);
	if (!x->ifindex) {
		if (!d->ifindex || (d->ifindex == x->failed && bwl_now_ns() < x->retry_ns) ||
		    open_port(x, d))
			return TAMPER_KEPT;
		x->failed = d->ifindex;
		x->retry_ns = bwl_now_ns() + SECOND_NS;
		return TAMPER_KEPT;
	}
	if (!number(x->count, &now)) { /* the device is gone: the kernel notifies of that */
		tamper_port_close(x);
		return TAMPER_KEPT;
	}
	if (now == x->was)
		return TAMPER_KEPT;
	x->was = now;
	return judge(x);
}
