/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A question of probe is a row in a table: who finds the answer, and what an operator reads if it
 * is not what bwlimit needs. A new question is a row, the function it names, and a line of
 * docs/json.md; probe.c asks and prints all of them.
 */
#ifndef BWL_LOADER_PROBE_QUESTION_H
#define BWL_LOADER_PROBE_QUESTION_H

#include <bwl/card.h>
#include <bwl/netdev.h>
#include <bwl/nl.h>

enum probe_kind { PROBE_HOST = 1, PROBE_UPLINK = 2 }; /* like --host and --uplink */

/* One port. The members about its card are only for the card's tables. */
struct probe_port {
	const struct bwl_netdev *dev;
	enum probe_kind kind;
	struct probe_hooks *hooks;           /* probe_port.c */
	const struct bwl_devlink_port *self; /* NULL: devlink does not know the port */
	const struct bwl_devlink_port *all;  /* of all cards */
	size_t nall;
	struct bwl_eswitch eswitch;
	char steering[BWL_CARD_WORD];
	struct bwl_channels channels;
	enum bwl_offered tc, esp;
	unsigned cpus;
	bool first_of_card; /* what is about the card is reported with one of its ports */
	/* For questions about no port: probe_dpu.h. dev is NULL then. */
	const struct probe_dpu *dpu;
	const struct probe_machine *machine;
};

struct probe_answer {
	bool works;
	char answer[40];         /* a word or two for programs: what was read, or the result */
	char error[BWL_NL_SAID]; /* the kernel's or the driver's message */
	char todo[256];          /* replaces the row's, if it names a device */
	const char *without;     /* likewise */
};

struct probe_question {
	const char *id;      /* never changes: docs/json.md */
	const char *text;    /* names what is there if it works */
	const char *without; /* the consequence if it does not */
	const char *todo;    /* and the next step */
	/* p is NULL for a question about the kernel. */
	void (*ask)(const struct probe_port *p, const void *with, struct probe_answer *ret);
	const void *with; /* for ask */
	unsigned of;      /* enum probe_kind; 0: all ports */
	bool of_card;     /* once for each card */
};
/* An empty row ends each of them. */
extern const struct probe_question probe_kernel_questions[]; /* probe_kernel.c */
extern const struct probe_question probe_port_questions[];   /* probe_port.c */
extern const struct probe_question probe_card_questions[];   /* probe_card.c */

extern const struct probe_question probe_dpu_questions[];     /* probe_dpu.c: for each DPU */
extern const struct probe_question probe_machine_questions[]; /* probe_machine.c */

/* err 0: it works. */
void probe_errno(struct probe_answer *ret, int err);
/* A program of two instructions that returns 2; a descriptor, or negative with errno. */
int probe_trivial(unsigned type, unsigned flags);

#endif
