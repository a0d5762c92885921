// Tests `smdebug explain` on a run with weights every 10 steps, losses at every
// step, and no inputs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli_testing.h"
#include "tests/support/recording_logger_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

SaveConfig every(Step interval) {
  SaveConfigMode mode;
  mode.save_interval = interval;
  return SaveConfig(mode);
}

void put(Session& session, const std::string& name) {
  const float value = 1;
  session.tensor(name).put(
      {DType::float32, reinterpret_cast<const std::byte*>(&value), {}, {}});
}

class Explain : public testing::Test {
 protected:
  Explain() {
    SessionOptions options;
    options.config.out_dir = run_;
    options.config.save_config = every(10);
    options.config.include_collections = {"weights", "gradients", "losses"};
    options.framework = pytorch_framework();
    Collection losses =
        *options.config.find_collection(options.framework, "losses");
    losses.save_config = every(1);
    Collection inputs;
    inputs.tensors = {"inputs", {"_input_"}, {}};
    options.config.collections = {losses, inputs};
    NullLogger silent;
    options.logger = &silent;
    auto session = Session::create(std::move(options));
    for (Step step = 0; step < 25; ++step) {
      (*session)->set_mode(step == 24 ? Mode::eval : Mode::train);
      (*session)->begin_step();
      put(**session, "Net_fc.weight");
      if (step != 10) put(**session, "gradient/Net_fc.weight");
      put(**session, "MSELoss_output_0");
    }
    EXPECT_TRUE((*session)->close());
  }

  Spoken explain(std::vector<std::string> words) {
    words.insert(words.begin(), {"explain", run_});
    return smdebug(words);
  }

  TemporaryFolder folder_;
  const std::string run_ = folder_.path("run");
};

TEST_F(Explain, SaysWhatWasSavedAtAStepAndForWhichCollection) {
  const Spoken spoken = explain({"Net_fc.weight", "20"});
  EXPECT_EQ(spoken.code, 0) << spoken.err;
  EXPECT_THAT(
      spoken.out,
      AllOf(HasSubstr("Net_fc.weight was saved at step 20 (TRAIN step 20): "
                      "collection 'weights' was due: its values, its "
                      "statistics, by worker_0"),
            HasSubstr("every 10 steps")));
}

TEST_F(Explain, SaysWhenATensorIsDueThatWasNotDueAtAStep) {
  const Spoken spoken = explain({"Net_fc.weight", "13"});
  EXPECT_THAT(
      spoken.out,
      HasSubstr("not saved at step 13 (TRAIN step 13): collection 'weights' is "
                "saved every 10 steps; previously at 10, next at 20"));
}

TEST_F(Explain, SaysThatATensorDidNotComeWhereOthersDid) {
  const Spoken spoken = explain({"gradient/Net_fc.weight", "10"});
  EXPECT_THAT(spoken.out, AllOf(HasSubstr("was not saved at step 10"),
                                HasSubstr("collection 'gradients' was due and "
                                          "other tensors of the step exist")));
}

TEST_F(Explain, SaysThatGradientsAreNeverSavedInEvaluation) {
  const Spoken spoken =
      explain({"gradient/Net_fc.weight", "0", "--mode", "EVAL"});
  EXPECT_THAT(spoken.out, AllOf(HasSubstr("not saved at step 24 (EVAL step 0)"),
                                HasSubstr("never in mode EVAL")));
}

TEST_F(Explain, NamesTheModeAndTheStepsOfOthers) {
  const Spoken spoken = explain({"Net_fc.weight", "--mode", "PREDICT"});
  EXPECT_THAT(spoken.out, AllOf(HasSubstr("not saved at any PREDICT step"),
                                HasSubstr("saved: "), HasSubstr(" TRAIN step"),
                                Not(HasSubstr("in this mode"))));
}

TEST_F(Explain, SaysThatACollectionIsNotAmongThoseSaved) {
  const Spoken spoken = explain({"fc_input_0"});
  EXPECT_THAT(spoken.out,
              AllOf(HasSubstr("collection 'inputs' is not saved: add it to "
                              "include_collections"),
                    HasSubstr("pattern \"_input_\"")));
}

TEST_F(Explain, SaysThatTheRunEndedBeforeTheStep) {
  const Spoken spoken = explain({"Net_fc.weight", "100", "--mode", "TRAIN"});
  EXPECT_THAT(spoken.out, HasSubstr("collection 'weights' is due, but the "
                                    "last TRAIN step of the run is 23"));
}

TEST_F(Explain, NamesNoStepsAfterTheEndOfTheRun) {
  for (const char* step : {"999", "99999"}) {
    const Spoken spoken = explain({"Net_fc.weight", step, "--mode", "TRAIN"});
    EXPECT_THAT(spoken.out,
                AllOf(HasSubstr("the last TRAIN step of the run is 23"),
                      Not(HasSubstr("next at"))));
  }
}

TEST_F(Explain, SaysHowToSaveATensorThatNoCollectionHas) {
  const Spoken spoken = explain({"conv_output_1"});
  EXPECT_EQ(spoken.code, 1);
  EXPECT_THAT(spoken.out,
              HasSubstr("if the model has such a tensor, include_regex="
                        "[\"conv_output_1\"] of the hook saves it"));
  EXPECT_THAT(explain({"conv[1]"}).out,
              HasSubstr("a pattern in include_regex of the hook saves it"));
}

TEST_F(Explain, NamesTheTensorOfWhichThisIsAPart) {
  EXPECT_THAT(explain({"Net_fc"}).out,
              AllOf(HasSubstr("did you mean 'Net_fc.weight'"),
                    Not(HasSubstr("include_regex"))));
}

TEST_F(Explain, NoticesThatTheRunIsNotNamedFirst) {
  for (const char* command : {"explain", "tensor"}) {
    const Spoken spoken = smdebug({command, "Net_fc.weight", run_});
    EXPECT_EQ(spoken.code, 2);
    EXPECT_THAT(spoken.err, HasSubstr("no run at 'Net_fc.weight', but '" +
                                      run_ + "' is a run: name the run first"));
  }
}

TEST_F(Explain, OffersTheNearestNamesOfATensorThatNeverCame) {
  const Spoken spoken = explain({"Net_fd.weight"});
  EXPECT_EQ(spoken.code, 1);
  EXPECT_THAT(spoken.out,
              AllOf(HasSubstr("collection 'weights' would save it, but the "
                              "training had no tensor of this name"),
                    HasSubstr("'Net_fc.weight'")));
}

TEST_F(Explain, CountsTheStepsWhereNoneIsAskedFor) {
  const std::string said = explain({"MSELoss_output_0"}).out;
  EXPECT_THAT(said, HasSubstr(": saved at 25 steps, from 0 to 24\n"));
  EXPECT_EQ(said.find("25 steps"), said.rfind("25 steps")) << said;
}

TEST_F(Explain, AnswersInJson) {
  const Spoken spoken = explain({"Net_fc.weight", "13", "--json"});
  EXPECT_THAT(spoken.out, AllOf(HasSubstr(R"("was_saved": false)"),
                                HasSubstr(R"("is_due": false)"),
                                HasSubstr(R"("due_after": 20)")));
}

TEST_F(Explain, RefusesAModeThatDoesNotExist) {
  const Spoken spoken = explain({"Net_fc.weight", "3", "--mode", "TEST"});
  EXPECT_EQ(spoken.code, 2);
  EXPECT_THAT(spoken.err, HasSubstr("unknown mode 'TEST'"));
}

}  // namespace
}  // namespace smdebug
