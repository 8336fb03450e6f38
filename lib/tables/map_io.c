// SPDX-License-Identifier: GPL-2.0-or-later
/* See bwl/map_io.h. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <bpf/bpf.h>
#include <bwl/map_io.h>

bool bwl_map_passes(int err)
{
	return err == ENOMEM || err == EAGAIN || err == EBUSY || err == EDEADLK ||
	       err == ETIMEDOUT || err == EINTR;
}

/* After a call that failed: shall it be repeated? errno is as the call left it. */
static bool again(unsigned *tries)
{
	int err = errno;

	if (!bwl_map_passes(err) || *tries == BWL_RETRIES)
		return false;
	(*tries)++;
	sched_yield();
	errno = err;
	return true;
}

/* libbpf's result, whatever its version: 0 or more, or -errno. */
#define REPEATED(call)                                                                             \
	({                                                                                         \
		unsigned tries_ = 0;                                                               \
		int r_;                                                                            \
                                                                                                   \
		while ((r_ = (call)) < 0 && again(&tries_))                                        \
			;                                                                          \
		r_ < 0 ? -errno : r_;                                                              \
	})

int bwl_map_put(int fd, const void *key, const void *value, uint64_t flags)
{
	return REPEATED(bpf_map_update_elem(fd, key, value, flags));
}

int bwl_map_put_all(int fd, const void *keys, uint32_t key_bytes, const void *values,
		    uint32_t value_bytes, uint32_t *n)
{
	uint32_t all = *n, from = 0, done;
	unsigned tries = 0;

	while (from < all) {
		done = all - from;
		if (!bpf_map_update_batch(fd, (const uint8_t *)keys + (size_t)from * key_bytes,
					  (const uint8_t *)values + (size_t)from * value_bytes,
					  &done, NULL)) {
			from = all;
			break;
		}
		/*
		 * Until 6.8 the kernel leaves the number as it was if it fails before the first
		 * entry. Written twice is as good as once.
		 */
		if (done >= all - from)
			done = 0;
		if (done)
			tries = 0;
		from += done;
		if (!again(&tries))
			break;
	}
	*n = from;
	return from == all ? 0 : -errno;
}

int bwl_map_delete(int fd, const void *key)
{
	return REPEATED(bpf_map_delete_elem(fd, key));
}

int bwl_map_get(int fd, const void *key, void *value)
{
	return REPEATED(bpf_map_lookup_elem(fd, key, value));
}

int bwl_map_next(int fd, const void *key, void *next)
{
	return REPEATED(bpf_map_get_next_key(fd, key, next));
}

int bwl_map_get_all(int fd, void *in, void *out, void *keys, void *values, uint32_t *n)
{
	uint32_t most = *n;

	return REPEATED((*n = most, bpf_map_lookup_batch(fd, in, out, keys, values, n, NULL)));
}

int bwl_map_create(uint32_t type, const char *name, uint32_t key_bytes, uint32_t value_bytes,
		   uint32_t entries, const struct bpf_map_create_opts *o)
{
	return REPEATED(
		bpf_map_create((enum bpf_map_type)type, name, key_bytes, value_bytes, entries, o));
}

int bwl_map_pin(int fd, const char *path)
{
	return REPEATED(bpf_obj_pin(fd, path));
}

int bwl_map_tried(struct bwl_err *e)
{
	size_t n;

	if (!e)
		return -EIO;
	if (bwl_map_passes(e->code)) {
		n = strlen(e->text);
		snprintf(e->text + n, sizeof(e->text) - n, ", tried %d times", 1 + BWL_RETRIES);
		e->id = BWL_MAP_REFUSED;
	}
	return -e->code;
}

int bwl_map_refused(struct bwl_err *e, int err, const struct bwl_map_place *at)
{
	char entry[64] = "an entry", what[160] = "";

	if (at->at && at->of)
		snprintf(entry, sizeof(entry), "entry %llu of %llu", (unsigned long long)at->at,
			 (unsigned long long)at->of);
	else if (at->at)
		snprintf(entry, sizeof(entry), "entry %llu", (unsigned long long)at->at);
	if (at->what)
		snprintf(what, sizeof(what), " (%s)", at->what);
	err = bwl_fail(e, err, "the kernel refused %s of map %s%s: %s", entry, at->map, what,
		       strerror(err));
	bwl_map_tried(e);
	return err;
}
