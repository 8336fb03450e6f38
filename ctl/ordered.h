/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands of users without root. bwlimitd runs them, as a separate bwlimit-ctl, according to the
 * user's groups (agent/commands.c). ordered.c lists the permitted ones.
 */
#ifndef BWL_CTL_ORDERED_H
#define BWL_CTL_ORDERED_H

#include "ctl.h"

enum ctl_right {
	CTL_ROOT,    /* only root */
	CTL_MODEL,   /* also bwlimit-sync, which serves the controller with them: only numbers */
	CTL_READ,    /* members of bwlimit-read */
	CTL_OPERATE, /* members of bwlimit */
};
enum ctl_right ctl_right_of(const struct ctl_cmd *cmd);
/*
 * Does bwlimitd run it for users, although it only shows something? It reads a file that is root's:
 * what readers could open they could lock.
 */
bool ctl_reads_as_root(const struct ctl_cmd *cmd, int argc, char **argv);

/* Are we a command that bwlimitd runs for a user? Then BWLIMIT_ORDERED_BY names the user. */
bool ctl_is_ordered(void);
/*
 * If so: is it permitted? Not with an option outside the list, and not with a path: files are read
 * from standard input.
 */
int ctl_ordered_may(struct ctl *c, const struct ctl_cmd *cmd, int argc, char **argv);

/* forward.c: the sealed content of a file that we may read; negative: *e says why. */
int ctl_input_fd(const char *path, struct bwl_err *e);
/* Confirmations and messages before it is forwarded: 0, or wrong use. */
int ctl_ask_before(struct ctl *c, const struct ctl_cmd *cmd, int argc, char **argv);
/* revoke, stop: directly in the maps, silently. */
void ctl_close_first(const struct ctl *c, const struct ctl_cmd *cmd, int argc, char **argv);
/* Through bwlimitd. -1: it does not answer; otherwise the exit code, with everything printed. */
int ctl_forward(struct ctl *c, const struct ctl_cmd *cmd, int argc, char **argv);

/* ordered.c: the index of the word that names a file to read, which `-` replaces; -1: none. */
int ctl_file_word(const struct ctl_cmd *cmd, int argc, char **argv);

#endif
