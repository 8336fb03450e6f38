// SPDX-License-Identifier: GPL-2.0-or-later
/* A policy read from a file, and reports about it and its changes. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "policy.h"
#include "progress.h"

int ctl_document_load(struct ctl *c, const char *file, struct ctl_document *ret)
{
	struct ctl_progress *p = ctl_progress_start("reading and checking %s", file);
	int r = bwl_policy_bytes(file, &ret->bytes, &ret->len, &c->err);

	if (!r)
		r = bwl_policy_parse(bwl_policy_file_name(file), ret->bytes, ret->len, bwl_now_ns(),
				     time(NULL), &ret->pol, &c->err);
	ctl_progress_end(p);
	return r;
}

void ctl_document_free(struct ctl_document *d)
{
	bwl_policy_free(d->pol);
	free(d->bytes);
}

void ctl_policy_warn(const struct bwl_policy *pol)
{
	for (size_t i = 0; i < pol->nwarnings; i++)
		bwl_warn("%s", pol->warnings[i]);
}

json_t *ctl_policy_warnings(const struct bwl_policy *pol)
{
	json_t *a = json_array();

	for (size_t i = 0; i < pol->nwarnings; i++)
		json_array_append_new(a, json_string(pol->warnings[i]));
	return a;
}

void ctl_policy_hex(const struct bwl_policy *pol, char hex[static 65])
{
	uint8_t d[32] = { 0 };

	bwl_policy_digest(pol, d);
	for (size_t i = 0; i < sizeof(d); i++)
		snprintf(hex + 2 * i, 3, "%02x", d[i]);
}

void ctl_print_report(struct ctl *c, const struct bwl_publish_report *r, json_t *doc)
{
	char took[BWL_UNIT_BUF], mem[BWL_UNIT_BUF];

	if (c->json) {
		json_object_set_new(doc, "report", bwl_json_report(r));
		bwl_doc_print(doc);
		return;
	}
	bwl_put(stdout,
		"in force: %u peer%s with %u prefix%s (%u new, %u gone) in %s, maps %s at the peak\n",
		r->peers, BWL_S(r->peers), r->prefixes, BWL_ES(r->prefixes), r->added, r->retired,
		bwl_human_time(r->seconds, took), bwl_human_size((double)r->map_bytes, mem));
	if (r->inherited)
		printf("  peers that take the place of others, and what these had spent: %u\n",
		       r->inherited);
	if (r->kept_revoked)
		printf("  still revoked, until `bwlimit-ctl grant`: %u\n", r->kept_revoked);
	if (r->exhausted)
		printf("  volumes that start spent, what was used before being unknown: %u\n"
		       "    bwlimit-ctl grant NAME volume +V once reason TEXT adds to a peer's; a windowed one\n"
		       "    is free again once its window has passed; zones: bwlimit-ctl zone set\n",
		       r->exhausted);
	json_decref(doc);
}
