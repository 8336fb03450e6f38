// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Pinned maps of an earlier layout become this one's (loader/relayout.h): what is copied, what is
 * refused, and what stands after each step. With real old programs: tests/netns/upgrade_test.sh.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <unistd.h>
#include "prog.h"
#include "bwlimit_test.skel.h"
#include "loader/relayout.h"
#include "maps/layout.h"

#define LAYOUT_1 0xba4c6acfe9838463ULL
#define LAYOUT_2 0x135fe249ca7d5a39ULL
#define LOST 70U
#define TOTAL 500U
#define PEER                                                                                       \
	PORTS                                                                                      \
	"heartbeat: none\npeers:\n"                                                                \
	"  - { name: a, addresses: [10.1.0.1], path: clear, via: 192.0.2.1, grant: { rate: 1gbit, volume: 1mb } }\n"

static int create(uint32_t type, uint32_t key, uint32_t value, uint32_t n, uint32_t flags)
{
	LIBBPF_OPTS(bpf_map_create_opts, o, .map_flags = flags);
	int fd = bpf_map_create(type, "t", key, value, n, &o);

	if (fd < 0)
		fail_msg("bpf_map_create: %s", strerror(errno));
	return fd;
}

static void pin_over(enum bwl_pin pin, int fd)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/maps/%s", rig->dir, bwl_pin_name(pin));
	unlink(path);
	assert_int_equal(bpf_obj_pin(fd, path), 0);
	close(fd);
}

static void set_layout(uint64_t layout)
{
	struct bwl_schema s = rig->pins->schema;
	uint32_t zero = 0;

	s.layout = layout;
	assert_int_equal(bpf_map_update_elem(rig->pins->fd[BWL_PIN_schema], &zero, &s, 0), 0);
}

static void begin(void)
{
	rig_policy(rig, PEER);
	rig_advance(RIG_SECOND);
}

/* As commit d339dc5 left them: one counter of events, no shares of the table of neighbours. */
static void become_layout_1(void)
{
	struct bwl_event_count *v = calloc((size_t)rig->cpus, sizeof(*v));
	int fd = create(BPF_MAP_TYPE_PERCPU_ARRAY, 4, sizeof(*v), 1, 0), i;
	uint32_t zero = 0;
	struct bwl_gen g;

	assert_non_null(v);
	v[0] = (struct bwl_event_count){ .lost = LOST - 1, .total = TOTAL };
	v[rig->cpus - 1].lost += 1;
	assert_int_equal(bpf_map_update_elem(fd, &zero, v, 0), 0);
	free(v);
	pin_over(BWL_PIN_evcnt, fd);
	assert_int_equal(bwl_gen_open(rig->pins, bwl_active_slot(rig->pins, rig_now()), &g, NULL),
			 0);
	for (i = 0; i < BWL_MAX_PORTS; i++)
		g.base->port[i].neighbours = 0;
	bwl_gen_close(&g);
	set_layout(LAYOUT_1);
}

static void look(struct bwl_relayout *x)
{
	struct bwl_err e = { 0 };

	if (bwl_relayout_look(rig->dir, x, &e))
		fail_msg("%s", e.text);
}

/* An object without programs: these are replaced by hand, or not at all. */
static struct bwlimit_test *load_on(const struct bwl_relayout *x)
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

static bool is_refused(void)
{
	struct bwl_pins *p;
	bool r = bwl_pins_open(rig->dir, true, &p, NULL);

	if (!r)
		bwl_pins_close(p);
	return r;
}

static uint32_t stop_is(void)
{
	return rig->pins->ctl->stop;
}

static void shares_are(unsigned n)
{
	struct bwl_gen g;
	unsigned i;

	assert_int_equal(bwl_gen_open(rig->pins, bwl_active_slot(rig->pins, rig_now()), &g, NULL),
			 0);
	for (i = 0; i < 3; i++) /* h0, h1, p0 */
		assert_int_equal(g.base->port[i].neighbours, n);
	bwl_gen_close(&g);
}

