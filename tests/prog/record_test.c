// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Flow records of the real programs (maps/record.h): every packet of a peer is in one row or in a
 * remainder, and their sum is the growth of the peer's counter.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include "hammer.h"

static int recording(void **state)
{
	static const struct rig_opts o = { .records = true };

	(void)state;
	rig = rig_open(&o);
	runs = 0;
	return 0;
}
#define RECORD_TEST(f) cmocka_unit_test_setup_teardown(f, recording, rig_teardown)

#define FREE "grant: { rate: 10gbit, burst: 100mb } }\n"

/* What was recorded since the last call. */
static struct bwl_book turn(void)
{
	struct bwl_err e = { 0 };
	struct bwl_book b;
	uint32_t ended;

	assert_int_equal(bwl_rec_turn(&rig->rec, &ended, &e), 0);
	assert_int_equal(bwl_book_read(&rig->rec, ended, &b, &e), 0);
	return b;
}

static struct bwl_rec_sum counters(uint32_t id)
{
	struct bwl_peer_count each[MAX_THREADS * 64];
	struct bwl_rec_sum s = { 0 };
	int i;

	assert_true(rig->cpus <= MAX_THREADS * 64);
	assert_int_equal(bpf_map_lookup_elem(rig->pins->fd[BWL_PIN_peercnt], &id, each), 0);
	for (i = 0; i < rig->cpus; i++)
		bwl_rec_sum_add(&s,
				&(struct bwl_rec_sum){ each[i].frames, each[i].bytes,
						       each[i].drop_frames, each[i].drop_bytes });
	return s;
}

static void assert_same(const struct bwl_rec_sum *a, const struct bwl_rec_sum *b)
{
	assert_int_equal(a->frames, b->frames);
	assert_int_equal(a->bytes, b->bytes);
	assert_int_equal(a->drop_frames, b->drop_frames);
	assert_int_equal(a->drop_bytes, b->drop_bytes);
}

static struct bwl_rec_sum recorded(const struct bwl_book *b, uint32_t id)
{
	struct bwl_rec_sum s = { 0 };
	size_t i;

	for (i = 0; i < b->ncounts; i++)
		if (b->count[i].peer == id) {
			bwl_rec_sum_add(&s, &b->count[i].flows);
			bwl_rec_sum_add(&s, &b->count[i].rests);
			bwl_rec_sum_add(&s, &b->count[i].rest);
		}
	return s;
}

static void assert_balanced(const struct bwl_book *b)
{
	size_t i;

	for (i = 0; i < b->ncounts; i++)
		assert_true(bwl_book_balances(&b->count[i]));
}

static size_t of_kind(const struct bwl_book *b, unsigned kind)
{
	size_t n = 0, i;

	for (i = 0; i < b->nflows; i++)
		n += bwl_flow_kind(&b->flow[i]) == kind;
	return n;
}

static void each_flow_has_a_row_with_all_that_was_said_of_it(void **state)
{
	struct in6_addr to;
	struct bwl_book b;
	struct bwl_flow *f;

	(void)state;
	apply(HEAD "peers:\n" DEST("a", 1) FREE);
	rig_advance(RIG_SECOND);
	assert_string_equal(host(TO(1) "tcp sport=1000 dport=443 flags=2 fill=100"), "pass");
	rig_advance(RIG_SECOND);
	assert_string_equal(host(TO(1) "tcp sport=1000 dport=443 flags=17 fill=200"), "pass");
	assert_string_equal(host(TO(1) "udp sport=7 dport=9 fill=300"), "pass");
	b = turn();
	assert_int_equal(b.nflows, 2);
	assert_balanced(&b);
	f = &b.flow[bwl_flow_proto(&b.flow[0]) == IPPROTO_UDP];
	assert_int_equal(bwl_flow_proto(f), IPPROTO_TCP);
	assert_int_equal(f->key.ports, bwl_rec_ports(1000, 443, 0));
	assert_int_equal(bwl_flow_peer(f), id_of("a"));
	assert_int_equal(bwl_flow_reason(f), BWL_R_PASS);
	assert_int_equal(bwl_flow_class(f), BWL_C_HTTPS);
	assert_int_equal(bwl_flow_port(f), RIG_H0);
	assert_int_equal(inet_pton(AF_INET6, "::ffff:10.1.0.1", &to), 1);
	assert_memory_equal(f->key.daddr, &to, sizeof(to));
	assert_int_equal(f->frames, 2);
	assert_int_equal(f->bytes, 2 * 54 + 300);
	assert_int_equal(f->charged, f->bytes);
	assert_int_equal(f->tcp_flags, 2 | 17);
	assert_in_range(f->last_ns - f->first_ns, RIG_SECOND - 4000000, RIG_SECOND + 4000000);
	bwl_book_free(&b);
	/* the table of the interval before last is free again, and nothing is reported twice */
	b = turn();
	assert_int_equal(b.nflows, 0);
	bwl_book_free(&b);
	b = turn();
	assert_int_equal(b.nflows, 0);
	bwl_book_free(&b);
}

