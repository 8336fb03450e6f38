// SPDX-License-Identifier: GPL-2.0-or-later
/* `tamper`: bwlimitd's action for each sign that somebody tampers with the machine. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "policy_conv.h"

static const char *const inputs[_BWL_TAMPER_MAX] = {
#define X(k) [BWL_TAMPER_##k] = #k,
	BWL_TAMPER_KEYS(X)
#undef X
};
static const char *const actions[_BWL_ACTION_MAX] = { "log", "clamp", "revoke", "revoke-peer",
						      "destroy" };
/* Inputs that can name a peer. */
static const bool names_peer[_BWL_TAMPER_MAX] = {
	[BWL_TAMPER_cleartext] = true,
	[BWL_TAMPER_command] = true,
};

const char *bwl_tamper_name(unsigned input)
{
	return input < _BWL_TAMPER_MAX ? inputs[input] : "unknown";
}

const char *bwl_action_name(unsigned action)
{
	return action < _BWL_ACTION_MAX ? actions[action] : "unknown";
}

static int take(struct bwl_conv *c, unsigned input, const char *s)
{
	unsigned a = 0;

	while (a < _BWL_ACTION_MAX && strcmp(s, actions[a]))
		a++;
	if (a == BWL_ACTION_REVOKE_PEER && !names_peer[input])
		return bwl_fail(
			c->e, EINVAL,
			"tamper: %s cannot be '%.64s', only log, clamp, revoke or destroy: it names no peer (only cleartext and command do)",
			inputs[input], s);
	if (a == _BWL_ACTION_MAX)
		return bwl_fail(c->e, EINVAL, "tamper: %s '%.64s': log, clamp%s", inputs[input], s,
				names_peer[input] ? ", revoke, revoke-peer or destroy"
						  : ", revoke or destroy");
	c->p->tamper[input] = (uint8_t)a;
	return 0;
}

void bwl_conv_tamper(struct bwl_conv *c, const struct bwl_text_tamper *t)
{
	unsigned back = bwl_conv_down(c, "tamper"), in = c->w.n;

	for (unsigned i = 0; t && i < _BWL_TAMPER_MAX; i++) {
		bwl_conv_down(c, inputs[i]);
		bwl_conv_ok(c, t->value[i] ? take(c, i, t->value[i]) : 0, in);
	}
	c->w.n = back;
}

void bwl_tamper_dump(const struct bwl_policy *p, FILE *f)
{
	bool any = false;

	for (unsigned i = 0; i < _BWL_TAMPER_MAX; i++) {
		if (!p->tamper[i])
			continue;
		fprintf(f, "%s%s: %s", any ? ", " : "tamper: { ", inputs[i],
			bwl_action_name(p->tamper[i]));
		any = true;
	}
	if (any)
		fputs(" }\n", f);
}
