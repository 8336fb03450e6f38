/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Signs of tampering with the machine; respond.c does what the policy says about each. On a
 * separate thread: the kernel's notifications of links and neighbours at once, everything without
 * notifications every 5 ms.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <linux/if.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <syslog.h>
#include <unistd.h>
#include <libmnl/libmnl.h>
#include <bwl/nl.h>
#include <bwl/prefix.h>
#include "gate.h"
#include "parts.h"
#include "link_carrier.h"
#include "thread.h"

#define EVERY_MS 5
#define SECOND_NS 1000000000ULL
#define NEIGHBOURS 256
#define SENSORS 16
#define SENSOR_DUTY 20              /* a slow sensor is read for at most a twentieth of the time, */
#define SENSOR_REST_NS 100000000ULL /* but in any case ten times a second */
#define HWMON "/sys/class/hwmon/hwmon*/intrusion*_alarm"

struct tamper {
	struct agent_thread thread;
	struct bwl_pins *pins;
	int news;
	bool carrier[BWL_MAX_PORTS]; /* as last reported by the kernel */
	struct tamper_port port[BWL_MAX_PORTS];
	struct tamper_gate *gate;
	struct sensor {
		int fd;
		char path[100];
	} sensor[SENSORS];
	unsigned nsensors;
	uint64_t sensors_ns, chassis_ns; /* when to search for sensors, and to read them, next */
	bool intruded;
	struct neighbour {
		uint32_t ifindex;
		uint8_t len, addr[16], mac[6];
	} neighbour[NEIGHBOURS];
	unsigned nneighbours;
};

static void act(struct tamper *t, enum bwl_tamper_input input, unsigned port, const char *what)
{
	agent_tamper(t->pins, &(struct agent_sign){ .input = input, .what = what, .port = port },
		     false);
}

static int port_of(const struct tamper *t, int ifindex)
{
	for (int i = 0; i < BWL_MAX_PORTS; i++)
		if (t->pins->dev[i].ifindex == (uint32_t)ifindex && ifindex > 0 &&
		    t->pins->dev[i].kind & (BWL_PORT_HOST | BWL_PORT_UPLINK))
			return i;
	return -1;
}

/* A host port that one of our tools sets down is no sign; one whose other end is gone is. */
static void lost(struct tamper *t, int i, bool is_set_down, bool is_gone)
{
	bool uplink = t->pins->dev[i].kind == BWL_PORT_UPLINK;
	char text[80];

	if (is_set_down && !uplink)
		return;
	snprintf(text, sizeof(text), "%.15s lost its carrier%s", t->pins->dev[i].name,
		 is_gone ? ": the device is gone" : "");
	act(t, uplink ? BWL_TAMPER_carrier : BWL_TAMPER_port, (unsigned)i, text);
}

static void on_link(struct tamper *t, const struct nlmsghdr *h)
{
	const struct ifinfomsg *m = mnl_nlmsg_get_payload(h);
	bool gone = h->nlmsg_type == RTM_DELLINK, carrier = !gone && (m->ifi_flags & IFF_LOWER_UP);
	int i = port_of(t, m->ifi_index);

	if (i < 0)
		return;
	/* if sysfs can be read, look_at_ports() has seen it earlier */
	if (t->carrier[i] && !carrier && (gone || !t->port[i].ifindex))
		lost(t, i, !gone && !(m->ifi_flags & IFF_UP), gone);
	t->carrier[i] = carrier;
}

static void look_at_ports(struct tamper *t)
{
	for (int i = 0; i < BWL_MAX_PORTS; i++) {
		const struct bwl_dev *d = &t->pins->dev[i];
		enum tamper_loss loss;

		if (!d->ifindex || !(d->kind & (BWL_PORT_HOST | BWL_PORT_UPLINK)))
			continue;
		loss = tamper_port_look(&t->port[i], d);
		if (loss != TAMPER_KEPT)
			lost(t, i, loss == TAMPER_SET_DOWN, false);
	}
}

static int on_attr(const struct nlattr *a, void *arg)
{
	const struct nlattr **to = arg;

	if (mnl_attr_get_type(a) <= NDA_PROTOCOL)
		to[mnl_attr_get_type(a)] = a;
	return MNL_CB_OK;
}

/* A new MAC for a known address at an uplink is a sign, unless the policy gives that MAC. */
static void on_neighbour(struct tamper *t, const struct nlmsghdr *h)
{
	const struct ndmsg *m = mnl_nlmsg_get_payload(h);
	const struct nlattr *a[NDA_PROTOCOL + 1] = { 0 };
	int port = port_of(t, m->ndm_ifindex);
	struct neighbour n = { .ifindex = (uint32_t)m->ndm_ifindex };
	char text[120], mac[BWL_MAC_BUF];
	bool ours;

	if (port < 0 || t->pins->dev[port].kind != BWL_PORT_UPLINK)
		return;
	mnl_attr_parse(h, sizeof(*m), on_attr, a);
	if (!a[NDA_DST] || !a[NDA_LLADDR] || mnl_attr_get_payload_len(a[NDA_LLADDR]) != 6 ||
	    mnl_attr_get_payload_len(a[NDA_DST]) > 16)
		return;
	ours = m->ndm_state & NUD_PERMANENT && a[NDA_PROTOCOL] &&
	       mnl_attr_get_u8(a[NDA_PROTOCOL]) == BWL_NEIGHBOUR_PROTOCOL;
	n.len = (uint8_t)mnl_attr_get_payload_len(a[NDA_DST]);
	memcpy(n.addr, mnl_attr_get_payload(a[NDA_DST]), n.len);
	memcpy(n.mac, mnl_attr_get_payload(a[NDA_LLADDR]), 6);
	for (unsigned i = 0; i < t->nneighbours; i++) {
		struct neighbour *x = &t->neighbour[i];

		if (x->ifindex != n.ifindex || x->len != n.len || memcmp(x->addr, n.addr, n.len))
			continue;
		if (memcmp(x->mac, n.mac, 6)) {
			snprintf(text, sizeof(text), "a neighbour on %.15s is now %s",
				 t->pins->dev[port].name, bwl_mac_format(n.mac, mac));
			memcpy(x->mac, n.mac, 6);
			if (!ours)
				act(t, BWL_TAMPER_neighbour, (unsigned)port, text);
		}
		return;
	}
	if (t->nneighbours < NEIGHBOURS)
		t->neighbour[t->nneighbours++] = n;
}