/* The last words of their addresses are equal, as are those of IPv4. */
static void flows_of_ipv6_are_told_apart_by_whole_addresses(void **state)
{
	static const char *const spec[] = {
		"eth ip6 src=fd00:7::a00:702 dst=fd00:1::a01:1 udp sport=7 dport=9",
		"eth ip6 src=fd00:7::a00:702 dst=fd00:1::1:a01:1 udp sport=7 dport=9",
		TO(1) "udp sport=7 dport=9",
	};
	struct bwl_book b;
	unsigned i, n;

	(void)state;
	apply(HEAD
	      "peers:\n"
	      "  - { name: a, addresses: [10.1.0.1, \"fd00:1::/64\"], path: clear, via: 192.0.2.1, via6: 2001:db8::1, " FREE);
	rig_advance(RIG_SECOND);
	for (n = 0; n < 2; n++)
		for (i = 0; i < 3; i++)
			host(spec[i]);
	b = turn();
	assert_balanced(&b);
	assert_int_equal(b.nflows, 3);
	for (i = 0; i < 3; i++) {
		assert_int_equal(b.flow[i].frames, 2);
		assert_int_equal(bwl_flow_kind(&b.flow[i]), BWL_REC_FLOW);
	}
	assert_int_equal(b.flow[0].key.daddr[3], b.flow[1].key.daddr[3]);
	bwl_book_free(&b);
}

/* RoCE's UDP source port is entropy: a flow is a queue pair. */
static void roce_is_told_apart_by_queue_pairs(void **state)
{
	struct bwl_book b;

	(void)state;
	apply(HEAD "peers:\n" DEST("a", 1) FREE);
	rig_advance(RIG_SECOND);
	host(TO(1) "udp sport=50000 dport=4791 hex=0a40ffff00000011 fill=100");
	host(TO(1) "udp sport=50001 dport=4791 hex=0a40ffff00000011 fill=100");
	host(TO(1) "udp sport=50001 dport=4791 hex=0a40ffff00000012 fill=100");
	b = turn();
	assert_int_equal(b.nflows, 2);
	assert_int_equal(b.flow[0].frames + b.flow[1].frames, 3);
	assert_int_equal(b.flow[0].key.ports ^ b.flow[1].key.ports, 0x300000000);
	assert_int_equal(b.flow[0].key.ports & 0xffffffff, bwl_rec_ports(0, 4791, 0));
	bwl_book_free(&b);
}

static void what_is_refused_has_its_reason_and_no_charge(void **state)
{
	const struct rig_packet k = { .spec = TO(1) "udp fill=1458" };
	struct bwl_rec_sum is, was;
	struct bwl_book b;
	size_t i;

	(void)state;
	apply(HEAD "peers:\n" DEST("small", 1) "grant: { rate: 1mbit, burst: 3000b } }\n");
	rig_advance(RIG_SECOND);
	was = counters(id_of("small"));
	for (i = 0; i < 20; i++) /* also by a note: bpf/lib/again.h */
		judge(&k, NULL);
	is = counters(id_of("small"));
	assert_int_equal(is.drop_frames, 19); /* a burst pays for its rounding */
	b = turn();
	assert_balanced(&b);
	is = recorded(&b, id_of("small"));
	assert_int_equal(was.frames, 0);
	was = counters(id_of("small"));
	assert_same(&is, &was);
	assert_int_equal(b.nflows, 2);
	for (i = 0; i < b.nflows; i++)
		if (bwl_flow_reason(&b.flow[i]) == BWL_R_PEER_RATE) {
			assert_int_equal(b.flow[i].frames, 19);
			assert_int_equal(b.flow[i].bytes, 19 * 1500);
			assert_int_equal(b.flow[i].charged, 0);
		}
	bwl_book_free(&b);
}

