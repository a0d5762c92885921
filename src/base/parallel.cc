#include "smdebug/base/parallel.h"

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

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

}  // namespace smdebug
