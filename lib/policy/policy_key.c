// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads, checks and writes keys by their rows: see policy_key.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "policy_key.h"
#include "bwl/identity.h"
#include "bwl/units.h"

#define S 1000000000ULL

static bool is_text(const struct bwl_key *k)
{
	return k->kind <= BWL_K_WORD;
}

/* Index of s in "a, b or c", from 0; -1: not in it. */
static int word_of(const char *words, const char *s)
{
	size_t n = strlen(s), w;
	int i;

	for (i = 0; *words; i++, words += w, words += strspn(words, ", ")) {
		if (!strncmp(words, "or ", 3))
			words += 3;
		w = strcspn(words, ", ");
		if (n == w && !strncmp(words, s, n))
			return i;
	}
	return -1;
}

static uint64_t value_of(const struct bwl_key *k, const void *x)
{
	uint64_t v = 0; /* set by its width, for either byte order */
	uint32_t w;

	if (k->size == sizeof(v)) {
		memcpy(&v, (const char *)x + k->at, sizeof(v));
		return v;
	}
	if (k->size == 1)
		return *((const uint8_t *)x + k->at);
	memcpy(&w, (const char *)x + k->at, sizeof(w));
	return w;
}

static void set_value(const struct bwl_key *k, void *x, uint64_t v)
{
	char *to = (char *)x + k->at;

	if (k->size == sizeof(v))
		memcpy(to, &v, sizeof(v));
	else if (k->size == sizeof(uint32_t))
		memcpy(to, &(uint32_t){ (uint32_t)v }, sizeof(uint32_t));
	else
		memcpy(to, &(bool){ v }, sizeof(bool));
}

static bool in_range(const struct bwl_key *k, uint64_t v)
{
	return v >= k->min && v <= k->max && (!k->seconds || v % S == 0);
}

/* "1ms to 1s, or auto" */
static const char *domain(const struct bwl_key *k, char buf[static 128])
{
	char a[BWL_UNIT_BUF], b[BWL_UNIT_BUF];

	if (k->kind == BWL_K_TIME)
		snprintf(buf, 128, "%s%s to %s%s%s", k->seconds ? "whole seconds, " : "",
			 bwl_format_time(k->min, a), bwl_format_time(k->max, b),
			 k->words ? ", or " : "", k->words ? k->words : "");
	else
		snprintf(buf, 128, "%llu to %llu%s", (unsigned long long)k->min,
			 (unsigned long long)k->max, k->kind == BWL_K_SIZE ? " bytes" : "");
	return buf;
}

static int number(const char *s, uint64_t *ret, struct bwl_err *e)
{
	char *end;

	errno = 0;
	*ret = strtoull(s, &end, 10);
	if (*s < '0' || *s > '9' || *end || errno)
		return bwl_fail(e, EINVAL, "'%.64s' is not a number", s);
	return 0;
}

static int parse_number(const struct bwl_key *k, const char *s, void *x, struct bwl_err *e)
{
	uint64_t v = 0;
	char buf[128];
	int r = 0;

	if (k->words && !strcmp(s, k->words)) {
		set_value(k, x, 0);
		return 0;
	}
	if (k->kind == BWL_K_NUMBER)
		r = number(s, &v, e);
	else if (k->kind == BWL_K_TIME)
		r = bwl_parse_time(s, &v, e);
	else
		r = bwl_parse_size(s, &v, e);
	if (!r && !in_range(k, v))
		r = bwl_fail(e, ERANGE, "'%.64s' is out of range: %s", s, domain(k, buf));
	if (!r)
		set_value(k, x, v);
	return r;
}

/*
 * Characters of a text that is kept are checked later, and its length here; text that is not kept
 * is checked here in full.
 */
static int parse(const struct bwl_key *k, const char *s, void *x, struct bwl_err *e)
{
	struct bwl_identity id;
	int which;

	if (k->kind == BWL_K_MAC) {
		uint8_t *mac = (uint8_t *)x + k->at;
		int r = bwl_mac_parse(s, mac, e);

		return r || bwl_mac_is_one(mac)
			       ? r
			       : bwl_fail(e, EINVAL,
					  "'%s' is not unicast: give the MAC of one station", s);
	}
	if (!is_text(k) && k->kind != BWL_K_YESNO)
		return parse_number(k, s, x, e);
	which = k->words ? word_of(k->words, s) : 0;
	if (which < 0 && (k->kind == BWL_K_YESNO || !k->size))
		return bwl_fail(e, EINVAL, "'%.64s' is not accepted: %s", s, k->words);
	if (k->kind == BWL_K_YESNO) {
		set_value(k, x, (uint64_t)which);
	} else if (k->size) {
		if (k->kind == BWL_K_ID && *s && !bwl_identity_parse(s, &id, NULL))
			s = id.text;
		if (strlen(s) >= k->size)
			return bwl_fail(e, EINVAL, "'%.64s' is too long: at most %zu characters", s,
					k->size - 1);
		strcpy((char *)x + k->at, s);
	}
	return 0;
}

