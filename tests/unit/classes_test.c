// SPDX-License-Identifier: GPL-2.0-or-later
#include "test.h"
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include "bwl/pins.h"
#include "bwl/policy.h"

struct table {
	uint8_t proto[256];
	uint8_t port[2][65536];
};

static struct table *table_of(const struct bwl_policy *p)
{
	struct table *t = test_malloc(sizeof(*t));

	bwl_class_table(p, t->proto, t->port);
	return t;
}

static void well_known_ports_have_their_class(void **state)
{
	static const struct {
		uint8_t row;
		uint16_t port;
		uint8_t class_;
	} want[] = {
		{ 1, 4791, BWL_C_ROCEV2 }, { 0, 4420, BWL_C_NVME_TCP }, { 0, 8009, BWL_C_NVME_TCP },
		{ 0, 2049, BWL_C_NFS },    { 1, 2049, BWL_C_NFS },      { 0, 20049, BWL_C_NFS },
		{ 1, 20049, BWL_C_NFS },   { 0, 3260, BWL_C_ISCSI },    { 0, 860, BWL_C_ISCSI },
		{ 0, 443, BWL_C_HTTPS },   { 1, 443, BWL_C_HTTPS },     { 0, 22, BWL_C_SSH },
		{ 0, 53, BWL_C_DNS },      { 1, 53, BWL_C_DNS },        { 0, 853, BWL_C_DNS },
	};
	struct bwl_policy *p = bwl_policy_new();
	struct table *t = table_of(p);
	size_t named = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++)
		assert_int_equal(t->port[want[i].row][want[i].port], want[i].class_);
	for (size_t i = 0; i < 65536; i++)
		named += (t->port[0][i] != BWL_C_OTHER) + (t->port[1][i] != BWL_C_OTHER);
	assert_int_equal(named, sizeof(want) / sizeof(*want));
	for (unsigned i = 0; i < 256; i++)
		assert_int_equal(t->proto[i], i == 1 || i == 58 ? BWL_C_ICMP : BWL_C_OTHER);
	test_free(t);
	bwl_policy_free(p);
}

static void services_of_a_policy_override_the_table(void **state)
{
	struct bwl_policy *p = bwl_policy_new();
	struct table *t;

	(void)state;
	p->services = calloc(4, sizeof(*p->services));
	p->services[p->nservices++] = (struct bwl_pol_service){ BWL_C_NVME_TCP, IPPROTO_TCP,
								65535 };
	p->services[p->nservices++] = (struct bwl_pol_service){ BWL_C_OTHER, IPPROTO_TCP, 443 };
	p->services[p->nservices++] = (struct bwl_pol_service){ BWL_C_SSH, IPPROTO_UDP, 22 };
	p->services[p->nservices++] = (struct bwl_pol_service){ BWL_C_NFS, IPPROTO_SCTP, 0 };
	t = table_of(p);
	assert_int_equal(t->port[0][65535], BWL_C_NVME_TCP);
	assert_int_equal(t->port[0][443], BWL_C_OTHER);
	assert_int_equal(t->port[1][443], BWL_C_HTTPS);
	assert_int_equal(t->port[1][22], BWL_C_SSH);
	assert_int_equal(t->proto[IPPROTO_SCTP], BWL_C_NFS);
	test_free(t);
	bwl_policy_free(p);
}

static void every_class_and_mode_reads_back_by_its_name(void **state)
{
	struct bwl_err e;
	uint8_t v;

	(void)state;
	for (unsigned i = 0; i < _BWL_CLASS_MAX; i++) {
		assert_int_equal(bwl_class_parse(bwl_class_name(i), &v, NULL), 0);
		assert_int_equal(v, i);
	}
	for (unsigned i = 0; i < _BWL_MODE_MAX; i++) {
		assert_int_equal(bwl_mode_parse(bwl_mode_name(i), &v, NULL), 0);
		assert_int_equal(v, i);
	}
	assert_int_not_equal(bwl_class_parse("http", &v, &e), 0);
	assert_non_null(strstr(e.text, "other, rocev2, cnp, nvme-tcp"));
	assert_int_not_equal(bwl_mode_parse("drop", &v, &e), 0);
	assert_non_null(strstr(e.text, "police, shape, mark or monitor"));
}

static void every_reason_and_event_has_words(void **state)
{
	(void)state;
	for (unsigned i = 0; i < _BWL_REASON_MAX; i++) {
		assert_true(strlen(bwl_reason_name(i)) > 0 && strlen(bwl_reason_text(i)) > 0);
		assert_non_null(bwl_reason_todo(i));
		for (unsigned j = 0; j < i; j++)
			assert_string_not_equal(bwl_reason_name(i), bwl_reason_name(j));
	}
	assert_string_equal(bwl_reason_name(BWL_R_PEER_RATE), "peer-rate");
	assert_true(bwl_reason_is_pass(BWL_R_PASS));
	assert_false(bwl_reason_is_pass(BWL_R_NONE));
	assert_false(bwl_reason_is_pass(_BWL_REASON_MAX));
	assert_string_equal(bwl_reason_name(_BWL_REASON_MAX), "unknown");
	assert_string_equal(bwl_event_name(BWL_E_SPOOF), "spoofed-source");
	assert_string_equal(bwl_event_name(_BWL_EVENT_MAX), "unknown");
	assert_string_equal(bwl_path_name(BWL_PATH_CLEAR), "clear");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(well_known_ports_have_their_class),
		cmocka_unit_test(services_of_a_policy_override_the_table),
		cmocka_unit_test(every_class_and_mode_reads_back_by_its_name),
		cmocka_unit_test(every_reason_and_event_has_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
