/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The path of another bwlimit program: from the environment variable, otherwise beside this
 * program.
 */
#ifndef BWL_BESIDE_H
#define BWL_BESIDE_H

#include <limits.h>

void bwl_beside(const char *variable, const char *name, char ret_path[static PATH_MAX]);

#endif
