// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * corpus_compare FRAMES.PCAP FIELDS.TSV: runs every frame through the programs by
 * BPF_PROG_TEST_RUN, and compares the result with tshark's reading (oracle.h) and with the same
 * parser compiled for the host.
 *
 * At first the policy has no peer: a frame that can be judged then ends as no-peer, with an event
 * that contains its destination and class. Then every address is a peer's.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/pkt_cls.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bpf/lib/parse.h"
#include "oracle.h"
#include "rig.h"

#define FRAME_MAX 65535
#define LINE_MAX_BYTES 65536
#define SHOWN 12 /* failures shown of each kind */

enum check { ONE_REASON, AGREES, EXPLAINED, NO_LIES, HOST_PARSER, XDP_TOO, OPEN, _CHECKS };
static const char *const sentences[_CHECKS] = {
	"every frame is counted once, under one reason",
	"destination and class are those of tshark's outermost headers",
	"every refusal has its cause in what tshark sees",
	"no frame passes whose lengths contradict each other",
	"the parser says the same on the host as in the kernel",
	"XDP drops only what TC drops, for the same reason",
	"where everyone is a peer, exactly the frames pass that lacked only that",
};

struct corpus {
	struct rig *rig;
	struct bwl_gen gen;
	uint8_t proto_class[256], port_class[2][65536];
	struct bwl_event event;
	bool has_event;
	unsigned long bad[_CHECKS], frames, unfit, readable, judged, agreed;
	unsigned long reasons[_BWL_REASON_MAX];
	uint8_t *first_pass; /* reason of each frame; 0xff: not run */
	size_t room;
};

static void fail(struct corpus *c, enum check check, const struct oracle *o, unsigned reason,
		 const char *what)
{
	if (c->bad[check]++ < SHOWN)
		printf("# frame %lu: %s: %s (%s)\n", c->frames, what, bwl_reason_name(reason),
		       o ? o->field[F_PROTOCOLS] : "");
}

static int note_event(void *arg, void *data, size_t size)
{
	struct corpus *c = arg;

	if (size >= sizeof(c->event)) {
		memcpy(&c->event, data, sizeof(c->event));
		c->has_event = true;
	}
	return 0;
}

/* Permits the tags that tshark saw: tags are not tested here. */
static void allow_tags(struct corpus *c, const struct oracle *o)
{
	struct bwl_port *p = &c->gen.base->port[RIG_H0];

	memcpy(p->vlan, o->vid, sizeof(p->vlan));
	p->nvlans = (uint8_t)o->nvids;
}

/* Permits every source. */
static void allow_sources(struct corpus *c)
{
	struct bwl_port *p = &c->gen.base->port[RIG_H0];

	p->src4[0] = (struct bwl_prefix4){ 0 };
	p->src6[0] = (struct bwl_prefix6){ 0 };
	p->nsrc4 = p->nsrc6 = 1;
}

static bool same_dest(const struct bwl_event *e, const struct oracle *o)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	const uint8_t *d = (const uint8_t *)e->daddr;

	if (o->family == 6)
		return !memcmp(d, o->dst, 16);
	return !memcmp(d, mapped, 12) && !memcmp(d + 12, o->dst, 4);
}

static void against_tshark(struct corpus *c, const struct oracle *o, unsigned reason)
{
	c->readable += o->readable;
	if (reason != BWL_R_NO_PEER) {
		if (!oracle_explains(o, reason))
			fail(c, EXPLAINED, o, reason, "refused, and tshark sees no cause");
		return;
	}
	c->judged++;
	if (o->lies)
		fail(c, NO_LIES, o, reason, "lengths lie");
	if (!o->readable || !c->has_event || !same_dest(&c->event, o))
		fail(c, AGREES, o, reason, "destination differs");
	else if (c->event.class != oracle_class(o, c->proto_class, c->port_class))
		fail(c, AGREES, o, reason, "class differs");
	else
		c->agreed++;
}

