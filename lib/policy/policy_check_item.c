// SPDX-License-Identifier: GPL-2.0-or-later
/* Common to the checks of several parts of a policy: names, limits, prefixes, and their places. */
#include <errno.h>
#include <string.h>
#include "policy_check.h"
#include "bwl/units.h"

bool bwl_check_name(const char *s, size_t max)
{
	size_t n = strlen(s);

	return n && n <= max && s[0] != '-' &&
	       strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == n;
}

void bwl_check_at(struct bwl_check *c, const char *section, size_t index, const char *key,
		  unsigned line)
{
	c->w.n = 0;
	bwl_place_key(&c->w, section);
	if (index != SIZE_MAX)
		bwl_place_index(&c->w, index);
	if (key)
		bwl_place_key(&c->w, key);
	c->line = line;
}

void bwl_check_peer_at(struct bwl_check *c, size_t i, const char *key, const char *below)
{
	bwl_check_at(c, "peers", i, key, c->p->peers[i].line);
	bwl_place_key(&c->w, below);
}

void bwl_check_tell(struct bwl_check *c, int r)
{
	if (r && !c->e->line)
		c->e->line = c->line; /* if there is no text to look it up */
	bwl_tell(c->rep, &c->w, r);
}

void bwl_check_words(char *buf, size_t size, const char *a, const char *sep, const char *b)
{
	char *end = stpncpy(buf, a, size - 1);

	if (*b && end < buf + size - 1)
		end = stpncpy(end, sep, buf + size - 1 - end);
	if (*b && end < buf + size - 1)
		end = stpncpy(end, b, buf + size - 1 - end);
	*end = '\0';
}

static int check_burst(struct bwl_check *c, const struct bwl_lim *l, const char *who, bool sure)
{
	char a[BWL_UNIT_BUF];

	if (!l->burst)
		return 0;
	if (l->burst < BWL_MIN_BURST || l->burst > BWL_MAX_BURST)
		return bwl_fail(c->e, ERANGE,
				"%s: burst %s: a burst is %llub (one full frame) to 1tb", who,
				bwl_format_size(l->burst, a), BWL_MIN_BURST);
	if (l->rate_bps == BWL_NO_RATE)
		return sure ? bwl_fail(c->e, EINVAL, "%s: rate is missing: burst needs it", who)
			    : 0;
	if (l->burst < BWL_GSO_BURST)
		bwl_policy_warn(
			c->p, c->file, c->line,
			"%s: burst %s is less than one GSO packet: TCP of hosts that use GSO stalls; 72kb carries them all",
			who, bwl_format_size(l->burst, a));
	return 0;
}

static int check_volume(struct bwl_check *c, const struct bwl_lim *l, const char *who)
{
	char a[BWL_UNIT_BUF];

	if (l->has_volume && l->volume > BWL_MAX_VOLUME)
		return bwl_fail(c->e, ERANGE, "%s: a volume is 0 to 4096pb", who);
	if (l->has_volume && l->window_ns && l->window_ns < BWL_WINDOW_MIN_NS)
		return bwl_fail(c->e, ERANGE,
				"%s: window %s: the window of a volume is 11s to 36500d", who,
				bwl_format_time(l->window_ns, a));
	return 0;
}

void bwl_check_limit(struct bwl_check *c, const struct bwl_lim *l, const char *who,
		     const char *what, bool may_be_empty)
{
	unsigned back = c->w.n;
	char full[96], a[BWL_UNIT_BUF];
	bool sure;

	if (!l->present)
		return;
	bwl_check_words(full, sizeof(full), who, ": ", what);
	if (!may_be_empty && bwl_lim_is_empty(l) && bwl_sure_of(c->rep, &c->w, "rate") &&
	    bwl_sure_of(c->rep, &c->w, "volume"))
		BWL_BAD(c, EINVAL, "%s is empty: give rate, volume or both", full);
	sure = !l->burst || bwl_sure_of(c->rep, &c->w, "rate");
	bwl_place_key(&c->w, "rate");
	if (l->rate_bps != BWL_NO_RATE &&
	    (l->rate_bps < BWL_RATE_MIN_BPS || l->rate_bps > BWL_RATE_MAX_BPS))
		BWL_BAD(c, ERANGE, "%s: rate %s: a rate is 1kbit to 100tbit", full,
			bwl_format_rate(l->rate_bps, a));
	c->w.n = back;
	bwl_place_key(&c->w, "burst");
	bwl_check_tell(c, check_burst(c, l, full, sure));
	c->w.n = back;
	bwl_place_key(&c->w, "volume");
	bwl_check_tell(c, check_volume(c, l, full));
	c->w.n = back;
}

void bwl_check_prefixes(struct bwl_check *c, const struct bwl_pfx *list, size_t n, const char *key,
			const char *who)
{
	unsigned back = c->w.n;
	char text[64];

	for (size_t i = 0; i < n; i++) {
		enum bwl_range u = list[i].family ? bwl_pfx_range(&list[i]) : BWL_USABLE;

		if (u == BWL_USABLE)
			continue;
		bwl_place_key(&c->w, key);
		bwl_place_index(&c->w, i);
		BWL_BAD(c, EINVAL, "%s: %s is %s: only unicast prefixes are accepted", who,
			bwl_pfx_format(&list[i], text, sizeof(text)), bwl_range_text[u]);
		c->w.n = back;
	}
}

bool bwl_check_has_uplink(const struct bwl_policy *p, const char *name)
{
	for (size_t i = 0; i < p->nuplinks; i++)
		if (!strcmp(p->uplinks[i], name))
			return true;
	return false;
}

bool bwl_check_has_port(const struct bwl_policy *p, const char *name, size_t before)
{
	for (size_t i = 0; i < before; i++)
		if (!strcmp(p->ports[i].name, name))
			return true;
	return false;
}

int bwl_check_zone_cmp(const void *a, const void *b)
{
	return strcmp((*(const struct bwl_pol_zone *const *)a)->name,
		      (*(const struct bwl_pol_zone *const *)b)->name);
}

uint64_t bwl_check_hash(const void *data, size_t n)
{
	uint64_t h = 0xcbf29ce484222325ULL;

	for (const uint8_t *b = data; n--; b++)
		h = (h ^ *b) * 0x100000001b3ULL;
	return h ^ (h >> 32);
}
