/* SPDX-License-Identifier: MIT */
/* exit: what a command's run returns besides exit statuses and negative errno. */
#ifndef CLI_EXIT_H
#define CLI_EXIT_H

enum {
	CMD_WRONG_USAGE = -5000, /* exit status 2 */
	CMD_HELP_PRINTED,        /* exit status 0 */
};

#endif
