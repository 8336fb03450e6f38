// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See bwl/iif_rules.h. The rules claim that the kernel made them (RTPROT_KERNEL): when
 * systemd-networkd starts it removes every rule that it did not make itself, except the kernel's.
 * Without rule 0, and without these rules, nothing would reach the DPU, not even ssh. So ours are
 * recognised by priority and content.
 */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <bwl/iif_rules.h>
#include <bwl/netdev.h>
#include <bwl/sysctl.h>
#include <bwl/nl.h>

/*
 * Rule 0 has a priority of its own: when deleting, the kernel (rule_find(), 6.x) takes the first
 * rule that has what the request names, and a request without a device matches any rule.
 */
enum { PREF_KERNEL, PREF_LOCAL, PREF_PAST, PREF_CLOSED, PREF_NOP, PREF_TUNNEL, PREF_QUIET };

#define DUMP_TRIES 10
/* a rule and a goto for each device, one for lo, and one of each other kind */
#define ROOM (2 * BWL_LOCK_DEVS + 8)

struct rule {
	uint32_t pref, table, to, mark, mask;
	uint8_t action, protocol;
	bool inverted, narrow; /* narrow: it also looks at something that ours never look at */
	char iif[IFNAMSIZ], oif[IFNAMSIZ];
};

struct rules {
	struct rule *rule;
	size_t n;
};

static const struct family {
	uint8_t family;
	const char *name, *reflect;
} families[] = {
	{ AF_INET, "IPv4", "/proc/sys/net/ipv4/fwmark_reflect" },
	{ AF_INET6, "IPv6", "/proc/sys/net/ipv6/fwmark_reflect" },
};

bool bwl_lock_add(struct bwl_lock *l, const char *name, enum bwl_lock_kind kind)
{
	unsigned i;

	for (i = 0; i < l->n; i++)
		if (!strcmp(l->dev[i].name, name))
			return false;
	if (l->n >= BWL_LOCK_DEVS)
		return false;
	snprintf(l->dev[l->n].name, sizeof(l->dev[0].name), "%s", name);
	l->dev[l->n++].kind = kind;
	return true;
}

static int rule_attr(const struct nlattr *a, void *arg)
{
	struct rule *x = arg;

	switch (mnl_attr_get_type(a)) {
	case FRA_PRIORITY:
		x->pref = mnl_attr_get_u32(a);
		break;
	case FRA_TABLE:
		x->table = mnl_attr_get_u32(a);
		break;
	case FRA_GOTO:
		x->to = mnl_attr_get_u32(a);
		break;
	case FRA_FWMARK:
		x->mark = mnl_attr_get_u32(a);
		break;
	case FRA_FWMASK:
		x->mask = mnl_attr_get_u32(a);
		break;
	case FRA_PROTOCOL:
		x->protocol = mnl_attr_get_u8(a);
		break;
	case FRA_IIFNAME:
		snprintf(x->iif, sizeof(x->iif), "%s", mnl_attr_get_str(a));
		break;
	case FRA_OIFNAME:
		snprintf(x->oif, sizeof(x->oif), "%s", mnl_attr_get_str(a));
		break;
	case FRA_SUPPRESS_PREFIXLEN: /* -1: no limit; the kernel reports it for every rule */
		x->narrow |= mnl_attr_get_u32(a) != UINT32_MAX;
		break;
	case FRA_SUPPRESS_IFGROUP:
	case FRA_SRC:
	case FRA_DST:
	case FRA_FLOW:
	case FRA_TUN_ID:
	case FRA_L3MDEV:
	case FRA_UID_RANGE:
	case FRA_IP_PROTO:
	case FRA_SPORT_RANGE:
	case FRA_DPORT_RANGE:
		x->narrow = true;
		break;
	}
	return MNL_CB_OK;
}

static int one_rule(const struct nlmsghdr *h, void *arg)
{
	const struct fib_rule_hdr *m = mnl_nlmsg_get_payload(h);
	struct rules *l = arg;
	struct rule *more = reallocarray(l->rule, l->n + 1, sizeof(*more));

	if (!more)
		return MNL_CB_ERROR;
	l->rule = more;
	more = &l->rule[l->n++];
	*more = (struct rule){ .action = m->action,
			       .table = m->table,
			       .inverted = m->flags & FIB_RULE_INVERT,
			       .narrow = m->src_len || m->dst_len || m->tos };
	mnl_attr_parse(h, sizeof(*m), rule_attr, more);
	return MNL_CB_OK;
}

