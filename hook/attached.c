// SPDX-License-Identifier: GPL-2.0-or-later
/* See attached.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bwl/agent.h>
#include <bwl/bytes.h>
#include "attached.h"

#define RECORD ".attached"

static bool has_magic(int fd, uint64_t *ret_layout)
{
	struct bwl_schema s = { 0 };
	uint32_t zero = 0;

	if (bpf_map_lookup_elem(fd, &zero, &s))
		return true; /* unknown: then nobody has detached */
	*ret_layout = s.layout;
	return s.magic;
}

/*
 * An upgrade stops the maps that it replaces, and names the new layout in the schema that is
 * pinned. It may also rename maps.
 */
static bool was_upgraded(const struct bwl_pins *p)
{
	uint64_t layout = p->schema.layout;
	char path[300];
	bool yes;
	int fd;

	snprintf(path, sizeof(path), "%s/maps/%s", p->dir, bwl_pin_name(BWL_PIN_schema));
	fd = bpf_obj_get(path);
	if (fd < 0)
		return false;
	yes = *(const volatile __u32 *)&p->ctl->stop == BWL_UPGRADING ||
	      (has_magic(fd, &layout) && layout != p->schema.layout);
	close(fd);
	return yes;
}

/* The first pin of these maps that is gone; NULL: none. */
static const char *missing(const struct bwl_pins *p)
{
	char path[300];

	for (int i = 0; i < _BWL_PIN_MAX; i++) {
		snprintf(path, sizeof(path), "%s/maps/%s", p->dir, bwl_pin_name(i));
		if (access(path, F_OK) && (errno == ENOENT || errno == ENOTDIR))
			return bwl_pin_name(i);
	}
	return NULL;
}

enum bwl_pins_end bwl_pins_end(const struct bwl_pins *p, struct bwl_err *e)
{
	const char *gone = missing(p);
	bool there = bwl_pins_are_there(p);
	uint64_t layout = 0;

	if (!gone && there)
		return BWL_PINS_THERE;
	if (!has_magic(p->fd[BWL_PIN_schema], &layout))
		return BWL_PINS_DETACHED;
	if (was_upgraded(p))
		return BWL_PINS_UPGRADED;
	if (gone)
		bwl_fail(e, ENOENT, "the pin %s/maps/%s was removed, and nobody has detached",
			 p->dir, gone);
	else
		bwl_fail(e, ENOENT, "other maps are pinned in %s, and nobody has detached", p->dir);
	return gone ? BWL_PINS_REMOVED : BWL_PINS_OTHER;
}

void bwl_attached_of(const struct bwl_pins *p, struct bwl_attached *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (unsigned i = 0; i < BWL_MAX_PORTS; i++) {
		const struct bwl_dev *d = &p->dev[i];

		if (!d->ifindex || d->kind != BWL_PORT_HOST)
			continue;
		ret->host[ret->n].ifindex = d->ifindex;
		snprintf(ret->host[ret->n++].name, sizeof(ret->host[0].name), "%.15s", d->name);
	}
}

bool bwl_attached_differ(const struct bwl_attached *a, const struct bwl_attached *b)
{
	return a->n != b->n || memcmp(a->host, b->host, a->n * sizeof(a->host[0]));
}

int bwl_attached_keep(const char *dir, const struct bwl_attached *a, struct bwl_err *e)
{
	char text[BWL_MAX_PORTS * 32];
	struct bwl_bytes part = { text, 0 };
	struct sockaddr_un at;
	int r = bwl_agent_address(dir, RECORD, &at, e);

	if (r)
		return r;
	for (unsigned i = 0; i < a->n; i++)
		part.len += (size_t)snprintf(text + part.len, sizeof(text) - part.len, "%u %s\n",
					     a->host[i].ifindex, a->host[i].name);
	r = bwl_run_dir_make();
	if (r)
		return bwl_fail(e, -r, "cannot make %s: %s", BWL_RUN_DIR, strerror(-r));
	return bwl_bytes_replace(BWL_RUN_DIR, strrchr(at.sun_path, '/') + 1, &part, 1, e);
}

int bwl_attached_read(const char *dir, struct bwl_attached *ret)
{
	struct sockaddr_un at;
	FILE *f;
	int r = bwl_agent_address(dir, RECORD, &at, NULL);

	memset(ret, 0, sizeof(*ret));
	if (r)
		return r;
	f = fopen(at.sun_path, "re");
	if (!f)
		return -errno;
	while (ret->n < BWL_MAX_PORTS &&
	       fscanf(f, "%u %15s", &ret->host[ret->n].ifindex, ret->host[ret->n].name) == 2)
		ret->n++;
	fclose(f);
	return 0;
}

void bwl_attached_forget(const char *dir)
{
	struct sockaddr_un at;

	if (!bwl_agent_address(dir, RECORD, &at, NULL))
		unlink(at.sun_path);
}
