#include "read/statistics_scan.h"

#include <map>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smdebug/read/run_packing.h"
#include "smdebug/store/open_storage.h"

#include "format/statistics_file_columns.h"
#include "index/written_run_testing.h"
#include "tests/support/temporary_folder_testing.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

// Steps 0 to 149 of two workers. Every third step has no statistics.
class StatisticsScanTest : public testing::Test {
 protected:
  StatisticsScanTest() {
    static int number = 0;
    location_ = "memory://statistics-scan-" + std::to_string(++number);
    run_.emplace(*open_storage(location_));
    for (Step step = 0; step < 150; ++step) {
      for (const char* worker : {"worker_0", "worker_1"}) put(step, worker, 1);
    }
    run_->put_end_marker();
  }

  void put(Step step, const std::string& worker, float value) {
    run_->put_step({{step, Mode::train, step},
                    worker,
                    {{"w", {value, static_cast<float>(step)}, step % 3 != 0}}});
  }

  Storage& storage() { return *run_->storage(); }

  // The sum of the elements of each value; fails if a step comes twice.
  std::map<std::pair<std::string, Step>, double> scan() {
    using namespace statistics_file;
    std::map<std::pair<std::string, Step>, double> sums;
    const auto scan = StatisticsScan::open(location_);
    EXPECT_TRUE(scan) << scan.error().message;
    parts_ = 0;
    for (;;) {
      const auto part = (*scan)->next();
      EXPECT_TRUE(part) << part.error().message;
      if (!*part) break;
      ++parts_;
      for (const auto& rows : (*part)->steps) {
        for (auto row = rows.first; row < rows.end; ++row) {
          const auto& file = (*part)->file;
          if (file.column(kDType).is_null(row)) continue;
          const double sum =
              file.column(kFirstMoment + 2).value<double>(row) *
              static_cast<double>(
                  file.column(kFirstCount).value<std::uint64_t>(row));
          const bool is_new =
              sums.emplace(std::pair(rows.name.worker, rows.name.step), sum)
                  .second;
          EXPECT_TRUE(is_new) << rows.name.worker << " " << rows.name.step;
        }
      }
    }
    damage_ = (*scan)->damage();
    return sums;
  }

  void expect_all() {
    const auto sums = scan();
    EXPECT_THAT(sums, SizeIs(300));
    for (const auto& [place, sum] : sums) {
      EXPECT_EQ(sum, 1 + static_cast<double>(place.second));
    }
  }

  std::string location_;
  std::optional<WrittenRun> run_;
  std::size_t parts_ = 0;
  std::vector<Damage> damage_;
};

TEST_F(StatisticsScanTest, ReadsEachStepOfARunThatIsNotPacked) {
  expect_all();
  EXPECT_THAT(damage_, SizeIs(0));
}

TEST_F(StatisticsScanTest, ReadsEachStepOfAPackedRun) {
  ASSERT_TRUE(pack_run(storage()));
  expect_all();
  // Without the index files, there is nothing that counts.
  ASSERT_TRUE(storage().remove(index_file_key(7, "worker_1")));
  EXPECT_THAT(scan(), SizeIs(299));
}

TEST_F(StatisticsScanTest, TakesAStepThatWasWrittenAgainFromItsIndexFile) {
  ASSERT_TRUE(pack_run(storage()));
  // Its index file has another size.
  run_->put_step({{8, Mode::train, 8},
                  "worker_0",
                  {{"w", {1234567, 8}, true, /*with_shape=*/true}}});
  const auto sums = scan();
  EXPECT_THAT(sums, SizeIs(300));
  EXPECT_EQ(sums.at({"worker_0", 8}), 1234567 + 8);
}

TEST_F(StatisticsScanTest, ReadsTheIndexInPlaceOfADamagedStatisticsFile) {
  ASSERT_TRUE(pack_run(storage()));
  const std::string key = statistics_file_key({"worker_1", 0, 0, 149});
  ASSERT_TRUE(storage().exists(key));
  run_->put(key, "no table");
  expect_all();
  ASSERT_THAT(damage_, SizeIs(1));
  EXPECT_EQ(damage_[0].key, key);
  EXPECT_THAT(damage_[0].what, HasSubstr("read from their index files"));
  EXPECT_FALSE(damage_[0].hides_tensors);
}

TEST_F(StatisticsScanTest, ReportsDamagedIndexFilesAndValues) {
  run_->put(index_file_key(5, "worker_0"), "{");
  run_->put(event_file_key(6, "worker_0"), "no records");
  EXPECT_THAT(scan(), SizeIs(298));
  ASSERT_THAT(damage_, SizeIs(2));
  EXPECT_EQ(damage_[0].key, index_file_key(5, "worker_0"));
  EXPECT_THAT(damage_[0].what, HasSubstr("step 5 of 'worker_0' is left out"));
  EXPECT_EQ(damage_[1].key, event_file_key(6, "worker_0"));
}

TEST_F(StatisticsScanTest, FindsTheRunOfAJob) {
  const TemporaryFolder job;
  WrittenRun below(*open_storage(job.path("debug-output")));
  below.put_step({{3, Mode::train, 3}, "worker_0", {{"w", {5}, true}}});
  below.put_collections("worker_0", 1);
  location_ = job.path();
  EXPECT_THAT(scan(), ElementsAre(testing::Pair(
                          std::pair<std::string, Step>("worker_0", 3), 5.0)));
}

TEST_F(StatisticsScanTest, FailsWithoutARun) {
  const auto scan = StatisticsScan::open(location_ + "-none");
  ASSERT_FALSE(scan);
  EXPECT_EQ(scan.error().code, Error::Code::not_found);
}

}  // namespace
}  // namespace smdebug
