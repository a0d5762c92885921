#include "smdebug/read/statistics_table.h"

#include <cmath>
#include <cstring>

#include "read/trial_testing.h"

namespace smdebug {
namespace {

// Reads a stream as another library does.
class TakenTable {
 public:
  explicit TakenTable(ArrowArrayStream& stream) {
    EXPECT_EQ(stream.get_schema(&stream, &schema_), 0);
    EXPECT_EQ(stream.get_next(&stream, &array_), 0);
    ArrowArray end = {};
    EXPECT_EQ(stream.get_next(&stream, &end), 0);
    EXPECT_EQ(end.release, nullptr);
    stream.release(&stream);
    EXPECT_EQ(stream.release, nullptr);
  }
  ~TakenTable() {
    schema_.release(&schema_);
    array_.release(&array_);
  }
  TakenTable(const TakenTable&) = delete;
  TakenTable& operator=(const TakenTable&) = delete;

  std::int64_t rows() const { return array_.length; }

  template <typename T>
  T number(std::string_view name, std::size_t row) const {
    T number;
    std::memcpy(
        &number,
        static_cast<const char*>(column(name).buffers[1]) + row * sizeof number,
        sizeof number);
    return number;
  }
  bool is_null(std::string_view name, std::size_t row) const {
    const auto* bits =
        static_cast<const unsigned char*>(column(name).buffers[0]);
    return bits != nullptr && (bits[row / 8] >> (row % 8) & 1) == 0;
  }
  std::string text(std::string_view name, std::size_t row) const {
    const ArrowArray& dictionary = *column(name).dictionary;
    const auto* offsets =
        static_cast<const std::int32_t*>(dictionary.buffers[1]);
    const auto code = number<std::int32_t>(name, row);
    return {static_cast<const char*>(dictionary.buffers[2]) + offsets[code],
            static_cast<std::size_t>(offsets[code + 1] - offsets[code])};
  }
  std::string format(std::string_view name) const {
    return schema_.children[place(name)]->format;
  }
  // As a library that keeps one column.
  ArrowArray take(std::string_view name) {
    ArrowArray& child = *array_.children[place(name)];
    const ArrowArray taken = child;
    child.release = nullptr;
    return taken;
  }

 private:
  std::int64_t place(std::string_view name) const {
    for (std::int64_t i = 0; i < schema_.n_children; ++i) {
      if (schema_.children[i]->name == name) return i;
    }
    throw std::runtime_error("no column " + std::string(name));
  }
  const ArrowArray& column(std::string_view name) const {
    return *array_.children[place(name)];
  }

  ArrowSchema schema_ = {};
  ArrowArray array_ = {};
};

class StatisticsTableTest : public TrialTest {
 protected:
  StatisticsTableTest() {
    run_.put_collections("worker_0", 1,
                         {{"all", {".*"}, {"w", "b"}}, {"biases", {}, {"b"}}});
    const float nan = std::nanf("");
    run_.put_step({{4, Mode::train, 2},
                   "worker_0",
                   {{"w", {1, -3}, true}, {"b", {0.5F}, true}}});
    run_.put_step({{5, Mode::eval, 0}, "worker_0", {{"w", {nan, nan}, false}}});
    run_.put_end_marker();
  }

  ArrowArrayStream stream(Mode mode = Mode::global) {
    const auto trial = open();
    ArrowArrayStream stream = {};
    const auto names = trial->tensor_names({.mode = mode});
    const auto skipped = export_statistics(*trial, *names, mode, &stream);
    EXPECT_TRUE(skipped) << skipped.error().message;
    skipped_ = skipped ? *skipped : "";
    return stream;
  }

  std::string skipped_;
};

TEST_F(StatisticsTableTest, HasARowForEachTensorAndStep) {
  auto exported = stream();
  const TakenTable table(exported);
  ASSERT_EQ(table.rows(), 3);
  EXPECT_EQ(table.text("tensor", 0), "b");
  EXPECT_EQ(table.text("collection", 0), "biases");
  EXPECT_EQ(table.text("tensor", 1), "w");
  EXPECT_TRUE(table.is_null("collection", 1));
  EXPECT_EQ(table.number<std::int64_t>("step", 1), 4);
  EXPECT_EQ(table.text("mode", 1), "TRAIN");
  EXPECT_EQ(table.number<std::int64_t>("mode_step", 1), 2);
  EXPECT_EQ(table.text("worker", 1), "worker_0");
  EXPECT_EQ(table.text("dtype", 1), "float32");
  EXPECT_EQ(table.text("shape", 1), "2");
  EXPECT_EQ(table.number<std::uint64_t>("bytes", 1), 8u);
  EXPECT_EQ(table.number<std::uint64_t>("count", 1), 2u);
  EXPECT_EQ(table.number<double>("min", 1), -3);
  EXPECT_EQ(table.number<double>("mean", 1), -1);
  EXPECT_EQ(table.number<double>("std", 1), 2);
  EXPECT_EQ(table.number<double>("l1", 1), 4);
  EXPECT_EQ(table.number<double>("l2", 1), std::sqrt(10.0));
  EXPECT_EQ(table.format("step"), "l");
  EXPECT_EQ(table.format("tensor"), "i");
  EXPECT_EQ(skipped_, "");
}

TEST_F(StatisticsTableTest, ComputesStatisticsThatAreNotStored) {
  auto exported = stream(Mode::eval);
  const TakenTable table(exported);
  ASSERT_EQ(table.rows(), 1);
  EXPECT_EQ(table.number<std::uint64_t>("nan", 0), 2u);
  EXPECT_TRUE(table.is_null("mean", 0));  // no element is finite
  EXPECT_EQ(table.number<double>("l1", 0), 0);
}

TEST_F(StatisticsTableTest, SkipsAValueThatCannotBeRead) {
  run_.put(event_file_key(5, "worker_0"), "no records");
  auto exported = stream();
  const TakenTable table(exported);
  EXPECT_EQ(table.rows(), 2);
  EXPECT_NE(skipped_, "");
}

TEST_F(StatisticsTableTest, AColumnOutlivesTheTable) {
  auto exported = stream();
  ArrowArray mean;
  {
    TakenTable table(exported);
    mean = table.take("mean");
  }
  EXPECT_EQ(static_cast<const double*>(mean.buffers[1])[0], 0.5);
  mean.release(&mean);
  EXPECT_EQ(mean.release, nullptr);
}

TEST_F(StatisticsTableTest, MayBeReleasedUnread) {
  auto exported = stream();
  exported.release(&exported);
  EXPECT_EQ(exported.release, nullptr);
}

}  // namespace
}  // namespace smdebug
