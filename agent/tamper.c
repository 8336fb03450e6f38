/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Signs that somebody has his hands on the machine, and what the policy's `tamper` says about each. The
 * order is: the map, the kernel's SAs, the log, charon; so neither a disk nor charon holds up what closes.
 * A thread of its own: the kernel's news of links and neighbours at once, the rest every 100 ms.
 */
#include <errno.h>
#include <glob.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <syslog.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <libmnl/libmnl.h>
#include "agent.h"
#include "ipsec/revoke.h"
#include "ipsec/xfrm.h"

#define EVERY_MS 100
#define NEIGHBOURS 256
#define HWMON "/sys/class/hwmon/hwmon*/intrusion*_alarm"
#define CHARON_NS 2000000000ULL

static struct {
	pthread_mutex_t lock;
	uint8_t action[_BWL_TAMPER_MAX];
} wanted = { .lock = PTHREAD_MUTEX_INITIALIZER };
static atomic_bool clamped;

struct agent_tamper {
	pthread_t thread;
	struct bwl_pins *pins;
	int news;
	atomic_bool stop;
	bool carrier[BWL_MAX_PORTS];
	uint64_t gate[BWL_MAX_PORTS];
	bool intruded;
	struct neighbour {
		uint32_t ifindex;
		uint8_t len, addr[16], mac[6];
	} neighbour[NEIGHBOURS];
	unsigned nneighbours;
};

void agent_tamper_policy(const struct bwl_policy *pol)
{
	pthread_mutex_lock(&wanted.lock);
	memcpy(wanted.action, pol->tamper, sizeof(wanted.action));
	pthread_mutex_unlock(&wanted.lock);
}

bool agent_is_clamped(void)
{
	return atomic_load(&clamped);
}

/* To the floors: a deadline that has passed. Without a heartbeat in the policy that does nothing. */
static bool clamp(struct bwl_pins *p)
{
	struct bwl_gen g;
	bool beats;

	atomic_store(&clamped, true);
	__atomic_store_n(&p->ctl->heartbeat_ns, 1, __ATOMIC_SEQ_CST);
	if (bwl_gen_open(p, bwl_active_slot(p, bwl_now_ns()), &g, NULL))
		return false;
	beats = g.base->heartbeat_ns;
	bwl_gen_close(&g);
	return beats;
}

static bool is_peer(uint32_t peer, const void *max)
{
	return peer && peer < *(const uint32_t *)max;
}

static void act(struct agent_tamper *t, enum bwl_tamper_input input, const char *what)
{
	uint64_t start = bwl_now_ns(), closed, kernel;
	struct bwl_xfrm_dropped sas = { 0 };
	struct bwl_ipsec_drop charon = { 0 };
	struct bwl_err e = { 0 };
	enum bwl_action action;

	pthread_mutex_lock(&wanted.lock);
	action = wanted.action[input];
	pthread_mutex_unlock(&wanted.lock);
	if (action == BWL_ACTION_CLAMP && !clamp(t->pins))
		action = BWL_ACTION_REVOKE;
	if (action == BWL_ACTION_REVOKE)
		bwl_revoke(t->pins, NULL, &e);
	closed = bwl_now_ns();
	if (action == BWL_ACTION_REVOKE)
		bwl_xfrm_drop(is_peer, &t->pins->schema.max_peers, &sas, &e);
	kernel = bwl_now_ns();
	agent_log(LOG_ALERT, "tamper", "%s: %s; action %s: map %.3f ms, %u SAs of the kernel %.3f ms",
		  bwl_tamper_name(input), what, bwl_action_name(action), (double)(closed - start) / 1e6,
		  sas.sas, (double)(kernel - closed) / 1e6);
	if (action != BWL_ACTION_REVOKE || !t->pins->ctl->tunnel)
		return;
	if (bwl_ipsec_drop_peers(NULL, NULL, 0, true, CHARON_NS, &charon, &e))
		agent_log_err(LOG_WARNING, "tamper", &e);
}

static int port_of(const struct agent_tamper *t, int ifindex)
{
	for (int i = 0; i < BWL_MAX_PORTS; i++)
		if (t->pins->dev[i].ifindex == (uint32_t)ifindex && ifindex > 0 &&
		    t->pins->dev[i].kind != BWL_PORT_TUNNEL)
			return i;
	return -1;
}

