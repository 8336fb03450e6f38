/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a policy file says to strongSwan: the top-level `ipsec`, and a peer's `id` and `ppk`. One
 * table has every key with its domain and default; reading, checking and dumping go by it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "policy_check.h"
#include "policy_conv.h"
#include "bwl/units.h"

#define S 1000000000ULL
#define ID_MAX 200 /* characters; an IKE identity travels in one datagram with a certificate */

enum kind { ID, ADDRESS, NAME, WORD, TIME, NUMBER, YESNO };

static const struct key {
	const char *name;
	size_t at, size;      /* in struct bwl_pol_ipsec */
	const char *standard; /* NULL: empty */
	const char *words;    /* WORD: "a, b or c" */
	uint64_t min, max;    /* NUMBER; TIME: seconds */
	enum kind kind;
	bool or_none; /* TIME: `none` is 0 */
} keys[_BWL_IPSEC_MAX] = {
#define KEY(k, member)                                                                             \
	.name = #k, .at = offsetof(struct bwl_pol_ipsec, member),                                  \
	.size = sizeof(((struct bwl_pol_ipsec *)0)->member)
	[BWL_IPSEC_id] = { KEY(id, id), .kind = ID },
	[BWL_IPSEC_local] = { KEY(local, local), .kind = ADDRESS },
	[BWL_IPSEC_ca] = { KEY(ca, ca), .kind = NAME },
	[BWL_IPSEC_ppk] = { KEY(ppk, ppk), .kind = NAME },
	[BWL_IPSEC_start] = { KEY(start, start), .kind = WORD, .standard = "auto",
			      .words = "auto, trap|start, start or trap" },
	[BWL_IPSEC_revocation] = { KEY(revocation, revocation), .kind = WORD, .standard = "strict",
				   .words = "strict, ifuri or relaxed" },
	[BWL_IPSEC_hw_offload] = { KEY(hw_offload, hw_offload), .kind = WORD, .standard = "auto",
				   .words = "auto, no, crypto or packet" },
	[BWL_IPSEC_rekey] = { KEY(rekey, rekey_ns), .kind = TIME, .standard = "50m", .min = 10,
			      .max = 86400 },
	[BWL_IPSEC_hard] = { KEY(hard, hard_ns), .kind = TIME, .standard = "1h", .min = 11,
			     .max = 86400 },
	[BWL_IPSEC_ike_rekey] = { KEY(ike_rekey, ike_rekey_ns), .kind = TIME, .standard = "2h",
				  .min = 20, .max = 604800 },
	[BWL_IPSEC_reauth] = { KEY(reauth, reauth_ns), .kind = TIME, .standard = "none", .min = 60,
			       .max = 2592000, .or_none = true },
	[BWL_IPSEC_dpd] = { KEY(dpd, dpd_ns), .kind = TIME, .standard = "10s", .min = 1,
			    .max = 3600 },
	[BWL_IPSEC_replay_window] = { KEY(replay_window, replay_window), .kind = NUMBER,
				      .standard = "256", .min = 32, .max = 4096 },
	[BWL_IPSEC_copy_ecn] = { KEY(copy_ecn, copy_ecn), .kind = YESNO, .standard = "false" },
#undef KEY
};

#define PPK_DOMAIN "1 to 63 of A-Z a-z 0-9 . _ -, not starting with -"

static char *text_at(struct bwl_pol_ipsec *x, const struct key *k)
{
	return (char *)x + k->at;
}

/* Is s one of "a, b or c"? */
static bool is_word(const char *words, const char *s)
{
	size_t n = strlen(s), w;

	for (; *words; words += w, words += strspn(words, ", ")) {
		if (!strncmp(words, "or ", 3))
			words += 3;
		w = strcspn(words, ", ");
		if (n == w && !strncmp(words, s, n))
			return true;
	}
	return false;
}

