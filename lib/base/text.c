/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words: see text.h. */
#include <string.h>
#include <bwl/text.h>

bool bwl_is_listed(const char *const *list, unsigned n, const char *name)
{
	unsigned i;

	for (i = 0; i < n; i++)
		if (!strcmp(list[i], name))
			return true;
	return false;
}
