// SPDX-License-Identifier: GPL-2.0-or-later
/* See queue.h. */
#include <stdio.h>
#include "queue.h"
#include "thread.h"

bool queue_start(struct queue *q, void *(*run)(void *arg))
{
	q->on = !pthread_create(&q->thread, NULL, run, NULL);
	return q->on;
}

bool queue_stop(struct queue *q, unsigned seconds)
{
	if (!q->on)
		return true;
	pthread_mutex_lock(&q->lock);
	q->stop = true;
	pthread_cond_signal(&q->news);
	pthread_mutex_unlock(&q->lock);
	return agent_join_within(q->thread, seconds);
}

bool queue_put(struct queue *q, unsigned room, int kind, const char *event, const char *text,
	       json_t *data, unsigned long long *lost)
{
	pthread_mutex_lock(&q->lock);
	if (q->on && q->n >= room) {
		(*lost)++;
	} else if (q->on) {
		struct queue_line *l = &q->line[(q->first + q->n++) % q->room];

		l->kind = kind;
		snprintf(l->event, sizeof(l->event), "%s", event);
		snprintf(l->text, sizeof(l->text), "%s", text);
		l->data = data;
		data = NULL;
	}
	pthread_cond_signal(&q->news);
	pthread_mutex_unlock(&q->lock);
	json_decref(data);
	return q->on;
}

const struct queue_line *queue_first(const struct queue *q)
{
	return q->n ? &q->line[q->first] : NULL;
}

void queue_drop_first(struct queue *q)
{
	q->first = (q->first + 1) % q->room;
	q->n--;
}
