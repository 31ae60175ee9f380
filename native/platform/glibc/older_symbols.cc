// Lets the addon run with glibc 2.28 and newer, whichever glibc it was built with.
//
// glibc gave some functions a new symbol version when it changed or moved them
// (2.29, 2.32, 2.33, 2.34), and libstdc++ uses some functions that are newer than 2.28. An addon
// that is linked as usual asks for those symbols, and older systems refuse to load it. This file
// defines them, so that the linker does not take glibc's. They are hidden outside of the addon.
// Functions with a new version are forwarded to the version that every glibc has. The others are
// implemented with functions of 2.28.
//
// It is linked into addons only (CMakeLists.txt), on Linux, together with a static libstdc++. A
// test checks the symbol versions that the addon needs (test/addon/floor.test.ts). A new symbol
// must be added here.
#include <features.h>

#if defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__))

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <ctime>

// The first version of glibc on this architecture.
#if defined(__x86_64__)
#define TRITONTS_FIRST "GLIBC_2.2.5"
#define TRITONTS_SETNAME "GLIBC_2.12"
#define TRITONTS_DLINFO "GLIBC_2.3.3"
#else
#define TRITONTS_FIRST "GLIBC_2.17"
#define TRITONTS_SETNAME "GLIBC_2.17"
#define TRITONTS_DLINFO "GLIBC_2.17"
#endif

// Declares `old_NAME`, which is NAME in that version.
#define TRITONTS_OLD(NAME, VERSION) __asm__(".symver old_" #NAME "," #NAME "@" VERSION)

extern "C" {

void* old_dlopen(const char*, int);
void* old_dlsym(void*, const char*);
char* old_dlerror();
int old_dladdr(const void*, Dl_info*);
int old_dlinfo(void*, int, void*);
int old_pthread_create(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
int old_pthread_join(pthread_t, void**);
int old_pthread_detach(pthread_t);
int old_pthread_once(pthread_once_t*, void (*)());
int old_pthread_mutex_trylock(pthread_mutex_t*);
int old_pthread_rwlock_rdlock(pthread_rwlock_t*);
int old_pthread_rwlock_wrlock(pthread_rwlock_t*);
int old_pthread_rwlock_unlock(pthread_rwlock_t*);
int old_pthread_attr_setstacksize(pthread_attr_t*, std::size_t);
int old_pthread_attr_getstack(const pthread_attr_t*, void**, std::size_t*);
int old_pthread_attr_getguardsize(const pthread_attr_t*, std::size_t*);
int old_pthread_getattr_np(pthread_t, pthread_attr_t*);
int old_pthread_setname_np(pthread_t, const char*);
double old_exp(double);
double old_exp2(double);
TRITONTS_OLD(dlopen, TRITONTS_FIRST);
TRITONTS_OLD(dlsym, TRITONTS_FIRST);
TRITONTS_OLD(dlerror, TRITONTS_FIRST);
TRITONTS_OLD(dladdr, TRITONTS_FIRST);
TRITONTS_OLD(dlinfo, TRITONTS_DLINFO);
TRITONTS_OLD(pthread_create, TRITONTS_FIRST);
TRITONTS_OLD(pthread_join, TRITONTS_FIRST);
TRITONTS_OLD(pthread_detach, TRITONTS_FIRST);
TRITONTS_OLD(pthread_once, TRITONTS_FIRST);
TRITONTS_OLD(pthread_mutex_trylock, TRITONTS_FIRST);
TRITONTS_OLD(pthread_rwlock_rdlock, TRITONTS_FIRST);
TRITONTS_OLD(pthread_rwlock_wrlock, TRITONTS_FIRST);
TRITONTS_OLD(pthread_rwlock_unlock, TRITONTS_FIRST);
TRITONTS_OLD(pthread_attr_setstacksize, TRITONTS_FIRST);
TRITONTS_OLD(pthread_attr_getstack, TRITONTS_FIRST);
TRITONTS_OLD(pthread_attr_getguardsize, TRITONTS_FIRST);
TRITONTS_OLD(pthread_getattr_np, TRITONTS_FIRST);
TRITONTS_OLD(pthread_setname_np, TRITONTS_SETNAME);
TRITONTS_OLD(exp, TRITONTS_FIRST);
TRITONTS_OLD(exp2, TRITONTS_FIRST);

#define TRITONTS_HIDDEN __attribute__((visibility("hidden")))

// These moved from libdl and libpthread to libc in 2.34.
TRITONTS_HIDDEN void* dlopen(const char* file, int mode) noexcept {
  return old_dlopen(file, mode);
}
TRITONTS_HIDDEN void* dlsym(void* handle, const char* name) noexcept {
  return old_dlsym(handle, name);
}
TRITONTS_HIDDEN char* dlerror() noexcept {
  return old_dlerror();
}
TRITONTS_HIDDEN int dladdr(const void* address, Dl_info* info) noexcept {
  return old_dladdr(address, info);
}
TRITONTS_HIDDEN int dlinfo(void* handle, int request, void* out) noexcept {
  return old_dlinfo(handle, request, out);
}
TRITONTS_HIDDEN int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                   void* (*start)(void*), void* argument) noexcept {
  return old_pthread_create(thread, attributes, start, argument);
}
TRITONTS_HIDDEN int pthread_join(pthread_t thread, void** result) {
  return old_pthread_join(thread, result);
}
TRITONTS_HIDDEN int pthread_detach(pthread_t thread) noexcept {
  return old_pthread_detach(thread);
}
TRITONTS_HIDDEN int pthread_once(pthread_once_t* once, void (*start)()) {
  return old_pthread_once(once, start);
}
TRITONTS_HIDDEN int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  return old_pthread_mutex_trylock(mutex);
}
TRITONTS_HIDDEN int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  return old_pthread_rwlock_rdlock(lock);
}
TRITONTS_HIDDEN int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  return old_pthread_rwlock_wrlock(lock);
}
TRITONTS_HIDDEN int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  return old_pthread_rwlock_unlock(lock);
}
TRITONTS_HIDDEN int pthread_attr_setstacksize(pthread_attr_t* attributes,
                                              std::size_t size) noexcept {
  return old_pthread_attr_setstacksize(attributes, size);
}
TRITONTS_HIDDEN int pthread_attr_getstack(const pthread_attr_t* attributes, void** low,
                                          std::size_t* size) noexcept {
  return old_pthread_attr_getstack(attributes, low, size);
}
TRITONTS_HIDDEN int pthread_attr_getguardsize(const pthread_attr_t* attributes,
                                              std::size_t* size) noexcept {
  return old_pthread_attr_getguardsize(attributes, size);
}
// In 2.32 from libpthread to libc.
TRITONTS_HIDDEN int pthread_getattr_np(pthread_t thread, pthread_attr_t* attributes) noexcept {
  return old_pthread_getattr_np(thread, attributes);
}
TRITONTS_HIDDEN int pthread_setname_np(pthread_t thread, const char* name) noexcept {
  return old_pthread_setname_np(thread, name);
}

