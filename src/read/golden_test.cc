// Reads runs of the original and compares the results with those of its own
// reader (tests/golden/README.md). The Python tests cover all of them; this
// test covers those that do not need Python.

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <span>
#include <sstream>

#include "base/json.h"
#include "read/trial_testing.h"
#include "tests/support/source_dir_testing.h"

namespace smdebug {
namespace {

std::vector<Step> steps_of(const Json& list) {
  std::vector<Step> steps;
  for (const Json& step : *list.as_array()) steps.push_back(*step.as_int());
  return steps;
}

std::vector<std::string> texts_of(const Json& list) {
  std::vector<std::string> texts;
  for (const Json& text : *list.as_array()) texts.push_back(*text.as_string());
  return texts;
}

// The numbers of nested lists, in order; those that JSON lacks are texts.
void append_numbers(const Json& json, std::vector<double>& out) {
  if (const auto number = json.as_double()) out.push_back(*number);
  if (json.as_string() != nullptr) out.push_back(std::stod(*json.as_string()));
  if (json.as_array() == nullptr) return;
  for (const Json& item : *json.as_array()) append_numbers(item, out);
}

template <typename T>
std::vector<double> converted(const Bytes& bytes) {
  std::vector<T> elements(bytes.size() / sizeof(T));
  std::memcpy(elements.data(), bytes.data(), bytes.size());
  return {elements.begin(), elements.end()};
}

std::vector<double> doubles_of(const TensorValue& value) {
  switch (value.dtype()) {
    case DType::float32:
      return converted<float>(value.bytes());
    case DType::float64:
      return converted<double>(value.bytes());
    case DType::int64:
      return converted<std::int64_t>(value.bytes());
    default:
      ADD_FAILURE() << "no golden run has " << dtype_name(value.dtype());
      return {};
  }
}

StepState state_of(const std::string& name) {
  if (name == "AVAILABLE") return StepState::available;
  return name == "UNAVAILABLE" ? StepState::unavailable
                               : StepState::not_yet_available;
}

class GoldenTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const std::string folder =
        std::string(SMDEBUG_SOURCE_DIR "/tests/golden/") + GetParam();
    std::ifstream file(folder + "/expected.json");
    std::stringstream text;
    text << file.rdbuf();
    auto json = Json::parse(text.str());
    ASSERT_TRUE(json.ok()) << json.error().message;
    expected_ = *json->find("trial");

    std::string run = folder + "/run";
    if (!std::ifstream(run + "/collections").good()) {
      run = std::string(SMDEBUG_UNPACKED_GOLDEN "/") + GetParam() + "/run";
    }
    TrialOptions options;
    options.timeout = std::chrono::nanoseconds(0);
    options.clock = &clock_;
    auto trial = Trial::open(run, options);
    ASSERT_TRUE(trial.ok()) << trial.error().message;
    trial_ = *std::move(trial);
  }

  const Json& expected(std::string_view key) { return *expected_.find(key); }

  void compare_value(const Json& answer, const TensorValue& value) {
    std::vector<std::int64_t> shape;
    for (Step extent : steps_of(*answer.find("shape"))) shape.push_back(extent);
    EXPECT_EQ(value.shape(), shape);
    EXPECT_EQ(dtype_name(value.dtype()), *answer.find("dtype")->as_string());
    const Json* elements = answer.find("value");
    if (elements == nullptr) return;  // too many: a hash of them is there
    ++compared_;
    if (value.dtype() == DType::string) {
      const std::vector<std::string> first = texts_of(*elements);
      ASSERT_GE(value.strings().size(), first.size());
      EXPECT_TRUE(std::ranges::equal(
          first, std::span(value.strings()).first(first.size())));
      return;
    }
    std::vector<double> want;
    append_numbers(*elements, want);
    EXPECT_TRUE(std::ranges::equal(
        doubles_of(value), want, [](double got, double number) {
          return got == number || (std::isnan(got) && std::isnan(number));
        }));
  }

  Json expected_;
  FakeClock clock_;
  std::unique_ptr<Trial> trial_;
  int compared_ = 0;
};