static void maps_of_layout_1_are_taken_over(void **state)
{
	struct bwl_relayout x;
	struct bwlimit_test *s;
	struct bwl_pins *p;
	uint64_t lost, total;

	(void)state;
	begin();
	shares_are(256 / 3);
	assert_string_equal(host("eth " P1 "udp"), "pass");
	become_layout_1();
	shares_are(0);
	assert_true(is_refused());
	look(&x);
	assert_int_equal(x.layout, 1);
	assert_true(x.whole && x.changes);
	assert_int_equal(x.fate[BWL_PIN_evcnt], BWL_CHANGES);
	assert_int_equal(x.fate[BWL_PIN_ctl], BWL_STAYS);
	assert_int_equal(x.fate[BWL_PIN_base], BWL_STAYS);
	s = load_on(&x);
	assert_int_equal(stop_is(), BWL_RUN); /* nothing is touched until the programs are loaded */
	assert_string_equal(host("eth " P1 "udp"), "pass");
	assert_int_equal(bwl_relayout_replace(&x, rig->dir, s->obj, NULL), 0);
	assert_int_equal(stop_is(), BWL_UPGRADING);
	assert_string_equal(host("eth " P1 "udp"), "upgrade");
	shares_are(256 / 3);
	assert_true(is_refused()); /* of neither layout until the programs are replaced */
	assert_int_equal(bwl_pins_open_as(rig->dir, LAYOUT_1, &p, NULL), 0);
	assert_int_equal(bwl_relayout_finish(&x, NULL), 0);
	assert_false(is_refused());
	assert_string_equal(host("eth " P1 "udp"), "upgrade");
	bwl_relayout_release(p, BWL_RUN);
	assert_string_equal(host("eth " P1 "udp"), "pass");
	assert_int_equal(bwl_event_lost(p, &lost, &total, NULL), 0);
	assert_int_equal(lost, LOST);
	assert_int_equal(total, TOTAL);
	assert_int_equal(p->state[2 * id_of("a")].used_bytes, 3 * 64);
	bwl_pins_close(p);
	bwl_relayout_end(&x);
	bwlimit_test__destroy(s);
}

static void maps_of_layout_2_are_only_told_apart(void **state)
{
	struct bwl_relayout x;
	struct bwlimit_test *s;

	(void)state;
	begin();
	set_layout(LAYOUT_2);
	look(&x);
	assert_int_equal(x.layout, 2);
	assert_true(x.whole && !x.changes);
	s = load_on(&x);
	assert_int_equal(bwl_relayout_replace(&x, rig->dir, s->obj, NULL), 0);
	assert_int_equal(stop_is(), BWL_RUN);
	assert_string_equal(host("eth " P1 "udp"), "pass");
	assert_int_equal(bwl_relayout_finish(&x, NULL), 0);
	assert_false(is_refused());
	bwl_relayout_end(&x);
	bwlimit_test__destroy(s);
}

/* As a map of a later layout is missing in a set of an earlier one. */
static void a_map_that_is_new_comes_under_traffic(void **state)
{
	struct bwl_relayout x;
	struct bwlimit_test *s;
	char path[300];

	(void)state;
	begin();
	set_layout(LAYOUT_2);
	snprintf(path, sizeof(path), "%s/maps/%s", rig->dir, bwl_pin_name(BWL_PIN_lease));
	unlink(path);
	look(&x);
	assert_int_equal(x.fate[BWL_PIN_lease], BWL_COMES);
	assert_false(x.changes);
	s = load_on(&x);
	assert_int_equal(bwl_relayout_replace(&x, rig->dir, s->obj, NULL), 0);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(stop_is(), BWL_RUN);
	assert_string_equal(host("eth " P1 "udp"), "pass");
	assert_int_equal(bwl_relayout_finish(&x, NULL), 0);
	assert_false(is_refused());
	bwl_relayout_end(&x);
	bwlimit_test__destroy(s);
}

