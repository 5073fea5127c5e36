/*
 * Faults under a process's calls on files, for tests: loaded before libc with LD_PRELOAD.
 *
 * The file named by LONGHAUL_FAULTS is mapped and shared with the test (struct control): which folder is covered, which
 * fault comes at which call, how many calls there were. The first process that loads this is the one that counts; what
 * it starts is left alone. Nothing is ever synced: a process that dies loses nothing that the kernel has, and what a power
 * cut would take is decided by the test, which plays the journal (LONGHAUL_JOURNAL) over a copy of the folder.
 *
 * All real work is done by system calls, so nothing here calls what it stands in for. Shared memory of SQLite (-shm) is
 * passed on: it is mapped, and no power cut leaves it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* KILL: the process dies before the call. Then nothing is watched either: which notices come is decided by the test.
 * WATCHES: the user has no inotify instance and no watch left; the test may end it, and begin it again. */
enum fault { NONE, IO, FULL, INTERRUPTED, SHORT, RENAME, KILL, WATCHES };

/* What a call does, as bits: which faults it can have. */
enum class { OPENS = 1, READS = 2, WRITES = 4, SYNCS = 8, MAKES = 16, RENAMES = 32, REMOVES = 64, CUTS = 128 };

/* The same offsets stand in shim.rs. */
struct control {
    _Atomic int32_t pid;   /* 0: the first process that comes */
    _Atomic uint32_t fault; /* enum fault */
    uint64_t at;           /* the call, from 1, with which it begins; 0: never */
    uint64_t length;       /* so many calls in succession; 0: all from there on */
    _Atomic uint64_t calls; /* calls so far that the fault could meet */
    _Atomic uint64_t hits;
    uint32_t is_recorded;  /* whether a journal is written */
    uint32_t unused;
    char root[1024];
    char met[1024]; /* the first call that was met: its name and path */
};

/* The same numbers stand in journal.rs. */
enum record { CREATED = 1, CUT, WRITTEN, SYNCED, SYNCED_FOLDER, RENAMED, REMOVED, MADE, LINKED, SYMLINKED, SENT };

static struct control *control;
static int journal = -1;
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;

__attribute__((constructor)) static void load(void) {
    const char *path = getenv("LONGHAUL_FAULTS");
    if (!path) return;
    int fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    void *mapped = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    if (mapped == MAP_FAILED) return;
    struct control *shared = mapped;
    int32_t nobody = 0;
    if (!atomic_compare_exchange_strong(&shared->pid, &nobody, (int32_t)getpid())) return;
    const char *to = getenv("LONGHAUL_JOURNAL");
    if (shared->is_recorded && to)
        journal = (int)syscall(SYS_openat, AT_FDCWD, to, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    control = shared;
}

static int is_ours(void) { return control && atomic_load(&control->pid) == (int32_t)getpid(); }

static int is_covered(const char *path) {
    size_t root = strlen(control->root), length = strlen(path);
    if (strncmp(path, control->root, root) || (path[root] && path[root] != '/')) return 0;
    return length < 4 || strcmp(path + length - 4, "-shm");
}

/* The path of an open file or folder below the root; 0 for all others. A file that was removed is none of ours. */
static int path_of(int fd, char path[PATH_MAX]) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 1);
    if (length <= 0 || path[0] != '/') return 0;
    path[length] = 0;
    if (length > 10 && !strcmp(path + length - 10, " (deleted)")) return 0;
    return is_covered(path);
}

static int path_at(int folder, const char *name, char path[PATH_MAX]) {
    if (!name) return 0;
    if (name[0] == '/') {
        snprintf(path, PATH_MAX, "%s", name);
        return is_covered(path);
    }
    char base[PATH_MAX];
    if (folder == AT_FDCWD || !path_of(folder, base)) return 0;
    size_t length = strlen(base);
    if (length + strlen(name) + 2 > PATH_MAX) return 0;
    memcpy(path, base, length);
    path[length] = '/';
    strcpy(path + length + 1, name);
    return is_covered(path);
}

static int can_meet(int class) {
    switch (control->fault) {
    case IO: return 1;
    case FULL: return class & (WRITES | SYNCS | MAKES | RENAMES | CUTS);
    case INTERRUPTED: return class & (OPENS | READS | WRITES | SYNCS | CUTS);
    case SHORT: return class & (READS | WRITES);
    case RENAME: return class & RENAMES;
    case KILL: return class & ~(OPENS | READS);
    default: return 0;
    }
}

