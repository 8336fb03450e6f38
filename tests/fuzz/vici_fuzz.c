// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a packet from charon: refused, or a tree that is written again and reads back as the
 * same tree.
 */
#include "ipsec/vici.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bwl_vici_packet p, again;
	struct bwl_err e = { 0 };
	uint8_t *out;
	size_t len;
	int r;

	r = bwl_vici_decode(data, size, &p, &e);
	if (r) {
		must(r == -EBADMSG && e.code == EBADMSG && *e.text && !p.msg,
		     "refused, and said why");
		return 0;
	}
	must(json_is_object(p.msg), "a packet has a message");
	r = bwl_vici_encode(p.op, p.name, p.msg, &out, &len, &e);
	if (r) { /* in hexadecimal bytes take more room */
		must(r == -EMSGSIZE, "only too long");
	} else {
		must(((size_t)out[0] << 24 | out[1] << 16 | out[2] << 8 | out[3]) == len - 4,
		     "length");
		must(!bwl_vici_decode(out + 4, len - 4, &again, NULL),
		     "what was written can be read");
		must(again.op == p.op && !strcmp(again.name, p.name), "the same packet");
		must(json_equal(again.msg, p.msg), "the same message");
		json_decref(again.msg);
		free(out);
	}
	json_decref(p.msg);
	return 0;
}
