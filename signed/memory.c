// SPDX-License-Identifier: GPL-2.0-or-later
/* See memory.h; memory_file.c stores it as a file. */
#include <string.h>
#include <bwl/doc.h>
#include <bwl/encode.h>
#include "signed/closing.h"
#include "signed/memory_parts.h"
#include "signed/payload.h"

/* the largest step of an epoch, so that nobody can use up all of them */
#define EPOCHS_AHEAD 1024
/*
 * The same for a name's versions. They may be seconds, twice these (fleet/controller/lead*.c), or
 * dates (20270101000000), and a tray may have been off for years. What closes is not bound: it is
 * never refused for its number, and uses up nothing, because each content has its own.
 */
#define VERSIONS_AHEAD (1ULL << 44)
#define VERSION_FIRST_MAX (1ULL << 62)

const struct bwl_root *bwl_memory_root(const struct bwl_memory *m)
{
	return m->root;
}

const struct bwl_tray *bwl_memory_tray(const struct bwl_memory *m)
{
	return &m->tray;
}

int64_t bwl_memory_label_since(const struct bwl_memory *m, size_t i)
{
	return m->label_since_s[i];
}

const char *bwl_memory_log_key(const struct bwl_memory *m)
{
	return m->log_key;
}

uint64_t bwl_memory_epoch(const struct bwl_memory *m)
{
	return m->epoch;
}

uint64_t bwl_memory_seq(const struct bwl_memory *m)
{
	return m->seq;
}

int64_t bwl_memory_now(const struct bwl_memory *m, int64_t wall_s)
{
	return wall_s > m->newest_s ? wall_s : m->newest_s;
}

int64_t bwl_memory_newest(const struct bwl_memory *m)
{
	return m->newest_s;
}

int64_t bwl_memory_closed(const struct bwl_memory *m)
{
	return m->closed_s;
}

const struct bwl_memory_item *bwl_memory_items(const struct bwl_memory *m, size_t *ret_n)
{
	*ret_n = m->nitems;
	return m->item;
}

const struct bwl_digest *bwl_memory_held(const struct bwl_memory *m, size_t *ret_n)
{
	*ret_n = m->nheld;
	return m->held;
}

static bool has(const struct bwl_digest *d, size_t n, const uint8_t digest[32])
{
	for (size_t i = 0; i < n; i++)
		if (!memcmp(d[i].b, digest, sizeof(d[i].b)))
			return true;
	return false;
}

uint64_t bwl_memory_held_seq(const struct bwl_memory *m, const uint8_t digest[32])
{
	for (size_t i = 0; i < m->nheld; i++)
		if (!memcmp(m->held[i].b, digest, sizeof(m->held[i].b)))
			return m->held_seq[i];
	return UINT64_MAX;
}

void bwl_memory_hold(struct bwl_memory *m, const struct bwl_digest *held, size_t n)
{
	uint64_t seq[BWL_MEMORY_HELD];
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		seq[i] = has(m->held, m->nheld, held[i].b) ? bwl_memory_held_seq(m, held[i].b)
							   : m->seq;
	memcpy(m->held_seq, seq, n * sizeof(*seq));
	memcpy(m->held, held, n * sizeof(*held));
	m->nheld = n;
	for (size_t i = 0; i < m->ndone; i++)
		if (has(m->held, n, m->done[i].b))
			m->done[k++] = m->done[i];
	m->ndone = k;
}

bool bwl_memory_is_done(const struct bwl_memory *m, const uint8_t digest[32])
{
	return has(m->done, m->ndone, digest);
}

void bwl_memory_set_done(struct bwl_memory *m, const uint8_t digest[32])
{
	if (has(m->held, m->nheld, digest) && !bwl_memory_is_done(m, digest))
		memcpy(m->done[m->ndone++].b, digest, sizeof(m->done[0].b));
}

const json_t *bwl_memory_due(const struct bwl_memory *m)
{
	return m->due;
}

void bwl_memory_set_due(struct bwl_memory *m, json_t *due)
{
	json_decref(m->due);
	m->due = due;
}

int64_t bwl_memory_whole(const struct bwl_memory *m)
{
	return m->whole_s;
}

void bwl_memory_set_whole(struct bwl_memory *m)
{
	m->whole_s = m->newest_s;
}

static int refuse(struct bwl_err *e, int code, const char *id)
{
	if (e)
		e->id = id;
	return -code;
}