static void what_was_killed_is_gone_on_with(void **state)
{
	struct bwl_relayout x;
	struct bwlimit_test *s;
	struct bwl_pins *p;
	uint64_t lost, total;

	(void)state;
	begin();
	become_layout_1();
	look(&x);
	s = load_on(&x);
	assert_int_equal(bwl_relayout_replace(&x, rig->dir, s->obj, NULL), 0);
	bwl_relayout_end(&x);
	bwlimit_test__destroy(s);

	look(&x); /* another run: the map has been replaced, the layout's word not */
	assert_int_equal(x.layout, 1);
	assert_true(x.whole && !x.changes);
	assert_int_equal(x.fate[BWL_PIN_evcnt], BWL_STAYS);
	s = load_on(&x);
	assert_int_equal(bwl_relayout_replace(&x, rig->dir, s->obj, NULL), 0);
	assert_int_equal(stop_is(), BWL_UPGRADING);
	assert_int_equal(bwl_relayout_finish(&x, NULL), 0);
	assert_int_equal(bwl_pins_open(rig->dir, true, &p, NULL), 0);
	assert_int_equal(bwl_event_lost(p, &lost, &total, NULL), 0);
	assert_int_equal(lost, LOST);
	bwl_pins_close(p);
	bwl_relayout_end(&x);
	bwlimit_test__destroy(s);
}

static void what_a_hand_stopped_stays_stopped(void **state)
{
	struct bwl_relayout x;
	struct bwlimit_test *s;

	(void)state;
	begin();
	become_layout_1();
	rig->pins->ctl->stop = BWL_STOPPED;
	look(&x);
	s = load_on(&x);
	assert_int_equal(bwl_relayout_replace(&x, rig->dir, s->obj, NULL), 0);
	assert_int_equal(stop_is(), BWL_STOPPED);
	assert_int_equal(bwl_relayout_finish(&x, NULL), 0);
	bwl_relayout_release(rig->pins, BWL_RUN);
	assert_int_equal(stop_is(), BWL_STOPPED);
	assert_string_equal(host("eth " P1 "udp"), "stop");
	bwl_relayout_end(&x);
	bwlimit_test__destroy(s);
}

static void what_cannot_be_copied_goes_on_as_it_was(void **state)
{
	struct bwl_relayout x;
	struct bwlimit_test *s;
	int own, wrong;

	(void)state;
	begin();
	become_layout_1();
	look(&x);
	s = load_on(&x);
	own = x.fd[BWL_PIN_evcnt];
	wrong = x.fd[BWL_PIN_evcnt] = create(BPF_MAP_TYPE_HASH, 8, 8, 1, 0);
	assert_int_not_equal(bwl_relayout_replace(&x, rig->dir, s->obj, NULL), 0);
	assert_int_equal(stop_is(), BWL_RUN);
	assert_string_equal(host("eth " P1 "udp"), "pass");
	x.fd[BWL_PIN_evcnt] = own;
	close(wrong);
	bwl_relayout_end(&x);
	bwlimit_test__destroy(s);
}

static void refuses(const char *says)
{
	struct bwl_relayout x;
	struct bwl_err e = { 0 };
	int r = bwl_relayout_look(rig->dir, &x, &e);

	assert_int_equal(r, -EPROTO);
	if (!strstr(e.text, says))
		fail_msg("'%s' does not say '%s'", e.text, says);
	assert_string_not_equal(e.hint, "");
	bwl_relayout_end(&x);
}

static void other_layouts_are_refused(void **state)
{
	(void)state;
	set_layout(bwl_layout() + 1);
	refuses("which this program does not know");
	set_layout(LAYOUT_1);
	pin_over(BWL_PIN_evcnt, create(BPF_MAP_TYPE_PERCPU_ARRAY, 4, 32, 2, 0));
	refuses("bwl_evcnt_v1 is not of layout 1");
	set_layout(LAYOUT_2);
	refuses("bwl_evcnt_v1 is not of layout 2");
	pin_over(BWL_PIN_evcnt, create(BPF_MAP_TYPE_PERCPU_ARRAY, 4, 32, 1, 0));
	refuses("bwl_evcnt_v1 is not of layout 2");
}

