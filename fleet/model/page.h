/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The requested part of a list of trays, in its order: see struct model_page. */
#ifndef BWL_FLEET_MODEL_PAGE_H
#define BWL_FLEET_MODEL_PAGE_H

#include "versions.h"

/* The selected trays on the page, *ret_n of them; the caller frees the list. */
const struct model_tray **model_page_trays(const struct model_asked *a,
					   const struct model_version *versions, size_t nversions,
					   size_t *ret_n);

#endif
