// SPDX-License-Identifier: GPL-2.0-or-later
/* The programs, loaded and pinned, with one packet at a time run through them: see rig.h. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <bwl/inner.h>
#include <bwl/kernel_has.h>
#include "bwlimit_test.skel.h"
#include "frags.h"
#include "frame.h"
#include "realtime_btf.h"
#include "recorded.h"
#include "rig.h"
#include "tagged.skel.h"
#include "trace.h"

#define RIG_ROWS (BWL_REASON_ROWS * BWL_REASON_COLUMNS)

static const char *const port_names[_RIG_PORT_MAX] = { "h0", "h1", "p0", "p1", "x0" };
static const struct frame_env env = {
	.gateway = { 2, 0, 0, 0, 0, 0xfe },
	.own = { 2, 0, 0, 0, 0, 1 },
};
static struct rig *the_rig;
static uint64_t clock_ns;

/* What the last rig had loaded, for the next one: the kernel verifies the programs only once. */
static struct loaded {
	struct rig_opts opts;
	struct bwlimit_test *skel;
	struct tagged *tagged;
} kept;
static int ports[_RIG_PORT_MAX]; /* interfaces, for all rigs of the process; 0: not made yet */

/* Replaces lib/base/clock.c. */
void (*rig_on_clock)(void);

uint64_t bwl_now_ns(void)
{
	if (rig_on_clock)
		rig_on_clock();
	return __atomic_load_n(&clock_ns, __ATOMIC_SEQ_CST);
}

uint64_t rig_now(void)
{
	return bwl_now_ns();
}

void rig_set_clock(uint64_t ns)
{
	__atomic_store_n(&clock_ns, ns, __ATOMIC_SEQ_CST);
	if (the_rig && the_rig->skel)
		__atomic_store_n(&the_rig->skel->bss->bwl_test_now_ns, ns, __ATOMIC_SEQ_CST);
}

void rig_coarse_clock_behind(uint64_t ns)
{
	the_rig->skel->bss->bwl_test_behind_ns = ns;
}

void rig_advance(uint64_t ns)
{
	rig_set_clock(rig_now() + ns);
}

static void unpin(void)
{
	char path[300];
	int i;

	if (!the_rig || !the_rig->dir[0] || the_rig->owner != getpid())
		return; /* nothing to clean up, or a test's child process */
	for (i = 0; i < _BWL_PIN_MAX; i++) {
		snprintf(path, sizeof(path), "%s/maps/%s", the_rig->dir, bwl_pin_name(i));
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/maps", the_rig->dir);
	rmdir(path);
	bwl_inner_forget(the_rig->dir);
	rmdir(the_rig->dir);
	the_rig->dir[0] = '\0';
}

void rig_die(const char *fmt, ...)
{
	va_list args;

	printf("Bail out! rig: ");
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	printf("\n");
	fflush(stdout);
	unpin();
	_exit(1);
}

static void interrupted(int sig)
{
	unpin();
	_exit(128 + sig);
}

static void make_ports(void)
{
	char cmd[128];
	int i;

	if (unshare(CLONE_NEWNET))
		rig_die("cannot make a network namespace: %s", strerror(errno));
	for (i = 0; i < _RIG_PORT_MAX; i++) {
		snprintf(cmd, sizeof(cmd),
			 "ip link add %s address 02:00:00:00:00:fe type veth peer name %s-far",
			 port_names[i], port_names[i]);
		if (system(cmd))
			rig_die("%s failed", cmd);
		ports[i] = (int)if_nametoindex(port_names[i]);
		if (ports[i] < 2)
			rig_die("no interface %s", port_names[i]);
	}
}

/* --- changes of an array of maps */

/*
 * The kernel ends each one with a wait for all packets in flight, 10 to 30 ms and more on a busy
 * machine, and a policy makes up to 18 of them. Nobody needs that wait when a map is installed
 * where no packet looks yet, or taken from where none looks any more: it is left to a thread of its
 * own. bwl_grace() wants nothing but the wait, and replaces a map by itself: needed only while
 * somebody else sends.
 */
bool rig_others_send;
unsigned rig_graces;
void (*rig_on_grace)(void);
void (*rig_before_close)(void);

struct change {
	union bpf_attr attr;
	enum bpf_cmd cmd;
	int fd, inner; /* duplicates: the caller may close his */
	uint32_t slot;
	int err; /* once done */
	bool done;
	struct change *next;
};
static struct change *changes; /* a test has one writer at a time */

/* Threads that make one change after the other: to start one takes longer than all else. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t news = PTHREAD_COND_INITIALIZER, all_idle = PTHREAD_COND_INITIALIZER;
static struct change *todo;
static unsigned busy, idle; /* threads; busy: also those that take todo */

static long sys_bpf(enum bpf_cmd cmd, union bpf_attr *attr)
{
	return syscall(SYS_bpf, cmd, attr, sizeof(*attr));
}

static bool is_outer(int fd)
{
	struct bpf_map_info info = { 0 };
	union bpf_attr attr = { .info = { .bpf_fd = (uint32_t)fd,
					  .info_len = sizeof(info),
					  .info = (uintptr_t)&info } };

	return !sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) && info.type == BPF_MAP_TYPE_ARRAY_OF_MAPS;
}

