// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What bwlimit-ctl orders from the agent, and the end of the lease that it renews. On a separate
 * thread, which waits for no disk and no driver: an order that closes is answered in milliseconds,
 * whatever else hangs.
 */
#include <poll.h>
#include <stdlib.h>
#include <syslog.h>
#include "lease.h"
#include "order_verbs.h"
#include "parts.h"
#include "thread.h"

#define EVERY_MS 100 /* checks for slow clients, and for a lease that somebody else changed */

struct orders_part {
	struct agent_thread thread;
	struct bwl_pins *pins;
	struct order_about about;
	struct orders *orders; /* NULL: no orders are accepted */
	uint64_t lease_ns;
};

static void run(void *arg)
{
	struct orders_part *v = arg;
	struct pollfd p = { .fd = orders_fd(v->orders), .events = POLLIN };

	while (agent_thread_goes_on(&v->thread)) {
		lease_look(v->pins, &v->lease_ns);
		poll(&p, 1, lease_sleep_ms(v->pins, EVERY_MS));
		orders_run(v->orders, bwl_now_ns());
	}
}

static int listen_to(struct orders_part *v, const char *pin_dir, struct bwl_err *e)
{
	struct sockaddr_un at;
	int r = line_socket_address(pin_dir, BWL_AGENT_ORDERS, &at, e);

	if (!r)
		r = orders_open(at.sun_path, order_verbs, &v->about, &v->orders, e);
	return r ? bwl_hint(e, "bwlimit-ctl tamper acts without it") : 0;
}

static void end(struct orders_part *v)
{
	orders_close(v->orders);
	policy_order_end(v->about.policy);
	bwl_pins_close(v->pins);
	free(v);
}
BWL_AUTO_DEFINE(end, struct orders_part *)

int agent_orders_start(struct agent *a, void **ret_part, struct bwl_err *e)
{
	BWL_AUTO(end) struct orders_part *v = calloc(1, sizeof(*v));
	struct bwl_err no = { 0 };
	int r;

	if (!v)
		return bwl_fail(e, ENOMEM, "out of memory");
	r = bwl_pins_open(a->pin_dir, true, &v->pins, e);
	if (!r)
		r = policy_order_new(a->pin_dir, &v->about.policy, e);
	if (r)
		return r;
	v->about.pins = v->pins;
	if (listen_to(v, a->pin_dir, &no)) /* without orders the lease is checked nevertheless */
		agent_log_err(LOG_WARNING, "tamper", &no);
	r = agent_thread_start(&v->thread, run, v, e);
	if (!r)
		*ret_part = bwl_take_ptr(&v);
	return r;
}

void agent_orders_stop(struct agent *a, void *part)
{
	struct orders_part *v = part;

	(void)a;
	agent_thread_stop(&v->thread);
	end(v);
}