/* Whether this call is to fail; then errno says how. With SHORT the caller moves a part. */
static int meets(int class, const char *name, const char *path) {
    if (!can_meet(class)) return 0;
    uint64_t call = atomic_fetch_add(&control->calls, 1) + 1;
    if (!control->at || call < control->at) return 0;
    if (control->length && call >= control->at + control->length) return 0;
    if (!atomic_fetch_add(&control->hits, 1)) snprintf(control->met, sizeof control->met, "%s %s", name, path);
    switch (control->fault) {
    case IO: errno = EIO; break;
    case FULL: errno = ENOSPC; break;
    case INTERRUPTED: errno = EINTR; break;
    case RENAME: errno = EACCES; break;
    case KILL: syscall(SYS_kill, getpid(), SIGKILL); break;
    default: break;
    }
    return 1;
}

static int is_short(void) { return control->fault == SHORT; }

static void lock(void) {
    if (journal >= 0) pthread_mutex_lock(&order);
}

static void unlock(void) {
    if (journal >= 0) {
        int kept = errno;
        pthread_mutex_unlock(&order);
        errno = kept;
    }
}

/* One record: kind, file, offset, length of the words, length of the bytes, words, bytes. */
static void note(enum record kind, uint64_t file, uint64_t offset, const char *words, size_t words_length,
                 const struct iovec *parts, int count, size_t bytes) {
    if (journal < 0) return;
    int kept = errno;
    uint64_t head[5] = {kind, file, offset, words_length, bytes};
    struct iovec all[66] = {{head, sizeof head}, {(void *)words, words_length}};
    int used = 2;
    for (size_t left = bytes; count > 0 && left > 0 && used < 66; parts++, count--) {
        size_t part = parts->iov_len < left ? parts->iov_len : left;
        all[used++] = (struct iovec){parts->iov_base, part};
        left -= part;
    }
    if (syscall(SYS_writev, journal, all, used) < 0) abort();
    errno = kept;
}

static void note_path(enum record kind, uint64_t file, const char *path) {
    note(kind, file, 0, path, strlen(path), NULL, 0, 0);
}

static void note_paths(enum record kind, const char *from, const char *to) {
    char both[2 * PATH_MAX];
    int length = snprintf(both, sizeof both, "%s%c%s", from, 0, to);
    note(kind, 0, 0, both, (size_t)length, NULL, 0, 0);
}

static uint64_t inode(int fd) {
    struct stat found;
    return fstat(fd, &found) ? 0 : found.st_ino;
}

/* Opening */

static int opening(int folder, const char *name, int flags, mode_t mode) {
    char path[PATH_MAX];
    if (!is_ours() || !path_at(folder, name, path)) return (int)syscall(SYS_openat, folder, name, flags, mode);
    int is_new = flags & O_CREAT && syscall(SYS_faccessat, AT_FDCWD, path, F_OK) != 0;
    int class = OPENS | (is_new ? MAKES : 0);
    if (meets(class, "open", path)) return -1;
    lock();
    int fd = (int)syscall(SYS_openat, folder, name, flags, mode);
    if (fd >= 0 && journal >= 0) {
        if (is_new) note_path(CREATED, inode(fd), path);
        else if (flags & O_TRUNC) note(CUT, inode(fd), 0, "", 0, NULL, 0, 0);
    }
    unlock();
    return fd;
}

#define MODE_OF(flags, last)                                                                                           \
    mode_t mode = 0;                                                                                                   \
    if ((flags) & (O_CREAT | O_TMPFILE)) {                                                                             \
        va_list more;                                                                                                  \
        va_start(more, last);                                                                                          \
        mode = va_arg(more, mode_t);                                                                                   \
        va_end(more);                                                                                                  \
    }

int open(const char *name, int flags, ...) {
    MODE_OF(flags, flags)
    return opening(AT_FDCWD, name, flags, mode);
}

int open64(const char *name, int flags, ...) {
    MODE_OF(flags, flags)
    return opening(AT_FDCWD, name, flags, mode);
}

int openat(int folder, const char *name, int flags, ...) {
    MODE_OF(flags, flags)
    return opening(folder, name, flags, mode);
}

int openat64(int folder, const char *name, int flags, ...) {
    MODE_OF(flags, flags)
    return opening(folder, name, flags, mode);
}

/* Reading */

/* How many bytes are to be read or written, which are fewer under SHORT; -1 when the call fails. */
static ssize_t share(int class, const char *name, const char *path, size_t count) {
    if (!meets(class, name, path)) return (ssize_t)count;
    if (!is_short()) return -1;
    return (ssize_t)(count > 1 ? count / 2 : count);
}

