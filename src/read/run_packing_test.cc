#include "smdebug/read/run_packing.h"

#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smdebug/read/trial.h"

#include "format/run_file.h"
#include "format/statistics_file.h"
#include "index/run_index.h"
#include "index/written_run_testing.h"
#include "store/backends.h"
#include "store/forwarding_storage.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr Step kPackedSteps = 150;

// Counts what is read.
class CountedStorage : public ForwardingStorage {
 public:
  using ForwardingStorage::ForwardingStorage;

  Result<std::vector<Bytes>> read(
      std::string_view key, std::span<const ByteRange> ranges) const override {
    ++reads;
    return ForwardingStorage::read(key, ranges);
  }
  Result<Bytes> read_whole(std::string_view key,
                           std::uint64_t max_bytes) const override {
    ++reads;
    return ForwardingStorage::read_whole(key, max_bytes);
  }

  mutable std::atomic<std::size_t> reads = 0;
};

WrittenStep step_of(Step step, const std::string& worker, float value) {
  WrittenStep written = {{step, Mode::train, step}, worker, {}};
  written.tensors.push_back({"weight", {value, 2}, true, true});
  written.tensors.push_back({"loss", {value}, false});
  written.tensors.back().reductions = {{{Reduction::mean, true}, value}};
  written.tensors.push_back({"shard", {1, value}, true});
  written.tensors.back().placement = ShardPlacement{{4}, {2}};
  written.dropped_tensors = step % 7 == 0 ? 1 : 0;
  return written;
}

// All that a table has, as text.
std::string text_of(const RunTable& table) {
  std::string text = fmt::format("dropped {}\n", table.dropped_tensors());
  for (const auto& [number, step] : table.steps()) {
    text += step_text(step.id) + "\n";
    for (const FileId file : step.files) {
      const IndexedFile& row = table.file(file);
      text += fmt::format(" {} {}\n", table.worker_name(row.worker),
                          table.event_file(file));
      for (EntryId i = row.first_entry; i < row.first_entry + row.entries;
           ++i) {
        const IndexEntry& entry = table.entry(i);
        text += fmt::format(
            "  {} ({}, seen in TRAIN: {}) {} {} {} {} {} {}",
            table.tensor_name(entry.tensor), table.original_name(entry.tensor),
            table.is_seen_in(entry.tensor, Mode::train), entry.has_crc,
            entry.op_code, entry.start, entry.length, entry.payload_crc32c,
            entry.dtype_code);
        if (const auto* shape = table.shape(i)) {
          text += fmt::format(" [{}]", fmt::join(*shape, ","));
        }
        if (const auto* place = table.placement(i)) {
          text += fmt::format(" at [{}]", fmt::join(place->offsets, ","));
        }
        if (const auto* statistics = table.statistics(i)) {
          text += fmt::format(" {} {} {}", statistics->count, statistics->mean,
                              statistics->m2);
        }
        text += "\n";
      }
    }
  }
  return text;
}

class RunPackingTest : public testing::Test {
 protected:
  RunPackingTest() {
    put_attempts(1);
    for (Step step = 0; step < kPackedSteps; ++step) {
      for (const char* worker : {"worker_0", "worker_1"}) {
        run_.put_step(step_of(step, worker, static_cast<float>(step)));
      }
    }
  }

  // Reads the run, with its statistics, into `text_` and `left_out_`; what it
  // has before those are loaded into `first_text_`.
  void read() {
    RunIndex index(storage_, std::nullopt, std::nullopt);
    storage_->reads = 0;
    ASSERT_TRUE(index.refresh("").ok());
    reads_ = storage_->reads;
    first_text_ = text_of(index.table());
    storage_->reads = 0;
    index.load_statistics();
    reads_of_statistics_ = storage_->reads;
    text_ = text_of(index.table());
    left_out_ = index.left_out();
  }

  void put_attempts(std::size_t number) {
    RunFile file;
    file.attempts.resize(number);
    run_.put(std::string(kRunFileKey), write_run_file(file));
  }

  PackingCounts pack() {
    const auto counts = pack_run(*storage_);
    EXPECT_TRUE(counts) << counts.error().message;
    return counts ? *counts : PackingCounts();
  }

  std::vector<std::string> statistics_files() {
    std::vector<std::string> keys;
    const auto listed = storage_->list(kStatisticsPrefix, "");
    for (const auto& object : *listed) {
      keys.push_back(object.key);
    }
    return keys;
  }

  std::shared_ptr<CountedStorage> storage_ =
      std::make_shared<CountedStorage>(make_memory_storage("memory://packing"));
  WrittenRun run_{storage_};
  std::string first_ =
      statistics_file_key({"worker_0", 1, 0, kPackedSteps - 1});
  std::string second_ =
      statistics_file_key({"worker_1", 1, 0, kPackedSteps - 1});
  std::size_t reads_ = 0, reads_of_statistics_ = 0;
  std::string first_text_, text_;
  std::vector<LeftOut> left_out_;
};

