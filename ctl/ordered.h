/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands of people who are not root. bwlimitd runs them, as a bwlimit-ctl of its own, for who may
 * by his groups (agent/commands.c). ordered.c has the list of what may be ordered so.
 */
#ifndef BWL_CTL_ORDERED_H
#define BWL_CTL_ORDERED_H

#include "ctl.h"

enum ctl_right {
	CTL_ROOT,  /* nobody else's */
	CTL_MODEL, /* of bwlimit-sync, too, which serves the controller with them: numbers alone */
	CTL_READ,  /* of members of bwlimit-read */
	CTL_OPERATE, /* of members of bwlimit */
};
enum ctl_right ctl_right_of(const struct ctl_cmd *cmd);

/* Are we a command that bwlimitd runs for somebody? Then BWLIMIT_ORDERED_BY says for whom. */
bool ctl_is_ordered(void);
/*
 * Then: may he do that? Not with an option that is not in the list, and by no path: what is read
 * from a file comes on standard input.
 */
int ctl_ordered_may(struct ctl *c, const struct ctl_cmd *cmd, int argc, char **argv);

/* forward.c: what a file has, as we may read it, sealed; negative: *e says why. */
int ctl_input_fd(const char *path, struct bwl_err *e);
/* What must be asked or said before it goes there: 0, or wrong use. */
int ctl_ask_before(struct ctl *c, const struct ctl_cmd *cmd, int argc, char **argv);
/* revoke, stop: by the maps, silently. */
void ctl_close_first(const struct ctl *c, const struct ctl_cmd *cmd, int argc, char **argv);
/* By bwlimitd. -1: nobody answers there; else the exit code, and all has been printed.
 */
int ctl_forward(struct ctl *c, const struct ctl_cmd *cmd, int argc, char **argv);

/* ordered.c: the index of the word that names a file to read, which `-` replaces; -1: none does. */
int ctl_file_word(const struct ctl_cmd *cmd, int argc, char **argv);

#endif