#define READING(name, call)                                                                                            \
    char path[PATH_MAX];                                                                                               \
    if (is_ours() && path_of(fd, path)) {                                                                              \
        ssize_t part = share(READS, name, path, count);                                                                \
        if (part < 0) return -1;                                                                                       \
        count = (size_t)part;                                                                                          \
    }                                                                                                                  \
    return call;

ssize_t read(int fd, void *to, size_t count) { READING("read", syscall(SYS_read, fd, to, count)) }

ssize_t pread(int fd, void *to, size_t count, off_t at) { READING("pread", syscall(SYS_pread64, fd, to, count, at)) }

ssize_t pread64(int fd, void *to, size_t count, off_t at) { READING("pread", syscall(SYS_pread64, fd, to, count, at)) }

/* Writing */

static off_t place(int fd) {
    struct stat found;
    if (syscall(SYS_fcntl, fd, F_GETFL) & O_APPEND) return fstat(fd, &found) ? 0 : found.st_size;
    return syscall(SYS_lseek, fd, 0, SEEK_CUR);
}

static ssize_t writing(int fd, const struct iovec *parts, int count, off_t at, int is_placed) {
    char path[PATH_MAX];
    struct iovec half;
    if (!is_ours() || !path_of(fd, path))
        return is_placed ? syscall(SYS_pwritev, fd, parts, count, at, 0) : syscall(SYS_writev, fd, parts, count);
    if (meets(WRITES, "write", path)) {
        if (!is_short()) return -1;
        half = parts[0];
        if (half.iov_len > 1) half.iov_len /= 2;
        parts = &half, count = 1;
    }
    lock();
    off_t offset = is_placed || journal < 0 ? at : place(fd);
    ssize_t written =
        is_placed ? syscall(SYS_pwritev, fd, parts, count, at, 0) : syscall(SYS_writev, fd, parts, count);
    if (written > 0) note(WRITTEN, inode(fd), (uint64_t)offset, "", 0, parts, count, (size_t)written);
    unlock();
    return written;
}

ssize_t pwrite(int fd, const void *from, size_t count, off_t at) {
    struct iovec part = {(void *)from, count};
    return writing(fd, &part, 1, at, 1);
}

ssize_t pwrite64(int fd, const void *from, size_t count, off_t at) { return pwrite(fd, from, count, at); }

static int is_socket(int fd) {
    struct stat found;
    return journal >= 0 && is_ours() && !fstat(fd, &found) && S_ISSOCK(found.st_mode);
}

/* An answer counts as given from here on: it is recorded whole before the client can have it. */
static ssize_t sending(int fd, const struct msghdr *message, int flags) {
    pthread_mutex_lock(&order);
    ssize_t sent = syscall(SYS_sendmsg, fd, message, flags);
    if (sent > 0)
        note(SENT, (uint64_t)fd, 0, "", 0, message->msg_iov, (int)message->msg_iovlen, (size_t)sent);
    unlock();
    return sent;
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
    return is_socket(fd) ? sending(fd, message, flags) : syscall(SYS_sendmsg, fd, message, flags);
}

ssize_t send(int fd, const void *from, size_t count, int flags) {
    struct iovec part = {(void *)from, count};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    return sendmsg(fd, &message, flags);
}

ssize_t writev(int fd, const struct iovec *parts, int count) {
    struct msghdr message = {.msg_iov = (void *)parts, .msg_iovlen = (size_t)count};
    return is_socket(fd) ? sending(fd, &message, MSG_NOSIGNAL) : writing(fd, parts, count, 0, 0);
}

ssize_t write(int fd, const void *from, size_t count) {
    struct iovec part = {(void *)from, count};
    return writev(fd, &part, 1);
}

static int cutting(int fd, off_t length) {
    char path[PATH_MAX];
    if (!is_ours() || !path_of(fd, path)) return (int)syscall(SYS_ftruncate, fd, length);
    if (meets(CUTS, "ftruncate", path)) return -1;
    lock();
    int done = (int)syscall(SYS_ftruncate, fd, length);
    if (!done) note(CUT, inode(fd), (uint64_t)length, "", 0, NULL, 0, 0);
    unlock();
    return done;
}

int ftruncate(int fd, off_t length) { return cutting(fd, length); }

int ftruncate64(int fd, off_t length) { return cutting(fd, length); }

/* Syncing */

