/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of a policy that stand for the contract's enumerations, and back. */
#ifndef BWL_WORDS_H
#define BWL_WORDS_H

#include <stdbool.h>
#include <stdint.h>
#include <bwl/err.h>
#include "maps/words.h"

static inline const char *bwl_share_name(bool weighted)
{
	return weighted ? "weighted" : "first-come";
}
const char *bwl_mode_name(unsigned mode);
const char *bwl_path_name(unsigned path);
const char *bwl_class_name(unsigned class_);
int bwl_mode_parse(const char *s, uint8_t *ret, struct bwl_err *e);
int bwl_class_parse(const char *s, uint8_t *ret, struct bwl_err *e);

#endif
