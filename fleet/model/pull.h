/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides which tray is asked for what, and when: a round of documents every half minute, give or
 * take a tenth, so that trays do not come together; at most PULL_AT_ONCE at once; a failing tray
 * waits longer each time. The transport, the clock and randomness are arguments: tests/unit/fleet
 * replaces them.
 */
#ifndef BWL_FLEET_MODEL_PULL_H
#define BWL_FLEET_MODEL_PULL_H

#include "set.h"

#define PULL_S 1000000000ULL
#define PULL_ROUND_NS (30 * PULL_S)
#define PULL_FAILED_MAX_NS (300 * PULL_S)
#define PULL_AT_ONCE 64
#define PULL_BYTES_MAX (256U << 10) /* of a document: 16 peers, 32 volumes, reasons, a curve */
#define PULL_EXFIL_ROUNDS 20        /* or when another policy is in force: once in ten minutes */

struct pull_got {
	const char *tray; /* the tray it comes from */
	const char *text; /* NULL: why gives the error */
	size_t len;
	const struct bwl_err *why;
	int64_t cert_end_s; /* end of its certificate, since 1970; 0: unknown this time */
};
struct pull_transport {
	/* 0: it has begun. One per tray. */
	int (*begin)(void *arg, const char *tray, const char *at, const char *path,
		     struct bwl_err *e);
	/* The next completed request; false: none. got's pointers are valid until the next call. */
	bool (*next)(void *arg, struct pull_got *got);
};

struct pull {
	struct model_set *set;
	const struct pull_transport *transport;
	void *arg;
	uint32_t (*chance)(void);
	unsigned running;
};
/*
 * Takes in what has arrived, and asks for what is due. Returns when to call again if nothing
 * arrives.
 */
uint64_t pull_step(struct pull *p, uint64_t now_ns, int64_t wall_s);

/* The transport by HTTPS. */
struct pull_https;
struct bwl_grpc_tls;
struct pull_https *pull_https_new(const struct bwl_grpc_tls *tls);
void pull_https_free(struct pull_https *h); /* NULL-safe */
extern const struct pull_transport pull_https_ops;
/* Waits until something has arrived, or that long. */
void pull_https_wait(struct pull_https *h, unsigned timeout_ms);

#endif
