// SPDX-License-Identifier: GPL-2.0-or-later
/* `policy publish`: a signed document into the store. */
#include <stdio.h>
#include "../signed.h"
#include "cmds.h"
#include "wait.h"

#define TIMEOUT_NS 30000000000ULL

int fleet_publish(struct ctl *c, int argc, char **argv)
{
	struct fleet_wait w = { .timeout_ns = TIMEOUT_NS };
	struct fleet f = { 0 };
	struct fleet_put p = { 0 };
	const char *timeout = NULL;
	const struct ctl_opt opts[] = { FLEET_CONF_OPTS(&f.conf),
					{ "--propose", &p.pending, NULL },
					{ "--timeout", NULL, &timeout },
					{ "--no-wait", &w.no_wait, NULL },
					{ NULL, NULL, NULL } };
	BWL_AUTO_FREE char *bytes = NULL;
	int r = ctl_opts(c, &argc, argv, opts);

	if (r)
		return r;
	if (argc != 1)
		return ctl_usage(c, "give a file");
	if (timeout && bwl_parse_time(timeout, &w.timeout_ns, &c->err))
		return CTL_USAGE;
	r = ctl_signed_read(c, argv[0], &bytes, &p.len);
	p.file = argv[0];
	p.bytes = bytes;
	if (!r)
		r = fleet_open(c, &f);
	if (!r)
		r = fleet_put(&f, &p);
	if (!r && p.judged && !p.d.enough &&
	    (p.d.type == BWL_SIGNED_POLICY || p.d.type == BWL_SIGNED_GRANT))
		bwl_warn(
			"signed by %u of the %u who may widen: trays take it only as far as it tightens",
			p.d.people, bwl_root_threshold(f.root, BWL_ROLE_POLICY));
	if (!r) {
		bwl_audit("policy publish %s: %s/%s, version %llu", argv[0],
			  bwl_signed_word(p.d.type), p.d.terms.name,
			  (unsigned long long)p.d.terms.version);
		r = fleet_wait(&f, &p, &w);
	}
	fleet_put_done(&p);
	fleet_close(&f);
	return r;
}
