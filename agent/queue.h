/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lines that wait for a separate thread, because processing them may hang: the producer does not
 * wait. Lines that do not fit are counted. The thread starts before the agent's parts, and ends
 * after them.
 */
#ifndef BWL_AGENT_QUEUE_H
#define BWL_AGENT_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <jansson.h>

struct queue_line {
	int kind; /* interpreted by the queue's owner */
	char event[32], text[1100];
	json_t *data; /* NULL: none */
};

/* The thread takes the lock for all of it, and waits for new lines by itself. */
struct queue {
	pthread_mutex_t lock;
	pthread_cond_t news;
	pthread_t thread;
	struct queue_line *line; /* a ring */
	unsigned room, first, n;
	unsigned long long lost;
	bool on, stop; /* on: there is a thread */
};
#define QUEUE_OF(ring)                                                                             \
	{                                                                                          \
		.lock = PTHREAD_MUTEX_INITIALIZER, .news = PTHREAD_COND_INITIALIZER, .line = ring, \
		.room = sizeof(ring) / sizeof(*(ring))                                             \
	}

bool queue_start(struct queue *q, void *(*run)(void *arg));
/* The thread processes the rest, and ends. false: it hangs, and is abandoned. */
bool queue_stop(struct queue *q, unsigned seconds);
/*
 * room: how full the queue may be for this line to fit; lost: where it is counted if it does not.
 * Takes the reference of data. false: there is no thread.
 */
bool queue_put(struct queue *q, unsigned room, int kind, const char *event, const char *text,
	       json_t *data, unsigned long long *lost);
/* Locked. NULL: it is empty. */
const struct queue_line *queue_first(const struct queue *q);
void queue_drop_first(struct queue *q); /* its data is the caller's */

#endif