// These have a second version since 2.29, which does not report errors to a function of the
// program. The compiler knows them by their names, and lets nobody hide them; so they get names of
// their own.
TRITONTS_HIDDEN double own_exp(double power) noexcept __asm__("exp");
TRITONTS_HIDDEN double own_exp2(double power) noexcept __asm__("exp2");
double own_exp(double power) noexcept {
  return old_exp(power);
}
double own_exp2(double power) noexcept {
  return old_exp2(power);
}

// These are symbols since 2.33, and were inline functions before. On these architectures glibc's
// structure is the kernel's.
TRITONTS_HIDDEN int stat(const char* path, struct stat* out) noexcept {
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, out, 0));
}
TRITONTS_HIDDEN int lstat(const char* path, struct stat* out) noexcept {
  return static_cast<int>(syscall(SYS_newfstatat, AT_FDCWD, path, out, AT_SYMLINK_NOFOLLOW));
}
TRITONTS_HIDDEN int fstat(int file, struct stat* out) noexcept {
  return static_cast<int>(syscall(SYS_fstat, file, out));
}
TRITONTS_HIDDEN int fstat64(int file, struct stat64* out) noexcept {
  return static_cast<int>(syscall(SYS_fstat, file, out));
}

// New in 2.36. Like glibc's, it cannot fail.
TRITONTS_HIDDEN std::uint32_t arc4random() noexcept {
  std::uint32_t value = 0;
  while (getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value)) {
    if (errno != EINTR) std::abort();
  }
  return value;
}

// New in 2.32. It is constant, because this process has threads.
TRITONTS_HIDDEN extern const char __libc_single_threaded = 0;

// New in 2.30: a wait by the monotonic clock. On older systems it waits by the wall clock, for at
// most a second at a time, so that setting that clock delays nobody by more. An early return is a
// spurious wake-up to the caller.
TRITONTS_HIDDEN int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                           clockid_t clock, const timespec* until) {
  using Wait = int (*)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);
  static const Wait wait =
      reinterpret_cast<Wait>(old_dlsym(RTLD_DEFAULT, "pthread_cond_clockwait"));
  if (wait) return wait(condition, mutex, clock, until);
  constexpr std::int64_t second = 1'000'000'000;
  const auto nanoseconds = [](const timespec& time) { return time.tv_sec * second + time.tv_nsec; };
  timespec now{};
  timespec day{};
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &day);
  const std::int64_t left = nanoseconds(*until) - nanoseconds(now);
  if (left <= 0) return ETIMEDOUT;
  const std::int64_t end = nanoseconds(day) + (left < second ? left : second);
  const timespec limit{static_cast<time_t>(end / second), static_cast<long>(end % second)};
  const int status = pthread_cond_timedwait(condition, mutex, &limit);
  return status == ETIMEDOUT && left > second ? 0 : status;
}

}  // extern "C"

#endif
