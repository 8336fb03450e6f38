/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses a request's head beyond the path. Pure, and fuzzed. */
#ifndef BWL_WEB_HEAD_H
#define BWL_WEB_HEAD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/*
 * Is a Host field (or an :authority) the listening address, or a configured name, with its port or
 * none? Anything else comes from a foreign page whose name was pointed here. names ends with NULL.
 */
bool head_is_our_host(const char *host, const struct sockaddr *at, const char *const *names);
/* Does an Accept field prefer OpenMetrics to Prometheus' own text? */
bool head_wants_openmetrics(const char *accept);
/* "top,status": calls fn for each word. false: fn refused one, or it is not a list of words. */
bool head_each_word(const char *list, bool (*fn)(void *arg, const char *word), void *arg);
/* "1s", "2500ms", at least 1 s and at most an hour; 0: invalid. */
uint64_t head_every_ns(const char *text);

#endif
