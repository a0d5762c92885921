// Tests tensors that do not fit into the queue between training and writer.

#include <numeric>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smdebug/capture/session.h"

#include "capture/session_fixture_testing.h"
#include "format/index_file.h"
#include "tests/fault/faulty_storage.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

using SessionQueueTest = SessionFixture;

TEST_F(SessionQueueTest, WritesATensorThatIsLargerThanTheQueue) {
  config_.buffer_bytes = 1 << 20;
  auto session = open();
  std::vector<float> values(3 << 20);
  std::iota(values.begin(), values.end(), 0.0f);
  session->begin_step();
  put(*session, "large", values);
  put(*session, "after", {7});
  ASSERT_TRUE(session->close().ok());

  EXPECT_EQ(records(0).at("large"), values);
  EXPECT_THAT(records(0).at("after"), ElementsAre(7));
  const IndexFile file = index(0);
  ASSERT_THAT(file.statistics, SizeIs(2));
  const double n = static_cast<double>(values.size());
  EXPECT_EQ(file.statistics[0].statistics.count, values.size());
  EXPECT_NEAR(file.statistics[0].statistics.mean, (n - 1) / 2, 1e-6);
  EXPECT_NEAR(file.statistics[0].statistics.m2 / n, (n * n - 1) / 12, 1);
}

TEST_F(SessionQueueTest, WritesStringsThatAreLargerThanTheQueue) {
  config_.buffer_bytes = 1 << 20;
  auto session = open();
  std::mt19937_64 random(3);
  std::vector<std::string> strings(3000);
  for (std::string& text : strings)
    text.assign(random() % 2000, static_cast<char>('a' + random() % 26));
  session->begin_step();
  put_strings(*session, "long", DType::string, {3000}, strings);
  put(*session, "after", {1});
  ASSERT_TRUE(session->close().ok());
  EXPECT_EQ(parsed_records(0).at("long").strings, strings);
  EXPECT_THAT(parsed_records(0), SizeIs(2));
}

TEST_F(SessionQueueTest, DropsStringsThatDoNotFitTheQueueAndCountsTheirBytes) {
  config_.buffer_bytes = 1 << 20;
  config_.overflow_policy = OverflowPolicy::drop;
  auto session = open();
  session->begin_step();
  // A string of 900 KiB behind a key and a length of three bytes.
  put_strings(*session, "long", DType::bytes, {1},
              {std::string(900 << 10, 'x')});
  ASSERT_TRUE(session->close().ok());
  EXPECT_EQ(session->status().dropped_tensors, 1u);
  EXPECT_EQ(session->status().dropped_bytes, (900u << 10) + 4);
  EXPECT_EQ(index(0).dropped_tensors, 1u);
}

TEST_F(SessionQueueTest, LosesNothingWhenTheQueueIsFullAndThePolicyIsBlock) {
  config_.buffer_bytes = 1 << 20;
  auto session = open();
  const std::vector<float> values(50000, 2.0f);
  session->begin_step();
  for (int i = 0; i < 100; ++i) put(*session, std::to_string(i), values);
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(records(0), SizeIs(100));
  EXPECT_EQ(session->status().dropped_tensors, 0u);
}

TEST_F(SessionQueueTest, CountsWhatItDropsAndWritesItIntoTheIndex) {
  auto faulty = std::make_shared<FaultyStorage>(storage_);
  storage_ = faulty;
  config_.buffer_bytes = 1 << 20;
  config_.overflow_policy = OverflowPolicy::drop;
  auto session = open();
  const std::vector<float> values(25000, 2.0f);  // 100,000 bytes
  session->begin_step();
  put(*session, "first", values);
  faulty->hold();
  for (int i = 0; i < 100; ++i) put(*session, std::to_string(i), values);
  faulty->let_go();
  ASSERT_TRUE(session->close().ok());

  const SessionStatus status = session->status();
  EXPECT_GT(status.dropped_tensors, 0u);
  EXPECT_EQ(status.dropped_bytes, status.dropped_tensors * 100000);
  EXPECT_EQ(status.tensors + status.dropped_tensors, 101u);
  EXPECT_EQ(index(0).dropped_tensors, status.dropped_tensors);
  EXPECT_EQ(index(0).dropped_bytes, status.dropped_bytes);
}

}  // namespace
}  // namespace smdebug
