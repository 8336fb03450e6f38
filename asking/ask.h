/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Asks bwlimitd, through one of its sockets, with a time limit. */
#ifndef BWL_ASKING_ASK_H
#define BWL_ASKING_ASK_H

#include <jansson.h>
#include <stddef.h>
#include "bwl/err.h"

/*
 * Runs a command: returns its standard output, at most `most` bytes, which the caller frees, and
 * its exit code. -ENOTCONN: no answer.
 */
int asking_command(const char *socket_path, const json_t *what, size_t most, char **ret,
		   size_t *ret_len, int *ret_exit, struct bwl_err *e);
/*
 * Starts a command that keeps running (`top`) and returns a connection from which its output is
 * read; nothing more is sent to it. Negative: as above.
 */
int asking_stream(const char *socket_path, const json_t *argv, struct bwl_err *e);
/* The tray's status; the caller frees it. */
int asking_status(const char *socket_path, char **ret, size_t *ret_len, struct bwl_err *e);

#endif