/* In the order in which the kernel applies them. */
static int dump(uint8_t family, struct rules *ret)
{
	char buf[256];
	int r = -EINTR, tries;

	*ret = (struct rules){ 0 };
	for (tries = 0; r == -EINTR && tries < DUMP_TRIES; tries++) {
		struct nlmsghdr *h = bwl_nl_request(buf, RTM_GETRULE, NLM_F_DUMP);
		struct fib_rule_hdr *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));

		m->family = family;
		ret->n = 0;
		r = bwl_nl_talk(NETLINK_ROUTE, h, one_rule, ret);
	}
	if (r) {
		free(ret->rule);
		ret->rule = NULL;
	}
	return r;
}

static int talk(uint16_t type, uint8_t family, const struct rule *x)
{
	char buf[512];
	struct nlmsghdr *h = bwl_nl_request(
		buf, type, NLM_F_ACK | (type == RTM_NEWRULE ? NLM_F_CREATE | NLM_F_EXCL : 0));
	struct fib_rule_hdr *m = mnl_nlmsg_put_extra_header(h, sizeof(*m));

	m->family = family;
	m->action = x->action;
	m->flags = x->inverted ? FIB_RULE_INVERT : 0;
	mnl_attr_put_u32(h, FRA_PRIORITY, x->pref);
	mnl_attr_put_u8(h, FRA_PROTOCOL, x->protocol);
	if (x->action == FR_ACT_TO_TBL)
		mnl_attr_put_u32(h, FRA_TABLE, x->table);
	if (x->action == FR_ACT_GOTO)
		mnl_attr_put_u32(h, FRA_GOTO, x->to);
	if (*x->iif)
		mnl_attr_put_strz(h, FRA_IIFNAME, x->iif);
	if (*x->oif)
		mnl_attr_put_strz(h, FRA_OIFNAME, x->oif);
	if (x->mask) {
		mnl_attr_put_u32(h, FRA_FWMARK, x->mark);
		mnl_attr_put_u32(h, FRA_FWMASK, x->mask);
	}
	return bwl_nl_talk(NETLINK_ROUTE, h, NULL, NULL);
}

static bool is_same(const struct rule *a, const struct rule *b)
{
	return a->pref == b->pref && a->action == b->action && a->inverted == b->inverted &&
	       a->narrow == b->narrow && a->mark == b->mark && a->mask == b->mask &&
	       !strcmp(a->iif, b->iif) && !strcmp(a->oif, b->oif) &&
	       (a->action != FR_ACT_TO_TBL || a->table == b->table) &&
	       (a->action != FR_ACT_GOTO || a->to == b->to);
}

static bool leads_all_to(const struct rule *x, uint32_t table)
{
	return x->action == FR_ACT_TO_TBL && x->table == table && !x->inverted && !x->narrow &&
	       !x->mask && !*x->iif && !*x->oif;
}

static bool is_rule_0(const struct rule *x)
{
	return leads_all_to(x, RT_TABLE_LOCAL);
}

/* Only we make rules of this form, at our priorities. */
static bool is_ours(const struct rule *x)
{
	if (x->protocol != RTPROT_KERNEL || x->narrow)
		return false;
	switch (x->pref) {
	case PREF_LOCAL:
		return x->action == FR_ACT_TO_TBL && x->table == RT_TABLE_LOCAL && *x->iif;
	case PREF_PAST:
		return x->action == FR_ACT_GOTO && x->to == PREF_NOP && *x->iif;
	case PREF_CLOSED:
		return x->action == FR_ACT_BLACKHOLE && x->inverted && !strcmp(x->iif, "lo");
	case PREF_NOP:
		return x->action == FR_ACT_NOP && !*x->iif && !*x->oif;
	case PREF_TUNNEL:
		return x->action == FR_ACT_TO_TBL && *x->oif;
	case PREF_QUIET:
		return x->action == FR_ACT_BLACKHOLE && x->mask;
	}
	return false;
}

