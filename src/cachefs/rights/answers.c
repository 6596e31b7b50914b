/* SPDX-License-Identifier: MIT */
#include "cachefs/rights/answers.h"

#include <pthread.h>
#include <stdlib.h>

#define WAYS 4 /* places that an answer may have */
#define SETS (ANSWERS_MAX / WAYS)

/* Of one request: the wanted rights are part of the key. */
struct entry {
	struct credentials *who; /* holds a reference; NULL: free */
	uint64_t device, number;
	struct timespec ctime;
	int wanted;
	bool is_granted;
	int64_t expires_ns;
};

struct answers {
	pthread_mutex_t lock;
	unsigned hand; /* which of its places a full set gives up next */
	struct entry entries[SETS][WAYS];
};

struct answers *answers_new(void)
{
	struct answers *t = calloc(1, sizeof *t);

	if (t)
		pthread_mutex_init(&t->lock, NULL);
	return t;
}

void answers_free(struct answers *t)
{
	if (!t)
		return;
	answers_clear(t);
	pthread_mutex_destroy(&t->lock);
	free(t);
}

static struct entry *set_of(struct answers *t, const struct credentials *who,
			    const struct stat *attr, int wanted)
{
	uint64_t mixed = (uint64_t)attr->st_ino ^ (uint64_t)attr->st_dev << 40 ^
			 (uint64_t)who->uid << 20 ^ (uint64_t)wanted;

	mixed = (mixed ^ mixed >> 31) * 0x9e3779b97f4a7c15u;
	return t->entries[(mixed >> 40) % SETS];
}

static bool is_of(const struct entry *e, const struct credentials *who, const struct stat *attr,
		  int wanted)
{
	return e->who && e->number == attr->st_ino && e->device == attr->st_dev &&
	       e->ctime.tv_sec == attr->st_ctim.tv_sec &&
	       e->ctime.tv_nsec == attr->st_ctim.tv_nsec && e->wanted == wanted &&
	       credentials_are_same(e->who, who);
}

enum answer answers_find(struct answers *t, const struct credentials *who, const struct stat *attr,
			 int wanted, int64_t now_ns)
{
	enum answer ret = ANSWER_UNKNOWN;
	const struct entry *set = set_of(t, who, attr, wanted);

	pthread_mutex_lock(&t->lock);
	for (int i = 0; i < WAYS && ret == ANSWER_UNKNOWN; i++)
		if (is_of(&set[i], who, attr, wanted) && now_ns < set[i].expires_ns)
			ret = set[i].is_granted ? ANSWER_YES : ANSWER_NO;
	pthread_mutex_unlock(&t->lock);
	return ret;
}

/* Under the lock. An older answer to the same question, else a free place, else one in turn. */
static struct entry *place_for(struct answers *t, const struct credentials *who,
			       const struct stat *attr, int wanted)
{
	struct entry *set = set_of(t, who, attr, wanted), *free_place = NULL;

	for (int i = 0; i < WAYS; i++) {
		if (is_of(&set[i], who, attr, wanted))
			return &set[i];
		if (!set[i].who)
			free_place = &set[i];
	}
	return free_place ? free_place : &set[t->hand++ % WAYS];
}

void answers_put(struct answers *t, struct credentials *who, const struct stat *attr, int wanted,
		 bool is_granted, int64_t expires_ns)
{
	struct entry *place;

	pthread_mutex_lock(&t->lock);
	place = place_for(t, who, attr, wanted);
	credentials_unref(place->who);
	*place = (struct entry){
		.who = credentials_ref(who),
		.device = attr->st_dev,
		.number = attr->st_ino,
		.ctime = attr->st_ctim,
		.wanted = wanted,
		.is_granted = is_granted,
		.expires_ns = expires_ns,
	};
	pthread_mutex_unlock(&t->lock);
}

void answers_clear(struct answers *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	for (int i = 0; i < ANSWERS_MAX; i++) {
		struct entry *e = &t->entries[i / WAYS][i % WAYS];

		if (!e->who)
			continue;
		credentials_unref(e->who);
		*e = (struct entry){ .who = NULL };
	}
	pthread_mutex_unlock(&t->lock);
}
