// SPDX-License-Identifier: GPL-2.0-or-later
/* See policy_order.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <syslog.h>
#include <time.h>
#include "agent.h"
#include "journal/journal.h"
#include "order_socket.h"
#include "policy_order.h"
#include "thread.h"
#include "bwl/plural.h"
#include "bwl/trial.h"

#define END_S 10          /* how long to wait for it when the agent ends or the maps go */
#define WARNINGS_MAX 2048 /* bytes of warnings in an answer */

struct policy_order {
	const char *pin_dir;
	struct agent_thread thread;
	bool started; /* the thread must be joined */
	atomic_bool busy;
	struct policy_ask ask;
	int doc, conn;
	json_t *warnings;
	size_t warned; /* bytes of warnings so far */
};

int policy_order_new(const char *pin_dir, struct policy_order **ret, struct bwl_err *e)
{
	struct policy_order *w = calloc(1, sizeof(*w));

	if (!w)
		return bwl_fail(e, ENOMEM, "out of memory");
	w->pin_dir = pin_dir;
	w->doc = w->conn = -1;
	*ret = w;
	return 0;
}

bool policy_ask_parse(const json_t *ask, struct policy_ask *ret)
{
	const char *name = json_string_value(json_object_get(ask, "name")),
		   *by = json_string_value(json_object_get(ask, "by"));
	const json_t *size = json_object_get(ask, "size"),
		     *confirm = json_object_get(ask, "confirm_ns"),
		     *fresh = json_object_get(ask, "fresh_volume"),
		     *trust = json_object_get(ask, "trust_clock");

	*ret = (struct policy_ask){ 0 };
	if (!name || !*name || strlen(name) >= sizeof(ret->name) || !json_is_integer(size) ||
	    json_integer_value(size) < 0 ||
	    json_integer_value(size) > (json_int_t)BWL_POLICY_BYTES_MAX ||
	    !json_is_integer(confirm) || json_integer_value(confirm) < 0 ||
	    !json_is_boolean(fresh) || !json_is_boolean(trust))
		return false;
	strcpy(ret->name, name);
	if (by)
		snprintf(ret->by, sizeof(ret->by), "%s", by);
	ret->size = (size_t)json_integer_value(size);
	ret->trust_clock = json_is_true(trust);
	ret->opts.confirm_ns = (uint64_t)json_integer_value(confirm);
	ret->opts.fresh_volume = json_is_true(fresh);
	return true;
}

int policy_ask_map(int doc, size_t size, const char **ret, struct bwl_err *e)
{
	struct stat st;
	void *at;

	if (!bwl_agent_is_sealed(doc))
		return bwl_fail(e, EPERM, "the document is not a sealed memfd");
	if (fstat(doc, &st) || (uint64_t)st.st_size != size)
		return bwl_fail(e, EBADMSG, "the document is not %zu bytes long", size);
	*ret = "";
	if (!size)
		return 0;
	at = mmap(NULL, size, PROT_READ, MAP_PRIVATE, doc, 0);
	if (at == MAP_FAILED)
		return bwl_fail(e, errno, "cannot map the document: %s", strerror(errno));
	*ret = at;
	return 0;
}

static void on_warning(void *arg, const char *text)
{
	struct policy_order *w = arg;

	w->warned += strlen(text) + 8;
	if (w->warned < WARNINGS_MAX)
		json_array_append_new(w->warnings, json_string(text));
	agent_log_line(LOG_WARNING, "policy", "%s", text);
}

/* Applies it as bwlimit-ctl itself would apply the file. -ECANCELED: the client no longer waits. */
static int apply(struct policy_order *w, struct bwl_publish_report *rep, struct bwl_err *e)
{
	BWL_AUTO(bwl_policy_free) struct bwl_policy *pol = NULL;
	BWL_AUTO(bwl_pins_close) struct bwl_pins *p = NULL;
	const char *text = NULL;
	int r = policy_ask_map(w->doc, w->ask.size, &text, e);

	if (r)
		return r;
	r = bwl_policy_parse(w->ask.name, text, w->ask.size, bwl_now_ns(), time(NULL), &pol, e);
	if (w->ask.size)
		munmap((void *)(uintptr_t)text, w->ask.size);
	if (!r && !w->ask.trust_clock)
		r = bwl_policy_wall_ok(pol, e);
	if (!r)
		r = bwl_pins_open(w->pin_dir, true, &p, e);
	if (r)
		return r;
	if (line_has_gone(w->conn))
		return -ECANCELED;
	r = bwl_trial_refuses(p, e);
	if (r)
		return r;
	return bwl_journal_apply(p, pol, &w->ask.opts, rep, e);
}

