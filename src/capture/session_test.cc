#include "smdebug/capture/session.h"

#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <random>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "smdebug/store/open_storage.h"

#include "base/stopped_clock.h"
#include "format/collections_file.h"
#include "format/file_names.h"
#include "format/index_file.h"
#include "format/run_file.h"
#include "format/string_elements.h"
#include "format/tensor_record.h"
#include "tests/fault/faulty_storage.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// Keeps what is logged, for tests that ask what the user was told.
class KeptLog : public Logger {
 public:
  void log(LogLevel level, std::string_view message) override {
    std::lock_guard lock(mutex_);
    if (level >= LogLevel::warning) lines_ += std::string(message) + "\n";
  }
  std::string lines() {
    std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  std::mutex mutex_;
  std::string lines_;
};

class SessionTest : public ::testing::Test {
 protected:
  SessionTest() {
    static int next = 0;
    storage_ = *open_storage("memory://session_test_" + std::to_string(next++));
    config_.out_dir = storage_->uri();
    config_.save_all = true;
    every_step();
  }

  void every_step(Step interval = 1) {
    SaveConfigMode mode;
    mode.save_interval = interval;
    config_.save_config = SaveConfig(mode);
  }

  std::unique_ptr<Session> open() {
    SessionOptions options;
    options.config = config_;
    options.framework = pytorch_framework();
    options.storage = storage_;
    options.logger = &log_;
    auto session = Session::create(std::move(options));
    EXPECT_TRUE(session.ok()) << session.error().message;
    return *std::move(session);
  }

  static TensorView view(const std::vector<float>& values,
                         std::span<const std::int64_t> shape) {
    return {DType::float32,
            reinterpret_cast<const std::byte*>(values.data()),
            shape,
            {}};
  }

  static void put(Session& session, std::string_view name,
                  const std::vector<float>& values) {
    const std::int64_t shape[] = {static_cast<std::int64_t>(values.size())};
    session.tensor(name).put(view(values, shape));
  }

  static void put_strings(Session& session, std::string_view name, DType dtype,
                          const std::vector<std::int64_t>& shape,
                          const std::vector<std::string>& strings) {
    const std::vector<std::string_view> views = {strings.begin(),
                                                 strings.end()};
    session.tensor(name).put(
        {dtype, reinterpret_cast<const std::byte*>(views.data()), shape, {}});
  }

  std::string text(std::string_view key) const {
    auto bytes = get_object(*storage_, key);
    EXPECT_TRUE(bytes.ok()) << key;
    return bytes ? std::string(bytes->text()) : std::string();
  }

  bool is_there(std::string_view key) const { return *storage_->exists(key); }

  IndexFile index(Step step, std::string_view worker = "worker_0") const {
    auto file = parse_index_file(text(index_file_key(step, worker)),
                                 IndexParts::everything);
    EXPECT_TRUE(file.ok());
    return file ? *std::move(file) : IndexFile{};
  }

  // The records of a step, by tag. They point into the storage's memory.
  std::map<std::string, TensorRecord> parsed_records(Step step) const {
    std::map<std::string, TensorRecord> records;
    const IndexFile file = index(step);
    const auto bytes = get_object(*storage_, file.event_file_key);
    EXPECT_TRUE(bytes.ok());
    for (const IndexedTensor& tensor : file.tensors) {
      auto record = parse_tensor_record(
          bytes->span().subspan(tensor.start, tensor.length),
          PayloadCheck::word);
      EXPECT_TRUE(record.ok()) << record.error().message;
      records[tensor.name] = *std::move(record);
    }
    return records;
  }

  // The elements of every float32 record of a step, by tag.
  std::map<std::string, std::vector<float>> records(Step step) const {
    std::map<std::string, std::vector<float>> records;
    for (const auto& [name, record] : parsed_records(step)) {
      std::vector<float> values(record.payload.size() / sizeof(float));
      std::memcpy(values.data(), record.payload.data(), record.payload.size());
      records[name] = std::move(values);
    }
    return records;
  }

