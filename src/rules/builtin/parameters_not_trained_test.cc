#include <functional>
#include <set>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using Names = std::set<std::string>;

TensorStatistics zeros() {
  TensorStatistics statistics;
  statistics.count = statistics.zeros = 10;
  return statistics;
}

// A model of three layers with a weight each. Each function returns what
// happens at a step.
struct Model {
  std::vector<std::string> parameters = {"Net_a.weight", "Net_b.weight",
                                         "Net_c.weight"};
  // Those that have moved by then differ from step to step.
  std::function<Names(Step)> moving = [](Step) { return Names(); };
  std::function<Names(Step)> with_gradient = [](Step) {
    return Names{"Net_a.weight", "Net_b.weight", "Net_c.weight"};
  };
  Step first = 0;

  StepBuilder at(Step step, const std::string& worker = "worker_0") const {
    StepBuilder built(step);
    add_to(built, step, worker);
    return built;
  }

  void add_to(StepBuilder& built, Step step, const std::string& worker) const {
    for (const std::string& name : parameters) {
      Step updates = 0;
      for (Step each = first; each < step; ++each) {
        updates += moving(each).contains(name);
      }
      built.with_statistics(name, even_statistics(1 + 1e-7 * double(updates)))
          .from_worker(worker);
    }
    for (const std::string& name : parameters) {
      if (!with_gradient(step).contains(name)) continue;
      built.with_statistics("gradient/" + name, even_statistics(0.1))
          .from_worker(worker);
    }
  }
};

std::function<Names(Step)> always(Names names) {
  return [names = std::move(names)](Step) { return names; };
}

ParameterFacts parameter(std::string tensor,
                         std::optional<GroupPosition> updated_by) {
  ParameterFacts facts;
  facts.tensor = std::move(tensor);
  facts.updated_by = updated_by;
  return facts;
}

OptimizerGroupFacts group(std::uint64_t parameters, std::uint64_t foreign,
                          double rate) {
  return {parameters, foreign, {{"learning_rate", rate}}};
}

constexpr GroupPosition kFirst = {0, 0};
constexpr GroupPosition kSecond = {0, 1};

// One optimizer holds those of `held`.
RunFacts facts_of(const Model& model, const Names& held, Step step = 0) {
  RunFacts facts;
  facts.step = step;
  for (const std::string& name : model.parameters) {
    facts.parameters.push_back(parameter(
        name, held.contains(name) ? std::optional(kFirst) : std::nullopt));
  }
  facts.optimizers = {{"Adam", {group(held.size(), 0, 1e-3)}}};
  return facts;
}

// The global step at which the rule fires in a run that saves each `interval`
// steps; -1 if it does not.
Step fires_in(RuleHarness& rule, const Model& model, Step interval = 10,
              Step end = 201) {
  for (Step step = model.first; step < end; step += interval) {
    if (rule.fires_at(model.at(step))) return step;
  }
  return -1;
}

TEST(ParametersNotTrained, FindsAForgottenStepWithoutAnyFacts) {
  RuleHarness rule("ParametersNotTrained");
  EXPECT_EQ(fires_in(rule, Model()), 60);
  EXPECT_EQ(rule.verdict().message,
            "none of 3 trainable parameters has moved since step 0: "
            "Net_a.weight, Net_b.weight, Net_c.weight; they receive gradients, "
            "but no optimizer was seen to act, at step 60 (TRAIN step 60)");
  EXPECT_THAT(rule.verdict().cause, HasSubstr("step() is never called"));
  EXPECT_EQ(rule.verdict().severity, Severity::fatal);
  EXPECT_EQ(rule.verdict().evidence.size(), 3u);
  EXPECT_EQ(rule.verdict().position, 0u);
}

TEST(ParametersNotTrained, FindsUpdatesOfZeroOnceAnOptimizerActs) {
  Model model;
  RuleHarness rule("ParametersNotTrained");
  rule.knows(facts_of(model, {"Net_a.weight", "Net_b.weight", "Net_c.weight"}),
             "worker_0");
  EXPECT_EQ(fires_in(rule, model), 30);
  EXPECT_THAT(rule.verdict().cause, HasSubstr("cleared or clipped to 0"));
  EXPECT_EQ(rule.verdict().severity, Severity::fatal);
}

