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

// What the signal's code touches: it may do no more than post a semaphore.
sem_t told;
std::atomic<pid_t> watched_process = 0;  // none, or the one with the thread
static_assert(std::atomic<pid_t>::is_always_lock_free);

void on_signal(int signal) {
  const int error = errno;
  if (watched_process.load() == ::getpid()) {
    ::sem_post(&told);
  } else {
    // In the child of a fork. Delivered when this function returns.
    ::signal(signal, SIG_DFL);
    ::raise(signal);
  }
  errno = error;
}

bool answers_with(void (*code)(int)) {
  struct sigaction action = {};
  return ::sigaction(SIGTERM, nullptr, &action) == 0 &&
         (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == code;
}

// A program that has installed its own code meanwhile gets the signal there.
void end_process() {
  if (answers_with(on_signal)) ::signal(SIGTERM, SIG_DFL);
  sigset_t termination;
  ::sigemptyset(&termination);
  ::sigaddset(&termination, SIGTERM);
  ::pthread_sigmask(SIG_UNBLOCK, &termination, nullptr);
  ::kill(::getpid(), SIGTERM);
}

void wait_for_signal(void (*last)()) {
  ::pthread_setname_np(::pthread_self(), "smdebug-sigterm");
  while (::sem_wait(&told) != 0 && errno == EINTR) {
  }
  last();
  end_process();
}

// The thread takes no signal: other code's handlers are not to run on it.
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
  if (watched_process.load() == ::getpid()) return answers_with(on_signal);
  // A child of a fork inherits the code, not the thread.
  const bool is_inherited = answers_with(on_signal);
  if (!is_inherited && !answers_with(SIG_DFL)) return false;
  if (::sem_init(&told, 0, 0) != 0 || !start_thread(last)) return false;
  watched_process.store(::getpid());
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  return is_inherited || ::sigaction(SIGTERM, &action, nullptr) == 0;
}

}  // namespace smdebug
