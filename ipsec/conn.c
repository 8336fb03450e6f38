// SPDX-License-Identifier: GPL-2.0-or-later
/* The policy as strongSwan's connections. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <bwl/identity.h>
#include "ipsec/conn.h"
#include "maps/tunnel.h"

#define PREFIX "bwl-"
#define S 1000000000ULL
#define MAX_TS 255    /* traffic selectors: their number is one byte in IKEv2 */
#define MIN_OVER_S 30 /* for retransmissions when a rekeying was lost */
/* Without ESN a sequence number has 32 bits: at 5 million packets a second they last 14 minutes. */
#define REKEY_PACKETS "3000000000"
#define LIFE_PACKETS "4200000000"

char *bwl_ipsec_conn_name(const char *peer, char buf[static BWL_IPSEC_NAME])
{
	snprintf(buf, BWL_IPSEC_NAME, PREFIX "%s", peer);
	for (char *s = buf; *s; s++)
		if (*s == '.')
			*s = '~';
	return buf;
}

bool bwl_ipsec_peer_name(const char *conn, char buf[static BWL_NAME_LEN])
{
	size_t n = strlen(PREFIX);

	if (strncmp(conn, PREFIX, n) || !conn[n] || strlen(conn + n) >= BWL_NAME_LEN)
		return false;
	strcpy(buf, conn + n);
	for (char *s = buf; *s; s++)
		if (*s == '~')
			*s = '.';
	return true;
}