static void a_set_that_is_not_whole_is_seen(void **state)
{
	struct bwl_relayout x;
	char path[300];

	(void)state;
	set_layout(LAYOUT_2);
	snprintf(path, sizeof(path), "%s/maps/%s", rig->dir, bwl_pin_name(BWL_PIN_state));
	unlink(path);
	look(&x);
	assert_int_equal(x.layout, 2);
	assert_false(x.whole);
	bwl_relayout_end(&x);
}

/* --- bwl_relayout_copy() */

static void an_array_grows_in_both_directions(void **state)
{
	int from = create(BPF_MAP_TYPE_ARRAY, 4, 12, 5, 0),
	    to = create(BPF_MAP_TYPE_ARRAY, 4, 20, 7, 0);
	uint32_t i, v[5], want[5];

	(void)state;
	for (i = 0; i < 5; i++) {
		uint32_t x[3] = { i, 100 + i, 200 + i };

		assert_int_equal(bpf_map_update_elem(from, &i, x, 0), 0);
	}
	assert_int_equal(bwl_relayout_copy(from, to, NULL), 0);
	for (i = 0; i < 7; i++) {
		memset(want, 0, sizeof(want));
		if (i < 5)
			memcpy(want, (uint32_t[]){ i, 100 + i, 200 + i }, 12);
		assert_int_equal(bpf_map_lookup_elem(to, &i, v), 0);
		assert_memory_equal(v, want, sizeof(v));
	}
	close(from);
	close(to);
}

static void every_cpu_keeps_its_counters(void **state)
{
	int from = create(BPF_MAP_TYPE_PERCPU_ARRAY, 4, 12, 2, 0);
	int to = create(BPF_MAP_TYPE_PERCPU_ARRAY, 4, 24, 3, 0), n = libbpf_num_possible_cpus(), c;
	uint32_t(*a)[4] = calloc((size_t)n, sizeof(*a)), (*b)[6] = calloc((size_t)n, sizeof(*b)), i;

	(void)state;
	assert_true(a && b);
	for (i = 0; i < 2; i++) {
		for (c = 0; c < n; c++)
			a[c][0] = a[c][2] = 10 * i + (uint32_t)c + 1;
		assert_int_equal(bpf_map_update_elem(from, &i, a, 0), 0);
	}
	assert_int_equal(bwl_relayout_copy(from, to, NULL), 0);
	for (i = 0; i < 3; i++) {
		assert_int_equal(bpf_map_lookup_elem(to, &i, b), 0);
		for (c = 0; c < n; c++) {
			assert_int_equal(b[c][2], i < 2 ? 10 * i + (uint32_t)c + 1 : 0);
			assert_int_equal(b[c][3], 0);
		}
	}
	free(a);
	free(b);
	close(from);
	close(to);
}

static void hashes_and_tries_keep_every_key(void **state)
{
	const struct {
		uint32_t type, flags;
	} kinds[] = {
		{ BPF_MAP_TYPE_HASH, BPF_F_NO_PREALLOC },
		{ BPF_MAP_TYPE_LPM_TRIE, BPF_F_NO_PREALLOC },
	};
	uint32_t i, k;

	(void)state;
	for (k = 0; k < 2; k++) {
		int from = create(kinds[k].type, 8, 4, 64, kinds[k].flags);
		int to = create(kinds[k].type, 8, 8, 64, kinds[k].flags);
		uint32_t v[2];

		for (i = 0; i < 33; i++) {
			uint32_t key[2] = { k ? i : 32, k ? 0 : i };

			assert_int_equal(bpf_map_update_elem(from, key, &i, 0), 0);
		}
		assert_int_equal(bwl_relayout_copy(from, to, NULL), 0);
		for (i = 0; i < 33; i++) {
			uint32_t key[2] = { k ? i : 32, k ? 0 : i };

			assert_int_equal(bpf_map_lookup_elem(to, key, v), 0);
			assert_int_equal(v[0], i);
			assert_int_equal(v[1], 0);
		}
		close(from);
		close(to);
	}
}