TEST(ParametersNotTrained, FindsAnOptimizerOfAnotherModel) {
  Model model;
  RunFacts facts = facts_of(model, {});
  facts.optimizers = {{"Adam", {group(3, 3, 1e-3)}}};
  RuleHarness rule("ParametersNotTrained");
  rule.knows(facts, "worker_0");
  EXPECT_EQ(fires_in(rule, model), 30);
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("; the optimizer holds none of them, only parameters "
                        "that no recorded model has, at step 30"));
  EXPECT_THAT(rule.verdict().cause, HasSubstr("before the model was copied"));
  EXPECT_EQ(rule.verdict().severity, Severity::fatal);
}

TEST(ParametersNotTrained, FindsParametersInNoOptimizer) {
  Model model;
  model.moving = always({"Net_b.weight"});
  RuleHarness rule("ParametersNotTrained");
  rule.knows(facts_of(model, {"Net_b.weight"}), "worker_0");
  EXPECT_EQ(fires_in(rule, model), 30);
  EXPECT_EQ(rule.verdict().message,
            "2 of 3 trainable parameters have not moved since step 0: "
            "Net_a.weight, Net_c.weight; they receive gradients, but no "
            "optimizer that acts holds them, at step 30 (TRAIN step 30)");
  EXPECT_THAT(rule.verdict().cause, HasSubstr("after the optimizer was made"));
  EXPECT_EQ(rule.verdict().severity, Severity::serious);
}

TEST(ParametersNotTrained, FindsAGroupWithALearningRateOfZero) {
  Model model;
  model.moving = always({"Net_a.weight", "Net_b.weight"});
  RunFacts facts = facts_of(model, {"Net_a.weight", "Net_b.weight"});
  facts.parameters[2].updated_by = kSecond;
  facts.optimizers[0].groups.push_back(group(1, 0, 0));
  RuleHarness rule("ParametersNotTrained");
  rule.knows(facts, "worker_0");
  EXPECT_EQ(fires_in(rule, model), 30);
  EXPECT_THAT(rule.verdict().message,
              AllOf(HasSubstr("1 of 3 trainable parameters has not moved"),
                    HasSubstr("learning rate of their optimizer group is 0")));
  EXPECT_EQ(rule.verdict().severity, Severity::serious);
}

TEST(ParametersNotTrained, CallsALearningRateOfZeroForAllFatal) {
  Model model;
  RunFacts facts =
      facts_of(model, {"Net_a.weight", "Net_b.weight", "Net_c.weight"});
  facts.optimizers = {{"SGD", {group(3, 0, 0)}}};
  RuleHarness rule("ParametersNotTrained");
  rule.knows(facts, "worker_0");
  EXPECT_EQ(fires_in(rule, model), 30);
  EXPECT_THAT(rule.verdict().cause, HasSubstr("learning rate is 0"));
  EXPECT_EQ(rule.verdict().severity, Severity::fatal);
}

TEST(ParametersNotTrained, FindsAPartThatIsDetachedFromTheLoss) {
  Model model;
  model.moving = model.with_gradient = always({"Net_b.weight", "Net_c.weight"});
  RuleHarness rule("ParametersNotTrained");
  rule.knows(facts_of(model, {"Net_a.weight", "Net_b.weight", "Net_c.weight"}),
             "worker_0");
  EXPECT_EQ(fires_in(rule, model), 60);
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("; an optimizer holds them, but they never receive a "
                        "gradient, at step 60"));
  EXPECT_THAT(rule.verdict().cause, HasSubstr("detached from the loss"));
  EXPECT_EQ(rule.verdict().severity, Severity::serious);
}

TEST(ParametersNotTrained, FindsAModelThatIsDetachedFromTheLoss) {
  Model model;
  model.with_gradient = always({});
  const Names all = {"Net_a.weight", "Net_b.weight", "Net_c.weight"};
  RuleHarness rule("ParametersNotTrained");
  rule.knows(facts_of(model, all), "worker_0");
  EXPECT_EQ(fires_in(rule, model), 60);
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("none of 3 trainable parameters has moved since step "
                        "0: Net_a.weight, Net_b.weight, Net_c.weight; an "
                        "optimizer holds them, but they never receive a "
                        "gradient, at step 60"));
  EXPECT_EQ(rule.verdict().severity, Severity::fatal);
  // One that is not trained.
  RuleHarness held_in_part("ParametersNotTrained");
  held_in_part.knows(facts_of(model, {"Net_a.weight"}), "worker_0");
  EXPECT_EQ(fires_in(held_in_part, model), -1);
}

