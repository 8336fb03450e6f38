/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loading the object and pinning its maps. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "bwlimit.skel.h"
#include "load.h"
#include "../maps/layout.h"

#define LOCK_WAIT_MS 10000

static int make_dir(const char *path, struct bwl_err *e)
{
	struct statfs fs;

	if (mkdir(path, 0750) && errno != EEXIST) {
		bwl_fail(e, errno, "cannot make %s: %s", path, strerror(errno));
		return bwl_hint(e, "mount -t bpf bpf /sys/fs/bpf");
	}
	if (statfs(path, &fs))
		return bwl_fail(e, errno, "cannot query %s: %s", path, strerror(errno));
	if (fs.f_type == BPF_FS_MAGIC)
		return 0;
	rmdir(path);	/* only what was just made: a folder with content stays */
	bwl_fail(e, EINVAL, "%s is not on a BPF file system", path);
	return bwl_hint(e, "mount -t bpf bpf /sys/fs/bpf");
}

int bwl_load_begin(const char *dir, struct bwl_load *ret, struct bwl_err *e)
{
	static const char *const folders[] = { "", "/maps", "/progs", "/links" };
	struct timespec nap = { .tv_nsec = 10000000 };
	char path[240];
	unsigned i;
	int r, waited;

	memset(ret, 0, sizeof(*ret));
	ret->dir_fd = -1;
	snprintf(ret->dir, sizeof(ret->dir), "%s", bwl_pin_dir(dir));
	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", ret->dir, folders[i]);
		r = make_dir(path, e);
		if (r)
			return r;
	}
	ret->dir_fd = open(ret->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ret->dir_fd < 0)
		return bwl_fail(e, errno, "cannot open %s: %s", ret->dir, strerror(errno));
	for (waited = 0; flock(ret->dir_fd, LOCK_EX | LOCK_NB); waited += 10) {
		if (errno != EWOULDBLOCK || waited >= LOCK_WAIT_MS) {
			bwl_load_end(ret);
			bwl_fail(e, EBUSY, "another bwlimit tool has been changing %s for %d s",
				 bwl_pin_dir(dir), waited / 1000);
			return bwl_hint(e, "wait for it to end, then try again");
		}
		nanosleep(&nap, NULL);
	}
	return 0;
}

/* The schema of the pinned maps; all zero when there is none or it is not complete. */
static struct bwl_schema pinned_schema(const char *dir)
{
	struct bwl_schema s = { 0 };
	uint32_t zero = 0;
	char path[240];
	int fd;

	snprintf(path, sizeof(path), "%s/maps/%s", dir, bwl_pin_name(BWL_PIN_schema));
	fd = bpf_obj_get(path);
	if (fd >= 0) {
		if (bpf_map_lookup_elem(fd, &zero, &s))
			memset(&s, 0, sizeof(s));
		close(fd);
	}
	return s;
}

static int unlink_all(const char *dir, struct bwl_err *e)
{
	DIR *d = opendir(dir);
	struct dirent *f;
	int r = 0;

	if (!d)
		return errno == ENOENT ? 0 : bwl_fail(e, errno, "cannot read %s: %s", dir, strerror(errno));
	while (!r && (f = readdir(d)))
		if (f->d_name[0] != '.' && unlinkat(dirfd(d), f->d_name, 0) && errno != ENOENT)
			r = bwl_fail(e, errno, "cannot remove %s/%s: %s", dir, f->d_name, strerror(errno));
	closedir(d);
	return r;
}

int bwl_load_wipe(const char *dir, struct bwl_err *e)
{
	/* Links first: programs go before the maps they stand on. */
	static const char *const folders[] = { "/links", "/progs", "/maps", "" };
	char path[240];
	unsigned i;
	int r = 0;

	for (i = 0; !r && i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(path, sizeof(path), "%s%s", dir, folders[i]);
		if (i < 3)
			r = unlink_all(path, e);
		if (!r && rmdir(path) && errno != ENOENT)
			r = bwl_fail(e, errno, "cannot remove %s: %s", path, strerror(errno));
	}
	return r;
}

static int set_sizes(struct bwlimit *s, const struct bwl_dims *d)
{
	int r = 0;

	r |= bpf_map__set_max_entries(s->maps.bwl_gate_v1, d->max_peers);
	r |= bpf_map__set_max_entries(s->maps.bwl_name_v1, d->max_peers);
	r |= bpf_map__set_max_entries(s->maps.bwl_peercnt_v1, d->max_peers);
	r |= bpf_map__set_max_entries(s->maps.bwl_retired_v1, d->max_peers);
	r |= bpf_map__set_max_entries(s->maps.bwl_state_v1, 2 * (d->max_peers + d->max_extras));
	r |= bpf_map__set_max_entries(s->maps.bwl_extra_v1, d->max_extras);
	r |= bpf_map__set_max_entries(s->maps.bwl_window_v1, d->max_windows);
	r |= bpf_map__set_max_entries(s->maps.bwl_winown_v1, d->max_windows);
	return r;
}

static int set_pins(struct bwl_load *l)
{
	struct bpf_map *m;
	char path[300];
	int i, r = 0;

	for (i = 0; !r && i < _BWL_PIN_MAX; i++) {
		m = bpf_object__find_map_by_name(l->skel->obj, bwl_pin_name(i));
		snprintf(path, sizeof(path), "%s/maps/%s", l->dir, bwl_pin_name(i));
		r = m ? bpf_map__set_pin_path(m, path) : -ENOENT;
	}
	return r;
}

