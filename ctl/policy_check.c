// SPDX-License-Identifier: GPL-2.0-or-later
/* `policy check`: policy files, each with all its errors. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "policy.h"
#include "progress.h"

/* The policy, or NULL and what is wrong with the file. */
static struct bwl_policy *load_all(const char *file, struct bwl_errors *all)
{
	struct ctl_progress *p = ctl_progress_start("reading and checking %s", file);
	struct bwl_policy *pol = NULL;
	BWL_AUTO_FREE char *text = NULL;
	size_t len = 0;

	all->n = 0;
	all->more = false;
	if (bwl_policy_bytes(file, &text, &len, &all->list[0]))
		all->n = 1;
	else
		bwl_policy_parse_all(bwl_policy_file_name(file), text, len, bwl_now_ns(),
				     time(NULL), &pol, all);
	ctl_progress_end(p);
	return pol;
}

static size_t prefix_count(const struct bwl_policy *pol)
{
	size_t n = 0;

	for (size_t i = 0; i < pol->npeers; i++)
		n += pol->peers[i].naddresses;
	return n;
}

static void print_json(const char *file, const struct bwl_policy *pol)
{
	json_t *o = bwl_doc("policy-check");
	char hex[65];

	ctl_policy_hex(pol, hex);
	json_object_set_new(o, "file", json_string(file));
	json_object_set_new(o, "ok", json_true());
	json_object_set_new(o, "peer_count", bwl_json_u64(pol->npeers));
	json_object_set_new(o, "prefix_count", bwl_json_u64(prefix_count(pol)));
	json_object_set_new(o, "zone_count", bwl_json_u64(pol->nzones));
	json_object_set_new(o, "host_port_count", bwl_json_u64(pol->nports));
	json_object_set_new(o, "digest", json_string(hex));
	json_object_set_new(o, "warnings", ctl_policy_warnings(pol));
	bwl_doc_print(o);
}

static void print_good(const char *file, const struct bwl_policy *pol)
{
	size_t prefixes = prefix_count(pol);
	char hex[65];

	ctl_policy_hex(pol, hex);
	ctl_policy_warn(pol);
	bwl_put(stdout,
		"%s: ok: %zu peer%s with %zu prefix%s, %zu zone%s, %zu host port%s; digest %.16s\n",
		file, pol->npeers, BWL_S(pol->npeers), prefixes, BWL_ES(prefixes), pol->nzones,
		BWL_S(pol->nzones), pol->nports, BWL_S(pol->nports), hex);
}

static void print_errors(const char *file, const struct bwl_errors *all)
{
	for (size_t i = 0; i < all->n; i++)
		bwl_err_print(&all->list[i], CTL_PROGRAM, false);
	if (all->more)
		fprintf(stderr, "%s: more than %d errors; the others are not shown\n", file,
			BWL_ERRORS_MAX);
	else
		fprintf(stderr, "%s: %zu error%s\n", file, all->n, BWL_S(all->n));
}

static json_t *json_of(const char *file, const struct bwl_policy *pol, const struct bwl_errors *all)
{
	json_t *o = json_object(), *errors = json_array();

	for (size_t i = 0; i < all->n; i++)
		json_array_append_new(errors, bwl_json_err(&all->list[i], CTL_PROGRAM));
	json_object_set_new(o, "file", json_string(file));
	json_object_set_new(o, "ok", json_boolean(pol));
	json_object_set_new(o, "warnings", pol ? ctl_policy_warnings(pol) : json_array());
	json_object_set_new(o, "errors", errors);
	json_object_set_new(o, "more_errors", json_boolean(all->more));
	return o;
}

/* A single good file is reported in more detail; anything else is a list. */
int ctl_policy_check(struct ctl *c, int argc, char **argv)
{
	static struct bwl_errors all;
	json_t *files = json_array();
	bool bad = false;

	for (int i = 0; i < argc; i++) {
		struct bwl_policy *pol = load_all(argv[i], &all);

		bad |= !pol;
		if (c->json && argc == 1 && pol)
			print_json(argv[i], pol);
		else if (c->json)
			json_array_append_new(files, json_of(argv[i], pol, &all));
		else if (pol)
			print_good(argv[i], pol);
		else
			print_errors(argv[i], &all);
		bwl_policy_free(pol);
	}
	if (json_array_size(files)) {
		json_t *o = bwl_doc("policy-checks");

		json_object_set_new(o, "ok", json_boolean(!bad));
		json_object_set(o, "files", files);
		bwl_doc_print(o);
	}
	json_decref(files);
	if (!argc)
		return ctl_usage(c, "the file is missing; - is standard input");
	return bad ? CTL_EXIT + 1 : 0;
}
