// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Signs of tampering with the machine; respond.c does what the policy says about each. On a
 * separate thread: the kernel's notifications of links and neighbours at once, everything without
 * notifications every 5 ms.
 */
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
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
#include "ports.h"
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
	struct tamper_ports ports;
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
	int port = tamper_ports_at(&t->ports, (uint32_t)m->ndm_ifindex);
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
		tamper_ports_news(&t->ports, h);
	else if (h->nlmsg_type == RTM_NEWNEIGH)
		on_neighbour(t, h);
	return MNL_CB_OK;
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

/* Returns whether some were lost. */
static bool await_news(struct tamper *t)
{
	struct pollfd p = { .fd = t->news, .events = POLLIN };
	bool lost = false;
	char buf[32768];
	ssize_t n;

	if (poll(&p, 1, EVERY_MS) <= 0)
		return false;
	while ((n = recv(t->news, buf, sizeof(buf), 0)) > 0 || (n < 0 && errno == ENOBUFS)) {
		lost |= n < 0;
		if (n > 0)
			mnl_cb_run(buf, (size_t)n, 0, 0, on_message, t);
	}
	return lost;
}

static void run(void *arg)
{
	struct tamper *t = arg;

	while (agent_thread_goes_on(&t->thread)) {
		tamper_ports_begin(&t->ports);
		tamper_ports_look(&t->ports);
		look_at_chassis(t);
		tamper_gate_look(t->gate);
		tamper_ports_end(&t->ports, await_news(t));
	}
}

static void end(struct tamper *t)
{
	if (t->news >= 0)
		close(t->news);
	close_sensors(t);
	tamper_ports_close(&t->ports);
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
	t->ports.pins = t->pins;
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
