/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What may be asked, and the command of bwlimit-ctl that answers it. Pure. */
#ifndef BWL_SYNC_WORDS_H
#define BWL_SYNC_WORDS_H

#include <jansson.h>
#include "bwl/err.h"

#define SERVE_STATUS "/v1/status" /* no command: what is put into the store */

/*
 * {"argv": [WORD…]} for a path and what query() says of its options; NULL: there is no such path
 * (ENOENT), or an option is not one (EINVAL). What comes from outside is never an option's name.
 */
json_t *serve_words(const char *path, const char *(*query)(const void *arg, const char *key),
		    const void *arg, struct bwl_err *e);

#endif