static void against_host(struct corpus *c, const struct oracle *o, uint8_t *data, uint32_t len,
			 unsigned reason)
{
	struct bwl_pkt k = { 0 };
	unsigned r = (unsigned)bwl_parse(&k, data, data + len, len, 0);
	uint8_t class_;

	if (r != BWL_R_NONE) {
		/*
		 * Destinations that end at the DPU are recognised by address, and VLANs by the
		 * port.
		 */
		if (r != reason && !(r == BWL_R_ETHERTYPE && reason == BWL_R_LOCAL_PROTO))
			fail(c, HOST_PARSER, o, reason, bwl_reason_name(r));
		return;
	}
	if (reason != BWL_R_NO_PEER || !c->has_event)
		return;
	class_ = bwl_classify(&k, c->proto_class, c->port_class[0], c->port_class[1]);
	if (memcmp(k.daddr, c->event.daddr, 16) || class_ != c->event.class ||
	    k.proto != c->event.proto || k.dport != c->event.dport)
		fail(c, HOST_PARSER, o, reason, "parsed differently");
}

static void against_xdp(struct corpus *c, const struct oracle *o, struct rig_packet *k,
			unsigned reason)
{
	struct rig_result r;

	k->prog = RIG_XDP;
	rig_run(c->rig, k, &r);
	if (r.act == 1 ? r.counted != 1 || r.reason != reason : r.act != 2 || r.counted)
		fail(c, XDP_TOO, o, r.reason, "XDP and TC differ");
}

static void no_peer_pass(struct corpus *c, struct ring_buffer *ring, const struct oracle *o,
			 uint8_t *data, uint32_t len)
{
	struct rig_packet k = { .prog = RIG_HOST, .port = RIG_H0, .data = data, .len = len };
	struct rig_result r;

	allow_tags(c, o);
	rig_advance(RIG_SECOND); /* events are limited per second */
	c->has_event = false;
	rig_run(c->rig, &k, &r);
	ring_buffer__consume(ring);
	if (r.counted != 1 || r.reason == BWL_R_NONE || r.bytes != len)
		fail(c, ONE_REASON, o, r.reason, "not counted once");
	c->reasons[r.reason]++;
	c->first_pass[c->frames] = (uint8_t)r.reason;
	against_tshark(c, o, r.reason);
	against_host(c, o, data, len, r.reason);
	against_xdp(c, o, &k, r.reason);
	ring_buffer__consume(ring);
}

static void open_pass(struct corpus *c, const struct oracle *o, uint8_t *data, uint32_t len)
{
	struct rig_packet k = { .prog = RIG_HOST, .port = RIG_H0, .data = data, .len = len };
	unsigned was = c->first_pass[c->frames];
	struct rig_result r;
	bool ok;

	allow_tags(c, o);
	rig_advance(RIG_SECOND);
	rig_run(c->rig, &k, &r);
	ok = was == BWL_R_NO_PEER ? r.reason == BWL_R_PASS || r.reason == BWL_R_TOO_BIG
				  : r.reason == was;
	if (!ok || r.counted != 1 ||
	    (r.reason != BWL_R_TOO_BIG && (r.reason == BWL_R_PASS) != (r.act == TC_ACT_REDIRECT)))
		fail(c, OPEN, o, r.reason, bwl_reason_name(was));
}

/* Can a test run take a frame of this size? No program ever sees others as one buffer. */
static bool fits(struct corpus *c, uint8_t *data, uint32_t len)
{
	LIBBPF_OPTS(bpf_test_run_opts, o, .data_in = data, .data_size_in = len, .repeat = 1);

	return len >= 15 && !bpf_prog_test_run_opts(c->rig->prog[RIG_GATE], &o);
}

static int each_frame(struct corpus *c, const char *pcap, const char *tsv, struct ring_buffer *ring)
{
	/* At an offset of two bytes, as in a kernel: the IP header is aligned. */
	static uint8_t room[FRAME_MAX + 16] __attribute__((aligned(16)));
	uint8_t *data = room + 2;
	static char line[LINE_MAX_BYTES];
	FILE *p = fopen(pcap, "re"), *t = fopen(tsv, "re");
	uint32_t rec[4];
	struct oracle o;
	int r = p && t ? 0 : -1;

	if (!r)
		fseek(p, 24, SEEK_SET);
	for (c->frames = 0; !r && fread(rec, sizeof(rec), 1, p) == 1; c->frames++) {
		if (rec[2] > FRAME_MAX || fread(data, 1, rec[2], p) != rec[2] ||
		    !fgets(line, sizeof(line), t) || oracle_read(line, rec[2], &o)) {
			printf("# frame %lu: the files do not match\n", c->frames);
			r = -1;
			break;
		}
		if (c->frames == c->room) {
			c->room += 65536;
			c->first_pass = realloc(c->first_pass, c->room);
			if (!c->first_pass)
				rig_die("out of memory");
		}
		if (ring && !fits(c, data, rec[2])) {
			c->unfit++;
			c->first_pass[c->frames] = 0xff;
		} else if (ring) {
			no_peer_pass(c, ring, &o, data, rec[2]);
		} else if (c->first_pass[c->frames] != 0xff) {
			open_pass(c, &o, data, rec[2]);
		}
	}
	if (p)
		fclose(p);
	if (t)
		fclose(t);
	return r;
}

