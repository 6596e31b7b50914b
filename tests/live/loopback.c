/* SPDX-License-Identifier: MIT */
/* loopback SOURCE MOUNTPOINT: shows the folder SOURCE through FUSE, as a network file system would.
 */
#define FUSE_USE_VERSION 312
#include <errno.h>
#include <fcntl.h>
#include <fuse.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int source; /* written before start */

/* "/x/y" relative to the source; the root is ".". */
static const char *inside(const char *path)
{
	return path[1] ? path + 1 : ".";
}

static int result(int rc)
{
	return rc < 0 ? -errno : rc;
}

static int get_attributes(const char *path, struct stat *st, struct fuse_file_info *info)
{
	(void)info;
	return result(fstatat(source, inside(path), st, AT_SYMLINK_NOFOLLOW));
}

static int open_file(const char *path, struct fuse_file_info *info)
{
	int fd = openat(source, inside(path), info->flags & ~O_APPEND);

	info->fh = (uint64_t)fd;
	return fd < 0 ? -errno : 0;
}

static int create_file(const char *path, mode_t mode, struct fuse_file_info *info)
{
	int fd = openat(source, inside(path), (info->flags & ~O_APPEND) | O_CREAT, mode);

	info->fh = (uint64_t)fd;
	return fd < 0 ? -errno : 0;
}

static int read_file(const char *path, char *bytes, size_t size, off_t at,
		     struct fuse_file_info *info)
{
	(void)path;
	return result((int)pread((int)info->fh, bytes, size, at));
}

static int write_file(const char *path, const char *bytes, size_t size, off_t at,
		      struct fuse_file_info *info)
{
	(void)path;
	return result((int)pwrite((int)info->fh, bytes, size, at));
}

static int close_file(const char *path, struct fuse_file_info *info)
{
	(void)path;
	return result(close((int)info->fh));
}

static int sync_file(const char *path, int is_data, struct fuse_file_info *info)
{
	(void)path;
	(void)is_data;
	return result(fsync((int)info->fh));
}

static int set_mode(const char *path, mode_t mode, struct fuse_file_info *info)
{
	(void)info;
	return result(fchmodat(source, inside(path), mode, 0));
}

static int set_size(const char *path, off_t size, struct fuse_file_info *info)
{
	(void)path;
	return info ? result(ftruncate((int)info->fh, size)) : -EOPNOTSUPP;
}

static int remove_file(const char *path)
{
	return result(unlinkat(source, inside(path), 0));
}

static int rename_file(const char *from, const char *to, unsigned flags)
{
	return result(renameat2(source, inside(from), source, inside(to), flags));
}

static const struct fuse_operations operations = {
	.getattr = get_attributes,
	.open = open_file,
	.create = create_file,
	.read = read_file,
	.write = write_file,
	.release = close_file,
	.fsync = sync_file,
	.chmod = set_mode,
	.truncate = set_size,
	.unlink = remove_file,
	.rename = rename_file,
};

int main(int argc, char **argv)
{
	char *args[] = { argv[0], argc == 3 ? argv[2] : NULL, NULL };

	source = argc == 3 ? open(argv[1], O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (source < 0) {
		fprintf(stderr, "usage: loopback SOURCE MOUNTPOINT\n");
		return 2;
	}
	return fuse_main(2, args, &operations, NULL);
}