static void want(struct rules *l, struct rule x)
{
	x.protocol = RTPROT_KERNEL;
	l->rule[l->n++] = x;
}

/* mask 0: everything from that device. */
static void want_dev(struct rules *l, const char *name, bool management, uint32_t mark,
		     uint32_t mask)
{
	struct rule local = { .pref = PREF_LOCAL,
			      .action = FR_ACT_TO_TBL,
			      .table = RT_TABLE_LOCAL,
			      .mark = mark & mask,
			      .mask = mask };
	struct rule past = { .pref = PREF_PAST, .action = FR_ACT_GOTO, .to = PREF_NOP };

	snprintf(local.iif, sizeof(local.iif), "%s", name);
	snprintf(past.iif, sizeof(past.iif), "%s", name);
	want(l, local);
	if (management)
		want(l, past);
}

/*
 * In the order in which they are added: rule 0 still exists then, so each of these closes something
 * or changes nothing. Uplinks before host ports, because every ESP packet goes through the list.
 */
static int wanted(const struct bwl_lock *l, struct rules *ret)
{
	struct rule tunnel = { .pref = PREF_TUNNEL, .action = FR_ACT_TO_TBL, .table = l->table };
	int kind;
	unsigned i;

	*ret = (struct rules){ .rule = calloc(ROOM, sizeof(struct rule)) };
	if (!ret->rule)
		return -ENOMEM;
	want(ret, (struct rule){ .pref = PREF_NOP, .action = FR_ACT_NOP });
	snprintf(tunnel.oif, sizeof(tunnel.oif), "%s", l->tunnel);
	if (*l->tunnel)
		want(ret, tunnel);
	if (l->mask)
		want(ret, (struct rule){ .pref = PREF_QUIET,
					 .action = FR_ACT_BLACKHOLE,
					 .mark = l->mark & l->mask,
					 .mask = l->mask });
	want_dev(ret, "lo", false, 0, 0);
	for (kind = BWL_LOCK_UPLINK; kind <= BWL_LOCK_HOST; kind++)
		for (i = 0; i < l->n; i++)
			if (kind == BWL_LOCK_MANAGEMENT && l->dev[i].kind == BWL_LOCK_MANAGEMENT)
				want_dev(ret, l->dev[i].name, true, 0, 0);
			else if ((int)l->dev[i].kind == kind)
				want_dev(ret, l->dev[i].name, false, l->mark, l->mask);
	want(ret, (struct rule){ .pref = PREF_CLOSED,
				 .action = FR_ACT_BLACKHOLE,
				 .inverted = true,
				 .iif = "lo" });
	return 0;
}

static const struct rule *find(const struct rules *l, const struct rule *x)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		if (is_same(&l->rule[i], x))
			return &l->rule[i];
	return NULL;
}

/*
 * A kernel without CONFIG_IP_MULTIPLE_TABLES, or IPv6's option, has no rules: none can be set, and
 * none is left.
 */
static bool has_no_rules(int r)
{
	return r == -EOPNOTSUPP || r == -EAFNOSUPPORT;
}

static bool has_family(const struct family *f)
{
	return !access(f->reflect, F_OK);
}

static bool reflects(const struct family *f)
{
	return bwl_sysctl_value(f->reflect) == 1;
}

static int reflect(const struct family *f)
{
	return reflects(f) ? 0 : bwl_sysctl_set(f->reflect, 1);
}

/*
 * The kernel's own rules behind ours. Without main the DPU itself has no way out: management, IKE
 * and ESP are cut. A site's rule that does the same, at whatever priority, will do.
 */
static const struct kernel_rule {
	uint8_t family;
	uint32_t pref, table;
} kernel_rules[] = {
	{ AF_INET, 32766, RT_TABLE_MAIN },
	{ AF_INET, 32767, RT_TABLE_DEFAULT },
	{ AF_INET6, 32766, RT_TABLE_MAIN },
};
#define NKERNEL (sizeof(kernel_rules) / sizeof(kernel_rules[0]))

static struct rule rule_of(const struct kernel_rule *k)
{
	return (struct rule){ .pref = k->pref,
			      .table = k->table,
			      .action = FR_ACT_TO_TBL,
			      .protocol = RTPROT_KERNEL };
}

