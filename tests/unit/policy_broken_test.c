// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A policy with every key is broken at each place, and at pairs of places: a value, its kind, a
 * misspelt key, a second one. Each is told, in its line, and nothing that only follows from it.
 */
#include "policy_text.h"
#include <stdlib.h>
#include "bwl/yaml_walk.h"

/* clang-format off */
static const char text[] =
	"{version: 1, node: n,\n"
	"uplinks: [p0, p1],\n"
	"uplink_control: [lldp, lacp],\n"
	"heartbeat: 60s,\n"
	"lease: 1d,\n"
	"default: deny,\n"
	"min_charge: 84b,\n"
	"horizon: 20ms,\n"
	"ledger: required,\n"
	"count_classes: all,\n"
	"node_limit: {rate: 2gbit, burst: 1mb, volume: 1tb},\n"
	"ipsec: {id: n, local: 198.51.100.9, ca: ca.pem, ppk: all, start: trap,\n"
	"  revocation: relaxed, hw_offload: packet, rekey: 40m, hard: 50m, ike_rekey: 3h,\n"
	"  reauth: 1d, dpd: 20s, replay_window: 512, copy_ecn: true},\n"
	"tamper: {carrier: revoke, neighbour: log, port: clamp, intrusion: revoke, lease: clamp,\n"
	"  cleartext: revoke-peer, program: revoke, command: revoke-peer, counters: log},\n"
	"host_ports: [{dev: h0, sources: [10.0.7.0/24, 10.0.8.0/24],\n"
	"   vlans: [1, 4094], mac: \"02:00:00:00:00:01\",\n"
	"   limit: {rate: 1gbit, burst: 1mb, volume: 1tb per 1d}},\n"
	"  {dev: h1, sources: [10.0.9.0/24]}],\n"
	"services: [{class: nfs, proto: 132},\n"
	"  {class: ssh, proto: tcp, port: 2222}],\n"
	"zones: {z: {rate: 1gbit, burst: 1mb, volume: 20gb, share: weighted},\n"
	"  y: {rate: 1gbit}},\n"
	"peers: [{name: a,\n"
	"   addresses: [192.0.2.0/24, \"fd00::/64\"],\n"
	"   zone: z,\n"
	"   weight: 7,\n"
	"   contained: true,\n"
	"   path: clear,\n"
	"   via: 10.9.9.9,\n"
	"   via6: \"fe80::1\",\n"
	"   next_hop_mac: \"02:00:5e:00:00:01\",\n"
	"   uplink: p1,\n"
	"   from: [h0, h1],\n"
	"   accept: none,\n"
	"   floor: {rate: 1kbit, burst: 2kb, volume: 1mb per 11s},\n"
	"   grant: {rate: 1gbit, burst: 1ms, volume: 1gb per 1d, mode: mark, mark: 40%,\n"
	"    until: 2027-02-01T00:00:00Z},\n"
	"   classes: {other: {rate: 1mbit},\n"
	"    ssh: {volume: 1gb}},\n"
	"   ports: {h0: {rate: 1mbit, burst: 64kb, volume: 1gb},\n"
	"    h1: {rate: 1mbit}}},\n"
	"  {name: b, addresses: [192.0.3.0/24],\n"
	"   ipsec: {remote: 198.51.100.3, id: b, ppk: both}, path: offload, grant: {rate: 1gbit},\n"
	"   accept: {rate: 1gbit, burst: 64kb, volume: 10gb per 1d}},\n"
	"  {name: self, addresses: [198.51.100.77], grant: {mode: monitor}}]}\n";
/* clang-format on */

/* A value, or a key and its value. */
struct spot {
	char path[128]; /* "peers/0/name/" */
	size_t key, value, end;
	unsigned line;
	bool has_key, is_scalar;
};

enum how { BAD_VALUE, BAD_KIND, BAD_KEY, TWICE };

