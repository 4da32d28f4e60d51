// Which lock guards what, as clang's -Wthread-safety checks it in tools/lint/tidy.py; nothing for
// GCC. A member that a lock guards says HEXAD_GUARDED_BY(mutex_), a function that is called under
// the lock HEXAD_REQUIRES(mutex_), and so does a lambda that is called under it, after its
// parameters. One that another class calls under the lock, or whose argument has the lock, cannot
// be checked: HEXAD_NO_THREAD_SAFETY_ANALYSIS.
#pragma once

#if defined(__clang__)
#define HEXAD_THREAD_ATTRIBUTE(attribute) __attribute__((attribute))
#else
#define HEXAD_THREAD_ATTRIBUTE(attribute)
#endif

// Of classes: a lock, and what holds one from its constructor to its destructor.
#define HEXAD_CAPABILITY(name) HEXAD_THREAD_ATTRIBUTE(capability(name))
#define HEXAD_SCOPED_CAPABILITY HEXAD_THREAD_ATTRIBUTE(scoped_lockable)

// Of members: the member itself, or what it points to, is touched only by who holds the lock.
#define HEXAD_GUARDED_BY(lock) HEXAD_THREAD_ATTRIBUTE(guarded_by(lock))
#define HEXAD_PT_GUARDED_BY(lock) HEXAD_THREAD_ATTRIBUTE(pt_guarded_by(lock))

// Of functions: the caller holds the locks, or does not; the function takes them, gives them back,
// or takes them when it returns the first argument.
#define HEXAD_REQUIRES(...) HEXAD_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define HEXAD_EXCLUDES(...) HEXAD_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
#define HEXAD_ACQUIRE(...) HEXAD_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define HEXAD_RELEASE(...) HEXAD_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
#define HEXAD_TRY_ACQUIRE(...) HEXAD_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))

// Of functions: the caller holds the lock, which nobody checks.
#define HEXAD_ASSERT_CAPABILITY(lock) HEXAD_THREAD_ATTRIBUTE(assert_capability(lock))

// Of functions that return a reference or a pointer to a lock: which.
#define HEXAD_RETURN_CAPABILITY(lock) HEXAD_THREAD_ATTRIBUTE(lock_returned(lock))

// Of functions: the check cannot follow what it does; a comment says why.
#define HEXAD_NO_THREAD_SAFETY_ANALYSIS HEXAD_THREAD_ATTRIBUTE(no_thread_safety_analysis)
