// SPDX-License-Identifier: GPL-2.0-or-later
/* `metrics`: the metrics for Prometheus (export/), once, on standard output. */
#include <stdio.h>
#include "ctl.h"
#include "export/metrics.h"

static int metrics(struct ctl *c, int argc, char **argv)
{
	const char *most = NULL;
	const struct ctl_opt opts[] = { { "--peers", NULL, &most }, { NULL, NULL, NULL } };
	uint64_t n = BWL_METRICS_PEERS;
	struct bwl_view v;
	int r;

	r = ctl_only_opts(c, argc, argv, opts);
	if (!r && most)
		r = ctl_number(c, "--peers", most, UINT32_MAX - 1, &n);
	if (!r && c->json)
		r = ctl_usage(c, "metrics are text; for JSON: stats, reasons, usage, policy show");
	if (r)
		return r;
	r = bwl_view_open(c->pin_dir, false, &v, &c->err);
	if (r)
		return r;
	r = bwl_metrics(stdout, &v, (uint32_t)n, &c->err);
	bwl_view_close(&v);
	return r;
}

const struct ctl_cmd ctl_metrics_cmds[] = {
	{ "metrics", NULL, "[--peers N]", "Counters and limits in Prometheus' text format",
	  "At most N peers have metrics of their own (10000): bwlimit_peers_not_shown counts the others.\n"
	  "For node_exporter's textfile collector, from a timer:\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl metrics >bwlimit.prom.new && mv bwlimit.prom.new bwlimit.prom\n",
	  metrics },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
