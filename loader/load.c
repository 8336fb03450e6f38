/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loading the object and pinning its maps. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include "bwlimit.skel.h"
#include "load.h"
#include "../maps/layout.h"

static uint32_t value_size(int fd)
{
	struct bpf_map_info info = {};
	__u32 len = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &len) ? 0 : info.value_size;
}

/*
 * The schema of the pinned maps; magic 0 when there is none or it is not complete, magic ~0 when
 * it is of a shape that this program does not know.
 */
static struct bwl_schema pinned_schema(const char *dir)
{
	struct bwl_schema s = { 0 };
	uint32_t zero = 0;
	char path[240];
	int fd;

	snprintf(path, sizeof(path), "%s/maps/%s", dir, bwl_pin_name(BWL_PIN_schema));
	fd = bpf_obj_get(path);
	if (fd >= 0) {
		if (value_size(fd) != sizeof(s))
			s.magic = ~0ULL;
		else if (bpf_map_lookup_elem(fd, &zero, &s))
			memset(&s, 0, sizeof(s));
		close(fd);
	}
	return s;
}

/* Do these maps know of a tunnel device? */
static bool pinned_tunnel(const char *dir)
{
	struct bwl_control c = { 0 };
	uint32_t zero = 0;
	char path[240];
	int fd;

	snprintf(path, sizeof(path), "%s/maps/%s", dir, bwl_pin_name(BWL_PIN_ctl));
	fd = bpf_obj_get(path);
	if (fd < 0)
		return false;
	if (bpf_map_lookup_elem(fd, &zero, &c))
		c.tunnel = 0;
	close(fd);
	return c.tunnel;
}

static bool is_pin(const char *name)
{
	int i;

	for (i = 0; i < _BWL_PIN_MAX; i++)
		if (!strcmp(name, bwl_pin_name(i)))
			return true;
	return false;
}

