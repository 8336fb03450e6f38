/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pins of an earlier layout, for tests of the loader. */
#ifndef BWL_TEST_RELAYOUT_RIG_H
#define BWL_TEST_RELAYOUT_RIG_H

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <unistd.h>
#include "invented.h"
#include "prog.h"
#include "bwlimit_test.skel.h"
#include "loader/relayout.h"
#include "maps/layout.h"

#define LOST 70U
#define TOTAL 500U
#define PEER                                                                                       \
	PORTS                                                                                      \
	"heartbeat: none\npeers:\n"                                                                \
	"  - { name: a, addresses: [10.1.0.1], path: clear, via: 192.0.2.1, grant: { rate: 1gbit, volume: 1mb } }\n"

static inline int create(uint32_t type, uint32_t key, uint32_t value, uint32_t n, uint32_t flags)
{
	LIBBPF_OPTS(bpf_map_create_opts, o, .map_flags = flags);
	int fd = bpf_map_create(type, "t", key, value, n, &o);

	if (fd < 0)
		fail_msg("bpf_map_create: %s", strerror(errno));
	return fd;
}

static inline void pin_over(enum bwl_pin pin, int fd)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/maps/%s", rig->dir, bwl_pin_name(pin));
	unlink(path);
	assert_int_equal(bpf_obj_pin(fd, path), 0);
	close(fd);
}

static inline void set_layout(uint64_t layout)
{
	struct bwl_schema s = rig->pins->schema;
	uint32_t zero = 0;

	s.layout = layout;
	assert_int_equal(bpf_map_update_elem(rig->pins->fd[BWL_PIN_schema], &zero, &s, 0), 0);
}

static inline void begin(void)
{
	rig_policy(rig, PEER);
	rig_advance(RIG_SECOND);
}

#define RENEWED_NS 77ULL

/* One counter of events, and half of a lease. */
static inline void become_layout_1(void)
{
	struct bwl_event_count *v = calloc((size_t)rig->cpus, sizeof(*v));
	int fd = create(BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(*v), 1, 0);
	int half = create(BPF_MAP_TYPE_ARRAY, 4, LAYOUT_1_LEASE_BYTES, 1, BPF_F_MMAPABLE);
	struct bwl_lease lease = { .until_ns = BWL_NEVER_NS, .renewed_ns = RENEWED_NS };
	uint32_t zero = 0;

	assert_non_null(v);
	v[0] = (struct bwl_event_count){ .lost = LOST - 1, .total = TOTAL };
	v[rig->cpus - 1].lost += 1;
	assert_int_equal(bpf_map_update_elem(fd, &zero, v, 0), 0);
	free(v);
	pin_over(BWL_PIN_evcnt, fd);
	assert_int_equal(bpf_map_update_elem(half, &zero, &lease, 0), 0);
	pin_over(BWL_PIN_lease, half);
	set_layout(LAYOUT_1);
}

static inline void look(struct bwl_relayout *x)
{
	struct bwl_err e = { 0 };

	if (bwl_relayout_look(rig->dir, x, &e))
		fail_msg("%s", e.text);
}

/* An object without programs: tests replace these by hand, or not at all. */
static inline struct bwlimit_test *load_on(const struct bwl_relayout *x)
{
	struct bwlimit_test *s = bwlimit_test__open();
	struct bpf_program *p;

	assert_non_null(s);
	bpf_object__for_each_program(p, s->obj) bpf_program__set_autoload(p, false);
	assert_int_equal(bwl_pins_size(s->obj, &x->was), 0);
	assert_int_equal(bwl_relayout_use(x, s->obj), 0);
	assert_int_equal(bwlimit_test__load(s), 0);
	return s;
}

#endif
