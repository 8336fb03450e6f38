// SPDX-License-Identifier: GPL-2.0-or-later
/* See store.h. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "agent.h"
#include "bwl/bytes.h"
#include "bwl/cleanup.h"
#include "bwl/clock.h"
#include "bwl/encode.h"
#include "store.h"

/* boot, the newest signed time, the earliest time that it could be, and when it was heard */
#define HEARD "signed-time"

#define LOADS 8 /* attempts, until nothing changes during the reading */

BWL_AUTO_DEFINE(closedir, DIR *)

struct docs_clock docs_clock_now(void)
{
	return (struct docs_clock){ .boot_ns = bwl_now_ns(), .wall_s = time(NULL) };
}

/*
 * Since this boot, the time is as it was heard. From an earlier boot only the memory is left: then
 * only a synchronised wall clock is believed.
 */
static void read_heard(const char *state_dir, const struct docs_clock *c, struct docs *s)
{
	char line[256], is[BWL_BOOT_ID], was[40];
	struct docs_heard h;

	bwl_boot_id(is);
	if (!agent_state_read(state_dir, HEARD, line, sizeof(line)) &&
	    sscanf(line, "%39s %" SCNd64 " %" SCNd64 " %" SCNu64, was, &h.newest_s, &h.at_s,
		   &h.boot_ns) == 4 &&
	    !strcmp(is, was) && h.boot_ns <= c->boot_ns)
		s->heard = h;
	docs_unheard(s);
	if (!docs_is_heard(s) && bwl_wall_state() == BWL_WALL_OK &&
	    c->wall_s >= bwl_memory_newest(s->m))
		docs_heard_now(s, c);
}

int docs_keep_heard(const char *state_dir, const struct docs *s, struct bwl_err *e)
{
	char line[256], boot[BWL_BOOT_ID];

	snprintf(line, sizeof(line), "%s %" PRId64 " %" PRId64 " %" PRIu64, bwl_boot_id(boot),
		 s->heard.newest_s, s->heard.at_s, s->heard.boot_ns);
	return agent_state_write(state_dir, HEARD, line, e);
}

static void read_one(int dir, const char *name, struct docs *s)
{
	BWL_AUTO_CLOSE int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char *bytes = NULL;
	uint8_t digest[32];
	size_t len;

	if (fd >= 0 && bwl_hex_decode(name, digest, sizeof(digest)) && docs_needs(s, digest) &&
	    !bwl_bytes_read(fd, BWL_SIGNED_BYTES_MAX, &bytes, &len, NULL))
		docs_add(s, bytes, len);
}

static int load_once(const char *state_dir, struct docs *ret, struct bwl_err *e)
{
	BWL_AUTO(closedir) DIR *d = NULL;
	const struct dirent *f;
	char path[512];
	int r;

	*ret = (struct docs){ 0 };
	r = bwl_memory_open(state_dir, &ret->m, e);
	if (r)
		return r;
	snprintf(path, sizeof(path), "%s/" DOCS_DIR, state_dir);
	d = opendir(path);
	while (d && (f = readdir(d)))
		read_one(dirfd(d), f->d_name, ret);
	return 0;
}

/* Another thread writes: it may have swept away documents that this memory names. */
static int is_same_still(const char *state_dir, const struct docs *s, bool *ret, struct bwl_err *e)
{
	struct bwl_memory *now = NULL;
	int r = bwl_memory_open(state_dir, &now, e);

	if (r)
		return r;
	*ret = bwl_memory_seq(now) == bwl_memory_seq(s->m);
	bwl_memory_free(now);
	return 0;
}

int docs_load(const char *state_dir, const struct docs_clock *c, struct docs *ret,
	      struct bwl_err *e)
{
	bool same = false;
	int r = 0;

	for (unsigned i = 0; !r && !same && i < LOADS; i++) {
		if (i)
			docs_free(ret);
		r = load_once(state_dir, ret, e);
		if (!r)
			r = is_same_still(state_dir, ret, &same, e);
	}
	if (!r && !same)
		r = bwl_fail(e, EAGAIN, "documents come faster than they can be read");
	if (r) {
		docs_free(ret);
		return r;
	}
	read_heard(state_dir, c, ret);
	return 0;
}

bool docs_is_kept(const char *state_dir, const uint8_t digest[32])
{
	char path[512], hex[65];

	snprintf(path, sizeof(path), "%s/" DOCS_DIR "/%s", state_dir,
		 bwl_hex_encode(digest, 32, hex));
	return !access(path, R_OK);
}

/* As read_one() asks: a file whose name is not its content's digest would not be found again. */
static int is_named(const uint8_t digest[32], const char *bytes, size_t len, struct bwl_err *e)
{
	struct bwl_signed d;
	bool same;
	int r = bwl_signed_peek(bytes, len, &d, e);

	if (r)
		return r;
	same = len <= BWL_SIGNED_BYTES_MAX && !memcmp(d.digest, digest, sizeof(d.digest));
	bwl_signed_free(&d);
	return same ? 0 : bwl_fail(e, EBADMSG, "a document could not be read back: it is not kept");
}

int docs_put(const char *state_dir, const uint8_t digest[32], const char *bytes, size_t len,
	     struct bwl_err *e)
{
	const struct bwl_bytes part = { bytes, len };
	char path[512], hex[65];
	int r = is_named(digest, bytes, len, e);

	if (r)
		return r;
	snprintf(path, sizeof(path), "%s/" DOCS_DIR, state_dir);
	if (mkdir(path, 0700) && errno != EEXIST)
		return bwl_fail(e, errno, "cannot make %s: %m", path);
	return bwl_bytes_replace(path, bwl_hex_encode(digest, 32, hex), &part, 1, e);
}

void docs_sweep(const char *state_dir, const struct docs *s)
{
	BWL_AUTO(closedir) DIR *d = NULL;
	const struct dirent *f;
	uint8_t digest[32];
	char path[512];

	snprintf(path, sizeof(path), "%s/" DOCS_DIR, state_dir);
	d = opendir(path);
	while (d && (f = readdir(d)))
		if (*f->d_name != '.' &&
		    (!bwl_hex_decode(f->d_name, digest, sizeof(digest)) || !docs_needs(s, digest)))
			unlinkat(dirfd(d), f->d_name, 0);
}
