// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes flow records to disk (docs/recorder.md): every interval its thread swaps the data plane's
 * tables, waits until no packet writes to the old ones, adds them up, compares them with the peers'
 * counters, and writes them as one file.
 *
 * A kill in between loses nothing: the tables stay as they are until the next swap, and the next
 * process sees from the newest file that they were not written. The next interval reports what is
 * missing nevertheless.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>
#include <bwl/record.h>
#include "evidence/writer.h"
#include "flows/fold.h"
#include "flows/known.h"
#include "flows/store.h"
#include "parts.h"
#include "thread.h"

#define STOP_S 5
#define LOOK_NS 1000000000ULL    /* how often it is checked that the tables are still the same */
#define HALF_NS 30000000000ULL   /* an upgrade that takes longer has failed */
#define LOST_NS 3600000000000ULL /* between two lines that say that there is no room */
#define REPLACED "the programs were being replaced, and wrote to two sets of tables"

struct flows {
	struct agent_thread thread;
	pthread_mutex_t lock;  /* for using the pins; never held while waiting for the disk */
	struct bwl_pins *pins; /* NULL: no longer ours */
	char state_dir[400], pin_dir[200], boot[FLOWS_BOOT];
	uint64_t every_ns, most_bytes;
	/* thread */
	struct flows_store *store;
	struct bwl_rec rec;
	bool has_rec, told, was_replaced;
	ino_t word; /* inode of its pin */
	uint64_t begin_ns;
	struct bwl_name *names, *names_before;
	uint32_t nnames;
	struct flows_known known;
	uint64_t half_ns; /* since when newer tables are incomplete; 0: not now */
	bool half_said;
	uint64_t lost_said_ns, lost_said; /* when; how many older intervals were affected */
	struct ev_writer *writer;         /* into the audit log (docs/evidence.md) */
	bool to_enter, enter_told;
	unsigned enter_failures; /* consecutive */
	uint64_t enter_ns;       /* no new attempt before */
};

static void word_path(const struct flows *v, char path[300])
{
	snprintf(path, 300, "%s/" BWL_REC_DIR "/%s", v->pin_dir, bwl_rec_map_name(BWL_REC_WORD));
}

static ino_t word_pin(const struct flows *v)
{
	char path[300];
	struct stat st;

	word_path(v, path);
	return stat(path, &st) ? 0 : st.st_ino;
}

static const char *peer_name(void *arg, uint32_t id)
{
	static char both[2 * BWL_NAME_LEN];
	const struct flows *v = arg;
	const char *was, *is;

	if (id >= v->nnames)
		return NULL;
	was = v->names_before[id].name;
	is = v->names[id].name;
	if (!*is || !*was || !strncmp(is, was, BWL_NAME_LEN))
		return *is ? is : *was ? was : NULL;
	snprintf(both, sizeof(both), "%.31s/%.31s", was, is); /* no name contains a slash */
	return both;
}

static const char *port_name(void *arg, unsigned port)
{
	const struct flows *v = arg;

	return v->pins && port < BWL_MAX_PORTS && *v->pins->dev[port].name ? v->pins->dev[port].name
									   : NULL;
}

static bool is_host(void *arg, unsigned port)
{
	const struct flows *v = arg;

	return v->pins && port < BWL_MAX_PORTS && v->pins->dev[port].kind == BWL_PORT_HOST;
}

/* Reads the current names; the previous ones are kept beside them. */
static int take_names(struct flows *v)
{
	uint32_t n;

	if (!v->pins)
		return 0;
	n = v->pins->schema.max_peers;
	if (n != v->nnames) {
		free(v->names);
		free(v->names_before);
		v->names = calloc(n, sizeof(*v->names));
		v->names_before = calloc(n, sizeof(*v->names));
		v->nnames = v->names && v->names_before ? n : 0;
	}
	if (!v->nnames)
		return -ENOMEM;
	memcpy(v->names_before, v->names, n * sizeof(*v->names));
	memcpy(v->names, v->pins->name, n * sizeof(*v->names));
	return 0;
}