static int generations(uint32_t inner_value)
{
	int inner = create(BPF_MAP_TYPE_ARRAY, 4, inner_value, 1, BPF_F_MMAPABLE | BPF_F_INNER_MAP),
	    fd;
	LIBBPF_OPTS(bpf_map_create_opts, o, .inner_map_fd = (uint32_t)inner);

	fd = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "g", 4, 4, 2, &o);
	assert_true(fd >= 0);
	close(inner);
	return fd;
}

static void a_generation_is_copied_with_its_own_number_of_entries(void **state)
{
	const struct bwl_shape shape = { BPF_MAP_TYPE_ARRAY, BPF_F_MMAPABLE | BPF_F_INNER_MAP, 4,
					 16, 0 };
	int from = generations(8), to = generations(16), fd;
	struct bwl_shape have;
	uint32_t one = 1, zero = 0, id, i;
	uint64_t v[2];

	(void)state;
	fd = create(BPF_MAP_TYPE_ARRAY, 4, 8, 9, BPF_F_MMAPABLE | BPF_F_INNER_MAP);
	for (i = 0; i < 9; i++)
		assert_int_equal(bpf_map_update_elem(fd, &i, &(uint64_t){ 1000 + i }, 0), 0);
	assert_int_equal(bpf_map_update_elem(from, &one, &fd, 0), 0);
	close(fd);
	assert_int_equal(bwl_relayout_copy(from, to, NULL), -EINVAL);
	assert_int_equal(bwl_relayout_copy(from, to, &shape), 0);
	assert_int_not_equal(bpf_map_lookup_elem(to, &zero, &id), 0);
	assert_int_equal(bpf_map_lookup_elem(to, &one, &id), 0);
	fd = bpf_map_get_fd_by_id(id);
	assert_int_equal(bwl_shape_of(fd, &have), 0);
	assert_int_equal(have.value_bytes, 16);
	assert_int_equal(have.entries, 9);
	for (i = 0; i < 9; i++) {
		assert_int_equal(bpf_map_lookup_elem(fd, &i, v), 0);
		assert_int_equal(v[0], 1000 + i);
		assert_int_equal(v[1], 0);
	}
	close(fd);
	close(from);
	close(to);
}

static void what_has_other_keys_is_not_copied(void **state)
{
	int from = create(BPF_MAP_TYPE_HASH, 4, 8, 2, 0),
	    to = create(BPF_MAP_TYPE_HASH, 8, 8, 2, 0);

	(void)state;
	assert_int_equal(bwl_relayout_copy(from, to, NULL), -EINVAL);
	close(from);
	close(to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG_TEST(maps_of_layout_1_are_taken_over),
		RIG_TEST(maps_of_layout_2_are_only_told_apart),
		RIG_TEST(a_map_that_is_new_comes_under_traffic),
		RIG_TEST(what_was_killed_is_gone_on_with),
		RIG_TEST(what_a_hand_stopped_stays_stopped),
		RIG_TEST(what_cannot_be_copied_goes_on_as_it_was),
		RIG_TEST(other_layouts_are_refused),
		RIG_TEST(a_set_that_is_not_whole_is_seen),
		cmocka_unit_test(an_array_grows_in_both_directions),
		cmocka_unit_test(every_cpu_keeps_its_counters),
		cmocka_unit_test(hashes_and_tries_keep_every_key),
		cmocka_unit_test(a_generation_is_copied_with_its_own_number_of_entries),
		cmocka_unit_test(what_has_other_keys_is_not_copied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