// Dead units and weights of 0, which other rules find, lead to them.
TEST(ParametersNotTrained, OnlyAdvisesAboutGradientsOfZero) {
  Model model;
  model.moving = model.with_gradient = always({"Net_b.weight", "Net_c.weight"});
  RuleHarness rule("ParametersNotTrained");
  rule.knows(facts_of(model, {"Net_a.weight", "Net_b.weight", "Net_c.weight"}),
             "worker_0");
  for (Step step = 0; step < 200; step += 10) {
    StepBuilder built = model.at(step);
    built.with_statistics("gradient/Net_a.weight", zeros());
    ASSERT_FALSE(rule.fires_at(built)) << step;
  }
  EXPECT_EQ(rule.finish().severity, Severity::advice);
  EXPECT_THAT(rule.verdict().message, HasSubstr("gradients are always 0"));
  EXPECT_THAT(rule.verdict().cause, HasSubstr("weights are 0"));
}

// Such as the pooling layer of a pretrained model that a task does not use.
TEST(ParametersNotTrained, OnlyAdvisesAboutASmallPartWithoutGradients) {
  Model model;
  model.parameters.clear();
  Names trained;
  for (char layer = 'a'; layer <= 'i'; ++layer) {
    model.parameters.push_back(std::string("Net_") + layer + ".weight");
    if (layer != 'h') trained.insert(model.parameters.back());
  }
  model.moving = model.with_gradient = always(trained);
  RuleHarness rule("ParametersNotTrained");
  rule.knows(
      facts_of(model, Names(model.parameters.begin(), model.parameters.end())),
      "worker_0");
  EXPECT_EQ(fires_in(rule, model), -1);
  EXPECT_EQ(rule.finish().severity, Severity::advice);
  EXPECT_THAT(rule.verdict().message, HasSubstr("Net_h.weight"));
}

TEST(ParametersNotTrained, NamesAFewParametersAndCountsTheRest) {
  Model model;
  model.parameters.clear();
  for (int layer = 0; layer < 20; ++layer) {
    model.parameters.push_back("Net_" + std::to_string(layer) + ".weight");
  }
  model.with_gradient =
      always(Names(model.parameters.begin(), model.parameters.end()));
  model.moving = always({"Net_3.weight", "Net_4.weight"});
  RuleHarness rule("ParametersNotTrained");
  rule.knows(facts_of(model, {"Net_3.weight", "Net_4.weight"}), "worker_0");
  EXPECT_EQ(fires_in(rule, model), 30);
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("18 of 20 trainable parameters have not moved since "
                        "step 0: Net_0.weight, Net_1.weight, Net_2.weight, and "
                        "15 more;"));
  EXPECT_EQ(rule.verdict().evidence.size(), 18u);
}

TEST(ParametersNotTrained, FindsTheFaultOfASecondWorker) {
  Model good, bad;
  good.moving = always({"Net_a.weight", "Net_b.weight", "Net_c.weight"});
  bad.moving = always({"Net_a.weight"});
  RuleHarness rule("ParametersNotTrained");
  rule.knows(facts_of(good, {"Net_a.weight", "Net_b.weight", "Net_c.weight"}),
             "worker_0");
  rule.knows(facts_of(bad, {"Net_a.weight"}), "worker_1");
  bool fired = false;
  for (Step step = 0; step <= 30 && !fired; step += 10) {
    StepBuilder built = good.at(step);
    bad.add_to(built, step, "worker_1");
    fired = rule.fires_at(built);
  }
  EXPECT_TRUE(fired);
  EXPECT_THAT(rule.verdict().message, HasSubstr("Net_b.weight (worker_1)"));
  EXPECT_EQ(rule.verdict().evidence.front().worker, "worker_1");
}

TEST(ParametersNotTrained, PassesATrainingInWhichAllMoves) {
  Model model;
  model.moving = model.with_gradient;
  RuleHarness rule("ParametersNotTrained");
  EXPECT_EQ(fires_in(rule, model), -1);
  EXPECT_EQ(rule.finish().message, "nothing found in 20 steps");
}