/* Under the lock. */
static int text_of(struct flows *v, const struct bwl_book *b, const struct flows_facts *facts,
		   char **ret, size_t *ret_len)
{
	struct flows_facts f = *facts;
	struct timespec wall;
	bool good;

	clock_gettime(CLOCK_REALTIME, &wall);
	f.wall = wall;
	f.now_ns = bwl_now_ns();
	f.known = &v->known;
	f.other = b->other_known ? &b->other : NULL;
	f.peer_name = peer_name;
	f.port_name = port_name;
	f.is_host = is_host;
	f.arg = v;
	good = flows_text(b, &f, ret, ret_len);
	if (*ret && !good && !f.unbalanced)
		agent_log(
			LOG_ERR, "flows",
			"interval %u: the flow records of a peer do not add up to what its counter grew by: see the newest file in %s/" FLOWS_DIR,
			f.id.interval, v->state_dir);
	return *ret ? 0 : -ENOMEM;
}

/* Reports that older intervals made room for newer ones. */
static void say_lost(struct flows *v)
{
	uint64_t thinned, dropped, now = bwl_now_ns();

	flows_store_lost(v->store, &thinned, &dropped);
	if (thinned + dropped == v->lost_said ||
	    (v->lost_said_ns && now - v->lost_said_ns < LOST_NS))
		return;
	v->lost_said = thinned + dropped;
	v->lost_said_ns = now;
	agent_log(
		LOG_NOTICE, "flows",
		"there is no room for more flow records: of %llu of the oldest intervals only the sums of their peers are left, and %llu are gone: --flows-size, or a larger disk",
		(unsigned long long)thinned, (unsigned long long)dropped);
}

static int write_interval(struct flows *v, const struct flows_facts *facts, struct bwl_err *e)
{
	struct flows_facts f = *facts;
	struct bwl_book b;
	size_t len = 0;
	char gap[256];
	char *text = NULL;
	int r = bwl_book_read(&v->rec, f.id.interval, &b, e);

	if (r)
		return r;
	f.sequence = flows_store_next(v->store);
	if (flows_gap(flows_store_newest(v->store), &f.id, v->rec.word->before_ns, gap,
		      sizeof(gap)))
		f.gap = gap;
	flows_fold(&b, FLOWS_PEER_LINES);
	pthread_mutex_lock(&v->lock);
	r = text_of(v, &b, &f, &text, &len);
	pthread_mutex_unlock(&v->lock);
	if (!r)
		r = flows_known_learn(&v->known, &b);
	r = r ? bwl_fail(e, -r, "an interval cannot be put together: %s", strerror(-r))
	      : flows_store_put(v->store, &f.id, text, len, e);
	v->to_enter |= !r;
	say_lost(v);
	free(text);
	bwl_book_free(&b);
	return r;
}

/* Ends the interval: reads it and writes it. last: the last one of these tables. */
static int turn(struct flows *v, bool last, const char *unbalanced, struct bwl_err *e)
{
	struct flows_facts f = { .id = { .tables_ns = v->rec.word->made_ns, .last = last },
				 .begin_ns = v->begin_ns,
				 .unbalanced = unbalanced };
	int r;

	memcpy(f.id.boot, v->boot, sizeof(f.id.boot));
	pthread_mutex_lock(&v->lock);
	r = take_names(v);
	pthread_mutex_unlock(&v->lock);
	if (r)
		return bwl_fail(e, -r, "out of memory");
	r = bwl_rec_turn(&v->rec, &f.id.interval, e);
	f.end_ns = v->begin_ns = bwl_now_ns();
	if (r)
		return r;
	/* Earlier programs may have gone on writing for a while. */
	if (!f.unbalanced && (f.id.interval == 1 || !v->rec.word->whole))
		f.unbalanced = REPLACED;
	return write_interval(v, &f, e);
}

