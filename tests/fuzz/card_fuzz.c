// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as answers of devlink, ethtool's netlink and a driver (extack), one message after the
 * other. Whatever they contain, texts end, and each question of probe has an answer and a next
 * step.
 */
#include <libmnl/libmnl.h>
#include "loader/probe_card.h"
#include "fuzz.h"

static bool ends(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

static void judge(const struct probe_port *p)
{
	const struct probe_question *q;
	struct probe_answer a;

	for (q = probe_card_questions; q->id; q++) {
		a = (struct probe_answer){ 0 };
		q->ask(p, q->with, &a);
		must(*a.answer && ends(a.answer, sizeof(a.answer)), "an answer");
		must(ends(a.todo, sizeof(a.todo)) && (a.works || *a.todo || *q->todo), "a step");
	}
}

static void read_words(const struct nlmsghdr *h)
{
	char said[BWL_NL_SAID] = "";
	const char *c;

	bwl_nl_said_read(h, said);
	must(ends(said, sizeof(said)), "words end");
	for (c = said; *c; c++)
		must(*c >= ' ' && *c <= '~', "a terminal shows them as they are");
}

/*
 * A copy of the same length, rounded up to a multiple of 4, so that a sanitizer sees a read beyond
 * it.
 */
static void one(const struct nlmsghdr *h)
{
	static const struct bwl_netdev d = { .ifindex = 1, .name = "p0" };
	struct bwl_offer f[] = { { .name = "hw-tc-offload" }, { .name = "esp-hw-offload" } };
	struct nlmsghdr *exact = calloc(1, MNL_ALIGN(h->nlmsg_len));
	struct bwl_devlink_port port;
	struct bwl_devlink_info info;
	struct probe_port p = { .dev = &d, .self = &port, .all = &port, .nall = 1, .cpus = 16 };

	must(exact != NULL, "memory");
	memcpy(exact, h, h->nlmsg_len);
	read_words(exact);
	bwl_devlink_port_read(exact, &port);
	must(ends(port.name, sizeof(port.name)) && ends(port.card, sizeof(port.card)), "a name");
	bwl_devlink_info_read(exact, &info);
	must(ends(info.driver, sizeof(info.driver)) && ends(info.psid, sizeof(info.psid)) &&
		     ends(info.running, sizeof(info.running)) &&
		     ends(info.stored, sizeof(info.stored)),
	     "versions end");
	bwl_eswitch_read(exact, &p.eswitch);
	bwl_devlink_param_read(exact, p.steering);
	must(ends(p.steering, sizeof(p.steering)), "a word");
	bwl_channels_read(exact, &p.channels);
	bwl_features_read(exact, f, 2);
	p.tc = f[0].is;
	p.esp = f[1].is;
	p.kind = PROBE_HOST;
	judge(&p);
	p.kind = PROBE_UPLINK;
	judge(&p);
	free(exact);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nlmsghdr *copy = malloc(size + 1), *h = copy;
	int left = (int)size;

	must(copy != NULL, "memory");
	memcpy(copy, data, size);
	/* mnl_nlmsg_ok() accepts lengths of 2^31 and more */
	for (; mnl_nlmsg_ok(h, left) && h->nlmsg_len <= (unsigned)left;
	     h = mnl_nlmsg_next(h, &left))
		one(h);
	free(copy);
	return 0;
}
