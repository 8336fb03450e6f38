// SPDX-License-Identifier: GPL-2.0-or-later
/* See rig.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bwl/inner.h>
#include <bwl/kernel_has.h>
#include <bwl/record.h>
#include <bwl/tables.h>
#include "rig.h"

#define A_DAY_S 86400U

static int quiet(enum libbpf_print_level level, const char *fmt, va_list args)
{
	return level == LIBBPF_WARN ? vfprintf(stderr, fmt, args) : 0;
}

/* The first words, as bwlimit-load writes them before anything can be attached. */
static int first_words(struct rig *r, const struct bwl_schema *schema)
{
	struct bwl_ctl ctl = {
		.sched = { { BWL_NO_SLOT, BWL_NO_SLOT, BWL_NEVER_NS } },
		.tag = 0x62776c31,
		.fresh_volume = 1,
		.drill = 1,
		.attached_ns = bwl_now_ns(),
	};
	struct bwl_dev host = {
		.ifindex = 1, .mtu = 1500, .kind = BWL_PORT_HOST, .name = RIG_HOST_DEV
	};
	struct bwl_dev up = {
		.ifindex = 2, .mtu = 1500, .kind = BWL_PORT_UPLINK, .name = RIG_UPLINK_DEV
	};
	struct bwl_dev tight = {
		.ifindex = 3, .mtu = 1500, .kind = BWL_PORT_HOST, .name = RIG_TIGHT_DEV
	};
	__u32 zero = RIG_HOST_PORT, one = RIG_UPLINK_PORT, two = RIG_TIGHT_PORT, lo = 1,
	      port = RIG_HOST_PORT + 1;

#define PUT(map, key, value)                                                                       \
	bpf_map__update_elem(bpf_object__find_map_by_name(r->obj, map), key, sizeof(__u32), value, \
			     sizeof(*(value)), 0)
	return PUT("bwl_schema_v1", &zero, schema) || PUT("bwl_ctl_v1", &zero, &ctl) ||
	       PUT("bwl_dev_v1", &zero, &host) || PUT("bwl_dev_v1", &one, &up) ||
	       PUT("bwl_dev_v1", &two, &tight) || PUT("bwl_ifport_v1", &lo, &port);
#undef PUT
}

static int pin_maps(struct rig *r)
{
	struct bpf_map *m;
	char path[160];
	int i;

	snprintf(path, sizeof(path), "%s/maps", r->dir);
	if (mkdir(r->dir, 0700) || mkdir(path, 0700))
		return -errno;
	for (i = 0; i < _BWL_PIN_MAX; i++) {
		m = bpf_object__find_map_by_name(r->obj, bwl_pin_name(i));
		snprintf(path, sizeof(path), "%s/maps/%s", r->dir, bwl_pin_name(i));
		if (!m || bpf_map__pin(m, path))
			return -errno;
	}
	return 0;
}

static bool wanted(const char *program, unsigned programs)
{
	return (programs & RIG_TC_HOST && !strcmp(program, "bwl_tc_host")) ||
	       (programs & RIG_XDP_HOST && !strcmp(program, "bwl_xdp_host")) ||
	       (programs & RIG_TC_GATE && !strcmp(program, "bwl_tc_gate"));
}

/*
 * Sets the constants that bwlimit-load gives the programs, in .rodata and found by name: the object
 * may be of another build and have fewer.
 */
static int say_constants(struct bpf_object *obj, const struct rig_size *n)
{
	struct bwl_kernel_has has;

	bwl_kernel_ask(&has);

	const struct {
		const char *name;
		uint64_t value;
	} say[] = { { "bwl_xdp_may_carry", has.policy_offload },
		    { "bwl_sa_is_told", has.sa_of_packet },
		    { "bwl_cpu_bits", bwl_cpu_bits() },
		    { "bwl_late_most_ns", bwl_late_most_ns() },
		    { "bwl_records", n->records },
		    { "bwl_measures", n->measures } };
	struct btf *btf = bpf_object__btf(obj);
	int id = btf ? btf__find_by_name_kind(btf, ".rodata", BTF_KIND_DATASEC) : -ENOENT, i;
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL, *v;
	struct bpf_map *m = bpf_object__find_map_by_name(obj, ".rodata");
	size_t size = 0, k;
	const void *was = m ? bpf_map__initial_value(m, &size) : NULL;
	char *words = was ? malloc(size) : NULL;
	int r = -ENOENT;

	if (words)
		memcpy(words, was, size);
	for (i = 0; t && words && i < btf_vlen(t); i++) {
		v = btf__type_by_id(btf, btf_var_secinfos(t)[i].type);
		for (k = 0; k < sizeof(say) / sizeof(say[0]); k++)
			if (!strcmp(btf__name_by_offset(btf, v->name_off), say[k].name))
				memcpy(words + btf_var_secinfos(t)[i].offset, &say[k].value,
				       btf_var_secinfos(t)[i].size); /* little-endian */
	}
	if (t && words)
		r = bpf_map__set_initial_value(m, words, size);
	free(words);
	return r;
}

