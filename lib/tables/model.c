// SPDX-License-Identifier: GPL-2.0-or-later
/* What is in the maps at this moment, with one encoder for each part: see bwl/model.h. */
#include <arpa/inet.h>
#include <string.h>
#include "bwl/model.h"

#define LOAD(word) __atomic_load_n(&(word), __ATOMIC_SEQ_CST)

int bwl_view_open(const char *dir, bool writable, struct bwl_view *ret, struct bwl_err *e)
{
	uint32_t slot;
	int r;

	*ret = (struct bwl_view){ 0 };
	r = bwl_pins_open(dir, writable, &ret->pins, e);
	if (r)
		return r;
	ret->now_ns = bwl_now_ns();
	slot = bwl_active_slot(ret->pins);
	if (slot == BWL_NO_SLOT)
		return 0;
	r = bwl_gen_open(ret->pins, slot, &ret->gen, e);
	ret->has_gen = !r;
	if (r)
		bwl_view_close(ret);
	return r;
}

void bwl_view_close(struct bwl_view *v)
{
	if (v->has_gen)
		bwl_gen_close(&v->gen);
	bwl_pins_close(v->pins);
	*v = (struct bwl_view){ 0 };
}

uint64_t bwl_silent_at(const struct bwl_view *v)
{
	return v->gen.base->heartbeat_ns ? LOAD(v->pins->ctl->heartbeat_ns) : BWL_NEVER_NS;
}

enum bwl_standing bwl_standing(const struct bwl_view *v, uint32_t id, const struct bwl_peer *body)
{
	if (!(body->meta.flags & BWL_PEER_GRANT))
		return BWL_STAND_NONE;
	if (bwl_revoked_since(v->pins, id, body->meta.grant_seq))
		return BWL_STAND_REVOKED;
	if (v->now_ns >= body->meta.expiry_ns ||
	    (bwl_is_trial_over(v->pins, v->now_ns) && id != v->gen.base->self_id))
		return BWL_STAND_EXPIRED;
	return v->now_ns >= bwl_silent_at(v) ? BWL_STAND_SILENT : BWL_STAND_LIVE;
}

bool bwl_enforced(const struct bwl_view *v, uint32_t id, const struct bwl_peer *body)
{
	enum bwl_standing now = bwl_standing(v, id, body);

	/* Silence ends with the next heartbeat: that does not end the dry run. */
	return (now != BWL_STAND_LIVE && now != BWL_STAND_SILENT) ||
	       bwl_mode_enforces(body->meta.mode);
}

uint32_t bwl_limit_peer(const struct bwl_pins *p, uint32_t state)
{
	const uint32_t n = p->schema.max_peers;
	const struct bwl_extra *x;

	if (state < BWL_EXTRA_STATE(n, 0))
		return state == bwl_grant_state(state / 2) ? state / 2 : 0;
	x = &p->extra[(state - BWL_EXTRA_STATE(n, 0)) / 2];
	return x->kind == BWL_X_CLASS || x->kind == BWL_X_TENANT ? x->peer : 0;
}

bool bwl_limit_enforced(const struct bwl_view *v, uint32_t state)
{
	uint32_t id = bwl_limit_peer(v->pins, state);
	const struct bwl_peer *body = id ? bwl_body(v->pins, &v->gen, id) : NULL;

	return !body || bwl_enforced(v, id, body);
}

bool bwl_is_bare(const struct bwl_peer *body)
{
	return body->grant.rate.flags & BWL_RATE_UNLIMITED &&
	       body->grant.volume.spendable_bytes == BWL_VOLUME_NONE;
}

const char *bwl_standing_name(enum bwl_standing s)
{
	static const char *const names[] = {
		[BWL_STAND_LIVE] = "live",     [BWL_STAND_EXPIRED] = "expired",
		[BWL_STAND_SILENT] = "silent", [BWL_STAND_REVOKED] = "revoked",
		[BWL_STAND_NONE] = "no-grant",
	};

	return names[s];
}

void bwl_grant_left(const struct bwl_view *v, uint32_t id, const struct bwl_peer *body,
		    struct bwl_left *ret)
{
	bwl_limit_left(v->pins, &body->grant.rate, &body->grant.volume, bwl_grant_state(id),
		       v->now_ns, ret);
}

