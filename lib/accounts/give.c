// SPDX-License-Identifier: GPL-2.0-or-later
/* Gives some of a window's volume back: see give.h. */
#include <bwl/give.h>

/* The slices of the window, the newest first; the others are no longer in it, whatever they hold.
 */
struct slices {
	uint64_t newest, now; /* the newest that was counted in, and the present one */
	bool all;             /* the next packet moves all of them into the present slice */
};

static struct slices slices_of(const struct bwl_window *w, const struct bwl_volume *v,
			       uint64_t now_ns)
{
	uint64_t turn = __atomic_load_n(&w->turn, __ATOMIC_SEQ_CST) & ~BWL_TURN_LOCK;
	struct slices s = { .newest = turn & BWL_TURN_SLICE_MASK, .now = now_ns / v->slice_ns };

	s.all = turn >> BWL_TURN_EPOCH_SHIFT != (v->epoch & 0x7f);
	if (s.newest > s.now)
		s.now = s.newest;
	return s;
}

/* The k-th newest; NULL: it is out of the window. */
static __u64 *slice(struct bwl_window *w, const struct slices *s, unsigned k)
{
	if (!s->all && s->now - s->newest + k >= BWL_SLICES_KEPT)
		return NULL;
	return &w->slice_bytes[(s->newest % BWL_SLICES_KEPT + BWL_SLICES_KEPT - k) %
			       BWL_SLICES_KEPT];
}

/* A count that is negative for a moment is none. */
static uint64_t bytes_of(const __u64 *p)
{
	uint64_t v = __atomic_load_n(p, __ATOMIC_SEQ_CST);

	return v >> 63 ? 0 : v;
}

/* The slice first: if its turn comes in between, what it had left is what is subtracted then. */
static uint64_t take_from(struct bwl_window *w, __u64 *at, uint64_t most)
{
	__u64 was = __atomic_load_n(at, __ATOMIC_SEQ_CST), n;

	do {
		if (was >> 63)
			return 0;
		n = was < most ? was : most;
	} while (n && !__atomic_compare_exchange_n(at, &was, was - n, false, __ATOMIC_SEQ_CST,
						   __ATOMIC_SEQ_CST));
	__atomic_sub_fetch(&w->total_bytes, n, __ATOMIC_SEQ_CST);
	return n;
}

uint64_t bwl_window_give(struct bwl_window *w, const struct bwl_volume *v, uint64_t bytes,
			 uint64_t now_ns)
{
	const struct slices s = slices_of(w, v, now_ns);
	uint64_t used = bytes_of(&w->total_bytes), over, want, given = 0;
	__u64 *at;

	for (unsigned k = 0; k < BWL_SLICES_KEPT; k++) { /* what the next packet takes out anyway */
		__u64 *old = &w->slice_bytes[(s.newest % BWL_SLICES_KEPT + BWL_SLICES_KEPT - k) %
					     BWL_SLICES_KEPT];

		if (!slice(w, &s, k))
			used -= bytes_of(old) < used ? bytes_of(old) : used;
	}
	over = used > v->spendable_bytes ? used - v->spendable_bytes : 0;
	want = over + bytes;
	for (unsigned k = 0; k < BWL_SLICES_KEPT && given < want; k++) {
		at = slice(w, &s, k);
		if (at)
			given += take_from(w, at, want - given);
	}
	return given > over ? given - over : 0;
}
