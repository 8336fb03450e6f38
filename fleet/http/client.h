/* SPDX-License-Identifier: GPL-2.0-or-later */
/* GET from a server with a certificate of our authority; we present ours. libcurl, TLS 1.3. */
#ifndef BWL_FLEET_HTTPS_CLIENT_H
#define BWL_FLEET_HTTPS_CLIENT_H

#include "fleet/store/grpc.h"

struct bwl_https_got {
	char *text; /* followed by a NUL; allocated with malloc() */
	size_t len, most;
	bool too_long; /* it was more than `most`, and the transfer was aborted */
};
/* Nothing is sent yet. NULL: out of memory. got must outlive it; its `most` is set. */
CURL *bwl_https_ask_new(const char *url, const struct bwl_grpc_tls *tls, unsigned timeout_s,
			struct bwl_https_got *got);
void bwl_https_got_done(struct bwl_https_got *got);
/*
 * The result of a transfer: 0, or why there is no document. A server's error document gives its own
 * words.
 */
int bwl_https_judge(CURL *h, CURLcode code, const struct bwl_https_got *got, struct bwl_err *e);

#endif
