// Tests the bytes that a session writes for a tensor: elements, statistics,
// reductions, strings.

#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smdebug/capture/session.h"

#include "capture/session_fixture_testing.h"
#include "format/file_names.h"
#include "format/index_file.h"
#include "format/string_elements.h"
#include "tests/support/fake_clock_testing.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using SessionValuesTest = SessionFixture;

TEST_F(SessionValuesTest, GathersStridedTensorsInCOrder) {
  auto session = open();
  std::vector<float> values(6);
  std::iota(values.begin(), values.end(), 0.0f);
  const std::int64_t shape[] = {3, 2};
  const std::int64_t strides[] = {1, 3};  // a 2x3 matrix, transposed
  session->begin_step();
  session->tensor("t").put({DType::float32,
                            reinterpret_cast<const std::byte*>(values.data()),
                            shape, strides});
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(records(0).at("t"), ElementsAre(0, 3, 1, 4, 2, 5));
}

TEST_F(SessionValuesTest, PutsStatisticsOfEveryCapturedTensorIntoTheIndex) {
  config_.save_all = false;
  config_.include_regex = {"^a$"};
  config_.reduction_config = ReductionConfig{};
  config_.reduction_config->summary = true;
  auto session = open();
  session->begin_step();
  put(*session, "a", {1, -3, NAN, 0, INFINITY});
  ASSERT_TRUE(session->close().ok());

  const IndexFile file = index(0);
  EXPECT_THAT(file.tensors, IsEmpty());
  ASSERT_THAT(file.statistics, SizeIs(1));
  const TensorStatistics& statistics = file.statistics[0].statistics;
  EXPECT_EQ(statistics.count, 5u);
  EXPECT_EQ(statistics.nan, 1u);
  EXPECT_EQ(statistics.positive_inf, 1u);
  EXPECT_EQ(statistics.zeros, 1u);
  EXPECT_EQ(statistics.min, -3);
  EXPECT_EQ(statistics.max, 1);
  EXPECT_NEAR(statistics.mean, -2.0 / 3, 1e-15);
  EXPECT_NEAR(statistics.sum_abs, 4, 1e-15);
  EXPECT_NEAR(statistics.sum_squares, 10, 1e-14);
}

TEST_F(SessionValuesTest, SavesReductionsAsTorchDefinesThem) {
  config_.reduction_config = ReductionConfig{};
  config_.reduction_config->ops =
      *ReductionConfig::parse_ops("mean,std,prod,abs_max,l2_norm,median");
  auto session = open();
  session->begin_step();
  put(*session, "a", {1, -2, 3, -4});
  ASSERT_TRUE(session->close().ok());

  const auto values = records(0);
  EXPECT_THAT(values, ::testing::Not(::testing::Contains(::testing::Key("a"))));
  const auto reduced = [&](const std::string& op) {
    return values.at("smdebug/reductions/" + op + "/a").at(0);
  };
  EXPECT_FLOAT_EQ(reduced("mean"), -0.5f);
  EXPECT_FLOAT_EQ(reduced("std"), std::sqrt(29.0f / 3));  // n - 1
  EXPECT_FLOAT_EQ(reduced("prod"), 24);
  EXPECT_FLOAT_EQ(reduced("abs_max"), 4);
  EXPECT_FLOAT_EQ(reduced("l2"), std::sqrt(30.0f));
}

TEST_F(SessionValuesTest, WritesARecordWithoutContentOfAnEmptyTensor) {
  auto session = open();
  session->begin_step();
  const std::int64_t shape[] = {0, 3};
  session->tensor("empty").put({DType::float16, nullptr, shape, {}});
  session->tensor("nobody").put({DType::string, nullptr, shape, {}});
  put(*session, "a", {1});
  ASSERT_TRUE(session->close().ok());
  const auto all = parsed_records(0);
  ASSERT_THAT(all, SizeIs(3));
  EXPECT_EQ(all.at("empty").dtype, DType::float16);
  EXPECT_THAT(all.at("empty").shape, ElementsAre(0, 3));
  EXPECT_THAT(all.at("empty").payload, IsEmpty());
  EXPECT_EQ(all.at("nobody").dtype, DType::string);
  EXPECT_THAT(all.at("nobody").shape, ElementsAre(0, 3));
  EXPECT_THAT(session->status().skipped, IsEmpty());
}