static int on_message(const struct nlmsghdr *h, void *arg)
{
	struct tamper *t = arg;

	if (h->nlmsg_type == RTM_NEWLINK || h->nlmsg_type == RTM_DELLINK)
		on_link(t, h);
	else if (h->nlmsg_type == RTM_NEWNEIGH)
		on_neighbour(t, h);
	return MNL_CB_OK;
}

/* Asks for all links, which arrive like news: at the start, and after news were lost. */
static void ask_for_links(struct tamper *t)
{
	struct {
		struct nlmsghdr h;
		struct ifinfomsg m;
	} ask = { .h = { .nlmsg_len = sizeof(ask),
			 .nlmsg_type = RTM_GETLINK,
			 .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP } };

	if (send(t->news, &ask, sizeof(ask), 0) < 0)
		agent_later(LOG_ERR, "tamper",
			    "cannot list the network devices: "
			    "%s",
			    strerror(errno));
}

static void close_sensors(struct tamper *t)
{
	while (t->nsensors)
		close(t->sensor[--t->nsensors].fd);
}

/*
 * Sensors come and go with their drivers. They are kept open: finding them costs more than reading.
 */
static void find_sensors(struct tamper *t)
{
	glob_t g = { 0 };

	close_sensors(t);
	if (glob(HWMON, 0, NULL, &g))
		return;
	for (size_t i = 0; i < g.gl_pathc && t->nsensors < SENSORS; i++) {
		struct sensor *x = &t->sensor[t->nsensors];

		x->fd = open(g.gl_pathv[i], O_RDONLY | O_CLOEXEC);
		snprintf(x->path, sizeof(x->path), "%s", g.gl_pathv[i]);
		t->nsensors += x->fd >= 0;
	}
	globfree(&g);
}

static void look_at_chassis(struct tamper *t)
{
	uint64_t start = bwl_now_ns(), rest;
	char where[140] = "";
	bool now = false;

	if (start < t->chassis_ns)
		return;
	if (start >= t->sensors_ns) {
		find_sensors(t);
		t->sensors_ns = start + SECOND_NS;
	}
	for (unsigned i = 0; i < t->nsensors && !now; i++) {
		char text[16] = "";
		ssize_t n = pread(t->sensor[i].fd, text, sizeof(text) - 1, 0);
		long v = n > 0 ? strtol(text, NULL, 10) : 0;

		if (v) {
			now = true;
			snprintf(where, sizeof(where), "%s reads %ld", t->sensor[i].path, v);
		}
	}
	if (now && !t->intruded)
		act(t, BWL_TAMPER_intrusion, 0, where);
	t->intruded = now;
	rest = SENSOR_DUTY * (bwl_now_ns() - start);
	t->chassis_ns = start + (rest < SENSOR_REST_NS ? rest : SENSOR_REST_NS);
}

static void await_news(struct tamper *t)
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

static void run(void *arg)
{
	struct tamper *t = arg;

	ask_for_links(t);
	while (agent_thread_goes_on(&t->thread)) {
		look_at_ports(t);
		look_at_chassis(t);
		tamper_gate_look(t->gate);
		await_news(t);
	}
}

static void end(struct tamper *t)
{
	if (t->news >= 0)
		close(t->news);
	close_sensors(t);
	for (unsigned i = 0; i < BWL_MAX_PORTS; i++)
		tamper_port_close(&t->port[i]);
	tamper_gate_free(t->gate);
	bwl_pins_close(t->pins);
	free(t);
}
BWL_AUTO_DEFINE(end, struct tamper *)

int agent_tamper_start(struct agent *a, void **ret_part, struct bwl_err *e)
{
	struct sockaddr_nl at = { .nl_family = AF_NETLINK,
				  .nl_groups = RTMGRP_LINK | RTMGRP_NEIGH };
	BWL_AUTO(end) struct tamper *t = calloc(1, sizeof(*t));
	int r;

	if (!t)
		return bwl_fail(e, ENOMEM, "out of memory");
	t->news = -1;
	r = bwl_pins_open(a->pin_dir, true, &t->pins, e);
	if (!r)
		r = tamper_gate_new(t->pins, &t->gate, e);
	if (r)
		return r;
	t->news = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
	if (t->news < 0 || bind(t->news, (struct sockaddr *)&at, sizeof(at)))
		return bwl_fail(e, errno, "cannot subscribe to the kernel's notifications: %s",
				strerror(errno));
	r = agent_thread_start(&t->thread, run, t, e);
	if (!r)
		*ret_part = bwl_take_ptr(&t);
	return r;
}

void agent_tamper_stop(struct agent *a, void *part)
{
	struct tamper *t = part;

	(void)a;
	agent_thread_stop(&t->thread);
	end(t);
}
