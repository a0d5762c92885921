// Compares tensors captured by precomputed statistics with the same tensors
// captured by their elements.

#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smdebug/capture/session.h"
#include "smdebug/reduce/statistics_kernel.h"
#include "smdebug/store/open_storage.h"

#include "format/file_names.h"
#include "tests/support/fake_clock_testing.h"
#include "tests/support/recording_logger_testing.h"

namespace smdebug {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Given {
  std::string name;
  std::vector<std::int64_t> shape;
  std::vector<float> values;

  TensorView view() const {
    return {DType::float32,
            reinterpret_cast<const std::byte*>(values.data()),
            shape,
            {}};
  }
  TensorStatistics statistics() const {
    return statistics_of(DType::float32, values.data(), values.size());
  }
};

// What a sink saw, one line per observation, and its answers to `data_need`.
class Watcher : public ObservationSink {
 public:
  void on_collections(std::size_t, std::span<const TensorGroup>) override {}
  void on_step(const StepView& step) override {
    for (const Observation& each : step.tensors) {
      std::string line(each.name);
      for (std::int64_t extent : each.shape)
        line += " " + std::to_string(extent);
      line += " " + std::string(dtype_name(each.dtype));
      line += " " + std::to_string(each.statistics->sum_abs);
      line += each.values->load() ? " values" : "";
      lines.push_back(line);
    }
  }
  void on_tick(double) override {}
  void on_run_end(std::size_t) override {}
  DataNeed data_need(std::size_t, std::string_view name) override {
    const auto answer = needs.find(std::string(name));
    return answer == needs.end() ? DataNeed::statistics : answer->second;
  }

  std::map<std::string, DataNeed> needs;
  std::vector<std::string> lines;
};

class PutStatisticsTest : public ::testing::Test {
 protected:
  PutStatisticsTest() {
    config_.save_all = true;
    SaveConfigMode every_step;
    every_step.save_interval = 1;
    config_.save_config = SaveConfig(every_step);
    save_reductions("min,max,mean,std,variance,sum,l1,l2,abs_max,abs_mean");
  }

  void save_reductions(std::string_view ops) {
    config_.reduction_config = ReductionConfig{};
    config_.reduction_config->ops = *ReductionConfig::parse_ops(ops);
  }

  std::unique_ptr<Session> open() {
    static int next = 0;
    storage_ =
        *open_storage("memory://put_statistics_test_" + std::to_string(next++));
    SessionOptions options;
    options.config = config_;
    options.config.out_dir = storage_->uri();
    options.framework = pytorch_framework();
    options.storage = storage_;
    options.clock = &clock_;
    options.logger = &log_;
    auto session = Session::create(std::move(options));
    EXPECT_TRUE(session.ok()) << session.error().message;
    return *std::move(session);
  }

  static void put_statistics(Session& session, const Given& given) {
    session.tensor(given.name)
        .put_statistics(DType::float32, given.shape, given.statistics());
  }

  // Every object of the run that is written of steps, by key.
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> files;
    for (const char* folder : {"events/", "index/"}) {
      const auto entries = *storage_->list(folder, "");
      for (const ObjectEntry& entry : entries)
        files[entry.key] = get_object(*storage_, entry.key)->text();
    }
    return files;
  }

  HookConfig config_;
  FakeClock clock_{1.5};
  NullLogger log_;
  std::shared_ptr<Storage> storage_;
};

std::vector<Given> random_tensors(std::mt19937& random) {
  std::vector<Given> tensors;
  for (int i = 0; i < 6; ++i) {
    const std::int64_t rows = random() % 40, columns = random() % 40;
    Given given{"t" + std::to_string(i), {rows, columns}, {}};
    if (i == 0) given.shape.clear();
    given.values.resize(static_cast<std::size_t>(given.view().size()));
    std::normal_distribution<float> normal(static_cast<float>(random() % 1000),
                                           1);
    for (float& x : given.values) x = normal(random);
    for (int special = random() % 4; special > 0 && !given.values.empty();
         --special) {
      const float specials[] = {NAN, INFINITY, -INFINITY, 0, -0.0f, 1e-42f};
      given.values[random() % given.values.size()] = specials[random() % 6];
    }
    tensors.push_back(std::move(given));
  }
  return tensors;
}

