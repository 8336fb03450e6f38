// SPDX-License-Identifier: GPL-2.0-or-later
/* Loads the object and pins its maps. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <bwl/inner.h>
#include <bwl/kernel_has.h>
#include <bwl/map_io.h>
#include <bwl/tables.h>
#include "bwlimit.skel.h"
#include "bwlimit_plain.skel.h"
#include "load.h"
#include "record.h"
#include "reclose.h"
#include "../maps/layout.h"

/* Do these maps have a tunnel device? */
static bool pinned_tunnel(const struct bwl_relayout *x)
{
	struct bwl_ctl c = { 0 };

	return bwl_relayout_entry(x, BWL_PIN_ctl, 0, &c, sizeof(c)) && c.tunnel;
}

static bool is_pin(const char *name)
{
	int i;

	if (!strncmp(name, BWL_FRESH, strlen(BWL_FRESH)))
		name += strlen(BWL_FRESH);
	for (i = 0; i < _BWL_PIN_MAX; i++)
		if (!strcmp(name, bwl_pin_name(i)))
			return true;
	return false;
}

/* Maps that this version does not know belong to another version: they are not removed. */
static int refuse_strangers(const char *maps, struct bwl_err *e)
{
	DIR *d = opendir(maps);
	struct dirent *f;
	int r = 0;

	if (!d)
		return bwl_fail(e, errno, "cannot read %s: %s", maps, strerror(errno));
	while (!r && (f = readdir(d)))
		if (f->d_name[0] != '.' && !is_pin(f->d_name)) {
			bwl_fail(e, EPROTO, "%s/%s is of another version's schema", maps,
				 f->d_name);
			r = bwl_hint(e, "bwlimit-load detach, then attach; volumes start spent");
		}
	closedir(d);
	return r;
}

uint32_t bwl_map_id(int fd)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);

	return fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len) ? 0 : info.id;
}

/*
 * Is the tunnel device in use a plain one? Programs of the other kind would refuse all of its
 * packets.
 */
