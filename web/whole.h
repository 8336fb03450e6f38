/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether a text is one JSON object from its beginning to its end, and not a part of one. It is
 * not parsed: of 32 MiB that would take several times as much memory.
 */
#ifndef BWL_WEB_WHOLE_H
#define BWL_WEB_WHOLE_H

#include <stdbool.h>
#include <stddef.h>

bool whole_object(const char *text, size_t len);

#endif