/* A previous process may have swapped the tables without writing them. */
static int catch_up(struct flows *v, struct bwl_err *e)
{
	const struct flows_id *was = flows_store_newest(v->store);
	uint32_t now = v->rec.word->interval;
	struct flows_facts f = { .id = { .tables_ns = v->rec.word->made_ns, .interval = now - 1 } };
	int r;

	memcpy(f.id.boot, v->boot, sizeof(f.id.boot));
	if (f.id.interval == 1 || !v->rec.word->whole)
		f.unbalanced = REPLACED;
	if (now < 2 || (was && !strcmp(was->boot, v->boot) && was->tables_ns == f.id.tables_ns &&
			was->interval >= now - 1))
		return 0;
	pthread_mutex_lock(&v->lock);
	take_names(v);
	pthread_mutex_unlock(&v->lock);
	r = bwl_rec_grace(e);
	return r ? r : write_interval(v, &f, e);
}

static int open_tables(struct flows *v, struct bwl_err *e)
{
	int r;

	v->word = word_pin(v);
	if (!v->word)
		return bwl_fail(e, ENOENT, "nothing is recorded");
	r = bwl_rec_open(v->pin_dir, &v->rec, e);
	if (r)
		return r;
	if (word_pin(v) != v->word) { /* the word and the tables may be of different sets */
		bwl_rec_close(&v->rec);
		return bwl_fail(e, EAGAIN, "the tables are being replaced");
	}
	v->has_rec = true;
	v->begin_ns = v->rec.word->interval == 1 ? v->rec.word->made_ns : 0;
	return catch_up(v, e);
}

/*
 * Are these tables finished? If others have taken their place, these are read until all programs
 * write to the new ones. After an upgrade that failed, or was killed, that lasts until the next
 * upgrade.
 */
static bool is_over(struct flows *v)
{
	struct bwl_rec next;
	struct bwl_err e;
	bool whole;

	if (word_pin(v) == v->word) {
		v->half_ns = 0;
		return false;
	}
	if (bwl_rec_open(v->pin_dir, &next, &e))
		return e.code == ENOENT;
	whole = next.word->whole;
	bwl_rec_close(&next);
	if (whole)
		return true;
	if (!v->half_ns)
		v->half_ns = bwl_now_ns();
	if (!v->half_said && bwl_now_ns() - v->half_ns > HALF_NS) {
		v->half_said = true;
		agent_log(
			LOG_WARNING, "flows",
			"an upgrade was started but not finished: what the replaced programs record is not read: bwlimit-load upgrade");
	}
	return false;
}

/* The programs of these tables are gone, or about to go. */
static int leave_tables(struct flows *v, const char *unbalanced, struct bwl_err *e)
{
	int r = turn(v, true, unbalanced, e);

	bwl_rec_close(&v->rec);
	v->has_rec = false;
	return r;
}

static int step(struct flows *v, bool due, struct bwl_err *e)
{
	const char *why = NULL;
	int r = v->store ? 0 : flows_store_open(v->state_dir, v->most_bytes, &v->store, e);

	if (!r && v->has_rec && is_over(v)) {
		v->half_said = false;
		r = leave_tables(v, REPLACED, e);
		v->was_replaced = true;
	}
	if (!r && !v->has_rec)
		r = open_tables(v, e);
	if (r || !due)
		return r;
	if (v->was_replaced)
		why = REPLACED;
	v->was_replaced = false;
	return turn(v, false, why, e);
}

static void take_result(struct flows *v, int r, const struct bwl_err *e)
{
	if (!r && v->told)
		agent_log(LOG_NOTICE, "flows", "flow records are written again");
	if (r && r != -EAGAIN && !v->told)
		agent_log(LOG_WARNING, "flows", "flow records are not written: %s", e->text);
	v->told = r ? v->told || r != -EAGAIN : false;
}

