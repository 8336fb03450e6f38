// SPDX-License-Identifier: GPL-2.0-or-later
/* Random policies: names and prefixes that move, split and merge, windows that shrink and grow. */
#include <stdio.h>
#include <string.h>
#include "sequence.h"

struct model *m;

const char *const name[NNAMES] = { "a", "b", "c", "d", "e", "f" };
const struct place places[] = {
	{ "10.1.0.2", "'fd00:1::2'", 0, 0 },        { "10.1.0.3", "'fd00:1::3'", 1, 1 },
	{ "10.1.0.4", "'fd00:1::4'", 2, 2 },        { "10.1.0.5", "'fd00:1::5'", 3, 3 },
	{ "10.1.0.2/31", "'fd00:1::2/127'", 0, 1 }, { "10.1.0.4/31", "'fd00:1::4/127'", 2, 3 },
	{ "10.1.0.0/29", "'fd00:1::/125'", 0, 3 },
};
const struct window window[] = {
	{ "", 0 },
	{ " per 11s", 11 * MODEL_SECOND },
	{ " per 1h", 3600 * MODEL_SECOND },
	{ " per 1d", 86400 * MODEL_SECOND },
};

uint64_t rnd(void)
{
	uint64_t z = (m->state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

unsigned below(unsigned n)
{
	return (unsigned)(rnd() % n);
}

/* Who has which destination: the narrowest place decides. */
static void name_dests(struct policy *p)
{
	unsigned i, d;

	for (d = 0; d < NDESTS; d++)
		p->name[d] = -1;
	for (i = NPLACES; i-- > 0;)
		for (d = places[i].first; p->of_place[i] >= 0 && d <= places[i].last; d++)
			p->name[d] = p->of_place[i];
}

void make(struct policy *p)
{
	bool used[NNAMES] = { false };
	unsigned i, n = 0;

	*p = (struct policy){ .any = true,
			      .window = m->windows[below(2)],
			      .zone = m->zones,
			      .zone_name = (int)below(3) };
	for (i = 0; i < NPLACES; i++) {
		unsigned k = below(NNAMES);

		p->of_place[i] = -1;
		if (below(3) || used[k])
			continue;
		used[k] = true;
		p->of_place[i] = (int)k;
		n++;
	}
	if (!n)
		make(p);
	name_dests(p);
}

void change(const struct policy *from, struct policy *ret)
{
	unsigned i, at = below(NPLACES);
	int to = (int)below(NNAMES);

	if (!from->any || !below(2)) {
		make(ret);
		return;
	}
	*ret = *from;
	if (below(2))
		ret->window = m->windows[below(2)];
	if (below(2))
		ret->zone_name = (int)below(3);
	for (i = 0; i < NPLACES && ret->of_place[i] != to; i++)
		;
	if (i == NPLACES && ret->of_place[at] >= 0)
		ret->of_place[at] = to;
	name_dests(ret);
}

bool has(const struct policy *p, int k)
{
	for (unsigned i = 0; p->any && i < NPLACES; i++)
		if (p->of_place[i] == k)
			return true;
	return false;
}

bool has_dest(const struct policy *p, int k, unsigned d)
{
	return p->any && p->name[d] == k;
}

/* Is the name, or one that is it renamed (it has exactly a prefix of that one), in both? */
bool goes_on(const struct policy *from, const struct policy *to, int k)
{
	for (unsigned i = 0; i < NPLACES; i++)
		if (to->of_place[i] == k && from->of_place[i] >= 0 && !has(to, from->of_place[i]))
			return true;
	return has(from, k);
}

/*
 * A destination that goes to a grant that was there before, and has not been used up, gets what
 * that one still may: two grants are merged, and neither passes more than its own. Not asked here.
 */
bool merges(const struct policy *from, const struct policy *to)
{
	for (unsigned d = 0; from->any && d < NDESTS; d++) {
		int x = from->name[d], y = to->name[d];

		if (x != y && y >= 0 && x >= 0 && goes_on(from, to, y))
			return true;
	}
	return false;
}

const char *text_of(const struct policy *p)
{
	static char text[4000];
	const char *w = window[p->window].text;
	unsigned volume = p->volume ? p->volume : MODEL_VOLUME;
	size_t n;

	n = (size_t)snprintf(text, sizeof(text),
			     "version: 1\nnode: model\nuplinks: [p0]\nhost_ports:\n"
			     "  - { dev: h0, sources: [10.0.7.0/24, fd00:7::/64] }\n"
			     "heartbeat: none\n");
	if (p->zone)
		n += (size_t)snprintf(
			text + n, sizeof(text) - n,
			"zones: { z%d: { rate: 10mbit, burst: 30000b, volume: %ub%s } }\n",
			p->zone_name, volume, w);
	n += (size_t)snprintf(text + n, sizeof(text) - n, "peers:\n");
	for (unsigned i = 0; i < NPLACES; i++) {
		if (p->of_place[i] < 0)
			continue;
		n += (size_t)snprintf(
			text + n, sizeof(text) - n,
			"  - { name: %s, addresses: [%s, %s], path: clear, via: 192.0.2.1, via6: 'fe80::1', ",
			name[p->of_place[i]], places[i].v4, places[i].v6);
		n += p->zone ? (size_t)snprintf(text + n, sizeof(text) - n,
						"zone: z%d, grant: { rate: 1tbit, burst: 1mb } }\n",
						p->zone_name)
			     : (size_t)snprintf(
				       text + n, sizeof(text) - n,
				       "grant: { rate: 10mbit, burst: 30000b, volume: %ub%s } }\n",
				       volume, w);
	}
	return text;
}

bool has_any(const struct policy *p, unsigned d)
{
	return p->any && p->name[d] >= 0;
}

struct bwl_policy *parsed(const struct policy *p)
{
	const char *text = text_of(p);
	struct bwl_policy *pol = NULL;
	struct bwl_err e = { 0 };

	if (bwl_policy_parse("model", text, strlen(text), level_now(), 1700000000, &pol, &e))
		broken("line %u: %s", e.line, e.text);
	return pol;
}