/* Why this peer's packets are not paced; NULL: they are. */
static const char *no_pace(const struct bwl_pins *pins, uint32_t id)
{
	if (bwl_carried_by_now(pins, id, bwl_now_ns()) == BWL_CARRIED_XDP)
		return "carried by XDP";
	return bwl_not_paced(pins);
}

bool bwl_paces(const struct bwl_pins *pins, uint32_t id)
{
	return !no_pace(pins, id);
}

const char *bwl_mode_in_force(const struct bwl_pins *pins, uint32_t id, unsigned mode)
{
	return bwl_mode_name(mode == BWL_MODE_SHAPE && no_pace(pins, id) ? BWL_MODE_POLICE : mode);
}

struct bwl_value bwl_v_mode(const struct bwl_pins *pins, uint32_t id, unsigned mode)
{
	const char *why = bwl_mode_paces(mode) ? no_pace(pins, id) : NULL;
	json_t *o = json_string(bwl_mode_in_force(pins, id, mode));

	if (!why)
		return bwl_v_both(o, "%s%s", bwl_mode_name(mode),
				  bwl_mode_enforces(mode) ? "" : BWL_NOT_ENFORCED);
	return bwl_v_both(o,
			  mode == BWL_MODE_SHAPE ? "shape (polices: %s)" : "mark (then drops: %s)",
			  why);
}

const char *bwl_offload_name(const struct bwl_tunnel *t)
{
	static const char *const names[_BWL_OFFLOAD_MAX] = {
		[BWL_OFFLOAD_NONE] = "none",
		[BWL_OFFLOAD_CRYPTO] = "crypto",
		[BWL_OFFLOAD_PACKET] = "packet",
	};

	return t && t->flags & BWL_TUN_SA && t->offload < _BWL_OFFLOAD_MAX ? names[t->offload]
									   : NULL;
}

const char *bwl_switch_name(const struct bwl_pins *p)
{
	static const char *const names[] = {
		[BWL_RUN] = "running",
		[BWL_STOPPED] = "stopped",
		[BWL_UPGRADING] = "upgrading",
		[BWL_CLOSED] = "closed",
		[BWL_CLOSED_UNJUDGED] = "closed",
		[BWL_UNJUDGED] = "unjudged",
		[BWL_STOPPED_UNJUDGED] = "stopped",
	};
	uint32_t now = LOAD(p->ctl->stop);

	return names[now <= BWL_STOPPED_UNJUDGED ? now : BWL_STOPPED];
}

const char *bwl_ledger_name(const struct bwl_pins *p)
{
	uint32_t now = LOAD(p->ctl->ledger);

	return now & BWL_LEDGER_TPM ? "tpm" : now & BWL_LEDGER_CAME ? "unbound" : "none";
}

json_t *bwl_json_lease(const struct bwl_lease_now *l, uint64_t now_ns)
{
	json_t *o = json_pack("{s:s}", "state", bwl_lease_word(l->state));

	json_object_set_new(o, "longest_s",
			    l->longest_ns ? bwl_json_span(l->longest_ns) : json_null());
	json_object_set_new(o, "ends_in_s",
			    l->until_ns ? bwl_json_in(l->until_ns, now_ns) : json_null());
	json_object_set_new(o, "renewed_ago_s", bwl_json_ago(l->renewed_ns, now_ns));
	return o;
}

json_t *bwl_json_tunnel(const struct bwl_view *v, const struct bwl_pol_peer *p, uint32_t id)
{
	const struct bwl_tunnel *t = &v->pins->tunnel[id];
	unsigned carried_by = bwl_carried_by_now(v->pins, id, v->now_ns);
	bool offload = p->path == BWL_PATH_OFFLOAD;
	json_t *o = json_pack("{s:I, s:b, s:b}", "if_id", (json_int_t)id, "sa_out",
			      (t->flags & BWL_TUN_SA) != 0, "sa_in",
			      (t->flags & BWL_TUN_SA_IN) != 0);

	json_object_set_new(o, "offload", bwl_json_text(bwl_offload_name(t)));
	json_object_set_new(o, "spi_out", bwl_json_spi(t->spi_out));
	json_object_set_new(o, "spi_in", bwl_json_spi(t->spi_in));
	json_object_set_new(o, "carried_by",
			    json_string(offload && carried_by == BWL_CARRIED_XDP ? "xdp" : "tc"));
	json_object_set_new(o, "carried_why",
			    offload ? json_string(bwl_carried_by_name(carried_by)) : json_null());
	json_object_set_new(o, "carried_text",
			    offload ? json_string(bwl_carried_by_text(carried_by)) : json_null());
	return o;
}

