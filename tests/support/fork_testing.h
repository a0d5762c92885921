#pragma once

// A fork that is safe under the address sanitizer. Its allocator has locks that
// `fork` does not release in the child: if another thread is allocating memory
// at that moment, the child hangs. The C library releases its own locks.

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include <sys/types.h>
#include <unistd.h>

namespace smdebug {

// Returns whether all threads of this process except the caller are sleeping.
inline bool other_threads_sleep() {
  const std::string own = std::to_string(::gettid());
  for (const auto& thread :
       std::filesystem::directory_iterator("/proc/self/task")) {
    if (thread.path().filename() == own) continue;
    std::ifstream file(thread.path() / "stat");
    const std::string line{std::istreambuf_iterator<char>(file), {}};
    const std::size_t name_end = line.rfind(')');
    if (name_end == std::string::npos) continue;  // the thread has ended
    if (line.compare(name_end, 3, ") S") != 0) return false;
  }
  return true;
}

// Waits until all other threads of this process are sleeping, then forks.
inline pid_t fork_when_others_sleep() {
  while (!other_threads_sleep()) std::this_thread::yield();
  return ::fork();
}

}  // namespace smdebug
