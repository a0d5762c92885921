// NLPSequenceRatio: one token, such as padding, makes up too large a share of
// the token sequences.
//
// The documents leave the details open. The share of a token is its share of
// one tensor at one step. Any tensor and any token suffices. Statistics are
// enough to judge token 0.

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "base/strings.h"
#include "rules/builtin/builtin.h"
#include "rules/engine/finding.h"
#include "rules/engine/shared_parameters.h"
#include "rules/measures/element_values.h"
#include "rules/measures/quantity.h"

namespace smdebug {
namespace {

constexpr const char* kGluonTokens = ".*embedding0_input_0";
// Positions and types of tokens are embedded too, and a type of 0 is no token.
constexpr const char* kEmbeddingInput =
    "^(?!.*(token_type|segment|position)).*[Ee]mbedding.*_input_0";
constexpr const char* kKerasEmbeddingInputs =
    "^(?!.*(token_type|segment|position)).*"
    "[Ee]mbedding[^/]*/inputs(_\\d+)?$";

const ParameterSpec kNLPSequenceRatioParameters[] = {
    {.name = "tensor_regex",
     .type = ParameterType::text_list,
     .default_text = kGluonTokens,
     .description =
         "Patterns of the names of sequence tensors; the default also selects "
         "the inputs of every module whose name contains 'embedding', but not "
         "'token_type', 'segment' or 'position'."},
    {.name = "token_values",
     .type = ParameterType::text_list,
     .default_text = "0",
     .description = "Tokens whose share is judged."},
    {.name = "token_thresholds_percent",
     .type = ParameterType::text_list,
     .default_text = "50",
     .description = "Largest allowed share of each of token_values, in "
                    "percent; one number per token."},
    kStartStep,
    kEndStep,
    kPreset,
};

const Advice kNLPSequenceRatioAdvice[] = {
    {.cause = "sequences of very different length in one batch, or a "
              "vocabulary that lacks words of the data: the model mostly "
              "processes padding or unknown words",
     .advice = "sort or bucket the sequences by length, truncate the longest, "
               "pack them, or check the vocabulary",
     .severity = Severity::advice},
};

struct TokenLimit {
  double token = 0;
  double percent = 0;
};

Result<std::vector<double>> parse_numbers(const Parameters& parameters,
                                          std::string_view name) {
  std::vector<double> numbers;
  for (const std::string& word : parameters.text_list(name)) {
    const auto number = find_number<double>(word);
    if (!number) {
      return Error{Error::Code::invalid_config,
                   fmt::format("rule NLPSequenceRatio: parameter '{}' should "
                               "be comma-separated numbers but contains '{}'",
                               name, word)};
    }
    numbers.push_back(*number);
  }
  return numbers;
}

Result<std::vector<TokenLimit>> parse_limits(const Parameters& parameters) {
  SMD_TRY(const auto tokens, parse_numbers(parameters, "token_values"));
  SMD_TRY(const auto percents,
          parse_numbers(parameters, "token_thresholds_percent"));
  if (tokens.size() != percents.size() || tokens.empty()) {
    return Error{Error::Code::invalid_config,
                 fmt::format("rule NLPSequenceRatio: token_values names {} "
                             "tokens and token_thresholds_percent {}; give one "
                             "threshold for each token",
                             tokens.size(), percents.size())};
  }
  std::vector<TokenLimit> limits;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!(percents[i] >= 0 && percents[i] <= 100)) {
      return Error{
          Error::Code::invalid_config,
          fmt::format(
              "rule NLPSequenceRatio: parameter 'token_thresholds_percent' "
              "should be from 0 to 100 but contains '{}'",
              percents[i])};
    }
    limits.push_back({tokens[i], percents[i]});
  }
  return limits;
}

class NLPSequenceRatio : public Rule {
 public:
  NLPSequenceRatio(std::vector<std::string> regexes,
                   std::vector<TokenLimit> limits)
      : limits_(std::move(limits)) {
    if (regexes == std::vector<std::string>{kGluonTokens}) {
      regexes.insert(regexes.end(), {kEmbeddingInput, kKerasEmbeddingInputs});
    }
    selector_.regexes = std::move(regexes);
    selector_.capture_as = "input_sequence";
  }