static void set(json_t *section, const char *key, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void set(json_t *section, const char *key, const char *fmt, ...)
{
	char text[512];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	json_object_set_new(section, key, json_string(text));
}

static void set_seconds(json_t *section, const char *key, uint64_t ns)
{
	set(section, key, "%llus", (unsigned long long)(ns / S));
}

static json_t *list(json_t *section, const char *key)
{
	json_t *a = json_array();

	json_object_set_new(section, key, a);
	return a;
}

static void append(json_t *a, const char *s)
{
	json_array_append_new(a, json_string(s));
}

static void append_prefixes(json_t *a, const struct bwl_pfx *x, size_t n)
{
	char text[64];

	for (size_t i = 0; i < n; i++)
		append(a, bwl_pfx_format(&x[i], text, sizeof(text)));
}

static void set_id(json_t *section, const char *id, const char *name)
{
	char text[BWL_IDENTITY_SIZE];

	set(section, "id", "%s", bwl_identity_text(id, name, text));
}

struct build {
	const struct bwl_policy *p;
	const struct bwl_ipsec_caps *caps;
	const char *dir;
	bool by_mark;
	json_t *conns, *secrets;
	struct bwl_err *e;
};

/* packet if the data plane relies on the device; auto if the device only helps. */
static const char *offload(const struct build *b, const struct bwl_pol_peer *x)
{
	const char *s = b->p->ipsec.hw_offload;

	if (x->path == BWL_PATH_OFFLOAD)
		s = "packet";
	if (!b->caps->packet)
		return strcmp(s, "no") ? "auto" : s;
	/*
	 * With this charon auto would choose packet offload first. That takes drop policies
	 * beneath, and Linux 6.8 for what comes in (docs/bluefield.md), so a peer has to ask for
	 * it.
	 */
	return strcmp(s, "auto") ? s : "no";
}

/*
 * auto: one side initiates and the other answers. If both initiate at the same moment two IKE_SAs
 * remain, whatever `unique` says (charon compares only with established ones).
 */
static const char *start(const struct build *b, const struct bwl_pol_peer *x)
{
	char here[BWL_IDENTITY_SIZE], there[BWL_IDENTITY_SIZE];

	if (strcmp(b->p->ipsec.start, "auto"))
		return b->p->ipsec.start;
	bwl_identity_text(b->p->ipsec.id, b->p->node, here);
	bwl_identity_text(x->ipsec_id, x->name, there);
	return strcmp(here, there) < 0 ? "trap|start" : "trap";
}

static json_t *child(const struct build *b, const struct bwl_pol_peer *x, uint32_t if_id)
{
	static const char *const marks[] = { "mark_in", "mark_out", "set_mark_in" };
	const struct bwl_pol_ipsec *ip = &b->p->ipsec;
	json_t *o = json_object(), *a;

	a = list(o, "esp_proposals");
	/* devices only support 32-bit sequence numbers, and one proposal decides for both sides */
	if (!strcmp(offload(b, x), "no")) {
		if (b->caps->mlkem)
			append(a, "aes256gcm16-ecp384-ke1_mlkem768-esn-noesn");
		append(a, "aes256gcm16-ecp384-esn-noesn");
	} else {
		if (b->caps->mlkem)
			append(a, "aes256gcm16-ecp384-ke1_mlkem768");
		append(a, "aes256gcm16-ecp384");
	}
	a = list(o, "local_ts");
	for (size_t i = 0; i < b->p->nports; i++)
		append_prefixes(a, b->p->ports[i].sources, b->p->ports[i].nsources);
	append_prefixes(list(o, "remote_ts"), x->addresses, x->naddresses);
	set(o, "mode", "tunnel");
	set(o, "policies", "yes");
	set(o, "if_id_in", "%u", b->by_mark ? BWL_TUN_IF_ID : if_id);
	set(o, "if_id_out", "%u", b->by_mark ? BWL_TUN_IF_ID : if_id);
	/*
	 * inbound SAs must match packets from the network, which have no mark, so these SAs set it
	 */
	for (size_t i = 0; b->by_mark && i < sizeof(marks) / sizeof(marks[0]); i++)
		set(o, marks[i], "%u/0x%x", if_id, BWL_MARK_ID);
	set_seconds(o, "rekey_time", ip->rekey_ns);
	set_seconds(o, "life_time", ip->hard_ns);
	set(o, "rekey_packets", REKEY_PACKETS);
	set(o, "life_packets", LIFE_PACKETS);
	set(o, "start_action", "%s", start(b, x));
	set(o, "close_action", "%s", start(b, x));
	set(o, "dpd_action", "%s", start(b, x));
	set(o, "replay_window", "%u", ip->replay_window);
	set(o, "hw_offload", "%s", offload(b, x));
	/* nothing of the host's packet shows outside, unless requested */
	set(o, "copy_df", "no");
	set(o, "copy_dscp", "no");
	set(o, "copy_ecn", ip->copy_ecn ? "yes" : "no");
	return o;
}

static json_t *local_side(const struct build *b)
{
	json_t *o = json_object();

	set(o, "auth", "pubkey");
	set_id(o, b->p->ipsec.id, b->p->node);
	return o;
}

static json_t *remote_side(const struct build *b, const struct bwl_pol_peer *x)
{
	json_t *o = json_object();

	set(o, "auth", "pubkey");
	set_id(o, x->ipsec_id, x->name);
	set(o, "revocation", "%s", b->p->ipsec.revocation);
	if (*b->p->ipsec.ca)
		append(list(o, "cacerts"), b->p->ipsec.ca);
	return o;
}

static void add_ppk(struct build *b, json_t *conn, const struct bwl_pol_peer *x)
{
	const char *ppk = x->ipsec_ppk ? x->ipsec_ppk : b->p->ipsec.ppk;
	char name[BWL_IPSEC_NAME + 64];
	json_t *o;

	if (!*ppk || !strcmp(ppk, "none"))
		return;
	set(conn, "ppk_id", "%s", ppk);
	set(conn, "ppk_required", "yes");
	snprintf(name, sizeof(name), "ppk-%s", ppk);
	for (char *s = name; *s; s++)
		if (*s == '.')
			*s = '~';
	o = json_object();
	set(o, "id", "%s", ppk);
	set(o, "include", "%s/ppk/%s.conf", b->dir, ppk);
	json_object_set_new(b->secrets, name, o);
}

static json_t *connection(struct build *b, const struct bwl_pol_peer *x, uint32_t if_id,
			  const char *name)
{
	const struct bwl_pol_ipsec *ip = &b->p->ipsec;
	uint64_t over = ip->ike_rekey_ns / S / 10;
	json_t *o = json_object(), *a;

	set(o, "version", "2");
	append(list(o, "local_addrs"), *ip->local ? ip->local : "%any");
	append(list(o, "remote_addrs"), x->ipsec_remote);
	a = list(o, "proposals");
	if (b->caps->mlkem)
		append(a, "aes256gcm16-prfsha384-ecp384-ke1_mlkem768");
	append(a, "aes256gcm16-prfsha384-ecp384");
	set(o, "childless", b->caps->prefer_childless ? "prefer" : "allow");
	set(o, "mobike", "no");
	set(o, "unique", "replace");
	set(o, "keyingtries", "0");
	set(o, "send_cert", "always");
	set_seconds(o, "rekey_time", ip->ike_rekey_ns);
	set(o, "over_time", "%llus", (unsigned long long)(over > MIN_OVER_S ? over : MIN_OVER_S));
	set_seconds(o, "reauth_time", ip->reauth_ns);
	set_seconds(o, "dpd_delay", ip->dpd_ns);
	add_ppk(b, o, x);
	json_object_set_new(o, "local", local_side(b));
	json_object_set_new(o, "remote", remote_side(b, x));
	json_object_set_new(o, "children", json_pack("{s:o}", name, child(b, x, if_id)));
	return o;
}

static int add_peer(struct build *b, const struct bwl_pol_peer *x, uint32_t if_id)
{
	size_t nlocal = 0;
	char name[BWL_IPSEC_NAME];

	for (size_t i = 0; i < b->p->nports; i++)
		nlocal += b->p->ports[i].nsources;
	if (nlocal > MAX_TS || x->naddresses > MAX_TS) {
		bwl_fail(b->e, E2BIG,
			 "peer %s: %zu prefixes here, %zu there: IKEv2 allows at most %d on a side",
			 x->name, nlocal, x->naddresses, MAX_TS);
		return bwl_hint(b->e, "use fewer and wider prefixes");
	}
	bwl_ipsec_conn_name(x->name, name);
	json_object_set_new(b->conns, name, connection(b, x, if_id, name));
	return 0;
}

int bwl_ipsec_tree(const struct bwl_policy *p, const uint32_t *if_id, bool by_mark,
		   const struct bwl_ipsec_caps *caps, const char *dir, json_t **ret,
		   struct bwl_err *e)
{
	struct build b = {
		.p = p,
		.by_mark = by_mark,
		.caps = caps,
		.dir = dir,
		.e = e,
		.conns = json_object(),
		.secrets = json_object(),
	};
	int r = 0;

	for (size_t i = 0; !r && i < p->npeers; i++)
		if (*p->peers[i].ipsec_remote && if_id[i])
			r = add_peer(&b, &p->peers[i], if_id[i]);
	if (!r) {
		*ret = json_pack("{s:O}", "connections", b.conns);
		if (json_object_size(b.secrets))
			json_object_set(*ret, "secrets", b.secrets);
	}
	json_decref(b.conns);
	json_decref(b.secrets);
	return r;
}

/* Quoted if swanctl.conf would parse it differently. */
static void write_value(const char *s, FILE *f)
{
	if (*s && !strpbrk(s, " \t\n#{}\"=,"))
		fputs(s, f);
	else
		fprintf(f, "\"%s\"", s);
}

static void write_section(json_t *section, unsigned depth, FILE *f)
{
	const char *key;
	json_t *v, *item;
	size_t i;

	json_object_foreach(section, key, v)
	{
		fprintf(f, "%*s%s", 4 * (int)depth, "", key);
		if (json_is_object(v)) {
			fputs(" {\n", f);
			write_section(v, depth + 1, f);
			fprintf(f, "%*s}\n", 4 * (int)depth, "");
			continue;
		}
		fputs(strcmp(key, "include") ? " = " : " ", f);
		json_array_foreach(v, i, item)
			fprintf(f, "%s%s", i ? ", " : "", json_string_value(item));
		if (json_is_string(v))
			write_value(json_string_value(v), f);
		putc('\n', f);
	}
}

void bwl_ipsec_write(json_t *tree, FILE *f)
{
	write_section(tree, 0, f);
}
