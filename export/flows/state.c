// SPDX-License-Identifier: GPL-2.0-or-later
/* See state.h. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <jansson.h>
#include <bwl/bytes.h>
#include <bwl/cleanup.h>
#include <bwl/doc.h>
#include <bwl/for_readers.h>
#include "state.h"

#define NAME "state.json"
#define BYTES_MAX 65536

#define NUMBERS(X)                                                                                 \
	X("budget_bytes", budget.bytes)                                                            \
	X("budget_window_ns", budget.window_ns)                                                    \
	X("used_bytes", budget.used)                                                               \
	X("window_left_ns", budget.left_ns)                                                        \
	X("at_ns", budget.at_ns)                                                                   \
	X("next", next)                                                                            \
	X("begun", begun)                                                                          \
	X("skipped", skipped)                                                                      \
	X("file_bytes", file_bytes)                                                                \
	X("file_inode", file_inode)                                                                \
	X("sequence", sequence)                                                                    \
	X("ignored_frames", losses.ignored_frames)                                                 \
	X("ignored_bytes", losses.ignored_bytes)                                                   \
	X("unsent_flows", losses.unsent_flows)                                                     \
	X("unsent_frames", losses.unsent_frames)                                                   \
	X("unsent_bytes", losses.unsent_bytes)

static int read_all(const json_t *o, struct state *s)
{
	const json_t *x;

#define READ(key, member)                                                                          \
	x = json_object_get(o, key);                                                               \
	if (!json_is_integer(x) || json_integer_value(x) < 0)                                      \
		return -EUCLEAN;                                                                   \
	s->member = (__typeof__(s->member))json_integer_value(x);
	NUMBERS(READ)
#undef READ
	return 0;
}

int state_load(const char *dir, const char *boot, struct state *ret, struct bwl_err *e)
{
	BWL_AUTO_CLOSE int folder = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	BWL_AUTO_CLOSE int fd = -1;
	BWL_AUTO_FREE char *text = NULL;
	const char *was;
	size_t len = 0;
	json_t *o;
	int r;

	memset(ret, 0, sizeof(*ret));
	if (folder < 0)
		return bwl_fail(e, errno, "cannot open %s: %s", dir, strerror(errno));
	fd = openat(folder, NAME, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return 0;
	r = fd < 0 ? bwl_fail(e, errno, "cannot open %s/" NAME ": %s", dir, strerror(errno))
		   : bwl_bytes_read(fd, BYTES_MAX, &text, &len, e);
	if (r)
		return r;
	o = json_loadb(text, len, 0, NULL);
	r = read_all(o, ret);
	was = json_string_value(json_object_get(o, "boot"));
	if (!was || strcmp(was, boot))
		ret->budget.at_ns = 0;
	json_decref(o);
	if (r) {
		bwl_fail(e, -r, "%s/" NAME " is not the state of bwlimit-export", dir);
		return bwl_hint(
			e,
			"it says how much of the byte budget is left: move it away to start anew, with all records that exist");
	}
	return 0;
}

int state_save(const char *dir, const char *boot, const struct state *s, struct bwl_err *e)
{
	json_t *o = bwl_doc("flow-export-state");
	BWL_AUTO_FREE char *text = NULL;

	json_object_set_new(o, "boot", json_string(boot));
#define WRITE(key, member) json_object_set_new(o, key, bwl_json_u64(s->member));
	NUMBERS(WRITE)
#undef WRITE
	text = bwl_must(json_dumps(o, JSON_INDENT(1)));
	json_decref(o);
	return bwl_bytes_replace(dir, NAME, &(struct bwl_bytes){ text, strlen(text) }, 1, e);
}

int state_tell_budget(const char *dir, const struct budget *b, struct bwl_err *e)
{
	json_t *o = bwl_doc("flow-export-budget");
	BWL_AUTO_FREE char *text = NULL;
	char path[PATH_MAX];

	json_object_set_new(o, "budget_bytes", bwl_json_u64(b->bytes));
	json_object_set_new(o, "budget_window_ns", bwl_json_u64(b->window_ns));
	text = bwl_must(json_dumps(o, JSON_INDENT(1)));
	json_decref(o);
	snprintf(path, sizeof(path), "%s/budget.json", dir);
	return bwl_for_readers_put(path, text, e);
}
