// SPDX-License-Identifier: GPL-2.0-or-later
/* When each tray is asked, with the test's own clock and transport. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fleet/model/pull.h"
#include "../test.h"

#define TRAYS 1000

/* Each answer takes a tenth of a second; trays whose name ends in 7 never answer. */
static struct {
	struct one {
		char tray[BWL_DOC_NAME_MAX], path[64];
		uint64_t end_ns;
	} way[2 * PULL_AT_ONCE];
	unsigned n, most, asked[TRAYS], exfil[TRAYS];
	uint64_t now_ns, last_ns[TRAYS];
	struct one told;
} net;

static int begin(void *arg, const char *tray, const char *at, const char *path, struct bwl_err *e)
{
	unsigned i = (unsigned)atoi(tray + 1);

	(void)arg;
	(void)e;
	assert_string_equal(at, "10.0.0.1:7443");
	for (unsigned k = 0; k < net.n; k++)
		assert_string_not_equal(net.way[k].tray, tray);
	snprintf(net.way[net.n].tray, sizeof(net.way[0].tray), "%s", tray);
	snprintf(net.way[net.n].path, sizeof(net.way[0].path), "%s", path);
	net.way[net.n++].end_ns = net.now_ns + PULL_S / 10;
	net.most = net.n > net.most ? net.n : net.most;
	net.asked[i]++;
	net.exfil[i] += strstr(path, "exfil") != NULL;
	net.last_ns[i] = net.now_ns;
	return 0;
}

static const char *answer_to(const char *path)
{
	static char exfil[8192] = "";

	if (strstr(path, "top"))
		return "{\"kind\": \"top\", \"peers\": []}";
	if (strstr(path, "usage"))
		return "{\"kind\": \"usage\", \"volumes\": []}";
	if (strstr(path, "reasons"))
		return "{\"kind\": \"reasons\", \"reasons\": []}";
	if (!*exfil) {
		strcpy(exfil, "{\"kind\": \"exfil\", \"curve_bytes\": [0");
		for (unsigned i = 1; i < BWL_EXFIL_POINTS; i++)
			strcat(exfil, ",0");
		strcat(exfil, "]}");
	}
	return exfil;
}

static bool next(void *arg, struct pull_got *got)
{
	static struct bwl_err why = { .code = EHOSTUNREACH, .text = "nobody is there" };

	(void)arg;
	for (unsigned k = 0; k < net.n; k++) {
		if (net.way[k].end_ns > net.now_ns)
			continue;
		net.told = net.way[k];
		net.way[k] = net.way[--net.n];
		*got = (struct pull_got){ .tray = net.told.tray, .why = &why };
		if (net.told.tray[strlen(net.told.tray) - 1] != '7') {
			got->text = answer_to(net.told.path);
			got->len = strlen(got->text);
		}
		return true;
	}
	return false;
}

static uint32_t chance(void)
{
	static uint32_t n = 1;

	n = n * 1664525 + 1013904223;
	return n >> 8;
}

static const struct pull_transport transport = { .begin = begin, .next = next };

static void a_fleet_is_asked_evenly_and_who_does_not_answer_seldom(void **state)
{
	struct model_set s = { 0 };
	struct pull p = { .set = &s, .transport = &transport, .chance = chance };
	char name[16];

	(void)state;
	net.now_ns = 5 * PULL_S;
	for (unsigned i = 0; i < TRAYS; i++) {
		struct model_tray *t;

		snprintf(name, sizeof(name), "t%u", i);
		t = model_tray_add(&s, name, strlen(name));
		t->seen = t->alive = true;
		if (i)
			strcpy(t->at, "10.0.0.1:7443");
	}
	/* An hour. */
	while (net.now_ns < 3605 * PULL_S) {
		uint64_t next_ns = pull_step(&p, net.now_ns, 0);

		assert_true(next_ns >= net.now_ns && p.running <= PULL_AT_ONCE);
		net.now_ns += PULL_S / 20;
	}
	assert_int_equal(net.most, PULL_AT_ONCE);
	assert_int_equal(net.asked[0], 0); /* it has no address */
	for (unsigned i = 1; i < TRAYS; i++) {
		if (i % 10 == 7) {
			assert_in_range(net.asked[i], 10, 20);
			continue;
		}
		/* Three documents per round; a round every 30 s plus the time that it takes. */
		assert_in_range(net.asked[i], 3 * 100, 4 * 135);
		assert_in_range(net.exfil[i], 5, 7);
		assert_true(net.now_ns - net.last_ns[i] < 40 * PULL_S);
	}
	/* Requests are spread: some in each of the last ten seconds. */
	for (unsigned second = 0; second < 10; second++) {
		unsigned n = 0;

		for (unsigned i = 1; i < TRAYS; i++)
			n += (net.now_ns - net.last_ns[i]) / PULL_S == second;
		assert_true(n > 5);
	}
	model_set_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fleet_is_asked_evenly_and_who_does_not_answer_seldom),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
