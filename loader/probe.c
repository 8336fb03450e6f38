// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The command: what is probed, and how the answers are shown. The questions are tables
 * (probe_question.h). Nothing is concluded from version numbers.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <bwl/show.h>
#include "probe.h"
#include "probe_card.h"
#include "probe_dpu.h"
#include "probe_port.h"
#include "probe_try.h"

struct report {
	json_t *all;
	bool json;
};

static void say_json(struct report *r, const struct probe_question *q, const char *port,
		     const struct probe_answer *a, const char *without, const char *todo)
{
	json_array_append_new(r->all, json_pack("{s:s, s:s?, s:s, s:b, s:s?, s:s?, s:s?, s:s?}",
						"id", q->id, "port", port, "text", q->text, "works",
						a->works, "answer", *a->answer ? a->answer : NULL,
						"error", *a->error ? a->error : NULL, "without",
						without, "todo", todo));
}

/* "no   p0: what is missing (what was read: the kernel's message): consequence; the next step" */
static void say_text(const struct probe_question *q, const char *port, const struct probe_answer *a,
		     const char *without, const char *todo)
{
	const char *both = *a->answer && *a->error ? ": " : "";
	bool found = *a->answer || *a->error;

	bwl_say(5, "%s  %s%s%s%s%s%s%s%s%s%s%s%s", a->works ? "yes" : "no ", port ? port : "",
		port ? ": " : "", q->text, found ? " (" : "", a->answer, both, a->error,
		found ? ")" : "", without ? ": " : "", without ? without : "", without ? "; " : "",
		without ? todo : "");
}

/* A port's device, or the PCI address of a DPU. */
static const char *name_of(const struct probe_port *p)
{
	return !p ? NULL : p->dev ? p->dev->name : p->dpu ? p->dpu->nic->address : NULL;
}

static void ask(struct report *r, const struct probe_question *q, const struct probe_port *p)
{
	struct probe_answer a = { 0 };
	const char *without = NULL, *todo = NULL, *port = name_of(p);

	q->ask(p, q->with, &a);
	if (!a.works) {
		without = a.without ? a.without : q->without;
		todo = *a.todo ? a.todo : q->todo;
	}
	if (r->json)
		say_json(r, q, port, &a, without, todo);
	else
		say_text(q, port, &a, without, todo);
}

static void ask_all(struct report *r, const struct probe_question *q, const struct probe_port *p)
{
	for (; q->id; q++)
		if (!p || ((!q->of || q->of & p->kind) && (!q->of_card || p->first_of_card)))
			ask(r, q, p);
}

/* Asked before a namespace is made for trials: inside it devlink shows no card. */
static int ask_machine(struct report *r, const struct bwl_attach *a, struct bwl_err *e)
{
	struct probe_machine m;
	struct probe_port p = { .machine = &m };
	int err = probe_facts_read(a, &m, e);
	size_t i;

	if (!err)
		ask_all(r, probe_machine_questions, &p);
	for (i = 0; !err && i < m.ndpu; i++) {
		p.dpu = &m.dpu[i];
		ask_all(r, probe_dpu_questions, &p);
	}
	probe_facts_free(&m);
	return err;
}

/* A veth pair in a namespace that ends with this process. */
static int scratch_dev(struct bwl_netdev *ret, struct bwl_err *e)
{
	pid_t pid;
	int status;

	if (unshare(CLONE_NEWNET))
		return bwl_fail(e, errno, "cannot make a network namespace for the trials: %s",
				strerror(errno));
	pid = fork();
	if (!pid) {
		execlp("ip", "ip", "link", "add", "bwl-probe0", "type", "veth", "peer", "name",
		       "bwl-probe1", (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status)
		return bwl_fail(e, EIO,
				"cannot make a veth pair for the trials (is iproute2 installed?)");
	return bwl_netdev_get("bwl-probe0", ret, e);
}

static void ask_hooks(struct report *r, struct probe_port *p)
{
	struct probe_hooks h;

	probe_hooks_begin(p->dev, &h);
	p->hooks = &h;
	ask_all(r, probe_port_questions, p);
	p->hooks = NULL;
	probe_hooks_end(&h);
}

/* The scratch device has no card. */
static int ask_scratch(struct report *r, const struct bwl_attach *a, struct bwl_err *e)
{
	struct bwl_netdev d;
	struct probe_port p = { .dev = &d };
	int err = ask_machine(r, a, e);

	if (!err)
		err = scratch_dev(&d, e);
	if (err)
		return err;
	ask_all(r, probe_kernel_questions, NULL);
	ask_hooks(r, &p);
	return 0;
}

static int find(const struct bwl_attach *a, struct bwl_netdev *d, struct probe_port *p,
		struct bwl_err *e)
{
	unsigned i;
	int r = 0;

	for (i = 0; !r && i < a->nuplink + a->nhost; i++) {
		bool uplink = i < a->nuplink; /* first: a card is reported with its uplink */

		r = bwl_netdev_get(uplink ? a->uplink[i] : a->host[i - a->nuplink], &d[i], e);
		p[i] = (struct probe_port){ .dev = &d[i],
					    .kind = uplink ? PROBE_UPLINK : PROBE_HOST };
	}
	return r ? r : probe_card_read(p, a->nuplink + a->nhost, e);
}

static int ask_named(struct report *r, const struct bwl_attach *a, struct bwl_err *e)
{
	struct bwl_netdev d[2 * BWL_MAX_PORTS];
	struct probe_port p[2 * BWL_MAX_PORTS] = { 0 };
	unsigned n = a->nuplink + a->nhost, i;
	int err = find(a, d, p, e);

	if (!err && a->try_hardware)
		err = probe_try_begin(a, p, n, e); /* a refusal comes before any output */
	if (!err)
		err = ask_machine(r, a, e);
	if (!err) {
		ask_all(r, probe_kernel_questions, NULL);
		for (i = 0; i < n; i++) {
			ask_hooks(r, &p[i]);
			ask_all(r, probe_card_questions, &p[i]);
		}
	}
	if (!err && a->try_hardware) {
		ask_all(r, probe_try_kernel_questions, NULL);
		for (i = 0; i < n; i++)
			ask_all(r, probe_try_questions, &p[i]);
	}
	if (a->try_hardware) {
		int left = probe_try_end(err ? NULL : e);

		err = err ? err : left;
	}
	free((void *)p[0].all);
	return err;
}

int bwl_probe(struct bwl_attach *a, struct bwl_err *e)
{
	struct report report = { .json = a->json, .all = json_array() };
	json_t *doc;
	int r;

	if (a->nhost || a->nuplink)
		r = ask_named(&report, a, e);
	else if (a->try_hardware)
		r = bwl_fail(e, EINVAL, "--try-hardware needs ports: --host DEV, --uplink DEV");
	else
		r = ask_scratch(&report, a, e);
	if (!r && a->json) {
		doc = bwl_doc("probe");
		json_object_set(doc, "features", report.all);
		bwl_doc_print(doc);
	}
	json_decref(report.all);
	return r;
}
