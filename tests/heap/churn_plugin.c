/* SPDX-License-Identifier: MIT */
/* What churn.c loads: it keeps a block of 3000 bytes. */
#include <stdlib.h>

void *volatile churn_kept;
__attribute__((visibility("default"))) void churn_plugin(void);

void churn_plugin(void)
{
	churn_kept = malloc(3000);
}
