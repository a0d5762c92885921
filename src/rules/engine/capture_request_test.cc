#include "smdebug/rules/capture_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "smdebug/rules/builtin_rules.h"

namespace smdebug {
namespace {

class NeedyRule : public Rule {
 public:
  explicit NeedyRule(RuleNeeds needs) : needs_(std::move(needs)) {}
  std::string_view name() const override { return "Needy"; }
  RuleNeeds needs() const override { return needs_; }
  Outcome on_step(const RuleStep&) override { return no_finding(); }
  std::uint64_t observations_judged() const override { return 0; }

 private:
  RuleNeeds needs_;
};

std::vector<std::unique_ptr<Rule>> needy(std::vector<RuleNeeds> all) {
  std::vector<std::unique_ptr<Rule>> rules;
  for (RuleNeeds& needs : all) {
    rules.push_back(std::make_unique<NeedyRule>(std::move(needs)));
  }
  return rules;
}

std::vector<std::unique_ptr<Rule>> built_in(std::string_view name) {
  std::vector<std::unique_ptr<Rule>> rules;
  rules.push_back(*make_builtin_rule(name, {}));
  return rules;
}

TEST(CaptureRequest, IsTheDocumentThatAutostartReads) {
  EXPECT_EQ(capture_request(built_in("VanishingGradient"), "/runs/a").json(),
            R"({"out_dir":"/runs/a","save_interval":10,"first_steps":5,)"
            R"("collections":[)"
            R"({"name":"gradients","summary":true,"save_interval":10},)"
            R"({"name":"losses","summary":false,"save_interval":10}],)"
            R"("include_workers":"all"})");
}

TEST(CaptureRequest, MarksWhatNobodyAskedForButTheLosses) {
  auto request = capture_request(built_in("VanishingGradient"), "/r");
  request.is_optional = true;
  EXPECT_THAT(request.json(),
              testing::HasSubstr(
                  R"({"name":"gradients","summary":true,"save_interval":10,)"
                  R"("optional":true},{"name":"losses","summary":false,)"
                  R"("save_interval":10}])"));
}

TEST(CaptureRequest, NamesTheRulesOwnPatterns) {
  RuleNeeds needs;
  needs.selectors.push_back({{}, {"relu", "tanh"}, false});
  const auto request = capture_request(needy({needs}), "/r");
  ASSERT_EQ(request.collections.size(), 2u);
  EXPECT_EQ(request.collections[0],
            (RequestedCollection{"rule_Needy", {"relu", "tanh"}, true, 10}));
}

TEST(CaptureRequest, TakesTheSmallestIntervalAndTheDeepestNeed) {
  RuleNeeds rare;
  rare.selectors.push_back({{"weights"}, {}, false});
  rare.interval = 500;
  RuleNeeds often = rare;
  often.interval = 100;
  often.depth = RuleNeeds::Depth::values;
  const auto request = capture_request(needy({rare, often}), "/r");
  EXPECT_EQ(request.collections[0],
            (RequestedCollection{"weights", {}, false, 100}));
}

TEST(CaptureRequest, AsksForASampleIfAllRulesAreContentWithOne) {
  RuleNeeds few;
  few.selectors.push_back({{"relu_output"}, {}, false});
  few.depth = RuleNeeds::Depth::values;
  few.max_elements = 10;
  RuleNeeds more = few, all = few;
  more.max_elements = 20;
  all.max_elements = 0;
  const auto limit = [](std::vector<RuleNeeds> needs) {
    const auto request = capture_request(needy(std::move(needs)), "/r");
    return request.collections[0].max_elements;
  };
  EXPECT_EQ(limit({few}), 10);
  EXPECT_EQ(limit({more, few}), 20);
  EXPECT_EQ(limit({few, more}), 20);
  EXPECT_EQ(limit({few, all}), 0);
  EXPECT_EQ(limit({all, few}), 0);
  EXPECT_THAT(capture_request(needy({few}), "/r").json(),
              testing::HasSubstr(R"("max_elements":10)"));
}

TEST(CaptureRequest, LeavesOutWhatARuleLooksAtOnlyIfItIsSaved) {
  RuleNeeds needs;
  needs.selectors.push_back({.collections = {"weights"}, .regexes = {}});
  needs.selectors.push_back(
      {.collections = {"gradients"}, .regexes = {"x"}, .if_saved = true});
  const auto request = capture_request(needy({needs}), "/r");
  ASSERT_EQ(request.collections.size(), 2u);
  EXPECT_EQ(request.collections[0].name, "weights");
  EXPECT_EQ(request.collections[1].name, "losses");
}

TEST(CaptureRequest, DoesNotExpectThePatternsOfABuiltInRuleToMatch) {
  for (const char* rule : {"DeadRelu", "LossNotDecreasing"}) {
    for (const auto& wanted :
         capture_request(built_in(rule), "/r").collections) {
      EXPECT_EQ(wanted.is_optional, wanted.name == "rule_" + std::string(rule))
          << wanted.name;
    }
  }
}

// Rule -> collections it must find saved, and whether with their elements.
TEST(CaptureRequest, TurnsOnWhatEachBuiltInRuleReads) {
  struct Expected {
    const char* rule;
    std::vector<std::string> collections;
    bool with_values;
  };
  const std::vector<Expected> all = {
      {"DeadRelu", {"relu_output", "rule_DeadRelu", "losses"}, true},
      {"SaturatedActivation",
       {"tanh_input", "sigmoid_input", "rule_SaturatedActivation", "losses"},
       true},
      {"PoorWeightInitialization",
       {"relu_input", "rule_PoorWeightInitialization", "gradients", "losses"},
       true},
      {"InitialLoss", {"weights", "losses"}, false},
      {"WeightUpdateRatio", {"weights", "losses"}, true},
      {"ReplicasDiffer", {"weights", "biases", "losses"}, false},
      {"ParametersNotTrained",
       {"weights", "biases", "gradients", "losses"},
       false},
  };
  for (const Expected& expected : all) {
    const auto request = capture_request(built_in(expected.rule), "/r");
    std::vector<std::string> names;
    for (const auto& collection : request.collections) {
      names.push_back(collection.name);
    }
    EXPECT_EQ(names, expected.collections) << expected.rule;
    EXPECT_EQ(request.collections[0].summary, !expected.with_values)
        << expected.rule;
  }
}

TEST(CaptureRequest, SavesAsOftenAsTheUpdateRatioCompares) {
  std::vector<std::unique_ptr<Rule>> rules;
  rules.push_back(
      *make_builtin_rule("WeightUpdateRatio", {{"num_steps", "3"}}));
  EXPECT_EQ(capture_request(rules, "/r").collections[0].save_interval, 3);
}

TEST(CaptureRequest, AsksForGradientsWhereARuleJudgesWhateverThereIs) {
  const auto request = capture_request(built_in("ExplodingTensor"), "/r");
  ASSERT_EQ(request.collections.size(), 2u);
  EXPECT_EQ(request.collections[0].name, "gradients");
  EXPECT_TRUE(request.collections[0].summary);
}

// The collections of the cloud's table, by rule, and a pattern of each.
TEST(CaptureRequest, TurnsOnTheCollectionsThatTheCloudTurnsOn) {
  const std::vector<std::vector<std::string>> table = {
      {"CheckInputImages", "input_image", ".*hybridsequential0_input_0"},
      {"NLPSequenceRatio", "input_sequence", ".*embedding0_input_0"},
      {"FeatureImportanceOverweight", "feature_importance",
       ".*feature_importance/weight"}};
  for (const auto& row : table) {
    const auto request = capture_request(built_in(row[0]), "/r");
    ASSERT_EQ(request.collections.size(), 2u) << row[0];
    EXPECT_EQ(request.collections[0].name, row[1]);
    EXPECT_EQ(request.collections[0].include_regex.front(), row[2]);
    EXPECT_EQ(request.collections[1].name, "losses");
  }
}

// These have nothing to read with the cloud's settings.
TEST(CaptureRequest, TurnsOnWhatTheOtherRulesNeed) {
  EXPECT_EQ(capture_request(built_in("TreeDepth"), "/r").collections[0],
            (RequestedCollection{"trees", {"^trees?/Node$"}, true, 10}));
  for (const char* name : {"ClassImbalance", "Confusion"}) {
    const auto request = capture_request(built_in(name), "/r");
    ASSERT_EQ(request.collections.size(), 3u) << name;
    EXPECT_EQ(request.collections[0].name, "labels");
    EXPECT_THAT(request.collections[0].include_regex.back(),
                testing::EndsWith(".*Loss_input_1$"));
    EXPECT_EQ(request.collections[1].name, "predictions");
    EXPECT_THAT(request.collections[1].include_regex.back(),
                testing::EndsWith(".*Loss_input_0$"));
    EXPECT_FALSE(request.collections[0].summary);
  }
  for (const char* name : {"Overfit", "Overtraining", "StalledTrainingRule"}) {
    const auto request = capture_request(built_in(name), "/r");
    ASSERT_EQ(request.collections.size(), 1u) << name;
    EXPECT_EQ(request.collections[0],
              (RequestedCollection{"losses", {}, false, 10}));
  }
}

}  // namespace
}  // namespace smdebug
