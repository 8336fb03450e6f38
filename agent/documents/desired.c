// SPDX-License-Identifier: GPL-2.0-or-later
/* See desired.h. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "documents/desired.h"
#include "signed/enrolled.h"
#include "store.h"

struct both {
	struct agent_source s;
	struct agent_source *file;
	const char *state_dir;
	int poll, wake, told; /* poll: of the file's descriptor and wake */
	char name[BWL_NAME_LEN + 64];
	uint64_t seq; /* of the memory that was read last; 0: the file was read */
	pthread_mutex_t lock;
	bool news;
	struct docs_settled settled;
	uint8_t fresh[32]; /* the policy whose volumes begin unspent; zeros: none */
};

static int load_file(struct both *b, char **ret, size_t *ret_len, struct bwl_err *e)
{
	b->s.name = b->file->name;
	return b->file->ops->load(b->file, ret, ret_len, e);
}

static void get_fresh(struct both *b, uint8_t ret[static 32])
{
	pthread_mutex_lock(&b->lock);
	memcpy(ret, b->fresh, sizeof(b->fresh));
	pthread_mutex_unlock(&b->lock);
}

/*
 * The right to begin unspent is used up before the policy is put in force, even if that then fails:
 * signing anew is better than using it twice. said was read before the documents were, so it is
 * void if it names another policy.
 */
static bool spend_fresh(struct both *b, const uint8_t said[static 32],
			const struct docs_one *policy)
{
	static const uint8_t none[32];

	pthread_mutex_lock(&b->lock);
	if (!memcmp(b->fresh, said, sizeof(b->fresh)))
		memset(b->fresh, 0, sizeof(b->fresh));
	pthread_mutex_unlock(&b->lock);
	return policy && memcmp(said, none, sizeof(none)) &&
	       !memcmp(said, policy->d.digest, sizeof(none));
}

/*
 * The file is used until the first signed policy comes. It can only tighten, like everything local.
 */
static int load_signed(struct both *b, char **ret, size_t *ret_len, struct bwl_err *e)
{
	struct docs_clock c = docs_clock_now();
	const struct docs_one *policy;
	uint8_t fresh[32];
	struct docs s;
	int r;

	get_fresh(b, fresh);
	r = docs_load(b->state_dir, &c, &s, e);
	if (!r && !docs_has_policy(&s)) {
		docs_free(&s);
		return load_file(b, ret, ret_len, e);
	}
	if (r)
		return r;
	b->seq = bwl_memory_seq(s.m);
	b->s.time_is_known = docs_is_heard(&s);
	b->s.judged = true;
	policy = docs_policy(&s);
	if (policy)
		snprintf(b->name, sizeof(b->name), "signed policy %s, version %llu",
			 policy->d.terms.name, (unsigned long long)policy->d.terms.version);
	b->s.fresh_volume = spend_fresh(b, fresh, policy);
	r = docs_text(&s, &c, ret, ret_len, e);
	if (r == -ENOENT)
		bwl_hint(e, "everything above the floor stays closed until one comes");
	docs_free(&s);
	return r;
}

static int load(struct agent_source *s, char **ret, size_t *ret_len, struct bwl_err *e)
{
	struct both *b = (struct both *)s;

	b->seq = 0;
	b->s.fresh_volume = b->s.time_is_known = b->s.judged = false;
	if (!bwl_is_enrolled(b->state_dir))
		return load_file(b, ret, ret_len, e);
	strcpy(b->name, "signed policy");
	b->s.name = b->name;
	return load_signed(b, ret, ret_len, e);
}

static int fd_of(const struct agent_source *s)
{
	return ((const struct both *)s)->poll;
}

static bool drain(struct agent_source *s)
{
	struct both *b = (struct both *)s;
	bool woken = false;
	uint64_t n;

	while (read(b->wake, &n, sizeof(n)) > 0)
		woken = true;
	return b->file->ops->drain(b->file) || woken;
}

static void settled(struct agent_source *s, const struct bwl_err *e)
{
	struct both *b = (struct both *)s;
	const uint64_t one = 1;

	pthread_mutex_lock(&b->lock);
	b->settled = (struct docs_settled){ .seq = b->seq, .code = e ? e->code : 0 };
	if (e)
		snprintf(b->settled.why, sizeof(b->settled.why), "%.399s", e->text);
	b->news = true;
	pthread_mutex_unlock(&b->lock);
	if (write(b->told, &one, sizeof(one)) < 0)
		return; /* it is readable already */
}

bool docs_source_settled(struct agent_source *s, struct docs_settled *ret)
{
	struct both *b = (struct both *)s;
	uint64_t n;
	bool news;

	while (read(b->told, &n, sizeof(n)) > 0)
		;
	pthread_mutex_lock(&b->lock);
	news = b->news;
	b->news = false;
	*ret = b->settled;
	pthread_mutex_unlock(&b->lock);
	return news;
}

void docs_source_wake(struct agent_source *s)
{
	const uint64_t one = 1;

	if (write(((struct both *)s)->wake, &one, sizeof(one)) < 0)
		return; /* it is readable already */
}

void docs_source_fresh(struct agent_source *s, const uint8_t policy[32])
{
	static const uint8_t none[32];
	struct both *b = (struct both *)s;

	if (!memcmp(policy, none, sizeof(none)))
		return;
	pthread_mutex_lock(&b->lock);
	memcpy(b->fresh, policy, sizeof(b->fresh));
	pthread_mutex_unlock(&b->lock);
}

int docs_source_fd(const struct agent_source *s)
{
	return ((const struct both *)s)->told;
}

static void end(struct both *b)
{
	if (b->file)
		b->file->ops->free(b->file);
	if (b->poll >= 0)
		close(b->poll);
	if (b->wake >= 0)
		close(b->wake);
	if (b->told >= 0)
		close(b->told);
	free(b);
}

static void both_free(struct agent_source *s)
{
	end((struct both *)s);
}

int docs_source_new(struct agent_source *file, const char *state_dir, struct agent_source **ret,
		    struct bwl_err *e)
{
	static const struct agent_source_ops ops = { load, fd_of, drain, both_free, settled };
	struct both *b = bwl_must(calloc(1, sizeof(*b)));
	struct epoll_event ev = { .events = EPOLLIN };
	int fd = file->ops->fd(file);

	*b = (struct both){ .s = { .ops = &ops, .name = file->name },
			    .file = file,
			    .state_dir = state_dir,
			    .lock = PTHREAD_MUTEX_INITIALIZER };
	b->poll = epoll_create1(EPOLL_CLOEXEC);
	b->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	b->told = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (b->poll < 0 || b->wake < 0 || b->told < 0 ||
	    epoll_ctl(b->poll, EPOLL_CTL_ADD, b->wake, &ev) ||
	    (fd >= 0 && epoll_ctl(b->poll, EPOLL_CTL_ADD, fd, &ev))) {
		bwl_fail(e, errno, "cannot watch the source of the policy: %m");
		end(b);
		return -e->code;
	}
	*ret = &b->s;
	return 0;
}