static bool pinned_plain(const struct bwl_relayout *x)
{
	struct bwl_dev dev = { 0 };
	bool plain = false;
	uint32_t i;

	for (i = 0; i < BWL_MAX_PORTS; i++)
		if (bwl_relayout_entry(x, BWL_PIN_dev, i, &dev, sizeof(dev)) && dev.ifindex &&
		    dev.kind == BWL_PORT_TUNNEL)
			plain = dev.flags & BWL_DEV_PLAIN;
	return plain;
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

/*
 * Libbpf's messages are kept until it is known whether they matter: only the last ones, which give
 * the cause. Its frame around the verifier's output is omitted.
 */
static char libbpf_log[600]; /* leaves room in bwl_err.text for the text before it */

static int keep_log(enum libbpf_print_level level, const char *fmt, va_list args)
{
	size_t old = strlen(libbpf_log), more;
	char *say = NULL, *from;

	if (level > LIBBPF_WARN || vasprintf(&say, fmt, args) < 0)
		return 0;
	from = strstr(say, "-- BEGIN PROG LOAD LOG --\n");
	from = from ? strchr(from, '\n') + 1 : say;
	if (!strncmp(from, "libbpf: ", 8))
		from += 8;
	more = strlen(from);
	if (more >= sizeof(libbpf_log)) {
		from += more - (sizeof(libbpf_log) - 1);
		more = sizeof(libbpf_log) - 1;
	}
	if (old + more >= sizeof(libbpf_log)) {
		memmove(libbpf_log, libbpf_log + old + more - (sizeof(libbpf_log) - 1),
			sizeof(libbpf_log) - more);
		old = sizeof(libbpf_log) - 1 - more;
	}
	memcpy(libbpf_log + old, from, more + 1);
	free(say);
	return 0;
}

void bwl_load_init(void)
{
	libbpf_set_print(keep_log);
	/* Libbpf's own handler for this section always sets BPF_F_XDP_HAS_FRAGS at load. */
	libbpf_register_prog_handler("xdp.frags", BPF_PROG_TYPE_XDP, BPF_XDP, NULL);
}

/* What differs between kernels, and is found by trying. */
struct form {
	bool frags;           /* multi-buffer XDP */
	bool tunnel, by_mark; /* the tunnel device's programs, and for which kind of device */
	/*
	 * For links in driver mode only. Copies that may run elsewhere (generic XDP, or libxdp,
	 * which falls back silently) drop early and send nothing: TC carries.
	 */
	bool native;
	bool records;  /* flows */
	bool measures; /* latency */
};

#define LOG_WHY 4 /* BPF_LOG_STATS of linux/bpf_verifier.h (kernel 5.2) */

/*
 * Both objects come from one source, so one skeleton fits. plain: the object without kfuncs; for it
 * libbpf does not search the BTF of modules, which needs CAP_SYS_ADMIN.
 */
static struct bwlimit *open_elf(bool plain)
{
	struct bwlimit *s = calloc(1, sizeof(*s));

	if (s && !bwlimit__create_skeleton(s)) {
		if (plain)
			s->skeleton->data = bwlimit_plain__elf_bytes(&s->skeleton->data_sz);
		if (!bpf_object__open_skeleton(s->skeleton, NULL))
			return s;
	}
	bwlimit__destroy(s);
	return NULL;
}

static int open_skel(struct bwlimit **ret, struct form f, struct bwl_err *e)
{
	struct bwl_kernel_has has;
	struct bpf_program *p;

	libbpf_log[0] = '\0';
	*ret = open_elf(!f.tunnel || f.by_mark);
	if (!*ret)
		return bwl_fail(e, errno, "cannot open the programs: %s", strerror(errno));
	bwl_kernel_ask(&has);
	(*ret)->rodata->bwl_xdp_may_carry = f.native && has.policy_offload;
	(*ret)->rodata->bwl_sa_is_told = has.sa_of_packet;
	bpf_object__for_each_program(p, (*ret)->obj)
	{
		/* Only why it refuses: the whole trace would be hundreds of megabytes. */
		bpf_program__set_log_level(p, LOG_WHY);
		if (bpf_program__type(p) == BPF_PROG_TYPE_XDP)
			bpf_program__set_flags(p, f.frags ? BPF_F_XDP_HAS_FRAGS : 0);
	}
	/* Fails without CONFIG_BPF_EVENTS; bwl_suspend_attach() reports that. */
	bpf_program__set_autoload((*ret)->progs.bwl_tp_suspend,
				  libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_RAW_TRACEPOINT, NULL) ==
					  1);
	bpf_program__set_autoload((*ret)->progs.bwl_tc_tunin, f.tunnel);
	bpf_program__set_autoload((*ret)->progs.bwl_tc_tunout, f.tunnel);
	(*ret)->rodata->bwl_by_mark = f.by_mark;
	(*ret)->rodata->bwl_cpu_bits = bwl_cpu_bits();
	(*ret)->rodata->bwl_late_most_ns = bwl_late_most_ns();
	(*ret)->rodata->bwl_measures = f.measures;
	if (bwl_record_open(*ret, f.records))
		return bwl_fail(e, EINVAL, "the programs lack one of the recorder's maps");
	return 0;
}

static int load_skel(struct bwlimit **skel, int r, struct bwl_err *e)
{
	if (!r)
		r = bwlimit__load(*skel);
	if (!r)
		return 0;
	bwlimit__destroy(*skel);
	*skel = NULL;
	bwl_fail(e, -r, "the kernel refused the programs or maps: %s\n%s", strerror(-r),
		 libbpf_log);
	return bwl_hint(e, "bwlimit-load probe shows what is missing");
}

/*
 * New maps are pinned when they are created. Of existing maps, those that must be recreated are
 * pinned later.
 */
static int open_and_load(struct bwl_load *l, const struct bwl_schema *n, struct form f,
			 struct bwl_err *e)
{
	int r;

	f.records = l->records;
	f.measures = l->measures;
	r = open_skel(&l->skel, f, e);
	if (r)
		return r;
	r = bwl_pins_size(l->skel->obj, n);
	if (!r)
		r = l->reused ? bwl_relayout_use(&l->maps, l->skel->obj) : set_pins(l);
	return load_skel(&l->skel, r, e);
}

/* Pin paths are not set: libbpf would pin whatever it does not find. */
static int reuse_maps(struct bwlimit *skel, const int fd[_BWL_PIN_MAX])
{
	struct bpf_map *m;
	int i, r = 0;

	for (i = 0; !r && i < _BWL_PIN_MAX; i++) {
		m = bpf_object__find_map_by_name(skel->obj, bwl_pin_name(i));
		r = m ? bpf_map__reuse_fd(m, fd[i]) : -ENOENT;
	}
	return r;
}

static int load_on(struct bwl_pins *p, bool frags, struct bwlimit **ret, struct bwl_err *e)
{
	struct form f = { frags, p->ctl->tunnel, bwl_is_by_mark(p), true, false, false };
	int r = open_skel(ret, f, e);

	return r ? r : load_skel(ret, reuse_maps(*ret, p->fd), e);
}