static uint32_t id_of_map(int fd)
{
	struct bpf_map_info info = { 0 };
	__u32 len = sizeof(info);

	return bpf_obj_get_info_by_fd(fd, &info, &len) ? 0 : info.id;
}

/*
 * The id of the map in this slot; 0: none. Not by libbpf: a test that counts and refuses its calls
 * means the writer's, and how often this looks depends on the machine.
 */
static uint32_t inner_id(int fd, uint32_t slot)
{
	uint32_t id = 0;
	union bpf_attr attr = { .map_fd = (uint32_t)fd,
				.key = (uintptr_t)&slot,
				.value = (uintptr_t)&id };

	return sys_bpf(BPF_MAP_LOOKUP_ELEM, &attr) ? 0 : id;
}

static void change_and_wait(struct change *c)
{
	c->err = sys_bpf(c->cmd, &c->attr) ? errno : 0;
	close(c->fd);
	if (c->inner >= 0)
		close(c->inner);
	__atomic_store_n(&c->done, true, __ATOMIC_RELEASE);
}

static _Noreturn void *make_changes(void *none)
{
	struct change *c;

	(void)none;
	pthread_mutex_lock(&lock);
	while (true) {
		while (!todo)
			pthread_cond_wait(&news, &lock);
		c = todo;
		todo = NULL;
		pthread_mutex_unlock(&lock);
		change_and_wait(c);
		pthread_mutex_lock(&lock);
		idle++;
		if (!--busy)
			pthread_cond_signal(&all_idle);
	}
}

static void hand_over(struct change *c)
{
	pthread_t thread;

	pthread_mutex_lock(&lock);
	if (todo)
		rig_die("two writers at a time");
	todo = c;
	busy++;
	if (idle)
		idle--;
	else if (pthread_create(&thread, NULL, make_changes, NULL) || pthread_detach(thread))
		rig_die("cannot start a thread");
	pthread_cond_signal(&news);
	pthread_mutex_unlock(&lock);
}

static void free_changes(void)
{
	struct change **at = &changes, *c;

	while ((c = *at)) {
		if (!__atomic_load_n(&c->done, __ATOMIC_ACQUIRE)) {
			at = &c->next;
			continue;
		}
		*at = c->next;
		free(c);
	}
}

/*
 * A child has this thread alone. If another one is in the allocator, the child waits for ever for
 * the locks that it had there, and the test for the child: all are idle at a fork.
 */
static void before_fork(void)
{
	pthread_mutex_lock(&lock);
	while (busy)
		pthread_cond_wait(&all_idle, &lock);
}

static void after_fork(void)
{
	pthread_mutex_unlock(&lock);
}

static void in_child(void)
{
	pthread_mutex_init(&lock, NULL);
	pthread_cond_init(&news, NULL);
	pthread_cond_init(&all_idle, NULL);
	idle = 0;
}

/* inner: its map, or -1. Returns as soon as look-ups find what it has changed. */
static int change(enum bpf_cmd cmd, int fd, uint32_t slot, int inner, uint64_t flags)
{
	uint32_t want = inner < 0 ? 0 : id_of_map(inner);
	struct change *c = calloc(1, sizeof(*c));
	bool done;

	if (!c)
		rig_die("out of memory");
	free_changes();
	c->cmd = cmd;
	c->fd = dup(fd);
	c->inner = inner < 0 ? -1 : dup(inner);
	c->slot = slot;
	c->attr.map_fd = (uint32_t)c->fd;
	c->attr.key = (uintptr_t)&c->slot;
	if (inner >= 0)
		c->attr.value = (uintptr_t)&c->inner;
	c->attr.flags = flags;
	c->next = changes;
	changes = c;
	hand_over(c);
	while (!(done = __atomic_load_n(&c->done, __ATOMIC_ACQUIRE)) && inner_id(fd, slot) != want)
		sched_yield();
	errno = done ? c->err : 0;
	return -errno;
}

