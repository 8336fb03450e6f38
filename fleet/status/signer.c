// SPDX-License-Identifier: GPL-2.0-or-later
/* See signer.h. */
#include <pthread.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <openssl/evp.h>
#include "bwl/cleanup.h"
#include "signed/payload.h"
#include "signed/said/said.h"
#include "signer.h"

void status_signer_of(const char *fleet, const json_t *body, struct status_signer *ret)
{
	const char *text = bwl_payload_text(body, "log_key");
	struct bwl_note_key k;

	memset(ret, 0, sizeof(*ret));
	if (!text || bwl_note_key_parse(text, &k, NULL))
		return;
	ret->named = true;
	memcpy(ret->pub, k.pub, sizeof(ret->pub));
	snprintf(ret->fleet, sizeof(ret->fleet), "%s", fleet);
}

void status_signer_unjudged(const char *why, struct status_signer *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->unjudged = true;
	snprintf(ret->why, sizeof(ret->why), "%s", why);
}

bool status_signer_is(const struct status_signer *a, const struct status_signer *b)
{
	return a->named == b->named && a->unjudged == b->unjudged &&
	       !memcmp(a->pub, b->pub, sizeof(a->pub)) && !strcmp(a->fleet, b->fleet);
}

void status_last_again(struct status_last *last)
{
	static const uint8_t none[sizeof(last->digest)];

	if (memcmp(last->digest, none, sizeof(none)))
		last->number--;
	memset(last->digest, 0, sizeof(last->digest));
	*last->refused = '\0';
	last->unjudged = false;
}

/* The age of the newest status, by the clock that gives the larger one. */
static int64_t behind_s(const struct status_last *last, const struct status_now *now)
{
	int64_t by_wall = now->wall_s - last->said_s;

	return by_wall > last->held_s ? by_wall : last->held_s;
}

enum status_worth status_worth(const struct status_signer *by, const struct status_last *last,
			       const struct status_now *now)
{
	if (by->unjudged || last->unjudged)
		return STATUS_UNJUDGED;
	if (*last->refused)
		return STATUS_REFUSED;
	if (!by->named || !last->number)
		return STATUS_UNSIGNED;
	return behind_s(last, now) > STATUS_LATE_S ? STATUS_LATE : STATUS_SIGNED;
}

const char *status_signature_word(enum status_worth w)
{
	static const char *const words[] = {
		[STATUS_UNSIGNED] = "unsigned", [STATUS_SIGNED] = "signed",
		[STATUS_LATE] = "late",         [STATUS_UNJUDGED] = "unjudged",
		[STATUS_REFUSED] = "refused",
	};

	return words[w];
}

static int doubt(struct bwl_err *e, int code, const char *id, const char *hint)
{
	bwl_hint(e, "%s", hint);
	if (e)
		e->id = id;
	return -code;
}

bool status_doubt(const struct status_signer *by, const struct status_last *last,
		  const struct status_now *now, struct bwl_err *e)
{
	switch (status_worth(by, last, now)) {
	case STATUS_UNSIGNED:
	case STATUS_SIGNED:
		return false;
	case STATUS_LATE:
		bwl_fail(e, ETIME,
			 "its status is %lld s late: somebody holds it back, or a clock is wrong",
			 (long long)behind_s(last, now));
		doubt(e, ETIME, "status-late",
		      "on that tray: systemctl status bwlimit-sync, bwlimit-ctl audit verify, and its clock");
		return true;
	case STATUS_UNJUDGED:
		bwl_fail(e, EKEYREJECTED, "its status cannot be judged: %s: enrol it anew",
			 by->unjudged ? by->why : last->refused);
		doubt(e, EKEYREJECTED, "status-unjudged",
		      "bwlimit-ctl --fleet enrol TRAY --log-key KEY, signed by people of the root of now");
		return true;
	case STATUS_REFUSED:
		bwl_fail(e, EKEYREJECTED, "its status is refused: %s", last->refused);
		doubt(e, EKEYREJECTED, "status-refused",
		      "somebody else may have its certificate of the store; on that tray: bwlimit-ctl audit verify, journalctl -u bwlimitd");
		return true;
	}
	return false;
}

static int refuse(struct status_last *last, const char *why, struct bwl_err *e)
{
	const struct status_signer any = { .named = true };
	const struct status_now now = { 0 };

	snprintf(last->refused, sizeof(last->refused), "%.250s", why);
	last->unjudged = false;
	status_doubt(&any, last, &now, e);
	return -EKEYREJECTED;
}

static int not_judged(const struct status_signer *by, struct status_last *last, const char *why,
		      struct bwl_err *e)
{
	const struct status_now now = { 0 };

	snprintf(last->refused, sizeof(last->refused), "%.250s", why);
	last->unjudged = true;
	status_doubt(by, last, &now, e);
	return -EKEYREJECTED;
}

#define DRIFT 1000 /* clocks since boot differ by less than one second in so many */

/*
 * When the tray booted, by our clock. A status that arrives at once gives the latest possible
 * moment; a delayed one gives a later moment. So the tray's own clock may be wrong, and need not be
 * known.
 */
