// SPDX-License-Identifier: GPL-2.0-or-later
/* See cosign.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cosign.h"

static enum cosign_word alarm_of(struct log_state *l, const struct log_head *now, const char *what,
				 const struct log_head *before, struct bwl_err *why)
{
	snprintf(l->wrong, sizeof(l->wrong), "%s (size %llu before, %llu now)", what,
		 (unsigned long long)before->c.size, (unsigned long long)now->c.size);
	l->evidence = *now;
	bwl_fail(why, EBADMSG, "%s", l->wrong);
	return COSIGN_ALARM;
}

static enum cosign_word stranger(struct cosigned *c, const char *what, struct bwl_err *why)
{
	if (!strcmp(c->stranger, what))
		return COSIGN_NOTHING;
	snprintf(c->stranger, sizeof(c->stranger), "%s", what);
	bwl_fail(why, EKEYREJECTED, "%s", what);
	return COSIGN_STRANGER;
}

/* Does the proof show that the log begins with the cosigned one? */
static bool is_proven(const struct log_head *before, const struct tray_status *s)
{
	if (!s->nproof || s->proof_from != before->c.size)
		return false;
	return bwl_proof_holds(before->c.size, &before->c.root, s->checkpoint.size,
			       &s->checkpoint.root, s->proof, s->nproof);
}

static bool is_same(const struct log_head *a, const struct log_head *b)
{
	return a->c.size == b->c.size && bwl_hash_equal(&a->c.root, &b->c.root);
}

/* The checkpoint is signed by the log's own key, and the log is the known one. */
static enum cosign_word judge_order(struct cosigned *c, const struct tray_status *s,
				    const struct log_head *now, int64_t now_s, struct bwl_err *why)
{
	struct log_state *l = &c->log;
	struct log_head before = l->seen;

	if (*before.note && now->c.size < before.c.size)
		return alarm_of(l, now, "its audit log has become shorter", &before, why);
	if (*before.note && now->c.size == before.c.size && !is_same(now, &before))
		return alarm_of(l, now, "its audit log has two histories", &before, why);
	l->seen = *now;
	if (!*l->cosigned.note || is_proven(&l->cosigned, s)) {
		l->cosigned = *now;
		l->cosigned_s = now_s;
		c->unproven_s = 0;
		c->told_unproven = false;
		return COSIGN_SIGN;
	}
	if (s->nproof && s->proof_from == l->cosigned.c.size && now->c.size > l->cosigned.c.size)
		return alarm_of(l, now, "its audit log does not begin as it did", &l->cosigned,
				why);
	if (is_same(now, &l->cosigned))
		return COSIGN_NOTHING;
	c->unproven_s = c->unproven_s ? c->unproven_s : now_s;
	if (now_s - c->unproven_s >= COSIGN_OVERDUE_S && !c->told_unproven) {
		c->told_unproven = true;
		bwl_fail(
			why, EBADMSG,
			"its audit log has grown for %lld s, from %llu to %llu records, without a proof that it continues the old one",
			(long long)(now_s - c->unproven_s), (unsigned long long)l->cosigned.c.size,
			(unsigned long long)now->c.size);
		return COSIGN_UNPROVEN;
	}
	return *before.note && is_same(now, &before) ? COSIGN_NOTHING : COSIGN_KEEP;
}

enum cosign_word cosign_judge(struct cosigned *c, const struct tray_status *s, int64_t now_s,
			      struct bwl_err *why)
{
	struct log_state *l = &c->log;
	struct log_head now = { .c = s->checkpoint };
	struct bwl_checkpoint signed_;

	if (!s->has_checkpoint || *l->wrong)
		return COSIGN_NOTHING;
	if (s->is_signed && s->number < l->number)
		return stranger(c, "its status is older than one received before", why);
	memcpy(now.note, s->note, sizeof(now.note));
	if (*l->key.name && (strcmp(l->key.name, s->key.name) ||
			     memcmp(l->key.pub, s->key.pub, sizeof(l->key.pub))))
		return stranger(c, "its audit log has another key", why);
	if (bwl_checkpoint_open(&s->key, s->note, strlen(s->note), &signed_, NULL))
		return stranger(c, "its audit log's checkpoint is not signed by the log's key",
				why);
	if (*l->seen.note && strcmp(l->seen.c.origin, s->checkpoint.origin))
		return stranger(c, "its audit log is another one", why);
	*c->stranger = '\0';
	l->key = s->key;
	l->number = s->is_signed ? s->number : l->number;
	return judge_order(c, s, &now, now_s, why);
}

int cosign_note(const struct log_head *h, const char *name, const struct bwl_key *k, int64_t now_s,
		char ret[static COSIGN_NOTE], struct bwl_err *e)
{
	size_t len = strlen(h->note), n;
	char line[BWL_COSIGNATURE_LINE], *said;
	uint8_t sig[BWL_SIGNATURE];
	struct bwl_note_key w;
	int r = bwl_witness_key(name, bwl_key_public(k), &w, e);

	if (r)
		return r;
	said = bwl_cosignature_said(h->note, bwl_note_text(h->note, len), (uint64_t)now_s, &n);
	r = bwl_key_sign(k, (const uint8_t *)said, n, sig, e);
	free(said);
	if (r)
		return r;
	bwl_cosignature_line(&w, (uint64_t)now_s, sig, line);
	snprintf(ret, COSIGN_NOTE, "%s%s", h->note, line);
	return 0;
}
