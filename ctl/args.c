// SPDX-License-Identifier: GPL-2.0-or-later
/* Command lines: options, and the words that the policy file uses too. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "ctl.h"

int ctl_usage(struct ctl *c, const char *fmt, ...)
{
	char text[sizeof(c->err.text)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	bwl_fail(&c->err, EINVAL, "%s", text);
	return CTL_USAGE;
}

/* Edits (insert, delete, replace, swap of neighbours) from a to b; words are short. */
static unsigned int distance(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	unsigned int d[24][24];

	if (n >= 24 || m >= 24)
		return 99;
	for (size_t i = 0; i <= n; i++) {
		for (size_t j = 0; j <= m; j++) {
			unsigned int best;

			if (!i || !j) {
				d[i][j] = i + j;
				continue;
			}
			best = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
			if (d[i - 1][j] + 1 < best)
				best = d[i - 1][j] + 1;
			if (d[i][j - 1] + 1 < best)
				best = d[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    d[i - 2][j - 2] + 1 < best)
				best = d[i - 2][j - 2] + 1;
			d[i][j] = best;
		}
	}
	return d[n][m];
}

const char *ctl_nearest(const char *s, const char *const *words)
{
	unsigned int best = 99, dist;
	const char *ret = NULL;

	for (; *words; words++) {
		dist = distance(s, *words);
		/* an abbreviation counts as one mistyped key */
		if (dist > 1 && strlen(s) >= 2 && !strncmp(s, *words, strlen(s)))
			dist = 1;
		if (dist < best) {
			best = dist;
			ret = *words;
		}
	}
	return ret && best <= 2 && best < strlen(s) ? ret : NULL;
}

static int unknown_option(struct ctl *c, const char *arg, const struct ctl_opt *opts)
{
	const char *names[16], *near;
	char all[256] = "";
	size_t n = 0;

	for (; opts->name && n < 15; opts++) {
		names[n++] = opts->name;
		strncat(all, " ", sizeof(all) - strlen(all) - 1);
		strncat(all, opts->name, sizeof(all) - strlen(all) - 1);
	}
	names[n] = NULL;
	near = ctl_nearest(arg, names);
	if (near)
		return ctl_usage(c, "unknown option '%.64s'; did you mean %s?", arg, near);
	return ctl_usage(c,
			 "unknown option '%.64s'; the options here are:%s --json --pin-dir --help",
			 arg, all);
}

int ctl_opts(struct ctl *c, int *argc, char **argv, const struct ctl_opt *opts)
{
	int out = 0, i;

	for (i = 0; i < *argc; i++) {
		char *arg = argv[i], *eq = strchr(arg, '=');
		size_t len = eq ? (size_t)(eq - arg) : strlen(arg);
		const struct ctl_opt *o;

		if (!strcmp(arg, "--")) {
			i++;
			break;
		}
		if (strncmp(arg, "--", 2)) {
			argv[out++] = arg;
			continue;
		}
		for (o = opts; o->name; o++)
			if (strlen(o->name) == len && !strncmp(o->name, arg, len))
				break;
		if (!o->name)
			return unknown_option(c, arg, opts);
		if (o->flag) {
			if (eq)
				return ctl_usage(c, "%s takes no value", o->name);
			*o->flag = true;
		} else if (eq) {
			*o->value = eq + 1;
		} else if (i + 1 < *argc) {
			*o->value = argv[++i];
		} else {
			return ctl_usage(c, "%s needs a value", o->name);
		}
	}
	while (i < *argc)
		argv[out++] = argv[i++];
	*argc = out;
	return 0;
}

int ctl_only_opts(struct ctl *c, int argc, char **argv, const struct ctl_opt *opts)
{
	int r = ctl_opts(c, &argc, argv, opts);

	return r || !argc ? r : ctl_usage(c, "unexpected '%.64s'", argv[0]);
}

int ctl_number(struct ctl *c, const char *what, const char *s, uint64_t max, uint64_t *ret)
{
	unsigned long long v;
	char *end;

	errno = 0;
	v = strtoull(s, &end, 10);
	if (errno || end == s || *end || *s < '0' || *s > '9' || !v || v > max)
		return ctl_usage(c, "'%.64s' is not %s: a whole number, 1 to %llu", s, what,
				 (unsigned long long)max);
	*ret = v;
	return 0;
}

