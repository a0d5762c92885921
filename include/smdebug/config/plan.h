#pragma once

// A `Plan` is a finalized configuration: what the user asked for, merged with
// what the framework expects, checked, its patterns compiled. It is immutable;
// an edit makes a new one. Capture asks it two questions: which collections
// does this name belong to (once per tensor), and which collections are due
// (once per step).

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

namespace smdebug {

// A set of a plan's collections, by their position in it. Fixed in size, so
// that making one in the training step allocates nothing.
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

// What is written of one tensor at one step.
struct SaveSpec {
  bool raw = false;
  bool shape = false;
  std::vector<ReductionOp> reductions;  // without repetition, in writing order
  // For TensorBoard, where the hook writes for it: whether a tensor of one
  // element is shown as a number, and the collection under whose name a tensor
  // is shown as a histogram; empty: it is not.
  bool scalar_summary = false;
  std::string histogram_collection;

  friend bool operator==(const SaveSpec&, const SaveSpec&) = default;
};

class Plan {
 public:
  /// Finalizes `config` (docs/design.md, "what is saved"). Fails with
  /// `invalid_config`, naming the collection and the field: an interval that
  /// is not positive, a pattern that does not compile, a collection of the
  /// user's with neither pattern nor tensor names, more than
  /// `CollectionSet::kMaxCollections` collections, a `max_run_bytes` of 0, a
  /// negative `keep_every`.
  static Result<std::shared_ptr<const Plan>> build(const HookConfig& config,
                                                   const Framework& framework);
  ~Plan();

  /// Every collection that exists, saved or not, in order of export, with its
  /// finalized configuration.
  std::span<const Collection> collections() const;
  bool is_saved(std::size_t collection) const;
  const Framework& framework() const;

  /// Returns the saved collections that `tensor_name` belongs to. A pattern
  /// that runs into the match limit matches nothing; see `pattern_errors`.
  /// Costs a search per pattern: once per tensor. Safe from several threads.
  CollectionSet match(std::string_view tensor_name) const;

  /// Returns the saved collections that are due. In modes `eval` and `predict`
  /// the collections `gradients` and `optimizer_variables` never are.
  CollectionSet due(const StepId& step) const;

  /// Returns what to write of a tensor whose due collections are `due`. Its
  /// histogram goes under the first of them that has `save_histogram`.
  SaveSpec save_spec(const CollectionSet& due) const;

  /// What went wrong while matching, one sentence per pattern; empty if
  /// nothing did.
  std::vector<std::string> pattern_errors() const;

 private:
  class Impl;
  explicit Plan(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace smdebug