TEST_F(SessionValuesTest, WritesStringsOfAnyRank) {
  auto session = open();
  session->begin_step();
  put_strings(*session, "one", DType::string, {}, {"\xc3\xa9"});
  put_strings(*session, "many", DType::bytes, {2, 1, 2},
              {"a", "", std::string("\0\xff", 2), "d"});
  ASSERT_TRUE(session->close().ok());
  const auto all = parsed_records(0);
  EXPECT_EQ(all.at("one").dtype, DType::string);
  EXPECT_THAT(all.at("one").shape, IsEmpty());
  EXPECT_THAT(all.at("one").strings, ElementsAre("\xc3\xa9"));
  EXPECT_EQ(all.at("many").dtype, DType::bytes);
  EXPECT_THAT(all.at("many").shape, ElementsAre(2, 1, 2));
  EXPECT_THAT(all.at("many").strings,
              ElementsAre("a", "", std::string("\0\xff", 2), "d"));
  const IndexFile file = index(0);
  EXPECT_EQ(file.tensors[1].payload_crc32c,
            string_elements_crc32c(all.at("many").strings));
  EXPECT_EQ(file.statistics[1].statistics, (TensorStatistics{.count = 4}));
  EXPECT_EQ(session->status().tensors, 2u);
}

// Spec section 14: what the original wrote for these tensors at step 7, which
// is step 3 of its training mode.
TEST_F(SessionValuesTest, WritesTheBytesOfTheOriginal) {
  const FakeClock clock(1.5);
  SessionOptions options;
  options.config = config_;
  options.framework = pytorch_framework();
  options.storage = storage_;
  options.logger = &log_;
  options.clock = &clock;
  auto session = *Session::create(std::move(options));
  for (int step = 0; step < 8; ++step) {
    session->set_mode(step < 4 ? Mode::eval : Mode::train);
    session->begin_step();
    put(*session, "w", {1, 2});
    put_strings(*session, "s", DType::string, {2}, {"ab", "c"});
  }
  ASSERT_TRUE(session->close().ok());
  std::string hex;
  for (const char c : text(event_file_key(7, "worker_0")))
    hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  EXPECT_EQ(hex,
            "4800000000000000fe92489d09000000000000f83f10072a3b0a390a017742"
            "1708011209120708021203775f3222080000803f000000404a1b0a0e0a096d"
            "6f64655f737465701201330a090a046d6f6465120131b3c02d06"
            "4300000000000000b18525a009000000000000f83f10072a360a340a017342"
            "121209120708021203735f32420261624201634a1b0a0e0a096d6f64655f73"
            "7465701201330a090a046d6f6465120131b3c02d06");
}

TEST_F(SessionValuesTest, ReducesNoStrings) {
  config_.reduction_config = ReductionConfig{};
  for (int i = 0; i < static_cast<int>(kReductionCount); ++i)
    config_.reduction_config->ops.push_back({static_cast<Reduction>(i), false});
  auto session = open();
  session->begin_step();
  put_strings(*session, "names", DType::string, {2}, {"a", "b"});
  put(*session, "numbers", {1, 2});
  ASSERT_TRUE(session->close().ok());
  const IndexFile file = index(0);
  EXPECT_THAT(file.statistics, SizeIs(2));
  EXPECT_THAT(file.tensors, SizeIs(kReductionCount));
  for (const IndexedTensor& tensor : file.tensors)
    EXPECT_THAT(tensor.name, HasSubstr("/numbers"));
}

TEST_F(SessionValuesTest, SkipsATensorWithoutMemoryAndSaysSoOnce) {
  auto session = open();
  const std::int64_t shape[] = {4};
  for (int step = 0; step < 3; ++step) {
    session->begin_step();
    session->tensor("fake").put({DType::float32, nullptr, shape, {}});
  }
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(session->status().skipped,
              ElementsAre(std::pair("fake",
                                    "its data pointer is null, or its elements "
                                    "do not fit its shape")));
  const std::string said = log_.text();
  EXPECT_THAT(said, HasSubstr("'fake' is not saved"));
  EXPECT_EQ(said.find("'fake'"), said.rfind("'fake'")) << said;
}

TEST_F(SessionValuesTest, WritesThePlaceOfAShardAsItWasWhenItWasCaptured) {
  const ShardPlacement first{{4}, {0}}, second{{4}, {3}};
  auto session = open();
  session->begin_step();
  const TensorSlot slot = session->tensor("a");
  slot.set_placement(first);
  put(*session, "a", {1});
  session->begin_step();
  slot.set_placement(second);
  put(*session, "a", {1});
  session->begin_step();
  slot.set_placement(std::nullopt);
  put(*session, "a", {1});
  ASSERT_TRUE(session->close().ok());
  const auto place = [this](Step step) {
    return parse_index_file(text(index_file_key(step, "worker_0")),
                            IndexParts::everything)
        ->statistics.front()
        .placement;
  };
  EXPECT_EQ(place(0), first);
  EXPECT_EQ(place(1), second);
  EXPECT_EQ(place(2), std::nullopt);
}