TEST_P(GoldenTest, ListsTheSameStepsNamesAndWorkers) {
  for (Mode mode : kModes) {
    const std::string_view name = mode_name(mode);
    EXPECT_EQ(trial_->steps(mode), steps_of(*expected("steps").find(name)));
    EXPECT_EQ(trial_->steps(mode, true),
              steps_of(*expected("steps_show_incomplete").find(name)));
  }
  EXPECT_EQ(trial_->tensor_names(), texts_of(expected("tensor_names")));
  EXPECT_EQ(trial_->workers(), texts_of(expected("workers")));
  EXPECT_EQ(trial_->num_workers(), *expected("num_workers").as_int());
  EXPECT_EQ(trial_->has_ended(), *expected("loaded_all_steps").as_bool());
  EXPECT_EQ(trial_->last_complete_step(),
            *expected("last_complete_step").as_int());
  EXPECT_EQ(trial_->last_index_token(),
            *expected("last_index_token").as_string());
  EXPECT_TRUE(trial_->damage().empty());
}

TEST_P(GoldenTest, KnowsWhichStepsHavePassed) {
  for (Mode mode : kModes) {
    const Json& states = *expected("has_passed_step").find(mode_name(mode));
    for (const Json::Member& state : *states.as_object()) {
      EXPECT_EQ(trial_->has_passed_step(std::stoll(state.key), mode),
                state_of(*state.value.as_string()))
          << mode_name(mode) << " " << state.key;
    }
  }
}

TEST_P(GoldenTest, FindsTheMembersOfCollections) {
  const Json& collections = expected("tensor_names_by_collection");
  for (const Json::Member& collection : *collections.as_object()) {
    const auto names =
        trial_->tensor_names({{}, Mode::global, {}, collection.key});
    ASSERT_TRUE(names.ok()) << names.error().message;
    EXPECT_EQ(*names, texts_of(collection.value)) << collection.key;
  }
}

TEST_P(GoldenTest, ReadsTheSameValuesAndReductions) {
  // A file of mode GLOBAL with a step of its own there: the original files it
  // under that step (tests/golden/differences.toml).
  const bool has_odd_step = std::string_view(GetParam()) == "core_modes";
  for (const Json::Member& tensor : *expected("tensors").as_object()) {
    auto found = trial_->tensor(tensor.key);
    ASSERT_TRUE(found.ok());
    for (const Json::Member& at : *tensor.value.find("at")->as_object()) {
      const Step step = std::stoll(at.key);
      if (has_odd_step && step == 0) continue;
      for (const Json::Member& worker : *at.value.as_object()) {
        SCOPED_TRACE(tensor.key + " at " + at.key + " of " + worker.key);
        const StepQuery query{step, Mode::global, worker.key};
        const auto value = found->value(query);
        const Json& answer = *worker.value.find("value");
        EXPECT_EQ(value.ok(), answer.find("raises") == nullptr);
        if (value.ok()) compare_value(answer, *value);
        const Json* saved = worker.value.find("saved_reductions");
        if (saved == nullptr) continue;
        const auto reductions = found->saved_reductions(query);
        ASSERT_TRUE(reductions.ok());
        EXPECT_EQ(reductions->size(), saved->as_object()->size());
        for (const Json::Member& one : *saved->as_object()) {
          compare_value(one.value, reductions->at(*find_reduction_op(one.key)));
        }
      }
    }
  }
  EXPECT_GT(compared_, 0);
}

// All but two: what core_dtypes and pytorch_raw_and_shape hold of value the
// original could not read (tests/golden/test_golden.py asks for it).
INSTANTIATE_TEST_SUITE_P(
    OriginalRuns, GoldenTest,
    testing::Values(
        "core_devices", "core_foreign", "core_modes", "core_strings",
        "gradient_tape", "keras_fit", "keras_save_all", "many_steps",
        "mxnet_modes", "mxnet_reductions", "pytorch_custom",
        "pytorch_global_default", "pytorch_modes", "pytorch_reductions",
        "pytorch_save_all", "pytorch_tensorboard", "session_hook", "unfinished",
        "workers_two", "workers_two_running", "xgboost_all", "xgboost_default"),
    [](const auto& info) { return std::string(info.param); });

TEST(GoldenText, HasNoReductions) {
  auto trial =
      Trial::open(SMDEBUG_SOURCE_DIR "/tests/golden/core_strings/run", {});
  ASSERT_TRUE(trial.ok()) << trial.error().message;
  auto text = (*trial)->tensor("ascii");
  ASSERT_TRUE(text.ok());
  for (Reduction reduction : {Reduction::mean, Reduction::median}) {
    const auto number = text->reduction({0}, {reduction, false});
    ASSERT_FALSE(number.ok());
    EXPECT_EQ(number.error().code, Error::Code::not_found);
    EXPECT_THAT(number.error().message, testing::HasSubstr("no numbers"));
  }
}

}  // namespace
}  // namespace smdebug
