#include "capture/statistics_writer.h"

#include <gmock/gmock.h>

#include "capture/session_fixture_testing.h"
#include "format/statistics_content_testing.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class StatisticsWriterTest : public SessionFixture {
 protected:
  // The session ends at the end of the call, unless it is returned.
  std::unique_ptr<Session> train(int steps) {
    auto session = open();
    for (int i = 0; i < steps; ++i) {
      session->begin_step();
      put(*session, "w", {static_cast<float>(i), -1});
      put(*session, "loss", {static_cast<float>(i) / 2});
    }
    return session;
  }

  std::vector<std::string> files() const {
    std::vector<std::string> keys;
    const auto listed = storage_->list(kStatisticsPrefix);
    for (const auto& object : *listed) {
      keys.push_back(object.key);
    }
    return keys;
  }
};

TEST_F(StatisticsWriterTest, HasAtTheEndWhatTheIndexFilesHave) {
  ASSERT_TRUE(train(64)->close());
  const std::string key = statistics_file_key({"worker_0", 1, 0, 63});
  ASSERT_THAT(files(), ElementsAre(key));
  const std::string bytes = text(key);
  const auto file = parse_statistics_file(std::as_bytes(std::span(bytes)));
  ASSERT_TRUE(file) << file.error().message;
  ASSERT_EQ(file->steps().size(), 64u);
  for (Step step = 0; step < 64; ++step) {
    const auto& rows = file->steps()[static_cast<std::size_t>(step)];
    const std::string index = text(index_file_key(step, "worker_0"));
    const auto expected = parse_index_file(index, IndexParts::everything);
    EXPECT_EQ(rows.name, (StepFileName{step, "worker_0"}));
    EXPECT_EQ(rows.index_bytes, index.size());
    const IndexFile content = content_of(*file, rows);
    EXPECT_EQ(content.event_file_key, expected->event_file_key);
    ASSERT_EQ(content.statistics.size(), 2u);
    ASSERT_EQ(content.tensors.size(), 2u);
    EXPECT_EQ(content.statistics[0].statistics.max, static_cast<double>(step));
    EXPECT_EQ(content.statistics[1].statistics.sum_abs,
              static_cast<double>(step) / 2);
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(content.statistics[i].statistics,
                expected->statistics[i].statistics);
      EXPECT_EQ(content.tensors[i].start, expected->tensors[i].start);
      EXPECT_EQ(content.tensors[i].payload_crc32c,
                expected->tensors[i].payload_crc32c);
    }
  }
}

TEST_F(StatisticsWriterTest, LeavesAShortRunToItsIndexFiles) {
  ASSERT_TRUE(train(63)->close());
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(StatisticsWriterTest, WritesOneEveryThousandSteps) {
  auto session = train(1002);  // the last one is open
  ASSERT_TRUE(session->flush());
  const std::string key = statistics_file_key({"worker_0", 1, 0, 999});
  EXPECT_THAT(files(), ElementsAre(key));
  ASSERT_TRUE(session->close());
  EXPECT_THAT(files(), ElementsAre(key));  // two steps more save no request
}

TEST_F(StatisticsWriterTest, WritesNoneIfStepsAreRemoved) {
  config_.max_run_bytes = 1 << 20;
  ASSERT_TRUE(train(100)->close());
  EXPECT_THAT(files(), IsEmpty());
}

}  // namespace
}  // namespace smdebug
