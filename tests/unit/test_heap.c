/* SPDX-License-Identifier: MIT */
/* Heap files of known sums to profiles, and those that are refused. */
#include "heap/collect.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/pattern.h"
#include "heap/host.h"
#include "heap/wrappers.h"
#include "heap_maker.h"
#include "tap.h"

static struct heap_maker maker;

/* Two stacks: main calls fill (node 2), and main itself (node 1). */
static void make_two(void)
{
	uint32_t map, outer, inner;

	heap_maker_init(&maker);
	map = heap_maker_mapping(&maker, "/opt/solver", 0x7f0000000000);
	outer = heap_maker_node(&maker, 0, map, 0x7f0000000010);
	inner = heap_maker_node(&maker, outer, map, 0x7f0000000020);
	maker.head.header.program = heap_maker_string(&maker, "/opt/solver");
	maker.head.header.peak_no = 3;
	*heap_maker_site(&maker, inner) = (struct heap_site){ .node = inner,
							      .alloc_objects = 10,
							      .alloc_bytes = 1000,
							      .free_objects = 7,
							      .free_bytes = 700,
							      .peak_no = 3,
							      .peak_objects = 5,
							      .peak_bytes = 500,
							      .temporary_objects = 2,
							      .temporary_bytes = 200,
							      .realloc_moves = 1 };
	*heap_maker_site(&maker, outer) = (struct heap_site){ .node = outer,
							      .alloc_objects = 1,
							      .alloc_bytes = 64,
							      .peak_no = 2,
							      .peak_objects = 9,
							      .peak_bytes = 900 };
}

static int read_made(size_t len, struct heap_image *ret, struct err *e)
{
	int fd = heap_maker_fd(&maker, len), rc;

	*e = (struct err){ 0 };
	rc = heap_image_read(fd, "heap.7.0", ret, e);
	close(fd);
	return rc;
}

static int refused(size_t len)
{
	struct heap_image h = { 0 };
	struct err e;
	int rc = read_made(len, &h, &e);

	CHECK(rc == 0 || strstr(e.msg, "heap.7.0: "));
	if (rc == 0)
		heap_image_fini(&h);
	return rc;
}

static void a_copy_has_what_the_file_has(void)
{
	struct heap_image h;
	struct err e;

	make_two();
	CHECK_INT(read_made(MAKER_SIZE, &h, &e), 0);
	CHECK_INT(h.head.node_count, 3);
	CHECK_INT(h.head.site_count, 3);
	CHECK_INT(h.nodes[2].parent, 1);
	CHECK_INT(h.sites[1].alloc_bytes, 1000);
	CHECK_STR(heap_image_string(&h, h.mappings[0].path), "/opt/solver");
	CHECK_STR(heap_image_string(&h, HEAP_NO_STRING), "");
	CHECK_STR(heap_image_string(&h, h.head.string_bytes), "");
	heap_image_fini(&h);
}

static void a_string_ends(void)
{
	struct heap_image h;
	struct err e;

	make_two();
	memset(maker.chunks[HEAP_STRINGS - 1], 'x', HEAP_CHUNK);
	maker.head.header.string_bytes = HEAP_CHUNK;
	CHECK_INT(read_made(MAKER_SIZE, &h, &e), 0);
	CHECK_STR(heap_image_string(&h, 0), "");
	CHECK_INT(strlen(heap_image_string(&h, HEAP_CHUNK - 5)), 5);
	heap_image_fini(&h);
}

static void files_that_were_not_begun(void)
{
	make_two();
	CHECK_INT(refused(0), -ENODATA);
	memset(maker.head.header.magic, 0, sizeof maker.head.header.magic);
	CHECK_INT(refused(MAKER_SIZE), -ENODATA);
}

