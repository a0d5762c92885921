#include "base/termination_signal.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <system_error>
#include <thread>

#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

namespace smdebug {
namespace {

// Used by the signal handler, which may do little more than post a semaphore.
sem_t signal_received;
std::atomic<pid_t> watched_process = 0;  // the one with the thread; 0: none
static_assert(std::atomic<pid_t>::is_always_lock_free);

void on_signal(int signal) {
  const int error = errno;
  if (watched_process.load() == ::getpid()) {
    ::sem_post(&signal_received);
  } else {
    // The child of a fork. It receives the signal when this function returns.
    ::signal(signal, SIG_DFL);
    ::raise(signal);
  }
  errno = error;
}

bool has_handler(void (*handler)(int)) {
  struct sigaction action = {};
  return ::sigaction(SIGTERM, nullptr, &action) == 0 &&
         (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == handler;
}

// If the program has installed its own handler in the meantime, calls that.
void end_process() {
  if (has_handler(on_signal)) ::signal(SIGTERM, SIG_DFL);
  sigset_t termination;
  ::sigemptyset(&termination);
  ::sigaddset(&termination, SIGTERM);
  ::pthread_sigmask(SIG_UNBLOCK, &termination, nullptr);
  ::kill(::getpid(), SIGTERM);
}

void wait_for_signal(void (*last)()) {
  ::pthread_setname_np(::pthread_self(), "smdebug-sigterm");
  while (::sem_wait(&signal_received) != 0 && errno == EINTR) {
  }
  last();
  end_process();
}

// Blocks all signals in the thread: handlers of other code must not run on it.
bool start_thread(void (*last)()) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  bool has_started = true;
  try {
    std::thread(wait_for_signal, last).detach();
  } catch (const std::system_error&) {
    has_started = false;
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return has_started;
}

}  // namespace

bool watch_termination_signal(void (*last)()) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (watched_process.load() == ::getpid()) return has_handler(on_signal);
  // The child of a fork inherits the handler, but not the thread.
  const bool is_inherited = has_handler(on_signal);
  if (!is_inherited && !has_handler(SIG_DFL)) return false;
  if (::sem_init(&signal_received, 0, 0) != 0 || !start_thread(last))
    return false;
  watched_process.store(::getpid());
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  return is_inherited || ::sigaction(SIGTERM, &action, nullptr) == 0;
}

}  // namespace smdebug
