#include "rules/builtin/rate_findings.h"

#include <fmt/format.h>

#include "rules/engine/finding.h"

namespace smdebug {
namespace {

// Of the rate before: a higher one has risen.
constexpr double kRisen = 1.01;

}  // namespace

const Advice kRateAdvice[] = {
    {.when = "updates that are too small",
     .cause = "a learning rate that is too low: the weights hardly move",
     .advice = "raise the learning rate"},
    {.when = "first updates that are too large",
     .cause = "a learning rate that is too high: the first updates replaced "
              "the initial weights instead of improving them",
     .advice = "lower the learning rate"},
    {.when = "a learning rate that decayed early",
     .cause = "a schedule that is meant for epochs and stepped after each "
              "batch, or that decays too fast",
     .advice = "call scheduler.step() once per epoch, or give the schedule the "
               "number of batches"},
    {.when = "a warm-up that does not end",
     .cause = "a warm-up that is longer than the training: its learning rate "
              "has not become large enough to train",
     .advice = "shorten the warm-up to a few percent of the updates, and give "
               "it the number of updates, not of samples"},
    {.when = "a weight decay that is too strong",
     .cause = "a weight decay that outweighs the gradients: it pulls the "
              "weights to 0, so that the model cannot learn",
     .advice = "lower weight_decay: up to 5e-4 is usual for SGD, up to 0.3 for "
               "AdamW, and up to 0.01 for Adam"},
    {.when = "a clipping that is too strong",
     .cause = "a gradient clipping that leaves hardly anything of the "
              "gradients: the weights do not move",
     .advice = "raise the limit of the clipping: for the norm of all "
               "gradients, 1 is usual"},
    {.when = "updates that are too large for a loss that is a sum",
     .cause = "a loss that is a sum over the samples: its gradients, and with "
              "them the updates of SGD, grow with the size of the batch",
     .advice = "use reduction='mean', or divide the loss by the number of "
               "samples"},
    {.when = "a clipping before the gradients are computed",
     .cause = "a clipping between zero_grad() and backward(): it finds no "
              "gradients, and the updates are not limited",
     .advice = "call clip_grad_norm_() after backward(), directly before "
               "optimizer.step()"},
    {.when = "a learning rate that has decayed to nothing",
     .cause = "a schedule that multiplies the learning rate again and again, "
              "such as by a factor that is meant for the initial one: the "
              "weights no longer move",
     .advice = "compute the learning rate from the initial one, decay it more "
               "slowly, or end the training earlier"},
    {.when = "a warm-up that steps too rarely",
     .cause = "a warm-up that counts updates, under a scheduler that steps "
              "once per epoch: the learning rate stays at its beginning",
     .advice = "call scheduler.step() after each optimizer.step(), or give the "
               "warm-up a number of epochs"},
    {.when = "updates that are too large for gradients that are summed",
     .cause = "gradients of several backward passes that are added without a "
              "division: each update is as many times as large",
     .advice = "divide each loss by the number of backward passes per update, "
               "or the learning rate"},
    {.when = "updates that the weights round away",
     .cause = "weights of 16 bits: what an update adds is less than half of "
              "the distance to the next number that they can have",
     .advice = "keep the weights in float32, and compute with 16 bits under "
               "torch.autocast"},
};

std::string loss_text(const UpdateHistory& history) {
  return tensor_text(history.loss_name(), history.worker());
}

void add_rate_evidence(Finding& finding, RateFault fault,
                       const UpdateHistory& history, const StepId& step) {
  set_advice(finding, kRateAdvice[static_cast<std::size_t>(fault)]);
  Evidence& evidence = finding.evidence.emplace_back();
  evidence.tensor = history.loss_name();
  evidence.worker = history.worker();
  evidence.step = step;
  finding.step = step;
}

Finding describe_rate(RateFault fault, const UpdateHistory& history,
                      const FollowedUpdate& update) {
  Finding finding;
  finding.message =
      fmt::format("{}: the learning rate of {} is {:.4g}", loss_text(history),
                  update.optimizer, update.rate);
  add_rate_evidence(finding, fault, history, update.step);
  return finding;
}

void set_rate_numbers(Finding& finding, std::string_view quantity, double value,
                      std::string_view relation, double threshold) {
  Evidence& evidence = finding.evidence.front();
  evidence.quantity = quantity;
  evidence.value = value;
  evidence.relation = relation;
  evidence.threshold = threshold;
}

bool is_rate_rising(const UpdateHistory& history) {
  const auto now = history.rate();
  const auto before = history.rates().at(history.step().global / 2);
  return now && before && now->now > kRisen * before->now;
}

}  // namespace smdebug
