#include "xgboost_report/task_type.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace smdebug {
namespace {

using testing::HasSubstr;
using Task = XgboostReport::Task;

TEST(TaskType, IsWhatTheObjectiveSays) {
  // Against all other evidence.
  EXPECT_EQ(infer_task({"reg:logistic", {"mlogloss"}, {0, 1}, 3}).task,
            Task::regression);
  EXPECT_EQ(infer_task({"multi:softmax", {}, {0, 1}, 1}).task,
            Task::multiclass);
  EXPECT_EQ(infer_task({"binary:hinge", {"rmse"}, {}, 0}).task, Task::binary);
}

TEST(TaskType, IsSeenInLabelsAndMetricsWhereNoObjectiveWasSaved) {
  EXPECT_EQ(infer_task({"", {"logloss"}, {0, 0.5}, 1}).task, Task::regression);
  EXPECT_EQ(infer_task({"", {"rmse"}, {0, 1}, 1}).task, Task::regression);
  EXPECT_EQ(infer_task({"", {"auc", "mlogloss"}, {}, 0}).task,
            Task::multiclass);
  EXPECT_EQ(infer_task({"", {"auc", "error@0.7"}, {}, 0}).task, Task::binary);
  EXPECT_EQ(infer_task({"", {"auc"}, {0, 1}, 3}).task, Task::multiclass);
  EXPECT_EQ(infer_task({"", {"auc"}, {0, 1, 1}, 1}).task, Task::binary);
  EXPECT_EQ(infer_task({"", {}, {0, 2, 1}, 1}).task, Task::multiclass);
  EXPECT_EQ(infer_task({"", {}, {-1, 0, 2}, 1}).task, Task::regression);
}

TEST(TaskType, IsAQuantityWhereLabelsAreOfManyValues) {
  TaskEvidence counted;
  for (int i = 0; i < 101; ++i) counted.labels.push_back(i);
  EXPECT_EQ(infer_task(counted).task, Task::regression);
  counted.labels.pop_back();
  EXPECT_EQ(infer_task(counted).task, Task::multiclass);
}

TEST(TaskType, IsUnknownWithoutEvidenceAndSaysWhy) {
  const InferredTask inferred = infer_task({"", {"auc"}, {}, 0});
  EXPECT_EQ(inferred.task, Task::unknown);
  EXPECT_THAT(inferred.reason, HasSubstr("no labels"));
}

}  // namespace
}  // namespace smdebug
