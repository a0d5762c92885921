#include "smdebug/config/framework.h"

#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/regex.h"

namespace smdebug {
namespace {

TEST(Framework, HasEachCollectionOnceAndSavesOnlyThose) {
  for (const Framework* framework :
       {&pytorch_framework(), &tensorflow_framework(), &xgboost_framework(),
        &mxnet_framework(), &plain_framework()}) {
    std::set<std::string> names;
    for (const Collection& collection : framework->collections) {
      EXPECT_TRUE(names.insert(collection.name()).second) << collection.name();
    }
    for (const std::string& saved : framework->default_saved) {
      EXPECT_TRUE(names.contains(saved)) << saved;
    }
  }
}

TEST(Framework, KeepsNoHistogramOfLosses) {
  for (const Collection& collection : pytorch_framework().collections) {
    EXPECT_EQ(collection.save_histogram, collection.name() != "losses");
  }
}

TEST(Framework, KnowsItsOwnCollectionsAndThoseFilledByName) {
  const Framework& framework = pytorch_framework();
  for (const char* name :
       {"weights", "all", "default", "metrics", "optimizer_variables",
        "sm_metrics", "relu_output"}) {
    EXPECT_TRUE(framework.knows(name)) << name;
  }
  for (const char* name : {"mine", "", "Weights"}) {
    EXPECT_FALSE(framework.knows(name)) << name;
  }
}

TEST(Framework, FindsItsOptInCollectionsByName) {
  const Framework& framework = pytorch_framework();
  for (const char* name : {"buffers", "optimizer_state", "inputs"}) {
    ASSERT_NE(framework.find(name), nullptr) << name;
    EXPECT_EQ(framework.find(name)->name(), name);
    EXPECT_TRUE(framework.is_opt_in(name) && framework.knows(name)) << name;
  }
  ASSERT_NE(framework.find("weights"), nullptr);
  EXPECT_FALSE(framework.is_opt_in("weights"));
  EXPECT_EQ(framework.find("mine"), nullptr);
  EXPECT_EQ(plain_framework().find("buffers"), nullptr);
}

TEST(PytorchFramework, HasExclusiveFormsOnlyOfPatternsThatItHas) {
  std::set<std::string> patterns;
  for (const Collection& collection : pytorch_framework().collections) {
    const auto& own = collection.tensors.include_regex;
    patterns.insert(own.begin(), own.end());
  }
  for (const auto& [pattern, exclusive] :
       pytorch_framework().exclusive_patterns) {
    EXPECT_TRUE(patterns.contains(pattern)) << pattern;
    EXPECT_NE(pattern, exclusive);
  }
}

TEST(TensorflowFramework, SavesLossesAndMetricsAndReducesAsNumpyDoes) {
  const Framework& framework = tensorflow_framework();
  EXPECT_EQ(framework.default_saved,
            (std::vector<std::string>{"metrics", "losses", "sm_metrics"}));
  EXPECT_EQ(framework.find("biases")->tensors.include_regex,
            (std::vector<std::string>{"^(?!gradient).*bias"}));
  EXPECT_EQ(framework.deviation, Deviation::population);
  EXPECT_FALSE(framework.reductions_are_0d);
  EXPECT_TRUE(framework.reductions_keep_colon_digits);
}

TEST(PytorchFramework, ReducesAsTorchDoes) {
  EXPECT_EQ(pytorch_framework().deviation, Deviation::sample);
  EXPECT_TRUE(pytorch_framework().reductions_are_0d);
  EXPECT_EQ(plain_framework().deviation, Deviation::population);
  EXPECT_FALSE(plain_framework().reductions_are_0d);
}

TEST(MxnetFramework, ReducesAsNumpyDoes) {
  EXPECT_EQ(mxnet_framework().deviation, Deviation::population);
  EXPECT_FALSE(mxnet_framework().reductions_are_0d);
}

// The built-in collections whose pattern matches `name`.
std::set<std::string> plain_collections(const std::string& name) {
  std::set<std::string> found;
  for (const Collection& collection : plain_framework().collections) {
    for (const std::string& pattern : collection.tensors.include_regex) {
      const auto regex = Regex::compile(pattern);
      EXPECT_TRUE(regex.ok()) << pattern;
      if (*regex->search(name)) found.insert(collection.name());
    }
  }
  return found;
}

TEST(PlainFramework, FindsWeightsBiasesAndGradientsByName) {
  using Names = std::set<std::string>;
  EXPECT_EQ(plain_collections("hidden.weight"), Names{"weights"});
  EXPECT_EQ(plain_collections("Net_fc1.weight"), Names{"weights"});
  EXPECT_EQ(plain_collections("loss_fn.weight"), Names{"weights"});
  EXPECT_EQ(plain_collections("hidden.bias"), Names{"biases"});
  EXPECT_EQ(plain_collections("gradient/hidden.weight"), Names{"gradients"});
  EXPECT_EQ(plain_collections("gradient/loss"), Names{"gradients"});
  EXPECT_EQ(plain_collections("optimizer_state/fc.weight/exp_avg"), Names{});
  EXPECT_EQ(plain_collections("hidden.activations"), Names{});
}

TEST(PlainFramework, FindsLossesByTheWordInTheirName) {
  for (const char* name :
       {"loss", "Loss", "losses", "train_loss", "trainLoss", "loss/train",
        "Loss/test", "loss_val", "loss_2", "scalar/loss", "scalar/val_loss",
        "CrossEntropyLoss_output_0", "loss.total"}) {
    EXPECT_EQ(plain_collections(name), std::set<std::string>{"losses"}) << name;
  }
  for (const char* name : {"lossless", "floss", "CrossEntropyLoss_input_0",
                           "loss_scale", "scalar/loss_scale", "accuracy"}) {
    EXPECT_TRUE(plain_collections(name).empty()) << name;
  }
}

}  // namespace
}  // namespace smdebug