static int judge_epoch(const struct bwl_memory *m, const struct bwl_signed *d, struct bwl_err *e)
{
	const char *word = bwl_signed_word(d->type);

	if (d->terms.epoch < m->epoch) {
		bwl_fail(e, ESTALE,
			 "the %s %s is of epoch %llu, which was revoked: the epoch is %llu now",
			 word, d->terms.name, (unsigned long long)d->terms.epoch,
			 (unsigned long long)m->epoch);
		return refuse(e, ESTALE, "signed-old");
	}
	if (d->terms.epoch - m->epoch <= EPOCHS_AHEAD)
		return 0;
	bwl_fail(e, ERANGE,
		 "the %s %s is of epoch %llu: must be at most %d above the current epoch %llu",
		 word, d->terms.name, (unsigned long long)d->terms.epoch, EPOCHS_AHEAD,
		 (unsigned long long)m->epoch);
	return refuse(e, ERANGE, "signed-malformed");
}

static int judge_version(const struct bwl_memory_item *was, const struct bwl_signed *d,
			 struct bwl_err *e)
{
	uint64_t most = was ? was->version + VERSIONS_AHEAD : VERSION_FIRST_MAX;

	if (bwl_closes(d->type) || d->terms.version <= most)
		return 0;
	bwl_fail(e, ERANGE, "the %s %s is version %llu: must be at most %llu here",
		 bwl_signed_word(d->type), d->terms.name, (unsigned long long)d->terms.version,
		 (unsigned long long)most);
	return refuse(e, ERANGE, "signed-malformed");
}

bool bwl_memory_is_revoked(const struct bwl_memory *m, const uint8_t digest[32])
{
	for (size_t i = 0; i < m->nrevoked; i++)
		if (!memcmp(m->revoked[i].b, digest, 32))
			return true;
	return false;
}

int bwl_memory_judge(const struct bwl_memory *m, const struct bwl_signed *d, struct bwl_err *e)
{
	const struct bwl_memory_item *was = memory_find_same(m, d);
	const char *word = bwl_signed_word(d->type);
	int r = judge_epoch(m, d, e);

	if (!r)
		r = judge_version(was, d, e);
	if (r)
		return r;
	if (d->type == BWL_SIGNED_TIMESTAMP && strcmp(d->terms.name, "time") != 0) {
		bwl_fail(e, EBADMSG, "the timestamp %s: its name must be `time`", d->terms.name);
		return refuse(e, EBADMSG, "signed-malformed");
	}
	if (bwl_memory_is_revoked(m, d->digest)) {
		bwl_fail(e, EKEYREVOKED, "the %s %s, version %llu, was revoked", word,
			 d->terms.name, (unsigned long long)d->terms.version);
		return refuse(e, EKEYREVOKED, "signed-revoked");
	}
	if (!was || d->terms.epoch > was->epoch ||
	    (d->terms.epoch == was->epoch && d->terms.version > was->version))
		return 0;
	if (d->terms.epoch == was->epoch && d->terms.version == was->version) {
		if (!memcmp(d->digest, was->digest.b, sizeof(d->digest)))
			return 1;
		bwl_fail(
			e, EEXIST,
			"the %s %s, version %llu, differs from version %llu that was accepted: two were signed with the same number",
			word, d->terms.name, (unsigned long long)d->terms.version,
			(unsigned long long)was->version);
		return refuse(e, EEXIST, "signed-conflict");
	}
	bwl_fail(
		e, ESTALE,
		"the %s %s is version %llu of epoch %llu, but version %llu of epoch %llu was accepted: versions only rise",
		word, d->terms.name, (unsigned long long)d->terms.version,
		(unsigned long long)d->terms.epoch, (unsigned long long)was->version,
		(unsigned long long)was->epoch);
	return refuse(e, ESTALE, "signed-old");
}

/*
 * A document that is known to be of a past epoch is refused because of that, so its revocation can
 * be forgotten. Any other may be of this epoch or a later one, even if it never came.
 */
static void forget_revoked(struct bwl_memory *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->nrevoked; i++) {
		bool over = false;

		for (size_t k = 0; !over && k < m->nitems; k++)
			over = m->item[k].epoch < m->epoch &&
			       !memcmp(m->item[k].digest.b, m->revoked[i].b, 32);
		if (!over)
			m->revoked[n++] = m->revoked[i];
	}
	m->nrevoked = n;
}

