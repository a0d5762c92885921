#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rules/engine/rule_harness_testing.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

Verdict verdict_on(std::vector<MetricWatchFacts> watches) {
  RunFacts facts;
  facts.loop.metric_watches = std::move(watches);
  RuleHarness rule("WatchedMetric");
  rule.fires_with(10, {facts});
  return rule.finish();
}

TEST(WatchedMetric, FindsTheWrongDirectionByTheWordsOfTheName) {
  const Verdict verdict =
      verdict_on({{"EarlyStopping", "val_accuracy", false, false}});
  EXPECT_EQ(verdict.status, RuleStatus::issues_found);
  EXPECT_THAT(verdict.message, HasSubstr("EarlyStopping of val_accuracy: it "
                                         "takes a lower value for a better"));
  EXPECT_EQ(verdict.severity, Severity::serious);
  for (const char* const metric :
       {"val_sparse_categorical_accuracy", "validation-auc", "eval/f1",
        "valid-ndcg@10", "val_AUC"}) {
    EXPECT_EQ(verdict_on({{"EarlyStopping", metric, false, false}}).status,
              RuleStatus::issues_found)
        << metric;
    EXPECT_EQ(verdict_on({{"EarlyStopping", metric, true, false}}).status,
              RuleStatus::no_issues_found)
        << metric;
  }
  for (const char* const metric : {"val_loss", "test-rmse",
                                   "val_mean_squared_"
                                   "error",
                                   "eval_wer"}) {
    EXPECT_EQ(verdict_on({{"EarlyStopping", metric, true, false}}).status,
              RuleStatus::issues_found)
        << metric;
    EXPECT_EQ(verdict_on({{"EarlyStopping", metric, false, false}}).status,
              RuleStatus::no_issues_found)
        << metric;
  }
}

TEST(WatchedMetric, PassesANameThatDoesNotTellItsDirection) {
  for (const char* const metric : {"val_reward", "accuracy_error", "macho"}) {
    for (const bool prefers_high : {false, true}) {
      EXPECT_EQ(
          verdict_on({{"EarlyStopping", metric, prefers_high, false}}).status,
          RuleStatus::no_issues_found)
          << metric;
    }
  }
}

TEST(WatchedMetric, AdvisesOnAMetricOfTheTrainingData) {
  const Verdict verdict =
      verdict_on({{"EarlyStopping", "train-logloss", false, true}});
  EXPECT_EQ(verdict.severity, Severity::advice);
  EXPECT_THAT(verdict.message, HasSubstr("the metric is of the training data"));
  // What is wrong in any case comes first.
  EXPECT_EQ(verdict_on({{"EarlyStopping", "train-logloss", false, true},
                        {"ModelCheckpoint", "val_acc", false, false}})
                .severity,
            Severity::serious);
}

TEST(WatchedMetric, JudgesNothingWithoutACallback) {
  const Verdict verdict = verdict_on({});
  EXPECT_EQ(verdict.status, RuleStatus::error);
  EXPECT_THAT(verdict.message, HasSubstr("no callback that watches a metric"));
}

}  // namespace
}  // namespace smdebug