static void cut_files(void)
{
	make_two();
	CHECK_INT(refused(100), -EINVAL);
	CHECK_INT(refused(sizeof maker.head), -EINVAL);
	/* as much as the last kind has is enough */
	CHECK_INT(refused(MAKER_SIZE - HEAP_CHUNK + 3 * sizeof(struct heap_site) - 1), -EINVAL);
	CHECK_INT(refused(MAKER_SIZE - HEAP_CHUNK + 3 * sizeof(struct heap_site)), 0);
}

static void heads_that_lie(void)
{
	struct heap_header good;

	make_two();
	good = maker.head.header;
	maker.head.header.magic[0] = 'b';
	CHECK_INT(refused(MAKER_SIZE), -EINVAL);
	maker.head.header = good;
	maker.head.header.version++;
	CHECK_INT(refused(MAKER_SIZE), -EINVAL);
	maker.head.header = good;
	maker.head.header.header_size = 4096;
	CHECK_INT(refused(MAKER_SIZE), -EINVAL);
	maker.head.header = good;
	maker.head.header.chunk_count = HEAP_CHUNKS_MAX + 1;
	CHECK_INT(refused(MAKER_SIZE), -EINVAL);
	maker.head.header = good;
	maker.head.header.node_count = 0;
	CHECK_INT(refused(MAKER_SIZE), -EINVAL);
	maker.head.header = good;
	maker.head.header.node_count = UINT32_MAX;
	CHECK_INT(refused(MAKER_SIZE), -EINVAL);
	maker.head.header = good;
	maker.head.kinds[HEAP_SITES - 1] = HEAP_FREE;
	CHECK_INT(refused(MAKER_SIZE), -EINVAL);
}

static void references_that_lead_nowhere(void)
{
	struct heap_node *node = heap_maker_item(&maker, HEAP_NODES, 1, sizeof *node);
	struct heap_site *site = heap_maker_item(&maker, HEAP_SITES, 1, sizeof *site);
	struct heap_mapping *mapping = heap_maker_item(&maker, HEAP_MAPPINGS, 0, sizeof *mapping);

	make_two();
	node->parent = 1; /* itself */
	CHECK_INT(refused(MAKER_SIZE), -EINVAL);
	make_two();
	node->mapping = 1;
	CHECK_INT(refused(MAKER_SIZE), -EINVAL);
	make_two();
	site->node = 3;
	CHECK_INT(refused(MAKER_SIZE), -EINVAL);
	make_two();
	mapping->build_id_len = HEAP_BUILD_ID_MAX + 1;
	CHECK_INT(refused(MAKER_SIZE), -EINVAL);
	make_two();
	mapping->end = mapping->start;
	CHECK_INT(refused(MAKER_SIZE), -EINVAL);
}

static void add_made(struct heap_collection *c)
{
	struct heap_image h;
	struct err e;

	if (!CHECK_INT(read_made(MAKER_SIZE, &h, &e), 0))
		return;
	heap_collection_add(c, &h);
	CHECK_INT(profile_check(c->profile, &e), 0);
	heap_image_fini(&h);
}

static void check_totals(const struct heap_collection *c, const int64_t *want)
{
	int64_t sums[HEAP_TYPES] = { 0 };

	for (size_t i = 0; i < profile_sample_count(c->profile); i++)
		for (size_t type = 0; type < HEAP_TYPES; type++)
			sums[type] += profile_get_sample(c->profile, i).values[type];
	for (size_t type = 0; type < HEAP_TYPES; type++) {
		CHECK_INT(c->totals[type], want[type]);
		CHECK_INT(sums[type], want[type]);
	}
}

static void sums_of_a_process(void)
{
	/* the second site had its last event before the peak: it held then what it holds now */
	static const int64_t want[HEAP_TYPES] = { 11, 1064, 4, 364, 6, 564, 2, 200, 1 };
	struct heap_collection c;
	struct err e;

	make_two();
	CHECK_INT(heap_collection_init(&c, &e), 0);
	add_made(&c);
	check_totals(&c, want);
	CHECK_INT(c.process_count, 1);
	CHECK_INT(c.living_count, 0);
	CHECK_INT(c.peak_error_bytes, 0);
	CHECK_INT(profile_get_info(c.profile)->time_ns, 1000);
	heap_collection_fini(&c);
}