static const struct {
	const char *word;
	unsigned int bit;
} words[] = {
	{ "rate", CTL_W_RATE },     { "burst", CTL_W_BURST }, { "volume", CTL_W_VOLUME },
	{ "mode", CTL_W_MODE },     { "mark", CTL_W_MARK },   { "accept", CTL_W_ACCEPT },
	{ "for", CTL_W_FOR },       { "zone", CTL_W_ZONE },   { "via", CTL_W_VIA },
	{ "via6", CTL_W_VIA6 },     { "path", CTL_W_PATH },   { "from", CTL_W_FROM },
	{ "uplink", CTL_W_UPLINK }, { "ipsec", CTL_W_IPSEC }, { "contained", CTL_W_CONTAINED },
	{ "reason", CTL_W_REASON },
};
#define NWORDS (sizeof(words) / sizeof(*words))

static int unknown_word(struct ctl *c, const char *arg, unsigned int allowed)
{
	const char *names[NWORDS + 1], *near;
	char all[256] = "";
	size_t n = 0;

	for (size_t i = 0; i < NWORDS; i++) {
		if (!(words[i].bit & allowed))
			continue;
		names[n++] = words[i].word;
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "%s%s", n > 1 ? ", " : "",
			 words[i].word);
	}
	names[n] = NULL;
	near = ctl_nearest(arg, names);
	if (near)
		return ctl_usage(c, "unknown word '%.64s'; did you mean '%s'?", arg, near);
	return ctl_usage(c, "unknown word '%.64s'; the words here are: %s", arg, all);
}

/* The value of `volume`: one word, or "1gb per 1d" as three. */
static int word_volume(struct ctl *c, int argc, char **argv, int *i, unsigned int allowed,
		       struct ctl_words *w)
{
	char text[BWL_LIM_BUF], *v = argv[*i];

	if (!strcmp(v, "none")) {
		w->lim.has_volume = false;
		return 0;
	}
	if (*v == '+') {
		if (!(allowed & CTL_W_MORE))
			return ctl_usage(c, "volume '%.64s': only `grant` adds to a volume", v);
		w->add_volume = true;
		v++;
	}
	if (*i + 2 < argc && !strcmp(argv[*i + 1], "per")) {
		snprintf(text, sizeof(text), "%.40s per %.40s", v, argv[*i + 2]);
		v = text;
		*i += 2;
	}
	w->lim.has_volume = true;
	if (bwl_parse_volume(v, &w->lim.volume, &w->lim.window_ns, &c->err))
		return CTL_USAGE;
	if (w->add_volume && w->lim.window_ns)
		return ctl_usage(c, "volume '+%.64s': give only how much more, without a window",
				 v);
	w->once = *i + 1 < argc && !strcmp(argv[*i + 1], "once");
	if (w->once && !w->add_volume)
		return ctl_usage(c, "'once' goes with more of a volume: volume +%.64s once", v);
	*i += w->once;
	return 0;
}

static int word_address(struct ctl *c, const char *word, int family, const char *s, uint8_t *ret)
{
	if (inet_pton(family, s, ret) == 1)
		return 0;
	return ctl_usage(c, "%s '%.64s' is not an IPv%c address", word, s,
			 family == AF_INET ? '4' : '6');
}

/* A size, or a time at the rate, as in the policy file: "64kb", "1ms". */
static int word_burst(struct ctl *c, const char *s, struct ctl_words *w)
{
	struct bwl_err ignored;

	if (!bwl_parse_size(s, &w->lim.burst, &c->err))
		return 0;
	if (bwl_parse_time(s, &w->burst_ns, &ignored) || !w->burst_ns)
		return CTL_USAGE;
	c->err.code = 0;
	return 0;
}

