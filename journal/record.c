// SPDX-License-Identifier: GPL-2.0-or-later
/* Records as bytes: see record.h. */
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/err.h>
#include <bwl/sha256.h>
#include "record.h"

#define MAGIC 0x4a4c5742U /* "BWLJ" */

enum {
	AT_MAGIC = 0,
	AT_SIZE = 4,
	AT_SEQ = 8,
	AT_AT = 16,
	AT_WALL = 24,
	AT_KIND = 32,
	AT_NPFX = 36,
	AT_NHOLES = 40,
	AT_SET = 44,
	AT_NAME = 48,
	AT_BODY = 80,
	AT_SUM = 144,
};

static void put32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, 4);
}

static void put64(uint8_t *p, uint64_t v)
{
	v = htole64(v);
	memcpy(p, &v, 8);
}

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return le32toh(v);
}

static uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return le64toh(v);
}

static void sha256(const uint8_t *prev, const uint8_t *p, size_t n, uint8_t ret[32])
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();

	if (!ctx || !EVP_DigestInit_ex(ctx, bwl_sha256(), NULL) ||
	    (prev && !EVP_DigestUpdate(ctx, prev, 32)) || !EVP_DigestUpdate(ctx, p, n) ||
	    !EVP_DigestFinal_ex(ctx, ret, NULL))
		abort();
	EVP_MD_CTX_free(ctx);
}

bool bwl_journal_opens(uint32_t kind)
{
	return kind == BWL_J_OPEN || kind == BWL_J_START || kind == BWL_J_LIFT ||
	       kind == BWL_J_RAISE_PEER || kind == BWL_J_RAISE_ZONE;
}

static void put_body(const struct bwl_journal_rec *r, uint8_t *b)
{
	const struct bwl_journal_limits *l = &r->lim;

	if (r->kind == BWL_J_BEGIN) {
		put64(b, r->after_seq);
		put64(b + 8, r->records);
		memcpy(b + 16, r->after, sizeof(r->after));
		return;
	}
	put64(b, l->rate_bps);
	put64(b + 8, l->burst);
	put64(b + 16, l->volume);
	put64(b + 24, l->window_ns);
	put64(b + 32, l->expiry_s);
	put64(b + 40, l->accept_bps);
	put32(b + 48, l->mode);
}

static void get_body(struct bwl_journal_rec *r, const uint8_t *b)
{
	struct bwl_journal_limits *l = &r->lim;

	if (r->kind == BWL_J_BEGIN) {
		r->after_seq = get64(b);
		r->records = get64(b + 8);
		memcpy(r->after, b + 16, sizeof(r->after));
		return;
	}
	l->rate_bps = get64(b);
	l->burst = get64(b + 8);
	l->volume = get64(b + 16);
	l->window_ns = get64(b + 24);
	l->expiry_s = get64(b + 32);
	l->accept_bps = get64(b + 40);
	l->mode = get32(b + 48);
}

static uint8_t *put_pfx(uint8_t *at, const struct bwl_pfx *p, uint32_t n)
{
	for (; n--; p++, at += BWL_JOURNAL_PFX) {
		at[0] = p->family;
		at[1] = p->len;
		memcpy(at + 2, p->addr, 16);
	}
	return at;
}

size_t bwl_journal_encode(const struct bwl_journal_rec *r, const uint8_t prev[BWL_JOURNAL_DIGEST],
			  uint8_t *buf, uint8_t ret[BWL_JOURNAL_DIGEST])
{
	size_t size = BWL_JOURNAL_HEADER + ((size_t)r->npfx + r->nholes) * BWL_JOURNAL_PFX +
		      BWL_JOURNAL_DIGEST;
	uint8_t sum[32], *at;

	if (!buf)
		return size;
	memset(buf, 0, BWL_JOURNAL_HEADER);
	put32(buf + AT_MAGIC, MAGIC);
	put32(buf + AT_SIZE, (uint32_t)size);
	put64(buf + AT_SEQ, r->seq);
	put64(buf + AT_AT, r->at);
	put64(buf + AT_WALL, r->wall_s);
	put32(buf + AT_KIND, r->kind);
	put32(buf + AT_NPFX, r->npfx);
	put32(buf + AT_NHOLES, r->nholes);
	put32(buf + AT_SET, r->lim.set);
	memcpy(buf + AT_NAME, r->name, strnlen(r->name, BWL_NAME_LEN - 1));
	put_body(r, buf + AT_BODY);
	sha256(NULL, buf, AT_SUM, sum);
	memcpy(buf + AT_SUM, sum, 8);
	at = put_pfx(buf + BWL_JOURNAL_HEADER, r->pfx, r->npfx);
	at = put_pfx(at, r->hole, r->nholes);
	sha256(prev, buf, (size_t)(at - buf), at);
	memcpy(ret, at, BWL_JOURNAL_DIGEST);
	return size;
}

