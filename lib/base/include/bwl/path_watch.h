/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Notices when a file may have changed: its bytes, or what its name leads to. Followed are the
 * file itself, its name, each folder on the way there and each symbolic link, so also a target that
 * is written, a link that is made to lead elsewhere (Kubernetes' ..data), a folder that is moved
 * away and made anew, and a name that does not exist yet. Who misses an event anyway (a file system
 * of another machine, a mount over a folder) looks again from time to time.
 */
#ifndef BWL_PATH_WATCH_H
#define BWL_PATH_WATCH_H

#include <stdbool.h>
#include "bwl/err.h"

struct bwl_path_watch;
/* path: absolute, or relative to the folder that the program is in now. */
int bwl_path_watch_new(const char *path, struct bwl_path_watch **ret, struct bwl_err *e);
void bwl_path_watch_free(struct bwl_path_watch *w); /* NULL-safe */
/* Readable when there is something to be read by bwl_path_watch_drain(). */
int bwl_path_watch_fd(const struct bwl_path_watch *w);
/*
 * Reads what happened, and follows the name anew. True: read the file now. False: all of it was
 * about other names in the same folders.
 */
bool bwl_path_watch_drain(struct bwl_path_watch *w);

#endif