struct breakage {
	const struct spot *spot;
	enum how how;
	size_t from, to; /* what it replaces */
	char by[80];
	unsigned line;     /* where it is told */
	const char *needs; /* it is told unless this place is broken; NULL: always */
};

static struct spot spots[300];
static size_t nspots;
static struct breakage breakages[1200];
static size_t nbreakages;

static size_t end_of(size_t at)
{
	unsigned open = 0;
	bool quoted = false;

	for (;; at++) {
		quoted ^= text[at] == '"';
		if (quoted)
			continue;
		if (!open && strchr(",]}\n", text[at]))
			return at;
		open += strchr("[{", text[at]) != NULL;
		open -= strchr("]}", text[at]) != NULL;
	}
}

static int add_spot(void *arg, const struct bwl_node *n)
{
	struct spot *x = &spots[nspots];
	size_t at = 0;

	(void)arg;
	if (!n->depth)
		return 0;
	if (n->is_key) {
		x->key = n->offset;
		x->has_key = true;
		return 0;
	}
	for (unsigned i = 0; i < n->depth; i++)
		at += n->path[i].key
			      ? snprintf(x->path + at, sizeof(x->path) - at, "%s/", n->path[i].key)
			      : snprintf(x->path + at, sizeof(x->path) - at, "%zu/",
					 n->path[i].index);
	x->value = n->offset;
	x->end = end_of(n->offset);
	x->line = n->line;
	x->is_scalar = n->scalar;
	nspots++;
	assert_true(nspots < sizeof(spots) / sizeof(*spots));
	return 0;
}

static bool is_below(const char *path, const char *above)
{
	return !strncmp(path, above, strlen(above));
}

/* Keys that are names: of zones, and of host ports in a peer. */
static bool is_name(const struct spot *x)
{
	return !strcmp(x->path, "zones/z/") || !strcmp(x->path, "zones/y/") ||
	       !strcmp(x->path, "peers/0/ports/h0/") || !strcmp(x->path, "peers/0/ports/h1/");
}

static struct breakage *add(const struct spot *x, enum how how, size_t from, size_t to,
			    const char *by)
{
	struct breakage *b = &breakages[nbreakages++];

	assert_true(nbreakages <= sizeof(breakages) / sizeof(*breakages));
	*b = (struct breakage){ .spot = x, .how = how, .from = from, .to = to, .line = x->line };
	snprintf(b->by, sizeof(b->by), "%s", by);
	if (is_below(x->path, "peers/0/from/") && how == BAD_VALUE)
		b->needs = "host_ports";
	if (is_below(x->path, "peers/0/ports/") && how == BAD_KEY && is_name(x))
		b->needs = "host_ports";
	if (!strcmp(x->path, "peers/0/uplink/") && how == BAD_VALUE)
		b->needs = "uplinks";
	if (!strcmp(x->path, "peers/0/zone/") && how == BAD_VALUE)
		b->needs = "zones";
	return b;
}

static void add_all(const struct spot *x)
{
	struct breakage *b;
	char twice[80], name[80];

	if (!strcmp(x->path, "version/"))
		return; /* alone: a file of another version has other keys */
	snprintf(name, sizeof(name), "\"%%%td\"", x - spots); /* two of them are not equal */
	if (x->is_scalar)
		add(x, BAD_VALUE, x->value, x->end, name);
	add(x, BAD_KIND, x->value, x->end, x->is_scalar ? "[[\"%\"]]" : "\"%\"");
	add(x, BAD_KIND, x->value, x->end, text[x->value] == '{' ? "[]" : "{\"%\": 1}");
	if (!x->has_key)
		return;
	snprintf(name, sizeof(name), "\"%%%.*s\"", (int)strcspn(text + x->key, ":"), text + x->key);
	if (is_name(x))
		add(x, BAD_KEY, x->key, x->key + strcspn(text + x->key, ":"), name);
	else
		add(x, BAD_KEY, x->key, x->key, "x");
	snprintf(twice, sizeof(twice), ", %.*s: \"%%\"", (int)strcspn(text + x->key, ":"),
		 text + x->key);
	b = add(x, TWICE, x->end, x->end, twice);
	for (size_t i = x->value; i < x->end; i++)
		b->line += text[i] == '\n';
}

