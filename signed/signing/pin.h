/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The PIN of a token: never from the command line, which every user of a machine can read. */
#ifndef BWL_SIGNED_PIN_H
#define BWL_SIGNED_PIN_H

#include <bwl/err.h>

#define BWL_PIN_MAX 128 /* bytes, with the NUL */
#define BWL_PIN_PATH 256

/*
 * Removes `pin-source` from a PKCS#11 URI and returns its path; "": absent. EINVAL: the URI
 * contains the PIN itself. uri is changed in place.
 */
int bwl_pin_source(char *uri, char path[static BWL_PIN_PATH], struct bwl_err *e);
/* The first line of a file that nobody else may read. */
int bwl_pin_read(const char *path, char ret[static BWL_PIN_MAX], struct bwl_err *e);
/* Asks at the terminal, without an echo. */
int bwl_pin_ask(const char *token, char ret[static BWL_PIN_MAX], struct bwl_err *e);

#endif