static json_t *failure(const struct bwl_err *e)
{
	json_t *o = json_pack("{s:s, s:s, s:i}", "error", e->text, "todo", e->hint, "code",
			      e->code);
	struct bwl_err file; /* makes the name printable */

	bwl_err_fill(&file, EIO, "%s", e->file);
	json_object_set_new(o, "file", json_string(file.text));
	if (e->id)
		json_object_set_new(o, "id", json_string(e->id));
	json_object_set_new(o, "line", json_integer(e->line));
	json_object_set_new(o, "column", json_integer(e->column));
	return o;
}

static void run(void *arg)
{
	struct policy_order *w = arg;
	struct bwl_publish_report rep = { 0 };
	struct ucred who = { .uid = ~0U };
	socklen_t len = sizeof(who);
	struct bwl_err e = { 0 };
	json_t *said;
	char by[64];
	int r;

	getsockopt(w->conn, SOL_SOCKET, SO_PEERCRED, &who, &len);
	snprintf(by, sizeof(by), "uid %u", who.uid);
	if (*w->ask.by) /* only root may name somebody else */
		snprintf(by, sizeof(by), "%s", w->ask.by);
	line_say(w->conn, json_pack("{s:b}", "taken", 1));
	w->warnings = json_array();
	w->warned = 0;
	bwl_warn_to(on_warning, w);
	r = apply(w, &rep, &e);
	bwl_warn_to(NULL, NULL);
	if (r == -ECANCELED) {
		agent_log(LOG_NOTICE, "policy",
			  "%s: not applied: the command that ordered it (%s) has ended",
			  w->ask.name, by);
	} else if (r) {
		agent_log(LOG_WARNING, "policy", "%s: ordered by %s, not applied: %s", w->ask.name,
			  by, e.text);
	} else {
		agent_log(LOG_NOTICE, "policy",
			  "%s: applied as %s ordered%s: %u peer%s, %u added, %u retired",
			  w->ask.name, by, w->ask.opts.confirm_ns ? ", to be confirmed" : "",
			  rep.peers, BWL_S(rep.peers), rep.added, rep.retired);
	}
	said = r ? failure(&e)
		 : json_pack("{s:s, s:o}", "by", AGENT_PROGRAM, "report", bwl_json_report(&rep));
	json_object_set_new(said, "warnings", w->warnings);
	line_say(w->conn, said);
	close(w->conn);
	close(w->doc);
	atomic_store(&w->busy, false);
}

json_t *policy_order_take(struct policy_order *w, const json_t *ask, int doc, int conn)
{
	struct bwl_err e = { 0 };

	if (atomic_load(&w->busy))
		return json_pack("{s:s, s:s, s:i}", "error", "bwlimitd is applying another policy",
				 "todo", "repeat the command when that one has ended", "code",
				 EBUSY);
	if (w->started)
		agent_thread_stop(&w->thread); /* it has ended */
	w->started = false;
	if (!policy_ask_parse(ask, &w->ask))
		return json_pack("{s:s}", "error", "malformed request");
	if (w->ask.opts.confirm_ns && bwl_trial_check("--confirm", w->ask.opts.confirm_ns, &e))
		return failure(&e);
	w->doc = doc;
	w->conn = conn;
	atomic_store(&w->busy, true);
	if (agent_thread_start(&w->thread, run, w, &e)) {
		atomic_store(&w->busy, false);
		return failure(&e);
	}
	w->started = true;
	return NULL;
}

static void nobody_waits(void *arg)
{
	struct policy_order *w = arg;

	agent_log(LOG_WARNING, "policy", "%s: still being applied: not waiting for it",
		  w->ask.name);
}

void policy_order_end(struct policy_order *w)
{
	if (w && (!w->started || agent_thread_stop_within(&w->thread, END_S, nobody_waits, free)))
		free(w);
}
