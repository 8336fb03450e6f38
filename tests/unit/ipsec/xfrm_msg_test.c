// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Messages of XFRM's netlink as Linux 6.12 sent them (tests/fuzz/xfrm.seeds, recorded with
 * bwl-xfrm) for these commands, keys left out:
 *
 *   ip xfrm state add src 192.0.2.1 dst 192.0.2.2 proto esp spi 0x1001 reqid 5 mode tunnel if_id 7
 *     aead 'rfc4106(gcm(aes))' … 128 replay-window 64 flag esn limit byte-hard 1000000
 *     limit time-hard 3600 limit time-soft 3000
 *   ip xfrm state add src 2001:db8::2 dst 2001:db8::1 proto esp spi 0x2001 reqid 5 mode tunnel
 *     if_id 7 enc 'cbc(aes)' … auth-trunc 'hmac(sha256)' … 128 encap espinudp 4500 4500 ::
 *     mark 0x10 mask 0xff
 *   ip xfrm policy add dir out src 10.0.1.0/24 dst 0.0.0.0/0 if_id 7 priority 42
 *     tmpl src 192.0.2.1 dst 192.0.2.2 proto esp reqid 5 mode tunnel
 *   ip xfrm policy add dir in src ::/0 dst ::/0 if_id 7 action block
 *   ip xfrm state allocspi src 192.0.2.2 dst 192.0.2.1 proto esp mode tunnel min 0x3001 max 0x3001
 *
 * and as events also: policy delete (out), state delete 0x2001, an SA with time-hard 1, state
 * flush, policy flush.
 */
#include "test.h"
#include <libmnl/libmnl.h>
#include <linux/xfrm.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ipsec/xfrm.h"

struct file {
	uint32_t buf[4096];
	int left;
	struct nlmsghdr *h;
};

static void open_file(struct file *f, const char *name)
{
	char path[512];
	FILE *in;

	snprintf(path, sizeof(path), BWL_SOURCE "/tests/fuzz/xfrm.seeds/%s", name);
	in = fopen(path, "rb");
	assert_non_null(in);
	f->left = (int)fread(f->buf, 1, sizeof(f->buf), in);
	fclose(in);
	assert_in_range(f->left, 16, sizeof(f->buf) - 1);
	f->h = (struct nlmsghdr *)f->buf;
}

static struct nlmsghdr *next(struct file *f)
{
	struct nlmsghdr *h = f->h;

	assert_true(mnl_nlmsg_ok(h, f->left));
	f->h = mnl_nlmsg_next(h, &f->left);
	return h;
}

static struct bwl_xfrm_msg decode(struct file *f)
{
	struct bwl_xfrm_msg m;

	assert_int_equal(bwl_xfrm_decode(next(f), &m, NULL), 0);
	return m;
}

static void is_addr(const struct bwl_xfrm_addr *x, const char *text)
{
	char buf[BWL_XFRM_ADDR_BUF];

	assert_string_equal(bwl_xfrm_addr_text(x, buf), text);
}

static void is_gcm(const struct bwl_xfrm_sa *sa)
{
	is_addr(&sa->src, "192.0.2.1");
	is_addr(&sa->dst, "192.0.2.2");
	assert_int_equal(sa->spi, htonl(0x1001));
	assert_int_equal(sa->if_id, 7);
	assert_int_equal(sa->peer, 7);
	assert_int_equal(sa->reqid, 5);
	assert_int_equal(sa->proto, IPPROTO_ESP);
	assert_int_equal(sa->mode, XFRM_MODE_TUNNEL);
	assert_true(sa->keyed && sa->encrypts && sa->authenticates && sa->esn && !sa->udp);
	assert_string_equal(sa->alg, "rfc4106(gcm(aes))");
	/* 20 IPv4, 8 SPI and number, 8 IV, 3 padding, 2 trailer, 16 ICV */
	assert_int_equal(sa->overhead, 57);
	assert_int_equal(sa->offload, BWL_OFFLOAD_NONE);
	assert_int_equal(sa->dir, BWL_XFRM_DIR_UNKNOWN);
	assert_int_equal(sa->life.hard_bytes, 1000000);
	assert_int_equal(sa->life.soft_bytes, BWL_XFRM_INF);
	assert_int_equal(sa->life.hard_add, 3600);
	assert_int_equal(sa->life.soft_add, 3000);
	assert_in_range(sa->life.add_s, 1700000000, 2000000000);
	assert_int_equal(sa->life.use_s, 0);
}

