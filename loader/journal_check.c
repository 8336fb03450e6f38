// SPDX-License-Identifier: GPL-2.0-or-later
/* Compares the journal with the TPM's counter before a host port opens: see journal_check.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/publish.h>
#include "journal_check.h"
#include "tpm/tpm.h"

#define TPM_NS 5000000000ULL

_Static_assert(BWL_JOURNAL_TAG == TPM_TAG, "a counter's tag");

/* BWLIMIT_TPM is what bwlimitd's unit passes as --tpm. */
static bool mode_is(const char *word)
{
	const char *env = getenv("BWLIMIT_TPM");

	return env && !strcmp(env, word);
}

static bool put_off(const char *why)
{
	bwl_warn(
		"cannot tell whether the journal of closures is an old copy: %s; nothing passes until bwlimitd has compared it with the TPM's counter (on a machine that will never have a TPM: BWLIMIT_TPM=none in /etc/default/bwlimit)",
		why);
	return false;
}

/* An earlier attach may have filled the maps according to this journal. */
static void close_all(struct bwl_pins *p)
{
	bwl_journal_stop(p);
	bwl_revoke(p, NULL, NULL);
}

/* Marks the journal as cut, for everybody who reads it later. */
static bool refuse(struct bwl_pins *p, const char *dir, struct bwl_journal *j, const char *why)
{
	struct bwl_err e = { 0 };

	close_all(p);
	if (bwl_journal_set_aside(dir, &e))
		bwl_warn("%s", e.text);
	bwl_journal_free(j);
	*j = (struct bwl_journal){ .state = BWL_JOURNAL_CUT };
	snprintf(j->why, sizeof(j->why), "%s", why);
	return true;
}

/* false: it cannot be judged here. */
static bool judge(struct bwl_pins *p, const char *dir, struct bwl_journal *j)
{
	struct bwl_journal_bound b;
	int bound = bwl_journal_bound_read(dir, &b);
	struct bwl_err e = { 0 };
	char why[BWL_JOURNAL_WHY];
	struct tpm_state s;

	if (tpm_peek_within(tpm_tcti(), TPM_NS, &s, &e))
		return bound == -ENOENT && !mode_is("required") ? true : put_off(e.text);
	if (bound == -ENOENT)
		return s.has_index
			       ? put_off("the TPM has a counter, but the journal is not bound to it")
			       : true;
	if (!s.has_index)
		return refuse(
			p, dir, j,
			"it is bound to a TPM's counter, but the TPM has none: the TPM was cleared, or it is another TPM");
	if (bound)
		return put_off("the file `bound` cannot be read");
	return bwl_journal_fits(dir, &b, s.tag, s.count, why) ? true : refuse(p, dir, j, why);
}

void bwl_judge_journal(struct bwl_pins *p, struct bwl_journal *ret)
{
	const char *dir = bwl_journal_dir(p->ctl->drill);
	bool put_off_before = bwl_journal_is_unjudged(p);

	bwl_journal_look(dir, ret);
	if (put_off_before && ret->state != BWL_JOURNAL_OK && ret->state != BWL_JOURNAL_OFF)
		close_all(p);
	bwl_journal_unjudged(p); /* running maps know what was closed, and stay open */
	if (ret->state != BWL_JOURNAL_OK || mode_is("none") || !bwl_journal_is_unjudged(p) ||
	    judge(p, dir, ret))
		bwl_journal_judged(p);
	bwl_journal_warn(ret);
}

void bwl_judge_again(struct bwl_pins *p, const struct bwl_journal *j)
{
	struct bwl_journal now;

	if (j->state != BWL_JOURNAL_OK)
		return;
	bwl_journal_look(bwl_journal_dir(p->ctl->drill), &now);
	if (now.state != BWL_JOURNAL_OK)
		close_all(p);
	bwl_journal_free(&now);
}
