// SPDX-License-Identifier: GPL-2.0-or-later
/* See proof.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/encode.h>
#include "proof.h"

/* The rest of the text. */
struct rest {
	const char *at, *end;
	unsigned line; /* number of the last line read */
};

/* The next line, without its newline; NULL: there is no complete one. */
static const char *next(struct rest *r, size_t *ret_len)
{
	const char *line = r->at, *nl = memchr(line, '\n', (size_t)(r->end - line));

	r->line++;
	if (!nl)
		return NULL;
	*ret_len = (size_t)(nl - line);
	r->at = nl + 1;
	return line;
}

static bool begins(const char *line, size_t len, const char *word)
{
	return len > strlen(word) && !memcmp(line, word, strlen(word));
}

static bool is_base64(const char *text, size_t len)
{
	uint8_t *raw = malloc(len);
	bool ok;

	if (!raw)
		abort();
	ok = bwl_base64_decode(text, len, raw, len) > 0;
	free(raw);
	return ok;
}

static bool parse_index(const char *s, size_t len, uint64_t *ret)
{
	*ret = 0;
	if (!len || len > 19 || (len > 1 && *s == '0'))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (s[i] < '0' || s[i] > '9')
			return false;
		*ret = *ret * 10 + (uint64_t)(s[i] - '0');
	}
	return !(*ret >> 63);
}

static int bad(const struct rest *r, const char *want, struct bwl_err *e)
{
	return bwl_fail(e, EBADMSG, "line %u of the proof must be %s", r->line, want);
}

int bwl_tlog_proof_parse(const char *text, size_t len, struct bwl_tlog_proof *ret,
			 struct bwl_err *e)
{
	struct rest r = { .at = text, .end = text + len };
	const char *line;
	size_t n = 0;

	memset(ret, 0, sizeof(*ret));
	if (len > BWL_TLOG_PROOF_MAX)
		return bwl_fail(e, EBADMSG, "the proof has more than %d bytes", BWL_TLOG_PROOF_MAX);
	line = next(&r, &n);
	if (!line || n != strlen(BWL_TLOG_PROOF_TYPE) || memcmp(line, BWL_TLOG_PROOF_TYPE, n))
		return bad(&r, "'" BWL_TLOG_PROOF_TYPE "'", e);
	line = next(&r, &n);
	if (line && begins(line, n, "extra ")) {
		ret->extra = line + strlen("extra ");
		ret->extra_len = n - strlen("extra ");
		if (!is_base64(ret->extra, ret->extra_len))
			return bad(&r, "'extra' and base64", e);
		line = next(&r, &n);
	}
	if (!line || !begins(line, n, "index ") ||
	    !parse_index(line + strlen("index "), n - strlen("index "), &ret->index))
		return bad(&r, "'index' and the record's number, or 'extra' and base64 before it",
			   e);
	while ((line = next(&r, &n)) && n) {
		if (ret->count == BWL_PROOF_MAX || !bwl_hash_parse(line, n, &ret->hash[ret->count]))
			return bad(&r, "a hash in base64, or empty before the checkpoint", e);
		ret->count++;
	}
	if (!line)
		return bad(&r, "a hash in base64, or empty before the checkpoint", e);
	ret->note = r.at;
	ret->note_len = (size_t)(r.end - r.at);
	r.line++;
	return bwl_note_text(ret->note, ret->note_len)
		       ? 0
		       : bad(&r, "the first line of a signed note", e);
}

char *bwl_tlog_proof_format(const struct bwl_tlog_proof *p)
{
	char *text = NULL, hash[BWL_HASH_TEXT];
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (!f)
		abort();
	fputs(BWL_TLOG_PROOF_TYPE "\n", f);
	if (p->extra)
		fprintf(f, "extra %.*s\n", (int)p->extra_len, p->extra);
	fprintf(f, "index %llu\n", (unsigned long long)p->index);
	for (unsigned i = 0; i < p->count; i++)
		fprintf(f, "%s\n", bwl_hash_format(&p->hash[i], hash));
	fputc('\n', f);
	fwrite(p->note, 1, p->note_len, f);
	if (fclose(f))
		abort(); /* no memory */
	return text;
}

int bwl_tlog_proof_check(const struct bwl_tlog_proof *p, const struct bwl_hash *leaf,
			 const struct bwl_note_key *log, const struct bwl_witnesses *w,
			 struct bwl_checkpoint *ret, struct bwl_err *e)
{
	struct bwl_checkpoint c;
	int r = bwl_checkpoint_open(log, p->note, p->note_len, &c, e);

	if (r)
		return r;
	if (strcmp(c.origin, log->name))
		return bwl_fail(e, EBADMSG, "the checkpoint is of the log %.64s, not of %.64s",
				c.origin, log->name);
	if (w)
		r = bwl_witnesses_hold(w, log, p->note, p->note_len, NULL, e);
	if (r)
		return r;
	if (p->index >= c.size)
		return bwl_fail(e, EBADMSG,
				"the proof is of record %llu, but the checkpoint covers %llu",
				(unsigned long long)p->index, (unsigned long long)c.size);
	if (!bwl_inclusion_holds(p->index, leaf, c.size, &c.root, p->hash, p->count))
		return bwl_fail(
			e, EBADMSG,
			"this is not record %llu of the log of %llu records: the record, its number or a hash of the proof was changed",
			(unsigned long long)p->index, (unsigned long long)c.size);
	if (ret)
		*ret = c;
	return 0;
}