/* A host port that one of our tools sets down is no sign; one whose other end goes is. */
static void on_link(struct agent_tamper *t, const struct nlmsghdr *h)
{
	const struct ifinfomsg *m = mnl_nlmsg_get_payload(h);
	bool carrier = h->nlmsg_type == RTM_NEWLINK && (m->ifi_flags & IFF_LOWER_UP);
	int i = port_of(t, m->ifi_index);
	char text[80];
	bool uplink;

	if (i < 0)
		return;
	uplink = t->pins->dev[i].kind == BWL_PORT_UPLINK;
	if (t->carrier[i] && !carrier &&
	    (uplink || (m->ifi_flags & IFF_UP) || h->nlmsg_type == RTM_DELLINK)) {

		snprintf(text, sizeof(text), "%.15s lost its carrier%s", t->pins->dev[i].name,
			 h->nlmsg_type == RTM_DELLINK ? ": the device is gone" : "");
		act(t, uplink ? BWL_TAMPER_carrier : BWL_TAMPER_port, text);
	}
	t->carrier[i] = carrier;
}

static int on_attr(const struct nlattr *a, void *arg)
{
	const struct nlattr **to = arg;

	if (mnl_attr_get_type(a) <= NDA_LLADDR)
		to[mnl_attr_get_type(a)] = a;
	return MNL_CB_OK;
}

/* Another MAC for an address of an uplink that had one. */
static void on_neighbour(struct agent_tamper *t, const struct nlmsghdr *h)
{
	const struct ndmsg *m = mnl_nlmsg_get_payload(h);
	const struct nlattr *a[NDA_LLADDR + 1] = { 0 };
	int port = port_of(t, m->ndm_ifindex);
	struct neighbour n = { .ifindex = (uint32_t)m->ndm_ifindex };
	char text[120];

	if (port < 0 || t->pins->dev[port].kind != BWL_PORT_UPLINK)
		return;
	mnl_attr_parse(h, sizeof(*m), on_attr, a);
	if (!a[NDA_DST] || !a[NDA_LLADDR] || mnl_attr_get_payload_len(a[NDA_LLADDR]) != 6 ||
	    mnl_attr_get_payload_len(a[NDA_DST]) > 16)
		return;
	n.len = (uint8_t)mnl_attr_get_payload_len(a[NDA_DST]);
	memcpy(n.addr, mnl_attr_get_payload(a[NDA_DST]), n.len);
	memcpy(n.mac, mnl_attr_get_payload(a[NDA_LLADDR]), 6);
	for (unsigned i = 0; i < t->nneighbours; i++) {
		struct neighbour *x = &t->neighbour[i];

		if (x->ifindex != n.ifindex || x->len != n.len || memcmp(x->addr, n.addr, n.len))
			continue;
		if (memcmp(x->mac, n.mac, 6)) {
			snprintf(text, sizeof(text), "a neighbour at %.15s is now %02x:%02x:%02x:%02x:%02x:%02x",
				 t->pins->dev[port].name, n.mac[0], n.mac[1], n.mac[2], n.mac[3], n.mac[4],
				 n.mac[5]);
			memcpy(x->mac, n.mac, 6);
			act(t, BWL_TAMPER_neighbour, text);
		}
		return;
	}
	if (t->nneighbours < NEIGHBOURS)
		t->neighbour[t->nneighbours++] = n;
}

static int on_message(const struct nlmsghdr *h, void *arg)
{
	struct agent_tamper *t = arg;

	if (h->nlmsg_type == RTM_NEWLINK || h->nlmsg_type == RTM_DELLINK)
		on_link(t, h);
	else if (h->nlmsg_type == RTM_NEWNEIGH)
		on_neighbour(t, h);
	return MNL_CB_OK;
}

/* All links as they are now, as news: at the start, and when news were lost. */
static void ask_for_links(struct agent_tamper *t)
{
	struct {
		struct nlmsghdr h;
		struct ifinfomsg m;
	} ask = { .h = { .nlmsg_len = sizeof(ask), .nlmsg_type = RTM_GETLINK,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP } };

	if (send(t->news, &ask, sizeof(ask), 0) < 0)
		agent_log(LOG_ERR, "tamper", "cannot ask for the links: %s", strerror(errno));
}

