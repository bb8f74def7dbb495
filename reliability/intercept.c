// Stands between a process and the operating system: preloaded, it counts the calls that the process makes on the files
// of one folder, writes them to a log, and lets one of them fail, fall short, or be the last.
//
// All goes through syscall(), below the C library, so that nothing of what is tested has a part in it.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum Action { NOTHING, FAIL, FALL_SHORT, KILL_BEFORE, KILL_HALFWAY, KILL_AFTER };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;  // calls happen, and are logged, one after another
static char folder[PATH_MAX];
static size_t folder_length;
static int log_descriptor = -1;
static long calls, chosen = -1;
static enum Action action;
static int error;

#define MOST_DESCRIPTORS 65536
static char watched[MOST_DESCRIPTORS];  // 'r': open for reading, 'w': for writing

// Starts to watch `path`. Call number `at`, counted from 0, is the one that `what` happens to; -1: none.
void intercept(const char* path, const char* log, long at, int what, int number) {
  folder_length = strlen(strcpy(folder, path));
  log_descriptor = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  chosen = at;
  action = (enum Action)what;
  error = number;
  calls = 0;
}

static int is_inside(const char* path) {
  return folder_length != 0 && strncmp(path, folder, folder_length) == 0 &&
         (path[folder_length] == '/' || path[folder_length] == '\0');
}

static int is_watched(int descriptor) {
  return descriptor >= 0 && descriptor < MOST_DESCRIPTORS && watched[descriptor] != 0;
}

// One line, then the bytes that were written: what happened, to which inode, and three details.
static void note(const char* what, unsigned long inode, long long first, long long second, const char* name,
                 const void* data, size_t size) {
  char line[2 * PATH_MAX + 200];
  const int length =
      snprintf(line, sizeof line, "%s\t%lu\t%lld\t%lld\t%zu\t%s\n", what, inode, first, second, size, name);
  struct iovec parts[2] = {{line, (size_t)length}, {(void*)data, size}};
  syscall(SYS_writev, log_descriptor, parts, size ? 2 : 1);
}

static unsigned long inode_of(int descriptor) {
  struct stat info;
  return fstat(descriptor, &info) == 0 ? info.st_ino : 0;
}

// What happens to this call. Returns NOTHING for all but the chosen one.
static enum Action begin(const char* what, int writable) {
  pthread_mutex_lock(&mutex);
  const int is_chosen = calls++ == chosen;
  note("call", 0, writable, is_chosen, what, NULL, 0);
  if (is_chosen && action == KILL_BEFORE) kill(getpid(), SIGKILL);
  return is_chosen ? action : NOTHING;
}

static long end(enum Action what, long result) {
  if (what == KILL_AFTER || what == KILL_HALFWAY) kill(getpid(), SIGKILL);
  const int saved = errno;
  pthread_mutex_unlock(&mutex);
  errno = saved;
  return result;
}

static long fail(void) {
  pthread_mutex_unlock(&mutex);
  errno = error;
  return -1;
}

