// SPDX-License-Identifier: GPL-2.0-or-later
/* See hidden.h. */
#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <bwl/iif_rules.h>
#include "attach.h"
#include "hidden.h"
#include "find_programs.h"

#define BPFFS "/sys/fs/bpf"
#define PATH 256

/* The place where the pins should be. */
struct place {
	const char *dir;
	bool is_bpf; /* a BPF file system is there now */
	dev_t dev;
	char over[PATH];    /* the mount point that covers it; "": none */
	char over_kind[32]; /* the file system of that mount */
	bool elsewhere;     /* process 1 sees a BPF file system there that we do not see */
	char ports[PATH];   /* ports with our programs: "hpf0 (bwl_tc_host), p0 (bwl_tc_gate)" */
	bool has_rules;     /* rules by input device: from attach or from `down` */
};

/* The folder itself, or its nearest parent that exists. */
static void look_at_folder(struct place *x)
{
	char path[PATH], *end;
	struct statfs fs;
	struct stat st;

	snprintf(path, sizeof(path), "%s", x->dir);
	while (statfs(path, &fs) || stat(path, &st)) {
		end = strrchr(path, '/');
		if (!end || end == path)
			return;
		*end = '\0';
	}
	x->is_bpf = fs.f_type == BPF_FS_MAGIC;
	x->dev = st.st_dev;
}

static bool is_above(const char *mount, const char *dir)
{
	size_t n = strlen(mount);

	return !strcmp(mount, "/") || (!strncmp(mount, dir, n) && (!dir[n] || dir[n] == '/'));
}

/* Parses a line of proc_pid_mountinfo(5). false: not a mount at or above the folder. */
static bool one_mount(const char *line, const char *dir, dev_t *dev, char at[PATH], char kind[32])
{
	unsigned major, minor;
	const char *dash = strstr(line, " - ");

	if (!dash || sscanf(dash, " - %31s", kind) != 1 ||
	    sscanf(line, "%*s %*s %u:%u %*s %255s", &major, &minor, at) != 3)
		return false;
	*dev = makedev(major, minor);
	return is_above(at, dir);
}

/* The device numbers of BPF file systems at or above the folder, as that process sees them. */
static unsigned bpf_mounts(const char *file, const char *dir, dev_t *ret, unsigned room)
{
	char *line = NULL, at[PATH], kind[32];
	FILE *f = fopen(file, "re");
	unsigned n = 0;
	size_t size = 0;
	dev_t dev;

	while (f && n < room && getline(&line, &size, f) > 0)
		if (one_mount(line, dir, &dev, at, kind) && !strcmp(kind, "bpf"))
			ret[n++] = dev;
	free(line);
	if (f)
		fclose(f);
	return n;
}

/* Names what covers the folder if it is not the BPF file system that should be there. */
static void name_cover(struct place *x)
{
	char *line = NULL, at[PATH], kind[32];
	FILE *f = fopen("/proc/self/mountinfo", "re");
	size_t size = 0;
	dev_t dev;

	while (f && getline(&line, &size, f) > 0)
		if (one_mount(line, x->dir, &dev, at, kind) && dev == x->dev) {
			memcpy(x->over, at, sizeof(at));
			memcpy(x->over_kind, kind, sizeof(kind));
		}
	free(line);
	if (f)
		fclose(f);
}

static void look_at_mounts(struct place *x)
{
	dev_t mine[16], first[16];
	unsigned n = bpf_mounts("/proc/self/mountinfo", x->dir, mine, 16), i, k;
	unsigned n1 = bpf_mounts("/proc/1/mountinfo", x->dir, first, 16);

	for (i = 0; i < n; i++)
		if (mine[i] != x->dev)
			name_cover(x);
	for (i = 0; i < n1; i++) {
		for (k = 0; k < n && mine[k] != first[i]; k++)
			;
		x->elsewhere |= k == n;
	}
}

static void look_at_ports(struct place *x)
{
	struct bwl_attach none = { 0 };
	struct bwl_load blind = { .dir_fd = -1 };
	struct bwl_found f[BWL_MAX_PORTS];
	unsigned n = 0, i;
	size_t at = 0;

	snprintf(blind.dir, sizeof(blind.dir), "%s", x->dir);
	if (bwl_scan_ports(&blind, &none, f, &n, NULL))
		n = 0;
	for (i = 0; i < n && at < sizeof(x->ports) - 32; i++)
		at += (size_t)snprintf(x->ports + at, sizeof(x->ports) - at, "%s%s", i ? ", " : "",
				       f[i].dev.name);
	if (i < n)
		snprintf(x->ports + at, sizeof(x->ports) - at, " and %u more", n - i);
	x->has_rules = bwl_lock_stands();
}

