/* SPDX-License-Identifier: MIT */
#include "cluster/mailbox.h"

#include <pthread.h>
#include <stdlib.h>

struct mailbox {
	pthread_mutex_t lock;
	struct fifo letters;      /* under lock, as all below */
	void (*wake)(void *self); /* NULL: closed */
	void *self;
	unsigned refs;
};

struct mailbox *mailbox_new(void (*wake)(void *self), void *self)
{
	struct mailbox *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	pthread_mutex_init(&m->lock, NULL);
	m->wake = wake;
	m->self = self;
	m->refs = 1;
	return m;
}

struct mailbox *mailbox_ref(struct mailbox *m)
{
	pthread_mutex_lock(&m->lock);
	m->refs++;
	pthread_mutex_unlock(&m->lock);
	return m;
}

void mailbox_unref(struct mailbox *m)
{
	bool is_last;

	if (!m)
		return;
	pthread_mutex_lock(&m->lock);
	is_last = --m->refs == 0;
	pthread_mutex_unlock(&m->lock);
	if (!is_last)
		return;
	pthread_mutex_destroy(&m->lock);
	free(m);
}

bool mailbox_put(struct mailbox *m, struct fifo_link *letter)
{
	bool is_open;

	pthread_mutex_lock(&m->lock);
	is_open = m->wake != NULL;
	if (is_open && !m->letters.first)
		m->wake(m->self);
	if (is_open)
		fifo_put(&m->letters, letter);
	pthread_mutex_unlock(&m->lock);
	return is_open;
}

void mailbox_take(struct mailbox *m, struct fifo *ret)
{
	pthread_mutex_lock(&m->lock);
	*ret = m->letters;
	m->letters = (struct fifo){ 0 };
	pthread_mutex_unlock(&m->lock);
}

void mailbox_close(struct mailbox *m)
{
	pthread_mutex_lock(&m->lock);
	m->wake = NULL;
	pthread_mutex_unlock(&m->lock);
}