static void types_are_those_of_pprof(void)
{
	static const char *const want[] = { "alloc_objects", "alloc_space",  "inuse_objects",
					    "inuse_space",   "peak_objects", "peak_space" };
	struct heap_collection c;
	struct err e;

	CHECK_INT(heap_collection_init(&c, &e), 0);
	for (size_t i = 0; i < ARRAY_LEN(want); i++)
		CHECK_STR(profile_text(c.profile, profile_get_type(c.profile, i).type), want[i]);
	CHECK_INT(profile_default_type(c.profile), HEAP_PEAK_SPACE);
	heap_collection_fini(&c);
}

static void callers_stand_for_wrappers(void)
{
	static const char *const wrappers[] = {
		"malloc",
		"__libc_calloc",
		"xmalloc",
		"xcalloc",
		"operator new",
		"operator new[]",
		"std::__new_allocator<char>::allocate",
		"__rust_alloc",
		"g_malloc0",
		"PyMem_Malloc",
		"_PyObject_Malloc",
		"Perl_safesysmalloc",
		"sqlite3Malloc",
		"my_malloc",
	};
	static const char *const others[] = { "main",     "mallocs",    "new_table", "strdup",
					      "allocate", "PyList_New", "free" };
	CLEANUP(buf_fini) struct buf text = { 0 };
	CLEANUP(pattern_fini) struct pattern pattern = { 0 };
	struct err e;

	wrappers_put_pattern(&text);
	if (!CHECK_INT(buf_error(&text), 0) ||
	    !CHECK_INT(pattern_init_whole(&pattern, text.data, &e), 0))
		return;
	for (size_t i = 0; i < ARRAY_LEN(wrappers); i++)
		if (!CHECK(pattern_matches(&pattern, wrappers[i])))
			fprintf(stderr, "%s\n", wrappers[i]);
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (!CHECK(!pattern_matches(&pattern, others[i])))
			fprintf(stderr, "%s\n", others[i]);
}

static void at_its_peak_a_process_holds_what_it_held(void)
{
	static const int64_t want[HEAP_TYPES] = { 11, 1064, 4, 364, 4, 364, 2, 200, 1 };
	struct heap_collection c;
	struct err e;

	make_two();
	maker.head.header.is_peaking = 1;
	CHECK_INT(heap_collection_init(&c, &e), 0);
	add_made(&c);
	check_totals(&c, want);
	heap_collection_fini(&c);
}

static void processes_add_up(void)
{
	static const int64_t want[HEAP_TYPES] = { 22, 2128, 8, 728, 12, 1128, 4, 400, 2 };
	struct heap_collection c;
	struct location l;
	struct err e;

	CHECK_INT(heap_collection_init(&c, &e), 0);
	make_two();
	add_made(&c);
	/* the other one has the file elsewhere */
	make_two();
	maker.head.header.pid = 8;
	maker.head.header.threads = 3;
	maker.head.header.period = 512;
	for (uint32_t i = 1; i < 3; i++)
		((struct heap_node *)heap_maker_item(&maker, HEAP_NODES, i, 16))->address += 65536;
	((struct heap_mapping *)maker.chunks[HEAP_MAPPINGS - 1])->start += 65536;
	((struct heap_mapping *)maker.chunks[HEAP_MAPPINGS - 1])->end += 65536;
	((struct heap_mapping *)maker.chunks[HEAP_MAPPINGS - 1])->bias += 65536;
	add_made(&c);
	check_totals(&c, want);
	CHECK_INT(c.process_count, 2);
	CHECK_INT(c.peak_error_bytes, 3 * 65536);
	CHECK_INT(c.sample_bytes, 512);
	CHECK_INT(profile_get_info(c.profile)->period, 512);
	/* the same stacks, with labels of their own */
	CHECK_INT(profile_node_count(c.profile), 3);
	CHECK_INT(profile_sample_count(c.profile), 4);
	CHECK_INT(profile_mapping_count(c.profile), 2);
	l = profile_get_location(c.profile, 1);
	CHECK_INT(l.address, 0x1010);
	heap_collection_fini(&c);
}

