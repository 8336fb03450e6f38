/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part that answers `bwlimit-ctl --fleet status` and similar: fleet/model/model.h. */
#ifndef BWL_CONTROLLER_NUMBERS_H
#define BWL_CONTROLLER_NUMBERS_H

#include "module.h"

extern const struct ctrl_module numbers_module; /* nothing without --serve */

#endif
