#include <random>

#include "index/run_index.h"
#include "read/record_reader.h"
#include "read/trial_testing.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;

class EventFilesTest : public TrialTest {
 protected:
  // Step s holds `a` = {s} and `b` = {s, s}.
  void write(Step steps) {
    for (Step step = 0; step < steps; ++step) {
      const auto s = static_cast<float>(step);
      run_.put_step(
          {{step, Mode::train, step}, "worker_0", {{"a", {s}}, {"b", {s, s}}}});
    }
    EXPECT_TRUE(index_.refresh("").ok());
  }

  EntryId entry(std::string_view tensor, Step step) {
    const RunTable& table = index_.table();
    return table.entries_at(*table.find_tensor(tensor), step)[0];
  }

  RunIndex index_{storage_, {}, {}};
  EventFiles files_{*storage_, index_.table()};
};

TEST_F(EventFilesTest, ReadsTheSameWhicheverFilesItHasClosedMeanwhile) {
  write(100);
  const auto seed = std::random_device()();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  for (int i = 0; i < 500; ++i) {
    const auto step = static_cast<Step>(random() % 100);
    const auto value = files_.read(entry("a", step));
    ASSERT_TRUE(value.ok()) << value.error().message;
    EXPECT_THAT(floats(*value), ElementsAre(static_cast<float>(step)));
  }
}

TEST_F(EventFilesTest, ReadsEntriesOfOneFileInTheirOrder) {
  write(3);
  const EntryId entries[] = {entry("b", 2), entry("a", 2)};
  const auto values = files_.read(entries);
  ASSERT_TRUE(values.ok()) << values.error().message;
  EXPECT_THAT(floats((*values)[0]), ElementsAre(2, 2));
  EXPECT_THAT(floats((*values)[1]), ElementsAre(2));
  EXPECT_TRUE(files_.read(std::span<const EntryId>()).ok());
}

TEST_F(EventFilesTest, ForgetsAFileThatFailed) {
  write(1);
  const std::string key = event_file_key(0, "worker_0");
  const std::string whole(get_object(*storage_, key)->text());
  run_.put(key, whole.substr(0, 20));
  EXPECT_EQ(files_.read(entry("a", 0)).error().code, Error::Code::corrupt);
  run_.put(key, whole);
  EXPECT_TRUE(files_.read(entry("a", 0)).ok());
}

TEST_F(EventFilesTest, OpensAFileAnewThatIsOpenAndFails) {
  write(1);
  const std::string key = event_file_key(0, "worker_0");
  const std::string whole(get_object(*storage_, key)->text());
  // Its first record is there, the second is not yet.
  run_.put(key, whole.substr(0, whole.size() - 20));
  EXPECT_TRUE(files_.read(entry("a", 0)).ok());
  run_.put(key, whole);
  const EntryId second[] = {entry("b", 0)};
  EXPECT_TRUE(files_.read(second).ok());
  run_.put(key, "");
  EXPECT_TRUE(files_.read(entry("b", 0)).ok()) << "it is open";
}

TEST_F(EventFilesTest, TriesAgainToOpenWhatWasNotThere) {
  write(1);
  const auto events = *get_object(*storage_, event_file_key(0, "worker_0"));
  ASSERT_TRUE(storage_->remove(event_file_key(0, "worker_0")).ok());
  EXPECT_EQ(files_.read(entry("a", 0)).error().code, Error::Code::io);
  run_.put(event_file_key(0, "worker_0"), events.text());
  EXPECT_TRUE(files_.read(entry("a", 0)).ok());
}

}  // namespace
}  // namespace smdebug
