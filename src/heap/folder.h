/* SPDX-License-Identifier: MIT */
/* folder: the folder that heap files are made in, where files can be mapped. */
#ifndef HEAP_FOLDER_H
#define HEAP_FOLDER_H

#define HEAP_FOLDER_NAME "auger-heap.XXXXXX" /* for mkdtemp() */

/* What it is made in: $TMPDIR, else /tmp or /var/tmp, whichever is no memory: files in memory would
 * count as the memory of the job. */
const char *heap_folder_parent(void);

/* Removes what is in the folder that is open as fd. */
void heap_folder_clear(int fd);

#endif