#define REASON(field, key, head, value)                                                            \
	static struct bwl_value get_##field(const void *row)                                       \
	{                                                                                          \
		const struct bwl_reason_row *r = row;                                              \
                                                                                                   \
		return value;                                                                      \
	}                                                                                          \
	static const struct bwl_field reason_##field = { key, head, get_##field }

static const char *todo(unsigned reason)
{
	const char *text = bwl_reason_todo(reason);

	return *text ? text : NULL;
}

REASON(port, "port", "~PORT",
       bwl_v_both(bwl_json_text(r->port), "%s%s", r->port ? r->port : "(no port)",
		  r->gate ? " out" : ""));
REASON(hook, "hook", NULL, bwl_v_text(r->gate ? "gate" : "ingress"));
REASON(reason, "reason", "REASON", bwl_v_text(bwl_reason_name(r->reason)));
REASON(passes, "passes", "VERDICT",
       bwl_v_both(json_boolean(bwl_reason_is_pass(r->reason)), "%s",
		  bwl_reason_is_pass(r->reason) ? "pass" : "drop"));
REASON(frames, "frames", ">FRAMES", bwl_v_count(r->n->frames));
REASON(bytes, "bytes", ">BYTES", bwl_v_count(r->n->bytes));
REASON(charged, "charged_bytes", ">CHARGED", bwl_v_count(r->n->charged));
REASON(todo, "todo", NULL, bwl_v_json(bwl_json_text(todo(r->reason))));
REASON(text, "text", "MEANS",
       bwl_v_both(json_string(bwl_reason_text(r->reason)), "%s%s%s", bwl_reason_text(r->reason),
		  todo(r->reason) ? "; to do: " : "", bwl_reason_todo(r->reason)));

const struct bwl_column bwl_reason_columns[] = {
	{ &reason_port, BWL_BOTH },    { &reason_hook, BWL_BOTH },
	{ &reason_reason, BWL_BOTH },  { &reason_passes, BWL_BOTH },
	{ &reason_frames, BWL_BOTH },  { &reason_bytes, BWL_BOTH },
	{ &reason_charged, BWL_BOTH }, { &reason_todo, BWL_BOTH },
	{ &reason_text, BWL_BOTH },    { NULL, BWL_BOTH },
};

const char *bwl_peer_name(const struct bwl_pins *p, uint32_t id, char buf[static BWL_NAME_LEN])
{
	if (!id || id >= p->schema.max_peers)
		return NULL;
	memcpy(buf, p->name[id].name, BWL_NAME_LEN);
	buf[BWL_NAME_LEN - 1] = '\0';
	return *buf ? buf : NULL;
}

json_t *bwl_json_packet(const struct bwl_pins *p, const struct bwl_event *e)
{
	char addr[BWL_EVENT_ADDRESS], name[BWL_NAME_LEN], port[sizeof(p->dev[0].name) + 1];
	json_t *o = json_object();

	snprintf(port, sizeof(port), "%.*s", (int)sizeof(p->dev[0].name),
		 p->dev[e->port % BWL_MAX_PORTS].name);
	json_object_set_new(o, "reason", json_string(bwl_reason_name(e->reason)));
	json_object_set_new(o, "port", bwl_json_text(*port ? port : NULL));
	json_object_set_new(o, "peer", bwl_json_text(bwl_peer_name(p, e->peer, name)));
	json_object_set_new(o, "source", json_string(bwl_event_address(e, e->saddr, addr)));
	json_object_set_new(o, "destination", json_string(bwl_event_address(e, e->daddr, addr)));
	json_object_set_new(o, "ethertype", json_integer(e->ethertype));
	json_object_set_new(o, "ip_protocol", json_integer(e->proto));
	json_object_set_new(o, "source_port", json_integer(ntohs(e->sport)));
	json_object_set_new(o, "destination_port", json_integer(ntohs(e->dport)));
	json_object_set_new(o, "class", json_string(bwl_class_name(e->class)));
	json_object_set_new(o, "frame_bytes", json_integer(e->len));
	return o;
}
