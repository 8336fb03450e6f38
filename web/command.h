/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs bwlimit-ctl --fleet, for an asker: on a desk or a controller there is no bwlimitd to do it.
 */
#ifndef BWL_WEB_COMMAND_H
#define BWL_WEB_COMMAND_H

#include <jansson.h>
#include <stddef.h>
#include "bwl/err.h"

/*
 * Runs `program --fleet WORD… --conf FILE`; conf NULL: without --conf. Returns its exit code, and
 * its standard output, at most `most` bytes, which the caller frees.
 */
int command_run(const char *program, const char *conf, const json_t *argv, size_t most, char **ret,
		size_t *ret_len, int *ret_exit, struct bwl_err *e);

#endif
