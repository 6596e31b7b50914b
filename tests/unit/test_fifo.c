/* SPDX-License-Identifier: MIT */
#include "base/fifo.h"

#include "tap.h"

struct guest {
	struct fifo_link link;
	int number;
};

static int take(struct fifo *f)
{
	struct guest *g = (struct guest *)fifo_take(f);

	return g ? g->number : -1;
}

static void test_order(void)
{
	struct guest guests[] = { { .number = 0 }, { .number = 1 }, { .number = 2 } };
	struct fifo f = { 0 };

	CHECK_INT(take(&f), -1);
	fifo_put(&f, &guests[0].link);
	fifo_put(&f, &guests[1].link);
	CHECK_INT(take(&f), 0);
	fifo_put(&f, &guests[2].link);
	CHECK_INT(take(&f), 1);
	CHECK_INT(take(&f), 2);
	CHECK_INT(take(&f), -1);
}

static void test_again(void)
{
	struct guest guest = { .number = 7 };
	struct fifo f = { 0 };

	for (int i = 0; i < 3; i++) {
		fifo_put(&f, &guest.link);
		CHECK_INT(take(&f), 7);
		CHECK_INT(take(&f), -1);
	}
}

int main(void)
{
	TAP_CASE(test_order);
	TAP_CASE(test_again);
	return tap_done();
}