TEST_F(PutStatisticsTest, LeavesTheBytesThatElementsLeave) {
  const unsigned seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  for (const bool saves_shape : {false, true}) {
    config_.reduction_config->save_shape = saves_shape;
    const ShardPlacement placement{{4000, 40}, {10, 0}};
    std::vector<std::vector<Given>> steps(5);
    for (auto& tensors : steps) tensors = random_tensors(random);

    std::map<std::string, std::string> expected;
    std::uint64_t tensors_captured = 0, bytes_captured = 0;
    for (const bool by_elements : {true, false}) {
      auto session = open();
      for (const std::vector<Given>& tensors : steps) {
        session->begin_step();
        session->tensor("t1").set_placement(placement);
        for (const Given& given : tensors) {
          if (by_elements) {
            session->tensor(given.name).put(given.view());
          } else {
            put_statistics(*session, given);
          }
        }
      }
      ASSERT_TRUE(session->close().ok());
      const SessionStatus status = session->status();
      EXPECT_THAT(status.skipped, IsEmpty());
      if (by_elements) {
        expected = files();
        tensors_captured = status.tensors;
        bytes_captured = session->cost().bytes_captured;
      }
      EXPECT_EQ(files(), expected);
      EXPECT_EQ(status.tensors, tensors_captured);
      EXPECT_EQ(session->cost().bytes_captured, bytes_captured);
    }
    EXPECT_THAT(expected, ::testing::SizeIs(::testing::Ge(10)));
  }
}

TEST_F(PutStatisticsTest, TakesStatisticsOfOtherThreadsIntoTheOpenStep) {
  const Given given{"a", {2, 2}, {1, -2, 3, -4}};
  auto session = open();
  session->begin_step();
  session->tensor("a").put(given.view());
  ASSERT_TRUE(session->close().ok());
  const auto expected = files();

  session = open();
  session->begin_step();
  std::thread([&] { put_statistics(*session, given); }).join();
  ASSERT_TRUE(session->close().ok());
  EXPECT_EQ(files(), expected);
}

TEST_F(PutStatisticsTest, KeepsStatisticsAloneInTheIndexAlone) {
  config_.reduction_config = ReductionConfig{};
  config_.reduction_config->summary = true;
  const Given given{"a", {3}, {1, NAN, 3}};
  std::map<std::string, std::string> expected;
  for (const bool by_elements : {true, false}) {
    auto session = open();
    session->begin_step();
    const TensorSlot slot = session->tensor("a");
    EXPECT_FALSE(slot.needs_elements());
    if (by_elements) {
      slot.put(given.view());
      ASSERT_TRUE(session->close().ok());
      expected = files();
      ASSERT_THAT(expected, SizeIs(1));
    } else {
      put_statistics(*session, given);
      ASSERT_TRUE(session->close().ok());
      EXPECT_EQ(files(), expected);
    }
  }
}

TEST_F(PutStatisticsTest, ShowsASinkWhatElementsShowIt) {
  const Given given{"a", {2, 1}, {1, -2}};
  Watcher by_elements, by_statistics;
  for (Watcher* watcher : {&by_elements, &by_statistics}) {
    auto session = open();
    session->set_sink(watcher);
    session->begin_step();
    if (watcher == &by_elements) {
      session->tensor("a").put(given.view());
    } else {
      put_statistics(*session, given);
    }
    session->before_update();
    session->set_sink(nullptr);
    ASSERT_TRUE(session->close().ok());
  }
  EXPECT_THAT(by_elements.lines, ElementsAre("a 2 1 float32 3.000000"));
  EXPECT_EQ(by_statistics.lines, by_elements.lines);
}

TEST_F(PutStatisticsTest, ShowsASinkNoElementsThatItAsksForTooLate) {
  Watcher watcher;
  watcher.needs["a"] = ObservationSink::DataNeed::values;
  auto session = open();
  session->set_sink(&watcher);
  session->begin_step();
  put_statistics(*session, {"a", {1}, {5}});
  session->before_update();
  EXPECT_THAT(watcher.lines, ElementsAre("a 1 float32 5.000000"));
  session->set_sink(nullptr);
  ASSERT_TRUE(session->close().ok());
}

// --- whether elements are needed ---

class NeedsElementsTest : public PutStatisticsTest {
 protected:
  bool needs_elements(ObservationSink* sink = nullptr) {
    auto session = open();
    if (sink != nullptr) session->set_sink(sink);
    session->begin_step();
    const bool answer = session->tensor("a").needs_elements();
    session->set_sink(nullptr);
    EXPECT_TRUE(session->close().ok());
    return answer;
  }
};

TEST_F(NeedsElementsTest, OfReductionsThatStatisticsDoNotHold) {
  for (const char* op :
       {"min", "max", "mean", "std", "variance", "sum", "l1", "l2", "abs_max",
        "abs_mean", "abs_sum", "abs_l1", "abs_l2"}) {
    save_reductions(op);
    EXPECT_FALSE(needs_elements()) << op;
  }
  for (const char* op : {"median", "prod", "abs_min", "abs_std", "abs_variance",
                         "abs_median", "abs_prod", "mean,median"}) {
    save_reductions(op);
    EXPECT_TRUE(needs_elements()) << op;
  }
}

TEST_F(NeedsElementsTest, WhereValuesAreSaved) {
  config_.reduction_config->save_raw_tensor = true;
  EXPECT_TRUE(needs_elements());
  config_.reduction_config.reset();
  EXPECT_TRUE(needs_elements());
}