#define PORTS                                                                                      \
	"version: 1\nnode: corpus\nuplinks: [p0]\n"                                                \
	"host_ports:\n  - { dev: h0, sources: [10.0.0.0/24] }\nheartbeat: none\n"

/*
 * everyone: the first peer gets every address, including the hosts' own, which no policy file can
 * do.
 */
static void use(struct corpus *c, const char *yaml, bool everyone)
{
	struct bwl_policy *pol = NULL;
	struct bwl_err e = { 0 };
	size_t i;

	if (c->gen.base)
		bwl_gen_close(&c->gen);
	if (bwl_policy_parse("corpus", yaml, strlen(yaml), rig_now(), 0, &pol, &e))
		rig_die("policy line %u: %s", e.line, e.text);
	for (i = 0; everyone && i < pol->peers[0].naddresses; i++) {
		pol->peers[0].addresses[i].len = 0;
		memset(pol->peers[0].addresses[i].addr, 0, 16);
	}
	if (bwl_publish(c->rig->pins, pol, NULL, NULL, &e))
		rig_die("%s", e.text);
	bwl_policy_free(pol);
	if (bwl_gen_open(c->rig->pins, bwl_active_slot(c->rig->pins), &c->gen, &e))
		rig_die("%s", e.text);
	allow_sources(c);
}

static void report(const struct corpus *c)
{
	unsigned i;

	printf("# %lu frames; %lu too short or too long for a test run\n"
	       "# tshark reads %lu as IP; %lu could be judged, %lu of them with the same destination and class\n",
	       c->frames, c->unfit, c->readable, c->judged, c->agreed);
	for (i = 0; i < _BWL_REASON_MAX; i++)
		if (c->reasons[i])
			printf("# %8lu %s\n", c->reasons[i], bwl_reason_name(i));
}

int main(int argc, char **argv)
{
	static struct corpus c;
	struct bwl_policy *defaults = bwl_policy_new();
	struct ring_buffer *ring;
	int i, bad = 0, r;

	if (argc != 3) {
		fprintf(stderr, "usage: corpus_compare FRAMES.PCAP FIELDS.TSV\n");
		return 2;
	}
	c.rig = rig_open(NULL);
	bwl_class_table(defaults, c.proto_class, c.port_class);
	bwl_policy_free(defaults);
	ring = ring_buffer__new(c.rig->pins->fd[BWL_PIN_event], note_event, &c, NULL);
	if (!ring)
		rig_die("no ring buffer: %s", strerror(errno));
	use(&c, PORTS "peers: []\n", false);
	r = each_frame(&c, argv[1], argv[2], ring);
	report(&c);
	use(&c,
	    PORTS
	    "peers:\n"
	    "  - { name: everyone, addresses: [192.0.2.0/24, 'fd00::/64'], path: clear, via: 192.0.2.1, via6: 'fe80::1', grant: { rate: 100gbit, burst: 1gb } }\n",
	    true);
	if (!r)
		r = each_frame(&c, argv[1], argv[2], NULL);
	for (i = 0; i < _CHECKS; i++) {
		bad |= c.bad[i] || r;
		printf("%sok %d - %s\n", c.bad[i] || r ? "not " : "", i + 1, sentences[i]);
		if (c.bad[i])
			printf("# %lu times\n", c.bad[i]);
	}
	printf("1..%d\n", _CHECKS);
	ring_buffer__free(ring);
	bwl_gen_close(&c.gen);
	rig_close(c.rig);
	free(c.first_pass);
	return bad;
}