/* These two replace libbpf's. */
int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	union bpf_attr attr = { .map_fd = (uint32_t)fd,
				.key = (uintptr_t)key,
				.value = (uintptr_t)value,
				.flags = flags };

	if (is_outer(fd)) {
		if (inner_id(fd, *(const uint32_t *)key) != id_of_map(*(const int *)value))
			return change(BPF_MAP_UPDATE_ELEM, fd, *(const uint32_t *)key,
				      *(const int *)value, flags);
		if (rig_on_grace)
			rig_on_grace();
		if (!rig_others_send)
			return 0;
		rig_graces++;
	}
	return sys_bpf(BPF_MAP_UPDATE_ELEM, &attr) ? -errno : 0;
}

int bpf_map_delete_elem(int fd, const void *key)
{
	union bpf_attr attr = { .map_fd = (uint32_t)fd, .key = (uintptr_t)key };

	if (is_outer(fd) && inner_id(fd, *(const uint32_t *)key))
		return change(BPF_MAP_DELETE_ELEM, fd, *(const uint32_t *)key, -1, 0);
	return sys_bpf(BPF_MAP_DELETE_ELEM, &attr) ? -errno : 0;
}

/* --- maps as they were when they were made */

static bool empty_mapped(int fd, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), all = (bytes + page - 1) / page * page;
	void *m = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (m == MAP_FAILED)
		return false;
	memset(m, 0, all);
	return !munmap(m, all);
}

/* bytes: of an entry, as user space sees it. One by one where the kernel knows no batch of it. */
static bool empty_array(int fd, uint32_t entries, size_t bytes)
{
	uint32_t *keys = calloc(entries, sizeof(*keys)), n = entries, i;
	void *zero = calloc(entries, bytes);
	bool ok = keys && zero;

	for (i = 0; ok && i < entries; i++)
		keys[i] = i;
	if (ok && (bpf_map_update_batch(fd, keys, zero, &n, NULL) || n != entries))
		for (i = 0; ok && i < entries; i++)
			ok = !bpf_map_update_elem(fd, &i, zero, 0);
	free(keys);
	free(zero);
	return ok;
}

static bool empty_hash(int fd, size_t key_bytes)
{
	uint8_t key[64];

	if (key_bytes > sizeof(key))
		return false;
	while (!bpf_map_get_next_key(fd, NULL, key))
		if (bpf_map_delete_elem(fd, key))
			return false;
	return errno == ENOENT;
}

static bool empty_outer(int fd, uint32_t entries)
{
	uint32_t i, id;

	for (i = 0; i < entries; i++)
		if (!bpf_map_lookup_elem(fd, &i, &id) && bpf_map_delete_elem(fd, &i))
			return false;
	return true;
}

/* The reader has read all. */
static bool empty_ring(int fd)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	unsigned long *reader = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	const unsigned long *writer = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, (off_t)page);
	bool ok = reader != MAP_FAILED && writer != MAP_FAILED;

	if (ok)
		__atomic_store_n(reader, __atomic_load_n(writer, __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
	if (reader != MAP_FAILED)
		munmap(reader, page);
	if (writer != MAP_FAILED)
		munmap((void *)writer, page);
	return ok;
}

static bool empty(struct bpf_map *m)
{
	uint32_t entries = bpf_map__max_entries(m), value = bpf_map__value_size(m);
	size_t size, every = (value + 7) / 8 * 8;
	int fd = bpf_map__fd(m);

	switch (bpf_map__type(m)) {
	case BPF_MAP_TYPE_ARRAY:
		if (bpf_map__map_flags(m) & BPF_F_RDONLY_PROG)
			return true; /* constants: the same options, the same values */
		if (bpf_map__initial_value(m, &size) && !strstr(bpf_map__name(m), ".bss"))
			return false; /* variables that do not begin at zero */
		return bpf_map__map_flags(m) & BPF_F_MMAPABLE ? empty_mapped(fd, entries * every)
							      : empty_array(fd, entries, value);
	case BPF_MAP_TYPE_PERCPU_ARRAY:
		return empty_array(fd, entries, every * (size_t)libbpf_num_possible_cpus());
	case BPF_MAP_TYPE_HASH:
		return empty_hash(fd, bpf_map__key_size(m));
	case BPF_MAP_TYPE_ARRAY_OF_MAPS:
		return empty_outer(fd, entries);
	case BPF_MAP_TYPE_RINGBUF:
		return empty_ring(fd);
	default:
		return false;
	}
}

static bool empty_all(struct bpf_object *obj)
{
	struct bpf_map *m;

	bpf_object__for_each_map(m, obj) if (!empty(m)) return false;
	return true;
}

void rig_new_programs(struct rig *rig)
{
	static const char *const own[] = {
#define X(name, ...) "bwl_" #name,
		BWL_OWN_MAPS(X)
#undef X
	};
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		struct bpf_map *m = bpf_object__find_map_by_name(rig->skel->obj, own[i]);

		if (!m || !empty(m))
			rig_die("cannot empty %s", own[i]);
	}
	trace_programs();
}

