/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --help of bwlimit-load. */
#ifndef BWL_LOADER_HELP_H
#define BWL_LOADER_HELP_H

/* Of one command; NULL: of all. Prints on standard output. */
void load_help(const char *command);

#endif
