// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds places in a policy file. The file is scanned before libcyaml reads it only if it may
 * contain what a fixed schema cannot describe (names of zones, host ports in a peer, `accept:
 * none`), and again to find the place of an error or a warning.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "policy_text.h"

static int on_line(void *arg, const struct bwl_node *n)
{
	struct bwl_policy *p = arg;

	if (n->depth != 2 || !n->path[0].key)
		return 0;
	if (n->is_key) {
		if (!strcmp(n->path[0].key, "zones"))
			for (size_t i = 0; i < p->nzones; i++)
				if (!strcmp(p->zones[i].name, n->scalar))
					p->zones[i].line = n->line;
	} else if (!n->path[1].key && !strcmp(n->path[0].key, "peers")) {
		if (n->path[1].index < p->npeers)
			p->peers[n->path[1].index].line = n->line;
	} else if (!n->path[1].key && !strcmp(n->path[0].key, "host_ports")) {
		if (n->path[1].index < p->nports)
			p->ports[n->path[1].index].line = n->line;
	}
	return 0;
}

void bwl_scan_lines(const char *text, size_t len, struct bwl_policy *p)
{
	bwl_scan(text, len, on_line, p, NULL);
}

struct collect {
	struct bwl_prescan *s;
	const char *text; /* a byte and a character position that correspond */
	size_t len, byte, character;
	char *copy;
	struct bwl_err *e;
};

int bwl_prescan_name(bool zone, const char *s, size_t n, struct bwl_err *e)
{
	if (zone && n >= BWL_MAX_ZONES - 1)
		return bwl_fail(e, EINVAL, "more than %d zones", BWL_MAX_ZONES - 1);
	if (zone && strlen(s) >= BWL_NAME_LEN)
		return bwl_fail(e, EINVAL, "the name of a zone has at most 31 characters");
	if (!zone && strlen(s) >= 16)
		return bwl_fail(e, EINVAL, "the name of a device has at most 15 characters");
	if (!zone && n >= BWL_MAX_PORTS)
		return bwl_fail(e, EINVAL, "ports: more than %d different host ports",
				BWL_MAX_PORTS);
	return 0;
}

static int fail_node(struct bwl_err *e, const struct bwl_node *n, int r)
{
	if (r && e) {
		e->line = n->line;
		e->column = n->column;
	}
	return r;
}

static int add_zone(struct collect *c, const struct bwl_node *n)
{
	int r = bwl_prescan_name(true, n->scalar, c->s->nzones, c->e);
	char(*z)[BWL_NAME_LEN];

	if (r)
		return fail_node(c->e, n, r);
	z = realloc(c->s->zones, (c->s->nzones + 1) * sizeof(*z));
	if (!z)
		return bwl_fail(c->e, ENOMEM, "out of memory");
	c->s->zones = z;
	strcpy(z[c->s->nzones++], n->scalar);
	return 0;
}

static int add_port(struct collect *c, const struct bwl_node *n)
{
	struct bwl_prescan *s = c->s;
	size_t i;
	int r;

	for (i = 0; i < s->nports; i++)
		if (!strcmp(s->ports[i], n->scalar))
			return 0;
	r = bwl_prescan_name(false, n->scalar, s->nports, c->e);
	if (r)
		return fail_node(c->e, n, r);
	if (!s->ports)
		s->ports = calloc(BWL_MAX_PORTS, sizeof(*s->ports));
	if (!s->ports)
		return bwl_fail(c->e, ENOMEM, "out of memory");
	strcpy(s->ports[s->nports++], n->scalar);
	return 0;
}

/* libyaml counts characters. Offsets rise, so all calls together are one pass over the text. */
static size_t byte_of(struct collect *c, size_t character)
{
	while (c->byte < c->len && c->character < character) {
		c->byte++;
		while (c->byte < c->len && ((unsigned char)c->text[c->byte] & 0xc0) == 0x80)
			c->byte++;
		c->character++;
	}
	return c->byte;
}