static void is_cbc(const struct bwl_xfrm_sa *sa)
{
	is_addr(&sa->src, "2001:db8::2");
	is_addr(&sa->dst, "2001:db8::1");
	assert_int_equal(sa->spi, htonl(0x2001));
	assert_int_equal(sa->if_id, 7);
	assert_true(sa->keyed && sa->encrypts && sa->authenticates && sa->udp && !sa->esn);
	assert_string_equal(sa->alg, "cbc(aes)");
	/* 40 IPv6, 8 UDP, 8 SPI and number, 16 IV, 15 padding, 2 trailer, 16 ICV */
	assert_int_equal(sa->overhead, 105);
	assert_int_equal(sa->mark.v, 0x10);
	assert_int_equal(sa->mark.m, 0xff);
}

static void is_out(const struct bwl_xfrm_policy *p)
{
	assert_int_equal(p->dir, BWL_XFRM_OUT);
	assert_int_equal(p->if_id, 7);
	assert_int_equal(p->priority, 42);
	assert_false(p->block || p->sel_all);
	is_addr(&p->sel_src, "10.0.1.0");
	assert_int_equal(p->sel_src_len, 24);
	assert_int_equal(p->sel_dst_len, 0);
	assert_int_equal(p->ntmpl, 1);
	is_addr(&p->tmpl.src, "192.0.2.1");
	is_addr(&p->tmpl.dst, "192.0.2.2");
	assert_int_equal(p->tmpl.proto, IPPROTO_ESP);
	assert_int_equal(p->tmpl.mode, XFRM_MODE_TUNNEL);
	assert_int_equal(p->tmpl.reqid, 5);
	assert_int_equal(p->tmpl.spi, 0);
	assert_false(p->tmpl.optional);
	assert_int_equal(p->offload, BWL_OFFLOAD_NONE);
}

static void is_block(const struct bwl_xfrm_policy *p)
{
	assert_int_equal(p->dir, BWL_XFRM_IN);
	assert_int_equal(p->if_id, 7);
	assert_true(p->block && p->sel_all);
	assert_int_equal(p->sel_src.family, AF_INET6);
	assert_int_equal(p->ntmpl, 0);
}

static void reads_the_sas_of_a_dump(void **state)
{
	struct bwl_xfrm_msg m;
	struct file f;

	(void)state;
	open_file(&f, "sas");
	m = decode(&f);
	assert_int_equal(m.kind, BWL_XFRM_SA);
	assert_int_equal(m.sa.spi, htonl(0x3001));
	assert_false(m.sa.keyed || m.sa.encrypts || m.sa.authenticates);
	m = decode(&f);
	assert_int_equal(m.kind, BWL_XFRM_SA);
	is_cbc(&m.sa);
	m = decode(&f);
	assert_int_equal(m.kind, BWL_XFRM_SA);
	is_gcm(&m.sa);
	assert_int_equal(f.left, 0);
}

static void reads_the_policies_of_a_dump(void **state)
{
	struct bwl_xfrm_msg m;
	struct file f;

	(void)state;
	open_file(&f, "policies");
	m = decode(&f);
	assert_int_equal(m.kind, BWL_XFRM_POLICY);
	is_block(&m.policy);
	m = decode(&f);
	assert_int_equal(m.kind, BWL_XFRM_POLICY);
	is_out(&m.policy);
	assert_int_equal(f.left, 0);
}

static void reads_news(void **state)
{
	struct bwl_xfrm_msg m, out;
	struct file f;

	(void)state;
	open_file(&f, "news");
	m = decode(&f);
	assert_int_equal(m.kind, BWL_XFRM_SA);
	is_gcm(&m.sa);
	m = decode(&f);
	assert_int_equal(m.kind, BWL_XFRM_SA);
	is_cbc(&m.sa);
	out = decode(&f);
	assert_int_equal(out.kind, BWL_XFRM_POLICY);
	is_out(&out.policy);
	m = decode(&f);
	assert_int_equal(m.kind, BWL_XFRM_POLICY);
	is_block(&m.policy);
	m = decode(&f);
	assert_int_equal(m.kind, BWL_XFRM_POLICY_GONE);
	is_out(&m.policy);
	assert_int_equal(m.policy.index, out.policy.index);
	m = decode(&f);
	assert_int_equal(m.kind, BWL_XFRM_SA_GONE);
	is_cbc(&m.sa);
	m = decode(&f);
	assert_int_equal(m.kind, BWL_XFRM_SA);
	assert_int_equal(m.sa.spi, htonl(0x1002));
	m = decode(&f);
	assert_int_equal(m.kind, BWL_XFRM_SA_GONE); /* expired */
	assert_int_equal(m.sa.spi, htonl(0x1002));
	assert_int_equal(m.sa.if_id, 7);
	m = decode(&f);
	assert_int_equal(m.kind, BWL_XFRM_SA_FLUSH);
	assert_int_equal(m.proto, 0);
	assert_int_equal(decode(&f).kind, BWL_XFRM_POLICY_FLUSH);
	assert_int_equal(f.left, 0);
}