TEST_F(SessionValuesTest, StoresATensorOfSeveralNamesOnce) {
  config_.save_all = false;
  Collection shared{{"shared", {"^(first|second|last)$"}, {}}, {}, {}, false};
  config_.include_collections = {"shared"};
  config_.collections = {shared};
  auto session = open();
  const std::vector<float> values = {1, 2, 3, 4};
  const std::int64_t shape[] = {2, 2};
  for (int step = 0; step < 2; ++step) {
    session->begin_step();
    const std::vector<TensorSlot> names = {
        session->tensor("not due"), session->tensor("first"),
        session->tensor("second"), session->tensor("last")};
    session->put_shared(names, view(values, shape));
  }
  ASSERT_TRUE(session->close().ok());

  for (Step step : {0, 1}) {
    const IndexFile file = index(step);
    std::map<std::string, IndexedTensor> places;
    for (const IndexedTensor& tensor : file.tensors)
      places[tensor.name] = tensor;
    ASSERT_THAT(places, SizeIs(3));
    for (const auto& [name, place] : places) {
      EXPECT_EQ(place.start, 0u) << name;
      EXPECT_EQ(place.payload_crc32c, places.at("first").payload_crc32c);
    }
    EXPECT_EQ(parsed_records(step).at("last").tag, "first");
    EXPECT_THAT(records(step).at("second"), ElementsAre(1, 2, 3, 4));
    ASSERT_THAT(file.statistics, SizeIs(3));
    for (const IndexedStatistics& row : file.statistics) {
      EXPECT_EQ(row.statistics.mean, 2.5) << row.name;
      EXPECT_THAT(row.shape, ElementsAre(2, 2));
    }
  }
  EXPECT_EQ(session->status().records, 2u);
}

TEST_F(SessionValuesTest, StoresASampleOfALargeTensor) {
  config_.save_all = false;
  Collection few{{"few", {"."}, {}}, {}, {}, false};
  few.max_elements = 4;
  config_.include_collections = {"few"};
  config_.collections = {few};
  auto session = open();
  std::vector<float> values(16);
  std::iota(values.begin(), values.end(), 0.0F);
  const std::int64_t small[] = {2, 2}, large[] = {2, 8};
  session->begin_step();
  const TensorSlot slot = session->tensor("large");
  EXPECT_THAT(slot.sample_steps(large), ElementsAre(1, 4));
  EXPECT_THAT(slot.sample_steps(small), IsEmpty());
  slot.put(view(values, large));
  session->tensor("small").put(view(values, small));
  const std::vector<TensorSlot> shared = {session->tensor("first"),
                                          session->tensor("second")};
  session->put_shared(shared, view(values, large));
  ASSERT_TRUE(session->close().ok());

  for (const char* name : {"large", "first", "second"})
    EXPECT_THAT(records(0).at(name), ElementsAre(0, 4, 8, 12)) << name;
  EXPECT_THAT(records(0).at("small"), ElementsAre(0, 1, 2, 3));
  for (const IndexedStatistics& row : index(0).statistics) {
    EXPECT_EQ(row.statistics.count, 4u) << row.name;
    EXPECT_THAT(row.shape, ElementsAre(2, 2)) << row.name;
  }
}

TEST_F(SessionValuesTest, StoresReductionsOfSharedTensorsUnderEachName) {
  ReductionConfig means;
  means.ops = {{Reduction::mean, false}};
  config_.reduction_config = means;
  auto session = open();
  session->begin_step();
  const std::vector<float> values = {1, 2};
  const std::int64_t shape[] = {2};
  const std::vector<TensorSlot> names = {session->tensor("first"),
                                         session->tensor("second")};
  session->put_shared(names, view(values, shape));
  ASSERT_TRUE(session->close().ok());
  for (const char* name : {"first", "second"}) {
    const std::string tag = std::string("smdebug/reductions/mean/") + name;
    EXPECT_THAT(records(0).at(tag), ElementsAre(1.5f)) << name;
  }
}

}  // namespace
}  // namespace smdebug