static void counters_beyond_their_range(void)
{
	struct heap_collection c;
	struct heap_site *site = heap_maker_item(&maker, HEAP_SITES, 1, sizeof *site);
	struct err e;

	make_two();
	site->alloc_objects = site->alloc_bytes = UINT64_MAX;
	site->free_bytes = 0;
	site->peak_bytes = INT64_MIN;
	CHECK_INT(heap_collection_init(&c, &e), 0);
	add_made(&c);
	CHECK_INT(c.totals[HEAP_ALLOC_SPACE], INT64_MAX);
	CHECK_INT(c.totals[HEAP_INUSE_SPACE], INT64_MAX);
	CHECK_INT(c.totals[HEAP_PEAK_SPACE], 64);
	make_two();
	site->free_objects = 100; /* newer than what was allocated */
	add_made(&c);
	CHECK_INT(c.totals[HEAP_INUSE_OBJECTS], INT64_MAX);
	heap_collection_fini(&c);
}

static void put_file(int folder, const char *name, size_t len)
{
	int from = heap_maker_fd(&maker, len), to = openat(folder, name, O_WRONLY | O_CREAT, 0600);
	char *bytes = malloc(MAKER_SIZE);

	CHECK(bytes && pread(from, bytes, len, 0) == (ssize_t)len &&
	      write(to, bytes, len) == (ssize_t)len);
	free(bytes);
	close(from);
	close(to);
}

static void a_folder_with_anything_in_it(void)
{
	char path[256];
	struct heap_collection c;
	struct err e;
	int folder;

	CHECK(mkdtemp(tap_pattern(path, sizeof path)));
	folder = open(path, O_RDONLY | O_DIRECTORY);
	make_two();
	put_file(folder, "heap.7.0", MAKER_SIZE);
	put_file(folder, "heap.8.0", 0);
	put_file(folder, "heap.9.0", 1000);
	CHECK_INT(symlinkat("heap.7.0", folder, "heap.10.0"), 0);
	CHECK_INT(mkfifoat(folder, "heap.11.0", 0600), 0);
	CHECK_INT(mkdirat(folder, "heap.12.0", 0700), 0);
	CHECK_INT(heap_collection_init(&c, &e), 0);
	CHECK_INT(heap_collect_path(&c, path, &e), 0);
	CHECK_INT(c.process_count, 1);
	CHECK_INT(c.totals[HEAP_ALLOC_OBJECTS], 11);
	heap_collection_fini(&c);
	for (int i = 7; i <= 12; i++) {
		char name[32];

		snprintf(name, sizeof name, "heap.%d.0", i);
		unlinkat(folder, name, i == 12 ? AT_REMOVEDIR : 0);
	}
	close(folder);
	CHECK_INT(rmdir(path), 0);
}

/* Of many, those whose processes have ended are added once, and removed. */
static void ended_processes_make_room(void)
{
	enum { FILES = 300, ENDED = 290 };
	char path[256], name[32];
	struct heap_collection c;
	struct err e;
	int folder;

	CHECK(mkdtemp(tap_pattern(path, sizeof path)));
	folder = open(path, O_RDONLY | O_DIRECTORY);
	make_two();
	CHECK_INT(heap_collection_init(&c, &e), 0);
	put_file(folder, "heap.299.0", MAKER_SIZE);
	maker.head.header.flags = HEAP_ENDED;
	put_file(folder, "heap.0.0", MAKER_SIZE);
	for (int i = 1; i < FILES - 1; i++) {
		snprintf(name, sizeof name, "heap.%d.0", i);
		CHECK_INT(linkat(folder, i < ENDED ? "heap.0.0" : "heap.299.0", folder, name, 0),
			  0);
		if (i == 100) /* that is not many */
			CHECK_INT(heap_collect_ended(&c, path, &e), 0);
	}
	CHECK_INT(c.process_count, 0);
	CHECK_INT(heap_collect_ended(&c, path, &e), 0);
	CHECK_INT(c.process_count, ENDED);
	CHECK_INT(faccessat(folder, "heap.0.0", F_OK, 0), -1);
	CHECK_INT(heap_collect_path(&c, path, &e), 0);
	CHECK_INT(c.process_count, FILES);
	CHECK_INT(c.totals[HEAP_ALLOC_OBJECTS], 11 * FILES);
	heap_collection_fini(&c);
	for (int i = ENDED; i < FILES; i++) {
		snprintf(name, sizeof name, "heap.%d.0", i);
		CHECK_INT(unlinkat(folder, name, 0), 0);
	}
	close(folder);
	CHECK_INT(rmdir(path), 0);
}