/* --- */

static struct bwl_schema schema_of(const char *dir, const struct rig_opts *o)
{
	struct bwl_schema s = bwl_schema_new(o->max_peers ? o->max_peers : 256,
					     o->max_extras ? o->max_extras : 256,
					     o->max_windows ? o->max_windows : 64);
	uint32_t zero = 0;
	char path[300];
	int fd;

	if (!o->maps)
		return s;
	snprintf(path, sizeof(path), "%s/maps/%s", dir, bwl_pin_name(BWL_PIN_schema));
	fd = bpf_obj_get(path);
	if (fd < 0 || bpf_map_lookup_elem(fd, &zero, &s))
		rig_die("the recorded maps have no schema");
	close(fd);
	return s;
}

/* dir: where recorded maps are pinned, if there are any. */
static void load(struct loaded *x, const char *dir, const struct rig_opts *o)
{
	char btf[32] = "";
	LIBBPF_OPTS(bpf_object_open_opts, how,
		    .btf_custom_path = o->realtime && !realtime_btf(btf) ? btf : NULL);
	struct bwlimit_test *s = bwlimit_test__open_opts(&how);
	struct bwl_schema schema = schema_of(dir, o);
	struct bwl_kernel_has has;

	if (!s || (o->realtime && !*btf))
		rig_die("cannot open the test object");
	if (bwl_pins_size(s->obj, &schema))
		rig_die("the object lacks a map of the list");
	if (o->maps && o->maps->use(dir, s->obj))
		rig_die("the object does not take the recorded maps");
	frags_set(s->obj, frags_taken());
	/* With if_ids they need a module's kfuncs: tests/vm. */
	bpf_program__set_autoload(s->progs.bwl_tc_tunin, o->plain_tunnel);
	bpf_program__set_autoload(s->progs.bwl_tc_tunout, o->plain_tunnel);
	bpf_program__set_autoload(s->progs.bwl_xdp_upin, !o->host_only);
	bpf_program__set_autoload(s->progs.bwl_tc_upin, !o->host_only);
	bpf_program__set_autoload(s->progs.bwl_tc_gate, !o->host_only);
	bpf_program__set_autoload(s->progs.bwl_tc_mgmt, !o->host_only);
	s->rodata->bwl_by_mark = o->plain_tunnel;
	s->rodata->bwl_cpu_bits = bwl_cpu_bits();
	s->rodata->bwl_late_most_ns = 2000000;
	bwl_kernel_ask(&has);
	s->rodata->bwl_xdp_may_carry = !o->generic && has.policy_offload;
	s->rodata->bwl_sa_is_told = has.sa_of_packet;
	s->rodata->bwl_records = o->records;
	s->rodata->bwl_measures = o->measures;
	if (o->records && bwl_rec_size(s->obj))
		rig_die("the object lacks a map of the recorder");
	if (bwlimit_test__load(s))
		rig_die("cannot load the test object: %s (root and kernel >= 5.12 are needed)",
			strerror(errno));
	x->opts = *o;
	x->skel = s;
	x->tagged = tagged__open_and_load();
	if (!x->tagged)
		rig_die("cannot load the tag-pushing program");
}

static void unload(struct loaded *x)
{
	tagged__destroy(x->tagged);
	bwlimit_test__destroy(x->skel);
	memset(x, 0, sizeof(*x));
}

static bool loads_the_same(const struct rig_opts *a, const struct rig_opts *b)
{
	return !a->maps && !b->maps && a->max_peers == b->max_peers &&
	       a->max_extras == b->max_extras && a->max_windows == b->max_windows &&
	       a->host_only == b->host_only && a->plain_tunnel == b->plain_tunnel &&
	       a->generic == b->generic && a->realtime == b->realtime && a->records == b->records &&
	       a->measures == b->measures;
}