/* Once the rate is known: `burst 1ms rate 1gbit` may come in either order. */
static int settle_burst(struct ctl *c, struct ctl_words *w)
{
	unsigned __int128 bytes;

	if (!w->burst_ns)
		return 0;
	if (!(w->seen & CTL_W_RATE) || w->lim.rate_bps == BWL_NO_RATE)
		return ctl_usage(c, "a burst as a time needs a rate in the same command");
	bytes = (unsigned __int128)w->lim.rate_bps * w->burst_ns / 8 / 1000000000;
	if (bytes > BWL_MAX_BURST)
		return ctl_usage(c, "the burst is more than %llu bytes", BWL_MAX_BURST);
	w->lim.burst = bytes;
	return 0;
}

/* tc's "mbps" are bytes: somebody who means bits would allow eight times as much. */
static int word_rate(struct ctl *c, const char *v, uint64_t *ret)
{
	size_t len = strlen(v);
	char rate[BWL_UNIT_BUF];

	if (bwl_parse_rate(v, ret, &c->err))
		return CTL_USAGE;
	if (len > 3 && !strcasecmp(v + len - 3, "bps"))
		bwl_warn("%s means bytes a second, as in tc: %s; for bits write %.*sbit", v,
			 bwl_format_rate(*ret, rate), (int)len - 3, v);
	return 0;
}

static int word_value(struct ctl *c, unsigned int bit, int argc, char **argv, int *i,
		      unsigned int allowed, struct ctl_words *w)
{
	const char *v = argv[*i];
	struct bwl_err *e = &c->err;
	uint64_t pct = 0;

	switch (bit) {
	case CTL_W_RATE:
		if (!strcmp(v, "unlimited")) {
			w->lim.rate_bps = BWL_NO_RATE;
			return 0;
		}
		return word_rate(c, v, &w->lim.rate_bps);
	case CTL_W_BURST:
		return word_burst(c, v, w);
	case CTL_W_VOLUME:
		return word_volume(c, argc, argv, i, allowed, w);
	case CTL_W_MODE:
		return bwl_mode_parse(v, &w->mode, e) ? CTL_USAGE : 0;
	case CTL_W_MARK:
		if (ctl_number(c, "a mark threshold in per cent", v, 99, &pct))
			return CTL_USAGE;
		w->mark_pct = pct;
		return 0;
	case CTL_W_ACCEPT:
		w->accept_none = !strcmp(v, "none");
		if (w->accept_none)
			return 0;
		w->accept.present = true;
		return word_rate(c, v, &w->accept.rate_bps);
	case CTL_W_FOR:
		if (!strcmp(v, "ever"))
			return 0;
		if (bwl_parse_time(v, &w->for_ns, e))
			return CTL_USAGE;
		return w->for_ns
			       ? 0
			       : ctl_usage(c, "for '%.64s': the time is too short for a grant", v);
	case CTL_W_ZONE:
		w->zone = v;
		return 0;
	case CTL_W_VIA:
		/* the next hop's own family decides */
		if (!strchr(v, ':'))
			return word_address(c, "via", AF_INET, v, w->via4);
		if (w->seen & CTL_W_VIA6)
			return ctl_usage(c, "via6 is given twice");
		w->seen = (w->seen & ~(unsigned int)CTL_W_VIA) | CTL_W_VIA6;
		return word_address(c, "via", AF_INET6, v, w->via6);
	case CTL_W_VIA6:
		return word_address(c, "via6", AF_INET6, v, w->via6);
	case CTL_W_PATH:
		for (w->path = 0; w->path < _BWL_PATH_MAX; w->path++)
			if (!strcmp(v, bwl_path_name(w->path)))
				return 0;
		return ctl_usage(c, "'%.64s' is not a path: clear, xfrm or offload", v);
	case CTL_W_FROM:
		w->from = v;
		return 0;
	case CTL_W_UPLINK:
		w->uplink = v;
		return 0;
	default:
		w->ipsec = v;
		return 0;
	}
}

char *ctl_join(int argc, char **argv, char *buf, size_t size)
{
	size_t n = 0;

	*buf = '\0';
	for (int i = 0; i < argc && n < size; i++)
		n += (size_t)snprintf(buf + n, size - n, "%s%s", i ? " " : "", argv[i]);
	return buf;
}

