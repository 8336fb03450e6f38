/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Is a text exactly one complete JSON object? It is not parsed: for 32 MiB that would need several
 * times as much memory.
 */
#ifndef BWL_WEB_WHOLE_H
#define BWL_WEB_WHOLE_H

#include <stdbool.h>
#include <stddef.h>

bool whole_object(const char *text, size_t len);

#endif