static int begin_interval(const struct bpf_object *obj)
{
	int fd = bpf_object__find_map_fd_by_name(obj, bwl_rec_map_name(BWL_REC_WORD));
	struct bwl_rec_word w = { .interval = 1 };
	__u32 zero = 0;

	return bpf_map_update_elem(fd, &zero, &w, 0) ? -errno : 0;
}

int rig_up(struct rig *r, const void *elf, size_t elf_size, const struct rig_size *n,
	   struct bwl_err *e)
{
	const struct bwl_schema schema = bwl_schema_new(n->peers, n->extras, n->windows);
	static unsigned serial;
	struct bpf_program *p;
	int err;

	*r = (struct rig){ 0 };
	libbpf_set_print(quiet);
	snprintf(r->dir, sizeof(r->dir), "/sys/fs/bpf/bwl-rig-%d-%u", getpid(), serial++);
	r->obj = bpf_object__open_mem(elf, elf_size, NULL);
	if (!r->obj)
		return bwl_fail(e, errno, "cannot open the BPF object: %s", strerror(errno));
	err = say_constants(r->obj, n);
	if (!err)
		err = bwl_pins_size(r->obj, &schema);
	if (!err && n->records)
		err = bwl_rec_size(r->obj);
	bpf_object__for_each_program(p, r->obj)
		bpf_program__set_autoload(p, wanted(bpf_program__name(p), n->programs));
	if (!err)
		err = bpf_object__load(r->obj);
	if (!err)
		err = first_words(r, &schema);
	if (!err && n->records)
		err = begin_interval(r->obj);
	if (!err)
		err = pin_maps(r);
	if (err) {
		rig_down(r);
		return bwl_fail(e, -err, "cannot load the programs: %s", strerror(-err));
	}
	err = bwl_pins_open(r->dir, true, &r->pins, e);
	if (err)
		rig_down(r);
	return err;
}

void rig_down(struct rig *r)
{
	char path[160];
	int i;

	bwl_pins_close(r->pins);
	bpf_object__close(r->obj);
	for (i = 0; i < _BWL_PIN_MAX; i++) {
		snprintf(path, sizeof(path), "%s/maps/%s", r->dir, bwl_pin_name(i));
		unlink(path);
	}
	snprintf(path, sizeof(path), "%s/maps", r->dir);
	rmdir(path);
	bwl_inner_forget(r->dir);
	rmdir(r->dir);
	*r = (struct rig){ 0 };
}

int rig_prog(const struct rig *r, const char *name)
{
	return bpf_program__fd(bpf_object__find_program_by_name(r->obj, name));
}

unsigned long long rig_frames(const struct rig *r, unsigned row, unsigned reason)
{
	int n = libbpf_num_possible_cpus(), i;
	__u32 key = row * BWL_REASON_COLUMNS + reason;
	struct bwl_reason_count each[n];
	unsigned long long sum = 0;

	if (bpf_map_lookup_elem(r->pins->fd[BWL_PIN_reason], &key, each))
		return 0;
	for (i = 0; i < n; i++)
		sum += each[i].frames;
	return sum;
}

void rig_offload(struct rig *r)
{
	const struct bwl_tunnel held = { .flags = BWL_TUN_SA | BWL_TUN_BENEATH | BWL_TUN_XDP,
					 .offload = BWL_OFFLOAD_PACKET,
					 .overhead = 60,
					 .next_mac = 0x770000000002, /* 02:…:77, little endian */
					 .out = r->pins->dev[RIG_UPLINK_PORT].ifindex };
	__u32 i;

	for (i = 1; i < r->pins->schema.max_peers; i++)
		r->pins->tunnel[i] = held;
	r->pins->ctl->tracked_until_s = (__u32)(bwl_now_ns() / 1000000000) + A_DAY_S;
}

void rig_die(const struct bwl_err *e)
{
	fprintf(stderr, "%s\n%s%s%s", e->text, e->hint[0] ? "  " : "", e->hint,
		e->hint[0] ? "\n" : "");
	exit(1);
}