static void make(struct rig *rig, const struct rig_opts *o)
{
	struct bwlimit_test *s;

	if (kept.skel && (!loads_the_same(&kept.opts, o) || !empty_all(kept.skel->obj)))
		unload(&kept);
	if (!kept.skel)
		load(&kept, rig->dir, o);
	s = kept.skel;
	rig->skel = s;
	rig->tagged = kept.tagged;
	rig->prog[RIG_HOST] = bpf_program__fd(s->progs.bwl_tc_host);
	rig->prog[RIG_XDP] = bpf_program__fd(s->progs.bwl_xdp_host);
	rig->prog[RIG_XDP_UPIN] = bpf_program__fd(s->progs.bwl_xdp_upin);
	rig->prog[RIG_UPIN] = bpf_program__fd(s->progs.bwl_tc_upin);
	rig->prog[RIG_GATE] = bpf_program__fd(s->progs.bwl_tc_gate);
	rig->prog[RIG_TUNIN] = bpf_program__fd(s->progs.bwl_tc_tunin);
	rig->prog[RIG_TUNOUT] = bpf_program__fd(s->progs.bwl_tc_tunout);
	rig->prog[RIG_MGMT] = bpf_program__fd(s->progs.bwl_tc_mgmt);
}

static void make_dir(struct rig *rig)
{
	char path[300];

	snprintf(rig->dir, sizeof(rig->dir), "/sys/fs/bpf/bwl-test-%d", (int)getpid());
	snprintf(path, sizeof(path), "%s/maps", rig->dir);
	if (mkdir(rig->dir, 0700) || mkdir(path, 0700))
		rig_die("cannot make %s: %s", path, strerror(errno));
}

static void put_back(struct rig *rig, const struct rig_maps *m)
{
	FILE *f = fopen(m->file, "r");
	uint64_t ns;

	if (!f || recorded_read(rig->dir, f, &ns))
		rig_die("cannot read %s", m->file);
	fclose(f);
	rig_set_clock(ns);
}

static void pin(struct rig *rig)
{
	struct bwl_schema schema =
		bwl_schema_new(bpf_map__max_entries(rig->skel->maps.bwl_gate_v1),
			       bpf_map__max_entries(rig->skel->maps.bwl_extra_v1),
			       bpf_map__max_entries(rig->skel->maps.bwl_window_v1));
	uint32_t zero = 0;
	char path[300];
	int i, fd;

	if (bpf_map_update_elem(bpf_map__fd(rig->skel->maps.bwl_schema_v1), &zero, &schema, 0))
		rig_die("cannot write the schema: %s", strerror(errno));
	for (i = 0; i < _BWL_PIN_MAX; i++) {
		fd = bpf_object__find_map_fd_by_name(rig->skel->obj, bwl_pin_name(i));
		snprintf(path, sizeof(path), "%s/maps/%s", rig->dir, bwl_pin_name(i));
		if (fd < 0 || bpf_obj_pin(fd, path))
			rig_die("cannot pin %s: %s", path, strerror(errno));
	}
}

/* The recorded ports get the rig's devices, each by its port id. */
static void fill_recorded(struct rig *rig)
{
	struct bwl_pins *p = rig->pins;
	int i;

	for (i = 0; i < BWL_MAX_PORTS; i++)
		p->ifport[p->dev[i].ifindex].v = 0;
	for (i = 0; i < RIG_PORTS; i++)
		if (p->dev[i].ifindex) {
			p->dev[i].ifindex = (uint32_t)rig->ifindex[i];
			p->ifport[rig->ifindex[i]].v = (uint32_t)i + 1;
		}
}

static void fill(struct rig *rig, const struct rig_opts *o)
{
	struct bwl_pins *p = rig->pins;
	int i;

	p->ctl->sched[0] = (struct bwl_sched){ BWL_NO_SLOT, BWL_NO_SLOT, BWL_NEVER_NS };
	p->ctl->tag = 0x5a17c0deU;
	p->ctl->attached_ns = rig_now();
	p->ctl->fresh_volume = !o->old_volume;
	p->ctl->drill = 1;
	for (i = 0; i < RIG_PORTS; i++) {
		p->dev[i].ifindex = (uint32_t)rig->ifindex[i];
		p->dev[i].mtu = RIG_MTU;
		p->dev[i].kind = i < RIG_P0 ? BWL_PORT_HOST : BWL_PORT_UPLINK;
		snprintf(p->dev[i].name, sizeof(p->dev[i].name), "%s", port_names[i]);
		p->ifport[rig->ifindex[i]].v = (uint32_t)i + 1;
	}
	if (!o->plain_tunnel)
		return;
	p->dev[RIG_P1].kind = BWL_PORT_TUNNEL;
	p->dev[RIG_P1].flags = BWL_DEV_PLAIN;
	p->ctl->tunnel = p->dev[RIG_P1].ifindex;
}

struct bwl_pins *rig_pins(struct rig *rig)
{
	struct bwl_pins *p = NULL;
	struct bwl_err e = { 0 };