static void what_comes_from_a_peer_is_recorded_by_the_port_it_came_in_by(void **state)
{
	struct bwl_book b;

	(void)state;
	apply(HEAD "peers:\n" DEST("a", 1) "accept: { rate: 1gbit }, " FREE);
	rig_advance(RIG_SECOND);
	assert_string_equal(uplink("eth ip4 src=10.1.0.1 dst=10.0.7.2 tcp sport=5 dport=6"),
			    "pass-accept");
	b = turn();
	assert_int_equal(b.nflows, 1);
	assert_int_equal(bwl_flow_port(&b.flow[0]), RIG_P0);
	assert_int_equal(b.flow[0].key.ports, bwl_rec_ports(5, 6, 0));
	assert_balanced(&b);
	bwl_book_free(&b);
}

static void what_is_refused_on_arrival_counts_as_its_sender_was_charged(void **state)
{
	static const struct {
		const char *from;
		uint64_t headers; /* bytes of a segment's */
	} families[] = {
		{ "eth ip4 src=10.1.0.1 dst=10.0.7.2 tcp flags=0x10 sport=5 dport=6",
		  14 + 20 + 20 },
		{ "eth ip6 src=fd00:1::1 dst=fd00:7::2 tcp flags=0x10 sport=5 dport=6",
		  14 + 40 + 20 },
	};
	struct rig_packet k = { .prog = RIG_UPIN, .port = RIG_P0 };
	uint64_t refused = 0;
	struct bwl_rec_sum is;
	struct rig_result r;
	struct bwl_book b;
	char spec[128];
	size_t i;

	(void)state;
	apply(HEAD
	      "peers:\n"
	      "  - { name: a, addresses: [10.1.0.1, \"fd00:1::/64\"], path: clear, via: 192.0.2.1, via6: 2001:db8::1, accept: { rate: 8kbit, burst: 2000b }, " FREE);
	rig_advance(RIG_SECOND);
	for (i = 0; i < 2; i++)
		assert_string_equal(uplink(families[i].from), "pass-accept");
	/* Three segments of 1 000 bytes, merged: of the second and third the headers are gone. */
	k.gso_size = 1000;
	k.gso_segs = 3;
	k.spec = spec;
	for (i = 0; i < 2; i++) {
		snprintf(spec, sizeof(spec), "%s fill=3000", families[i].from);
		assert_string_equal(judge(&k, &r), "accept-rate");
		/* Of the port's reasons: as the hook saw it. */
		assert_int_equal(r.bytes, families[i].headers + 3000);
		refused += 3 * (families[i].headers + 1000);
	}
	is = counters(id_of("a"));
	assert_int_equal(is.drop_frames, 2);
	assert_int_equal(is.drop_bytes, refused);
	b = turn();
	assert_balanced(&b);
	assert_int_equal(b.nflows, 4);
	for (i = 0; i < b.nflows; i++) {
		if (bwl_flow_reason(&b.flow[i]) != BWL_R_ACCEPT_RATE)
			continue;
		refused -= b.flow[i].bytes;
		assert_int_equal(b.flow[i].charged, 0);
	}
	assert_int_equal(refused, 0);
	bwl_book_free(&b);
}

/* n flows to a peer, each with one packet and a different source port. */
static void spray(unsigned dest, unsigned n)
{
	char spec[128];
	unsigned i;

	for (i = 0; i < n; i++) {
		struct rig_packet k = { .spec = spec };

		snprintf(spec, sizeof(spec),
			 "eth ip4 src=10.0.7.2 dst=10.1.0.%u udp sport=%u dport=%u fill=100", dest,
			 30000 + i % 30000, 30000 + i / 30000);
		rig_fire(rig, &k, 1);
		runs++;
	}
}

