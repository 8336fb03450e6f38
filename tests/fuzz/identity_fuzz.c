// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as IKE identities, one a line: refused with a reason, or with a canonical form that is
 * parsed again as the same, and that matches no more than one tray. unit.identity compares with
 * charon.
 */
#include <strings.h>
#include "bwl/identity.h"
#include "fuzz.h"

static void one(const char *s, struct bwl_identity *ret, bool *ret_is)
{
	struct bwl_identity again;
	struct bwl_err e = { 0 };

	*ret_is = !bwl_identity_parse(s, ret, &e);
	if (!*ret_is) {
		must(e.code && *e.text && *e.hint, "refused, and said why");
		return;
	}
	must(*ret->text && strlen(ret->text) <= BWL_IDENTITY_MAX, "bounded");
	must(!strpbrk(ret->text, "*%\"\\\n"), "no pattern, and can be written between quotes");
	must(!bwl_identity_parse(ret->text, &again, &e), "the canonical form is one");
	must(again.type == ret->type && !strcmp(again.text, ret->text), "of itself");
	must(bwl_identity_equals(ret, &again), "the same");
	must(bwl_identity_is_shown(ret, strstr(ret->text, ":") && ret->type < BWL_IDENTITY_ADDRESS
						? strchr(ret->text, ':') + 1
						: ret->text),
	     "as it is shown");
	must(bwl_identity_is_peer(s, "x", s) == bwl_identity_is_tray(ret, s) || !strcasecmp(s, "x"),
	     "a tray by its parsed form");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = strndup((const char *)data, size), *rest = text, *s;
	struct bwl_identity before, x;
	bool was = false, is;

	while ((s = strsep(&rest, "\n"))) {
		one(s, &x, &is);
		if (is && was) {
			bool equal = bwl_identity_equals(&x, &before);

			must(equal == bwl_identity_equals(&before, &x), "symmetric");
			must(equal || strcmp(x.text, before.text) != 0, "by their text");
		}
		before = x;
		was = is;
	}
	free(text);
	return 0;
}