static int open_at(const char* path, int flags, mode_t mode) {
  if (!is_inside(path)) return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  const int writable = (flags & O_ACCMODE) != O_RDONLY;
  const enum Action what = begin("open", writable);
  if (what == FAIL) return (int)fail();
  const int existed = faccessat(AT_FDCWD, path, F_OK, 0) == 0;
  const int descriptor = (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
  if (descriptor >= 0 && descriptor < MOST_DESCRIPTORS) {
    watched[descriptor] = writable ? 'w' : 'r';
    note("opened", inode_of(descriptor), !existed, existed && (flags & O_TRUNC), path, NULL, 0);
  }
  return (int)end(what, descriptor);
}

#define MODE_OF(flags)                   \
  mode_t mode = 0;                       \
  if ((flags) & (O_CREAT | O_TMPFILE)) { \
    va_list rest;                        \
    va_start(rest, flags);               \
    mode = va_arg(rest, mode_t);         \
    va_end(rest);                        \
  }

int open(const char* path, int flags, ...) {
  MODE_OF(flags)
  return open_at(path, flags, mode);
}
int open64(const char* path, int flags, ...) {
  MODE_OF(flags)
  return open_at(path, flags, mode);
}

static int copied(int descriptor, int command, long argument) {
  const int copies = command == F_DUPFD || command == F_DUPFD_CLOEXEC;
  if (!copies || !is_watched(descriptor)) return (int)syscall(SYS_fcntl, descriptor, command, argument);
  const enum Action what = begin("copy", 1);
  if (what == FAIL) return (int)fail();
  const int result = (int)syscall(SYS_fcntl, descriptor, command, argument);
  if (result >= 0 && result < MOST_DESCRIPTORS) watched[result] = watched[descriptor];
  return (int)end(what, result);
}
int fcntl(int descriptor, int command, ...) {
  va_list rest;
  va_start(rest, command);
  const long argument = va_arg(rest, long);
  va_end(rest);
  return copied(descriptor, command, argument);
}
int fcntl64(int descriptor, int command, ...) {
  va_list rest;
  va_start(rest, command);
  const long argument = va_arg(rest, long);
  va_end(rest);
  return copied(descriptor, command, argument);
}

static size_t shortened(enum Action what, size_t size) {
  return (what == FALL_SHORT || what == KILL_HALFWAY) && size > 1 ? size / 2 : size;
}

ssize_t read(int descriptor, void* data, size_t size) {
  if (!is_watched(descriptor)) return syscall(SYS_read, descriptor, data, size);
  const enum Action what = begin("read", 0);
  if (what == FAIL) return fail();
  return end(what, syscall(SYS_read, descriptor, data, shortened(what, size)));
}

static ssize_t read_at(int descriptor, void* data, size_t size, off_t offset) {
  if (!is_watched(descriptor)) return syscall(SYS_pread64, descriptor, data, size, offset);
  const enum Action what = begin("read", 0);
  if (what == FAIL) return fail();
  return end(what, syscall(SYS_pread64, descriptor, data, shortened(what, size), offset));
}
ssize_t pread(int descriptor, void* data, size_t size, off_t offset) { return read_at(descriptor, data, size, offset); }
ssize_t pread64(int descriptor, void* data, size_t size, off_t offset) {
  return read_at(descriptor, data, size, offset);
}

static ssize_t write_at(int descriptor, const void* data, size_t size, off_t offset, int positioned) {
  const enum Action what = begin("write", 1);
  if (what == FAIL) return fail();
  size = shortened(what, size);
  if (!positioned) {
    const int appends = (int)syscall(SYS_fcntl, descriptor, F_GETFL) & O_APPEND;
    offset = lseek(descriptor, 0, appends ? SEEK_END : SEEK_CUR);
  }
  const ssize_t written =
      positioned ? syscall(SYS_pwrite64, descriptor, data, size, offset) : syscall(SYS_write, descriptor, data, size);
  if (written > 0) note("wrote", inode_of(descriptor), offset, 0, "", data, (size_t)written);
  return end(what, written);
}
ssize_t write(int descriptor, const void* data, size_t size) {
  if (!is_watched(descriptor)) return syscall(SYS_write, descriptor, data, size);
  return write_at(descriptor, data, size, 0, 0);
}
ssize_t writev(int descriptor, const struct iovec* parts, int count) {
  if (!is_watched(descriptor)) return syscall(SYS_writev, descriptor, parts, count);
  size_t size = 0;
  for (int i = 0; i < count; ++i) size += parts[i].iov_len;
  char* all = malloc(size);
  size = 0;
  for (int i = 0; i < count; size += parts[i++].iov_len) memcpy(all + size, parts[i].iov_base, parts[i].iov_len);
  const ssize_t written = write_at(descriptor, all, size, 0, 0);
  const int saved = errno;
  free(all);
  errno = saved;
  return written;
}
ssize_t pwrite(int descriptor, const void* data, size_t size, off_t offset) {
  if (!is_watched(descriptor)) return syscall(SYS_pwrite64, descriptor, data, size, offset);
  return write_at(descriptor, data, size, offset, 1);
}
ssize_t pwrite64(int descriptor, const void* data, size_t size, off_t offset) {
  return pwrite(descriptor, data, size, offset);
}

// Power is lost in a model alone, so that real disks need not be waited for.
static int sync_one(long call, int descriptor) {
  if (!is_watched(descriptor)) return (int)syscall(call, descriptor);
  const enum Action what = begin("fsync", 1);
  if (what == FAIL) return (int)fail();
  note("synced", inode_of(descriptor), 0, 0, "", NULL, 0);
  return (int)end(what, 0);
}
int fsync(int descriptor) { return sync_one(SYS_fsync, descriptor); }
int fdatasync(int descriptor) { return sync_one(SYS_fdatasync, descriptor); }

static int truncate_one(int descriptor, off_t size) {
  if (!is_watched(descriptor)) return (int)syscall(SYS_ftruncate, descriptor, size);
  const enum Action what = begin("truncate", 1);
  if (what == FAIL) return (int)fail();
  const long result = syscall(SYS_ftruncate, descriptor, size);
  if (result == 0) note("truncated", inode_of(descriptor), size, 0, "", NULL, 0);
  return (int)end(what, result);
}
int ftruncate(int descriptor, off_t size) { return truncate_one(descriptor, size); }
int ftruncate64(int descriptor, off_t size) { return truncate_one(descriptor, size); }

int close(int descriptor) {
  if (!is_watched(descriptor)) return (int)syscall(SYS_close, descriptor);
  const enum Action what = begin("close", watched[descriptor] == 'w');
  watched[descriptor] = 0;
  const long result = syscall(SYS_close, descriptor);
  if (what == FAIL) return (int)fail();  // as Linux does it: the descriptor is gone whatever it returns
  return (int)end(what, result);
}

int rename(const char* from, const char* to) {
  if (!is_inside(to)) return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
  const enum Action what = begin("rename", 1);
  if (what == FAIL) return (int)fail();
  const long result = syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
  char both[2 * PATH_MAX];
  snprintf(both, sizeof both, "%s\t%s", from, to);
  if (result == 0) note("renamed", 0, 0, 0, both, NULL, 0);
  return (int)end(what, result);
}

int unlink(const char* path) {
  if (!is_inside(path)) return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
  const enum Action what = begin("unlink", 1);
  if (what == FAIL) return (int)fail();
  const long result = syscall(SYS_unlinkat, AT_FDCWD, path, 0);
  if (result == 0) note("unlinked", 0, 0, 0, path, NULL, 0);
  return (int)end(what, result);
}
