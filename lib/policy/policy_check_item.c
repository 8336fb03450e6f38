/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Common to the checks of several parts of a policy: names, limits, prefixes, and their places. */
#include <errno.h>
#include <string.h>
#include "policy_check.h"
#include "policy_conv.h"
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
	c->w->n = 0;
	bwl_place_key(c->w, section);
	if (index != SIZE_MAX)
		bwl_place_index(c->w, index);
	if (key)
		bwl_place_key(c->w, key);
	c->line = line;
}

int bwl_check_next(struct bwl_check *c, int r)
{
	const struct bwl_errors *all = c->conv ? c->conv->all : NULL;
	const char *key = c->w->n > 2 ? c->w->step[2].key : NULL;

	if (!r || !all || r == -ENOMEM)
		return r;
	/* the missing port may be one that could not be read */
	if (key && ((!strcmp(key, "uplink") && bwl_errors_has(all, "uplinks/")) ||
		    (!strcmp(key, "from") && bwl_errors_has(all, "host_ports/"))))
		return 0;
	return bwl_conv_go_on(c->conv, r, 0);
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

static int check_present_limit(struct bwl_check *c, const struct bwl_lim *l, const char *who,
			       bool may_be_empty)
{
	char a[BWL_UNIT_BUF];

	if (l->rate_bps == BWL_NO_RATE && !l->has_volume && !may_be_empty)
		return bwl_fail(c->e, EINVAL, "%s is empty: give rate, volume or both", who);
	if (l->rate_bps != BWL_NO_RATE &&
	    (l->rate_bps < BWL_RATE_MIN_BPS || l->rate_bps > BWL_RATE_MAX_BPS))
		return bwl_fail(c->e, ERANGE, "%s: rate %s: a rate is 1kbit to 100tbit", who,
				bwl_format_rate(l->rate_bps, a));
	if (l->burst && (l->burst < BWL_MIN_BURST || l->burst > BWL_MAX_BURST)) {
		bwl_place_key(c->w, "burst");
		return bwl_fail(c->e, ERANGE,
				"%s: burst %s: a burst is %llub (one full frame) to 1tb", who,
				bwl_format_size(l->burst, a), BWL_MIN_BURST);
	}
	if (l->burst && l->rate_bps == BWL_NO_RATE) {
		bwl_place_key(c->w, "burst");
		return bwl_fail(c->e, EINVAL, "%s: rate is missing: burst needs it", who);
	}
	if (l->burst && l->burst < BWL_GSO_BURST)
		bwl_policy_warn(
			c->p, c->file, c->line,
			"%s: burst %s is less than one GSO packet: TCP of hosts that use GSO stalls; 72kb carries them all",
			who, bwl_format_size(l->burst, a));
	if (l->has_volume && l->volume > BWL_MAX_VOLUME)
		return bwl_fail(c->e, ERANGE, "%s: a volume is 0 to 4096pb", who);
	if (l->has_volume && l->window_ns && l->window_ns < BWL_WINDOW_MIN_NS) {
		bwl_place_key(c->w, "volume");
		return bwl_fail(c->e, ERANGE,
				"%s: window %s: the window of a volume is 11s to 36500d", who,
				bwl_format_time(l->window_ns, a));
	}
	return 0;
}

/*
 * Checks limit what ("grant") of who ("peer x"). c->w is its place; more keys are appended to it.
 */
int bwl_check_limit(struct bwl_check *c, const struct bwl_lim *l, const char *who, const char *what,
		    bool may_be_empty)
{
	char full[96];

	if (!l->present)
		return 0;
	bwl_check_words(full, sizeof(full), who, ": ", what);
	return check_present_limit(c, l, full, may_be_empty);
}

int bwl_check_prefixes(struct bwl_check *c, const struct bwl_pfx *list, size_t n, const char *key,
		       const char *who)
{
	char text[64];

	for (size_t i = 0; i < n; i++) {
		enum bwl_range u = bwl_pfx_range(&list[i]);

		if (u == BWL_USABLE)
			continue;
		bwl_place_key(c->w, key);
		bwl_place_index(c->w, i);
		return bwl_fail(c->e, EINVAL, "%s: %s is %s: only unicast prefixes are accepted",
				who, bwl_pfx_format(&list[i], text, sizeof(text)),
				bwl_range_text[u]);
	}
	return 0;
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
