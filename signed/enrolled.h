/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is this DPU a tray of a fleet? Then what is in force comes from signed documents, and local tools
 * only tighten. One look at a file: for whoever must not wait.
 */
#ifndef BWL_SIGNED_ENROLLED_H
#define BWL_SIGNED_ENROLLED_H

#include <stdbool.h>

/*
 * dir: the state directory. What cannot be looked at, or is damaged, counts as enrolled: whoever
 * damages the memory of it must not be free of it.
 */
bool bwl_is_enrolled(const char *dir);

#endif