  RuleNeeds needs() const override {
    RuleNeeds needs;
    needs.selectors.push_back(selector_);
    if (!only_zero()) needs.depth = RuleNeeds::Depth::values;
    return needs;
  }

  Outcome on_step(const RuleStep& step) override {
    std::optional<Finding> finding;
    for (const Observation* tensor : step.by_selector(0)) {
      SMD_TRY(const auto counts, count(*tensor));
      if (!counts || counts->size == 0) continue;
      count_judged();
      judge(*counts, evidence_of(*tensor, step.step), finding);
    }
    if (!finding) return finding;
    std::ranges::stable_sort(
        finding->evidence, std::ranges::greater(),
        [](const Evidence& one) { return one.value - *one.threshold; });
    describe(*finding);
    return finding;
  }

 private:
  struct Counts {
    std::uint64_t size = 0;
    std::vector<std::uint64_t> of_token;  // by position in `limits_`
  };

  bool only_zero() const {
    return std::ranges::all_of(
        limits_, [](const TokenLimit& limit) { return limit.token == 0; });
  }

  Result<std::optional<Counts>> count(const Observation& tensor) const {
    Counts counts;
    counts.of_token.resize(limits_.size());
    if (only_zero()) {
      SMD_TRY(const auto statistics, full_statistics(tensor));
      if (!statistics) return std::optional<Counts>();
      counts.size = statistics->count;
      std::ranges::fill(counts.of_token, statistics->zeros);
      return std::optional(std::move(counts));
    }
    SMD_TRY(const auto view, elements_of(tensor));
    if (!view || is_string(view->dtype)) return std::optional<Counts>();
    for_each_block(*view, [&](std::span<const double> block) {
      counts.size += block.size();
      for (std::size_t i = 0; i < limits_.size(); ++i) {
        counts.of_token[i] += static_cast<std::uint64_t>(
            std::ranges::count(block, limits_[i].token));
      }
    });
    return std::optional(std::move(counts));
  }

  void judge(const Counts& counts, const Evidence& place,
             std::optional<Finding>& finding) const {
    for (std::size_t i = 0; i < limits_.size(); ++i) {
      const double percent = 100 * static_cast<double>(counts.of_token[i]) /
                             static_cast<double>(counts.size);
      if (!(percent > limits_[i].percent)) continue;
      Evidence evidence = place;
      evidence.quantity = fmt::format("percent of token {}", limits_[i].token);
      evidence.value = percent;
      evidence.relation = ">";
      evidence.threshold = limits_[i].percent;
      if (!finding) finding.emplace();
      finding->evidence.push_back(std::move(evidence));
    }
  }

  static void describe(Finding& finding) {
    const Evidence& worst = finding.evidence.front();
    finding.message =
        fmt::format("{}: {:.3g} {} at {}, more than {}",
                    tensor_text(worst.tensor, worst.worker), worst.value,
                    worst.quantity, step_text(worst.step), *worst.threshold);
    std::set<std::pair<std::string_view, std::string_view>> shares;
    for (const Evidence& one : finding.evidence) {
      shares.emplace(one.tensor, one.quantity);
    }
    finding.message += others_text(
        {shares.size(), count_tensors(finding.evidence).workers},
        fmt::format("{} shares of this step are above their threshold",
                    shares.size()));
    set_advice(finding, kNLPSequenceRatioAdvice[0]);
  }

  std::vector<TokenLimit> limits_;
  TensorSelector selector_;
};

Result<std::unique_ptr<Rule>> make_nlp_sequence_ratio(
    const Parameters& parameters) {
  SMD_TRY(auto limits, parse_limits(parameters));
  return make_rule<NLPSequenceRatio>(parameters.text_list("tensor_regex"),
                                     std::move(limits));
}

}  // namespace

const RuleFactory kNLPSequenceRatio = {
    .name = "NLPSequenceRatio",
    .summary =
        "One token, such as padding, makes up too large a share of the token "
        "sequences.",
    .condition =
        "Fires when the share of a token of 'token_values' in a tensor "
        "exceeds its 'token_thresholds_percent'.",
    .advice = kNLPSequenceRatioAdvice,
    .parameters = kNLPSequenceRatioParameters,
    .make = make_nlp_sequence_ratio,
};

}  // namespace smdebug