static bool lacks(const struct rules *now, const struct family *f, const struct kernel_rule *k)
{
	size_t i;

	for (i = 0; i < now->n; i++)
		if (now->rule[i].pref > PREF_QUIET && leads_all_to(&now->rule[i], k->table))
			return false;
	return k->family == f->family;
}

static int add_kernels(const struct family *f, const struct rules *now)
{
	int r = 0;

	for (size_t i = 0; !r && i < NKERNEL; i++) {
		struct rule x = rule_of(&kernel_rules[i]);

		if (lacks(now, f, &kernel_rules[i]))
			r = talk(RTM_NEWRULE, f->family, &x);
		r = r == -EEXIST ? 0 : r;
	}
	return r;
}

static int add_missing(const struct family *f, const struct rules *now, const struct rules *w)
{
	size_t i;
	int r = 0;

	for (i = 0; !r && i < w->n; i++)
		if (!find(now, &w->rule[i])) {
			r = talk(RTM_NEWRULE, f->family, &w->rule[i]);
			r = r == -EEXIST ? 0 : r;
		}
	return r;
}

/* At this point no rule is missing. */
static int drop_surplus(const struct family *f, const struct rules *now, const struct rules *w)
{
	size_t i;
	int r = 0;

	for (i = 0; !r && i < now->n; i++) {
		const struct rule *x = &now->rule[i];

		if ((is_rule_0(x) && x->pref == PREF_KERNEL) || (is_ours(x) && !find(w, x)))
			r = talk(RTM_DELRULE, f->family, x);
		if (r == -ENOENT) /* somebody else was faster */
			r = 0;
	}
	return r;
}

static int set_family(const struct family *f, const struct rules *w)
{
	struct rules now;
	int r = dump(f->family, &now);

	if (!r)
		r = add_kernels(f, &now);
	if (!r)
		r = add_missing(f, &now, w);
	if (!r)
		r = drop_surplus(f, &now, w);
	free(now.rule);
	return r ? r : reflect(f);
}

int bwl_lock_set(const struct bwl_lock *l, struct bwl_err *e)
{
	struct rules w;
	unsigned i;
	int r = wanted(l, &w);

	for (i = 0; !r && i < 2; i++) {
		if (!has_family(&families[i]))
			continue;
		r = set_family(&families[i], &w);
		if (r)
			bwl_fail(e, -r, "cannot set the %s rules that close other devices: %s",
				 families[i].name, strerror(-r));
		if (has_no_rules(r))
			bwl_hint(
				e,
				"boot a kernel with CONFIG_IP_MULTIPLE_TABLES and CONFIG_IPV6_MULTIPLE_TABLES");
	}
	free(w.rule);
	return r;
}

struct told {
	const struct family *f;
	void (*say)(void *arg, const char *what);
	void *arg;
	int n;
};

static void tell(struct told *t, const char *what, const struct rule *x)
{
	static const char *const actions[] = { [FR_ACT_TO_TBL] = "table",
					       [FR_ACT_GOTO] = "goto",
					       [FR_ACT_NOP] = "nop",
					       [FR_ACT_BLACKHOLE] = "blackhole",
					       [FR_ACT_UNREACHABLE] = "unreachable",
					       [FR_ACT_PROHIBIT] = "prohibit" };
	const char *action = x->action <= FR_ACT_PROHIBIT && actions[x->action] ? actions[x->action]
										: "?";
	char text[192], number[16] = "";

	if (x->action == FR_ACT_TO_TBL || x->action == FR_ACT_GOTO)
		snprintf(number, sizeof(number), " %u",
			 x->action == FR_ACT_TO_TBL ? x->table : x->to);
	snprintf(text, sizeof(text), "%s rule %u (%s%s%s%s%s%s%s%s) %s", t->f->name, x->pref,
		 x->inverted ? "not " : "", *x->iif ? "iif " : "", x->iif, *x->oif ? "oif " : "",
		 x->oif,
		 x->mask              ? *x->iif ? " fwmark " : "fwmark "
		 : *x->iif || *x->oif ? " "
				      : "all ",
		 action, number, what);
	t->say(t->arg, text);
	t->n++;
}