static int parse_time(const struct key *k, const char *s, uint64_t *ret, struct bwl_err *e)
{
	char min[BWL_UNIT_BUF], max[BWL_UNIT_BUF];
	int r;

	if (k->or_none && !strcmp(s, "none")) {
		*ret = 0;
		return 0;
	}
	r = bwl_parse_time(s, ret, e);
	if (!r && (*ret % S || *ret < k->min * S || *ret > k->max * S))
		r = bwl_fail(e, ERANGE, "'%.64s' is out of range: whole seconds, %s to %s%s", s,
			     bwl_format_time(k->min * S, min), bwl_format_time(k->max * S, max),
			     k->or_none ? ", or none" : "");
	return r;
}

/* The bytes of one value; what text may hold is checked later, that it fits is not. */
static int parse(const struct key *k, const char *s, struct bwl_pol_ipsec *x, struct bwl_err *e)
{
	uint64_t ns;
	char *end;
	int r;

	switch (k->kind) {
	case TIME:
		r = parse_time(k, s, &ns, e);
		if (!r)
			memcpy(text_at(x, k), &ns, sizeof(ns));
		return r;
	case NUMBER:
		errno = 0;
		ns = strtoull(s, &end, 10);
		if (*s < '0' || *s > '9' || *end || errno || ns < k->min || ns > k->max)
			return bwl_fail(e, ERANGE, "'%.64s' is not a number from %llu to %llu", s,
					(unsigned long long)k->min, (unsigned long long)k->max);
		memcpy(text_at(x, k), &(uint32_t){ ns }, sizeof(uint32_t));
		return 0;
	case YESNO:
		if (strcmp(s, "true") && strcmp(s, "false"))
			return bwl_fail(e, EINVAL, "'%.64s' is neither true nor false", s);
		memcpy(text_at(x, k), &(bool){ *s == 't' }, sizeof(bool));
		return 0;
	default:
		if (strlen(s) >= k->size)
			return bwl_fail(e, EINVAL, "'%.64s' is too long: at most %zu characters", s,
					k->size - 1);
		strcpy(text_at(x, k), s);
		return 0;
	}
}

void bwl_ipsec_defaults(struct bwl_pol_ipsec *x)
{
	for (unsigned i = 0; i < _BWL_IPSEC_MAX; i++)
		if (keys[i].standard)
			parse(&keys[i], keys[i].standard, x, NULL);
}

int bwl_conv_ipsec(struct bwl_conv *c, const struct bwl_text_node_ipsec *t)
{
	unsigned back = bwl_conv_down(c, "ipsec");
	int r;

	for (unsigned i = 0; t && i < _BWL_IPSEC_MAX; i++) {
		if (!t->value[i])
			continue;
		bwl_conv_down(c, keys[i].name);
		r = parse(&keys[i], t->value[i], &c->p->ipsec, c->e);
		if (r)
			return r;
		c->w.n--;
	}
	c->w.n = back;
	return 0;
}

static int take(struct bwl_conv *c, const char *s, char **ret)
{
	if (s && !(*ret = strdup(s)))
		return bwl_fail(c->e, ENOMEM, "out of memory");
	return 0;
}

int bwl_conv_peer_ipsec(struct bwl_conv *c, const struct bwl_text_ipsec *t, struct bwl_pol_peer *x)
{
	int r = take(c, t->id, &x->ipsec_id);

	return r ? r : take(c, t->ppk, &x->ipsec_ppk);
}

/* What strongSwan reads as an identity, and what stands between quotes in its files as it is. */
static bool good_id(const char *s)
{
	size_t n = strlen(s);

	if (!n || n > ID_MAX || *s == ' ' || s[n - 1] == ' ')
		return false;
	for (; *s; s++)
		if (*s < 0x20 || *s > 0x7e || *s == '"' || *s == '\\' || *s == '%' || *s == '*')
			return false;
	return true;
}
#define ID_DOMAIN "1 to 200 printable ASCII characters without \" \\ %% *"