TEST(ParametersNotTrained, PassesGradientAccumulation) {
  for (const Step every : {2, 8, 16, 40, 60}) {
    Model model;
    model.moving = [&](Step step) {
      return (step + 1) % every ? Names() : model.with_gradient(step);
    };
    RuleHarness rule("ParametersNotTrained");
    EXPECT_EQ(fires_in(rule, model), -1) << every;
  }
}

// Only the optimizer of the discriminator has acted in a saved step.
TEST(ParametersNotTrained, PassesModelsThatTrainInTurns) {
  Model model;
  model.moving = [](Step step) {
    return step % 50 < 25 ? Names{"Net_a.weight"}
                          : Names{"Net_b.weight", "Net_c.weight"};
  };
  RuleHarness rule("ParametersNotTrained");
  rule.knows(facts_of(model, {"Net_a.weight"}), "worker_0");
  EXPECT_EQ(fires_in(rule, model), -1);
}

// FSDP, DeepSpeed and master weights: the optimizer holds tensors of its own.
// The weight of a normalization may not move for long in bfloat16.
TEST(ParametersNotTrained, PassesAnOptimizerThatHoldsCopies) {
  Model model;
  model.moving = always({"Net_a.weight", "Net_c.weight"});
  RunFacts facts = facts_of(model, {});
  facts.optimizers = {{"FusedAdam", {group(1, 1, 1e-3)}}};
  RuleHarness rule("ParametersNotTrained");
  rule.knows(facts, "worker_0");
  EXPECT_EQ(fires_in(rule, model), -1);
}

TEST(ParametersNotTrained, PassesAFrozenBackbone) {
  Model model;
  model.moving = model.with_gradient = always({"Net_c.weight"});
  RunFacts facts = facts_of(model, {"Net_c.weight"});
  facts.parameters[0].is_trainable = facts.parameters[1].is_trainable = false;
  for (const bool has_facts : {false, true}) {
    RuleHarness rule("ParametersNotTrained");
    if (has_facts) rule.knows(facts, "worker_0");
    EXPECT_EQ(fires_in(rule, model), -1);
    EXPECT_EQ(rule.finish().status, RuleStatus::no_issues_found);
  }
}

// B starts at 0, so A gets a gradient of 0 until B has moved.
TEST(ParametersNotTrained, PassesLowRankAdapters) {
  Model model;
  model.moving = [](Step step) {
    return step == 0 ? Names{"Net_b.weight"}
                     : Names{"Net_a.weight", "Net_b.weight"};
  };
  model.with_gradient = model.moving;
  RunFacts facts = facts_of(model, {"Net_a.weight", "Net_b.weight"});
  facts.parameters[2].is_trainable = false;
  RuleHarness rule("ParametersNotTrained");
  rule.knows(facts, "worker_0");
  EXPECT_EQ(fires_in(rule, model), -1);
}

TEST(ParametersNotTrained, PassesAnExpertThatIsUsedRarely) {
  Model model;
  model.moving = model.with_gradient = [](Step step) {
    return step % 47 == 46
               ? Names{"Net_a.weight", "Net_b.weight", "Net_c.weight"}
               : Names{"Net_b.weight", "Net_c.weight"};
  };
  RuleHarness rule("ParametersNotTrained");
  rule.knows(facts_of(model, {"Net_a.weight", "Net_b.weight", "Net_c.weight"}),
             "worker_0");
  EXPECT_EQ(fires_in(rule, model), -1);
}

TEST(ParametersNotTrained, MentionsParametersThatNothingUses) {
  Model model;
  model.moving = model.with_gradient = always({"Net_b.weight", "Net_c.weight"});
  RuleHarness rule("ParametersNotTrained");
  rule.knows(facts_of(model, {"Net_b.weight", "Net_c.weight"}), "worker_0");
  EXPECT_EQ(fires_in(rule, model), -1);
  EXPECT_EQ(rule.finish().message, "nothing found in 20 steps");
  EXPECT_EQ(rule.verdict().note,
            "1 parameter without a gradient and in no optimizer: Net_a.weight");
}

