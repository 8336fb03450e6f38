/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * This tray's read model for the controller: GET /v1/status, top, stats, usage, reasons, history,
 * exfil, by HTTPS (fleet/http/server.h), for clients with a controller's certificate. The documents
 * come from bwlimit-ctl, which bwlimitd runs for us (bwl/agent.h); and there is the status that
 * goes to the store.
 *
 * Why this way: the group bwlimit-sync may run these commands and nothing else (ctl/ordered.c). As
 * a member of bwlimit-read we could read the maps, the journal of closures and, through events, the
 * addresses that a host sends to: none of that is for the controller. A thief who controls this
 * process gets only these numbers.
 */
#ifndef BWL_SYNC_SERVE_H
#define BWL_SYNC_SERVE_H

#include <jansson.h>
#include "fleet/http/server.h"

#define SERVE_DOCUMENT_MAX (8U << 20) /* bytes; a policy of 10 000 peers has 3 MB of stats */
#define SERVE_CONNECTIONS 8
/*
 * On average more than 1 request a second is refused; and more than 256 KiB a second, which is 22
 * GB a day.
 */
#define SERVE_ASKS_AT_ONCE 16
#define SERVE_BYTES_AT_ONCE (32U << 20)
#define SERVE_BYTES_A_SECOND (256U << 10)

struct serve_conf {
	const char *at;
	const char *tls[_BWL_TLS_FILES]; /* read at open, and by serve_anew(); no CRL: NULL */
	const char *names[BWL_HTTPS_NAMES];
	const char *commands, *documents; /* bwlimitd's sockets */
};
/* {"argv": [WORD…]} for a path and a query. NULL: ENOENT, EINVAL. Also for tests. */
json_t *serve_words(const char *path, const char *(*value)(const void *arg, const char *key),
		    const void *arg, struct bwl_err *e);

struct serve;
int serve_open(const struct serve_conf *c, struct serve **ret, struct bwl_err *e);
int serve_anew(struct serve *s, struct bwl_err *e); /* bwl_https_anew(); s NULL: nothing */
struct bwl_tls_facts serve_tls(struct serve *s);
void serve_close(struct serve *s); /* NULL-safe */

#endif
