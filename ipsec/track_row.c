// SPDX-License-Identifier: GPL-2.0-or-later
/* See track_row.h. */
#include <arpa/inet.h>
#include "track_row.h"

const char *bwl_track_offload_name(unsigned int offload)
{
	static const char *const names[_BWL_OFFLOAD_MAX] = { "none", "crypto", "packet" };

	return offload < _BWL_OFFLOAD_MAX ? names[offload] : "?";
}

static bool leaves(const struct bwl_track_row *r)
{
	return r->v->flags & BWL_TUN_SA;
}

static const char *other(const struct bwl_track_verdict *v, char buf[static BWL_XFRM_ADDR_BUF])
{
	return v->other.family ? bwl_xfrm_addr_text(&v->other, buf) : NULL;
}

static struct bwl_value spi(__be32 value, bool used)
{
	return used ? bwl_v_both(bwl_json_spi(value), "%08x", ntohl(value))
		    : bwl_v_json(bwl_json_spi(value));
}

static struct bwl_value offload(const struct bwl_track_row *r)
{
	bool bare = r->v->offload == BWL_OFFLOAD_PACKET && !(r->v->flags & BWL_TUN_BENEATH);
	const char *name = bwl_track_offload_name(r->v->offload);

	return leaves(r) ? bwl_v_both(json_string(name), "%s%s", name,
				      bare ? " (no drop policy)" : "")
			 : bwl_v_json(json_null());
}

#define FIELD(field, key, head, value)                                                             \
	static struct bwl_value get_##field(const void *row)                                       \
	{                                                                                          \
		const struct bwl_track_row *r = row;                                               \
                                                                                                   \
		return value;                                                                      \
	}                                                                                          \
	static const struct bwl_field field_##field = { key, head, get_##field }

FIELD(peer, "peer", "~PEER", bwl_v_text(bwl_peer_name(r->pins, r->id, (char[BWL_NAME_LEN]){ 0 })));
FIELD(if_id, "if_id", ">IF_ID", bwl_v_count(r->id));
FIELD(sa_out, "sa_out", "LEAVES",
      bwl_v_both(json_boolean(leaves(r)), "%s", leaves(r) ? "yes" : bwl_track_why_name(r->v->why)));
FIELD(sa_in, "sa_in", NULL, bwl_v_yes(r->v->flags &BWL_TUN_SA_IN));
FIELD(sa_state, "sa_state", NULL, bwl_v_text(bwl_track_why_name(r->v->why)));
FIELD(text, "text", NULL, bwl_v_text(bwl_track_why_text(r->v->why)));
FIELD(spi_out, "spi_out", "?OUT", spi(r->v->spi_out, leaves(r)));
FIELD(spi_in, "spi_in", "?IN", spi(r->v->spi_in, r->v->flags &BWL_TUN_SA_IN));
FIELD(offload, "offload", "OFFLOAD", offload(r));
FIELD(overhead, "overhead_bytes", "?>ADDS",
      r->v->overhead ? bwl_v_count(r->v->overhead) : bwl_v_json(json_null()));
FIELD(beneath, "device_drops_rest", NULL, bwl_v_yes(r->v->flags &BWL_TUN_BENEATH));
FIELD(alarm, "alarm", "ALARM", bwl_v_text(r->v->alarm ? bwl_track_why_name(r->v->alarm) : NULL));
FIELD(other, "other", NULL, bwl_v_text(other(r->v, (char[BWL_XFRM_ADDR_BUF]){ 0 })));

const struct bwl_column bwl_track_columns[] = {
	{ &field_peer, BWL_BOTH },     { &field_if_id, BWL_BOTH },
	{ &field_sa_out, BWL_BOTH },   { &field_sa_in, BWL_BOTH },
	{ &field_sa_state, BWL_BOTH }, { &field_text, BWL_BOTH },
	{ &field_spi_out, BWL_BOTH },  { &field_spi_in, BWL_BOTH },
	{ &field_offload, BWL_BOTH },  { &field_overhead, BWL_BOTH },
	{ &field_beneath, BWL_BOTH },  { &field_alarm, BWL_BOTH },
	{ &field_other, BWL_BOTH },    { NULL, BWL_BOTH },
};

void bwl_track_warn(const struct bwl_pins *p, uint32_t id, const struct bwl_track_verdict *v)
{
	char buf[BWL_XFRM_ADDR_BUF], name[BWL_NAME_LEN];
	const char *at = other(v, buf), *peer = bwl_peer_name(p, id, name);

	bwl_warn("%s (if_id %u): %s: %s%s%s", peer ? peer : "-", id, bwl_track_why_name(v->alarm),
		 bwl_track_why_text(v->alarm), at ? ": " : "", at ? at : "");
}
