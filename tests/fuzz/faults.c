/* Fails the n-th call that touches a file below a folder: opening, reading, writing, syncing, renaming, mapping, ... */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static long left = -1, seen = 0;
static int code = ENOSPC;
static char root[PATH_MAX];

/* From now on the n-th call fails; 0 only counts. */
void fault_arm(const char *folder, long n, int error) {
    strncpy(root, folder, sizeof root - 1);
    seen = 0;
    code = error;
    left = n;
}

long fault_seen(void) { return seen; }

static int fails(void) {
    seen++;
    if (left > 0 && --left == 0) {
        errno = code;
        return 1;
    }
    return 0;
}

static int below(const char *path) { return left >= 0 && path && strncmp(path, root, strlen(root)) == 0; }

static int ours(int fd) {
    char link[64], path[PATH_MAX];
    if (left < 0 || fd < 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size <= 0) return 0;
    path[size] = 0;
    return below(path);
}

#define REAL(type, name, ...) static type (*real)(__VA_ARGS__); if (!real) real = dlsym(RTLD_NEXT, name)
#define MODE(flags) int mode = 0; if ((flags) & (O_CREAT | O_TMPFILE)) { va_list a; va_start(a, flags); mode = va_arg(a, int); va_end(a); }

int open(const char *path, int flags, ...) { MODE(flags) REAL(int, "open", const char *, int, ...); return below(path) && fails() ? -1 : real(path, flags, mode); }
int open64(const char *path, int flags, ...) { MODE(flags) REAL(int, "open64", const char *, int, ...); return below(path) && fails() ? -1 : real(path, flags, mode); }
int openat(int at, const char *path, int flags, ...) { MODE(flags) REAL(int, "openat", int, const char *, int, ...); return below(path) && fails() ? -1 : real(at, path, flags, mode); }
int openat64(int at, const char *path, int flags, ...) { MODE(flags) REAL(int, "openat64", int, const char *, int, ...); return below(path) && fails() ? -1 : real(at, path, flags, mode); }
ssize_t write(int fd, const void *data, size_t size) { REAL(ssize_t, "write", int, const void *, size_t); return ours(fd) && fails() ? -1 : real(fd, data, size); }
ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at) { REAL(ssize_t, "pwrite64", int, const void *, size_t, off64_t); return ours(fd) && fails() ? -1 : real(fd, data, size, at); }
ssize_t read(int fd, void *data, size_t size) { REAL(ssize_t, "read", int, void *, size_t); return ours(fd) && fails() ? -1 : real(fd, data, size); }
ssize_t pread64(int fd, void *data, size_t size, off64_t at) { REAL(ssize_t, "pread64", int, void *, size_t, off64_t); return ours(fd) && fails() ? -1 : real(fd, data, size, at); }
int posix_fallocate64(int fd, off64_t at, off64_t size) { REAL(int, "posix_fallocate64", int, off64_t, off64_t); return ours(fd) && fails() ? code : real(fd, at, size); }
DIR *opendir(const char *path) { REAL(DIR *, "opendir", const char *); return below(path) && fails() ? NULL : real(path); }
int rmdir(const char *path) { REAL(int, "rmdir", const char *); return below(path) && fails() ? -1 : real(path); }
int fsync(int fd) { REAL(int, "fsync", int); return ours(fd) && fails() ? -1 : real(fd); }
int ftruncate64(int fd, off64_t size) { REAL(int, "ftruncate64", int, off64_t); return ours(fd) && fails() ? -1 : real(fd, size); }
int mkdir(const char *path, mode_t mode) { REAL(int, "mkdir", const char *, mode_t); return below(path) && fails() ? -1 : real(path, mode); }
int rename(const char *from, const char *to) { REAL(int, "rename", const char *, const char *); return below(to) && fails() ? -1 : real(from, to); }
int renameat2(int a, const char *from, int b, const char *to, unsigned flags) { REAL(int, "renameat2", int, const char *, int, const char *, unsigned); return below(to) && fails() ? -1 : real(a, from, b, to, flags); }
int unlinkat(int at, const char *path, int flags) { REAL(int, "unlinkat", int, const char *, int); return (ours(at) || below(path)) && fails() ? -1 : real(at, path, flags); }
int unlink(const char *path) { REAL(int, "unlink", const char *); return below(path) && fails() ? -1 : real(path); }
void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset) { REAL(void *, "mmap", void *, size_t, int, int, int, off_t); return fd >= 0 && ours(fd) && fails() ? MAP_FAILED : real(at, size, prot, flags, fd, offset); }
void *mmap64(void *at, size_t size, int prot, int flags, int fd, off64_t offset) { REAL(void *, "mmap64", void *, size_t, int, int, int, off64_t); return fd >= 0 && ours(fd) && fails() ? MAP_FAILED : real(at, size, prot, flags, fd, offset); }