static int take_revocation(struct bwl_memory *m, const struct bwl_signed *d, struct bwl_err *e)
{
	const json_t *list = json_object_get(d->body, "documents"), *v;
	uint64_t epoch = bwl_payload_number(d->body, "new_epoch");
	size_t i;

	if (epoch > m->epoch + EPOCHS_AHEAD || m->nrevoked + json_array_size(list) > MEMORY_MAX) {
		bwl_fail(
			e, ERANGE,
			"the revocation %s: `new_epoch` must be at most %d above %llu; at most %d documents may be revoked by digest",
			d->terms.name, EPOCHS_AHEAD, (unsigned long long)m->epoch, MEMORY_MAX);
		return refuse(e, ERANGE, "signed-malformed");
	}
	m->revoked = bwl_must(reallocarray(m->revoked, m->nrevoked + json_array_size(list) + 1,
					   sizeof(*m->revoked)));
	json_array_foreach(list, i, v)
	{
		struct bwl_digest one;

		if (bwl_hex_decode(json_string_value(v), one.b, sizeof(one.b)) &&
		    !bwl_memory_is_revoked(m, one.b))
			m->revoked[m->nrevoked++] = one;
	}
	if (epoch <= m->epoch)
		return 0;
	m->epoch = epoch;
	forget_revoked(m);
	return 0;
}

/*
 * If the enrolment is for this tray, its labels become those of the newest one. If it is for
 * another tray, that one is no longer expelled.
 */
static int enrolled(struct bwl_memory *m, const struct bwl_signed *d, struct bwl_err *e)
{
	const struct bwl_memory_item *was = memory_find(m, d->type, d->terms.name);
	const char *tray = bwl_payload_text(d->body, "tray");
	bool other = strcmp(tray, m->tray.name);

	if (other && !strcmp(tray, d->terms.name) && (!was || was->other)) {
		memory_readmit(m, d);
		return 0;
	}
	if (other || (was && was->other)) {
		bwl_fail(e, EXDEV, "the enrolment is for tray %s, but this is tray %s",
			 bwl_payload_text(d->body, "tray"), m->tray.name);
		return refuse(e, EXDEV, "signed-audience");
	}
	memory_take_labels(m, json_object_get(d->body, "labels"), d->terms.issued_s);
	memory_take_log_key(m, bwl_payload_text(d->body, "log_key"));
	memory_readmit(m, d);
	return 0;
}

int bwl_memory_accept(struct bwl_memory *m, const struct bwl_signed *d, struct bwl_err *e)
{
	int r = bwl_memory_judge(m, d, e);
	struct bwl_digest before = { 0 };
	struct bwl_memory_item *i;

	if (r)
		return r;
	if (d->type == BWL_SIGNED_REVOCATION)
		r = take_revocation(m, d, e);
	if (d->type == BWL_SIGNED_ENROLMENT)
		r = enrolled(m, d, e);
	if (d->type == BWL_SIGNED_EXPULSION)
		r = memory_expel(m, d, e);
	if (r)
		return r;
	if (d->type == BWL_SIGNED_TIMESTAMP && d->terms.issued_s > m->newest_s)
		m->newest_s = d->terms.issued_s;
	if (bwl_closes(d->type) && d->terms.issued_s > m->closed_s)
		m->closed_s = d->terms.issued_s;
	i = memory_find_same(m, d);
	if (i)
		before = i->digest;
	i = memory_item_for(m, d, e);
	if (!i)
		return -ENOSPC;
	*i = (struct bwl_memory_item){ .type = d->type,
				       .epoch = d->terms.epoch,
				       .version = d->terms.version,
				       .seq = ++m->seq,
				       .issued_s = d->terms.issued_s,
				       .not_after_s = d->terms.not_after_s,
				       .other = d->type == BWL_SIGNED_ENROLMENT &&
						strcmp(bwl_payload_text(d->body, "tray"),
						       m->tray.name) };
	strcpy(i->name, d->terms.name);
	memcpy(i->digest.b, d->digest, sizeof(d->digest));
	if (bwl_closes(d->type)) {
		bwl_closing_what(d, i->what.b);
		i->before = before;
	}
	return 0;
}

static void forget_online(struct bwl_memory *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->nitems; i++)
		if (bwl_signed_role(m->item[i].type) != BWL_ROLE_ONLINE)
			m->item[n++] = m->item[i];
	m->nitems = n;
	m->newest_s = bwl_root_terms(m->root)->issued_s;
	m->whole_s = 0;
}

int bwl_memory_next_root(struct bwl_memory *m, const char *bytes, size_t len, struct bwl_err *e)
{
	BWL_AUTO(bwl_root_free) struct bwl_root *next = NULL;
	int r = bwl_root_next(m->root, bytes, len, &next, e);
	bool keeps;

	if (r)
		return r;
	keeps = bwl_root_keeps(m->root, next, BWL_ROLE_ONLINE);
	bwl_root_free(m->root);
	m->root = bwl_take_ptr(&next);
	free(m->root_text);
	m->root_text = bwl_must(strndup(bytes, len));
	if (bwl_root_terms(m->root)->epoch > m->epoch) {
		m->epoch = bwl_root_terms(m->root)->epoch;
		forget_revoked(m);
	}
	if (!keeps)
		forget_online(m);
	m->seq++;
	return 0;
}