int bwl_load_again(struct bwl_pins *p, struct bwlimit **ret, struct bwl_err *e)
{
	/* If both fail, the second gives the cause: the first may only lack multi-buffer XDP. */
	return load_on(p, true, ret, NULL) ? load_on(p, false, ret, e) : 0;
}

struct bwlimit *bwl_load_xdp_copy(const struct bwl_load *l, const char *prog, bool frags,
				  struct bwl_err *e)
{
	struct bwlimit *skel;
	struct bpf_program *p;
	int r;

	if (open_skel(&skel, (struct form){ .frags = frags, .records = l->records }, e))
		return NULL;
	bpf_object__for_each_program(p, skel->obj)
		bpf_program__set_autoload(p, prog ? !strcmp(bpf_program__name(p), prog)
						  : bpf_program__type(p) == BPF_PROG_TYPE_XDP);
	r = reuse_maps(skel, l->pins->fd);
	if (!r) /* the other object's TC programs wake this XDP program: bpf/lib/rest.h */
		r = bpf_map__reuse_fd(skel->maps.bwl_looked, bpf_map__fd(l->skel->maps.bwl_looked));
	if (!r)
		r = bwl_record_share(skel, l->skel);
	if (!r)
		return skel;
	bwl_fail(e, -r, "cannot reuse the maps: %s", strerror(-r));
	bwlimit__destroy(skel);
	return NULL;
}

int bwl_load_generic(struct bwl_load *l, const char *prog, struct bwl_err *e)
{
	int r = 0;

	if (!l->generic) {
		l->generic = bwl_load_xdp_copy(l, NULL, false, e);
		r = l->generic ? load_skel(&l->generic, 0, e) : -EIO;
	}
	return r ? r : bwl_load_prog(l->generic, prog);
}

/* Initialises a new set of maps before anybody may trust it; the schema's magic comes last. */
static int write_first_words(struct bwl_load *l, const struct bwl_make *m,
			     const struct bwl_schema *s, struct bwl_err *e)
{
	struct bwl_ctl c = { .fresh_volume = m->fresh_volume,
			     .drill = m->drill,
			     .attached_ns = bwl_now_ns() };
	uint32_t zero = 0;
	int i;

	for (i = 0; i < BWL_SCHEDS; i++)
		c.sched[i] = (struct bwl_sched){ BWL_NO_SLOT, BWL_NO_SLOT, BWL_NEVER_NS };
	while (!(c.tag & BWL_MARK_TAG)) /* marks carry its upper bits (maps/tunnel.h) */
		if (getrandom(&c.tag, sizeof(c.tag), 0) < 0)
			return bwl_fail(e, errno, "no random numbers for the tag: %s",
					strerror(errno));
	if (bwl_map_put(bpf_map__fd(l->skel->maps.bwl_ctl_v1), &zero, &c, 0) ||
	    bwl_map_put(bpf_map__fd(l->skel->maps.bwl_schema_v1), &zero, s, 0))
		return bwl_fail(e, errno, "cannot write the control words: %s", strerror(errno));
	if (m->fresh_volume)
		bwl_audit("new maps in %s: volumes start unspent (--fresh-volume)", l->dir);
	return 0;
}

static int find_maps(struct bwl_load *l, const struct bwl_make *m, struct bwl_schema *ret,
		     struct bwl_err *e)
{
	char path[240];
	int r = bwl_relayout_look(l->dir, &l->maps, e);

	if (r)
		return r;
	l->reused = l->maps.was.magic && l->maps.whole;
	*ret = l->maps.was;
	if (l->reused) {
		l->tunnel |= pinned_tunnel(&l->maps);
		l->by_mark |= pinned_plain(&l->maps);
		return 0;
	}
	if (!m) {
		bwl_fail(e, ENOENT, "%s holds no complete set of maps", l->dir);
		return bwl_hint(e, "bwlimit-load attach");
	}
	if (ret->magic)
		bwl_warn("%s lacks some of its maps; all maps are made new, volumes start spent",
			 l->dir);
	else
		*ret = bwl_schema_new(m->dims.max_peers, m->dims.max_extras, m->dims.max_windows);
	ret->layout = bwl_layout();
	snprintf(path, sizeof(path), "%s/maps", l->dir);
	r = refuse_strangers(path, e);
	return r ? r : bwl_load_clear(path, e);
}

/*
 * Tries the best form first. A tunnel device that is already plain accepts only programs for plain
 * ones. If no form loads, the last one gives the cause, as it needs least.
 */
