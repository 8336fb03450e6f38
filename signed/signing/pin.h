/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The PIN of a token: never of the command line, which every user of a machine reads. */
#ifndef BWL_SIGNED_PIN_H
#define BWL_SIGNED_PIN_H

#include <bwl/err.h>

#define BWL_PIN_MOST 128 /* bytes, with the NUL */
#define BWL_PIN_PATH 256

/*
 * Takes `pin-source` out of a PKCS#11 URI, as a path; "": it has none. EINVAL: it has the PIN
 * itself. uri is changed in place.
 */
int bwl_pin_source(char *uri, char path[static BWL_PIN_PATH], struct bwl_err *e);
/* The first line of a file that nobody else may read. */
int bwl_pin_read(const char *path, char ret[static BWL_PIN_MOST], struct bwl_err *e);
/* At the terminal, without an echo. */
int bwl_pin_ask(const char *token, char ret[static BWL_PIN_MOST], struct bwl_err *e);

#endif
