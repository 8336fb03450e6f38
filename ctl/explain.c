// SPDX-License-Identifier: GPL-2.0-or-later
/* `explain`: the question from the command line, the answer for people and programs. */
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "explain.h"

static int parse_address(struct ctl *c, const char *what, const char *s, uint8_t *family,
			 uint8_t addr[16])
{
	struct bwl_pfx p;

	if (bwl_pfx_parse(s, &p, &c->err))
		return CTL_USAGE;
	if (p.len != (p.family == 4 ? 32 : 128))
		return ctl_usage(c, "%s '%.64s': must be one address, not a prefix", what, s);
	if (*family && *family != p.family)
		return ctl_usage(c, "source and destination are of different families");
	*family = p.family;
	memcpy(addr, p.addr, 16);
	return 0;
}

static int parse_proto(struct ctl *c, const char *s, struct ctl_question *q)
{
	static const struct {
		const char *name;
		uint8_t proto;
	} names[] = {
		{ "tcp", IPPROTO_TCP },       { "udp", IPPROTO_UDP },   { "icmp", IPPROTO_ICMP },
		{ "icmpv6", IPPROTO_ICMPV6 }, { "sctp", IPPROTO_SCTP }, { "gre", IPPROTO_GRE },
		{ "esp", IPPROTO_ESP },
	};
	uint64_t n;

	q->fragment = !strcmp(s, "fragment");
	q->has_proto = !q->fragment;
	if (q->fragment)
		return 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!strcmp(s, names[i].name)) {
			q->proto = names[i].proto;
			return 0;
		}
	}
	if (*s < '0' || *s > '9')
		return ctl_usage(
			c,
			"'%.64s' is not a protocol: tcp, udp, icmp, icmpv6, sctp, gre, esp, fragment, or 1 to 255",
			s);
	if (ctl_number(c, "a protocol", s, 255, &n))
		return CTL_USAGE;
	q->proto = n;
	return 0;
}

static int parse(struct ctl *c, int argc, char **argv, const char *size, struct ctl_question *q)
{
	uint64_t n;

	if (argc < 2)
		return ctl_usage(c, "give a source and a destination address");
	if (argc > 4)
		return ctl_usage(c, "unexpected '%.64s'", argv[4]);
	if (parse_address(c, "source", argv[0], &q->family, q->src) ||
	    parse_address(c, "destination", argv[1], &q->family, q->dst))
		return CTL_USAGE;
	if (argc > 2 && parse_proto(c, argv[2], q))
		return CTL_USAGE;
	if (argc > 3) {
		if (q->proto != IPPROTO_TCP && q->proto != IPPROTO_UDP)
			return ctl_usage(c, "only tcp and udp have ports");
		if (ctl_number(c, "a port", argv[3], 65535, &n))
			return CTL_USAGE;
		q->dport = n;
	}
	if (size) {
		if (ctl_number(c, "a frame size in bytes", size, 1 << 20, &n))
			return CTL_USAGE;
		q->len = n;
	}
	return 0;
}

/* The reason's own text, with names filled in where they are known. */
static void todo_text(const struct bwl_view *v, const struct ctl_question *q,
		      const struct ctl_answer *a, char *buf, size_t size)
{
	const char *name = q->peer ? v->pins->name[q->peer].name : "NAME";
	char wait[BWL_UNIT_BUF];

	switch (a->reason) {
	case BWL_R_NO_GRANT:
	case BWL_R_REVOKED:
	case BWL_R_EXPIRED:
		snprintf(buf, size, "bwlimit-ctl grant %.31s [rate R] [for TIME] reason TEXT",
			 name);
		break;
	case BWL_R_PEER_VOLUME:
		snprintf(buf, size, "bwlimit-ctl grant %.31s volume +SIZE once reason TEXT", name);
		break;
	case BWL_R_PEER_RATE:
	case BWL_R_FLOOR_RATE:
	case BWL_R_CLASS_RATE:
	case BWL_R_ZONE_RATE:
	case BWL_R_PORT_RATE:
	case BWL_R_NODE_RATE:
		if (a->wait_ns)
			snprintf(buf, size, "wait: it passes in %s when nothing else is sent",
				 bwl_human_time((double)a->wait_ns / 1e9, wait));
		else
			snprintf(buf, size, "raise the burst: this frame is larger than it");
		break;
	default:
		snprintf(buf, size, "%s", bwl_reason_todo(a->reason));
	}
}

