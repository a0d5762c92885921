#include <cmath>
#include <functional>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

// A model with one weight that an Adam with this eps updates.
RunFacts float_facts(std::string_view dtype = "float32", double eps = 1e-8) {
  RunFacts facts;
  facts.parameters.resize(1);
  facts.parameters[0].tensor = "Net_fc.weight";
  facts.parameters[0].dtype = dtype;
  facts.parameters[0].updated_by = GroupPosition{0, 0};
  facts.optimizers = {{"Adam", {{1, 0, {{"eps", eps}}}}}};
  return facts;
}

RunFacts facts_with_clipping(std::uint64_t clippings, double limit) {
  RunFacts facts = float_facts();
  facts.loop.scaled_clippings = clippings;
  facts.loop.scaled_clipping_limit = limit;
  return facts;
}

// Reports a series with one sample per step, and then each of these steps. The
// step at which the rule fires, or -1.
Step fires_in_series(RuleHarness& rule, std::string_view series, Step steps,
                     const std::function<double(Step)>& value) {
  for (Step step = 0; step < steps; ++step) {
    const ScalarSample sample{{step, Mode::train, step}, value(step)};
    const ScalarSeriesView view{series, {&sample, 1}};
    rule.notes({&view, 1}, "worker_0");
    if (rule.fires_at(StepBuilder(step).with_scalar("Loss", 1))) return step;
  }
  return -1;
}

// A scale of 65536 that halves each time.
double halving_scale(Step step) {
  return std::ldexp(65536.0, -static_cast<int>(step));
}

// --- clipping ---

TEST(MixedPrecision, FindsGradientsThatAreClippedWhileTheyCarryTheScale) {
  RuleHarness rule("MixedPrecision");
  EXPECT_EQ(rule.fires_with(5, {facts_with_clipping(3, 1)}), 5);
  EXPECT_EQ(rule.verdict().message,
            "the gradients are clipped at 1 while they carry the scale of the "
            "gradient scaler, in 3 updates until step 5 (TRAIN step 5)");
  EXPECT_THAT(rule.verdict().advice, HasSubstr("scaler.unscale_(optimizer)"));
  EXPECT_EQ(rule.verdict().severity, Severity::fatal);
}

TEST(MixedPrecision, PassesFewClippingsAndLimitsThatWereMultipliedByTheScale) {
  RuleHarness few("MixedPrecision");
  EXPECT_EQ(few.fires_with(5, {facts_with_clipping(2, 1)}), -1);
  RuleHarness scaled("MixedPrecision");
  EXPECT_EQ(scaled.fires_with(5, {facts_with_clipping(50, 655.36)}), -1);
  EXPECT_EQ(scaled.finish().status, RuleStatus::no_issues_found);
}

TEST(MixedPrecision, NamesTheWorkerThatClips) {
  RuleHarness rule("MixedPrecision");
  rule.knows(float_facts(), "worker_0");
  EXPECT_EQ(rule.fires_with(5, {facts_with_clipping(9, 0.5)}, "worker_1"), 5);
  EXPECT_THAT(rule.verdict().message,
              HasSubstr("the gradients (worker_1) are "));
}

// --- the gradient scaler ---

// From 65536 to 0.5 are 17 halvings.
TEST(MixedPrecision, FindsAScalerThatSkipsEachUpdate) {
  RuleHarness rule("MixedPrecision");
  EXPECT_EQ(fires_in_series(rule, "gradient_scale", 30, halving_scale), 17);
  EXPECT_EQ(rule.verdict().message,
            "the gradient scaler has skipped 17 of the last 17 updates; its "
            "scale fell from 6.554e+04 to 0.5 at step 17 (TRAIN step 17)");
  EXPECT_EQ(rule.verdict().severity, Severity::fatal);
  ASSERT_EQ(rule.verdict().evidence.size(), 1u);
  EXPECT_EQ(rule.verdict().evidence[0].tensor, "gradient_scale");
}

TEST(MixedPrecision, PassesAScalerThatSkipsUntilItsScaleFits) {
  RuleHarness rule("MixedPrecision");
  const auto scale = [](Step step) {
    return std::max(halving_scale(step), 2.0);
  };
  EXPECT_EQ(fires_in_series(rule, "gradient_scale", 400, scale), -1);
  EXPECT_EQ(rule.finish().status, RuleStatus::no_issues_found);
}

TEST(MixedPrecision, PassesAScaleThatIsSmallFromTheBeginning) {
  RuleHarness rule("MixedPrecision");
  EXPECT_EQ(
      fires_in_series(rule, "gradient_scale", 400, [](Step) { return 0.5; }),
      -1);
}

// A growth interval of 20 updates: one of 20 is skipped.
TEST(MixedPrecision, PassesAScalerThatTriesALargerScaleNowAndThen) {
  RuleHarness rule("MixedPrecision");
  const auto scale = [](Step step) { return step % 20 == 19 ? 2048 : 1024; };
  EXPECT_EQ(fires_in_series(rule, "gradient_scale", 400, scale), -1);
}