TEST(ParametersNotTrained, MentionsThemBesideThoseThatAreFrozen) {
  Model model;
  model.moving = model.with_gradient = always({"Net_c.weight"});
  RunFacts facts = facts_of(model, {"Net_c.weight"});
  for (auto& each : facts.parameters) {
    each.is_trainable = each.tensor != "Net_b.weight";
  }
  RuleHarness rule("ParametersNotTrained");
  rule.knows(facts, "worker_0");
  EXPECT_EQ(fires_in(rule, model), -1);
  rule.finish();
  EXPECT_EQ(rule.verdict().note,
            "1 of 3 parameters is frozen: Net_b.weight; 1 parameter without a "
            "gradient and in no optimizer: Net_a.weight");
}

TEST(ParametersNotTrained, PassesAWarmUpFromZero) {
  Model model;
  model.moving = [&](Step step) {
    return step < 5 ? Names() : model.with_gradient(step);
  };
  RunFacts facts =
      facts_of(model, {"Net_a.weight", "Net_b.weight", "Net_c.weight"});
  facts.optimizers = {{"Adam", {group(3, 0, 0)}}};
  RuleHarness rule("ParametersNotTrained");
  rule.knows(facts, "worker_0");
  EXPECT_EQ(fires_in(rule, model), -1);
}

// A schedule that ends at 0, or a head that is fitted after its backbone.
TEST(ParametersNotTrained, PassesParametersThatTrainedBefore) {
  Model model;
  model.moving = [&](Step step) {
    return step < 50 ? model.with_gradient(step) : Names{"Net_c.weight"};
  };
  RuleHarness rule("ParametersNotTrained");
  rule.knows(facts_of(model, {"Net_c.weight"}), "worker_0");
  EXPECT_EQ(fires_in(rule, model), -1);
}

TEST(ParametersNotTrained, PassesSharedMemory) {
  Model model;
  model.moving = always({"Net_b.weight"});
  RunFacts facts = facts_of(model, {"Net_b.weight"});
  facts.parameters[0].is_trainable = false;
  facts.parameters[2].shared_with = "Net_b.weight";
  RuleHarness rule("ParametersNotTrained");
  rule.knows(facts, "worker_0");
  EXPECT_EQ(fires_in(rule, model), -1);
}

// It was frozen for a long time, and now it is given time to move.
TEST(ParametersNotTrained, WaitsAgainAfterAParameterWasUnfrozen) {
  Model model;
  model.moving = [](Step step) {
    return step < 115 ? Names{"Net_b.weight", "Net_c.weight"}
                      : Names{"Net_a.weight", "Net_b.weight", "Net_c.weight"};
  };
  RunFacts facts =
      facts_of(model, {"Net_a.weight", "Net_b.weight", "Net_c.weight"});
  RunFacts before = facts;
  before.parameters[0].is_trainable = false;
  before.parameters[0].updated_by.reset();
  facts.step = 100;
  RuleHarness rule("ParametersNotTrained");
  rule.knows(before, "worker_0");
  for (Step step = 0; step < 200; step += 10) {
    if (step == 100) rule.knows(facts, "worker_0");
    EXPECT_FALSE(rule.fires_at(model.at(step))) << step;
  }
}

TEST(ParametersNotTrained, JudgesARunThatResumes) {
  Model model;
  model.first = 5000;
  RuleHarness rule("ParametersNotTrained");
  EXPECT_EQ(fires_in(rule, model, 10, 5201), 5060);
}

TEST(ParametersNotTrained, JudgesWeightsThatAreSavedRarely) {
  RuleHarness rule("ParametersNotTrained");
  EXPECT_EQ(fires_in(rule, Model(), 500, 2001), 500);
}

TEST(ParametersNotTrained, ReportsThatThereIsTooLittleToJudge) {
  for (const Step end : {1, 21}) {
    RuleHarness rule("ParametersNotTrained");
    EXPECT_EQ(fires_in(rule, Model(), 10, end), -1);
    EXPECT_EQ(rule.finish().message,
              "nothing to judge: no parameter moved, and none was saved at two "
              "training steps that are num_steps=30 apart");
    EXPECT_TRUE(rule.verdict().lacks_data);
  }
}