static void look_at_chassis(struct agent_tamper *t)
{
	bool now = false;
	char where[160] = "";
	glob_t g = { 0 };

	if (!glob(HWMON, 0, NULL, &g)) {
		for (size_t i = 0; i < g.gl_pathc && !now; i++) {
			FILE *f = fopen(g.gl_pathv[i], "re");
			int v = 0;

			if (f && fscanf(f, "%d", &v) == 1 && v) {
				now = true;
				snprintf(where, sizeof(where), "%s says %d", g.gl_pathv[i], v);
			}
			if (f)
				fclose(f);
		}
		globfree(&g);
	}
	if (now && !t->intruded)
		act(t, BWL_TAMPER_intrusion, where);
	t->intruded = now;
}

/* What the last gate of an uplink stopped. */
static void look_at_gate(struct agent_tamper *t, bool first)
{
	int cpus = libbpf_num_possible_cpus();
	struct bwl_reason_count *c = cpus > 0 ? calloc((size_t)cpus, sizeof(*c)) : NULL;
	char text[80];

	for (unsigned i = 0; c && i < BWL_MAX_PORTS; i++) {
		uint32_t key = (BWL_MAX_PORTS + i) * BWL_REASON_SLOTS + BWL_R_GATE;
		uint64_t sum = 0;

		if (t->pins->dev[i].kind != BWL_PORT_UPLINK || !t->pins->dev[i].ifindex ||
		    bpf_map_lookup_elem(t->pins->fd[BWL_PIN_reason], &key, c))
			continue;
		for (int cpu = 0; cpu < cpus; cpu++)
			sum += c[cpu].frames;
		if (!first && sum > t->gate[i]) {
			snprintf(text, sizeof(text), "%llu frames stopped by the last gate of %.15s",
				 (unsigned long long)(sum - t->gate[i]), t->pins->dev[i].name);
			act(t, BWL_TAMPER_cleartext, text);
		}
		t->gate[i] = sum;
	}
	free(c);
}

static void await_news(struct agent_tamper *t)
{
	struct pollfd p = { .fd = t->news, .events = POLLIN };
	char buf[32768];
	ssize_t n;

	if (poll(&p, 1, EVERY_MS) <= 0)
		return;
	while ((n = recv(t->news, buf, sizeof(buf), 0)) > 0)
		mnl_cb_run(buf, (size_t)n, 0, 0, on_message, t);
	if (n < 0 && errno == ENOBUFS)
		ask_for_links(t);
}

static void *run(void *arg)
{
	struct agent_tamper *t = arg;

	ask_for_links(t);
	look_at_gate(t, true);
	while (!atomic_load(&t->stop)) {
		look_at_chassis(t);
		look_at_gate(t, false);
		await_news(t);
	}
	return NULL;
}

static int begin(struct agent_tamper *t, const char *pin_dir, struct bwl_err *e)
{
	struct sockaddr_nl at = { .nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK | RTMGRP_NEIGH };
	int r = bwl_pins_open(pin_dir, true, &t->pins, e);

	if (r)
		return r;
	t->news = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
	if (t->news < 0 || bind(t->news, (struct sockaddr *)&at, sizeof(at)))
		return bwl_fail(e, errno, "cannot listen to the kernel's news: %s", strerror(errno));
	return pthread_create(&t->thread, NULL, run, t) ? bwl_fail(e, EAGAIN, "cannot start a thread") : 0;
}

static void end(struct agent_tamper *t)
{
	if (t->news >= 0)
		close(t->news);
	bwl_pins_close(t->pins);
	free(t);
}

void agent_tamper_start(struct agent *a)
{
	struct agent_tamper *t;
	struct bwl_err e = { 0 };

	if (a->tamper || a->once)
		return;
	t = calloc(1, sizeof(*t));
	if (!t)
		return;
	t->news = -1;
	if (begin(t, a->pin_dir, &e)) {
		agent_log_err(LOG_ALERT, "tamper", &e);
		end(t);
		return;
	}
	a->tamper = t;
}

void agent_tamper_stop(struct agent *a)
{
	struct agent_tamper *t = a->tamper;

	if (!t)
		return;
	atomic_store(&t->stop, true);
	pthread_join(t->thread, NULL);
	end(t);
	a->tamper = NULL;
}
