// SPDX-License-Identifier: GPL-2.0-or-later
/* What both forms of documents have: types, audiences, errors. */
#include <stdlib.h>
#include <string.h>
#include "signed/envelope_parts.h"
#include "signed/text.h"

static const char *const word[] = {
#define X(t, w, role, one) [BWL_SIGNED_##t] = (w),
	BWL_SIGNED_TYPES(X)
#undef X
};

const char *bwl_signed_word(enum bwl_signed_type t)
{
	return t < _BWL_SIGNED_MAX ? word[t] : "?";
}

enum bwl_role bwl_signed_role(enum bwl_signed_type t)
{
	static const enum bwl_role role_of[] = {
#define X(t, w, role, one) [BWL_SIGNED_##t] = role,
		BWL_SIGNED_TYPES(X)
#undef X
	};

	return role_of[t];
}

int envelope_malformed(struct bwl_err *e, const char *what)
{
	bwl_fail(e, EBADMSG, "not a signed document: %s", what);
	if (e)
		e->id = "signed-malformed";
	return -EBADMSG;
}

/* "tray:NAME" or "label:KEY=VALUE" */
static bool is_audience_word(const char *s, size_t n)
{
	const char *eq = memchr(s, '=', n);

	if (n > 5 && !memcmp(s, "tray:", 5))
		return bwl_is_name(s + 5, n - 5);
	return n > 6 && !memcmp(s, "label:", 6) && bwl_is_label(s + 6, n - 6) && eq;
}

/* The next word of a list; NULL: the end. */
static const char *next_word(const char **at, size_t *ret_len)
{
	const char *s = *at;

	if (!s)
		return NULL;
	*ret_len = strcspn(s, ",");
	*at = s[*ret_len] ? s + *ret_len + 1 : NULL;
	return s;
}

int bwl_audience_check(const char *audience, struct bwl_err *e)
{
	const char *at = audience, *s, *other;
	size_t n, m;

	if (!strcmp(audience, "all"))
		return 0;
	while ((s = next_word(&at, &n))) {
		const char *rest = at;

		if (!is_audience_word(s, n))
			return bwl_fail(
				e, EINVAL,
				"'%.64s': an audience must be `all`, or tray:NAME and label:KEY=VALUE separated by commas",
				audience);
		while ((other = next_word(&rest, &m)))
			if (m == n && !memcmp(s, other, n))
				return bwl_fail(e, EINVAL, "duplicate '%.*s' in an audience",
						(int)n, s);
	}
	return 0;
}

bool bwl_audience_has(const char *audience, const struct bwl_tray *who)
{
	const char *at = audience, *s;
	size_t n;

	if (!strcmp(audience, "all"))
		return true;
	while ((s = next_word(&at, &n))) {
		if (n > 5 && !memcmp(s, "tray:", 5) && strlen(who->name) == n - 5 &&
		    !memcmp(s + 5, who->name, n - 5))
			return true;
		for (size_t i = 0; i < who->nlabels; i++)
			if (n > 6 && !memcmp(s, "label:", 6) && strlen(who->labels[i]) == n - 6 &&
			    !memcmp(s + 6, who->labels[i], n - 6))
				return true;
	}
	return false;
}

void bwl_envelope_free(struct bwl_envelope *v)
{
	free(v->payload);
	free(v->sig);
	*v = (struct bwl_envelope){ 0 };
}