/* Values that are fine, but not beside another one. */
static void add_value(const char *path, const char *by, const char *told_at, const char *needs)
{
	struct spot *x = spots, *at = spots;

	while (strcmp(x->path, path))
		assert_true(++x < spots + nspots);
	while (strcmp(at->path, told_at))
		assert_true(++at < spots + nspots);
	struct breakage *b = add(x, BAD_VALUE, x->value, x->end, by);

	b->line = at->line;
	b->needs = needs;
}

static int collect(void **state)
{
	struct bwl_err e = { 0 };

	(void)state;
	assert_int_equal(bwl_scan(text, sizeof(text) - 1, add_spot, NULL, &e), 0);
	for (size_t i = 0; i < nspots; i++)
		add_all(&spots[i]);
	add_value("ipsec/hard/", "40m", "ipsec/hard/", "ipsec/rekey/");
	add_value("heartbeat/", "none", "lease/", "lease/");
	add_value("peers/0/floor/rate/", "2gbit", "peers/0/floor/", "peers/0/grant/rate/");
	add_value("peers/1/name/", "a", "peers/1/name/", "peers/0/name/");
	add_value("peers/1/addresses/0/", "192.0.2.0/24", "peers/1/addresses/0/",
		  "peers/0/addresses/0/");
	add_value("host_ports/1/sources/0/", "10.0.7.0/25", "host_ports/1/sources/0/",
		  "host_ports/0/sources/0/");
	add_value("peers/1/ipsec/remote/", "192.0.2.1", "peers/1/ipsec/remote/",
		  "peers/0/addresses/0/");
	add_value("services/0/proto/", "tcp", "services/0/", "services/0/port/");
	return 0;
}

/* Writes a breakage, and the ends of lines that it replaces. */
static size_t put(const struct breakage *b, char *to, size_t size)
{
	size_t n = snprintf(to, size, "%s", b->by);

	for (size_t i = b->from; i < b->to && n < size; i++)
		if (text[i] == '\n')
			to[n++] = '\n';
	return n;
}

/* The text with one or two breakages that do not overlap. */
static size_t broken(const struct breakage *a, const struct breakage *b, char *to, size_t size)
{
	const struct breakage *first = b && b->from < a->from ? b : a;
	const struct breakage *second = !b ? NULL : first == a ? b : a;
	size_t n = snprintf(to, size, "%.*s", (int)first->from, text);

	n += put(first, to + n, size - n);
	if (second) {
		n += snprintf(to + n, size - n, "%.*s", (int)(second->from - first->to),
			      text + first->to);
		n += put(second, to + n, size - n);
	}
	n += snprintf(to + n, size - n, "%s", text + (second ? second : first)->to);
	assert_true(n < size);
	return n;
}

static void tells(const struct breakage *a, const struct breakage *b, bool only_a)
{
	static struct bwl_errors all;
	static char s[sizeof(text) + 200];
	struct bwl_policy *p = NULL;
	size_t len = broken(a, b, s, sizeof(s)), n = b && !only_a ? 2 : 1;
	unsigned first = a->line, last = n == 2 ? b->line : a->line;

	if (first > last) {
		first = last;
		last = a->line;
	}
	bwl_policy_parse_all("f", s, len, NOW_BOOT, NOW_WALL, &p, &all);
	bwl_policy_free(p);
	if (all.n == n && all.list[0].line == first && all.list[n - 1].line == last)
		return;
	for (size_t i = 0; i < all.n; i++)
		print_message("%u:%u: %s\n", all.list[i].line, all.list[i].column,
			      all.list[i].text);
	fail_msg("%zu errors; broken were %s by '%s' and %s by '%s'", all.n, a->spot->path, a->by,
		 b ? b->spot->path : "nothing", b ? b->by : "");
}

