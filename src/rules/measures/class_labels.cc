#include "rules/measures/class_labels.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "rules/measures/element_values.h"

namespace smdebug {
namespace {

// Positions in `ClassSelectors::list`.
enum Selector : std::size_t { labels, predictions, loss_labels, loss_scores };

// The tensors of PyTorch's losses, except regression and embedding losses,
// which have no classes.
constexpr std::string_view kClassLoss =
    "^(?!.*(MSE|L1|Huber|KLDiv|PoissonNLL|GaussianNLL|CosineEmbedding|"
    "HingeEmbedding|MarginRanking|TripletMargin(WithDistance)?)Loss_)"
    ".*Loss_";
// The same for Gluon, which numbers its losses.
constexpr std::string_view kGluonClassLoss =
    "^(?!.*(l1|l2|huber|kldiv|poissonnll|cosineembedding|hinge|triplet|sdml)"
    "loss)"
    ".*loss\\d+_";

// The label that PyTorch's losses ignore by default.
constexpr std::int64_t kIgnoredLabel = -100;

// Above this, not every integer is a double.
constexpr double kLargestClass = 9007199254740992;  // 2^53

struct Rows {
  std::size_t count = 0;
  std::size_t width = 0;
};

// Returns none if a tensor of that shape contains no classes. Trailing
// dimensions of one element do not count.
std::optional<Rows> rows_of(std::span<const std::int64_t> shape) {
  while (shape.size() > 1 && shape.back() == 1) {
    shape = shape.first(shape.size() - 1);
  }
  const auto extent = [&](std::size_t i) {
    return static_cast<std::size_t>(shape[i]);
  };
  if (shape.empty()) return Rows{1, 1};
  if (shape.size() == 1) return Rows{extent(0), 1};
  if (shape.size() == 2) return Rows{extent(0), extent(1)};
  return std::nullopt;
}

std::int64_t nearest_class(double value) {
  if (!(std::abs(value) <= kLargestClass)) return kNoClass;
  return static_cast<std::int64_t>(std::nearbyint(value));
}

// The position of the largest score, ignoring NaN; the first of equals.
std::int64_t largest_of(std::span<const double> scores) {
  std::int64_t largest = kNoClass;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (std::isnan(scores[i])) continue;
    if (largest == kNoClass ||
        scores[i] > scores[static_cast<std::size_t>(largest)]) {
      largest = static_cast<std::int64_t>(i);
    }
  }
  return largest;
}

std::vector<std::int64_t> classes_of(std::span<const double> values,
                                     Rows rows) {
  std::vector<std::int64_t> classes;
  classes.reserve(rows.count);
  for (std::size_t row = 0; row < rows.count; ++row) {
    const auto of_row = values.subspan(row * rows.width, rows.width);
    classes.push_back(rows.width == 1 ? nearest_class(of_row[0])
                                      : largest_of(of_row));
  }
  return classes;
}

bool are_whole_numbers(std::span<const double> values) {
  return std::ranges::all_of(values, [](double value) {
    return std::isnan(value) || value == std::nearbyint(value);
  });
}

std::string unreadable_text(const Observation& tensor, std::string_view what) {
  return fmt::format(
      "{} '{}' of shape ({}) were not saved, or are not one number or one row "
      "of scores per sample",
      what, tensor.name, fmt::join(tensor.shape, ", "));
}

}  // namespace

std::vector<TensorSelector> ClassSelectors::list() const {
  std::vector<TensorSelector> all = {labels, predictions};
  all[0].capture_as = "labels";
  all[1].capture_as = "predictions";
  if (!with_loss_inputs) return all;
  all.push_back({.collections = {},
                 .regexes = {std::string(kGluonClassLoss) + "input_1$",
                             std::string(kClassLoss) + "input_1$"},
                 .every_tensor = false,
                 .capture_as = "labels"});
  all.push_back({.collections = {},
                 .regexes = {std::string(kGluonClassLoss) + "input_0$",
                             std::string(kClassLoss) + "input_0$"},
                 .every_tensor = false,
                 .capture_as = "predictions"});
  return all;
}