// Every second update is skipped. It is judged when 128 outcomes are known.
TEST(MixedPrecision, FindsAScalerThatSkipsManyUpdates) {
  RuleHarness rule("MixedPrecision");
  const auto scale = [](Step step) { return step % 2 == 1 ? 2048 : 1024; };
  EXPECT_EQ(fires_in_series(rule, "gradient_scale", 400, scale), 128);
  EXPECT_EQ(rule.verdict().message,
            "the gradient scaler has skipped 32 of the last 64 updates; its "
            "scale is 1024 at step 128 (TRAIN step 128)");
  EXPECT_EQ(rule.verdict().severity, Severity::serious);
  RuleHarness patient("MixedPrecision", {{"skipped_share", "0.6"}});
  EXPECT_EQ(fires_in_series(patient, "gradient_scale", 400, scale), -1);
}

TEST(MixedPrecision, GivesTheSameVerdictIfAllSamplesArriveAtOnce) {
  RuleHarness rule("MixedPrecision");
  std::vector<ScalarSample> samples;
  for (Step step = 0; step < 60; ++step) {
    samples.push_back({{step, Mode::train, step}, halving_scale(step)});
  }
  const ScalarSeriesView view{"gradient_scale", samples};
  rule.notes({&view, 1}, "worker_0");
  EXPECT_EQ(rule.verdict().step.global, 17);
  EXPECT_THAT(rule.verdict().message, HasSubstr("17 of the last 17 updates"));
}

// --- float16 weights ---

double nan_from_step_4(Step step) { return step < 4 ? 2.5 : kNotANumber; }

TEST(MixedPrecision, FindsFloat16WeightsWhoseOptimizerDividesByZero) {
  RuleHarness rule("MixedPrecision");
  rule.knows(float_facts("float16"), "worker_0");
  EXPECT_EQ(fires_in_series(rule, "loss_output_0", 9, nan_from_step_4), 5);
  EXPECT_EQ(rule.verdict().message,
            "Net_fc.weight: a float16 weight, in which the eps of Adam, 1e-08, "
            "is 0; loss_output_0 is nan at step 4 (TRAIN step 4)");
  EXPECT_THAT(rule.verdict().advice, HasSubstr("bfloat16"));
}

TEST(MixedPrecision, PassesFiniteLossesAndWiderNumbers) {
  const auto fires = [](const RunFacts& facts, auto loss) {
    RuleHarness rule("MixedPrecision");
    rule.knows(facts, "worker_0");
    return fires_in_series(rule, "loss_output_0", 9, loss);
  };
  EXPECT_EQ(fires(float_facts("float16"), [](Step) { return 2.5; }), -1);
  EXPECT_EQ(fires(float_facts("float32"), nan_from_step_4), -1);
  EXPECT_EQ(fires(float_facts("bfloat16"), nan_from_step_4), -1);
  // The smallest float16 number is 6e-8; half of it rounds to 0.
  EXPECT_EQ(fires(float_facts("float16", 3.1e-8), nan_from_step_4), -1);
}

TEST(MixedPrecision, PassesALossThatIsNaNBeforeTheFirstUpdate) {
  RuleHarness rule("MixedPrecision");
  RunFacts facts = float_facts("float16");
  facts.step = 4;
  rule.knows(facts, "worker_0");
  EXPECT_EQ(fires_in_series(rule, "loss_output_0", 9, nan_from_step_4), -1);
}

// --- the log ---

TEST(MixedPrecision, FindsALogThatHidesNaN) {
  RuleHarness rule("MixedPrecision");
  RunFacts facts = float_facts();
  facts.loop.log_hides_not_finite = true;
  rule.knows(facts, "worker_0");
  EXPECT_EQ(fires_in_series(rule, "loss_output_0", 9, nan_from_step_4), 5);
  EXPECT_EQ(rule.verdict().message,
            "loss_output_0 is nan at step 4 (TRAIN step 4), although the log "
            "of the trainer shows a number, 0.0 if no loss was finite");
  EXPECT_EQ(rule.verdict().severity, Severity::serious);
  RuleHarness finite("MixedPrecision");
  finite.knows(facts, "worker_0");
  EXPECT_EQ(fires_in_series(finite, "loss_output_0", 9, [](Step) { return 1; }),
            -1);
}

// --- without a fault ---

TEST(MixedPrecision, DoesNotApplyToTrainingsThatCannotHaveAFault) {
  const auto judges = [](const std::vector<RunFacts>& facts) {
    RuleHarness rule("MixedPrecision");
    EXPECT_EQ(rule.fires_with(5, facts), -1);
    const Verdict verdict = rule.finish();
    const bool applies = verdict.status == RuleStatus::no_issues_found;
    EXPECT_EQ(verdict.message.find("nothing to judge"),
              applies ? std::string::npos : 0u)
        << verdict.message;
    return applies;
  };
  EXPECT_FALSE(judges({}));
  EXPECT_FALSE(judges({float_facts("float32")}));
  EXPECT_FALSE(judges({float_facts("bfloat16")}));
  EXPECT_TRUE(judges({float_facts("float16")}));
  EXPECT_TRUE(judges({facts_with_clipping(1, 1)}));
}

}  // namespace
}  // namespace smdebug
