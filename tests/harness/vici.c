// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sends one VICI command and prints its answer as JSON:
 *
 *   bwl-vici [--event NAME] SOCKET COMMAND [ARGUMENTS]
 *   bwl-vici --drop SOCKET TIMEOUT_MS [PEER…]
 *
 * --drop: what a revocation does (ipsec/revoke.h), with the time of each step in ns.
 * ARGUMENTS is a JSON object. --event: the command streams these; one line of JSON each. Ends
 * after 5 s at the latest. Exit 1: charon refuses or cannot be reached.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ipsec/revoke.h"

static int show(void *arg, json_t *msg)
{
	(void)arg;
	json_dumpf(msg, stdout, JSON_COMPACT);
	putchar('\n');
	return 0;
}

static int drop(int argc, char **argv)
{
	struct bwl_ipsec_drop d;
	struct bwl_err e = { 0 };
	int r = bwl_ipsec_drop_peers(argv[0], (const char *const *)argv + 2, (size_t)argc - 2,
				     argc == 2, strtoull(argv[1], NULL, 10) * 1000000, &d, &e);

	printf("{\"conns\": %u, \"sas\": %u, \"secrets\": %u, \"connect\": %ju, \"unload\": %ju, \"terminate\": %ju, \"verify\": %ju, \"credentials\": %ju, \"posted\": %s}\n",
	       d.conns, d.sas, d.secrets, (uintmax_t)d.connect_ns, (uintmax_t)d.unload_ns,
	       (uintmax_t)d.terminate_ns, (uintmax_t)d.verify_ns, (uintmax_t)d.credentials_ns,
	       d.posted ? "true" : "false");
	if (r)
		bwl_err_print(&e, "bwl-vici", false);
	return r != 0;
}

int main(int argc, char **argv)
{
	const char *event = NULL;
	struct bwl_err e = { 0 };
	struct bwl_vici *v = NULL;
	json_t *args = NULL, *ret = NULL;
	int r;

	if (argc > 3 && !strcmp(argv[1], "--drop"))
		return drop(argc - 2, argv + 2);
	if (argc > 2 && !strcmp(argv[1], "--event")) {
		event = argv[2];
		argv += 2;
		argc -= 2;
	}
	if (argc < 3 || argc > 4) {
		fputs("usage: bwl-vici [--event NAME] SOCKET COMMAND [JSON]\n", stderr);
		return 2;
	}
	if (argc == 4 && !(args = json_loads(argv[3], 0, NULL))) {
		fputs("bwl-vici: not JSON\n", stderr);
		return 2;
	}
	r = bwl_vici_open(argv[1], 5000000000ULL, &v, &e);
	if (!r)
		r = event ? bwl_vici_stream(v, argv[2], event, args, show, NULL, &e)
			  : bwl_vici_call(v, argv[2], args, &ret, &e);
	if (!r && ret)
		show(NULL, ret);
	if (r)
		bwl_err_print(&e, "bwl-vici", false);
	json_decref(ret);
	json_decref(args);
	bwl_vici_close(v);
	return r != 0;
}
