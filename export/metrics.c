// SPDX-License-Identifier: GPL-2.0-or-later
/* The lists of metrics: of the node, and of each port and reason. peers.c has those of peers. */
#include <errno.h>
#include <stdlib.h>
#include <bwl/cleanup.h>
#include "metrics.h"
#include "prometheus.h"
#include "state.h"

#define LOAD(word) __atomic_load_n(&(word), __ATOMIC_SEQ_CST)

static uint64_t frames(const struct bwl_reason_count *n)
{
	return n->frames;
}

static uint64_t bytes(const struct bwl_reason_count *n)
{
	return n->bytes;
}

static void put_reasons(FILE *f, const struct bwl_pins *p, const char *name, const char *help,
			const struct bwl_reason_count *count,
			uint64_t (*get)(const struct bwl_reason_count *n))
{
	prom_family(f, name, PROM_COUNTER, help);
	for (unsigned row = 0; row < BWL_REASON_ROWS; row++) {
		const struct bwl_dev *dev = &p->dev[row % BWL_MAX_PORTS];
		char port[sizeof(dev->name) + 1];

		snprintf(port, sizeof(port), "%.*s", (int)sizeof(dev->name), dev->name);
		for (unsigned i = 0; i < _BWL_REASON_MAX; i++) {
			const struct bwl_reason_count *n = &count[row * BWL_REASON_COLUMNS + i];

			if (n->frames)
				prom_sample(f, name,
					    &(struct prom_labels){ {
						    { "port", port },
						    { "hook",
						      row < BWL_MAX_PORTS ? "ingress" : "gate" },
						    { "reason", bwl_reason_name(i) },
						    { "verdict",
						      bwl_reason_is_pass(i) ? "pass" : "drop" },
					    } },
					    get(n));
		}
	}
}

static int put_ports(FILE *f, const struct bwl_view *v, struct bwl_err *e)
{
	BWL_AUTO_FREE struct bwl_reason_count *count = calloc(BWL_REASON_ROWS * BWL_REASON_COLUMNS,
							      sizeof(*count));
	int r;

	if (!count)
		return bwl_fail(e, ENOMEM, "out of memory");
	r = bwl_reason_read(v->pins, count, e);
	if (r)
		return r;
	put_reasons(f, v->pins, "port_frames_total", "Frames by port and reason", count, frames);
	put_reasons(f, v->pins, "port_bytes_total", "Bytes of those frames, as seen", count, bytes);
	return 0;
}

static void put_node(FILE *f, const struct bwl_view *v)
{
	prom_family(f, "build_info", PROM_GAUGE, "1; the version of the exporter");
	prom_sample(f, "build_info", &(struct prom_labels){ { { "version", BWL_VERSION } } }, 1);
	prom_family(f, "switch", PROM_GAUGE, "1 for the current state of the stop switch");
	prom_sample(f, "switch", &(struct prom_labels){ { { "state", bwl_switch_name(v->pins) } } },
		    1);
	prom_family(f, "policy_generation", PROM_GAUGE, "Policies applied since attach");
	prom_sample(f, "policy_generation", &(struct prom_labels){ 0 },
		    LOAD(v->pins->ctl->generation));
	prom_family(f, "policy_edits", PROM_GAUGE, "Edits of the policy since it was applied");
	prom_sample(f, "policy_edits", &(struct prom_labels){ 0 }, LOAD(v->pins->ctl->edits));
	prom_family(f, "attach_timestamp_seconds", PROM_GAUGE, "When the maps were made");
	prom_sample(f, "attach_timestamp_seconds", &(struct prom_labels){ 0 },
		    metrics_wall(v->pins->ctl->attached_ns));
	prom_family(f, "policy_in_force", PROM_GAUGE, "0: everything is dropped");
	prom_sample(f, "policy_in_force", &(struct prom_labels){ 0 }, v->has_gen);
}

int bwl_metrics(FILE *f, const struct bwl_view *v, uint32_t most_peers, struct bwl_err *e)
{
	int r;

	put_node(f, v);
	metrics_machine(f, v);
	r = put_ports(f, v, e);
	if (!r)
		r = metrics_latency(f, v, e);
	if (r || !v->has_gen)
		return r;
	metrics_policy(f, v);
	return metrics_peers(f, v, most_peers, e);
}
