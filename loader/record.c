/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See record.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <bwl/clock.h>
#include <bwl/model.h>
#include <bwl/record.h>
#include "bwlimit.skel.h"
#include "record.h"
#include "verify.h"

#define PATH 300

static void pin_path(char path[PATH], const char *dir, const char *before, enum bwl_rec_map m)
{
	snprintf(path, PATH, "%s/" BWL_REC_DIR "/%s%s", dir, before, bwl_rec_map_name(m));
}

bool bwl_record_wanted(const char *dir, enum bwl_record_want want)
{
	char path[PATH];

	pin_path(path, dir, "", BWL_REC_WORD);
	return want == BWL_RECORD_AS_IT_IS ? !access(path, F_OK) : want == BWL_RECORD_ON;
}

/* One for all objects of a run: they find each other's rows. */
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

int bwl_record_begin(const struct bwl_load *l, struct bwl_err *e)
{
	struct bwl_rec_word w = { .interval = 1, .made_ns = bwl_now_ns() };
	uint32_t zero = 0;

	if (!l->records ||
	    !bpf_map_update_elem(bpf_map__fd(map_of(l->skel, BWL_REC_WORD)), &zero, &w, 0))
		return 0;
	return bwl_fail(e, errno, "cannot begin to record flows: %s", strerror(errno));
}

/*
 * The word goes first and comes last: who has opened it, then the others, and finds it there still,
 * has four maps that belong together.
 */
static int unpin(const char *dir, struct bwl_err *e)
{
	char path[PATH];
	int r;

	pin_path(path, dir, "", BWL_REC_WORD);
	unlink(path);
	snprintf(path, sizeof(path), "%s/" BWL_REC_DIR, dir);
	r = bwl_load_clear(path, e);
	if (!r && rmdir(path) && errno != ENOENT)
		r = bwl_fail(e, errno, "cannot remove %s: %s", path, strerror(errno));
	return r;
}

int bwl_record_pin(const struct bwl_load *l, struct bwl_err *e)
{
	char path[PATH];
	int i, r = unpin(l->dir, e);

	if (r || !l->records)
		return r;
	snprintf(path, sizeof(path), "%s/" BWL_REC_DIR, l->dir);
	if (mkdir(path, 0700))
		return bwl_fail(e, errno, "cannot make %s: %s", path, strerror(errno));
	for (i = _BWL_REC_MAPS - 1; i >= 0; i--) { /* the word is the first of them */
		pin_path(path, l->dir, "", i);
		if (bpf_obj_pin(bpf_map__fd(map_of(l->skel, i)), path))
			return bwl_fail(e, errno, "cannot pin %s: %s", path, strerror(errno));
	}
	return 0;
}

void bwl_record_check(struct bwl_report *r, const char *dir)
{
	struct bwl_err e = { 0 };
	struct bwl_rec rec;
	int n = bwl_rec_open(dir, &rec, &e);

	if (n == -ENOENT) {
		bwl_check(r, "recorder", BWL_OK, "", "flows are not recorded");
		return;
	}
	if (n) {
		bwl_check(r, "recorder", BWL_WARN, "bwlimit-load attach --record on", "%s", e.text);
		return;
	}
	bwl_check(r, "recorder", BWL_OK, "", "flows are recorded: interval %u of these tables",
		  rec.word->interval);
	bwl_rec_close(&rec);
}
