/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values that occur in many parts of a policy file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "policy_conv.h"
#include "bwl/units.h"

/* Steps down to a key; the caller steps back by assigning c->w.n. */
unsigned bwl_conv_down(struct bwl_conv *c, const char *key)
{
	unsigned n = c->w.n;

	bwl_place_key(&c->w, key);
	return n;
}

int bwl_conv_missing(struct bwl_conv *c, const char *key, const char *domain)
{
	return bwl_fail(c->e, EINVAL, "%s is missing: %s", key, domain);
}

/* Copies a name into a fixed array. Its characters are checked later, its length only here. */
int bwl_conv_name(struct bwl_conv *c, const char *key, const char *s, char *ret, size_t size)
{
	unsigned back;

	if (!s)
		return 0;
	back = bwl_conv_down(c, key);
	if (strlen(s) >= size)
		return bwl_fail(c->e, EINVAL, "'%.64s' is too long: at most %zu characters", s,
				size - 1);
	strcpy(ret, s);
	c->w.n = back;
	return 0;
}

static int take_burst(struct bwl_conv *c, const char *s, struct bwl_lim *l)
{
	unsigned back = bwl_conv_down(c, "burst");
	unsigned __int128 bytes;
	uint64_t ns;

	/* 1m is a mebibyte, as in tc(8); a burst of one minute is written as 60s */
	if (!bwl_parse_size(s, &l->burst, NULL)) {
		if (l->burst < BWL_MIN_BURST)
			goto domain;
		c->w.n = back;
		return 0;
	}
	if (bwl_parse_time(s, &ns, NULL))
		return bwl_fail(
			c->e, EINVAL,
			"'%.64s' is not a burst: a size such as 64kb, or a time at the rate such as 1ms",
			s);
	if (l->rate_bps == BWL_NO_RATE)
		return bwl_fail(c->e, EINVAL,
				"rate is missing: a burst given as a time ('%.64s') needs it", s);
	bytes = (unsigned __int128)l->rate_bps * ns / 8000000000ULL;
	if (bytes < BWL_MIN_BURST || bytes > BWL_MAX_BURST)
		goto domain;
	l->burst = bytes;
	c->w.n = back;
	return 0;
domain:
	return bwl_fail(c->e, ERANGE,
			"'%.64s' is out of range: a burst is %llub (one full frame) to 1tb", s,
			BWL_MIN_BURST);
}

/* The caller steps down to the limit's own key. */
int bwl_conv_limit(struct bwl_conv *c, const struct bwl_text_limit *t, struct bwl_lim *ret)
{
	unsigned back = c->w.n;
	int r;

	if (!t)
		return 0;
	ret->present = true;
	if (t->rate) {
		bwl_conv_down(c, "rate");
		r = bwl_parse_rate(t->rate, &ret->rate_bps, c->e);
		if (r)
			return r;
		c->w.n = back;
	}
	if (t->burst) {
		r = take_burst(c, t->burst, ret);
		if (r)
			return r;
	}
	if (t->volume) {
		bwl_conv_down(c, "volume");
		r = bwl_parse_volume(t->volume, &ret->volume, &ret->window_ns, c->e);
		if (r)
			return r;
		ret->has_volume = true;
		c->w.n = back;
	}
	return 0;
}

int bwl_conv_number(struct bwl_conv *c, const char *s, unsigned long min, unsigned long max,
		    unsigned long *ret)
{
	char *end;

	errno = 0;
	*ret = strtoul(s, &end, 10);
	if (s[0] < '0' || s[0] > '9' || *end || errno || *ret < min || *ret > max)
		return bwl_fail(c->e, ERANGE, "'%.64s' is not a number from %lu to %lu", s, min,
				max);
	return 0;
}

int bwl_conv_prefixes(struct bwl_conv *c, const char *key, char **list, unsigned n,
		      struct bwl_pfx **ret, size_t *ret_n)
{
	unsigned back = bwl_conv_down(c, key);
	int r;

	*ret = calloc(n ? n : 1, sizeof(**ret));
	if (!*ret)
		return bwl_fail(c->e, ENOMEM, "out of memory");
	for (unsigned i = 0; i < n; i++) {
		bwl_place_index(&c->w, i);
		r = bwl_pfx_parse(list[i], &(*ret)[i], c->e);
		if (r)
			return r;
		c->w.n--;
		++*ret_n;
	}
	c->w.n = back;
	return 0;
}
