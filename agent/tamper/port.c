/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See port.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "bwl/pins.h"
#include "port.h"

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

/* By name, but only if it is that device: sysfs may be of another network namespace. */
static bool open_port(struct tamper_port *x, const struct bwl_dev *d)
{
	unsigned long ifindex = 0;
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/sys/class/net/%.15s", d->name);
	x->dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (x->dir < 0)
		return false;
	fd = open_in(x->dir, "ifindex");
	x->count = open_in(x->dir, "carrier_down_count");	/* kernel 4.16; takes no lock */
	if (fd >= 0 && number(fd, &ifindex) && ifindex == d->ifindex && number(x->count, &x->was))
		x->ifindex = d->ifindex;
	if (fd >= 0)
		close(fd);
	if (!x->ifindex && x->count >= 0)
		close(x->count);
	if (!x->ifindex)
		close(x->dir);
	return x->ifindex;
}

/* `carrier` waits for whoever is at work on links: asked only when something was lost. */
static enum tamper_loss judge(const struct tamper_port *x)
{
	enum tamper_loss loss = TAMPER_LOST;
	unsigned long up;
	int fd = open_in(x->dir, "carrier");

	errno = 0;
	if (fd >= 0 && number(fd, &up))
		loss = up ? TAMPER_KEPT : TAMPER_LOST;
	else if (fd >= 0 && errno == EINVAL)
		loss = TAMPER_SET_DOWN;
	if (fd >= 0)
		close(fd);
	return loss;
}

enum tamper_loss tamper_port_look(struct tamper_port *x, const struct bwl_dev *d)
{
	unsigned long now;

	if (x->ifindex && x->ifindex != d->ifindex)
		tamper_port_close(x);
	if (!x->ifindex) {
		if (!d->ifindex || bwl_now_ns() < x->retry_ns || open_port(x, d))
			return TAMPER_KEPT;
		x->retry_ns = bwl_now_ns() + SECOND_NS;
		return TAMPER_KEPT;
	}
	if (!number(x->count, &now)) {	/* gone: the kernel's news say so */
		tamper_port_close(x);
		return TAMPER_KEPT;
	}
	if (now == x->was)
		return TAMPER_KEPT;
	x->was = now;
	return judge(x);
}
