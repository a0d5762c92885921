#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

constexpr const char* kTokens = "hybrid_embedding0_input_0";

StepBuilder tokens(const std::vector<float>& values) {
  StepBuilder observed(0);
  observed.with_values(kTokens, values, {std::int64_t(values.size())});
  return observed;
}

TEST(NLPSequenceRatio, FiresAboveTheThresholdAndNotAtIt) {
  RuleHarness rule("NLPSequenceRatio");
  EXPECT_FALSE(rule.fires_at(tokens({0, 0, 5, 7})));
  EXPECT_TRUE(rule.fires_at(tokens({0, 0, 0, 7})));
  EXPECT_EQ(rule.verdict().message,
            "hybrid_embedding0_input_0: 75 percent of token 0 at step 0 (TRAIN "
            "step 0), more than 50");
  EXPECT_EQ(rule.verdict().evidence[0].value, 75);
  EXPECT_EQ(rule.verdict().evidence[0].threshold, 50);
}

TEST(NLPSequenceRatio, JudgesEachTokenByItsOwnThreshold) {
  RuleHarness rule(
      "NLPSequenceRatio",
      {{"token_values", "0, 3, 9"}, {"token_thresholds_percent", "60,20,10"}});
  EXPECT_FALSE(rule.fires_at(tokens({0, 0, 0, 3, 1})));
  // 20 % of 0, 40 % of 3 (20 above), 40 % of 9 (30 above).
  EXPECT_TRUE(rule.fires_at(tokens({0, 3, 3, 9, 9})));
  ASSERT_EQ(rule.verdict().evidence.size(), 2u);
  EXPECT_EQ(rule.verdict().evidence[0].quantity, "percent of token 9");
  EXPECT_EQ(rule.verdict().evidence[1].quantity, "percent of token 3");
  EXPECT_THAT(rule.verdict().message, HasSubstr("2 shares of this step"));
}

TEST(NLPSequenceRatio, JudgesTheTokenZeroFromStatisticsAlone) {
  TensorStatistics statistics;
  statistics.count = 10;
  statistics.zeros = 6;
  StepBuilder step(0);
  step.with_statistics(kTokens, statistics);
  RuleHarness rule("NLPSequenceRatio");
  EXPECT_TRUE(rule.fires_at(step));
  EXPECT_EQ(rule.verdict().evidence[0].value, 60);
  // Another token needs the elements, and says that there are none.
  RuleHarness other("NLPSequenceRatio", {{"token_values", "1"}});
  EXPECT_FALSE(other.fires_at(step));
  EXPECT_EQ(other.finish().status, RuleStatus::error);
}

TEST(NLPSequenceRatio, AsksForElementsOnlyWhereZeroesAreNotEnough) {
  const auto depth = [](const char* values) {
    return (*make_builtin_rule("NLPSequenceRatio", {{"token_values", values}}))
        ->needs()
        .depth;
  };
  EXPECT_EQ(depth("0"), RuleNeeds::Depth::statistics);
  EXPECT_EQ(depth("1"), RuleNeeds::Depth::values);
}

TEST(NLPSequenceRatio, TakesTheInputsOfEmbeddingsByDefault) {
  for (const char* name :
       {"encoder.embedding_input_0", "Embedding_input_0", "embedding/inputs",
        "encoder/token_embedding_1/inputs_0"}) {
    RuleHarness rule("NLPSequenceRatio");
    EXPECT_TRUE(rule.fires_at(StepBuilder(0).with_values(name, {0}, {1})))
        << name;
  }
  for (const char* name : {"embedding/outputs", "embedding_block/dense/inputs",
                           "bert.embeddings.token_type_embeddings_input_0",
                           "bert.embeddings.position_embeddings_input_0",
                           "encoder/position_embedding/inputs"}) {
    RuleHarness rule("NLPSequenceRatio");
    EXPECT_FALSE(rule.fires_at(StepBuilder(0).with_values(name, {0}, {1})))
        << name;
  }
  RuleHarness own("NLPSequenceRatio", {{"tensor_regex", "^ids$"}});
  EXPECT_FALSE(
      own.fires_at(StepBuilder(0).with_values("Embedding_input_0", {0}, {1})));
  EXPECT_TRUE(own.fires_at(StepBuilder(1).with_values("ids", {0}, {1})));
}

TEST(NLPSequenceRatio, RefusesListsThatDoNotGoTogether) {
  const auto message = [](const std::map<std::string, std::string>& given) {
    const auto rule = make_builtin_rule("NLPSequenceRatio", given);
    EXPECT_FALSE(rule.ok());
    EXPECT_EQ(rule.error().code, Error::Code::invalid_config);
    return rule.error().message;
  };
  EXPECT_THAT(message({{"token_values", "0,1"}}),
              HasSubstr("names 2 tokens and token_thresholds_percent 1"));
  EXPECT_THAT(message({{"token_values", "zero"}}), HasSubstr("'zero'"));
  EXPECT_THAT(message({{"token_thresholds_percent", "101"}}),
              HasSubstr("from 0 to 100"));
}

TEST(NLPSequenceRatio, PassesOverTensorsWithoutElements) {
  RuleHarness rule("NLPSequenceRatio");
  EXPECT_FALSE(rule.fires_at(tokens({})));
  EXPECT_EQ(rule.verdict().observations_judged, 0u);
}

}  // namespace
}  // namespace smdebug
