#pragma once

// A `Plan` is the resolved configuration: the user's settings merged with the
// framework's defaults, checked, with compiled patterns. It is immutable; an
// edit creates a new one. Capture asks it two questions: which collections a
// tensor belongs to (once per name), and which collections are due (once per
// step).

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/config/collection.h"
#include "smdebug/config/framework.h"
#include "smdebug/config/hook_config.h"
#include "smdebug/core/mode.h"

namespace [[gnu::visibility("default")]] smdebug {

// A set of a plan's collections, by their index in it. It has a fixed size, so
// that the training step allocates nothing to create one.
class CollectionSet {
 public:
  static constexpr std::size_t kMaxCollections = 256;

  void insert(std::size_t collection) {
    words_[collection / 64] |= std::uint64_t{1} << (collection % 64);
  }
  bool contains(std::size_t collection) const {
    return words_[collection / 64] >> (collection % 64) & 1;
  }
  bool empty() const { return *this == CollectionSet{}; }
  CollectionSet operator|(const CollectionSet& other) const {
    CollectionSet either;
    for (std::size_t i = 0; i < words_.size(); ++i)
      either.words_[i] = words_[i] | other.words_[i];
    return either;
  }
  CollectionSet operator&(const CollectionSet& other) const {
    CollectionSet both;
    for (std::size_t i = 0; i < words_.size(); ++i)
      both.words_[i] = words_[i] & other.words_[i];
    return both;
  }

  friend bool operator==(const CollectionSet&, const CollectionSet&) = default;
  friend auto operator<=>(const CollectionSet&, const CollectionSet&) = default;

 private:
  std::array<std::uint64_t, kMaxCollections / 64> words_{};
};

// The form in which one tensor is written at one step.
struct SaveSpec {
  bool raw = false;
  bool shape = false;
  std::vector<ReductionOp> reductions;  // without repetition, in writing order
  // For TensorBoard, if the hook writes for it: whether a tensor of one element
  // is shown as a scalar, and the collection whose name tags its histogram;
  // empty: no histogram.
  bool scalar_summary = false;
  std::string histogram_collection;
  bool is_loss = false;  // for `progress.json`
  bool is_gradient = false;
  // The most elements of a tensor that are kept; 0: all.
  std::int64_t max_elements = 0;

  friend bool operator==(const SaveSpec&, const SaveSpec&) = default;
};

class Plan {
 public:
  /// Resolves `config`. Fails with `invalid_config`, naming the collection and
  /// the field, for an interval that is not positive, a pattern that does not
  /// compile, a user's collection with neither patterns nor tensor names, an
  /// included collection that does not exist, more than
  /// `CollectionSet::kMaxCollections` collections, a `max_run_bytes` of 0, or a
  /// negative `keep_every`.
  static Result<std::shared_ptr<const Plan>> build(const HookConfig& config,
                                                   const Framework& framework);
  ~Plan();

  /// Returns every collection that exists, saved or not, in order of export,
  /// with its resolved settings.
  std::span<const Collection> collections() const;
  /// Returns whether the collection at this index is saved at all.
  bool is_saved(std::size_t collection) const;
  const Framework& framework() const;
  /// Returns the setting of the configuration, see HookConfig.
  std::uint32_t max_tensors_per_module() const;

  /// Returns the saved collections that `tensor_name` belongs to. A pattern
  /// that is too complex matches nothing; see `pattern_errors`.
  /// Searches the name with every pattern, so call it once per name.
  /// Thread-safe.
  CollectionSet match(std::string_view tensor_name) const;

  /// Returns the saved collections that are due. Collections of
  /// `is_training_only` are never due in modes `eval` and `predict`.
  CollectionSet due(const StepId& step) const;
  /// Returns the saved collections that a step of `mode` can have, due or not.
  CollectionSet saved(Mode mode) const;

  /// Returns the form in which to write a tensor whose due collections are
  /// `due`. Its histogram is tagged with the first of them that has
  /// `save_histogram`.
  SaveSpec save_spec(const CollectionSet& due) const;

  /// Returns the errors of `match` so far, one sentence per pattern.
  /// Thread-safe.
  std::vector<std::string> pattern_errors() const;
  /// Returns how many there are, without taking a lock.
  std::size_t pattern_error_count() const;

 private:
  class Impl;
  explicit Plan(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace smdebug