struct ClassReader::Candidate {
  const Observation* tensor = nullptr;
  std::vector<std::int64_t> classes;
  bool is_paired = false;
};

Result<ClassReader::Classes> ClassReader::read_labels(
    const Observation& labels) {
  SMD_TRY(const auto elements, element_values(labels));
  const auto rows = elements ? rows_of(elements->shape) : std::nullopt;
  if (!rows) {
    problem_ = unreadable_text(labels, "labels");
    return Classes();
  }
  if (rows->width == 1 && !are_whole_numbers(elements->values)) {
    problem_ =
        fmt::format("labels '{}' are not integers: a regression has no classes",
                    labels.name);
    return Classes();
  }
  auto classes = classes_of(elements->values, *rows);
  std::ranges::replace(classes, kIgnoredLabel, kNoClass);
  return Classes(std::move(classes));
}

Result<ClassReader::Classes> ClassReader::read_predictions(
    const Observation& predictions) {
  SMD_TRY(const auto elements, element_values(predictions));
  auto rows = elements ? rows_of(elements->shape) : std::nullopt;
  if (!rows) {
    problem_ = unreadable_text(predictions, "predictions");
    return Classes();
  }
  if (argmax_ && elements->shape.size() == 1 && rows->count > 0) {
    std::swap(rows->count, rows->width);
  }
  return Classes(classes_of(elements->values, *rows));
}

Result<std::vector<ClassPair>> ClassReader::read(const RuleStep& step) {
  const auto chosen = [&](Selector first, Selector second) {
    const bool use_second =
        step.by_selector(first).empty() && step.selected.size() > second;
    return step.by_selector(use_second ? second : first);
  };
  std::vector<ClassPair> pairs;
  for (const Observation* tensor : chosen(labels, loss_labels)) {
    SMD_TRY(auto classes, read_labels(*tensor));
    if (classes) pairs.push_back({tensor, *std::move(classes), nullptr, {}});
  }
  if (pairs.empty()) return pairs;
  std::vector<Candidate> candidates;
  for (const Observation* tensor : chosen(predictions, loss_scores)) {
    SMD_TRY(auto classes, read_predictions(*tensor));
    if (classes) candidates.push_back({tensor, *std::move(classes), false});
  }
  for (ClassPair& pair : pairs) {
    const auto fits = [&](const Candidate& candidate) {
      return !candidate.is_paired && candidate.tensor != pair.labels &&
             candidate.tensor->worker == pair.labels->worker &&
             candidate.classes.size() == pair.label.size();
    };
    const auto found = std::ranges::find_if(candidates, fits);
    if (found == candidates.end()) {
      problem_ = fmt::format(
          "no predictions were found with as many rows as "
          "labels '{}', {}",
          pair.labels->name, pair.label.size());
      continue;
    }
    found->is_paired = true;
    pair.predictions = found->tensor;
    pair.predicted = std::move(found->classes);
  }
  return pairs;
}

RuleNeeds ClassRule::needs() const {
  RuleNeeds needs;
  needs.selectors = selectors_.list();
  needs.depth = RuleNeeds::Depth::values;
  return needs;
}

Outcome ClassRule::finish() {
  const std::string reason = reason_for_no_judgment();
  if (reason.empty()) return no_finding();
  return Error{Error::Code::not_found, "nothing to judge: " + reason};
}

Status ClassRule::check_class_count(std::size_t classes, std::string_view role,
                                    const Observation& tensor) {
  if (classes <= kMaxClasses) return {};
  return Error{Error::Code::invalid_argument,
               fmt::format("the {} '{}' have more than {} different values, so "
                           "they are not classes",
                           role, tensor.name, kMaxClasses)};
}

}  // namespace smdebug