static int syncing(int fd) {
    char path[PATH_MAX];
    struct stat found;
    if (!is_ours() || !path_of(fd, path)) return 0;
    if (meets(SYNCS, "fsync", path)) return -1;
    lock();
    if (journal >= 0 && !fstat(fd, &found)) {
        if (S_ISDIR(found.st_mode)) note_path(SYNCED_FOLDER, 0, path);
        else note(SYNCED, found.st_ino, (uint64_t)found.st_mtim.tv_sec * 1000000000u + (uint64_t)found.st_mtim.tv_nsec, "", 0, NULL, 0, 0);
    }
    unlock();
    return 0;
}

int fsync(int fd) { return syncing(fd); }

int fdatasync(int fd) { return syncing(fd); }

/* Names */

static int renaming(int from_folder, const char *from, int to_folder, const char *to, unsigned flags) {
    char old[PATH_MAX], new[PATH_MAX];
    if (!is_ours() || !path_at(from_folder, from, old) || !path_at(to_folder, to, new))
        return (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
    if (meets(RENAMES, "rename", old)) return -1;
    lock();
    int done = (int)syscall(SYS_renameat2, from_folder, from, to_folder, to, flags);
    if (!done) note_paths(RENAMED, old, new);
    unlock();
    return done;
}

int rename(const char *from, const char *to) { return renaming(AT_FDCWD, from, AT_FDCWD, to, 0); }

int renameat(int a, const char *from, int b, const char *to) { return renaming(a, from, b, to, 0); }

int renameat2(int a, const char *from, int b, const char *to, unsigned flags) {
    return renaming(a, from, b, to, flags);
}

static int removing(int folder, const char *name, int flags) {
    char path[PATH_MAX];
    if (!is_ours() || !path_at(folder, name, path)) return (int)syscall(SYS_unlinkat, folder, name, flags);
    if (meets(REMOVES, "unlink", path)) return -1;
    lock();
    int done = (int)syscall(SYS_unlinkat, folder, name, flags);
    if (!done) note_path(REMOVED, 0, path);
    unlock();
    return done;
}

int unlink(const char *name) { return removing(AT_FDCWD, name, 0); }

int unlinkat(int folder, const char *name, int flags) { return removing(folder, name, flags); }

int rmdir(const char *name) { return removing(AT_FDCWD, name, AT_REMOVEDIR); }

static int making(int folder, const char *name, mode_t mode) {
    char path[PATH_MAX];
    if (!is_ours() || !path_at(folder, name, path)) return (int)syscall(SYS_mkdirat, folder, name, mode);
    if (meets(MAKES, "mkdir", path)) return -1;
    lock();
    int done = (int)syscall(SYS_mkdirat, folder, name, mode);
    if (!done) note_path(MADE, 0, path);
    unlock();
    return done;
}

int mkdir(const char *name, mode_t mode) { return making(AT_FDCWD, name, mode); }

int mkdirat(int folder, const char *name, mode_t mode) { return making(folder, name, mode); }

static int linking(int from_folder, const char *from, int to_folder, const char *to, int flags) {
    char old[PATH_MAX], new[PATH_MAX];
    if (!is_ours() || !path_at(from_folder, from, old) || !path_at(to_folder, to, new))
        return (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
    if (meets(MAKES, "link", new)) return -1;
    lock();
    int done = (int)syscall(SYS_linkat, from_folder, from, to_folder, to, flags);
    if (!done) note_paths(LINKED, old, new);
    unlock();
    return done;
}

int link(const char *from, const char *to) { return linking(AT_FDCWD, from, AT_FDCWD, to, 0); }

int linkat(int a, const char *from, int b, const char *to, int flags) { return linking(a, from, b, to, flags); }

int symlink(const char *target, const char *name) {
    char path[PATH_MAX];
    if (!is_ours() || !path_at(AT_FDCWD, name, path)) return (int)syscall(SYS_symlinkat, target, AT_FDCWD, name);
    if (meets(MAKES, "symlink", path)) return -1;
    lock();
    int done = (int)syscall(SYS_symlinkat, target, AT_FDCWD, name);
    if (!done) note_paths(SYMLINKED, target, path);
    unlock();
    return done;
}

/* Notices */

int inotify_init1(int flags) {
    if (is_ours() && (control->fault == KILL || control->fault == WATCHES)) {
        errno = EMFILE;
        return -1;
    }
    return (int)syscall(SYS_inotify_init1, flags);
}

int inotify_add_watch(int instance, const char *path, uint32_t mask) {
    if (is_ours() && control->fault == WATCHES) {
        errno = ENOSPC;
        return -1;
    }
    return (int)syscall(SYS_inotify_add_watch, instance, path, mask);
}
