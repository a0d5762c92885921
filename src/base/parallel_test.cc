#include "smdebug/base/parallel.h"

#include <atomic>
#include <mutex>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace smdebug {
namespace {

TEST(ParallelFor, DoesEveryPieceOfWorkOnce) {
  for (const std::size_t n : {0, 1, 7, 100, 1001}) {
    std::vector<std::atomic<int>> done(n);
    parallel_for(n, 10, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) ++done[i];
    });
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(done[i], 1) << i;
  }
}

TEST(ParallelFor, MakesNoPartSmallerThanItMay) {
  std::mutex mutex;
  std::vector<std::size_t> sizes;
  parallel_for(95, 30, [&](std::size_t begin, std::size_t end) {
    const std::scoped_lock lock(mutex);
    sizes.push_back(end - begin);
  });
  for (const std::size_t size : sizes) EXPECT_GE(size, 30u);
}

}  // namespace
}  // namespace smdebug