TEST_F(NeedsElementsTest, WhereAnotherCollectionOfItSavesValues) {
  Collection raw{{"raw", {"^a$"}, {}}, {}, ReductionConfig{}, false};
  raw.reduction_config->save_raw_tensor = true;
  config_.collections = {raw};
  config_.include_collections = {"raw"};
  EXPECT_TRUE(needs_elements());
}

TEST_F(NeedsElementsTest, WhereTensorBoardShowsAHistogram) {
  config_.tensorboard_dir = "memory://put_statistics_test_tensorboard";
  EXPECT_TRUE(needs_elements());
  config_.save_all = false;
  config_.collections = {
      {{"none", {"^a$"}, {}}, {}, config_.reduction_config, false}};
  config_.include_collections = {"none"};
  EXPECT_FALSE(needs_elements());
}

TEST_F(NeedsElementsTest, WhereASinkLooksAtThem) {
  using DataNeed = ObservationSink::DataNeed;
  for (const DataNeed need :
       {DataNeed::none, DataNeed::statistics, DataNeed::values}) {
    Watcher watcher;
    watcher.needs["a"] = need;
    EXPECT_EQ(needs_elements(&watcher), need == DataNeed::values);
  }
}

// A thread that waited here might hold what the sink waits for.
TEST_F(NeedsElementsTest, AsFarAsIsKnownWhileASinkIsCalled) {
  class Asking : public Watcher {
   public:
    void on_step(const StepView&) override {
      std::thread([this] { answer = slot->needs_elements(); }).join();
    }
    std::optional<TensorSlot> slot;
    std::optional<bool> answer;
  } asking;
  auto session = open();
  asking.slot = session->tensor("a");
  session->set_sink(&asking);
  session->begin_step();
  EXPECT_FALSE(asking.slot->needs_elements());
  session->before_update();
  EXPECT_EQ(asking.answer, true);
  EXPECT_FALSE(asking.slot->needs_elements());
  session->set_sink(nullptr);
  ASSERT_TRUE(session->close().ok());
}

TEST_F(NeedsElementsTest, AsFarAsIsKnownBeforeASinkIsToldOfNewTensors) {
  Watcher watcher;
  auto session = open();
  session->set_sink(&watcher);
  session->begin_step();
  const std::vector<std::string> collections = {"biases"};
  const TensorSlot slot = session->tensor("a", collections);
  EXPECT_TRUE(slot.needs_elements());
  const Given given{"b", {1}, {1}};
  session->tensor("b").put(given.view());
  EXPECT_FALSE(slot.needs_elements());
  session->set_sink(nullptr);
  ASSERT_TRUE(session->close().ok());
}

TEST_F(NeedsElementsTest, NowhereOfATensorThatIsNotDue) {
  config_.reduction_config.reset();
  config_.save_all = false;
  config_.include_regex = {"^a$"};
  auto session = open();
  const TensorSlot slot = session->tensor("a");
  EXPECT_FALSE(slot.needs_elements());  // no step is open
  session->begin_step();
  EXPECT_TRUE(slot.needs_elements());
  EXPECT_FALSE(session->tensor("b").needs_elements());
  session->end_step();
  EXPECT_FALSE(slot.needs_elements());
  ASSERT_TRUE(session->close().ok());
  EXPECT_FALSE(slot.needs_elements());
}

// --- what cannot be taken ---

class RefusedStatisticsTest : public PutStatisticsTest {
 protected:
  // Puts statistics of one number and returns why they were skipped.
  std::string refusal(DType dtype, const std::vector<std::int64_t>& shape) {
    auto session = open();
    for (int step = 0; step < 2; ++step) {
      session->begin_step();
      session->tensor("a").put_statistics(dtype, shape, {.count = 1});
    }
    EXPECT_TRUE(session->close().ok());
    EXPECT_THAT(files(), IsEmpty());
    return session->status().skipped["a"];
  }
};

TEST_F(RefusedStatisticsTest, WhereElementsAreNeeded) {
  config_.reduction_config.reset();
  EXPECT_THAT(refusal(DType::float32, {1}),
              HasSubstr("elements should be saved"));
}

TEST_F(RefusedStatisticsTest, OfStrings) {
  EXPECT_THAT(refusal(DType::string, {1}), HasSubstr("strings"));
}

TEST_F(RefusedStatisticsTest, OfAnotherNumberOfElements) {
  EXPECT_THAT(refusal(DType::float32, {2, 3}),
              AllOf(HasSubstr("1 element"), HasSubstr("6")));
}

TEST_F(RefusedStatisticsTest, OfMoreDimensionsThanAMessageHolds) {
  EXPECT_THAT(refusal(DType::float32, std::vector<std::int64_t>(65, 1)),
              HasSubstr("more than 64 dimensions"));
}

}  // namespace
}  // namespace smdebug
