// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * `watch` without a running bwlimitd: reads the ring buffer itself, and releases it when bwlimitd
 * starts.
 */
#include <errno.h>
#include <string.h>
#include <bpf/libbpf.h>
#include "watch.h"

#define SECOND_NS 1000000000ULL
#define EVERY_MS 500

struct reader {
	struct watch *w;
	struct bwl_pins *pins;
	struct ring_buffer *ring;
	struct bwl_event_losses losses;
	int lock;
};

static int on_event(void *arg, void *data, size_t len)
{
	struct reader *v = arg;
	struct bwl_event e;

	if (len < sizeof(e) || !watch_goes_on(v->w))
		return 0;
	memcpy(&e, data, sizeof(e));
	if (bwl_filter_matches(&v->w->filter, v->pins, &e))
		watch_print(v->w, bwl_event_doc(v->pins, &e));
	/* stops the batch: what is left stays in the ring for the next reader */
	return watch_goes_on(v->w) ? 0 : -ECANCELED;
}

static int tell_lost(struct reader *v)
{
	struct bwl_event_losses now;
	uint64_t n;
	int r = bwl_event_losses(v->pins, &now, &v->w->c->err);

	if (r)
		return r;
	n = bwl_event_lost_between(&v->w->filter, v->pins, &v->losses, &now);
	v->losses = now;
	if (n)
		watch_print(v->w, bwl_event_lost_doc(n, 0));
	return 0;
}

static int read_ring(struct reader *v)
{
	uint64_t looked = bwl_now_ns();
	bool other = false;
	int r = 0;

	while (!r && !other && watch_goes_on(v->w)) {
		r = ring_buffer__poll(v->ring, watch_left_ms(v->w, EVERY_MS));
		r = r == -EINTR || r == -ECANCELED || r > 0 ? 0 : r;
		if (r) {
			r = bwl_fail(&v->w->c->err, -r, "cannot read the events: %s", strerror(-r));
		} else if (bwl_now_ns() - looked >= SECOND_NS) {
			looked = bwl_now_ns();
			other = watch_is_agent(v->w);
			r = tell_lost(v);
		}
	}
	if (!r)
		r = tell_lost(v);
	return r ? r : other ? WATCH_OTHER : WATCH_DONE;
}

static void end(struct reader *v)
{
	ring_buffer__free(v->ring);
	if (v->lock >= 0)
		close(v->lock);
	bwl_pins_close(v->pins);
}

static int begin(struct reader *v)
{
	struct bwl_err *e = &v->w->c->err;
	int r = bwl_pins_open(v->w->c->pin_dir, true, &v->pins, e);

	if (!r)
		r = bwl_filter_check(&v->w->filter, v->pins, e);
	if (!r)
		r = bwl_event_lock(v->pins, &v->lock, e);
	if (r == -EBUSY)
		return bwl_hint(
			e,
			"a bwlimitd that does not answer reads them, or another `watch`: end it");
	if (!r)
		r = bwl_event_losses(v->pins, &v->losses, e);
	if (!r)
		v->ring = ring_buffer__new(v->pins->fd[BWL_PIN_event], on_event, v, NULL);
	if (!r && !v->ring)
		r = bwl_fail(e, errno, "cannot map the events: %s", strerror(errno));
	return r;
}

int watch_ring(struct watch *w)
{
	struct reader v = { .w = w, .lock = -1 };
	int r = begin(&v);

	if (!r) {
		bwl_info("bwlimitd does not answer: events are read here, and not logged");
		r = read_ring(&v);
	}
	end(&v);
	return r;
}