/* Maps that this version does not know are another version's: they are not cleared away. */
static int refuse_strangers(const char *maps, struct bwl_err *e)
{
	DIR *d = opendir(maps);
	struct dirent *f;
	int r = 0;

	if (!d)
		return bwl_fail(e, errno, "cannot read %s: %s", maps, strerror(errno));
	while (!r && (f = readdir(d)))
		if (f->d_name[0] != '.' && !is_pin(f->d_name)) {
			bwl_fail(e, EPROTO, "%s/%s is of another version's schema", maps, f->d_name);
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

/* Is the tunnel device in use a plain one? Programs of the other sort would refuse all of its packets. */
static bool pinned_plain(const char *dir)
{
	struct bwl_dev dev = { 0 };
	bool plain = false;
	char path[240];
	uint32_t i;
	int fd;

	snprintf(path, sizeof(path), "%s/maps/%s", dir, bwl_pin_name(BWL_PIN_dev));
	fd = bpf_obj_get(path);
	for (i = 0; fd >= 0 && i < BWL_MAX_PORTS; i++)
		if (!bpf_map_lookup_elem(fd, &i, &dev) && dev.ifindex && dev.kind == BWL_PORT_TUNNEL)
			plain = dev.flags & BWL_DEV_PLAIN;
	if (fd >= 0)
		close(fd);
	return plain;
}

/* Every map must have its pin: one that is made anew beside old ones would forget what was spent. */
static bool all_pinned(const char *dir)
{
	char path[300];
	int i;

	for (i = 0; i < _BWL_PIN_MAX; i++) {
		snprintf(path, sizeof(path), "%s/maps/%s", dir, bwl_pin_name(i));
		if (access(path, F_OK))
			return false;
	}
	return true;
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

void bwl_load_init(void)
{
	libbpf_set_print(keep_log);
	/* Libbpf's own handler of this section sets BPF_F_XDP_HAS_FRAGS at load, whatever was asked. */
	libbpf_register_prog_handler("xdp.frags", BPF_PROG_TYPE_XDP, BPF_XDP, NULL);
}

/* What differs between kernels, found by trying. */
struct form {
	bool frags;		/* multi-buffer XDP */
	bool tunnel, by_mark;	/* the tunnel device's programs, and for which sort of it */
	bool native;		/* for links in driver mode alone. The copies that may run elsewhere
				 * (generic XDP, libxdp, which falls back without saying so) drop early
				 * and send nothing: TC carries */
};

static int open_skel(struct bwlimit **ret, struct form f, struct bwl_err *e)
{
	struct bpf_program *p;

	libbpf_log[0] = '\0';
	*ret = bwlimit__open();
	if (!*ret)
		return bwl_fail(e, errno, "cannot open the programs: %s", strerror(errno));
	(*ret)->rodata->bwl_native_xdp = f.native;
	bpf_object__for_each_program(p, (*ret)->obj)
		if (bpf_program__type(p) == BPF_PROG_TYPE_XDP)
			bpf_program__set_flags(p, f.frags ? BPF_F_XDP_HAS_FRAGS : 0);
	bpf_program__set_autoload((*ret)->progs.bwl_tc_tunin, f.tunnel);
	bpf_program__set_autoload((*ret)->progs.bwl_tc_tunout, f.tunnel);
	(*ret)->rodata->bwl_by_mark = f.by_mark;
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
	bwl_fail(e, -r, "the kernel refused the programs or maps: %s\n%s", strerror(-r), libbpf_log);
	return bwl_hint(e, "bwlimit-load probe says what is missing");
}

static int open_and_load(struct bwl_load *l, const struct bwl_dims *d, struct form f,
			 struct bwl_err *e)
{
	int r = open_skel(&l->skel, f, e);
	struct bwl_schema n;

	if (r)
		return r;
	n = bwl_schema_new(d->max_peers, d->max_extras, d->max_windows);
	r = bwl_pins_size(l->skel->obj, &n);
	if (!r)
		r = set_pins(l);
	return load_skel(&l->skel, r, e);
}

/* Without pin paths: libbpf would pin what it does not find. */
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
	int r = open_skel(ret, (struct form){ frags, p->ctl->tunnel, bwl_is_by_mark(p), true }, e);

	return r ? r : load_skel(ret, reuse_maps(*ret, p->fd), e);
}

int bwl_load_again(struct bwl_pins *p, struct bwlimit **ret, struct bwl_err *e)
{
	int r = load_on(p, true, ret, e);

	return r && !load_on(p, false, ret, NULL) ? 0 : r;
}

struct bwlimit *bwl_load_xdp_copy(const struct bwl_load *l, const char *prog, bool frags,
				  struct bwl_err *e)
{
	struct bwlimit *skel;
	struct bpf_program *p;
	int r;

	if (open_skel(&skel, (struct form){ .frags = frags }, e))
		return NULL;
	bpf_object__for_each_program(p, skel->obj)
		bpf_program__set_autoload(p, prog ? !strcmp(bpf_program__name(p), prog)
						  : bpf_program__type(p) == BPF_PROG_TYPE_XDP);
	r = reuse_maps(skel, l->pins->fd);
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

/* Marks carry its upper bits (maps/tunnel.h). Maps of an older version may have none. */
static int draw_tag(uint32_t *tag, struct bwl_err *e)
{
	uint32_t fresh = *tag;

	while (!(fresh & BWL_MARK_TAG))
		if (getrandom(&fresh, sizeof(fresh), 0) < 0)
			return bwl_fail(e, errno, "no randomness for the tag: %s", strerror(errno));
	if (*tag != fresh)
		*tag = fresh;
	return 0;
}

/* What a new set of maps says before anybody may believe it; the schema's magic comes last. */
static int write_first_words(struct bwl_load *l, const struct bwl_make *m, struct bwl_err *e)
{
	struct bwl_schema s = bwl_schema_new(m->dims.max_peers, m->dims.max_extras, m->dims.max_windows);
	struct bwl_control c = { .fresh_volume = m->fresh_volume, .drill = m->drill,
				 .attached_ns = bwl_now_ns() };
	uint32_t zero = 0;
	int i;

	for (i = 0; i < BWL_SCHEDS; i++)
		c.sched[i] = (struct bwl_sched){ BWL_NO_SLOT, BWL_NO_SLOT, BWL_NEVER_NS };
	if (draw_tag(&c.tag, e))
		return -EIO;
	if (bpf_map__update_elem(l->skel->maps.bwl_ctl_v1, &zero, sizeof(zero), &c, sizeof(c), 0) ||
	    bpf_map__update_elem(l->skel->maps.bwl_schema_v1, &zero, sizeof(zero), &s, sizeof(s), 0))
		return bwl_fail(e, errno, "cannot write the control words: %s", strerror(errno));
	if (m->fresh_volume)
		bwl_audit("new maps in %s: volumes start unspent (--fresh-volume)", l->dir);
	return 0;
}

static int usable(const struct bwl_schema *s, const char *dir, struct bwl_err *e)
{
	if (s->magic == BWL_SCHEMA_MAGIC && s->abi == BWL_ABI_VERSION && s->layout == bwl_layout())
		return 0;
	bwl_fail(e, EPROTO, "%s holds maps of another schema (ABI %u, layout %016llx; this program: ABI %u, layout %016llx)",
		 dir, s->abi, (unsigned long long)s->layout, BWL_ABI_VERSION,
		 (unsigned long long)bwl_layout());
	return bwl_hint(e, "the layout changed: bwlimit-load detach, then attach; volumes start spent, and what the maps have revoked or stopped without a journal must be revoked again");
}

static int find_maps(struct bwl_load *l, const struct bwl_make *m, struct bwl_dims *d,
		     struct bwl_err *e)
{
	struct bwl_schema s = pinned_schema(l->dir);
	char path[240];
	int r;

	if (s.magic) {
		r = usable(&s, l->dir, e);
		if (r)
			return r;
		l->reused = all_pinned(l->dir);
		*d = (struct bwl_dims){ s.max_peers, s.max_extras, s.max_windows };
	}
	if (l->reused) {
		l->tunnel |= pinned_tunnel(l->dir);
		l->by_mark |= pinned_plain(l->dir);
		return 0;
	}
	if (!m) {
		bwl_fail(e, ENOENT, "%s holds no complete set of maps", l->dir);
		return bwl_hint(e, "bwlimit-load attach");
	}
	if (s.magic)
		bwl_warn("%s lacks some of its maps; all are made anew, volumes start spent", l->dir);
	*d = m->dims;
	snprintf(path, sizeof(path), "%s/maps", l->dir);
	r = refuse_strangers(path, e);
	return r ? r : bwl_load_clear(path, e);
}

/* The best form first. A tunnel device that is a plain one already takes only programs for such. */
static int load_what_it_takes(struct bwl_load *l, const struct bwl_dims *d, struct bwl_err *e)
{
	static const struct form forms[] = {
		{ true, true, false, true }, { false, true, false, true }, { true, true, true, true },
		{ false, true, true, true }, { true, false, false, true }, { false, false, false, true },
	};
	unsigned i = !l->tunnel ? 4 : l->by_mark ? 2 : 0, first = i;
	int r = -1;

	for (; r && i < sizeof(forms) / sizeof(forms[0]); i++) {
		r = open_and_load(l, d, forms[i], i == first ? e : NULL);
		if (r)
			continue;
		if (!forms[i].frags)
			bwl_warn("XDP without multi-buffer frames: the kernel refuses xdp.frags");
		if (l->tunnel && !forms[i].tunnel)
			bwl_warn("the kernel refuses the tunnel device's programs; encrypted peers stay closed (no-sa)");
		l->tunnel = forms[i].tunnel;
		l->by_mark = forms[i].by_mark;
	}
	return r;
}

int bwl_load_object(struct bwl_load *l, const struct bwl_make *m, struct bwl_err *e)
{
	struct bwl_dims d = { 0 };
	int r;

	r = find_maps(l, m, &d, e);
	if (r)
		return r;
	r = load_what_it_takes(l, &d, e);
	if (!r && !l->reused)
		r = write_first_words(l, m, e);
	if (!r)
		r = bwl_pins_open(l->dir, true, &l->pins, e);
	if (!r)
		r = draw_tag(&l->pins->ctl->tag, e);
	if (r)
		return r;
	l->pins->dir_fd = dup(l->dir_fd);	/* the lock is ours already, for the whole run */
	l->ctl_id = bwl_map_id(l->pins->fd[BWL_PIN_ctl]);
	return 0;
}

int bwl_load_invalidate(struct bwl_load *l, struct bwl_err *e)
{
	struct bwl_schema none = { 0 };
	uint32_t zero = 0;
	char path[240];
	int fd, r;

	snprintf(path, sizeof(path), "%s/maps/%s", l->dir, bwl_pin_name(BWL_PIN_schema));
	fd = bpf_obj_get(path);
	if (fd < 0)
		return errno == ENOENT ? 0 : bwl_fail(e, errno, "cannot open %s: %s", path, strerror(errno));
	r = value_size(fd) != sizeof(none) || bpf_map_update_elem(fd, &zero, &none, 0);
	close(fd);
	if (r && unlink(path))	/* of another shape: its pin says enough by going */
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
