// SPDX-License-Identifier: GPL-2.0-or-later
/* Exactly what a new policy would change. */
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "diff.h"

#define NOW 1000000000000ULL

static const char base[] = "version: 1\n"
			   "node: tray-7\n"
			   "uplinks: [p0, p1]\n"
			   "host_ports:\n"
			   "  - { dev: hpf0, sources: [10.7.0.0/24, 10.8.0.0/24] }\n"
			   "heartbeat: 60s\n"
			   "zones:\n"
			   "  external: { rate: 100mbit }\n"
			   "peers:\n"
			   "  - name: a\n"
			   "    addresses: [10.1.0.0/24, 10.2.0.0/24]\n"
			   "    path: clear\n"
			   "    via: 192.0.2.1\n"
			   "    zone: external\n"
			   "    grant: { rate: 10mbit, volume: 1gb per 1d, mode: police }\n"
			   "  - name: b\n"
			   "    addresses: [10.3.0.0/24]\n"
			   "    path: clear\n"
			   "    via: 192.0.2.1\n"
			   "    grant: { rate: 1mbit, mode: police }\n";

static struct bwl_policy *parse(const char *text)
{
	struct bwl_policy *p = NULL;
	struct bwl_err e = { 0 };

	if (bwl_policy_parse("test", text, strlen(text), NOW, 1700000000, &p, &e))
		fail_msg("%u: %s", e.line, e.text);
	return p;
}

/* The base with one text replaced by another. */
static struct bwl_policy *variant(const char *from, const char *to)
{
	const char *at = strstr(base, from);
	struct bwl_policy *p;
	char *text;

	assert_non_null(at);
	assert_true(asprintf(&text, "%.*s%s%s", (int)(at - base), base, to, at + strlen(from)) > 0);
	p = parse(text);
	free(text);
	return p;
}

static json_t *diff(struct bwl_policy *a, struct bwl_policy *b)
{
	json_t *d = ctl_diff(a, b, NOW);

	bwl_policy_free(a);
	bwl_policy_free(b);
	return d;
}

static size_t count(json_t *d, const char *kind)
{
	return json_array_size(json_object_get(d, kind));
}

static void assert_field(json_t *fields, size_t i, const char *field, const char *from,
			 const char *to)
{
	json_t *o = json_array_get(fields, i);
	const char *was = json_string_value(json_object_get(o, "from"));
	const char *is = json_string_value(json_object_get(o, "to"));

	assert_non_null(o);
	assert_string_equal(json_string_value(json_object_get(o, "field")), field);
	assert_string_equal(was ? was : "(none)", from);
	assert_string_equal(is ? is : "(none)", to);
}

static void the_same_policy_has_no_difference(void **state)
{
	json_t *d = diff(parse(base), parse(base));

	(void)state;
	assert_true(json_is_false(json_object_get(d, "changed")));
	json_decref(d);
}

