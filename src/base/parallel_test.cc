#include "smdebug/base/parallel.h"

#include <atomic>
#include <mutex>
#include <set>
#include <string>
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

TEST(TryConcurrently, DoesAllOfTheWorkAndReturnsTheFirstFailure) {
  std::atomic<int> done = 0;
  const Status status = try_concurrently(100, 8, [&](std::size_t i) -> Status {
    ++done;
    if (i < 40) return {};
    return Error{Error::Code::io, std::to_string(i)};
  });
  EXPECT_EQ(done, 100);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "40");
  EXPECT_TRUE(try_concurrently(5, 8, [](std::size_t) { return Status(); }));
}

}  // namespace
}  // namespace smdebug