/* The recorded message of that type, in memory that ends where the message ends. */
static struct nlmsghdr *copy_of(const char *file, uint16_t type, size_t more)
{
	struct nlmsghdr *h, *copy;
	struct file f;

	open_file(&f, file);
	do
		h = next(&f);
	while (h->nlmsg_type != type);
	copy = calloc(1, h->nlmsg_len + more);
	assert_non_null(copy);
	memcpy(copy, h, h->nlmsg_len);
	return copy;
}

static void an_end_that_is_only_announced_changes_nothing(void **state)
{
	struct nlmsghdr *h = copy_of("news", XFRM_MSG_EXPIRE, 0);
	struct bwl_xfrm_msg m;

	(void)state;
	((struct xfrm_user_expire *)mnl_nlmsg_get_payload(h))->hard = 0;
	assert_int_equal(bwl_xfrm_decode(h, &m, NULL), 0);
	assert_int_equal(m.kind, BWL_XFRM_OTHER);
	free(h);
}

static void put(struct nlmsghdr *h, uint16_t type, const void *data, size_t len)
{
	mnl_attr_put(h, type, len, data);
}

static void tells_what_a_device_does(void **state)
{
	static const struct {
		uint8_t flags, offload, dir;
	} cases[] = {
		{ 0, BWL_OFFLOAD_CRYPTO, BWL_XFRM_OUT },
		{ XFRM_OFFLOAD_INBOUND | XFRM_OFFLOAD_IPV6, BWL_OFFLOAD_CRYPTO, BWL_XFRM_IN },
		{ 4, BWL_OFFLOAD_PACKET, BWL_XFRM_OUT },
		{ 4 | XFRM_OFFLOAD_INBOUND, BWL_OFFLOAD_PACKET, BWL_XFRM_IN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct nlmsghdr *h = copy_of("news", XFRM_MSG_NEWSA, 64);
		struct xfrm_user_offload o = { .ifindex = 9, .flags = cases[i].flags };
		struct bwl_xfrm_msg m;

		put(h, XFRMA_OFFLOAD_DEV, &o, sizeof(o));
		assert_int_equal(bwl_xfrm_decode(h, &m, NULL), 0);
		assert_int_equal(m.sa.offload, cases[i].offload);
		assert_int_equal(m.sa.dir, cases[i].dir);
		assert_int_equal(m.sa.offload_ifindex, 9);
		free(h);
	}
}

static void a_direction_that_the_kernel_tells_is_read(void **state)
{
	struct nlmsghdr *h;
	struct bwl_xfrm_msg m;

	(void)state;
	for (uint8_t dir = 1; dir <= 2; dir++) {
		h = copy_of("news", XFRM_MSG_NEWSA, 64);
		put(h, 33, &dir, 1); /* XFRMA_SA_DIR */
		assert_int_equal(bwl_xfrm_decode(h, &m, NULL), 0);
		assert_int_equal(m.sa.dir, dir == 1 ? BWL_XFRM_IN : BWL_XFRM_OUT);
		free(h);
	}
}

/* Replaces the cipher's name in the recorded SA. */
static void ciphers_that_hide_nothing_have_names(void **state)
{
	static const struct {
		const char *name;
		bool encrypts;
		unsigned overhead;
	} cases[] = {
		{ "rfc4543(gcm(aes))", false, 57 },
		{ "ecb(cipher_null)", false, 49 },
		{ "rfc7539esp(chacha20,poly1305)", true, 57 },
		{ "something(new)", true, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct nlmsghdr *h = copy_of("news", XFRM_MSG_NEWSA, 0);
		char *at = memmem(h, h->nlmsg_len, "rfc4106(gcm(aes))", 17);
		struct bwl_xfrm_msg m;

		assert_non_null(at);
		memset(at, 0, 64);
		memcpy(at, cases[i].name, strlen(cases[i].name));
		assert_int_equal(bwl_xfrm_decode(h, &m, NULL), 0);
		assert_true(m.sa.keyed);
		assert_int_equal(m.sa.encrypts, cases[i].encrypts);
		assert_int_equal(m.sa.overhead, cases[i].overhead);
		free(h);
	}
}

static void a_name_without_an_end_is_cut(void **state)
{
	struct nlmsghdr *h = copy_of("news", XFRM_MSG_NEWSA, 0);
	char *at = memmem(h, h->nlmsg_len, "rfc4106(gcm(aes))", 17);
	struct bwl_xfrm_msg m;

	(void)state;
	memset(at, 'x', 64);
	assert_int_equal(bwl_xfrm_decode(h, &m, NULL), 0);
	assert_int_equal(strlen(m.sa.alg), 63);
	free(h);
}

/* Each recorded message, truncated at each byte, is refused or read as a shorter one. */
static void what_is_cut_off_is_refused_or_says_less(void **state)
{
	static const char *const files[] = { "sas", "policies", "news" };
	unsigned refused = 0;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct file f;

		open_file(&f, files[i]);
		while (mnl_nlmsg_ok(f.h, f.left)) {
			const struct nlmsghdr *whole = next(&f);

			for (uint32_t len = 16; len < whole->nlmsg_len; len++) {
				struct nlmsghdr *h = malloc(len);
				struct bwl_err e = { 0 };
				struct bwl_xfrm_msg m;
				int r;

				memcpy(h, whole, len);
				h->nlmsg_len = len;
				r = bwl_xfrm_decode(h, &m, &e);
				assert_true(!r || (r == -EBADMSG && *e.text && !m.kind));
				refused += r != 0;
				assert_true(r || m.kind != BWL_XFRM_SA || !m.sa.encrypts ||
					    !strcmp(m.sa.alg, "cbc(aes)") ||
					    !strcmp(m.sa.alg, "rfc4106(gcm(aes))"));
				free(h);
			}
		}
	}
	assert_in_range(refused, 1000, 100000);
}

static void a_migration_asks_for_a_dump(void **state)
{
	struct nlmsghdr h = { .nlmsg_len = sizeof(h), .nlmsg_type = XFRM_MSG_MIGRATE };
	struct bwl_xfrm_msg m;

	(void)state;
	assert_int_equal(bwl_xfrm_decode(&h, &m, NULL), 0);
	assert_int_equal(m.kind, BWL_XFRM_UNCLEAR);
	h.nlmsg_type = XFRM_MSG_ACQUIRE;
	assert_int_equal(bwl_xfrm_decode(&h, &m, NULL), 0);
	assert_int_equal(m.kind, BWL_XFRM_OTHER);
}

/* An SA of the dump, as on a plain interface, with one more attribute. */
static struct bwl_xfrm_msg on_plain(unsigned type, const void *data, size_t len)
{
	static uint32_t buf[1024];
	struct nlmsghdr *h = (struct nlmsghdr *)buf;
	struct bwl_xfrm_msg m;
	struct nlattr *a;
	struct file f;

	open_file(&f, "sas");
	next(&f);
	next(&f);
	h = memcpy(buf, f.h, f.h->nlmsg_len); /* the SA without a mark */
	mnl_attr_for_each(a, h, sizeof(struct xfrm_usersa_info)) if (mnl_attr_get_type(a) ==
								     XFRMA_IF_ID) *
		(uint32_t *)mnl_attr_get_payload(a) = BWL_TUN_IF_ID;
	if (type)
		mnl_attr_put(h, (uint16_t)type, len, data);
	assert_int_equal(bwl_xfrm_decode(h, &m, NULL), 0);
	assert_int_equal(m.sa.if_id, BWL_TUN_IF_ID);
	return m;
}

static void on_a_plain_interface_the_marks_say_whose_it_is(void **state)
{
	struct xfrm_mark match = { 12, BWL_MARK_ID };
	uint32_t set = 13;

	(void)state;
	assert_int_equal(on_plain(0, NULL, 0).sa.peer, 0);
	assert_int_equal(on_plain(XFRMA_MARK, &match, sizeof(match)).sa.peer, 12);
	assert_int_equal(on_plain(XFRMA_SET_MARK, &set, sizeof(set)).sa.peer, 13);
	set |= ~BWL_MARK_ID;
	assert_int_equal(on_plain(XFRMA_SET_MARK, &set, sizeof(set)).sa.peer, 13);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_the_sas_of_a_dump),
		cmocka_unit_test(reads_the_policies_of_a_dump),
		cmocka_unit_test(reads_news),
		cmocka_unit_test(an_end_that_is_only_announced_changes_nothing),
		cmocka_unit_test(tells_what_a_device_does),
		cmocka_unit_test(a_direction_that_the_kernel_tells_is_read),
		cmocka_unit_test(ciphers_that_hide_nothing_have_names),
		cmocka_unit_test(on_a_plain_interface_the_marks_say_whose_it_is),
		cmocka_unit_test(a_name_without_an_end_is_cut),
		cmocka_unit_test(what_is_cut_off_is_refused_or_says_less),
		cmocka_unit_test(a_migration_asks_for_a_dump),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
