/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of a word that is counted: printf("%u peer%s", n, BWL_S(n)). */
#ifndef BWL_PLURAL_H
#define BWL_PLURAL_H

#define BWL_S(n) ((n) == 1 ? "" : "s")
#define BWL_ES(n) ((n) == 1 ? "" : "es")

#endif
