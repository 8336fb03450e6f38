// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See documents.h. The intervals: a command of bwlimit-ctl costs some ms of CPU time, so that all
 * of them together, while somebody looks, stay below 2 % of a CPU (docs/api.md).
 */
#include "documents.h"
#include "bwl/agent.h"

#define VERIFIES "bwlimit-load verify, run as root, writes one; so does bwlimit-verify.timer"
#define RECORDS "bwlimitd writes it if there is an audit log: bwlimit-ctl audit init"

static const struct asking_document node_asking[] = {
	{ .name = "top", .words = { "top", "--most=2000" } },
	{ .name = "status", .words = { "status" } },
	{ .name = "verify" },
	{ .name = "log" },
	{ .name = "audit" },
	{ .name = "stats", .words = { "stats" } },
	{ .name = "usage", .words = { "usage" }, .options = { "most" } },
	{ .name = "reasons", .words = { "reasons" } },
	{ .name = "exfil",
	  .words = { "exfil", "--curve" },
	  .options = { "size", "compression", "trays" } },
	{ .name = "history",
	  .words = { "history" },
	  .names = { "peer" },
	  .options = { "class", "since", "until", "step" } },
	{ .name = "history-peers", .words = { "history" } },
	/* Only the newest intervals: each is read whole, and a host decides how many there are. */
	{ .name = "flows",
	  .words = { "flows", "--since=30s", "--most=500" },
	  .options = { "peer", "port" } },
	{ .name = "flow-intervals",
	  .words = { "flows", "intervals", "--most=60" },
	  .options = { "peer" } },
	{ .name = "latency", .words = { "latency", "show" } },
	{ .name = "grants", .words = { "grant", "list" } },
	{ .name = "zones", .words = { "zone", "list" } },
	{ .name = "peers", .words = { "peer", "list" } },
	{ .name = "peer", .words = { "peer", "show" }, .names = { "name" } },
	{ .name = "explain",
	  .words = { "explain" },
	  .names = { "source", "destination", "protocol", "destination_port" },
	  .options = { "port", "size" } },
	{ .name = "policy", .words = { "policy", "show" } },
	{ .name = "lease", .words = { "lease", "show" } },
	{ .name = "journal", .words = { "journal", "show" } },
	{ .name = WEB_METRICS, .words = { "metrics" }, .text = true },
	{ .name = NULL },
};

static const struct web_document node_how[] = {
	{ .every_ms = 1000, .goes_on = true },                                       /* top */
	{ .every_ms = 5000, .asker = 1 },                                            /* status */
	{ .every_ms = 5000, .asker = 1, .file = BWL_VERIFIED, .left_by = VERIFIES }, /* verify */
	{ .every_ms = 2000, .asker = 1, .file = BWL_LOGGED, .left_by = RECORDS },    /* log */
	{ .every_ms = 5000, .asker = 1, .file = BWL_SIGNED, .left_by = RECORDS },    /* audit */
	{ .every_ms = 10000, .asker = 1 },                                           /* stats */
	{ .every_ms = 10000, .asker = 1 },                                           /* usage */
	{ .every_ms = 10000, .asker = 1 },                                           /* reasons */
	{ .every_ms = 30000, .asker = 1 },                                           /* exfil */
	{ .every_ms = 5000, .asker = 1 },                                            /* history */
	{ .every_ms = 30000, .asker = 1 },                                   /* history-peers */
	{ .every_ms = 10000, .asker = 1 },                                   /* flows */
	{ .every_ms = 10000, .asker = 1 },                                   /* flow-intervals */
	{ .every_ms = 5000, .asker = 1 },                                    /* latency */
	{ .every_ms = 10000, .asker = 1 },                                   /* grants */
	{ .every_ms = 10000, .asker = 1 },                                   /* zones */
	{ .every_ms = 30000, .asker = 1 },                                   /* peers */
	{ .every_ms = 2000, .asker = 1 },                                    /* peer */
	{ .every_ms = 1000, .asker = 1 },                                    /* explain */
	{ .every_ms = 30000, .asker = 1, .is_big = true },                   /* policy */
	{ .every_ms = 10000, .asker = 1 },                                   /* lease */
	{ .every_ms = 30000, .asker = 1 },                                   /* journal */
	{ .every_ms = 5000, .asker = 1, .is_hidden = true, .is_big = true }, /* metrics */
};

const struct web_documents web_node = { "node", node_asking, node_how };

static const struct asking_document fleet_asking[] = {
	{ .name = "fleet-status",
	  .words = { "status" },
	  .options = { "tray", "label", "sort", "offset", "limit" } },
	{ .name = "top", .words = { "top" }, .options = { "tray", "label" } },
	{ .name = "usage", .words = { "usage" }, .options = { "tray", "label" } },
	{ .name = "reasons", .words = { "reasons" }, .options = { "tray", "label" } },
	{ .name = "fleet-history", .words = { "history" }, .options = { "tray", "label" } },
	{ .name = "fleet-closures", .words = { "closures" }, .options = { "tray", "label" } },
	{ .name = "exfil",
	  .words = { "exfil" },
	  .options = { "size", "compression", "tray", "label" } },
	{ .name = "fleet-trays", .words = { "trays" } },
	{ .name = "fleet-pending", .words = { "pending", "--size=1000000000000" } },
	{ .name = "fleet-rollouts", .words = { "rollouts", "--most=64" } },
	{ .name = NULL },
};

static const struct web_document fleet_how[] = {
	{ .every_ms = 5000 },              /* fleet-status */
	{ .every_ms = 5000 },              /* top */
	{ .every_ms = 5000 },              /* usage */
	{ .every_ms = 5000 },              /* reasons */
	{ .every_ms = 10000 },             /* fleet-history */
	{ .every_ms = 5000 },              /* fleet-closures */
	{ .every_ms = 30000 },             /* exfil */
	{ .every_ms = 30000, .asker = 1 }, /* fleet-trays */
	{ .every_ms = 30000, .asker = 1 }, /* fleet-pending */
	{ .every_ms = 5000, .asker = 1 },  /* fleet-rollouts */
};

const struct web_documents web_fleet = { "fleet", fleet_asking, fleet_how };