static void mind_time(struct status_last *last, bool first, const struct tray_status *s,
		      const struct status_now *now)
{
	int64_t ours_s = (int64_t)(now->ns / 1000000000ULL), boot_s = ours_s - s->up_s;
	int64_t may_s = last->boot_s + (ours_s - last->boot_seen_s) / DRIFT;

	if (first || s->up_s < last->up_s || boot_s <= may_s) {
		last->boot_s = may_s = boot_s;
		last->boot_seen_s = ours_s;
	}
	last->held_s = boot_s - may_s;
	last->said_s = s->said_s;
	last->up_s = s->up_s;
}

/* Numbers rise. The same number with the same bytes is the same status. */
static int judge_number(struct status_last *last, uint64_t number, const char *bytes, size_t len,
			struct bwl_err *e)
{
	uint8_t digest[32];

	if (!number)
		return refuse(last, "it has no number", e);
	if (EVP_Digest(bytes, len, digest, NULL, EVP_sha256(), NULL) != 1)
		abort();
	if (number == last->number && !memcmp(digest, last->digest, sizeof(digest)))
		return 1;
	if (number <= last->number)
		return refuse(last, "it is older than what the tray said before, or a copy", e);
	last->number = number;
	memcpy(last->digest, digest, sizeof(digest));
	return 0;
}

/* The payload of a signed status, or a copy of an unsigned one. */
static int open_it(const char *tray, const struct status_signer *by, struct status_last *last,
		   const char *at, size_t len, char **ret, size_t *ret_len, struct bwl_err *e)
{
	struct bwl_err why = { 0 };
	int r;

	if (by->unjudged)
		return not_judged(by, last, by->why, e);
	if (bwl_said_is_signed(at, len)) {
		if (!by->named)
			return not_judged(
				by, last,
				"it is signed, and no enrolment in the store names its key", e);
		r = bwl_said_open(by->pub, by->fleet, tray, at, len, ret, ret_len, &why);
		return r ? refuse(last, why.text, e) : 0;
	}
	if (by->named)
		return refuse(last, "it is not signed, and its enrolment names a key", e);
	if (len > STATUS_BYTES_MAX)
		return bwl_fail(e, EBADMSG,
				"the status of %.79s: must be a JSON object of at most 4096 bytes",
				tray);
	*ret = bwl_must(malloc(len + 1));
	memcpy(*ret, at, len);
	(*ret)[len] = '\0';
	*ret_len = len;
	return 0;
}

int status_take(const char *tray, const struct status_signer *by, struct status_last *last,
		const struct status_now *now, const void *at, size_t len, struct tray_status *ret,
		struct status_taken *ret_taken, char **ret_payload, struct bwl_err *e)
{
	BWL_AUTO_FREE char *payload = NULL;
	bool first = !last->number;
	struct tray_status s;
	struct status_taken taken;
	size_t n = 0;
	int r = open_it(tray, by, last, at, len, &payload, &n, e), same = 0;

	if (r != -EKEYREJECTED) {
		r = r ? r : status_parse(tray, payload, n, &s, &taken, e);
		if (r && by->named)
			r = refuse(last, "what the tray's key signed cannot be read", e);
	}
	if (!r && by->named)
		same = judge_number(last, s.number, payload, n, e);
	if (r == -EKEYREJECTED || same < 0)
		return -EKEYREJECTED;
	if (r) {
		memset(ret, 0, sizeof(*ret));
		if (ret_taken)
			memset(ret_taken, 0, sizeof(*ret_taken));
		return r;
	}
	if (!same) {
		*last->refused = '\0';
		last->unjudged = false;
		mind_time(last, first, &s, now);
	}
	s.is_signed = by->named;
	*ret = s;
	if (ret_taken)
		*ret_taken = taken;
	if (ret_payload)
		*ret_payload = bwl_take_ptr(&payload);
	return same;
}

/* A tree by name. It only grows, up to the number of trays. */
struct node {
	char tray[BWL_DOC_NAME_MAX];
	struct status_signer by;
};
struct status_signers {
	pthread_mutex_t lock;
	void *tree;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct node *)a)->tray, ((const struct node *)b)->tray);
}

struct status_signers *status_signers_new(void)
{
	struct status_signers *s = bwl_must(calloc(1, sizeof(*s)));

	pthread_mutex_init(&s->lock, NULL);
	return s;
}

void status_signers_free(struct status_signers *s)
{
	if (!s)
		return;
	tdestroy(s->tree, free);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

void status_signers_set(struct status_signers *s, const char *tray, const struct status_signer *by)
{
	struct node *one = bwl_must(calloc(1, sizeof(*one))), **at;

	snprintf(one->tray, sizeof(one->tray), "%s", tray);
	pthread_mutex_lock(&s->lock);
	at = bwl_must(tsearch(one, &s->tree, by_name));
	if (*at != one)
		free(one);
	(*at)->by = *by;
	pthread_mutex_unlock(&s->lock);
}

struct status_signer status_signers_get(struct status_signers *s, const char *tray)
{
	struct status_signer by = { 0 };
	struct node ask, **at;

	if (!s)
		return by;
	snprintf(ask.tray, sizeof(ask.tray), "%s", tray);
	pthread_mutex_lock(&s->lock);
	at = tfind(&ask, &s->tree, by_name);
	if (at)
		by = (*at)->by;
	pthread_mutex_unlock(&s->lock);
	return by;
}