static void flows_beyond_a_peers_part_are_its_remainder_and_no_other_peers(void **state)
{
	unsigned n = 10 * BWL_REC_ROWS;
	struct bwl_rec_sum is, want;
	struct bwl_book b;
	size_t i, rows = 0;

	(void)state;
	apply(HEAD "peers:\n" DEST("spray", 1) FREE DEST("quiet", 2) FREE);
	rig_advance(RIG_SECOND);
	spray(1, n);
	spray(2, 100);
	b = turn();
	assert_balanced(&b);
	assert_int_equal(of_kind(&b, BWL_REC_REST), 1);
	for (i = 0; i < b.nflows; i++) {
		if (bwl_flow_peer(&b.flow[i]) == id_of("quiet"))
			assert_int_equal(bwl_flow_kind(&b.flow[i]), BWL_REC_FLOW);
		else if (bwl_flow_kind(&b.flow[i]) == BWL_REC_FLOW)
			rows++;
		else
			assert_in_range(b.flow[i].frames,
					n - (unsigned)rig->cpus * BWL_REC_PEER_ROWS,
					n - BWL_REC_PEER_ROWS);
	}
	assert_in_range(rows, BWL_REC_PEER_ROWS / 2, (unsigned)rig->cpus * BWL_REC_PEER_ROWS);
	is = recorded(&b, id_of("spray"));
	want = counters(id_of("spray"));
	assert_same(&is, &want);
	assert_int_equal(is.frames, n);
	is = recorded(&b, id_of("quiet"));
	assert_int_equal(is.frames, 100);
	bwl_book_free(&b);
}

#define CROWD 3000

static int recording_a_crowd(void **state)
{
	static const struct rig_opts o = { .records = true, .max_peers = CROWD + 16 };

	(void)state;
	rig = rig_open(&o);
	runs = 0;
	return 0;
}

/* More peers on a CPU than it has entries for: the others are reported nevertheless. */
static void peers_beyond_the_table_are_in_the_sum_of_all(void **state)
{
	struct bwl_rec_sum is = { 0 }, want = { 0 }, one;
	char *text = NULL, spec[128];
	struct rig_packet k = { .spec = spec };
	struct bwl_book b;
	size_t size, j;
	unsigned i;
	FILE *f = open_memstream(&text, &size);

	(void)state;
	assert_non_null(f);
	stay_on_this_cpu(); /* two would have room for all of them */
	fputs(HEAD "peers:\n", f);
	for (i = 0; i < CROWD; i++)
		fprintf(f,
			"  - { name: p%u, addresses: [10.2.%u.%u], path: clear, via: 192.0.2.1, " FREE,
			i, i / 250, 1 + i % 250);
	fclose(f);
	apply("%s", text);
	free(text);
	rig_advance(RIG_SECOND);
	for (i = 0; i < CROWD; i++) {
		snprintf(spec, sizeof(spec), "eth ip4 src=10.0.7.2 dst=10.2.%u.%u udp fill=100",
			 i / 250, 1 + i % 250);
		rig_fire(rig, &k, 2);
		runs += 2;
	}
	b = turn();
	assert_balanced(&b);
	assert_true(b.ncounts <= (size_t)rig->cpus * BWL_REC_PEERS);
	for (j = 0; j < b.ncounts; j++) {
		bwl_rec_sum_add(&is, &b.count[j].flows);
		bwl_rec_sum_add(&is, &b.count[j].rests);
		bwl_rec_sum_add(&is, &b.count[j].rest);
	}
	assert_true(b.other.frames > 0);
	bwl_rec_sum_add(&is, &b.other);
	for (i = 1; i < CROWD + 16; i++) {
		one = counters(i);
		bwl_rec_sum_add(&want, &one);
	}
	assert_same(&is, &want);
	bwl_book_free(&b);
}

/*
 * Packets that interrupted the recording of another one on their CPU: they are under no peer's
 * name.
 */
