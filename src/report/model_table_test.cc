#include "smdebug/report/model_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"

namespace smdebug {
namespace {

using testing::HasSubstr;

RunFacts facts_of_a_net() {
  RunFacts facts;
  facts.parameters = {
      {"Net_fc.weight",
       true,
       "float32",
       "cpu",
       {4, 3},
       "",
       GroupPosition{0, 1}},
      {"Net_head.weight", false, "float32", "cpu", {}, "Net_fc.weight", {}}};
  facts.optimizers = {{"Adam",
                       {{1, 0, {{"learning_rate", 1e-3}, {"eps", 1e-8}}},
                        {3, 1, {{"learning_rate", 0}}}}}};
  facts.modules = {{"fc", "Linear", true, {}},
                   {"drop", "Dropout", false, {{"p", 0.5}}}};
  DataFacts& features = facts.inputs.emplace_back();
  features.tensor = "Net_input_0";
  features.received_by = "Linear";
  features.dtype = "float32";
  features.shape = {32, 3};
  features.mean = 0.5;
  features.deviation = 1234.5;
  features.low = -3;
  features.high = 20000;
  features.not_finite = 37;
  LossInputFacts input;
  input.function = "cross_entropy";
  input.steps = 3;
  input.shape = {32, 10};
  input.target_shape = {32};
  input.activation = "Softmax";
  input.values = "probabilities";
  facts.losses = {{"loss_output_0", "CrossEntropyLoss", "mean", -100, input},
                  {"loss_output_1", "L1Loss", "sum", {}, {}}};
  return facts;
}

TEST(ModelTable, ListsParametersOptimizersModulesAndLosses) {
  const std::vector<WorkerFacts> facts = {{"worker_0", facts_of_a_net()}};
  EXPECT_EQ(
      model_text(facts),
      "parameter        shape   dtype    device  trainable  optimizer        "
      "shared with\n"
      "Net_fc.weight    (4, 3)  float32  cpu     yes        0 Adam, group 1\n"
      "Net_head.weight  ()      float32  cpu     no         none             "
      "Net_fc.weight\n"
      "\n"
      "optimizer  group  parameters  settings\n"
      "0 Adam         0           1  eps 1e-08, learning_rate 0.001\n"
      "0 Adam         1           3  learning_rate 0; 1 of its parameters is "
      "of no recorded model\n"
      "\n"
      "module  kind     mode   settings\n"
      "fc      Linear   train\n"
      "drop    Dropout  eval   p 0.5\n"
      "\n"
      "input        shape    dtype    mean, deviation  range                 "
      "              received by\n"
      "Net_input_0  (32, 3)  float32  0.5, 1234        -3 to 2e+04; not "
      "finite at step 37  Linear\n"
      "\n"
      "loss           kind              reduction  ignored label  input\n"
      "loss_output_0  CrossEntropyLoss  mean                -100  "
      "(32, 10) Softmax, probabilities; targets (32)\n"
      "loss_output_1  L1Loss            sum\n");
}

TEST(ModelTable, ListsTheTargetsOfLosses) {
  RunFacts net = facts_of_a_net();
  LossInputFacts& input = *net.losses[0].input;
  input.ignored = 0.25;
  DataFacts& targets = input.targets.emplace();
  targets.shape = {32};
  targets.dtype = "int64";
  targets.labels = 320;
  targets.classes = 10;
  targets.largest_class = 180;
  targets.smallest_class = 2;
  targets.label_order = 0.125;
  net.training_sets = {"validation_0"};
  const std::string text =
      model_text(std::vector<WorkerFacts>{{"worker_0", net}});
  EXPECT_THAT(text, HasSubstr("targets (32), 25 % of them ignored\n"));
  EXPECT_THAT(
      text,
      HasSubstr("\n"
                "targets of     shape  dtype  mean, deviation  range  labels\n"
                "loss_output_0  (32)   int64                          320 of "
                "10 classes, 180 of the largest and 2 of the smallest; order "
                "0.12\n"
                "\n"
                "trained on: validation_0\n"));
}

TEST(ModelTable, ListsSchedulersAndWhatTheLoopDoes) {
  RunFacts net = facts_of_a_net();
  net.loop.schedulers = {{"StepLR", 0, 7, 70, {{"step_size", 30}}},
                         {"LambdaLR", std::nullopt, 1, 0, {}}};
  net.loop.autocast_dtype = "bfloat16";
  net.loop.scaled_clippings = 3;
  net.loop.gradient_norm_limit = 0.5;
  net.loop.gradient_value_limit = 0.25;
  net.loop.log_hides_not_finite = true;
  net.loop.short_lived_optimizers = 10;
  net.loop.layers_outside = {"Linear", "Conv2d"};
  net.loop.not_finite_by = {"log of 0", 7, 3, 320};
  EXPECT_THAT(
      model_text(std::vector<WorkerFacts>{{"worker_0", net}}),
      HasSubstr("\n"
                "\n"
                "scheduler  optimizer  steps  updates  settings\n"
                "StepLR     0 Adam         7       70  step_size 30\n"
                "LambdaLR                  1        0\n"
                "\n"
                "autocast: bfloat16\n"
                "clipping: some gradients were clipped while they carried the "
                "scale of a gradient scaler\n"
                "clipping: gradients to a norm of 0.5\n"
                "clipping: elements of gradients to 0.25\n"
                "log: the trainer leaves out losses that are NaN or "
                "infinite\n"
                "optimizers: 10 replaced after at most two updates\n"
                "layers outside of the model: Linear, Conv2d\n"
                "loss: not finite at step 7 by log of 0\n"));
}

TEST(ModelTable, NamesAnOptimizerThatKeepsItsGradients) {
  RunFacts net = facts_of_a_net();
  net.optimizers.push_back({"SGD", {{2, 0, {{"learning_rate", 1}}}}, true});
  net.optimizers.push_back({"SGD", {{2, 0, {{"learning_rate", 2}}}}, false});
  const std::vector<WorkerFacts> facts = {{"worker_0", net}};
  const std::string text = model_text(facts);
  EXPECT_THAT(text,
              HasSubstr("learning_rate 1; its gradients are never cleared\n"));
  EXPECT_THAT(text, HasSubstr("learning_rate 2\n"));
}

TEST(ModelTable, ShowsTheLastFactsOfWorkersThatDiffer) {
  RunFacts later = facts_of_a_net();
  later.step = 7;
  later.parameters[1].is_trainable = true;
  const std::vector<WorkerFacts> facts = {{"worker_0", facts_of_a_net()},
                                          {"worker_1", facts_of_a_net()},
                                          {"worker_2", facts_of_a_net()},
                                          {"worker_1", later}};
  const std::string text = model_text(facts);
  EXPECT_THAT(text, HasSubstr("worker_0, worker_2, from step 0 on:\n"));
  EXPECT_THAT(text, HasSubstr("\nworker_1, from step 7 on:\n"));
}

TEST(ModelTable, IsTheSameInJson) {
  const std::vector<WorkerFacts> facts = {{"worker_0", facts_of_a_net()}};
  const auto json = Json::parse(model_json(facts));
  ASSERT_TRUE(json);
  const Json& one = json->as_array()->front();
  const Json& weight = one.find("parameters")->as_array()->front();
  EXPECT_EQ(*weight.find("group"), Json(1));
  EXPECT_EQ(*weight.find("trainable"), Json(true));
  EXPECT_TRUE(
      one.find("parameters")->as_array()->back().find("group")->is_null());
  EXPECT_EQ(one.find("optimizers")->as_array()->size(), 1u);
  EXPECT_EQ(one.find("modules")->as_array()->size(), 2u);
  EXPECT_EQ(one.find("losses")->as_array()->size(), 2u);
  EXPECT_EQ(one.find("inputs")->as_array()->size(), 1u);
}

}  // namespace
}  // namespace smdebug
