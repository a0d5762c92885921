// Tests which tensors are saved: collections, edits of the configuration, and
// the queries of adapters about future steps.

#include <algorithm>
#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smdebug/base/try.h"
#include "smdebug/capture/session.h"

#include "capture/session_fixture_testing.h"
#include "format/collections_file.h"
#include "format/file_names.h"
#include "format/run_file.h"
#include "store/forwarding_storage.h"

namespace smdebug {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class SessionPlanTest : public SessionFixture {
 protected:
  // The tensors that the collections file lists in the collection `all`.
  std::vector<std::string> listed_names() const {
    const auto file =
        parse_collections_file(text(collections_file_key("worker_0")));
    for (const StoredCollection& collection : file->collections)
      if (collection.tensors.name == "all")
        return collection.tensors.tensor_names;
    return {};
  }
};

TEST_F(SessionPlanTest, SaysWhichCollectionsThePlanInUseSaves) {
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

TEST_F(SessionPlanTest, PutsATensorWhoseKindIsKnownIntoItsCollections) {
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

TEST_F(SessionPlanTest, NamesTheCollectionsThatTheOpenStepSaves) {
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

TEST_F(SessionPlanTest, SaysAheadOfATensorByItsNameOrItsCollection) {
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

TEST_F(SessionPlanTest, SaysAheadWhetherTheComingStepIsSaved) {
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

TEST_F(SessionPlanTest, SaysAheadWhatAModuleMayMatch) {
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

TEST_F(SessionPlanTest, UsesAnEditedConfigurationFromTheNextStepOn) {
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

TEST_F(SessionPlanTest, ListsACollectionThatCameLaterAmongThoseSaved) {
  config_.save_all = false;
  config_.include_collections = {"weights"};
  auto session = open();
  session->begin_step();
  put(*session, "fc.weight", {1});
  HookConfig edited = session->config();
  Collection late;
  late.tensors = {"relu_output", {"^relu_output"}, {}};
  edited.collections.push_back(late);
  edited.include_collections.push_back("relu_output");
  ASSERT_TRUE(session->set_config(edited).ok());
  session->begin_step();
  put(*session, "relu_output_0", {1});
  session->begin_step();  // before the end, for a reader of a running training
  ASSERT_TRUE(session->flush().ok());
  const auto run = parse_run_file(text("run.json"));
  ASSERT_TRUE(run);
  EXPECT_THAT(run->saved_collections,
              ::testing::IsSupersetOf({"weights", "relu_output"}));
  EXPECT_THAT(run->configuration_json, HasSubstr("relu_output"));
  ASSERT_TRUE(session->close().ok());
}

TEST_F(SessionPlanTest, RefusesAnImpossibleEditAndKeepsTheOldConfiguration) {
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

TEST_F(SessionPlanTest, TellsWhichPatternMatchedNothingWithTheNearestNames) {
  config_.save_all = false;
  config_.include_regex = {"fc1_outputs"};
  auto session = open();
  session->begin_step();
  put(*session, "fc1_output_0", {1});
  put(*session, "relu_output_0", {1});
  session->begin_step();
  EXPECT_THAT(log_.text(), HasSubstr("'fc1_outputs' matched no tensor"));
  EXPECT_THAT(log_.text(), HasSubstr("fc1_output_0"));
  EXPECT_THAT(session->summary(), HasSubstr("collection 'default': 0 of 2"));
}

TEST_F(SessionPlanTest, LogsHowOftenItSavesWhereAllCollectionsAgree) {
  config_.save_all = false;
  config_.include_collections = {"weights", "losses"};
  every_step(500);
  int runs = 0;
  const auto logged = [&] {
    RecordingLogger log(LogLevel::info);
    SessionOptions options;
    config_.out_dir = "memory://logs_how_often_" + std::to_string(runs++);
    options.config = config_;
    options.framework = pytorch_framework();
    options.logger = &log;
    const auto session = Session::create(std::move(options));
    EXPECT_TRUE(session) << session.error().message;
    if (!session) return std::string();
    (*session)->begin_step();
    put(**session, "fc.weight", {1});
    put(**session, "loss_output_0", {1});
    (*session)->begin_step();
    EXPECT_TRUE((*session)->close().ok());
    return log.text();
  };
  EXPECT_THAT(logged(), HasSubstr(" from step 0, every 500 steps: 2 of 2 "));
  SaveConfigMode listed;
  for (Step step = 0; step < 100; ++step) listed.save_steps.push_back(step);
  config_.save_config = SaveConfig(listed);
  EXPECT_THAT(logged(), HasSubstr("every 500 steps, and at 0, 1, 2, 3, 4, 5, "
                                  "6, 7 and 92 more: 2 of 2 "));
  Collection losses = *config_.find_collection(pytorch_framework(), "losses");
  losses.save_config = SaveConfig(SaveConfigMode{.save_interval = 1});
  config_.collections = {losses};
  EXPECT_THAT(logged(), HasSubstr(" from step 0: 2 of 2 "));
}

TEST_F(SessionPlanTest, SaysHowToCorrectAPatternThatMatchedNothing) {
  config_.save_all = false;
  config_.include_regex = {"fc1_outputs"};
  auto session = open();
  session->begin_step();
  put(*session, "fc1_output_0", {1});
  session->begin_step();
  EXPECT_THAT(log_.text(), HasSubstr("are 'fc1_output_0': change include_regex "
                                     "to match the tensors that you want"));
}

TEST_F(SessionPlanTest, NamesTheRuleWhosePatternMatchedNothing) {
  config_.save_all = false;
  Collection of_rule;
  of_rule.tensors = {.name = "rule_DeadRelu", .include_regex = {"fc1_outputs"}};
  config_.collections.push_back(of_rule);
  config_.include_collections = {"rule_DeadRelu"};
  auto session = open();
  session->begin_step();
  put(*session, "fc1_output_0", {1});
  session->begin_step();
  EXPECT_THAT(log_.text(),
              HasSubstr("rule 'DeadRelu' has nothing to judge: 'fc1_outputs' "
                        "matched no tensor of the first saved step"));
  EXPECT_THAT(log_.text(), HasSubstr("change the patterns of the rule"));
}

// As the XGBoost adapter does without data for SHAP values.
TEST_F(SessionPlanTest, ReportsACollectionThatWasSkippedAsAWholeOnce) {
  config_.save_all = false;
  config_.include_collections = {"biases", "weights"};
  auto session = open();
  session->begin_step();
  put(*session, "fc1.weight", {1});
  session->tensor("biases").skip("there are no data");
  session->begin_step();
  put(*session, "fc1.weight", {1});
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(log_.lines(), testing::Contains(HasSubstr("'biases'")).Times(1));
  EXPECT_THAT(log_.text(), HasSubstr("there are no data"));
  EXPECT_THAT(session->summary(),
              HasSubstr("collection 'weights': 1 of 1 tensors"));
}

TEST_F(SessionPlanTest, OffersNoSkippedTensorAsTheNearestName) {
  config_.save_all = false;
  config_.include_regex = {"fc1_outputs"};
  auto session = open();
  session->begin_step();
  put(*session, "relu", {1});
  session->tensor("fc1_output").skip("it has no elements");
  session->begin_step();
  EXPECT_THAT(log_.text(), HasSubstr("for example, 'relu'"));
}

TEST_F(SessionPlanTest, LogsAPatternWithoutMatchOncePerRun) {
  config_.save_all = false;
  config_.include_regex = {"fc1_outputs"};
  auto session = open();
  session->begin_step();
  put(*session, "fc1_output_0", {1});
  session->begin_step();
  HookConfig edited = session->config();
  edited.include_collections = {"weights"};
  ASSERT_TRUE(session->set_config(edited).ok());
  session->begin_step();
  put(*session, "relu_output_0", {1});
  session->begin_step();
  edited.include_regex = {"fc2_outputs"};
  ASSERT_TRUE(session->set_config(edited).ok());
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(
      log_.lines(),
      testing::Contains(HasSubstr("'fc1_outputs' matched no tensor")).Times(1));
}

TEST_F(SessionPlanTest, WarnsOfABuiltInCollectionOnlyIfItStaysEmptyToTheEnd) {
  config_.save_all = false;
  config_.include_collections = {"losses", "biases"};
  auto session = open();
  session->begin_step();
  put(*session, "fc1.weight", {1});
  session->begin_step();
  EXPECT_THAT(log_.text(), Not(HasSubstr("matched no tensor")));
  put(*session, "CrossEntropyLoss_output_0", {1});
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(log_.text(), Not(HasSubstr("'losses' should be saved")));
  EXPECT_THAT(log_.text(), HasSubstr("'biases' should be saved"));
}

TEST_F(SessionPlanTest, DoesNotMissALossThatTheUserDidNotAskFor) {
  config_.save_all = false;
  config_.include_collections = {"weights"};
  auto session = open();
  session->begin_step();
  put(*session, "fc1.weight", {1});
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(log_.text(), Not(HasSubstr("'losses'")));
}

TEST_F(SessionPlanTest, TellsAtOnceWhyTheFirstSavedStepIsEmpty) {
  config_.save_all = false;
  auto session = open();
  session->begin_step();
  session->tensor("fc1_output_0");
  session->begin_step();
  EXPECT_THAT(log_.text(), HasSubstr("no loss was seen in it: pass a loss"));
  EXPECT_THAT(log_.text(), Not(HasSubstr("register the model")));
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(log_.lines(),
              testing::Contains(HasSubstr("no loss was seen")).Times(1));
}

TEST_F(SessionPlanTest, TellsThatAGradientNeedsABackwardPass) {
  config_.save_all = false;
  config_.include_collections = {"gradients"};
  auto session = open();
  session->begin_step();
  session->tensor("gradient/Net_fc1.weight");
  session->begin_step();
  EXPECT_THAT(log_.text(),
              HasSubstr("none of the 1 tensors to save was captured; a "
                        "gradient needs a backward pass"));
}

TEST_F(SessionPlanTest, TellsOfABuiltInCollectionWithoutPatternsAtTheEnd) {
  config_.save_all = false;
  config_.include_collections = {"inputs"};
  auto session = open();
  session->begin_step();
  put(*session, "CrossEntropyLoss_output_0", {1});
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(log_.text(), HasSubstr("collection 'inputs' should be saved, but "
                                     "no tensor of the run belongs to it"));
}

TEST_F(SessionPlanTest, HidesThePatternsOfARuleUnderSmdebugRun) {
  setenv("SMDEBUG_RUN", "{}", 1);
  config_.save_all = false;
  config_.collections = {{{"labels", {"^(?!.*MSELoss_).*Loss_input_1$"}, {}}}};
  config_.include_collections = {"labels"};
  auto session = open();
  session->begin_step();
  put(*session, "MSELoss_input_1", {1});
  ASSERT_TRUE(session->close().ok());
  unsetenv("SMDEBUG_RUN");
  EXPECT_THAT(log_.text(),
              HasSubstr("collection 'labels' should be saved, but no tensor of "
                        "the run belongs to it; names that were seen are"));
  EXPECT_THAT(log_.text(), Not(HasSubstr("(?!")));
}

TEST_F(SessionPlanTest, LogsTheReasonThatAnAdapterGivesOfAnEmptyCollection) {
  config_.save_all = false;
  config_.include_collections = {"buffers", "inputs", "learning_rate"};
  auto session = open();
  session->begin_step();
  put(*session, "learning_rate/SGD/0", {1});
  session->explain_empty("buffers", "the models have none");
  session->explain_empty("learning_rate", "no optimizer has acted");
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(log_.text(), HasSubstr("collection 'buffers' should be saved, "
                                     "but the models have none"));
  EXPECT_THAT(log_.text(), HasSubstr("collection 'inputs' should be saved, but "
                                     "no tensor of the run belongs to it"));
  EXPECT_THAT(log_.text(), Not(HasSubstr("no optimizer has acted")));
  EXPECT_THAT(log_.text(), Not(HasSubstr("include_regex")));
}

TEST_F(SessionPlanTest, TellsNothingOfAnOptionalCollectionThatFindsNothing) {
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
  EXPECT_THAT(log_.text(), Not(HasSubstr("rare")));
  EXPECT_THAT(session->summary(), HasSubstr("collection 'default': 1 of 1"));
}

TEST_F(SessionPlanTest, RewritesTheCollectionsFileWhenANameIsNew) {
  auto session = open();
  session->begin_step();
  put(*session, "a", {1});
  session->begin_step();
  ASSERT_TRUE(session->flush().ok());
  EXPECT_THAT(listed_names(), ElementsAre("a"));
  put(*session, "late", {1});
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(listed_names(), ElementsAre("a", "late"));
}

TEST_F(SessionPlanTest, ListsASkippedTensorInNoCollectionUntilItIsSaved) {
  config_.save_all = true;
  auto session = open();
  session->begin_step();
  put(*session, "a", {1});
  session->tensor("absent").skip("it has no values");
  put(*session, "large", {1});
  session->tensor("large").skip("only its statistics are saved");
  session->end_step();
  ASSERT_TRUE(session->flush().ok());
  EXPECT_THAT(listed_names(), ElementsAre("a", "large"));
  session->begin_step();
  put(*session, "absent", {1});
  ASSERT_TRUE(session->close().ok());
  EXPECT_THAT(listed_names(), ElementsAre("a", "absent", "large"));
}

TEST_F(SessionPlanTest, ExportsItsCollectionsWhenAsked) {
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

TEST_F(SessionPlanTest, TellsByNameWhatTheOpenStepSaves) {
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

TEST_F(SessionPlanTest, KnowsWhetherASlotCanEverMatch) {
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

// Counts the bytes of the collections files.
class CollectionsMeter : public ForwardingStorage {
 public:
  using ForwardingStorage::ForwardingStorage;
  Result<std::unique_ptr<ObjectWriter>> create(std::string_view key) override {
    SMD_TRY(auto writer, ForwardingStorage::create(key));
    if (!key.starts_with(kCollectionsPrefix)) return writer;
    return std::unique_ptr<ObjectWriter>(
        std::make_unique<Writer>(std::move(writer), bytes_));
  }
  std::size_t bytes() const { return bytes_; }

 private:
  class Writer : public ObjectWriter {
   public:
    Writer(std::unique_ptr<ObjectWriter> inner, std::atomic<std::size_t>& bytes)
        : inner_(std::move(inner)), bytes_(bytes) {}
    Status append(std::span<const std::span<const std::byte>> parts) override {
      for (const auto part : parts) bytes_ += part.size();
      return inner_->append(parts);
    }
    Status commit() override { return inner_->commit(); }
    void abort() override { inner_->abort(); }

   private:
    const std::unique_ptr<ObjectWriter> inner_;
    std::atomic<std::size_t>& bytes_;
  };
  std::atomic<std::size_t> bytes_ = 0;
};

TEST_F(SessionPlanTest, WritesNewNamesAtEachStepWithoutQuadraticCost) {
  const auto meter = std::make_shared<CollectionsMeter>(storage_);
  storage_ = meter;
  auto session = open();
  constexpr int kSteps = 3000;
  for (int i = 0; i < kSteps; ++i) {
    session->begin_step();
    put(*session, "tensor_" + std::to_string(i), {1});
    session->end_step();
  }
  ASSERT_TRUE(session->flush());
  const std::string last = text(collections_file_key("worker_0"));
  EXPECT_THAT(last, HasSubstr("tensor_" + std::to_string(kSteps - 1)));
  // Writing it at each step would take 1500 times its size.
  EXPECT_LT(meter->bytes(), 20 * last.size());
  ASSERT_TRUE(session->close());
}

TEST_F(SessionPlanTest, LogsAPatternThatGivesUpAtALaterStep) {
  config_.include_regex = {"^(a|a)*$"};
  auto session = open();
  session->begin_step();
  put(*session, "b", {1});
  session->end_step();
  EXPECT_THAT(log_.lines(), testing::IsEmpty());
  for (int i = 0; i < 20; ++i) {
    session->begin_step();
    put(*session, std::string(60, 'a') + "b" + std::to_string(i), {1});
    session->end_step();
  }
  EXPECT_THAT(log_.lines(), testing::ElementsAre(HasSubstr("'^(a|a)*$'")));
  ASSERT_TRUE(session->close());
}

}  // namespace
}  // namespace smdebug