int bwl_check_ipsec(struct bwl_check *c)
{
	struct bwl_pol_ipsec *x = &c->p->ipsec;
	struct bwl_pfx a;

	for (unsigned i = 0; i < _BWL_IPSEC_MAX; i++) {
		const struct key *k = &keys[i];
		const char *s = text_at(x, k);

		bwl_check_at(c, "ipsec", SIZE_MAX, k->name, 0);
		if (k->kind == WORD && !is_word(k->words, s))
			return bwl_fail(c->e, EINVAL, "ipsec: %s '%.64s': %s", k->name, s,
					k->words);
		if (k->kind == ID && *s && !good_id(s))
			return bwl_fail(c->e, EINVAL,
					"ipsec: '%.64s' is not an identity: " ID_DOMAIN, s);
		if (k->kind == NAME && *s && !bwl_check_name(s, k->size - 1))
			return bwl_fail(c->e, EINVAL,
					"ipsec: %s '%.64s' is not a name: " PPK_DOMAIN, k->name, s);
		if (k->kind == ADDRESS && *s &&
		    (bwl_pfx_parse(s, &a, NULL) || strchr(s, '/') || bwl_check_range(&a)))
			return bwl_fail(c->e, EINVAL,
					"ipsec: %s '%.64s' is not an address of this DPU", k->name,
					s);
	}
	bwl_check_at(c, "ipsec", SIZE_MAX, "hard", 0);
	if (x->hard_ns <= x->rekey_ns)
		return bwl_fail(
			c->e, EINVAL,
			"ipsec: hard must be longer than rekey: an SA that ends before its successor is there loses packets");
	return 0;
}

int bwl_check_peer_ipsec(struct bwl_check *c, size_t i, const char *who)
{
	struct bwl_pol_peer *x = &c->p->peers[i];

	if (x->ipsec_id && !good_id(x->ipsec_id))
		return bwl_fail(c->e, EINVAL, "%s: ipsec id '%.64s' is not an identity: " ID_DOMAIN,
				who, x->ipsec_id);
	if (x->ipsec_ppk && !bwl_check_name(x->ipsec_ppk, sizeof(c->p->ipsec.ppk) - 1))
		return bwl_fail(c->e, EINVAL, "%s: ipsec ppk '%.64s' is not a name: " PPK_DOMAIN,
				who, x->ipsec_ppk);
	return 0;
}

static void put_value(FILE *f, const struct key *k, struct bwl_pol_ipsec *x)
{
	char t[BWL_UNIT_BUF];
	uint32_t number;
	uint64_t ns;

	switch (k->kind) {
	case TIME:
		memcpy(&ns, text_at(x, k), sizeof(ns));
		fputs(ns ? bwl_format_time(ns, t) : "none", f);
		break;
	case NUMBER:
		memcpy(&number, text_at(x, k), sizeof(number));
		fprintf(f, "%u", number);
		break;
	case YESNO:
		fputs(*text_at(x, k) ? "true" : "false", f);
		break;
	default:
		fprintf(f, "\"%s\"", text_at(x, k));
	}
}

void bwl_ipsec_dump(const struct bwl_policy *p, FILE *f)
{
	struct bwl_pol_ipsec x = p->ipsec, standard;
	bool any = false;

	memset(&standard, 0, sizeof(standard));
	bwl_ipsec_defaults(&standard);
	for (unsigned i = 0; i < _BWL_IPSEC_MAX; i++) {
		const struct key *k = &keys[i];
		bool text = k->kind == ID || k->kind == ADDRESS || k->kind == NAME ||
			    k->kind == WORD;

		if (text ? !strcmp(text_at(&x, k), text_at(&standard, k))
			 : !memcmp(text_at(&x, k), text_at(&standard, k), k->size))
			continue;
		fprintf(f, "%s  %s: ", any ? "" : "ipsec:\n", k->name);
		put_value(f, k, &x);
		putc('\n', f);
		any = true;
	}
}

void bwl_ipsec_dump_peer(const struct bwl_pol_peer *x, FILE *f)
{
	if (x->ipsec_id)
		fprintf(f, ", id: \"%s\"", x->ipsec_id);
	if (x->ipsec_ppk)
		fprintf(f, ", ppk: \"%s\"", x->ipsec_ppk);
}
