#include "smdebug/base/parallel.h"

#include <algorithm>
#include <atomic>
#include <system_error>
#include <thread>
#include <vector>

#include "smdebug/base/blocking_wait.h"
#include "smdebug/base/try.h"

namespace smdebug {
namespace {

// More concurrent reads do not make a disk faster.
constexpr std::size_t kMaxThreads = 8;

}  // namespace

void parallel_for(std::size_t n, std::size_t least,
                  const std::function<void(std::size_t, std::size_t)>& work) {
  const std::size_t cores = std::clamp<std::size_t>(
      std::thread::hardware_concurrency(), 1, kMaxThreads);
  const std::size_t parts =
      std::clamp<std::size_t>(n / std::max<std::size_t>(least, 1), 1, cores);
  const auto boundary = [&](std::size_t part) { return n * part / parts; };
  std::vector<std::jthread> others;
  others.reserve(parts - 1);
  std::size_t started = 1;
  try {
    for (; started < parts; ++started) {
      others.emplace_back(work, boundary(started), boundary(started + 1));
    }
  } catch (const std::system_error&) {
    // No thread can be created: do the remaining work on this one.
    work(boundary(started), n);
  }
  work(0, boundary(1));
}

void concurrent_for(std::size_t n, std::size_t most,
                    const std::function<void(std::size_t)>& work) {
  const BlockingWait wait;
  std::atomic<std::size_t> next = 0;
  const auto take_turns = [&] {
    for (std::size_t i = next++; i < n; i = next++) work(i);
  };
  const std::size_t threads = std::min(n, std::max<std::size_t>(most, 1));
  std::vector<std::jthread> others;
  try {
    while (others.size() + 1 < threads) others.emplace_back(take_turns);
  } catch (const std::system_error&) {
    // No further thread can be created: those that there are do all the work.
  }
  take_turns();
}

Status try_concurrently(std::size_t n, std::size_t most,
                        const std::function<Status(std::size_t)>& work) {
  std::vector<Status> done(n);
  concurrent_for(n, most, [&](std::size_t i) { done[i] = work(i); });
  for (Status& status : done) SMD_CHECK_OK(std::move(status));
  return {};
}

}  // namespace smdebug
