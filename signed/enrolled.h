/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is this DPU a tray of a fleet? Then what is in force comes from signed documents, and local tools
 * can only tighten. Reads one file: for callers that must not wait.
 */
#ifndef BWL_SIGNED_ENROLLED_H
#define BWL_SIGNED_ENROLLED_H

#include <stdbool.h>

/*
 * dir: the state directory. If it cannot be read, or is damaged, the tray counts as enrolled:
 * damaging the memory must not end the enrolment.
 */
bool bwl_is_enrolled(const char *dir);

#endif
