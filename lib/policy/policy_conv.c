// SPDX-License-Identifier: GPL-2.0-or-later
/* Values that occur in many parts of a policy file. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "policy_conv.h"
#include "bwl/units.h"

unsigned bwl_conv_down(struct bwl_conv *c, const char *key)
{
	unsigned n = c->w.n;

	bwl_place_key(&c->w, key);
	return n;
}

/* Puts "peer x, grant, rate: " in front of a message that names only a value; n: steps of c->w. */
static void prefix_error(struct bwl_conv *c, unsigned steps)
{
	char where[256] = "", text[sizeof(c->e->text)];
	const struct bwl_step *s = c->w.step;
	unsigned i = 0, n = 0;

	if (steps >= 2 && s[0].key && !s[1].key && !strcmp(s[0].key, "peers")) {
		const char *name = c->t->peers[s[1].index].name;

		n = name ? snprintf(where, sizeof(where), "peer %.64s", name)
			 : snprintf(where, sizeof(where), "peer number %zu", s[1].index + 1);
		i = 2;
	}
	for (; i < steps && n < sizeof(where); i++)
		if (s[i].key)
			n += snprintf(where + n, sizeof(where) - n, "%s%.64s", n ? ", " : "",
				      s[i].key);
	if (!n)
		return;
	snprintf(text, sizeof(text), "%s: %.*s", where, (int)(sizeof(text) - sizeof(where) - 3),
		 c->e->text);
	memcpy(c->e->text, text, sizeof(text));
}

bool bwl_conv_ok(struct bwl_conv *c, int r, unsigned back)
{
	if (r) {
		prefix_error(c, c->w.n);
		bwl_tell(c->rep, &c->w, r);
	}
	c->w.n = back;
	return !r;
}

void bwl_conv_missing(struct bwl_conv *c, const char *key, const char *domain)
{
	int r = bwl_fail(c->e, EINVAL, "%s is missing: %s", key, domain);
	unsigned back = bwl_conv_down(c, key);

	prefix_error(c, back);
	bwl_tell(c->rep, &c->w, r);
	c->w.n = back;
}

/* Copies a name into a fixed array. Its characters are checked later, its length only here. */
void bwl_conv_name(struct bwl_conv *c, const char *key, const char *s, const char *domain,
		   char *ret, size_t size)
{
	unsigned back;

	if (!s) {
		bwl_conv_missing(c, key, domain);
		return;
	}
	back = bwl_conv_down(c, key);
	if (bwl_conv_ok(c,
			strlen(s) < size ? 0
					 : bwl_fail(c->e, EINVAL,
						    "'%.64s' is too long: at most %zu characters",
						    s, size - 1),
			back))
		strcpy(ret, s);
}

/* c->w: the burst. sure: the rate is known. */
static int take_burst(struct bwl_conv *c, const char *s, bool sure, struct bwl_lim *l)
{
	unsigned __int128 bytes;
	uint64_t ns;

	/* 1m is a mebibyte, as in tc(8); a burst of one minute is written as 60s */
	if (!bwl_parse_size(s, &l->burst, NULL)) {
		if (l->burst < BWL_MIN_BURST)
			goto domain;
		return 0;
	}
	if (bwl_parse_time(s, &ns, NULL))
		return bwl_fail(
			c->e, EINVAL,
			"'%.64s' is not a burst: a size such as 64kb, or a time at the rate such as 1ms",
			s);
	if (!sure)
		return 0;
	if (l->rate_bps == BWL_NO_RATE)
		return bwl_fail(c->e, EINVAL,
				"rate is missing: a burst given as a time ('%.64s') needs it", s);
	bytes = (unsigned __int128)l->rate_bps * ns / 8000000000ULL;
	if (bytes < BWL_MIN_BURST || bytes > BWL_MAX_BURST)
		goto domain;
	l->burst = bytes;
	return 0;
domain:
	return bwl_fail(c->e, ERANGE,
			"'%.64s' is out of range: a burst is %llub (one full frame) to 1tb", s,
			BWL_MIN_BURST);
}

void bwl_conv_limit(struct bwl_conv *c, const struct bwl_text_limit *t, struct bwl_lim *ret)
{
	unsigned back;

	if (!t)
		return;
	ret->present = true;
	if (t->rate) {
		back = bwl_conv_down(c, "rate");
		bwl_conv_ok(c, bwl_parse_rate(t->rate, &ret->rate_bps, c->e), back);
	}
	if (t->burst) {
		bool sure = bwl_sure_of(c->rep, &c->w, "rate");

		back = bwl_conv_down(c, "burst");
		bwl_conv_ok(c, take_burst(c, t->burst, sure, ret), back);
	}
	if (t->volume) {
		back = bwl_conv_down(c, "volume");
		ret->has_volume = bwl_conv_ok(
			c, bwl_parse_volume(t->volume, &ret->volume, &ret->window_ns, c->e), back);
	}
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

/* A prefix that cannot be read has no family. */
void bwl_conv_prefixes(struct bwl_conv *c, const char *key, char **list, unsigned n,
		       struct bwl_pfx **ret, size_t *ret_n)
{
	unsigned back = bwl_conv_down(c, key), in = c->w.n;

	*ret = calloc(n ? n : 1, sizeof(**ret));
	if (!*ret)
		bwl_conv_ok(c, bwl_fail(c->e, ENOMEM, "out of memory"), back);
	for (unsigned i = 0; *ret && i < n && !c->rep->r; i++) {
		bwl_place_index(&c->w, i);
		bwl_conv_ok(c, bwl_pfx_parse(list[i], &(*ret)[i], c->e), in);
		++*ret_n;
	}
	c->w.n = back;
}