static int load_what_it_takes(struct bwl_load *l, const struct bwl_schema *n, bool upgrade,
			      struct bwl_err *e)
{
	static const struct form forms[] = {
		{ true, true, false, true, false, false },
		{ false, true, false, true, false, false },
		{ true, true, true, true, false, false },
		{ false, true, true, true, false, false },
		{ true, false, false, true, false, false },
		{ false, false, false, true, false, false },
	};
	unsigned i = !l->tunnel   ? 4
		     : l->by_mark ? 2
				  : 0,
		 last = sizeof(forms) / sizeof(forms[0]) - 1;
	int r = -1;

	/* Programs for a plain device would refuse what the other kind, already in use, carries. */
	if (upgrade && l->tunnel && !l->by_mark)
		last = 1;

	for (; r && i <= last; i++) {
		r = open_and_load(l, n, forms[i], i == last ? e : NULL);
		if (r)
			continue;
		if (!forms[i].frags)
			bwl_warn("XDP without multi-buffer frames: the kernel refuses xdp.frags");
		if (l->tunnel && !forms[i].tunnel)
			bwl_warn(
				"the kernel refuses the tunnel device's programs; encrypted peers stay closed (reason no-sa)");
		l->tunnel = forms[i].tunnel;
		l->by_mark = forms[i].by_mark;
	}
	if (r && last == 1)
		bwl_hint(
			e,
			"run this with CAP_SYS_ADMIN (a root shell has it), or run bwlimit-load attach: it makes a new tunnel device, a plain one");
	return r;
}

int bwl_load_object(struct bwl_load *l, const struct bwl_make *m, struct bwl_err *e)
{
	struct bwl_schema n;
	int r;

	r = find_maps(l, m, &n, e);
	if (r)
		return r;
	r = load_what_it_takes(l, &n, !m, e);
	if (!r)
		r = bwl_record_begin(l, e);
	if (!r)
		r = l->reused ? bwl_relayout_replace(&l->maps, l->dir, l->skel->obj, e)
			      : write_first_words(l, m, &n, e);
	if (!r)
		r = bwl_pins_open_as(l->dir, n.layout, &l->pins, e);
	if (r)
		return r;
	l->pins->dir_fd = dup(l->dir_fd); /* we already hold the lock, for the whole run */
	l->ctl_id = bwl_map_id(l->pins->fd[BWL_PIN_ctl]);
	return 0;
}

int bwl_load_settle(struct bwl_load *l, uint32_t stop, struct bwl_err *e)
{
	struct bwl_reclose c = { 0 };
	int r = bwl_reclose_begin(&l->maps, l->pins, &c, e);

	if (!r && l->reused)
		r = bwl_relayout_finish(&l->maps, e);
	if (!r && (r = bwl_inner_sweep(l->pins))) /* removes the old inner maps of recreated maps */
		bwl_fail(e, -r, "cannot unpin old maps under %s: %s", l->dir, strerror(-r));
	if (!r) {
		bwl_relayout_release(&l->maps, l->pins, stop);
		bwl_reclose_end(&c);
	}
	bwl_reclose_free(&c);
	return r;
}

int bwl_load_invalidate(struct bwl_load *l, struct bwl_err *e)
{
	struct bwl_schema none = { 0 };
	struct bwl_shape s;
	uint32_t zero = 0;
	char path[240];
	int fd, r;

	snprintf(path, sizeof(path), "%s/maps/%s", l->dir, bwl_pin_name(BWL_PIN_schema));
	fd = bpf_obj_get(path);
	if (fd < 0)
		return errno == ENOENT
			       ? 0
			       : bwl_fail(e, errno, "cannot open %s: %s", path, strerror(errno));
	r = bwl_shape_of(fd, &s) || s.value_bytes != sizeof(none) ||
	    bwl_map_put(fd, &zero, &none, 0);
	close(fd);
	if (r && unlink(path)) /* its shape differs: removing the pin is enough */
		return bwl_fail(e, errno, "cannot remove %s: %s", path, strerror(errno));
	return 0;
}

int bwl_load_prog(const struct bwlimit *skel, const char *name)
{
	struct bpf_program *p = bpf_object__find_program_by_name(skel->obj, name);

	return p ? bpf_program__fd(p) : -1;
}

void bwl_load_end(struct bwl_load *l)
{
	bwl_relayout_end(&l->maps);
	bwl_pins_close(l->pins);
	if (l->skel)
		bwlimit__destroy(l->skel);
	if (l->generic)
		bwlimit__destroy(l->generic);
	if (l->dir_fd >= 0)
		close(l->dir_fd);
	l->pins = NULL;
	l->skel = l->generic = NULL;
	l->dir_fd = -1;
}