/* true: there are pins. */
static bool look(const char *dir, struct place *ret)
{
	char path[PATH + 32];

	*ret = (struct place){ .dir = bwl_pin_dir(dir) };
	snprintf(path, sizeof(path), "%s/maps/%s", ret->dir, bwl_pin_name(BWL_PIN_schema));
	/*
	 * A user who may not look into the folder is not root: pins exist, and some of them are
	 * accessible.
	 */
	if (!access(path, F_OK) || errno == EACCES)
		return true;
	look_at_folder(ret);
	look_at_mounts(ret);
	look_at_ports(ret);
	return false;
}

static int say_hidden(const struct place *x, struct bwl_err *e)
{
	bwl_fail(e, ENOENT,
		 "%s is hidden: a mount of type %s on %s lies over its BPF file system%s%s", x->dir,
		 x->over_kind, x->over, *x->ports ? "; programs are on " : "", x->ports);
	return bwl_hint(e, "umount %s, then try again", x->over);
}

static int say_elsewhere(const struct place *x, struct bwl_err *e)
{
	bwl_fail(
		e, ENOENT,
		"programs are on %s, but their pins are not in this mount namespace: process 1 has another BPF file system at %s",
		x->ports, x->dir);
	return bwl_hint(
		e,
		"nsenter --mount=/proc/1/ns/mnt bwlimit-load …; ip netns exec hides it: nsenter --net=/run/netns/NAME keeps it");
}

static int say_missing(const struct place *x, struct bwl_err *e)
{
	bwl_fail(e, ENOENT, "%s is not on a BPF file system%s%s", x->dir,
		 *x->ports ? ", and programs are on " : "", x->ports);
	if (*x->ports)
		return bwl_hint(
			e,
			"mount -t bpf bpf " BPFFS
			"; the pins are not in it: bwlimit-load attach makes new maps, volumes start spent");
	return bwl_hint(e, is_above(BPFFS, x->dir) ? "mount -t bpf bpf " BPFFS
						     ", then bwlimit-load attach"
						   : "--pin-dir takes a folder under " BPFFS);
}

static int say_removed(const struct place *x, struct bwl_err *e)
{
	bwl_fail(e, ENOENT,
		 "programs are on %s, but %s has no pins of their maps: they were removed",
		 x->ports, x->dir);
	return bwl_hint(
		e,
		"bwlimit-load attach with the same ports gives them new maps: host ports are down meanwhile, volumes start spent; if the maps are pinned elsewhere: --pin-dir DIR");
}

static int say_nothing(const struct place *x, struct bwl_err *e)
{
	bwl_fail(
		e, ENOENT, "nothing is attached at %s%s", x->dir,
		x->has_rules
			? "; rules by input device remain, of `down` or of an attach whose programs are gone"
			: "");
	return bwl_hint(e, "bwlimit-load attach");
}

static const struct {
	const char *id;
	int (*say)(const struct place *x, struct bwl_err *e);
	bool attaches; /* attach continues: it is the first attach, or a repair */
} states[] = {
	{ "nothing-attached", say_nothing, true },   { "bpffs-hidden", say_hidden, false },
	{ "bpffs-elsewhere", say_elsewhere, false }, { "bpffs-missing", say_missing, false },
	{ "pins-removed", say_removed, true },
};

static unsigned state_of(const struct place *x)
{
	/*
	 * Somebody may mount a second BPF file system over the first just to have a separate one.
	 */
	if (*x->over && (!x->is_bpf || *x->ports))
		return 1;
	if (x->elsewhere && *x->ports)
		return 2;
	return !x->is_bpf ? 3 : *x->ports ? 4 : 0;
}

static int say(const struct place *x, struct bwl_err *e)
{
	int r = states[state_of(x)].say(x, e);

	if (e)
		e->id = states[state_of(x)].id;
	return r;
}

int bwl_hidden_look(const char *pin_dir, struct bwl_err *e)
{
	struct place x;

	return look(pin_dir, &x) ? 0 : say(&x, e);
}

int bwl_hidden_attach(const char *pin_dir, struct bwl_err *e)
{
	struct bwl_err told = { 0 };
	struct place x;

	if (look(pin_dir, &x))
		return 0;
	if (!states[state_of(&x)].attaches)
		return say(&x, e);
	if (*x.ports) {
		say(&x, &told);
		bwl_warn("%s; new maps are made", told.text);
	}
	return 0;
}
