// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * strongSwan's part of a policy file: the top-level `ipsec`, and a peer's `id` and `ppk`. One table
 * has every key with its domain and default (policy_key.h).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "policy_key.h"
#include "bwl/identity.h"

#define S 1000000000ULL
#define KEY(k, member) BWL_KEY(#k, bwl_text_node_ipsec, value[BWL_IPSEC_##k], bwl_pol_ipsec, member)

static const struct bwl_key keys[] = {
	{ KEY(id, id), .kind = BWL_K_ID },
	{ KEY(local, local), .kind = BWL_K_ADDRESS },
	{ KEY(ca, ca), .kind = BWL_K_NAME },
	{ KEY(ppk, ppk), .kind = BWL_K_NAME },
	{ KEY(start, start), .kind = BWL_K_WORD, .standard = "auto",
	  .words = "auto, trap|start, start or trap" },
	{ KEY(revocation, revocation), .kind = BWL_K_WORD, .standard = "strict",
	  .words = "strict, ifuri or relaxed" },
	{ KEY(hw_offload, hw_offload), .kind = BWL_K_WORD, .standard = "auto",
	  .words = "auto, no, crypto or packet" },
#define TIME(k, standard_, min_, max_)                                                             \
	KEY(k, k##_ns), .kind = BWL_K_TIME, .standard = standard_, .min = (min_)*S,                \
			.max = (max_)*S, .seconds = true
	{ TIME(rekey, "50m", 10, 86400) },
	{ TIME(hard, "1h", 11, 86400) },
	{ TIME(ike_rekey, "2h", 20, 604800) },
	{ TIME(reauth, "none", 60, 2592000), .words = "none" },
	{ TIME(dpd, "10s", 1, 3600) },
	{ KEY(replay_window, replay_window), .kind = BWL_K_NUMBER, .standard = "256", .min = 32,
	  .max = 4096 },
	{ KEY(copy_ecn, copy_ecn), .kind = BWL_K_YESNO, .words = "false or true" },
	{ .name = NULL },
};
_Static_assert(sizeof(keys) / sizeof(keys[0]) == _BWL_IPSEC_MAX + 1, "a row for each key");

void bwl_ipsec_defaults(struct bwl_pol_ipsec *x)
{
	bwl_keys_defaults(keys, x);
}

void bwl_conv_ipsec(struct bwl_conv *c, const struct bwl_text_node_ipsec *t)
{
	unsigned back = bwl_conv_down(c, "ipsec");

	if (t)
		bwl_conv_keys(c, keys, t, &c->p->ipsec);
	c->w.n = back;
}

void bwl_conv_peer_ipsec(const struct bwl_text_ipsec *t, struct bwl_pol_peer *x)
{
	struct bwl_identity id;

	/* the canonical form; what has none is refused when it is checked */
	if (t->id)
		x->ipsec_id = bwl_must(
			strdup(bwl_identity_parse(t->id, &id, NULL) ? t->id : id.text));
	x->ipsec_ppk = t->ppk ? bwl_must(strdup(t->ppk)) : NULL;
}

void bwl_check_ipsec(struct bwl_check *c)
{
	struct bwl_pol_ipsec *x = &c->p->ipsec;

	bwl_check_keys(c, keys, "ipsec", x);
	bwl_check_at(c, "ipsec", SIZE_MAX, "hard", 0);
	if (x->hard_ns <= x->rekey_ns && bwl_sure(c->rep, "ipsec/rekey/"))
		BWL_BAD(c, EINVAL,
			"ipsec: hard must be longer than rekey, or an SA ends before its successor exists");
}

void bwl_check_peer_ipsec(struct bwl_check *c, size_t i, const char *who)
{
	struct bwl_pol_peer *x = &c->p->peers[i];
	char what[96];

	bwl_check_peer_at(c, i, "ipsec", "id");
	if (x->ipsec_id) {
		bwl_check_words(what, sizeof(what), who, ": ", "ipsec id ");
		bwl_check_tell(c, bwl_check_id(c->e, what, x->ipsec_id));
	}
	bwl_check_peer_at(c, i, "ipsec", "ppk");
	if (x->ipsec_ppk && !bwl_check_name(x->ipsec_ppk, sizeof(c->p->ipsec.ppk) - 1))
		BWL_BAD(c, EINVAL, "%s: ipsec ppk '%.64s' is not a name: " BWL_PPK_DOMAIN, who,
			x->ipsec_ppk);
}

void bwl_ipsec_dump(const struct bwl_policy *p, FILE *f)
{
	struct bwl_pol_ipsec standard = { 0 };

	bwl_ipsec_defaults(&standard);
	bwl_dump_keys(keys, &p->ipsec, &standard, "ipsec:\n", "  ", f);
}

void bwl_ipsec_dump_peer(const struct bwl_pol_peer *x, FILE *f)
{
	if (x->ipsec_id)
		fprintf(f, ", id: \"%s\"", x->ipsec_id);
	if (x->ipsec_ppk)
		fprintf(f, ", ppk: \"%s\"", x->ipsec_ppk);
}
