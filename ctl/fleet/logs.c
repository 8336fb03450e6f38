// SPDX-License-Identifier: GPL-2.0-or-later
/* `--fleet logs`: the trays' audit logs, as the controllers have cosigned them. */
#include <stdio.h>
#include <string.h>
#include "cmds.h"
#include "fleet.h"
#include "fleet/status/log.h"

struct reading {
	size_t before; /* bytes of the prefix */
	json_t *rows;
};

static const char *state_of(const struct log_state *l)
{
	return *l->wrong                              ? "wrong"
	       : !*l->cosigned.note                   ? "seen"
	       : l->seen.c.size != l->cosigned.c.size ? "behind"
						      : "cosigned";
}

static json_t *count(const struct log_head *h)
{
	return *h->note ? bwl_json_u64(h->c.size) : json_null();
}

static json_t *row(const char *tray, const struct log_state *l)
{
	const char *origin = *l->seen.note ? l->seen.c.origin : NULL;
	char at[BWL_TIME_BUF], key[BWL_NOTE_KEY_TEXT];
	json_t *o = json_object();

	json_object_set_new(o, "tray", json_string(tray));
	json_object_set_new(o, "log_state", json_string(state_of(l)));
	json_object_set_new(o, "origin", bwl_json_text(origin));
	json_object_set_new(o, "log_key",
			    bwl_json_text(*l->key.name ? bwl_note_key_format(&l->key, false, key)
						       : NULL));
	json_object_set_new(o, "seen_record_count", count(&l->seen));
	json_object_set_new(o, "cosigned_record_count", count(&l->cosigned));
	json_object_set_new(o, "cosigned_at",
			    l->cosigned_s > 0 ? json_string(bwl_utc(l->cosigned_s, -1, at))
					      : json_null());
	json_object_set_new(o, "cosigned_checkpoint", json_null());
	json_object_set_new(o, "evidence",
			    bwl_json_text(*l->evidence.note ? l->evidence.note : NULL));
	json_object_set_new(o, "why", bwl_json_text(*l->wrong ? l->wrong : NULL));
	return o;
}

static int take_log(void *arg, const struct bwl_etcd_kv *kv)
{
	struct reading *r = arg;
	size_t n = bwl_pb_len(kv->key);
	char tray[BWL_DOC_NAME_MAX];
	struct log_state l;
	struct bwl_err e = { 0 };

	if (n <= r->before ||
	    !bwl_store_name_ok((const char *)kv->key.at + r->before, n - r->before))
		return 0;
	snprintf(tray, sizeof(tray), "%.*s", (int)(n - r->before),
		 (const char *)kv->key.at + r->before);
	if (log_state_parse(kv->value.at, bwl_pb_len(kv->value), &l, &e))
		snprintf(l.wrong, sizeof(l.wrong), "%.199s", e.text);
	json_array_append_new(r->rows, row(tray, &l));
	return 0;
}

static int take_note(void *arg, const struct bwl_etcd_kv *kv)
{
	json_t *text = json_stringn((const char *)kv->value.at, bwl_pb_len(kv->value));

	if (text)
		json_object_set_new(arg, "cosigned_checkpoint", text);
	return 0;
}

/* With the witness's signature: what the tray itself reads. */
static int read_note(struct fleet *f, json_t *o)
{
	char key[BWL_ETCD_KEY_MAX];
	struct bwl_etcd_range ask = { .key = key, .end = "" };
	struct bwl_etcd_page page;
	int r = bwl_cosigned_key(key, f->conf.prefix,
				 json_string_value(json_object_get(o, "tray")));

	return r ? r : bwl_etcd_range(f->g, &ask, take_note, o, &page, &f->c->err);
}

static struct bwl_value cell(const void *at, const char *key)
{
	const json_t *v = json_object_get(at, key);
	static const struct bwl_value none;

	if (json_is_string(v))
		return bwl_v_text(json_string_value(v));
	return json_is_integer(v) ? bwl_v_count((uint64_t)json_integer_value(v)) : none;
}

#define CELL(name)                                                                                 \
	static struct bwl_value get_##name(const void *at)                                         \
	{                                                                                          \
		return cell(at, #name);                                                            \
	}
CELL(tray)
CELL(log_state)
CELL(seen_record_count)
CELL(cosigned_record_count)
CELL(cosigned_at)
CELL(why)

static const struct bwl_field fields[] = {
	{ "tray", "~TRAY", get_tray },
	{ "log_state", "LOG", get_log_state },
	{ "seen_record_count", ">SEEN", get_seen_record_count },
	{ "cosigned_record_count", ">COSIGNED", get_cosigned_record_count },
	{ "cosigned_at", "AT", get_cosigned_at },
	{ "why", "WHY", get_why },
};
static const struct bwl_column columns[] = {
	{ &fields[0], BWL_BOTH }, { &fields[1], BWL_BOTH }, { &fields[2], BWL_BOTH },
	{ &fields[3], BWL_BOTH }, { &fields[4], BWL_BOTH }, { &fields[5], BWL_BOTH },
	{ NULL, BWL_BOTH },
};

static void print(json_t *rows)
{
	struct bwl_list *l = bwl_list_new(columns, false);
	json_t *v;
	size_t i;

	json_array_foreach(rows, i, v) bwl_list_add(l, v);
	bwl_list_end(l);
}

int fleet_logs(struct ctl *c, int argc, char **argv)
{
	struct fleet f = { 0 };
	const struct ctl_opt opts[] = { FLEET_CONF_OPTS(&f.conf), { NULL, NULL, NULL } };
	struct reading to = { .rows = json_array() };
	char prefix[BWL_ETCD_KEY_MAX];
	int64_t revision = 0;
	json_t *o, *v;
	size_t i;
	int r = ctl_only_opts(c, argc, argv, opts);

	if (!r)
		r = fleet_open(c, &f);
	if (!r) {
		to.before = (size_t)snprintf(prefix, sizeof(prefix), "%s/controller/log/-/",
					     f.conf.prefix);
		r = bwl_etcd_values(f.g, prefix, take_log, &to, &revision, &c->err);
	}
	json_array_foreach(to.rows, i, v) r = !r && c->json ? read_note(&f, v) : r;
	if (!r && c->json) {
		o = bwl_doc("fleet-logs");
		json_object_set(o, "logs", to.rows);
		bwl_doc_print(o);
	} else if (!r) {
		print(to.rows);
	}
	json_decref(to.rows);
	fleet_close(&f);
	return r;
}
