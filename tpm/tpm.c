// SPDX-License-Identifier: GPL-2.0-or-later
/* The questions and their thread: see tpm.h. esys.c talks to the TPM. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <bwl/pins.h>
#include "question.h"

struct tpm {
	pthread_mutex_t lock;
	unsigned users; /* the owner, and the thread of a pending question */
	bool busy, answered;
	struct tpm_question question;
	struct tpm_state state;
	int result;
	struct bwl_err why;
};

int tpm_new(const char *tcti, struct tpm **ret, struct bwl_err *e)
{
	struct tpm *t = calloc(1, sizeof(*t));

	if (!t)
		return bwl_fail(e, ENOMEM, "out of memory");
	pthread_mutex_init(&t->lock, NULL);
	t->users = 1;
	snprintf(t->question.tcti, sizeof(t->question.tcti), "%s", tcti);
	*ret = t;
	return 0;
}

static void leave(struct tpm *t)
{
	bool last;

	pthread_mutex_lock(&t->lock);
	last = !--t->users;
	pthread_mutex_unlock(&t->lock);
	if (!last)
		return;
	pthread_mutex_destroy(&t->lock);
	free(t);
}

void tpm_free(struct tpm *t)
{
	if (t)
		leave(t);
}

static void *ask(void *arg)
{
	struct tpm_state s = { 0 };
	struct bwl_err e = { 0 };
	struct tpm *t = arg;
	int r = tpm_ask(&t->question, &s, &e); /* nobody changes it while we are busy */

	pthread_mutex_lock(&t->lock);
	t->state = s;
	t->result = r;
	t->why = e;
	t->answered = true;
	t->busy = false;
	pthread_mutex_unlock(&t->lock);
	leave(t);
	return NULL;
}

static int start(struct tpm *t, enum tpm_what what, const uint8_t *tag, uint64_t to)
{
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	pthread_mutex_lock(&t->lock);
	r = t->busy ? -EBUSY : 0;
	if (!r) {
		t->busy = true;
		t->answered = false;
		t->users++;
	}
	pthread_mutex_unlock(&t->lock);
	if (r)
		return r;
	t->question.what = what;
	t->question.to = to;
	if (tag)
		memcpy(t->question.tag, tag, TPM_TAG);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	r = pthread_create(&thread, &attr, ask, t);
	pthread_attr_destroy(&attr);
	if (!r)
		return 0;
	pthread_mutex_lock(&t->lock);
	t->busy = false;
	pthread_mutex_unlock(&t->lock);
	leave(t);
	return -r;
}

int tpm_look(struct tpm *t)
{
	return start(t, TPM_LOOK, NULL, 0);
}

int tpm_peek(struct tpm *t)
{
	return start(t, TPM_PEEK, NULL, 0);
}

int tpm_raise(struct tpm *t, const uint8_t tag[TPM_TAG], uint64_t to)
{
	return start(t, TPM_RAISE, tag, to);
}

int tpm_answer(struct tpm *t, struct tpm_state *ret, struct bwl_err *e)
{
	int r = -EINPROGRESS;

	pthread_mutex_lock(&t->lock);
	if (t->answered) {
		r = t->result;
		*ret = t->state;
		if (r)
			*e = t->why;
		t->answered = false;
	}
	pthread_mutex_unlock(&t->lock);
	return r;
}

int tpm_peek_within(const char *tcti, uint64_t ns, struct tpm_state *ret, struct bwl_err *e)
{
	uint64_t end = bwl_now_ns() + ns;
	struct tpm *t;
	int r = tpm_new(tcti, &t, e);

	if (r)
		return r;
	r = tpm_peek(t);
	if (r)
		bwl_fail(e, -r, "the TPM at %.100s cannot be asked: cannot start a thread", tcti);
	for (; !r; nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL)) {
		r = tpm_answer(t, ret, e);
		if (r != -EINPROGRESS)
			break;
		r = bwl_now_ns() < end
			    ? 0
			    : bwl_fail(e, ETIMEDOUT, "the TPM at %.100s does not answer", tcti);
	}
	tpm_free(t);
	return r;
}

void tpm_quiet(void)
{
	setenv("TSS2_LOG", "all+NONE", 0);
}

const char *tpm_tcti(void)
{
	const char *env = getenv("BWLIMIT_TPM_TCTI");

	return env && *env ? env : TPM_TCTI;
}