TEST(ParametersNotTrained, ReportsParametersThatWereSavedInNoUsableForm) {
  RuleHarness rule("ParametersNotTrained");
  rule.fires_at(StepBuilder(0).with_nothing("Net_fc.weight"));
  EXPECT_EQ(rule.finish().message,
            "nothing to judge: weights and biases were saved without values "
            "and statistics");
  EXPECT_TRUE(rule.verdict().lacks_data);
}

TEST(ParametersNotTrained, DoesNotApplyToARunWithoutParameters) {
  RuleHarness rule("ParametersNotTrained");
  rule.fires_at(
      StepBuilder(0).with_statistics("gradient/fc.weight", even_statistics(1)));
  EXPECT_EQ(rule.finish().message,
            "nothing to judge: no weights or biases were saved");
  EXPECT_EQ(rule.verdict().observations_found, 0u);
}

TEST(ParametersNotTrained, ReportsParametersThatWereNotFollowedForLong) {
  Model model;
  model.moving = always({"Net_a.weight"});
  RuleHarness rule("ParametersNotTrained");
  EXPECT_EQ(fires_in(rule, model, 10, 21), -1);
  EXPECT_EQ(rule.finish().message,
            "nothing found in 2 steps; not judged: 2 parameters that did not "
            "move, in fewer than num_steps=30 steps");
}

TEST(ParametersNotTrained, DoesNotJudgeEvaluations) {
  Model model;
  RuleHarness rule("ParametersNotTrained");
  for (Step step = 0; step < 100; step += 10) {
    StepBuilder built({step, Mode::eval, step});
    model.add_to(built, step, "worker_0");
    EXPECT_FALSE(rule.fires_at(built));
  }
  EXPECT_EQ(rule.finish().message,
            "nothing to judge: no weights or biases were saved in a training "
            "step");
}

// A head with other classes begins anew.
TEST(ParametersNotTrained, FollowsAReplacedParameter) {
  RuleHarness rule("ParametersNotTrained");
  Model model;
  model.moving = always({"Net_a.weight"});
  rule.knows(facts_of(model, {"Net_a.weight"}), "worker_0");
  EXPECT_FALSE(rule.fires_at(model.at(0)));
  model.parameters.pop_back();
  TensorStatistics other = even_statistics(3);
  bool fired = false;
  for (Step step = 10; step <= 40 && !fired; step += 10) {
    StepBuilder built(step);
    built.with_statistics("Net_a.weight", even_statistics(double(step)))
        .with_statistics("Net_c.weight", other)
        .of_shape({2, 5})
        .with_statistics("gradient/Net_c.weight", even_statistics(1));
    fired = rule.fires_at(built);
    EXPECT_EQ(fired, step == 40);
  }
  EXPECT_THAT(rule.verdict().message, HasSubstr("since step 10: Net_c.weight"));
}

TEST(ParametersNotTrained, ExpectsAFrozenParameterOnlyIfItIsNamed) {
  Model model;
  model.moving = always({"Net_a.weight", "Net_c.weight"});
  RuleHarness quiet("ParametersNotTrained");
  RunFacts facts = facts_of(model, {"Net_a.weight", "Net_c.weight"});
  for (auto& each : facts.parameters) each.is_trainable = false;
  quiet.knows(facts, "worker_0");
  EXPECT_EQ(fires_in(quiet, model), -1);
  RuleHarness rule("ParametersNotTrained", {{"expect_frozen", "^Net_[ab]"}});
  EXPECT_EQ(fires_in(rule, model), 10);
  EXPECT_EQ(rule.verdict().message,
            "1 parameter that should be frozen moved since step 0: "
            "Net_a.weight, at step 10 (TRAIN step 10)");
}

TEST(ParametersNotTrained, TellsAPatternThatNoParameterMatches) {
  Model model;
  model.moving = always({"Net_a.weight", "Net_b.weight", "Net_c.weight"});
  RuleHarness rule("ParametersNotTrained", {{"expect_frozen", "encoder"}});
  rule.knows(facts_of(model, {"Net_a.weight", "Net_b.weight", "Net_c.weight"}),
             "worker_0");
  EXPECT_EQ(fires_in(rule, model), -1);
  rule.finish();
  const std::string text =
      "no parameter of the run matches "
      "expect_frozen='encoder'";
  EXPECT_THAT(rule.verdict().message, testing::HasSubstr(text));
  EXPECT_EQ(rule.verdict().note, "ParametersNotTrained: " + text);
}