static void order_and_written_defaults_are_no_difference(void **state)
{
	static const char *const same[][2] = {
		{ "[10.1.0.0/24, 10.2.0.0/24]", "[10.2.0.0/24, 10.1.0.0/24]" },
		{ "[10.7.0.0/24, 10.8.0.0/24]", "[10.8.0.0/24, 10.7.0.0/24]" },
		{ "rate: 10mbit", "rate: 10000kbit" },
		{ "1gb per 1d", "1024mb per 24h" },
		{ "    zone: external\n", "    zone: external\n    from: [hpf0]\n" },
		{ "    zone: external\n", "    zone: external\n    uplink: p0\n" },
		{ "heartbeat: 60s", "heartbeat: 1m" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
		json_t *d = diff(parse(base), variant(same[i][0], same[i][1]));

		if (!json_is_false(json_object_get(d, "changed"))) {
			ctl_diff_print(d, stderr);
			fail_msg("%s", same[i][1]);
		}
		json_decref(d);
	}
}

static void a_changed_rate_is_one_field_of_one_peer_and_what_follows_from_it(void **state)
{
	json_t *d = diff(parse(base), variant("rate: 10mbit", "rate: 20mbit")), *f;

	(void)state;
	assert_int_equal(count(d, "peers"), 1);
	assert_int_equal(count(d, "zones") + count(d, "host_ports") + count(d, "node_fields"), 0);
	f = json_object_get(json_array_get(json_object_get(d, "peers"), 0), "fields");
	assert_field(f, 0, "grant rate", "10mbit", "20mbit");
	json_decref(d);
}

static void every_field_that_can_be_written_is_seen(void **state)
{
	static const char *const other[][3] = {
		{ "node: tray-7", "node: tray-8", "node_fields" },
		{ "[p0, p1]", "[p0]", "node_fields" },
		{ "heartbeat: 60s", "heartbeat: none", "node_fields" },
		{ "heartbeat: 60s\n", "heartbeat: 60s\nuplink_control: [lldp]\n", "node_fields" },
		{ "heartbeat: 60s\n", "heartbeat: 60s\nmin_charge: 84\n", "node_fields" },
		{ "heartbeat: 60s\n", "heartbeat: 60s\nlease: 24h\n", "node_fields" },
		{ "heartbeat: 60s\n", "heartbeat: 60s\nnode_limit: { rate: 1gbit }\n",
		  "node_fields" },
		{ "heartbeat: 60s\n",
		  "heartbeat: 60s\nservices: [{ class: https, proto: tcp, port: 8443 }]\n",
		  "node_fields" },
		{ "[10.7.0.0/24, 10.8.0.0/24]", "[10.7.0.0/24]", "host_ports" },
		{ "10.8.0.0/24] }", "10.8.0.0/24], vlans: [7] }", "host_ports" },
		{ "10.8.0.0/24] }", "10.8.0.0/24], mac: \"02:00:00:00:00:01\" }", "host_ports" },
		{ "10.8.0.0/24] }", "10.8.0.0/24], limit: { rate: 1gbit } }", "host_ports" },
		{ "100mbit }", "200mbit }", "zones" },
		{ "100mbit }", "100mbit, burst: 1mb }", "zones" },
		{ "100mbit }", "100mbit, share: weighted }", "zones" },
		{ "10.1.0.0/24, ", "", "peers" },
		{ "    zone: external\n", "", "peers" },
		{ "1gb per 1d", "1gb", "peers" },
		{ "mode: police }", "mode: monitor }", "peers" },
		{ "mode: police }", "mode: mark, mark: 30 }", "peers" },
		{ "mode: police }", "mode: police, until: 2023-11-15T00:00:00Z }", "peers" },
		{ "via: 192.0.2.1", "via: 192.0.2.2", "peers" },
		{ "    zone: external\n", "    zone: external\n    uplink: p1\n", "peers" },
		{ "    zone: external\n", "    zone: external\n    contained: true\n", "peers" },
		{ "    zone: external\n", "    zone: external\n    accept: none\n", "peers" },
		{ "    zone: external\n", "    zone: external\n    accept: { rate: 1gbit }\n",
		  "peers" },
		{ "    zone: external\n",
		  "    zone: external\n    accept: { rate: 1gbit, volume: 10gb per 1d }\n",
		  "peers" },
		{ "    zone: external\n", "    zone: external\n    floor: { rate: 1kbit }\n",
		  "peers" },
		{ "    zone: external\n",
		  "    zone: external\n    classes: { ssh: { rate: 1mbit } }\n", "peers" },
		{ "    path: clear\n    via: 192.0.2.1\n", "    ipsec: { remote: 192.0.2.9 }\n",
		  "peers" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++) {
		json_t *d = diff(parse(base), variant(other[i][0], other[i][1]));
		size_t all = count(d, "node_fields") + count(d, "host_ports") + count(d, "zones") +
			     count(d, "peers");

		if (!json_is_true(json_object_get(d, "changed")) || !count(d, other[i][2]))
			fail_msg("not seen: %s", other[i][1]);
		/* one change of one kind; other fields of the node may follow from it */
		if (all != count(d, other[i][2]) ||
		    (strcmp(other[i][2], "node_fields") && all != 1))
			fail_msg("more than one thing: %s", other[i][1]);
		json_decref(d);
	}
}

static void weights_are_seen_where_they_count(void **state)
{
	static const char weighted[] = "100mbit, share: weighted }";
	struct bwl_policy *a = variant("100mbit }", weighted), *b = variant("100mbit }", weighted);
	json_t *d, *f;

	(void)state;
	bwl_policy_peer(b, "a")->weight = 7;
	d = diff(a, b);
	f = json_object_get(json_array_get(json_object_get(d, "peers"), 0), "fields");
	assert_int_equal(json_array_size(f), 1);
	f = json_array_get(f, 0);
	assert_string_equal(json_string_value(json_object_get(f, "field")), "weight");
	assert_string_equal(json_string_value(json_object_get(f, "to")), "7");
	json_decref(d);
}

static void peers_come_and_go_by_name(void **state)
{
	json_t *d = diff(parse(base), variant("name: b", "name: c")), *a;

	(void)state;
	a = json_object_get(d, "peers");
	assert_int_equal(json_array_size(a), 2);
	assert_string_equal(json_string_value(json_object_get(json_array_get(a, 0), "peer")), "b");
	assert_string_equal(json_string_value(json_object_get(json_array_get(a, 0), "change")),
			    "removed");
	assert_string_equal(json_string_value(json_object_get(json_array_get(a, 1), "peer")), "c");
	assert_string_equal(json_string_value(json_object_get(json_array_get(a, 1), "change")),
			    "added");
	json_decref(d);
}

static void an_empty_policy_gains_everything(void **state)
{
	json_t *d = diff(bwl_policy_new(), parse(base));

	(void)state;
	assert_int_equal(count(d, "peers"), 2);
	assert_int_equal(count(d, "zones"), 1);
	assert_int_equal(count(d, "host_ports"), 1);
	json_decref(d);
}

static void two_readings_of_one_expiry_are_the_same(void **state)
{
	struct bwl_policy *a = parse(base), *b = parse(base);
	json_t *d;

	(void)state;
	a->peers[0].expiry_ns = NOW + 5000000000ULL;
	b->peers[0].expiry_ns = NOW + 5400000000ULL;
	d = diff(a, b);
	assert_true(json_is_false(json_object_get(d, "changed")));
	json_decref(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_policy_has_no_difference),
		cmocka_unit_test(order_and_written_defaults_are_no_difference),
		cmocka_unit_test(a_changed_rate_is_one_field_of_one_peer_and_what_follows_from_it),
		cmocka_unit_test(every_field_that_can_be_written_is_seen),
		cmocka_unit_test(weights_are_seen_where_they_count),
		cmocka_unit_test(peers_come_and_go_by_name),
		cmocka_unit_test(an_empty_policy_gains_everything),
		cmocka_unit_test(two_readings_of_one_expiry_are_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