TEST_F(RunPackingTest, APackedRunReadsAsBeforeWithOneRequestPerStatisticsFile) {
  read();
  const std::string unpacked = text_, without_statistics = first_text_;
  EXPECT_NE(unpacked, without_statistics);
  EXPECT_EQ(reads_, 2u * kPackedSteps);
  EXPECT_EQ(reads_of_statistics_, 2u * kPackedSteps);
  const PackingCounts counts = pack();
  EXPECT_EQ(counts.packed, 2u * kPackedSteps);
  EXPECT_EQ(counts.files, 2u);
  EXPECT_THAT(statistics_files(), ElementsAre(first_, second_));
  read();
  EXPECT_EQ(reads_, 2u);
  EXPECT_EQ(reads_of_statistics_, 2u);
  EXPECT_EQ(first_text_, without_statistics);
  EXPECT_EQ(text_, unpacked);
  EXPECT_THAT(left_out_, IsEmpty());
}

TEST_F(RunPackingTest, PacksOnlyWhatIsNotPacked) {
  pack();
  PackingCounts again = pack();
  EXPECT_EQ(again.packed_before, 2u * kPackedSteps);
  EXPECT_EQ(again.packed + again.files + again.removed, 0u);
  run_.put_step(step_of(kPackedSteps, "worker_1", 5));
  again = pack();
  EXPECT_EQ(again.packed, 1u);
  EXPECT_THAT(statistics_files(),
              ElementsAre(first_, second_,
                          statistics_file_key(
                              {"worker_1", 1, kPackedSteps, kPackedSteps})));
}

TEST_F(RunPackingTest, AChangedIndexFileIsReadInsteadAndPackedAnew) {
  pack();
  WrittenStep changed = step_of(5, "worker_0", 5);
  changed.tensors.push_back({"another", {1}});
  run_.put_step(changed);
  read();
  EXPECT_EQ(reads_, 3u);
  EXPECT_THAT(text_, HasSubstr("another"));
  const std::string unpacked = text_;
  const PackingCounts counts = pack();
  EXPECT_EQ(counts.packed, static_cast<std::uint64_t>(kPackedSteps));
  read();
  EXPECT_EQ(reads_, 2u);
  EXPECT_EQ(text_, unpacked);
}

TEST_F(RunPackingTest, AStepWithoutItsIndexFileIsNoStep) {
  pack();
  ASSERT_TRUE(storage_->remove(index_file_key(5, "worker_0")).ok());
  ASSERT_TRUE(storage_->remove(index_file_key(5, "worker_1")).ok());
  read();
  EXPECT_THAT(text_, testing::Not(HasSubstr(step_text(5, Mode::train) + ")")));
  EXPECT_THAT(text_, HasSubstr(step_text(6, Mode::train) + ")"));
}

TEST_F(RunPackingTest, ADamagedStatisticsFileIsReportedAndWrittenAnew) {
  read();
  const std::string unpacked = text_;
  pack();
  std::string bytes(get_object(*storage_, first_)->text());
  bytes[bytes.size() / 2] ^= 1;
  run_.put(first_, bytes);
  read();
  EXPECT_EQ(text_, unpacked);
  ASSERT_THAT(left_out_, SizeIs(1));
  EXPECT_EQ(left_out_[0].key, first_);
  EXPECT_THAT(left_out_[0].what,
              HasSubstr("its steps were read from their index files"));
  const auto trial = Trial::open(storage_);
  ASSERT_TRUE(trial) << trial.error().message;
  for (const Damage& damage : (*trial)->damage()) {
    if (damage.key == first_) EXPECT_FALSE(damage.hides_tensors);
  }
  const PackingCounts counts = pack();
  EXPECT_EQ(counts.packed, static_cast<std::uint64_t>(kPackedSteps));
  EXPECT_EQ(counts.removed, 0u);  // it was replaced
  read();
  EXPECT_EQ(reads_, 2u);
  EXPECT_EQ(text_, unpacked);
  EXPECT_THAT(left_out_, IsEmpty());
}

TEST_F(RunPackingTest, ADamagedIndexFileIsNotPacked) {
  run_.put(index_file_key(5, "worker_0"), R"({"meta": {"mode": "TR)");
  EXPECT_EQ(pack().damaged, 1u);
  read();
  ASSERT_THAT(left_out_, SizeIs(1));
  EXPECT_EQ(left_out_[0].key, index_file_key(5, "worker_0"));
}

TEST_F(RunPackingTest, TheFileOfALaterAttemptCounts) {
  pack();
  const std::string older(get_object(*storage_, first_)->text());
  for (Step step = 0; step < kPackedSteps; ++step) {
    run_.put_step(step_of(step, "worker_0", static_cast<float>(step) + 1000));
  }
  ASSERT_TRUE(storage_->remove(first_).ok());
  put_attempts(2);
  pack();
  read();
  const std::string unpacked = text_;
  run_.put(first_, older);
  read();
  EXPECT_EQ(text_, unpacked);
}

TEST_F(RunPackingTest, AFileEndsAtAThousandSteps) {
  for (Step step = kPackedSteps; step < 1100; ++step) {
    run_.put_step(step_of(step, "worker_0", 1));
  }
  EXPECT_EQ(pack().files, 3u);
  EXPECT_THAT(
      statistics_files(),
      ElementsAre(statistics_file_key({"worker_0", 1, 0, 999}),
                  statistics_file_key({"worker_0", 1, 1000, 1099}), second_));
}

}  // namespace
}  // namespace smdebug
