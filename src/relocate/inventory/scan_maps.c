/* SPDX-License-Identifier: MIT */
/* Memory mappings. Source: proc(5), /proc/PID/maps, smaps (VmFlags), map_files. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "relocate/inventory/scan_internal.h"

#define SMAPS_MAX ((size_t)1 << 30) /* bytes */

struct vm_flag {
	char name[3];
	unsigned flag;      /* enum reloc_vm; 0: nothing to restore */
	const char *reason; /* why the mapping cannot be made again */
};

static const struct vm_flag vm_flags[] = {
	{ "rd", 0, NULL },
	{ "wr", 0, NULL },
	{ "ex", 0, NULL },
	{ "sh", 0, NULL },
	{ "mr", 0, NULL },
	{ "mw", RELOC_VM_MAY_WRITE, NULL },
	{ "me", 0, NULL },
	{ "ms", 0, NULL },
	{ "dw", 0, NULL },
	{ "ac", 0, NULL },
	{ "mt", 0, NULL },
	{ "sd", 0, NULL },
	{ "mg", 0, NULL },
	{ "nr", RELOC_VM_NORESERVE, NULL },
	{ "lo", RELOC_VM_LOCKED, NULL },
	{ "lf", RELOC_VM_LOCKONFAULT, NULL },
	{ "dc", RELOC_VM_DONTFORK, NULL },
	{ "dd", RELOC_VM_DONTDUMP, NULL },
	{ "hg", RELOC_VM_HUGE, NULL },
	{ "nh", RELOC_VM_NOHUGE, NULL },
	{ "rr", RELOC_VM_RANDOM, NULL },
	{ "sr", RELOC_VM_SEQUENTIAL, NULL },
	{ "wf", RELOC_VM_WIPEONFORK, NULL },
	{ "um", 0, "the process handles its page faults (userfaultfd)" },
	{ "uw", 0, "the process handles its page faults (userfaultfd)" },
	{ "ui", 0, "the process handles its page faults (userfaultfd)" },
	{ "io", 0, "it is device memory" },
	{ "pf", 0, "it is device memory" },
	{ "ht", 0, "it has huge pages of a file (hugetlbfs)" },
	{ "sf", 0, "it is mapped with MAP_SYNC" },
	{ "mm", 0, "it is persistent memory" },
	{ "sl", 0, "it is sealed (mseal)" },
};

static const char *parse_vm_flags(struct reloc_map *m, char *line)
{
	const char *unknown = NULL;
	char *word;

	while ((word = strsep(&line, " "))) {
		size_t i = 0;

		if (!*word)
			continue;
		while (i < ARRAY_LEN(vm_flags) && strcmp(vm_flags[i].name, word) != 0)
			i++;
		if (i == ARRAY_LEN(vm_flags))
			unknown = "smaps shows a flag that auger does not know";
		else if (vm_flags[i].reason)
			return vm_flags[i].reason;
		else
			m->vm_flags |= vm_flags[i].flag;
	}
	return unknown;
}

/* The process has ended, or we may not read it, which scan_procs() reports. */
static bool is_unseen(int code)
{
	return code == -ESRCH || code == -ENOENT || code == -EACCES || code == -EPERM;
}

static int read_proc(struct scan *sc, pid_t pid, const char *name, struct err *e)
{
	char path[PROC_PATH];

	snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
	buf_clear(&sc->text);
	if (file_read_small(path, SMAPS_MAX, &sc->text, e) < 0 && !is_unseen(e->code))
		return e->code;
	buf_put_byte(&sc->text, '\0');
	return buf_error(&sc->text) < 0 ? err_nomem(e) : 0;
}

/* Parses the first line of a mapping in maps or smaps. Most mappings have no file: minor 0 and
 * inode 0. */
static bool parse_head(struct reloc_map *m, const char *line, uint32_t dev[2])
{
	struct proc_map map;

	if (!proc_map_parse(&map, line))
		return false;
	m->start = map.start;
	m->end = map.end;
	m->offset = map.offset;
	m->prot = map.prot;
	m->is_shared = map.is_shared;
	dev[0] = map.dev_major;
	dev[1] = map.dev_minor;
	return true;
}

static bool is_old_dev(const struct scan *sc, const uint32_t dev[2])
{
	const struct top_dir *old = sc->opts->old_dir;

	return (dev[0] == old->dev_major && dev[1] == old->dev_minor) ||
	       (dev[0] == old->st_dev_major && dev[1] == old->st_dev_minor);
}

/* Source: linux/fs.h of 6.11, PROCMAP_QUERY. */
struct map_query {
	uint64_t size, flags, address;
	uint64_t start, end, vma_flags, page_size, offset, inode;
	uint32_t dev[2];
	uint32_t name_size, build_id_size;
	uint64_t name, build_id;
};
static_assert(sizeof(struct map_query) == 104, "as the kernel has it");

#define MAP_QUERY _IOWR('f', 17, struct map_query)
#define MAP_QUERY_NEXT 0x10
#define MAP_QUERY_FILE 0x20

/* Finds the next file mapping from q->end on. False: none; *ret_rc is -errno if the kernel has no
 * PROCMAP_QUERY. */
static bool next_map(int fd, struct map_query *q, int *ret_rc)
{
	*q = (struct map_query){ .size = sizeof *q,
				 .flags = MAP_QUERY_NEXT | MAP_QUERY_FILE,
				 .address = q->end,
				 .name = q->name,
				 .name_size = q->name ? PATH_MAX : 0 };
	if (ioctl(fd, MAP_QUERY, q) == 0)
		return true;
	*ret_rc = errno == ENOENT || errno == ESRCH ? 0 : -errno;
	return false;
}