/* What cannot be entered now is tried again, at growing intervals: the files still have it. */
static void enter(struct flows *v, bool last)
{
	struct bwl_err e = { 0 };
	struct timespec wall;
	int r;

	if (!v->to_enter || (!last && bwl_now_ns() < v->enter_ns))
		return;
	clock_gettime(CLOCK_REALTIME, &wall);
	r = ev_writer_step(v->writer, wall.tv_sec, &e);
	v->to_enter = r;
	v->enter_ns = r < 0 ? bwl_now_ns() + ev_writer_pause_s(v->enter_failures) * LOOK_NS : 0;
	/* Another holder of the log releases it soon. */
	v->enter_failures = r < 0 && r != -EBUSY ? v->enter_failures + 1 : 0;
	if (r < 0 && r != -EBUSY && !v->enter_told)
		agent_log(LOG_WARNING, "flows",
			  "intervals of flow records are not entered into the audit log: %s",
			  e.text);
	if (r >= 0 && v->enter_told)
		agent_log(LOG_NOTICE, "flows",
			  "intervals of flow records are entered into the audit log again");
	v->enter_told = r < 0 && (r != -EBUSY || v->enter_told);
}

static void run(void *arg)
{
	struct flows *v = arg;
	uint64_t due = bwl_now_ns() + v->every_ns, now;
	struct bwl_err e = { 0 };
	bool on = true;

	v->writer = ev_writer_new(v->state_dir, NULL);
	v->to_enter = true; /* a previous process may not have entered it */
	take_result(v, step(v, false, &e), &e);
	while (on) {
		enter(v, false);
		now = bwl_now_ns();
		on = agent_thread_nap(&v->thread, due > now && due - now < LOOK_NS ? due - now
						  : due > now                      ? LOOK_NS
										   : 1);
		now = bwl_now_ns();
		e = (struct bwl_err){ 0 };
		if (on)
			take_result(v, step(v, now >= due, &e), &e);
		else if (v->has_rec && v->store) /* the last swap does not wait for the next one */
			take_result(v,
				    is_over(v)
					    ? leave_tables(v, REPLACED, &e)
					    : turn(v, false, v->was_replaced ? REPLACED : NULL, &e),
				    &e);
		if (now >= due)
			due = now - due < v->every_ns ? due + v->every_ns : now + v->every_ns;
	}
	enter(v, true);
	ev_writer_free(v->writer);
	v->writer = NULL;
	if (v->has_rec)
		bwl_rec_close(&v->rec);
	if (v->store)
		flows_store_close(v->store);
	v->has_rec = false;
	v->store = NULL;
}

static void give_up(void *arg)
{
	struct flows *v = arg;

	pthread_mutex_lock(&v->lock);
	v->pins = NULL;
	pthread_mutex_unlock(&v->lock);
}

static void end(void *arg)
{
	struct flows *v = arg;

	pthread_mutex_destroy(&v->lock);
	free(v->names);
	free(v->names_before);
	flows_known_free(&v->known);
	free(v);
}

bool agent_flows_wanted(struct agent *a)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/" BWL_REC_DIR "/%s", bwl_pin_dir(a->pin_dir),
		 bwl_rec_map_name(BWL_REC_WORD));
	return a->flows_bytes && !access(path, F_OK);
}

int agent_flows_start(struct agent *a, void **ret_part, struct bwl_err *e)
{
	struct flows *v = calloc(1, sizeof(*v));
	int r;

	if (!v)
		return bwl_fail(e, ENOMEM, "out of memory");
	v->pins = a->pins;
	v->most_bytes = a->flows_bytes;
	v->every_ns = a->flows_every_ns;
	snprintf(v->state_dir, sizeof(v->state_dir), "%s", a->state_dir);
	snprintf(v->pin_dir, sizeof(v->pin_dir), "%s", a->pins->dir);
	if (*bwl_boot_id(v->boot) == '?') /* unknown; but it has to be hexadecimal */
		strcpy(v->boot, "0");
	pthread_mutex_init(&v->lock, NULL);
	r = agent_thread_start(&v->thread, run, v, e);
	if (r)
		end(v);
	else
		*ret_part = v;
	return r;
}

void agent_flows_stop(struct agent *a, void *part)
{
	struct flows *v = part;

	(void)a;
	if (agent_thread_stop_within(&v->thread, STOP_S, give_up, end))
		end(v);
	else
		agent_log(LOG_WARNING, "flows",
			  "the disk does not answer: the last interval may not be written");
}