/* Libbpf's own words, kept until it is known whether they matter. */
static char libbpf_log[4096];

static int keep_log(enum libbpf_print_level level, const char *fmt, va_list args)
{
	size_t n = strlen(libbpf_log);

	if (level > LIBBPF_WARN || n + 1 >= sizeof(libbpf_log))
		return 0;
	return vsnprintf(libbpf_log + n, sizeof(libbpf_log) - n, fmt, args);
}

static int open_and_load(struct bwl_load *l, const struct bwl_dims *d, bool frags, struct bwl_err *e)
{
	int r;

	libbpf_log[0] = '\0';
	l->skel = bwlimit__open();
	if (!l->skel)
		return bwl_fail(e, errno, "cannot open the programs: %s", strerror(errno));
	r = set_sizes(l->skel, d);
	if (!r)
		r = set_pins(l);
	if (!r && !frags)
		r = bpf_program__set_flags(l->skel->progs.bwl_xdp_host, 0);
	if (!r)
		r = bwlimit__load(l->skel);
	if (!r)
		return 0;
	bwlimit__destroy(l->skel);
	l->skel = NULL;
	bwl_fail(e, -r, "the kernel refused the programs or maps: %s\n%s", strerror(-r), libbpf_log);
	return bwl_hint(e, "bwlimit-load probe says what is missing");
}

/* What a new set of maps says before anybody may believe it; the schema's magic comes last. */
static int write_first_words(struct bwl_load *l, const struct bwl_dims *d, bool fresh_volume,
			     bool drill, struct bwl_err *e)
{
	struct bwl_schema s = { .magic = BWL_SCHEMA_MAGIC, .abi = BWL_ABI_VERSION,
				.max_peers = d->max_peers, .max_extras = d->max_extras,
				.max_windows = d->max_windows, .layout = bwl_layout() };
	struct bwl_control c = { .fresh_volume = fresh_volume, .drill = drill,
				 .attached_ns = bwl_now_ns() };
	uint32_t zero = 0;
	int i;

	for (i = 0; i < BWL_SCHEDS; i++)
		c.sched[i] = (struct bwl_sched){ BWL_NO_SLOT, BWL_NO_SLOT, BWL_NEVER_NS };
	while (!c.tag)
		if (getrandom(&c.tag, sizeof(c.tag), 0) < 0)
			return bwl_fail(e, errno, "no randomness for the tag: %s", strerror(errno));
	if (bpf_map__update_elem(l->skel->maps.bwl_ctl_v1, &zero, sizeof(zero), &c, sizeof(c), 0) ||
	    bpf_map__update_elem(l->skel->maps.bwl_schema_v1, &zero, sizeof(zero), &s, sizeof(s), 0))
		return bwl_fail(e, errno, "cannot write the control words: %s", strerror(errno));
	if (fresh_volume)
		bwl_audit("new maps in %s: volumes start unspent (--fresh-volume)", l->dir);
	return 0;
}

static int usable(const struct bwl_schema *s, const char *dir, struct bwl_err *e)
{
	if (s->magic == BWL_SCHEMA_MAGIC && s->abi == BWL_ABI_VERSION && s->layout == bwl_layout())
		return 0;
	bwl_fail(e, EPROTO, "%s holds maps of another schema (ABI %u, layout %016llx)", dir, s->abi,
		 (unsigned long long)s->layout);
	return bwl_hint(e, "bwlimit-load detach with the version that attached; volumes start spent afterwards");
}

int bwl_load_object(struct bwl_load *l, const struct bwl_dims *dims, bool fresh_volume, bool drill,
		    struct bwl_err *e)
{
	struct bwl_schema s = pinned_schema(l->dir);
	struct bwl_dims d = *dims;
	char path[240];
	int r = 0;

	libbpf_set_print(keep_log);
	libbpf_set_strict_mode(LIBBPF_STRICT_ALL);
	l->reused = s.magic != 0;
	if (l->reused) {
		r = usable(&s, l->dir, e);
		d = (struct bwl_dims){ s.max_peers, s.max_extras, s.max_windows };
	} else {
		snprintf(path, sizeof(path), "%s/maps", l->dir);
		r = unlink_all(path, e);	/* of an attach that was interrupted */
	}
	if (r)
		return r;
	r = open_and_load(l, &d, true, e);
	if (r && r != -EPROTO) {
		struct bwl_err again = { 0 };

		if (!open_and_load(l, &d, false, &again)) {
			bwl_warn("XDP without multi-buffer frames: %s", "the kernel refuses xdp.frags");
			r = 0;
		}
	}
	if (!r && !l->reused)
		r = write_first_words(l, &d, fresh_volume, drill, e);
	if (!r)
		r = bwl_pins_open(l->dir, true, &l->pins, e);
	if (!r) {
		/* The lock is ours already, for the whole run. */
		l->pins->dir_fd = dup(l->dir_fd);
	}
	return r;
}

int bwl_load_prog(const struct bwl_load *l, const char *name)
{
	struct bpf_program *p = bpf_object__find_program_by_name(l->skel->obj, name);

	return p ? bpf_program__fd(p) : -1;
}

void bwl_load_end(struct bwl_load *l)
{
	bwl_pins_close(l->pins);
	if (l->skel)
		bwlimit__destroy(l->skel);
	if (l->dir_fd >= 0)
		close(l->dir_fd);
	l->pins = NULL;
	l->skel = NULL;
	l->dir_fd = -1;
}
