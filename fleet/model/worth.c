// SPDX-License-Identifier: GPL-2.0-or-later
/* See answer.h: what a tray's newest status is worth now. */
#include "answer.h"

enum status_worth model_worth(const struct model_asked *a, const struct model_tray *t)
{
	struct status_now now = { a->now_ns, a->wall_s };

	return status_worth(&t->by, &t->last, &now);
}

bool model_is_doubtful(const struct model_asked *a, const struct model_tray *t)
{
	enum status_worth w = model_worth(a, t);

	return t->status_mod &&
	       (w == STATUS_REFUSED || w == STATUS_UNJUDGED || (w == STATUS_LATE && t->alive));
}