void bwl_keys_defaults(const struct bwl_key *k, void *x)
{
	for (; k->name; k++)
		if (k->standard)
			parse(k, k->standard, x, NULL);
}

void bwl_conv_keys(struct bwl_conv *c, const struct bwl_key *k, const void *text, void *x)
{
	unsigned back = c->w.n;
	const char *s;

	for (; k->name; k++) {
		memcpy(&s, (const char *)text + k->text, sizeof(s));
		bwl_conv_down(c, k->name);
		bwl_conv_ok(c, s ? parse(k, s, x, c->e) : 0, back);
	}
}

int bwl_check_id(struct bwl_err *e, const char *what, const char *s)
{
	struct bwl_err why = { 0 };
	struct bwl_identity x;

	if (!bwl_identity_parse(s, &x, &why))
		return 0;
	bwl_fail(e, EINVAL, "%s'%.64s' is not an identity: %s", what, s, why.text);
	return bwl_hint(e, "%s", why.hint);
}

static int check_text(struct bwl_check *c, const struct bwl_key *k, const char *in, const char *s)
{
	struct bwl_pfx a;

	if (k->kind == BWL_K_WORD && word_of(k->words, s) < 0)
		return bwl_fail(c->e, EINVAL, "%s%s '%.64s': %s", in, k->name, s, k->words);
	if (k->kind == BWL_K_ID && *s)
		return bwl_check_id(c->e, in, s);
	if (k->kind == BWL_K_NAME && *s && !bwl_check_name(s, k->size - 1))
		return bwl_fail(c->e, EINVAL, "%s%s '%.64s' is not a name: " BWL_PPK_DOMAIN, in,
				k->name, s);
	if (k->kind == BWL_K_ADDRESS && *s &&
	    (bwl_pfx_parse(s, &a, NULL) || strchr(s, '/') || bwl_pfx_range(&a)))
		return bwl_fail(c->e, EINVAL, "%s%s '%.64s' is not an address of this DPU", in,
				k->name, s);
	return 0;
}

void bwl_check_keys(struct bwl_check *c, const struct bwl_key *k, const char *section, void *x)
{
	char in[32] = "", buf[128];
	uint64_t v;

	if (section)
		snprintf(in, sizeof(in), "%s: ", section);
	for (; k->name; k++) {
		if (!k->size || k->kind == BWL_K_TEXT || k->kind == BWL_K_YESNO)
			continue;
		bwl_check_at(c, section ? section : k->name, SIZE_MAX, section ? k->name : NULL, 0);
		v = is_text(k) ? 0 : value_of(k, x);
		if (is_text(k))
			bwl_check_tell(c, check_text(c, k, in, (char *)x + k->at));
		else if (!in_range(k, v) && (v || !(k->words || k->zero_is_none)))
			BWL_BAD(c, ERANGE, "%s%s: %s", in, k->name, domain(k, buf));
	}
}

static void put_value(FILE *f, const struct bwl_key *k, const void *x)
{
	const char *yes;
	char t[BWL_UNIT_BUF];
	uint64_t v;

	if (!k->size) {
		fputs(k->standard, f);
		return;
	}
	if (is_text(k)) {
		fprintf(f, "\"%s\"", (const char *)x + k->at);
		return;
	}
	if (k->kind == BWL_K_MAC) {
		fprintf(f, "\"%s\"", bwl_mac_format((const uint8_t *)x + k->at, t));
		return;
	}
	v = value_of(k, x);
	if (k->kind == BWL_K_YESNO) {
		yes = strstr(k->words, " or ");
		fprintf(f, "%.*s", v ? (int)strlen(yes + 4) : (int)(yes - k->words),
			v ? yes + 4 : k->words);
	} else if (k->kind == BWL_K_TIME) {
		fputs(v || !k->words ? bwl_format_time(v, t) : k->words, f);
	} else {
		fprintf(f, "%llu%s", (unsigned long long)v, k->kind == BWL_K_SIZE ? "b" : "");
	}
}

static bool is_standard(const struct bwl_key *k, const void *x, const void *standard)
{
	const char *a = (const char *)x + k->at, *b = (const char *)standard + k->at;

	return is_text(k) && k->size ? !strcmp(a, b) : !memcmp(a, b, k->size);
}

void bwl_dump_keys(const struct bwl_key *k, const void *x, const void *standard,
		   const char *section, const char *indent, FILE *f)
{
	for (; k->name; k++) {
		if (k->apart || (!k->always && is_standard(k, x, standard)))
			continue;
		fputs(section, f);
		section = "";
		fprintf(f, "%s%s: ", indent, k->name);
		put_value(f, k, x);
		putc('\n', f);
	}
}