static void the_sum_of_all_is_of_its_interval_whoever_asks(void **state)
{
	int fd = rig->rec.fd[BWL_REC_CPU];
	struct bwl_rec_cpu all[MAX_THREADS * 64] = { 0 };
	struct bwl_err e = { 0 };
	struct bwl_book b;
	uint32_t cpu;
	int i;

	(void)state;
	apply(HEAD "peers:\n" DEST("a", 1) FREE);
	rig_advance(RIG_SECOND);
	for (i = 0; i < 4; i++) { /* in both banks */
		for (cpu = 0; cpu < rig->rec.ncpus; cpu++) {
			assert_int_equal(bpf_map_lookup_elem(fd, &cpu, &all[cpu]), 0);
			all[cpu].busy = 1;
			assert_int_equal(bpf_map_update_elem(fd, &cpu, &all[cpu], 0), 0);
		}
		host(TO(1) "udp sport=1 dport=2");
		if (i == 2) { /* after a restart it reads what it needs from the tables */
			struct bwl_rec was = rig->rec;

			assert_int_equal(bwl_rec_map(was.fd, &rig->rec, &e), 0);
			bwl_rec_close(&was);
			fd = rig->rec.fd[BWL_REC_CPU];
		}
		b = turn();
		assert_true(b.other_known);
		assert_int_equal(b.other.frames, 1);
		assert_int_equal(b.ncounts, 0);
		bwl_book_free(&b);
	}
}

/* Two CPUs, while one interval after the other ends: nothing is lost, nothing is reported twice. */
static void intervals_that_end_under_traffic_add_up_to_the_counters(void **state)
{
	static const char *const spec[] = { TO(1) "udp sport=1 fill=958",
					    TO(2) "udp sport=2 fill=58" };
	struct bwl_rec_sum sum[2] = { 0 }, last[2][MAX_THREADS * 64] = { 0 }, now;
	const char *const names[] = { "a", "b" };
	unsigned i, k, seen = 0;
	struct bwl_book b;
	size_t j;

	(void)state;
	apply(HEAD "peers:\n" DEST("a", 1) FREE DEST("b", 2) FREE);
	rig_advance(RIG_SECOND);
	hammers_start(spec, 2);
	for (i = 0; i < 300; i++) {
		rig_advance(1000000);
		if (i == 299)
			hammers_stop();
		b = turn();
		assert_balanced(&b);
		assert_int_equal(b.other.frames + b.other.drop_frames, 0);
		for (k = 0; k < 2; k++) {
			now = recorded(&b, id_of(names[k]));
			bwl_rec_sum_add(&sum[k], &now);
			seen += now.frames + now.drop_frames > 0;
		}
		/* each continues where the CPU's last one ended */
		for (j = 0; j < b.ncounts; j++) {
			k = b.count[j].peer == id_of("b");
			assert_same(&b.count[j].before, &last[k][b.count[j].cpu]);
			last[k][b.count[j].cpu] = b.count[j].after;
		}
		bwl_book_free(&b);
	}
	assert_true(seen > 100);
	for (k = 0; k < 2; k++) {
		now = counters(id_of(names[k]));
		assert_same(&sum[k], &now);
	}
}

/* Under the next policy an id may be another peer's. */
static void what_two_policies_say_of_a_peer_is_kept_apart(void **state)
{
	struct bwl_book b;

	(void)state;
	apply(HEAD "peers:\n" DEST("a", 1) FREE);
	rig_advance(RIG_SECOND);
	host(TO(1) "udp sport=1 dport=2");
	apply(HEAD "peers:\n" DEST("a", 1) FREE DEST("b", 2) FREE);
	rig_advance(RIG_SECOND);
	host(TO(1) "udp sport=1 dport=2");
	b = turn();
	assert_int_equal(b.nflows, 2);
	assert_int_not_equal(b.flow[1].key.who >> 32, b.flow[0].key.who >> 32);
	bwl_book_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		RECORD_TEST(each_flow_has_a_row_with_all_that_was_said_of_it),
		RECORD_TEST(flows_of_ipv6_are_told_apart_by_whole_addresses),
		RECORD_TEST(roce_is_told_apart_by_queue_pairs),
		RECORD_TEST(what_is_refused_has_its_reason_and_no_charge),
		RECORD_TEST(what_comes_from_a_peer_is_recorded_by_the_port_it_came_in_by),
		RECORD_TEST(what_is_refused_on_arrival_counts_as_its_sender_was_charged),
		RECORD_TEST(flows_beyond_a_peers_part_are_its_remainder_and_no_other_peers),
		cmocka_unit_test_setup_teardown(peers_beyond_the_table_are_in_the_sum_of_all,
						recording_a_crowd, rig_teardown),
		RECORD_TEST(the_sum_of_all_is_of_its_interval_whoever_asks),
		RECORD_TEST(intervals_that_end_under_traffic_add_up_to_the_counters),
		RECORD_TEST(what_two_policies_say_of_a_peer_is_kept_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