	if (bwl_pins_open(rig->dir, true, &p, &e))
		rig_die("%s", e.text);
	return p;
}

/* Linux 5.15 refuses a test run with ingress_ifindex. */
static bool takes_ingress(const struct rig *rig)
{
	struct __sk_buff skb = { .ingress_ifindex = 1 };
	char frame[64] = { 0 };
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = frame, .data_size_in = sizeof(frame),
		    .ctx_in = &skb, .ctx_size_in = sizeof(skb));

	return !bpf_prog_test_run_opts(bpf_program__fd(rig->tagged->progs.tagged), &o);
}

static int quiet(enum libbpf_print_level level, const char *fmt, va_list args)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, fmt, args) : 0;
}

static void record(struct rig *rig)
{
	int fd[_BWL_REC_MAPS], i;
	struct bwl_err e = { 0 };
	uint32_t none;

	for (i = 0; i < _BWL_REC_MAPS; i++)
		fd[i] = bpf_object__find_map_fd_by_name(rig->skel->obj, bwl_rec_map_name(i));
	if (bwl_rec_map(fd, &rig->rec, &e) || bwl_rec_turn(&rig->rec, &none, &e))
		rig_die("%s", e.text);
}

/* What a CPU holds of a limit is its own: a second limiter knows one CPU. */
static void trace(const struct rig *rig, const struct rig_opts *o)
{
	cpu_set_t one;

	if (!trace_wanted())
		return;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		rig_die("cannot stay on a CPU: %s", strerror(errno));
	trace_new(rig->pins, !o->realtime);
}

struct rig *rig_open(const struct rig_opts *o)
{
	static const struct rig_opts defaults;
	struct rig *rig = calloc(1, sizeof(*rig));

	if (the_rig || !rig)
		rig_die("one rig at a time");
	if (!o)
		o = &defaults;
	the_rig = rig;
	rig->owner = getpid();
	rig_others_send = false;
	rig_on_grace = rig_before_close = NULL;
	if (!ports[0]) {
		libbpf_set_print(quiet);
		frags_are_asked_for();
		atexit(unpin);
		signal(SIGINT, interrupted);
		signal(SIGTERM, interrupted);
		if (pthread_atfork(before_fork, after_fork, in_child))
			rig_die("out of memory");
		make_ports();
	}
	memcpy(rig->ifindex, ports, sizeof(ports));
	make_dir(rig);
	if (o->maps)
		put_back(rig, o->maps);
	make(rig, o);
	rig_set_clock(o->maps ? rig_now() : 3600 * RIG_SECOND);
	if (!o->maps)
		pin(rig);
	else if (o->maps->take(rig->dir, rig->skel->obj))
		rig_die("the recorded maps cannot be taken over");
	rig->pins = rig_pins(rig);
	if (o->maps)
		fill_recorded(rig);
	else
		fill(rig, o);
	if (o->records)
		record(rig);
	rig->takes_ingress = takes_ingress(rig);
	rig->cpus = libbpf_num_possible_cpus();
	rig->last = calloc(RIG_ROWS, sizeof(*rig->last));
	rig->percpu = calloc((size_t)BWL_REASON_COLUMNS * (size_t)rig->cpus, sizeof(*rig->percpu));
	if (!rig->last || !rig->percpu)
		rig_die("out of memory");
	trace(rig, o);
	return rig;
}

void rig_close(struct rig *rig)
{
	if (rig_before_close)
		rig_before_close();
	trace_forget();
	bwl_pins_close(rig->pins);
	if (rig->rec.word)
		bwl_rec_close(&rig->rec);
	unpin();
	free(rig->last);
	free(rig->percpu);
	free(rig);
	the_rig = NULL;
}

int rig_try_policy(struct rig *rig, const char *yaml, const struct bwl_publish_opts *o,
		   struct bwl_publish_report *ret, struct bwl_err *e)
{
	struct bwl_policy *pol = NULL;
	int r;

	r = bwl_policy_parse("rig", yaml, strlen(yaml), rig_now(), 1700000000, &pol, e);
	if (!r)
		r = bwl_publish(rig->pins, pol, o, ret, e);
	bwl_policy_free(pol);
	return r;
}

void rig_policy(struct rig *rig, const char *yaml)
{
	struct bwl_err e = { 0 };

	if (rig_try_policy(rig, yaml, NULL, NULL, &e))
		rig_die("policy line %u: %s", e.line, e.text);
}