static bool refuses(const struct rule *x)
{
	return x->action == FR_ACT_BLACKHOLE || x->action == FR_ACT_UNREACHABLE ||
	       x->action == FR_ACT_PROHIBIT || x->action == FR_ACT_NOP;
}

/* A site's own rule: it is after ours, or refuses, or only leads on what management has sent. */
static bool is_harmless(const struct rules *w, const struct rule *x)
{
	struct rule past = { .pref = PREF_PAST, .action = FR_ACT_GOTO, .to = PREF_NOP };

	snprintf(past.iif, sizeof(past.iif), "%s", x->iif);
	return x->pref > PREF_QUIET || refuses(x) || (*x->iif && !x->inverted && find(w, &past));
}

static int look_at_family(struct told *t, const struct rules *w)
{
	struct rules now;
	size_t i;
	int r = dump(t->f->family, &now);

	for (i = 0; !r && i < w->n; i++)
		if (!find(&now, &w->rule[i]))
			tell(t, "is missing", &w->rule[i]);
	for (i = 0; !r && i < NKERNEL; i++) {
		struct rule x = rule_of(&kernel_rules[i]);

		if (lacks(&now, t->f, &kernel_rules[i]))
			tell(t,
			     "is missing: the kernel made it, and what the DPU sends rests on it",
			     &x);
	}
	for (i = 0; !r && i < now.n; i++) {
		const struct rule *x = &now.rule[i];

		if (find(w, x))
			continue;
		if (is_ours(x))
			tell(t, "is left over", x);
		else if (!is_harmless(w, x))
			tell(t, "bypasses those of bwlimit", x);
	}
	free(now.rule);
	if (!r && !reflects(t->f)) {
		char text[96];

		snprintf(text, sizeof(text), "%s is off: replies of the kernel carry no mark",
			 t->f->reflect);
		t->say(t->arg, text);
		t->n++;
	}
	return r;
}

int bwl_lock_look(const struct bwl_lock *l, void (*say)(void *arg, const char *what), void *arg,
		  struct bwl_err *e)
{
	struct told t = { .say = say, .arg = arg };
	struct rules w;
	unsigned i;
	int r = wanted(l, &w);

	for (i = 0; !r && i < 2; i++) {
		t.f = &families[i];
		if (!has_family(t.f))
			continue;
		r = look_at_family(&t, &w);
		if (r)
			bwl_fail(e, -r, "cannot read the %s rules: %s", t.f->name, strerror(-r));
	}
	free(w.rule);
	return r ? r : t.n;
}

static int open_family(const struct family *f)
{
	static const struct rule rule_0 = { .action = FR_ACT_TO_TBL,
					    .table = RT_TABLE_LOCAL,
					    .protocol = RTPROT_KERNEL };
	bool ours = false, local = false;
	struct rules now;
	size_t i;
	int r = dump(f->family, &now);

	for (i = 0; !r && i < now.n; i++) {
		ours |= is_ours(&now.rule[i]);
		local |= is_rule_0(&now.rule[i]) && now.rule[i].pref == PREF_KERNEL;
	}
	if (ours && !local)
		r = talk(RTM_NEWRULE, f->family, &rule_0);
	/*
	 * First the rules that refuse and those that jump over them; last those that lead to table
	 * local.
	 */
	for (i = now.n; !r && ours && i-- > 0;)
		if (is_ours(&now.rule[i]))
			r = talk(RTM_DELRULE, f->family, &now.rule[i]);
	free(now.rule);
	return r;
}

bool bwl_lock_stands(void)
{
	bool ours = false;
	struct rules now;
	unsigned i;
	size_t k;

	for (i = 0; i < 2; i++) {
		if (!has_family(&families[i]))
			continue;
		if (!dump(families[i].family, &now))
			for (k = 0; k < now.n; k++)
				ours |= is_ours(&now.rule[k]);
		free(now.rule);
	}
	return ours;
}

int bwl_lock_open(struct bwl_err *e)
{
	unsigned i;
	int r = 0;

	for (i = 0; !r && i < 2; i++) {
		if (!has_family(&families[i]))
			continue;
		r = open_family(&families[i]);
		r = has_no_rules(r) ? 0 : r;
		if (r)
			bwl_fail(e, -r, "cannot remove the %s rules: %s", families[i].name,
				 strerror(-r));
	}
	return r;
}