// A fine-tuning freezes parts on purpose, so it is told and not a finding.
TEST(ParametersNotTrained, NotesWhatIsFrozen) {
  Model model;
  model.moving = always({"Net_a.weight"});
  RunFacts facts = facts_of(model, {"Net_a.weight"});
  for (auto& each : facts.parameters) {
    each.is_trainable = each.tensor == "Net_a.weight";
  }
  ParameterFacts moving_mean;
  moving_mean.tensor = "norm/weights/norm/moving_mean:0";
  moving_mean.is_trainable = false;
  facts.parameters.push_back(moving_mean);
  RuleHarness rule("ParametersNotTrained");
  rule.knows(facts, "worker_0");
  EXPECT_EQ(fires_in(rule, model), -1);
  EXPECT_EQ(rule.finish().status, RuleStatus::no_issues_found);
  EXPECT_EQ(rule.verdict().note,
            "2 of 3 parameters are frozen: Net_b.weight, Net_c.weight");
}

TEST(ParametersNotTrained, NotesNothingWhereEverythingTrains) {
  Model model;
  model.moving = always({"Net_a.weight", "Net_b.weight", "Net_c.weight"});
  RuleHarness rule("ParametersNotTrained");
  rule.knows(facts_of(model, {"Net_a.weight", "Net_b.weight", "Net_c.weight"}),
             "worker_0");
  EXPECT_EQ(fires_in(rule, model), -1);
  rule.finish();
  EXPECT_EQ(rule.verdict().note, "");
}

TEST(ParametersNotTrained, RefusesAPatternThatDoesNotCompile) {
  const auto rule =
      make_builtin_rule("ParametersNotTrained", {{"expect_frozen", "(("}});
  ASSERT_FALSE(rule);
  EXPECT_EQ(rule.error().code, Error::Code::invalid_config);
}

// The parameters of a Keras model, whose moving statistics are no parameters.
TEST(ParametersNotTrained, FindsAForgottenStepOfATapeInKeras) {
  RuleHarness rule("ParametersNotTrained");
  rule.in_a_run_with(
      {{"weights", {"/weights/"}, {}}, {"gradients", {"^gradients/"}, {}}});
  bool fired = false;
  for (Step step = 0; step <= 60 && !fired; step += 10) {
    StepBuilder built(step);
    built.with_statistics("dense/weights/dense/kernel:0", even_statistics(1))
        .with_statistics("norm/weights/norm/moving_mean:0",
                         even_statistics(double(step)))
        .with_statistics("gradients/dense/kernelGrad", even_statistics(1));
    fired = rule.fires_at(built);
  }
  EXPECT_TRUE(fired);
}

constexpr const char* kTopKernel = "top/weights/second/top/kernel:0";
constexpr const char* kTopBias = "top/weights/second/top/bias:0";

// A model of Keras that was trained, and a second one, of which all but
// `trainable` is frozen.
RunFacts facts_of_second(const Names& trainable) {
  RunFacts facts;
  facts.parameters = {
      parameter("base/weights/base/kernel:0", kFirst),
      parameter(kTopKernel, std::nullopt), parameter(kTopBias, std::nullopt),
      parameter("norm/weights/norm/moving_mean:0", std::nullopt)};
  for (auto& each : facts.parameters) {
    if (trainable.contains(each.tensor)) each.updated_by = {1, 0};
    each.is_trainable = each.updated_by.has_value();
  }
  facts.optimizers = {{"Adam", {group(1, 0, 1e-3)}},
                      {"Adam", {group(trainable.size(), 0, 1e-3)}}};
  return facts;
}

// The step at which the rule fires while the second model is trained; -1 if it
// does not. Its bias moves if `moves`.
Step fires_in_second(RuleHarness& rule, bool moves) {
  for (Step step = 0; step <= 100; step += 10) {
    StepBuilder built(step);
    built.with_statistics(kTopKernel, even_statistics(1))
        .with_statistics(kTopBias,
                         even_statistics(moves ? 1 + double(step) : 1));
    if (rule.fires_at(built)) return step;
  }
  return -1;
}