/* One row of counters, summed over CPUs. */
static void read_row(struct rig *rig, unsigned row, struct bwl_reason_count *ret)
{
	uint32_t keys[BWL_REASON_COLUMNS], n = BWL_REASON_COLUMNS, from = row * BWL_REASON_COLUMNS,
					   out, i;
	int c;

	from--; /* a batch continues after this key */
	if (bpf_map_lookup_batch(rig->pins->fd[BWL_PIN_reason], row ? &from : NULL, &out, keys,
				 rig->percpu, &n, NULL) &&
	    errno != ENOENT)
		rig_die("cannot read the counters: %s", strerror(errno));
	memset(ret, 0, sizeof(*ret) * BWL_REASON_COLUMNS);
	for (i = 0; i < n; i++) {
		const struct bwl_reason_count *v = &rig->percpu[i * (uint32_t)rig->cpus];

		for (c = 0; c < rig->cpus; c++) {
			ret[i].frames += v[c].frames;
			ret[i].bytes += v[c].bytes;
			ret[i].charged += v[c].charged;
		}
	}
}

static struct bwl_reason_count count(struct rig *rig, unsigned row, unsigned reason)
{
	struct bwl_reason_count now[BWL_REASON_COLUMNS];

	read_row(rig, row, now);
	return now[reason];
}

uint64_t rig_frames(struct rig *rig, unsigned row, unsigned reason)
{
	return count(rig, row, reason).frames;
}

uint64_t rig_bytes(struct rig *rig, unsigned row, unsigned reason)
{
	return count(rig, row, reason).bytes;
}

uint64_t rig_charged(struct rig *rig, unsigned row, unsigned reason)
{
	return count(rig, row, reason).charged;
}

uint64_t rig_all_frames(struct rig *rig)
{
	struct bwl_reason_count now[BWL_REASON_COLUMNS];
	uint64_t sum = 0;
	unsigned row, i;

	for (row = 0; row < BWL_REASON_ROWS; row++) {
		read_row(rig, row, now);
		for (i = 0; i < _BWL_REASON_MAX; i++)
			sum += now[i].frames;
	}
	return sum;
}

static void build(const struct rig_packet *k, struct frame *f)
{
	char why[160];

	if (!k->spec) {
		memcpy(f->data, k->data, k->len);
		f->len = k->len;
	} else if (frame_build(k->spec, &env, f, why)) {
		rig_die("frame '%s': %s", k->spec, why);
	}
}

static bool is_egress(const struct rig_packet *k)
{
	return k->prog == RIG_GATE || k->prog == RIG_TUNOUT || k->prog == RIG_MGMT;
}

static bool is_xdp(const struct rig_packet *k)
{
	return k->prog == RIG_XDP || k->prog == RIG_XDP_UPIN;
}

bool rig_can(const struct rig *rig, const struct rig_packet *k)
{
	return rig->takes_ingress || !is_egress(k) || k->ingress == RIG_NOWHERE;
}

static int test_run(struct rig *rig, const struct rig_packet *k, const struct frame *f,
		    uint32_t repeat, void *out, struct __sk_buff *skb, struct bpf_test_run_opts *o)
{
	struct xdp_md xdp = { .data_end = (uint32_t)f->len };
	uint32_t zero = 0;

	*skb = (struct __sk_buff){
		.ifindex = (uint32_t)rig->ifindex[k->port],
		.mark = k->mark,
		.priority = k->priority,
		.tstamp = k->departs_ns,
		.gso_size = k->gso_size,
		.gso_segs = k->gso_segs,
	};
	if (rig->prog[k->prog] < 0)
		rig_die("that program is not loaded: host_only");
	if (!rig_can(rig, k))
		rig_die("this kernel's test runs know no ingress_ifindex");
	if (!is_egress(k)) /* no program reads it there */
		skb->ingress_ifindex = rig->takes_ingress ? skb->ifindex : 0;
	else if (k->ingress != RIG_NOWHERE)
		skb->ingress_ifindex = (uint32_t)rig->ifindex[k->ingress];
	*o = (struct bpf_test_run_opts){
		.sz = sizeof(*o),
		.data_in = f->data,
		.data_size_in = (uint32_t)f->len,
		.data_out = out,
		.data_size_out = out ? FRAME_MAX : 0,
		.repeat = (int)repeat,
		.ctx_in = skb,
		.ctx_size_in = sizeof(*skb),
	};
	if (is_xdp(k)) {
		xdp.ingress_ifindex = skb->ifindex;
		o->ctx_in = &xdp;
		o->ctx_size_in = sizeof(xdp);
	} else if (out) {
		o->ctx_out = skb;
		o->ctx_size_out = sizeof(*skb);
	}
	if (!k->tagged)
		return bpf_prog_test_run_opts(rig->prog[k->prog], o);
	skb->cb[0] = k->tci;
	if (bpf_map_update_elem(bpf_map__fd(rig->tagged->maps.next), &zero, &rig->prog[k->prog], 0))
		rig_die("tail call to the program under test: %s", strerror(errno));
	return bpf_prog_test_run_opts(bpf_program__fd(rig->tagged->progs.tagged), o);
}

