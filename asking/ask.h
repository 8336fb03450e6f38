/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bwlimitd is asked, by one of its sockets, with a time limit. */
#ifndef BWL_ASKING_ASK_H
#define BWL_ASKING_ASK_H

#include <jansson.h>
#include <stddef.h>
#include "bwl/err.h"

/*
 * A command: what it says on standard output, at most `most` bytes, which the caller frees, and its
 * exit code. -ENOTCONN: nobody answers.
 */
int asking_command(const char *socket_path, const json_t *what, size_t most, char **ret,
		   size_t *ret_len, int *ret_exit, struct bwl_err *e);
/*
 * A command that goes on (`top`): a connection, from which what it says is read; nothing else was
 * said to it. Negative: as above.
 */
int asking_stream(const char *socket_path, const json_t *argv, struct bwl_err *e);
/* The tray's status; the caller frees it. */
int asking_status(const char *socket_path, char **ret, size_t *ret_len, struct bwl_err *e);

#endif
