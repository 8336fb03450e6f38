// SPDX-License-Identifier: GPL-2.0-or-later
/* See record.h. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <bwl/agent.h>
#include <bwl/bytes.h>
#include <bwl/cleanup.h>
#include <bwl/clock.h>
#include <bwl/map_io.h>
#include <bwl/model.h>
#include <bwl/record.h>
#include "bwlimit.skel.h"
#include "record.h"

#define PATH 300

static void pin_path(char path[PATH], const char *dir, const char *before, enum bwl_rec_map m)
{
	snprintf(path, PATH, "%s/" BWL_REC_DIR "/%s%s", dir, before, bwl_rec_map_name(m));
}

bool bwl_record_wanted(const char *dir, enum bwl_record_want want)
{
	char path[PATH];

	/* not the word: if pinning anew is interrupted the folder stays */
	snprintf(path, sizeof(path), "%s/" BWL_REC_DIR, dir);
	return want == BWL_RECORD_AS_IT_IS ? !access(path, F_OK) : want == BWL_RECORD_ON;
}

/* One seed for all objects of a run: they find each other's rows. */
static uint64_t seed(void)
{
	static uint64_t drawn;

	while (!drawn)
		if (getrandom(&drawn, sizeof(drawn), 0) != sizeof(drawn))
			drawn = 0;
	return drawn;
}

int bwl_record_open(struct bwlimit *skel, bool records)
{
	skel->rodata->bwl_records = records;
	if (!records)
		return 0;
	skel->rodata->bwl_rec_seed = seed();
	return bwl_rec_size(skel->obj);
}

static struct bpf_map *map_of(const struct bwlimit *skel, enum bwl_rec_map m)
{
	return bpf_object__find_map_by_name(skel->obj, bwl_rec_map_name(m));
}

int bwl_record_share(struct bwlimit *copy, const struct bwlimit *skel)
{
	int i, r = 0;

	for (i = 0; !r && i < _BWL_REC_MAPS; i++)
		r = bpf_map__reuse_fd(map_of(copy, i), bpf_map__fd(map_of(skel, i)));
	return r;
}

/*
 * When the newest tables were made: "BOOT NANOSECONDS" in a file that does not survive a reboot.
 * From it the reader of later tables knows of tables that came and went unread.
 */
static uint64_t remembered(const char *dir)
{
	char text[128] = "", boot[BWL_BOOT_ID], is[BWL_BOOT_ID];
	BWL_AUTO_CLOSE int fd = -1;
	struct sockaddr_un at;
	uint64_t made_ns;

	if (!bwl_agent_address(dir, ".tables", &at, NULL))
		fd = open(at.sun_path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0 ||
	    sscanf(text, "%39s %" SCNu64, boot, &made_ns) != 2)
		return 0;
	return strcmp(boot, bwl_boot_id(is)) ? 0 : made_ns;
}

static void remember(const char *dir, uint64_t made_ns)
{
	const struct bwl_replace how = { .unsynced = true };
	char text[128], boot[BWL_BOOT_ID];
	struct bwl_err e = { 0 };
	struct sockaddr_un at;
	int n = snprintf(text, sizeof(text), "%s %" PRIu64 "\n", bwl_boot_id(boot), made_ns);
	int r = bwl_agent_address(dir, ".tables", &at, &e);

	if (!r && bwl_run_dir_make())
		r = bwl_fail(&e, errno, "cannot make " BWL_RUN_DIR ": %s", strerror(errno));
	if (!r)
		r = bwl_bytes_replace_path(at.sun_path, &how, text, (size_t)n, &e);
	if (r)
		bwl_warn("cannot note when these tables were made: %s", e.text);
}

int bwl_record_begin(const struct bwl_load *l, struct bwl_err *e)
{
	struct bwl_rec_word w = { .interval = 1,
				  .made_ns = bwl_now_ns(),
				  .before_ns = remembered(l->dir),
				  .begun[1].interval = 1 };
	uint32_t zero = 0;

	if (!l->records || !bwl_map_put(bpf_map__fd(map_of(l->skel, BWL_REC_WORD)), &zero, &w, 0))
		return 0;
	return bwl_fail(e, errno, "cannot start recording flows: %s", strerror(errno));
}

/* For the pinned tables; bwlimitd may swap them meanwhile. */
static void say_whole(const char *dir, bool whole)
{
	struct bwl_err e;
	struct bwl_rec r;

	if (bwl_rec_open(dir, &r, &e)) /* no tables, or another version's */
		return;
	__atomic_store_n(&r.word->whole, whole, __ATOMIC_SEQ_CST);
	bwl_rec_close(&r);
}

/*
 * The word is removed first and pinned last: a reader who opens the word, then the others, and then
 * finds the same word still there has four maps that belong together.
 */
static int unpin(const char *dir, struct bwl_err *e)
{
	char path[PATH];

	pin_path(path, dir, "", BWL_REC_WORD);
	unlink(path);
	snprintf(path, sizeof(path), "%s/" BWL_REC_DIR, dir);
	return bwl_load_clear(path, e);
}

int bwl_record_pin(const struct bwl_load *l, struct bwl_err *e)
{
	struct bwl_rec_word w = { 0 };
	uint32_t zero = 0;
	char path[PATH];
	int i, r;

	say_whole(l->dir, false);
	if (!l->records)
		return 0;
	r = unpin(l->dir, e);
	if (r)
		return r;
	snprintf(path, sizeof(path), "%s/" BWL_REC_DIR, l->dir);
	if (mkdir(path, 0700) && errno != EEXIST)
		return bwl_fail(e, errno, "cannot make %s: %s", path, strerror(errno));
	for (i = _BWL_REC_MAPS - 1; i >= 0; i--) { /* the word has the lowest number */
		pin_path(path, l->dir, "", i);
		if (bwl_map_pin(bpf_map__fd(map_of(l->skel, i)), path))
			return bwl_fail(e, errno, "cannot pin %s: %s", path, strerror(errno));
	}
	if (!bwl_map_get(bpf_map__fd(map_of(l->skel, BWL_REC_WORD)), &zero, &w))
		remember(l->dir, w.made_ns);
	return 0;
}

int bwl_record_whole(const struct bwl_load *l, struct bwl_err *e)
{
	char path[PATH];
	int r;

	if (!l->records) {
		r = unpin(l->dir, e);
		snprintf(path, sizeof(path), "%s/" BWL_REC_DIR, l->dir);
		if (!r && rmdir(path) && errno != ENOENT)
			r = bwl_fail(e, errno, "cannot remove %s: %s", path, strerror(errno));
		return r;
	}
	say_whole(l->dir, true);
	return 0;
}