  std::shared_ptr<Storage> storage_;
  HookConfig config_;
  KeptLog log_;
};

TEST_F(SessionTest, WritesEachDueStepWithTheValuesOfThatStep) {
  every_step(2);
  auto session = open();
  for (int step = 0; step < 4; ++step) {
    const bool is_due = session->begin_step();
    EXPECT_EQ(is_due, step % 2 == 0);
    put(*session, "a", {1.0f * step, 2, 3});
    put(*session, "b", {-1});
  }
  ASSERT_TRUE(session->close().ok());

  EXPECT_THAT(records(0),
              UnorderedElementsAre(std::pair("a", std::vector<float>{0, 2, 3}),
                                   std::pair("b", std::vector<float>{-1})));
  EXPECT_THAT(records(2).at("a"), ElementsAre(2, 2, 3));
  EXPECT_FALSE(is_there(index_file_key(1, "worker_0")));
  EXPECT_FALSE(is_there(index_file_key(3, "worker_0")));
  EXPECT_TRUE(is_there(kEndMarkerKey));
  EXPECT_FALSE(is_there(kClaimKey));
}

TEST_F(SessionTest, CopiesBeforePutReturns) {
  auto session = open();
  session->begin_step();
  std::vector<float> values(1000, 1.0f);
  put(*session, "a", values);
  std::ranges::fill(values, 2.0f);
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(records(0).at("a"), ::testing::Each(1.0f));
}

TEST_F(SessionTest, PublishesAStepWhenItEndsAndNotBefore) {
  auto session = open();
  session->begin_step();
  put(*session, "a", {1});
  ASSERT_TRUE(session->flush().ok());
  EXPECT_FALSE(is_there(index_file_key(0, "worker_0")));
  session->begin_step();
  ASSERT_TRUE(session->flush().ok());
  EXPECT_TRUE(is_there(index_file_key(0, "worker_0")));
  EXPECT_TRUE(is_there(collections_file_key("worker_0")));
}

TEST_F(SessionTest, CountsStepsOfEachModeAndOfAll) {
  auto session = open();
  for (Mode mode : {Mode::train, Mode::train, Mode::eval, Mode::train}) {
    session->set_mode(mode);
    session->begin_step();
    put(*session, "a", {1});
  }
  EXPECT_EQ(session->step(), (StepId{3, Mode::train, 2}));
  ASSERT_TRUE(session->close().ok());
  EXPECT_EQ(index(2).mode, Mode::eval);
  EXPECT_EQ(index(2).mode_step, 0);
  EXPECT_EQ(index(3).mode, Mode::train);
  EXPECT_EQ(index(3).mode_step, 2);
}

TEST_F(SessionTest, NumbersOutputsOverRepeatedCallsAndAnewEachStep) {
  auto session = open();
  const ModuleSlots relu = session->module("relu");
  const std::int64_t shape[] = {1};
  for (int step = 0; step < 2; ++step) {
    session->begin_step();
    for (float value : {1.0f, 2.0f})
      relu.put_output(view({value + 10.0f * step}, shape));
  }
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(
      records(1),
      UnorderedElementsAre(std::pair("relu_output_0", std::vector<float>{11}),
                           std::pair("relu_output_1", std::vector<float>{12})));
}

TEST_F(SessionTest, NamesParametersAndGradientsAfterTheRoot) {
  auto session = open();
  session->begin_step();
  const std::int64_t shape[] = {1};
  session->parameter("Net", "fc.weight").put(view({1}, shape));
  session->gradient("Net", "fc.weight").put(view({2}, shape));
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(records(0),
              UnorderedElementsAre(
                  std::pair("Net_fc.weight", std::vector<float>{1}),
                  std::pair("gradient/Net_fc.weight", std::vector<float>{2})));
}

TEST_F(SessionTest, SaysWhichCollectionsThePlanInUseSaves) {
  config_.save_all = false;
  config_.include_collections = {"buffers"};
  auto session = open();
  EXPECT_TRUE(session->plan().saves("buffers"));
  EXPECT_TRUE(session->plan().saves("losses"));
  EXPECT_FALSE(session->plan().saves("weights"));
  EXPECT_FALSE(session->plan().saves("optimizer_state"));
  config_.include_collections = {"optimizer_state"};
  ASSERT_TRUE(session->set_config(config_).ok());
  EXPECT_FALSE(session->plan().saves("optimizer_state"));  // not in use yet
  session->begin_step();
  EXPECT_TRUE(session->plan().saves("optimizer_state"));
  EXPECT_FALSE(session->plan().saves("buffers"));
}

TEST_F(SessionTest, WritesATensorThatIsLargerThanTheQueue) {
  config_.queue_bytes = 1 << 20;
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

TEST_F(SessionTest, GathersStridedTensorsInCOrder) {
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

TEST_F(SessionTest, PutsStatisticsOfEveryCapturedTensorIntoTheIndex) {
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

TEST_F(SessionTest, SavesReductionsAsTorchDefinesThem) {
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

TEST_F(SessionTest, WritesARecordWithoutContentOfAnEmptyTensor) {
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

TEST_F(SessionTest, WritesStringsOfAnyRank) {
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
TEST_F(SessionTest, WritesTheBytesOfTheOriginal) {
  const StoppedClock clock(1.5);
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

TEST_F(SessionTest, WritesStringsThatAreLargerThanTheQueue) {
  config_.queue_bytes = 1 << 20;
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

TEST_F(SessionTest, DropsStringsThatDoNotFitTheQueueAndCountsTheirBytes) {
  config_.queue_bytes = 1 << 20;
  config_.when_full = OverflowPolicy::drop;
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

TEST_F(SessionTest, ReducesNoStrings) {
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

TEST_F(SessionTest, SkipsATensorWithoutMemoryAndSaysSoOnce) {
  auto session = open();
  const std::int64_t shape[] = {4};
  for (int step = 0; step < 3; ++step) {
    session->begin_step();
    session->tensor("fake").put({DType::float32, nullptr, shape, {}});
  }
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(session->status().skipped,
              ElementsAre(std::pair("fake", "a tensor without memory")));
  const std::string said = log_.lines();
  EXPECT_THAT(said, HasSubstr("'fake' is not saved"));
  EXPECT_EQ(said.find("'fake'"), said.rfind("'fake'")) << said;
}

TEST_F(SessionTest, KeepsAScalarUnderItsOwnStep) {
  every_step(10);
  auto session = open();
  session->save_scalar("early", 1);
  for (int step = 0; step < 5; ++step) {
    session->begin_step();
    if (step == 3) session->save_scalar("count", 3.5);
  }
  ASSERT_TRUE(session->close().ok());
  ASSERT_THAT(index(3).tensors, SizeIs(1));
  EXPECT_EQ(index(3).tensors[0].name, "scalar/count");
  EXPECT_EQ(index(0).tensors[0].name, "scalar/early");
  EXPECT_FALSE(is_there(index_file_key(4, "worker_0")));
}

TEST_F(SessionTest, SaysOnceThatANameWasSavedTwiceInAStep) {
  auto session = open();
  for (int step = 0; step < 3; ++step) {
    session->begin_step();
    put(*session, "w", {1});
    if (step == 0) continue;
    put(*session, "w", {2});
    put(*session, "v", {3});
    put(*session, "v", {4});
  }
  ASSERT_TRUE(session->close().ok());
  EXPECT_EQ(session->status().replaced_tensors, 4u);
  const std::string said = log_.lines();
  EXPECT_THAT(said, HasSubstr("step 1: 'w' was saved more than once"));
  EXPECT_EQ(said.find("more than once"), said.rfind("more than once")) << said;
}

TEST_F(SessionTest, TakesTensorsOfOtherThreadsIntoTheOpenStep) {
  auto session = open();
  constexpr int kSteps = 50;
  constexpr int kTensors = 20;
  for (int step = 0; step < kSteps; ++step) {
    session->begin_step();
    std::jthread other([&] {
      for (int i = 0; i < kTensors; ++i)
        put(*session, "other/" + std::to_string(i), {1.0f * step});
    });
    for (int i = 0; i < kTensors; ++i)
      put(*session, "own/" + std::to_string(i), {1.0f * step});
  }
  ASSERT_TRUE(session->close().ok());
  for (int step = 0; step < kSteps; ++step) {
    const auto values = records(step);
    ASSERT_THAT(values, SizeIs(2 * kTensors));
    for (const auto& [name, value] : values)
      ASSERT_THAT(value, ElementsAre(1.0f * step)) << name;
  }
}

TEST_F(SessionTest, GoesOnInAThreadThatTakesTheStepOver) {
  auto session = open();
  std::jthread([&] { session->begin_step(); }).join();
  const float number = 7;
  const std::vector<std::int64_t> one = {1};
  const TensorView seven = {
      DType::float32, reinterpret_cast<const std::byte*>(&number), one, {}};
  // Not its owner: what is saved waits for the next step.
  ASSERT_TRUE(session->save_tensor("before", seven, {}).ok());
  session->bind_to_current_thread();
  ASSERT_TRUE(session->save_tensor("after", seven, {}).ok());
  session->begin_step();
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(records(0), ElementsAre(Pair("after", ElementsAre(7))));
  EXPECT_THAT(records(1), ElementsAre(Pair("before", ElementsAre(7))));
}

TEST_F(SessionTest, LosesNothingWhenTheQueueIsFullAndThePolicyIsBlock) {
  config_.queue_bytes = 1 << 20;
  auto session = open();
  const std::vector<float> values(50000, 2.0f);
  session->begin_step();
  for (int i = 0; i < 100; ++i) put(*session, std::to_string(i), values);
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(records(0), SizeIs(100));
  EXPECT_EQ(session->status().dropped_tensors, 0u);
}

TEST_F(SessionTest, CountsWhatItDropsAndWritesItIntoTheIndex) {
  auto faulty = std::make_shared<FaultyStorage>(storage_);
  storage_ = faulty;
  config_.queue_bytes = 1 << 20;
  config_.when_full = OverflowPolicy::drop;
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

TEST_F(SessionTest, LatchesAFullDiskSaysItOnceAndLetsTheTrainingGoOn) {
  auto faulty = std::make_shared<FaultyStorage>(storage_);
  storage_ = faulty;
  config_.queue_bytes = 1 << 20;
  auto session = open();
  const std::vector<float> values(50000, 2.0f);
  session->begin_step();
  put(*session, "a", values);
  session->begin_step();
  ASSERT_TRUE(session->flush().ok());

  faulty->fail_with("no space left on device");
  for (int step = 1; step < 50; ++step) {
    for (int i = 0; i < 10; ++i) put(*session, std::to_string(i), values);
    session->begin_step();
  }
  const Status closed = session->close();
  ASSERT_FALSE(closed.ok());
  EXPECT_EQ(closed.error().code, Error::Code::io);

  const SessionStatus status = session->status();
  EXPECT_EQ(status.state, SessionStatus::State::failed);
  EXPECT_THAT(status.error->message, HasSubstr("no space left on device"));
  EXPECT_EQ(status.error_step, 1);
  EXPECT_GT(status.calls_after_failure, 0u);
  const std::string said = log_.lines();
  EXPECT_THAT(said, HasSubstr("step 1: nothing more will be saved"));
  EXPECT_EQ(said.find("nothing more"), said.rfind("nothing more")) << said;
  EXPECT_TRUE(is_there(index_file_key(0, "worker_0")));
  EXPECT_FALSE(is_there(index_file_key(1, "worker_0")));
}

TEST_F(SessionTest, LatchesAnExceptionOfALibraryInTheWriteThread) {
  auto faulty = std::make_shared<FaultyStorage>(storage_);
  storage_ = faulty;
  auto session = open();
  session->begin_step();
  put(*session, "a", {1});
  session->begin_step();
  ASSERT_TRUE(session->flush().ok());
  faulty->throw_at_event_files();
  for (int step = 1; step < 5; ++step) {
    put(*session, "a", {1});
    session->begin_step();
  }
  const Status closed = session->close();
  ASSERT_FALSE(closed.ok());
  EXPECT_EQ(closed.error().code, Error::Code::internal);
  EXPECT_THAT(closed.error().message, HasSubstr("exception"));
  EXPECT_TRUE(is_there(index_file_key(0, "worker_0")));
}

TEST_F(SessionTest, KeepsASavedTensorThatWaitedWhenItIsClosedWhilePaused) {
  auto session = open();
  session->begin_step();
  session->end_step();
  const std::vector<std::string> collections = {"mine"};
  const std::vector<float> values = {1, 2};
  const std::vector<std::int64_t> shape = {2};
  ASSERT_TRUE(session->save_tensor("kept", view(values, shape), collections));
  session->pause();
  ASSERT_TRUE(session->save_tensor("lost", view(values, shape), collections));
  ASSERT_TRUE(session->close());
  const auto all = records(1);
  EXPECT_EQ(all.count("kept"), 1u);
  EXPECT_EQ(all.count("lost"), 0u);
}

TEST_F(SessionTest, RefusesToKeepASavedTensorThatHasNoMemory) {
  auto session = open();
  const std::vector<std::int64_t> shape = {2};
  const std::vector<std::string> collections = {"mine"};
  ASSERT_TRUE(session->save_tensor(
      "nowhere", {DType::float32, nullptr, shape, {}}, collections));
  session->begin_step();
  ASSERT_TRUE(session->close());
  EXPECT_EQ(session->status().skipped.count("nowhere"), 1u);
}

TEST_F(SessionTest, LatchesAnOutDirThatCannotBeWritten) {
  auto faulty = std::make_shared<FaultyStorage>(storage_);
  faulty->fail_with("permission denied");
  storage_ = faulty;
  auto session = open();
  EXPECT_FALSE(session->begin_step());
  put(*session, "a", {1});
  EXPECT_FALSE(session->begin_step());
  EXPECT_FALSE(session->close().ok());
  const SessionStatus status = session->status();
  EXPECT_EQ(status.state, SessionStatus::State::failed);
  EXPECT_THAT(status.error->message, HasSubstr("permission denied"));
  EXPECT_EQ(status.error_step, 0);
}

TEST_F(SessionTest, RefusesAFolderWhereARunHasEnded) {
  ASSERT_TRUE(open()->close().ok());
  {
    auto session = open();
    session->begin_step();
    ASSERT_TRUE(session->close().ok());
  }
  SessionOptions options;
  options.config = config_;
  options.framework = pytorch_framework();
  options.storage = storage_;
  const auto again = Session::create(std::move(options));
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, Error::Code::invalid_argument);
  EXPECT_THAT(again.error().message, HasSubstr("has ended"));
}

TEST_F(SessionTest, IsSilentWhileALiveProcessWritesTheRun) {
  auto first = open();
  first->begin_step();
  put(*first, "a", {1});
  auto second = open();
  EXPECT_FALSE(second->begin_step());
  put(*second, "a", {2});
  EXPECT_EQ(second->status().state, SessionStatus::State::inactive);
  EXPECT_THAT(second->status().reason,
              HasSubstr("process " + std::to_string(getpid())));
  EXPECT_THAT(log_.lines(), HasSubstr("nothing will be saved"));
  EXPECT_TRUE(second->close().ok());
  ASSERT_TRUE(first->close().ok());
  EXPECT_THAT(records(0).at("a"), ElementsAre(1));
}

TEST_F(SessionTest, TakesOverTheClaimOfAProcessThatIsGone) {
  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  waitpid(gone, nullptr, 0);
  {
    auto probe = open();
    probe->begin_step();
    ASSERT_TRUE(probe->flush().ok());
    // What the process itself would have written, under another number.
    std::string claim = text(kClaimKey);
    const std::string own = std::to_string(getpid());
    claim.replace(claim.find(own), own.size(), std::to_string(gone));
    ASSERT_TRUE(put_object(*storage_, kClaimKey, claim).ok());
  }
  auto session = open();
  EXPECT_TRUE(session->begin_step());
  EXPECT_THAT(log_.lines(), HasSubstr("taken over"));
  EXPECT_TRUE(session->close().ok());
}

TEST_F(SessionTest, LeavesWorkersOtherThanTheFirstSilentUnlessAllAreAsked) {
  auto one = open();
  one->set_worker(1, 2);
  EXPECT_FALSE(one->begin_step());
  EXPECT_EQ(one->status().state, SessionStatus::State::inactive);

  config_.include_workers = IncludeWorkers::all;
  auto all = open();
  all->set_worker(1, 2);
  EXPECT_TRUE(all->begin_step());
  put(*all, "a", {1});
  ASSERT_TRUE(all->close().ok());
  EXPECT_TRUE(is_there(index_file_key(0, "worker_1")));
  const auto file =
      parse_collections_file(text(collections_file_key("worker_1")));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->num_workers, 2);
  EXPECT_FALSE(is_there(kRunFileKey)) << "the first worker's to write";
}

TEST_F(SessionTest, WritesARunOfOneWorkerWhereTheFirstAloneSaves) {
  auto session = open();
  session->set_worker(0, 4);
  session->begin_step();
  put(*session, "a", {1});
  ASSERT_TRUE(session->close().ok());
  const auto file =
      parse_collections_file(text(collections_file_key("worker_0")));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ(file->num_workers, 1) << "a reader would wait for the others";
}

TEST_F(SessionTest, RecordsSeveralNamedWorkersOfOneProcessInOneRun) {
  const std::array<std::string, 2> devices = {
      "/job:localhost/replica:0/task:0/device:CPU:0",
      "/job:localhost/replica:0/task:0/device:CPU:1"};
  config_.include_workers = IncludeWorkers::all;
  std::array<std::unique_ptr<Session>, 2> sessions = {open(), open()};
  for (int i = 0; i < 2; ++i) {
    sessions[i]->set_worker(i, 2, devices[i]);
    EXPECT_TRUE(sessions[i]->begin_step());
    put(*sessions[i], "a", {static_cast<float>(i)});
  }
  EXPECT_TRUE(is_there(kClaimKey));
  EXPECT_TRUE(sessions[0]->is_first_worker());
  EXPECT_FALSE(sessions[1]->is_first_worker());
  EXPECT_EQ(sessions[1]->worker(), devices[1]);
  for (auto& session : sessions) ASSERT_TRUE(session->close().ok());

  EXPECT_TRUE(is_there(
      "index/000000000/"
      "000000000000__job-localhost_replica-0_task-0_device-CPU-1.json"));
  for (const std::string& device : devices) {
    const auto file =
        parse_collections_file(text(collections_file_key(device)));
    ASSERT_TRUE(file.ok()) << device;
    EXPECT_EQ(file->num_workers, 2);
  }
  EXPECT_TRUE(is_there(kRunFileKey));
  EXPECT_FALSE(is_there(kClaimKey));
}

TEST_F(SessionTest, WritesThePlaceOfAShardAsItWasWhenItWasCaptured) {
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

TEST_F(SessionTest, StoresATensorOfSeveralNamesOnce) {
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

TEST_F(SessionTest, StoresReductionsOfSharedTensorsUnderEachName) {
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

TEST_F(SessionTest, ShowsASinkASharedTensorUnderEachName) {
  struct Names : ObservationSink {
    void on_collections(std::size_t, std::span<const TensorGroup>) override {}
    void on_tick(double) override {}
    void on_run_end(std::size_t) override {}
    void on_step(const StepView& step) override {
      if (step.phase != StepPhase::complete) return;
      for (const Observation& each : step.observations)
        seen.emplace_back(each.name);
    }
    std::vector<std::string> seen;
  } sink;
  auto session = open();
  session->set_sink(&sink);
  session->begin_step();
  const std::vector<float> values = {1, 2};
  const std::int64_t shape[] = {2};
  const std::vector<TensorSlot> names = {session->tensor("first"),
                                         session->tensor("second")};
  session->put_shared(names, view(values, shape));
  session->end_step();
  EXPECT_THAT(sink.seen, UnorderedElementsAre("first", "second"));
  ASSERT_TRUE(session->close().ok());
}

TEST_F(SessionTest, PutsATensorWhoseKindIsKnownIntoItsCollections) {
  config_.save_all = false;
  config_.include_collections = {"losses"};
  auto session = open();
  session->begin_step();
  const std::vector<std::string> losses = {"losses"}, unknown = {"nowhere"};
  const std::int64_t shape[] = {1};
  const TensorSlot slot = session->tensor("mse", losses);
  EXPECT_TRUE(slot.is_due()) << "in the step that is open";
  slot.put(view({1}, shape));
  EXPECT_FALSE(session->tensor("other", unknown).is_due());
  HookConfig edited = session->config();
  edited.save_config = SaveConfig(SaveConfigMode{.save_interval = 2});
  ASSERT_TRUE(session->set_config(edited).ok());
  EXPECT_FALSE(slot.is_next_due()) << "by the coming plan";
  session->begin_step();
  EXPECT_FALSE(slot.is_due());
  EXPECT_TRUE(slot.is_next_due());
  session->begin_step();
  EXPECT_TRUE(slot.is_due()) << "also in a later plan";
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(text(collections_file_key("worker_0")), HasSubstr("\"mse\""));
}

TEST_F(SessionTest, NamesTheCollectionsThatTheOpenStepSaves) {
  config_.save_all = false;
  config_.include_collections = {"gradients", "weights"};
  every_step(2);
  auto session = open();
  EXPECT_THAT(session->plan().due_collections(), testing::IsEmpty());
  for (const bool is_due : {true, false, true}) {
    session->begin_step();
    const auto due = session->plan().due_collections();
    EXPECT_EQ(due.empty(), !is_due);
    for (const char* name : {"gradients", "weights", "biases"}) {
      EXPECT_EQ(std::ranges::count(due, name), session->plan().is_due("", name))
          << name;
    }
  }
  session->end_step();
  EXPECT_THAT(session->plan().due_collections(), testing::IsEmpty());
}

TEST_F(SessionTest, SaysAheadOfATensorByItsNameOrItsCollection) {
  config_.save_all = false;
  config_.include_collections = {"gradients"};
  config_.include_regex = {"^mine$"};
  every_step(2);
  auto session = open();
  for (const bool is_due : {true, false, true}) {
    EXPECT_EQ(session->plan().is_next_due("x", "gradients"), is_due);
    EXPECT_EQ(session->plan().is_next_due("mine", "layers"), is_due);
    EXPECT_FALSE(session->plan().is_next_due("x", "layers"));
    session->begin_step();
  }
}

TEST_F(SessionTest, SaysAheadWhetherTheComingStepIsSaved) {
  SaveConfig intervals;
  intervals.set_mode(Mode::train, SaveConfigMode{.save_interval = 2});
  intervals.set_mode(Mode::eval,
                     SaveConfigMode{.save_interval = 1, .start_step = 1});
  config_.save_config = intervals;
  auto session = open();
  for (int step = 0; step < 6; ++step) {
    session->set_mode(step % 3 == 2 ? Mode::eval : Mode::train);
    const bool ahead = session->plan().is_next_due();
    EXPECT_EQ(session->plan().is_next_due(), ahead) << "asking counts no step";
    EXPECT_EQ(session->begin_step(), ahead) << "step " << step;
  }
  session->pause();
  EXPECT_FALSE(session->plan().is_next_due());
  session->resume();
  HookConfig edited = session->config();
  edited.save_config = SaveConfig(SaveConfigMode{.save_interval = 1});
  ASSERT_TRUE(session->set_config(edited).ok());
  EXPECT_TRUE(session->plan().is_next_due())
      << "by the plan that comes into use then";
  ASSERT_TRUE(session->close().ok());
  EXPECT_FALSE(session->plan().is_next_due());
}

TEST_F(SessionTest, SaysAheadWhatAModuleMayMatch) {
  config_.save_all = false;
  config_.include_regex = {"^fc1_output_3$", "^fc2_input"};
  auto session = open();
  const ModuleSlots fc1 = session->module("fc1");
  const ModuleSlots fc2 = session->module("fc2");
  EXPECT_TRUE(fc1.may_match_output());
  EXPECT_FALSE(fc1.may_match_input());
  EXPECT_FALSE(fc2.may_match_output());
  EXPECT_TRUE(fc2.may_match_input());
}

TEST_F(SessionTest, WritesNoFileInADryRunAndCountsWhatItWouldHave) {
  config_.dry_run = true;
  auto session = open();
  session->begin_step();
  put(*session, "a", std::vector<float>(100));
  session->save_scalar("x", 1);
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(*storage_->list(""), IsEmpty());
  EXPECT_EQ(session->status().records, 2u);
  EXPECT_GT(session->status().bytes, 400u);
}

TEST_F(SessionTest, UsesAnEditedConfigurationFromTheNextStepOn) {
  auto session = open();
  session->begin_step();
  put(*session, "a", {1});
  EXPECT_EQ(session->plan().version(), 1u);
  HookConfig edited = session->config();
  edited.save_all = false;
  edited.include_regex = {"^b"};
  ASSERT_TRUE(session->set_config(edited).ok());
  put(*session, "c", {1});  // still the old plan
  session->begin_step();
  EXPECT_EQ(session->plan().version(), 2u);
  put(*session, "a", {1});
  put(*session, "b", {1});
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(records(0), SizeIs(2));
  EXPECT_THAT(records(1), ElementsAre(::testing::Key("b")));
}

TEST_F(SessionTest, RefusesAnImpossibleEditAndKeepsTheOldConfiguration) {
  auto session = open();
  HookConfig edited = session->config();
  edited.include_regex = {"("};
  const Status refused = session->set_config(edited);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, Error::Code::invalid_config);
  session->begin_step();
  put(*session, "a", {1});
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(records(0), SizeIs(1));
}

TEST_F(SessionTest, TellsWhichPatternMatchedNothingWithTheNearestNames) {
  config_.save_all = false;
  config_.include_regex = {"fc1_outputs"};
  auto session = open();
  session->begin_step();
  put(*session, "fc1_output_0", {1});
  put(*session, "relu_output_0", {1});
  session->begin_step();
  EXPECT_THAT(log_.lines(), HasSubstr("'fc1_outputs' matched no tensor"));
  EXPECT_THAT(log_.lines(), HasSubstr("fc1_output_0"));
  EXPECT_THAT(session->summary(), HasSubstr("collection 'default': 0 of 2"));
}

TEST_F(SessionTest, TellsNothingOfAnOptionalCollectionThatFindsNothing) {
  config_.save_all = false;
  Collection rare{{"rare", {"^attention"}, {}}, {}, {}};
  rare.is_optional = true;
  config_.collections = {rare};
  config_.include_collections = {"rare"};
  config_.include_regex = {"fc1"};
  auto session = open();
  session->begin_step();
  put(*session, "fc1_output_0", {1});
  session->begin_step();
  EXPECT_THAT(log_.lines(), Not(HasSubstr("rare")));
  EXPECT_THAT(session->summary(), HasSubstr("collection 'default': 1 of 1"));
}

TEST_F(SessionTest, RewritesTheCollectionsFileWhenANameIsNew) {
  auto session = open();
  const auto names = [&] {
    const auto file =
        parse_collections_file(text(collections_file_key("worker_0")));
    for (const StoredCollection& collection : file->collections)
      if (collection.tensors.name == "all")
        return collection.tensors.tensor_names;
    return std::vector<std::string>();
  };
  session->begin_step();
  put(*session, "a", {1});
  session->begin_step();
  ASSERT_TRUE(session->flush().ok());
  EXPECT_THAT(names(), ElementsAre("a"));
  put(*session, "late", {1});
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(names(), ElementsAre("a", "late"));
}

TEST_F(SessionTest, ExportsItsCollectionsWhenAsked) {
  auto session = open();
  session->export_collections();
  EXPECT_FALSE(is_there(collections_file_key("worker_0")));
  session->begin_step();
  put(*session, "a", {1});
  session->export_collections();
  ASSERT_TRUE(session->flush().ok());
  EXPECT_THAT(text(collections_file_key("worker_0")),
              HasSubstr(R"("tensor_names": ["a"])"));
}

TEST_F(SessionTest, TellsByNameWhatTheOpenStepSaves) {
  every_step(2);
  config_.save_all = false;
  config_.include_regex = {"^relu"};
  auto session = open();
  EXPECT_FALSE(session->plan().is_due("relu_output_0", "losses"));
  session->begin_step();
  EXPECT_TRUE(session->plan().is_due("relu_output_0", "none"));
  EXPECT_TRUE(session->plan().is_due("fc", "losses"));
  EXPECT_FALSE(session->plan().is_due("fc", "weights"));
  session->begin_step();
  EXPECT_FALSE(session->plan().is_due("relu_output_0", "losses"));
  session->begin_step();
  EXPECT_TRUE(session->plan().is_due("relu_output_0", "losses"));
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(text(collections_file_key("worker_0")),
              Not(HasSubstr("relu_output_0")));
}

TEST_F(SessionTest, RecordsEachAttemptInTheRunFile) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    auto session = open();
    session->begin_step();
    put(*session, "a", {1});
    if (attempt == 1) {
      ASSERT_TRUE(session->close().ok());
    } else {
      ASSERT_TRUE(session->flush().ok());
      ASSERT_TRUE(storage_->remove(kClaimKey).ok());
    }
  }
  const auto run = parse_run_file(text(kRunFileKey));
  ASSERT_TRUE(run.ok()) << run.error().message;
  ASSERT_THAT(run->attempts, SizeIs(2));
  EXPECT_EQ(run->attempts[0].status, "running");
  EXPECT_EQ(run->attempts[1].status, "finished");
  EXPECT_EQ(run->attempts[1].cost.at("steps"), 1);
  EXPECT_GT(run->attempts[1].cost.at("bytes_written"), 0);
}

TEST_F(SessionTest, KeepsTheRunBelowItsLimitAndSaysSo) {
  config_.max_run_bytes = 50000;
  config_.keep_every = 10;
  auto session = open();
  for (int step = 0; step < 25; ++step) {
    session->begin_step();
    put(*session, "a", std::vector<float>(2000, 1.0f * step));  // 8,000 bytes
  }
  ASSERT_TRUE(session->close().ok());
  std::uint64_t bytes = 0;
  for (const std::string_view prefix : {kIndexPrefix, kEventsPrefix}) {
    const auto files = *storage_->list(prefix);
    for (const ObjectEntry& file : files) bytes += file.bytes;
  }
  EXPECT_LE(bytes, 50000u);
  EXPECT_GT(bytes, 40000u);
  for (const Step kept : {0, 10, 20, 23, 24})
    EXPECT_THAT(records(kept).at("a"), ::testing::Each(1.0f * kept));
  EXPECT_FALSE(is_there(index_file_key(19, "worker_0")));
  EXPECT_FALSE(is_there(event_file_key(19, "worker_0")));

  const SessionStatus status = session->status();
  EXPECT_EQ(status.steps_published, 25u);
  EXPECT_EQ(status.removed_steps, 20u);
  EXPECT_EQ(status.first_kept_step, 0);
  const auto run = parse_run_file(text(kRunFileKey));
  EXPECT_EQ(run->attempts[0].cost.at("removed_steps"), 20);
  EXPECT_EQ(run->attempts[0].cost.at("first_kept_step"), 0);
}

TEST_F(SessionTest, ShowsASinkTheStepBeforeTheUpdateAndWhenItIsComplete) {
  class Seen : public ObservationSink {
   public:
    void on_collections(std::size_t,
                        std::span<const TensorGroup> groups) override {
      collections = groups.size();
    }
    void on_step(const StepView& step) override {
      for (const Observation& seen : step.observations) {
        lines.push_back(
            std::to_string(step.step.global) +
            (step.phase == StepPhase::complete ? " complete " : " before ") +
            std::string(seen.name) + " " +
            std::to_string(seen.statistics->max));
      }
    }
    void on_tick(double) override {}
    void on_run_end(std::size_t) override {}
    std::size_t collections = 0;
    std::vector<std::string> lines;
  } seen;

  auto session = open();
  session->set_sink(&seen);
  EXPECT_GT(seen.collections, 0u);
  session->begin_step();
  put(*session, "g", {1, 5});
  session->before_update();
  put(*session, "h", {2});
  session->begin_step();
  EXPECT_THAT(seen.lines,
              ElementsAre("0 before g 5.000000", "0 complete g 5.000000",
                          "0 complete h 2.000000"));
  session->set_sink(nullptr);
  ASSERT_TRUE(session->close().ok());
}

TEST_F(SessionTest, TellsASinkWhichTensorsWereAssignedToACollection) {
  class Members : public ObservationSink {
   public:
    void on_collections(std::size_t,
                        std::span<const TensorGroup> groups) override {
      for (const TensorGroup& group : groups)
        if (group.name == "losses") losses = group.tensor_names;
    }
    void on_step(const StepView&) override {}
    void on_tick(double) override {}
    void on_run_end(std::size_t) override {}
    std::vector<std::string> losses;
  } seen;

  auto session = open();
  session->set_sink(&seen);
  session->begin_step();
  const std::vector<std::string> collections = {"losses"};
  session->tensor("cost", collections);
  put(*session, "cost", {1});
  EXPECT_THAT(seen.losses, ElementsAre("cost"));
  session->set_sink(nullptr);
  ASSERT_TRUE(session->close().ok());
}

TEST_F(SessionTest, ShowsASinkTheElementsOfARunningStepWhereItLooksAtThem) {
  class Values : public ObservationSink {
   public:
    void on_collections(std::size_t, std::span<const TensorGroup>) override {}
    void on_step(const StepView& step) override {
      for (const Observation& seen : step.observations) {
        const auto elements = seen.values->load();
        const auto* first =
            elements ? reinterpret_cast<const float*>(elements->data) : nullptr;
        values[std::string(seen.name)] =
            elements ? std::vector<float>(first, first + elements->size())
                     : std::vector<float>();
      }
    }
    void on_tick(double) override {}
    void on_run_end(std::size_t) override {}
    DataNeed data_need(std::size_t, std::string_view name) override {
      ++questions;
      return name == "labels" ? DataNeed::values
             : name == "loss" ? DataNeed::statistics
                              : DataNeed::none;
    }
    int questions = 0;
    std::map<std::string, std::vector<float>> values;
  } seen;

  auto session = open();
  session->set_sink(&seen);
  const std::vector<float> matrix = {1, 2, 3, 4};
  const std::vector<std::int64_t> square = {2, 2}, transposed = {1, 2};
  for (int step = 0; step < 3; ++step) {
    session->begin_step();
    session->tensor("labels").put(
        {DType::float32, reinterpret_cast<const std::byte*>(matrix.data()),
         square, transposed});
    put(*session, "loss", {5});
    put(*session, "weight", {6});
  }
  session->before_update();
  EXPECT_THAT(seen.values,
              ElementsAre(std::pair("labels", std::vector<float>{1, 3, 2, 4}),
                          std::pair("loss", std::vector<float>())));
  EXPECT_EQ(seen.questions, 3);
  session->set_sink(nullptr);
  ASSERT_TRUE(session->close().ok());
}

TEST_F(SessionTest, DoesNothingInTheChildOfAFork) {
  auto session = open();
  session->begin_step();
  put(*session, "a", {1});
  const pid_t child = fork();
  if (child == 0) {
    session->after_fork_in_child();
    session->begin_step();
    session->tensor("a").put({});
    session->save_scalar("x", 1);
    _exit(session->flush().ok() && session->close().ok() ? 0 : 1);
  }
  int result = -1;
  waitpid(child, &result, 0);
  EXPECT_EQ(result, 0);
  put(*session, "b", {2});
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(records(0), SizeIs(2));
}

TEST_F(SessionTest, KnowsWhetherASlotCanEverMatch) {
  config_.save_all = false;
  config_.include_regex = {"^fc_output"};
  auto session = open();
  session->begin_step();
  const ModuleSlots fc = session->module("fc");
  const ModuleSlots relu = session->module("relu");
  EXPECT_TRUE(relu.can_match_output()) << "not known yet";
  const std::int64_t shape[] = {1};
  for (const ModuleSlots& module : {fc, relu}) {
    module.put_input(view({1}, shape));
    module.put_output(view({1}, shape));
  }
  EXPECT_TRUE(fc.can_match_output());
  EXPECT_FALSE(fc.can_match_input());
  EXPECT_FALSE(relu.can_match_output());
  EXPECT_FALSE(session->tensor("x").can_match());
  ASSERT_TRUE(session->close().ok());
}

TEST_F(SessionTest, MeasuresWhatItCosts) {
  auto session = open();
  for (int step = 0; step < 10; ++step) {
    session->begin_step();
    put(*session, "a", std::vector<float>(100000, 1.0f));
  }
  ASSERT_TRUE(session->close().ok());
  const SessionCost cost = session->cost();
  EXPECT_GT(cost.step_thread_seconds, 0);
  EXPECT_LT(cost.step_thread_seconds, cost.run_seconds);
  EXPECT_GT(cost.writer_cpu_seconds, 0);
  EXPECT_EQ(cost.bytes_captured, 4000000u);
  EXPECT_GT(cost.bytes_written, 4000000u);
  EXPECT_EQ(cost.steps, 10u);
}

TEST_F(SessionTest, WritesWhatAModelOfARunPredictsOverRandomTrainings) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  config_.queue_bytes = 1 << 20;
  every_step(3);
  auto session = open();
  std::map<Step, std::map<std::string, std::vector<float>>> model;
  for (Step step = 0; step < 60; ++step) {
    session->begin_step();
    for (int i = random() % 12; i > 0; --i) {
      const std::string name = "t" + std::to_string(random() % 8);
      std::vector<float> values(1 + random() % (random() % 9 ? 300 : 600000));
      std::ranges::generate(values,
                            [&] { return static_cast<float>(random()); });
      put(*session, name, values);
      if (step % 3 == 0) model[step][name] = std::move(values);
    }
  }
  ASSERT_TRUE(session->close().ok());
  for (const auto& [step, tensors] : model)
    EXPECT_EQ(records(step), tensors) << "step " << step;
}

}  // namespace
}  // namespace smdebug