int scan_has_old_map(const struct scan *sc, pid_t pid, bool *ret_has_aio)
{
	char path[PROC_PATH], name[PATH_MAX] = "";
	struct map_query q = { .name = ret_has_aio ? (uint64_t)(uintptr_t)name : 0 };
	bool may_be_old = false;
	int fd, rc = 0;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0; /* ended, or we may not read it */
	while ((!may_be_old || ret_has_aio) && next_map(fd, &q, &rc)) {
		may_be_old |= is_old_dev(sc, q.dev);
		if (ret_has_aio)
			*ret_has_aio |= strncmp(name, "/[aio]", 6) == 0;
	}
	close(fd);
	return rc < 0 ? rc : may_be_old;
}

bool scan_is_old_map(struct scan *sc, const char *line, bool *ret_is_aio)
{
	struct reloc_map m;
	uint32_t dev[2];

	*ret_is_aio = strstr(line, " /[aio]") != NULL;
	return parse_head(&m, line, dev) && is_old_dev(sc, dev);
}

static void keep_on_old(struct scan *sc, uint32_t proc, struct reloc_map *m, const char *path,
			const char *reason, const char *remedy)
{
	char what[64];

	m->stays = true;
	snprintf(what, sizeof what, "mapping %" PRIx64 "-%" PRIx64, m->start, m->end);
	scan_add_obstacle(sc, RELOC_STAYS, proc, what, path, reason, remedy);
}

static void check_map(struct scan *sc, uint32_t proc, struct reloc_map *m,
		      const struct link_target *target, char *flags)
{
	const char *reason = parse_vm_flags(m, flags);

	if (target->is_other_mount)
		keep_on_old(sc, proc, m, target->link,
			    "it was mapped through another mount of the file system",
			    "unmount the other mount");
	else if (reason || target->is_long)
		keep_on_old(sc, proc, m, target->link, reason ? reason : SCAN_PATH_TOO_LONG, "");
	else if (m->is_shared && map_get(&sc->pinners, proc) != MAP_NONE)
		keep_on_old(sc, proc, m, target->link,
			    "a device that the process has open (RDMA, GPU) may write to its pages",
			    "wait until the process has closed the device");
	else if ((m->prot & PROT_EXEC) && !sc->opts->moves_libs)
		keep_on_old(sc, proc, m, target->link, "it is code of a program or library",
			    "--move-libs moves libraries");
}

static void add_map(struct scan *sc, uint32_t proc, struct reloc_map *m, char *flags)
{
	pid_t pid = ((struct reloc_proc *)sc->procs.data)[proc].pid;
	char path[PROC_PATH];
	struct reloc_map *row;
	struct link_target target;
	unsigned uses = RELOC_USE_MAPPED;

	snprintf(path, sizeof path, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid, m->start,
		 m->end);
	if (!scan_link(sc, path, &target)) {
		keep_on_old(sc, proc, m, "", "auger may not read its link", "run auger as root");
		return;
	}
	if (!target.is_old)
		return;
	m->proc = proc;
	check_map(sc, proc, m, &target, flags);
	if (m->prot & PROT_EXEC)
		uses |= RELOC_USE_EXEC;
	if (m->is_shared && m->vm_flags & RELOC_VM_MAY_WRITE)
		uses |= RELOC_USE_MAPPED_WRITABLE;
	m->file = scan_add_file(sc, &target, path, uses);
	row = rows_add(&sc->maps, sizeof *row);
	if (!row || m->file == RELOC_NONE) {
		sc->bad = true;
		return;
	}
	*row = *m;
}

static void read_smaps(struct scan *sc, uint32_t proc)
{
	char *at = sc->text.data, *line;
	struct reloc_map m = { 0 }, head;
	uint32_t dev[2] = { 0 }, next[2];

	while ((line = strsep(&at, "\n"))) {
		memset(&head, 0, sizeof head);
		if (parse_head(&head, line, next)) {
			m = head;
			memcpy(dev, next, sizeof dev);
		} else if (strncmp(line, "VmFlags:", 8) == 0 && is_old_dev(sc, dev)) {
			add_map(sc, proc, &m, line + 8);
		}
	}
}

/* scan_has_old_map() for kernels without PROCMAP_QUERY. */
static int search_maps(struct scan *sc, pid_t pid, bool *ret_has_aio, struct err *e)
{
	bool has_old = false, is_aio;
	char *at, *line;

	if (read_proc(sc, pid, "maps", e) < 0)
		return e->code;
	at = sc->text.data;
	while ((line = strsep(&at, "\n"))) {
		has_old |= scan_is_old_map(sc, line, &is_aio);
		*ret_has_aio |= is_aio;
	}
	return has_old;
}

/* The kernel walks all pages for smaps, so it is read only for processes that map files of OLD. */
int scan_maps(struct scan *sc, uint32_t proc, struct err *e)
{
	const struct reloc_proc *p = (struct reloc_proc *)sc->procs.data + proc;
	bool has_aio = false;
	pid_t pid = p->pid;
	int near;

	if (p->mm_of != proc)
		return 0;
	near = scan_has_old_map(sc, pid, &has_aio);
	if (near < 0)
		near = search_maps(sc, pid, &has_aio, e);
	if (near < 0)
		return near;
	if (has_aio)
		scan_add_obstacle(sc, RELOC_STAYS, proc, "asynchronous I/O", "",
				  "the kernel may write for it even while it is frozen (libaio)",
				  "wait until the process calls io_destroy");
	if (!near)
		return 0;
	if (read_proc(sc, pid, "smaps", e) < 0)
		return e->code;
	read_smaps(sc, proc);
	return sc->bad ? err_nomem(e) : 0;
}