/* `reason` takes the rest of the line. */
static int word_reason(struct ctl *c, int argc, char **argv, char ret[static CTL_REASON])
{
	size_t n = 0;

	for (int i = 0; i < argc; i++) {
		if (!strncmp(argv[i], "--", 2) && argv[i][2])
			return ctl_usage(
				c,
				"'%.64s' after 'reason': put options before it, or quote the reason",
				argv[i]);
		n += strlen(argv[i]) + (i ? 1 : 0);
	}
	if (n >= CTL_REASON)
		return ctl_usage(c, "the reason is longer than %d characters", CTL_REASON - 1);
	ctl_join(argc, argv, ret, CTL_REASON);
	if (strspn(ret, " \t\r\n") == n)
		return ctl_usage(c, "the reason is empty: the audit log needs one");
	return 0;
}

/* In fewer bytes than CTL_REASON, and in whole characters; json takes no others. */
static void fit_reason(char ret[static CTL_REASON], size_t whole)
{
	size_t n = strlen(ret);
	json_t *text;

	if (whole > n) {
		while (n && (ret[n - 1] & 0xc0) == 0x80)
			n--;
		if (n && ret[n - 1] & 0x80)
			n--;
		ret[n] = '\0';
		bwl_warn("the reason is longer than %d bytes: the rest is left out",
			 CTL_REASON - 1);
	}
	text = json_string(ret);
	for (char *at = ret; !text && *at; at++)
		if (*at & 0x80)
			*at = '?';
	json_decref(text);
	if (ret[strspn(ret, " \t\r\n")])
		return;
	*ret = '\0';
	bwl_warn("the reason is empty: none is recorded");
}

void ctl_fit_reason(const char *text, char ret[static CTL_REASON])
{
	fit_reason(ret, (size_t)snprintf(ret, CTL_REASON, "%s", text));
}

static const struct ctl_opt *known_option(const struct ctl_opt *opts, const char *arg)
{
	size_t len = strcspn(arg, "=");

	for (; opts && opts->name; opts++)
		if (strlen(opts->name) == len && !strncmp(opts->name, arg, len))
			return opts;
	return NULL;
}

void ctl_reason(const struct ctl_opt *opts, int first, int *argc, char **argv,
		char ret[static CTL_REASON])
{
	int at = first, out;
	size_t n = 0;

	*ret = '\0';
	while (at < *argc && strcmp(argv[at], "reason"))
		at++;
	if (at >= *argc)
		return;
	out = at;
	for (int i = at + 1; i < *argc; i++) {
		const struct ctl_opt *o = known_option(opts, argv[i]);
		size_t had = n < CTL_REASON ? n : CTL_REASON - 1;

		if (o) {
			argv[out++] = argv[i];
			if (!o->flag && !strchr(argv[i], '=') && i + 1 < *argc)
				argv[out++] = argv[++i];
			continue;
		}
		if (!strncmp(argv[i], "--", 2) && argv[i][2])
			bwl_warn("'%.64s' after 'reason' is a part of the reason", argv[i]);
		n += (size_t)snprintf(ret + had, CTL_REASON - had, "%s%s", n ? " " : "", argv[i]);
	}
	*argc = out;
	fit_reason(ret, n);
}

int ctl_words(struct ctl *c, int argc, char **argv, unsigned int allowed, struct ctl_words *w)
{
	int r;

	for (int i = 0; i < argc; i++) {
		size_t k;

		for (k = 0; k < NWORDS; k++)
			if ((words[k].bit & allowed) && !strcmp(argv[i], words[k].word))
				break;
		if (k == NWORDS)
			return unknown_word(c, argv[i], allowed);
		if (w->seen & words[k].bit)
			return ctl_usage(c, "'%s' is given twice", argv[i]);
		w->seen |= words[k].bit;
		if (words[k].bit == CTL_W_CONTAINED)
			continue;
		if (i + 1 == argc)
			return ctl_usage(c, "'%s' needs a value", argv[i]);
		i++;
		if (words[k].bit == CTL_W_REASON) {
			r = word_reason(c, argc - i, argv + i, w->reason);
			if (r)
				return r;
			break;
		}
		r = word_value(c, words[k].bit, argc, argv, &i, allowed, w);
		if (r)
			return r;
	}
	w->lim.present = (w->seen & CTL_W_LIMIT) != 0;
	return settle_burst(c, w);
}