static int add_silent(struct collect *c, const struct bwl_node *n)
{
	size_t i = c->s->nsilent, at = byte_of(c, n->offset), *grown;

	if (!(i & (i - 1))) {
		grown = realloc(c->s->silent, (i ? 2 * i : 1) * sizeof(*grown));
		if (!grown)
			return bwl_fail(c->e, ENOMEM, "out of memory");
		c->s->silent = grown;
	}
	if (!c->copy) {
		c->copy = malloc(c->len + 1);
		if (!c->copy)
			return bwl_fail(c->e, ENOMEM, "out of memory");
		memcpy(c->copy, c->text, c->len);
		c->copy[c->len] = '\0';
	}
	if (at + 4 > c->len || memcmp(c->copy + at, "none", 4))
		return 0; /* `none` is not at this place: libcyaml will refuse the word */
	memcpy(c->copy + at, "{}  ", 4);
	c->s->silent[c->s->nsilent++] = n->path[1].index;
	return 0;
}

static int on_collect(void *arg, const struct bwl_node *n)
{
	struct collect *c = arg;

	if (n->depth < 2 || !n->path[0].key)
		return 0;
	if (n->is_key && n->depth == 2 && !strcmp(n->path[0].key, "zones"))
		return add_zone(c, n);
	if (n->is_key && n->depth == 4 && !strcmp(n->path[0].key, "peers") && !n->path[1].key &&
	    n->path[2].key && !strcmp(n->path[2].key, "ports"))
		return add_port(c, n);
	if (!n->is_key && n->depth == 3 && n->plain && n->scalar && !strcmp(n->scalar, "none") &&
	    !strcmp(n->path[0].key, "peers") && !n->path[1].key && n->path[2].key &&
	    !strcmp(n->path[2].key, "accept"))
		return add_silent(c, n);
	return 0;
}

/*
 * A cheap guess whether `accept: none` occurs. It misses odd spellings (escapes in quoted keys),
 * which libcyaml then refuses: a wrong guess changes the message, never the meaning.
 */
static bool may_say_accept_none(const char *text, size_t len)
{
	const char *p = text, *end = text + len;

	while ((p = memmem(p, end - p, "accept", 6))) {
		p += 6;
		while (p < end && strchr(" \t\r\n\"'?:", *p) && *p)
			p++;
		if (end - p >= 4 && !memcmp(p, "none", 4))
			return true;
	}
	return false;
}

/* `ports`, but not `host_ports`, which every policy has. It may miss odd spellings, too. */
static bool may_say_ports(const char *text, size_t len)
{
	const char *p = text, *end = text + len;

	while ((p = memmem(p, end - p, "ports", 5))) {
		if (p == text || p[-1] != '_')
			return true;
		p += 5;
	}
	return false;
}

/* Ends the scan after the mapping of zones if nothing else is wanted. */
static int on_zones_only(void *arg, const struct bwl_node *n)
{
	struct collect *c = arg;
	int r = on_collect(arg, n);

	if (!r && c->s->nzones && n->is_key && n->depth == 1)
		return 1;
	return r;
}

int bwl_prescan(const char **text, size_t len, char **copy, struct bwl_prescan *ret,
		struct bwl_err *e)
{
	struct collect c = { .s = ret, .text = *text, .len = len, .e = e };
	bool peers = may_say_accept_none(*text, len) || may_say_ports(*text, len);
	int r = 0;

	*copy = NULL;
	if (peers || memmem(*text, len, "zones", 5))
		r = bwl_scan(*text, len, peers ? on_collect : on_zones_only, &c, e);
	*copy = c.copy;
	if (c.copy)
		*text = c.copy;
	return r < 0 ? r : 0;
}

void bwl_prescan_done(struct bwl_prescan *s)
{
	free(s->zones);
	free(s->silent);
	free(s->ports);
	memset(s, 0, sizeof(*s));
}
