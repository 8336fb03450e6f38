/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words. */
#ifndef BWL_TEXT_H
#define BWL_TEXT_H

#include <stdbool.h>

/* Is name one of the n words? */
bool bwl_is_listed(const char *const *list, unsigned n, const char *name);

#endif