static void print_json(const struct bwl_view *v, const struct ctl_question *q, char **argv,
		       const struct ctl_answer *a, const char *todo)
{
	bool port = a->port < BWL_MAX_PORTS;
	json_t *o = bwl_doc("explain");

	json_object_set_new(o, "source", json_string(argv[0]));
	json_object_set_new(o, "destination", json_string(argv[1]));
	json_object_set_new(o, "port", bwl_json_text(port ? v->pins->dev[a->port].name : NULL));
	json_object_set_new(o, "peer", bwl_json_text(q->peer ? v->pins->name[q->peer].name : NULL));
	json_object_set_new(o, "class", json_string(bwl_class_name(a->class_)));
	json_object_set_new(o, "frame_bytes", json_integer(a->len));
	json_object_set_new(o, "passes", json_boolean(bwl_reason_is_pass(a->reason)));
	json_object_set_new(o, "reason", json_string(bwl_reason_name(a->reason)));
	json_object_set_new(o, "text", json_string(bwl_reason_text(a->reason)));
	json_object_set_new(o, "todo", bwl_json_text(*todo ? todo : NULL));
	json_object_set_new(o, "steps", bwl_list_end(a->steps));
	bwl_doc_print(o);
}

static void print_human(char **argv, const struct ctl_answer *a, const char *todo)
{
	char bytes[32] = "";

	if (a->len)
		snprintf(bytes, sizeof(bytes), ", %u bytes", a->len);
	bwl_say(2, "%s > %s%s: %s %s (%s)", argv[0], argv[1], bytes,
		bwl_reason_is_pass(a->reason) ? "passes:" : "is dropped:",
		bwl_reason_name(a->reason), bwl_reason_text(a->reason));
	if (*todo)
		bwl_say(2, "to do: %s", todo);
	putchar('\n');
	bwl_list_end(a->steps);
}

static int explain(struct ctl *c, int argc, char **argv)
{
	const char *port = NULL, *size = NULL;
	const struct ctl_opt opts[] = {
		{ "--port", NULL, &port },
		{ "--size", NULL, &size },
		{ NULL, NULL, NULL },
	};
	struct bwl_view v = { 0 };
	struct ctl_question q = { 0 };
	struct ctl_answer a;
	char todo[160];
	uint32_t slot;
	int r;

	r = ctl_opts(c, &argc, argv, opts);
	if (!r)
		r = parse(c, argc, argv, size, &q);
	if (r)
		return r;
	q.port = port;
	q.json = c->json;
	r = bwl_pins_open(c->pin_dir, false, &v.pins, &c->err);
	if (r)
		return r;
	v.now_ns = bwl_now_ns();
	slot = bwl_active_slot(v.pins);
	if (slot != BWL_NO_SLOT) {
		r = bwl_gen_open(v.pins, slot, &v.gen, &c->err);
		v.has_gen = !r;
	}
	if (!r) {
		q.peer = v.has_gen ? bwl_lookup_dest(&v.gen, q.family, q.dst) : 0;
		ctl_explain(&v, &q, &a);
		todo_text(&v, &q, &a, todo, sizeof(todo));
		if (c->json)
			print_json(&v, &q, argv, &a, todo);
		else
			print_human(argv, &a, todo);
	}
	bwl_view_close(&v);
	return r;
}

const struct ctl_cmd ctl_explain_cmds[] = {
	{ "explain", NULL, "[--port DEV] [--size BYTES] SRC DST [PROTO [DPORT]]",
	  "What would happen to a packet now: which rule, which limit, what to do",
	  "The packet has full size unless --size says otherwise. Nothing is changed or charged.\n"
	  "PROTO `fragment`: one fragment of a packet, the first or a later one.\n\n"
	  "Examples:\n"
	  "  bwlimit-ctl explain 10.0.7.2 198.51.100.9 tcp 443\n"
	  "  bwlimit-ctl explain --port pf0vf0 fd00:7::2 fd00:3::9 udp 4791\n"
	  "  bwlimit-ctl explain 10.0.7.2 198.51.100.9 fragment\n",
	  explain },
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};