static void what_is_broken_alone_is_told_alone(void **state)
{
	(void)state;
	bwl_policy_free(read_text(text));
	for (size_t i = 0; i < nbreakages; i++)
		tells(&breakages[i], NULL, false);
}

/* May a be told or not, because b is broken, too? */
static bool depends(const struct breakage *a, const struct breakage *b)
{
	const char *path = b->spot->path;

	if (!a->needs)
		return false;
	if (!strcmp(a->needs, "zones"))
		return !strcmp(path, "zones/") || (b->how == BAD_KEY && is_below(path, "zones/"));
	if (!strcmp(a->needs, "host_ports"))
		return is_below(path, "host_ports/") &&
		       (!strchr(path + 11, '/') || strlen(path) == 13 || strstr(path, "/dev/"));
	if (!strcmp(a->spot->path, "peers/1/ipsec/remote/") && !strcmp(path, "peers/0/name/"))
		return true; /* it could be `self` */
	return is_below(path, a->needs) || is_below(a->needs, path);
}

static bool overlap(const struct breakage *a, const struct breakage *b)
{
	const struct spot *x = a->spot, *y = b->spot;
	size_t xa = a->how == TWICE ? x->end : a->how == BAD_KEY && !is_name(x) ? x->key : a->from;
	size_t ya = b->how == TWICE ? y->end : b->how == BAD_KEY && !is_name(y) ? y->key : b->from;
	size_t xe = a->how == BAD_KEY && is_name(x) ? a->to : x->end;
	size_t ye = b->how == BAD_KEY && is_name(y) ? b->to : y->end;

	/* the second of two equal keys is left out, but not the only one that is left */
	if (x == y && (a->how == BAD_KEY || b->how == BAD_KEY))
		return true;
	return xa < ye && ya < xe;
}

static void two_that_are_broken_are_both_told(void **state)
{
	uint64_t random = 1;
	size_t n = 0;

	(void)state;
	while (n < 600) {
		const struct breakage *a, *b;

		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		a = &breakages[(random >> 33) % nbreakages];
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		b = &breakages[(random >> 33) % nbreakages];
		if (a == b || overlap(a, b))
			continue;
		n++;
		if (depends(a, b) && depends(b, a))
			continue;
		if (depends(a, b))
			tells(b, a, true);
		else
			tells(a, b, depends(b, a));
	}
}

/* The keys that a message about an unknown one lists are all in the text. */
static void every_key_is_in_the_text(void **state)
{
	static struct bwl_errors all;
	static char s[sizeof(text) + 200];

	(void)state;
	for (size_t i = 0; i < nbreakages; i++) {
		struct bwl_policy *p = NULL;
		size_t len = broken(&breakages[i], NULL, s, sizeof(s));
		char *keys, *key, *rest = NULL;

		if (breakages[i].how != BAD_KEY || is_name(breakages[i].spot))
			continue;
		bwl_policy_parse_all("f", s, len, NOW_BOOT, NOW_WALL, &p, &all);
		keys = strstr(all.list[0].text, "the keys here are ");
		assert_non_null(keys);
		if (strstr(keys, "rocev2"))
			continue; /* classes are all alike */
		for (key = strtok_r(keys + 18, ", ", &rest); key;
		     key = strtok_r(NULL, ", ", &rest)) {
			char with[80];

			snprintf(with, sizeof(with), "%s: ", key);
			if (!strstr(text, with))
				fail_msg("%s is not in the text", key);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_key_is_in_the_text),
		cmocka_unit_test(what_is_broken_alone_is_told_alone),
		cmocka_unit_test(two_that_are_broken_are_both_told),
	};

	return cmocka_run_group_tests(tests, collect, NULL);
}