TEST(ParametersNotTrained, FindsAModelOfKerasThatIsTrainedWhileAllIsFrozen) {
  RuleHarness rule("ParametersNotTrained");
  rule.in_a_run_with(
      {{"weights", {"/weights/"}, {}}, {"gradients", {"^gradients/"}, {}}});
  rule.knows(facts_of_second({}), "worker_0");
  // The facts are of step 0, so they hold from step 10 on.
  EXPECT_EQ(fires_in_second(rule, /*moves=*/false), 40);
  EXPECT_EQ(rule.verdict().message,
            "none of the parameters of a model is trainable, and it is "
            "trained; 2 of 3 parameters are frozen: "
            "top/weights/second/top/kernel:0, top/weights/second/top/bias:0, "
            "at step 40 (TRAIN step 40)");
  EXPECT_THAT(rule.verdict().advice, HasSubstr("model.summary()"));
  EXPECT_EQ(rule.verdict().severity, Severity::serious);
}

TEST(ParametersNotTrained, PassesAFrozenBaseWithATrainableHeadInKeras) {
  RuleHarness rule("ParametersNotTrained");
  rule.in_a_run_with(
      {{"weights", {"/weights/"}, {}}, {"gradients", {"^gradients/"}, {}}});
  rule.knows(facts_of_second({kTopBias}), "worker_0");
  EXPECT_EQ(fires_in_second(rule, /*moves=*/true), -1);
}

TEST(ParametersNotTrained, PassesAModelOfKerasThatIsUnfrozenSoon) {
  RuleHarness rule("ParametersNotTrained");
  rule.in_a_run_with(
      {{"weights", {"/weights/"}, {}}, {"gradients", {"^gradients/"}, {}}});
  rule.knows(facts_of_second({}), "worker_0");
  RunFacts unfrozen = facts_of_second({kTopBias});
  unfrozen.step = 20;
  rule.knows(unfrozen, "worker_0");
  EXPECT_EQ(fires_in_second(rule, /*moves=*/true), -1);
}

TEST(ParametersNotTrained, PassesAnOptimizerWithoutParametersInPyTorch) {
  Model model;
  model.moving = always({"Net_a.weight"});
  RunFacts facts = facts_of(model, {"Net_a.weight"});
  for (auto& each : facts.parameters) {
    each.is_trainable = each.tensor == "Net_a.weight";
  }
  facts.optimizers.push_back({"Adam", {group(0, 0, 1e-3)}});
  RuleHarness rule("ParametersNotTrained");
  rule.knows(facts, "worker_0");
  EXPECT_EQ(fires_in(rule, model), -1);
}

TEST(ParametersNotTrained, FindsLayersOutsideOfTheModel) {
  RunFacts facts;
  facts.loop.layers_outside = {"Linear", "Conv2d"};
  RuleHarness rule("ParametersNotTrained");
  rule.knows(facts, "worker_0");
  const auto step = [](Step number) {
    return StepBuilder(number).with_statistics("Net_0.weight",
                                               even_statistics(1));
  };
  EXPECT_FALSE(rule.fires_at(step(0)));
  EXPECT_TRUE(rule.fires_at(step(10)));
  EXPECT_EQ(rule.verdict().message,
            "the model calls 2 layers that are no part of it, and no optimizer "
            "holds their parameters: Linear, Conv2d, at step 10 (TRAIN step "
            "10)");
  EXPECT_THAT(rule.verdict().advice, HasSubstr("nn.ModuleList"));
  EXPECT_EQ(rule.verdict().severity, Severity::serious);
}

TEST(ParametersNotTrained, FindsWeightsThatWereNotLoaded) {
  RunFacts facts;
  facts.loop.empty_loads = 1;
  RuleHarness rule("ParametersNotTrained");
  rule.knows(facts, "worker_0");
  EXPECT_TRUE(rule.fires_at(
      StepBuilder(10).with_statistics("Net_0.weight", even_statistics(1))));
  EXPECT_EQ(rule.verdict().kind, "weights that were not loaded");
  EXPECT_EQ(rule.verdict().message,
            "1 call of load_state_dict() found no parameter of the model, "
            "which trains from its initial values");
  EXPECT_THAT(rule.verdict().cause, HasSubstr("strict=False"));
  EXPECT_EQ(rule.verdict().severity, Severity::serious);
}

}  // namespace
}  // namespace smdebug
