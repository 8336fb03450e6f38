/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where another program of bwlimit is: what the environment variable names, else beside this one.
 */
#ifndef BWL_BESIDE_H
#define BWL_BESIDE_H

#include <limits.h>

void bwl_beside(const char *variable, const char *name, char ret_path[static PATH_MAX]);

#endif