static struct trace_packet traced(const struct rig_packet *k, unsigned row, const struct frame *f)
{
	static const char *const prog[_RIG_PROG_MAX] = { "tc-host",  "xdp-host", "tc-upin",
							 "xdp-upin", "gate",     "tunin",
							 "tunout",   "mgmt" };

	return (struct trace_packet){ .prog = prog[k->prog],
				      .port = k->port,
				      .row = row,
				      .frame = f->data,
				      .len = f->len,
				      .gso_size = k->gso_size,
				      .gso_segs = k->gso_segs,
				      .tag = k->tagged ? k->tci : -1 };
}

unsigned rig_run(struct rig *rig, const struct rig_packet *k, struct rig_result *ret)
{
	static struct rig_result scratch;
	struct bwl_reason_count now[BWL_REASON_COLUMNS], *was;
	struct rig_result *r = ret ? ret : &scratch;
	unsigned row = k->port < RIG_PORTS ? k->port : 0, i;
	struct bpf_test_run_opts o;
	struct trace_packet t;
	static struct frame f;
	struct __sk_buff skb;

	if (is_egress(k))
		row += BWL_MAX_PORTS;
	was = &rig->last[row * BWL_REASON_COLUMNS];
	read_row(rig, row, was);
	build(k, &f);
	t = traced(k, row, &f);
	trace_before(rig->pins, &t, rig_now(), rig->skel->bss->bwl_test_behind_ns);
	if (test_run(rig, k, &f, 1, r->data, &skb, &o))
		rig_die("test run of '%s': %s", k->spec ? k->spec : "data", strerror(errno));
	r->act = o.retval;
	r->len = o.data_size_out;
	r->mark = skb.mark;
	r->priority = skb.priority;
	r->departs_ns = is_xdp(k) ? 0 : skb.tstamp;
	trace_after(rig->pins, &t, r->departs_ns ? r->departs_ns - rig_now() : 0);
	r->counted = 0;
	r->reason = BWL_R_NONE;
	r->bytes = r->charged = 0;
	read_row(rig, row, now);
	for (i = 0; i < _BWL_REASON_MAX; i++) {
		if (now[i].frames == was[i].frames)
			continue;
		r->counted += (unsigned)(now[i].frames - was[i].frames);
		r->reason = i;
		r->bytes = now[i].bytes - was[i].bytes;
		r->charged = now[i].charged - was[i].charged;
	}
	return r->reason;
}

void rig_suspended(struct rig *rig, uint64_t ns)
{
	LIBBPF_OPTS(bpf_test_run_opts, o);

	rig_coarse_clock_behind(ns);
	rig_advance(ns);
	if (bpf_prog_test_run_opts(bpf_program__fd(rig->skel->progs.bwl_tp_suspend), &o))
		rig_die("test run of a suspend: %s", strerror(errno));
}

unsigned rig_send(struct rig *rig, const char *spec)
{
	return rig_run(rig, &(struct rig_packet){ .spec = spec }, NULL);
}

uint32_t rig_fire(struct rig *rig, const struct rig_packet *k, uint32_t repeat)
{
	struct bpf_test_run_opts o;
	struct __sk_buff skb;
	struct frame *f;

	if (trace_wanted() && !rig_others_send) {
		struct rig_result *r = calloc(1, sizeof(*r));

		while (r && repeat--)
			rig_run(rig, k, r);
		o.retval = r ? r->act : 0;
		free(r);
		return o.retval;
	}
	trace_loses();
	f = malloc(sizeof(*f));
	if (!f)
		rig_die("out of memory");
	build(k, f);
	if (test_run(rig, k, f, repeat, NULL, &skb, &o))
		rig_die("test run: %s", strerror(errno));
	free(f);
	return o.retval;
}

void rig_event_sums(const struct bwl_pins *p, uint64_t *ret_lost, uint64_t *ret_total)
{
	struct bwl_event_count n;

	*ret_lost = *ret_total = 0;
	for (uint32_t kind = 0; kind < _BWL_EVENT_MAX; kind++) {
		for (uint32_t port = 0; port < BWL_MAX_PORTS; port++) {
			if (bwl_event_counted(p, kind, port, &n, NULL))
				rig_die("no event counter");
			*ret_lost += n.lost;
			*ret_total += n.total;
		}
	}
}