static bool get_header(const uint8_t *buf, size_t size, struct bwl_journal_rec *r, size_t *ret_size)
{
	uint8_t sum[32];
	uint64_t want;

	if (size < BWL_JOURNAL_HEADER || get32(buf + AT_MAGIC) != MAGIC)
		return false;
	sha256(NULL, buf, AT_SUM, sum);
	if (memcmp(sum, buf + AT_SUM, 8))
		return false;
	memset(r, 0, sizeof(*r));
	r->seq = get64(buf + AT_SEQ);
	r->at = get64(buf + AT_AT);
	r->wall_s = get64(buf + AT_WALL);
	r->kind = get32(buf + AT_KIND);
	r->npfx = get32(buf + AT_NPFX);
	r->nholes = get32(buf + AT_NHOLES);
	r->lim.set = get32(buf + AT_SET);
	memcpy(r->name, buf + AT_NAME, BWL_NAME_LEN - 1);
	get_body(r, buf + AT_BODY);
	want = BWL_JOURNAL_HEADER + ((uint64_t)r->npfx + r->nholes) * BWL_JOURNAL_PFX +
	       BWL_JOURNAL_DIGEST;
	*ret_size = get32(buf + AT_SIZE);
	return *ret_size == want && want <= BWL_JOURNAL_MAX && r->kind && r->kind < _BWL_J_MAX &&
	       (want == BWL_JOURNAL_HEADER + BWL_JOURNAL_DIGEST || r->kind == BWL_J_CLOSE ||
		r->kind == BWL_J_OPEN);
}

static bool get_pfx(const uint8_t *at, struct bwl_pfx *p, uint32_t n)
{
	for (; n--; p++, at += BWL_JOURNAL_PFX) {
		p->family = at[0];
		p->len = at[1];
		memcpy(p->addr, at + 2, 16);
		if ((p->family != 4 && p->family != 6) || p->len > (p->family == 4 ? 32 : 128))
			return false;
	}
	return true;
}

enum bwl_journal_read bwl_journal_decode(const uint8_t *buf, size_t size,
					 const uint8_t prev[BWL_JOURNAL_DIGEST],
					 struct bwl_journal_rec *ret, struct bwl_pfx **ret_pfx,
					 size_t *ret_size, uint8_t digest[BWL_JOURNAL_DIGEST])
{
	struct bwl_pfx *pfx = NULL;
	uint8_t sum[32];
	size_t n;

	*ret_pfx = NULL;
	*ret_size = 0;
	if (!get_header(buf, size, ret, ret_size))
		return BWL_JR_BAD;
	n = (size_t)ret->npfx + ret->nholes;
	if (*ret_size <= size) {
		sha256(prev, buf, *ret_size - BWL_JOURNAL_DIGEST, sum);
		pfx = bwl_must(calloc(n + 1, sizeof(*pfx)));
		if (!memcmp(sum, buf + *ret_size - BWL_JOURNAL_DIGEST, 32) &&
		    get_pfx(buf + BWL_JOURNAL_HEADER, pfx, (uint32_t)n)) {
			ret->pfx = pfx;
			ret->hole = pfx + ret->npfx;
			*ret_pfx = pfx;
			memcpy(digest, sum, BWL_JOURNAL_DIGEST);
			return BWL_JR_WHOLE;
		}
		free(pfx);
	}
	ret->npfx = ret->nholes = 0;
	return BWL_JR_TORN;
}