static void processes_that_are_not_recorded(void)
{
	struct heap_collection c;
	struct err e;

	CHECK_INT(heap_collection_init(&c, &e), 0);
	CHECK_INT(heap_collect_pid(&c, getpid(), &e), -ENOENT);
	CHECK_INT(heap_collect_pid(&c, 0x7ffffffe, &e), -ESRCH);
	heap_collection_fini(&c);
}

/* The maker's file, mapped as the library maps it. */
static void a_process_is_found_by_its_mapping(void)
{
	char path[256];
	struct heap_collection c;
	struct err e;
	int folder, fd;
	void *at;

	CHECK(mkdtemp(tap_pattern(path, sizeof path)));
	folder = open(path, O_RDONLY | O_DIRECTORY);
	make_two();
	maker.head.header.pid = getpid();
	put_file(folder, "heap.1.0", MAKER_SIZE);
	fd = openat(folder, "heap.1.0", O_RDWR);
	at = mmap(NULL, MAKER_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(at != MAP_FAILED);
	close(fd);
	CHECK_INT(heap_collection_init(&c, &e), 0);
	CHECK_INT(heap_collect_pid(&c, getpid(), &e), 0);
	CHECK_INT(c.totals[HEAP_ALLOC_OBJECTS], 11);
	/* another's */
	((struct heap_header *)at)->pid = getppid();
	CHECK_INT(heap_collect_pid(&c, getpid(), &e), -ENOENT);
	munmap(at, MAKER_SIZE);
	heap_collection_fini(&c);
	unlinkat(folder, "heap.1.0", 0);
	close(folder);
	CHECK_INT(rmdir(path), 0);
}

static void programs_that_are_no_hosts(void)
{
	struct err e = { 0 };

	CHECK_INT(heap_check_host("sh", &e), 0);
	CHECK_INT(heap_check_host("/nonexistent/program", &e), 0);
	if (access("/sbin/ldconfig", X_OK) == 0) {
		CHECK_INT(heap_check_host("/sbin/ldconfig", &e), ERR_USAGE);
		CHECK(strstr(e.msg, "statically"));
	}
}

int main(void)
{
	TAP_CASE(a_copy_has_what_the_file_has);
	TAP_CASE(a_string_ends);
	TAP_CASE(files_that_were_not_begun);
	TAP_CASE(cut_files);
	TAP_CASE(heads_that_lie);
	TAP_CASE(references_that_lead_nowhere);
	TAP_CASE(sums_of_a_process);
	TAP_CASE(types_are_those_of_pprof);
	TAP_CASE(callers_stand_for_wrappers);
	TAP_CASE(at_its_peak_a_process_holds_what_it_held);
	TAP_CASE(processes_add_up);
	TAP_CASE(counters_beyond_their_range);
	TAP_CASE(a_folder_with_anything_in_it);
	TAP_CASE(ended_processes_make_room);
	TAP_CASE(processes_that_are_not_recorded);
	TAP_CASE(a_process_is_found_by_its_mapping);
	TAP_CASE(programs_that_are_no_hosts);
	return tap_done();
}
