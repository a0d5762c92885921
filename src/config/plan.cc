#include "smdebug/config/plan.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <optional>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "base/regex.h"
#include "base/suggestions.h"

namespace smdebug {
namespace {

bool contains(const std::vector<std::string>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Status check_size_limit(const HookConfig& config) {
  if (config.max_run_bytes == std::uint64_t{0}) {
    return Error{
        Error::Code::invalid_config,
        "max_run_bytes is 0; it must be more than 0, or absent to keep "
        "every step"};
  }
  if (config.keep_every < 0) {
    return Error{Error::Code::invalid_config,
                 fmt::format("keep_every is {}; it must be 0 (no step is kept "
                             "longer than others) or more",
                             config.keep_every)};
  }
  return {};
}

// Assembles the collections that exist: the framework's, or the user's edited
// versions of them, and then the user's own.
class CollectionList {
 public:
  CollectionList(const HookConfig& config, const Framework& framework)
      : config_(config), framework_(framework) {}

  Result<std::vector<Collection>> build() {
    SMD_CHECK_OK(merge_hook_save_config());
    // Before the search for each of them, which takes quadratic time.
    SMD_CHECK_OK(check_count(framework_.collections.size() + own_count()));
    for (const Collection& collection : framework_.collections) {
      list_.push_back(*config_.find_collection(framework_, collection.name()));
    }
    for (const Collection& collection : config_.collections) {
      SMD_CHECK_OK(add_own(collection));
    }
    for (const std::string& name : config_.include_collections) {
      SMD_CHECK_OK(add_included(name));
    }
    exclude_opt_in_tensors();
    add_patterns();
    SMD_CHECK_OK(check_count(list_.size()));
    for (Collection& collection : list_) {
      SMD_CHECK_OK(finalize(collection));
    }
    return std::move(list_);
  }

 private:
  // Returns the number of collections that the framework does not have.
  std::size_t own_count() const {
    const auto is_own = [this](const Collection& collection) {
      return !contains_name(framework_.collections, collection.name());
    };
    return static_cast<std::size_t>(
        std::ranges::count_if(config_.collections, is_own));
  }

  static bool contains_name(const std::vector<Collection>& collections,
                            std::string_view name) {
    return std::ranges::find(collections, name, &Collection::name) !=
           collections.end();
  }

  static Status check_count(std::size_t collections) {
    if (collections <= CollectionSet::kMaxCollections) return {};
    return Error{Error::Code::invalid_config,
                 fmt::format("{} collections; at most {} are possible",
                             collections, CollectionSet::kMaxCollections)};
  }

  Status merge_hook_save_config() {
    const SaveConfigMode by_default{.save_interval =
                                        framework_.default_save_interval};
    save_config_ = config_.save_config.value_or(SaveConfig())
                       .merged_with(SaveConfig(by_default));
    if (Status status = save_config_.check(); !status) {
      return std::move(status).error().within("save_config");
    }
    return {};
  }

  Collection* find(std::string_view name) {
    for (Collection& collection : list_) {
      if (collection.name() == name) return &collection;
    }
    return nullptr;
  }

  Collection& find_or_add(std::string_view name) {
    if (Collection* found = find(name)) return *found;
    list_.push_back({.tensors = {.name = std::string(name)}});
    list_.back().save_histogram = !is_scalar_collection(name);
    return list_.back();
  }

  Status add_own(const Collection& collection) {
    if (&collection != config_.find_collection(framework_, collection.name())) {
      return Error{
          Error::Code::invalid_config,
          fmt::format("collection '{}' is given twice", collection.name())};
    }
    if (find(collection.name()) != nullptr) return {};
    if (!framework_.knows(collection.name()) &&
        collection.tensors.include_regex.empty() &&
        collection.tensors.tensor_names.empty()) {
      const auto meant = misspelled_name(collection.name(), names());
      return Error{
          Error::Code::invalid_config,
          fmt::format(
              "collection '{}' can match nothing: it has neither include_regex "
              "nor tensor_names{}",
              collection.name(),
              meant ? "; did you mean '" + *meant + "'?"
                    : "; give it patterns of tensor names in include_regex, or "
                      "remove it")};
    }
    list_.push_back(collection);
    return {};
  }

  Status add_included(const std::string& name) {
    if (find(name) != nullptr) return {};
    if (const Collection* own = framework_.find(name)) {
      list_.push_back(*own);
      return {};
    }
    if (framework_.knows(name)) {
      find_or_add(name);
      return {};
    }
    return Error{
        Error::Code::invalid_config,
        fmt::format("include_collections names '{}', which does not "
                    "exist; nearest: {}; name one of them, or give a "
                    "collection '{}' patterns (include_regex)",
                    name, quoted_list(nearest_names(name, names(), 3)), name)};
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const Collection& collection : list_) {
      names.push_back(collection.name());
    }
    return names;
  }

  // Once an opt-in collection exists, the built-in ones exclude its tensors.
  void exclude_opt_in_tensors() {
    const bool has_opt_in =
        std::ranges::any_of(list_, [this](const Collection& collection) {
          return framework_.is_opt_in(collection.name());
        });
    if (!has_opt_in) return;
    const auto& exclusive = framework_.exclusive_patterns;
    for (Collection& collection : list_) {
      for (std::string& pattern : collection.tensors.include_regex) {
        const auto found = exclusive.find(pattern);
        if (found != exclusive.end()) pattern = found->second;
      }
    }
  }

  // The hook's own patterns go into `all` and `default`.
  void add_patterns() {
    if (config_.save_all || contains(config_.include_collections, "all")) {
      auto& patterns = find_or_add("all").tensors.include_regex;
      if (!contains(patterns, ".*")) patterns.push_back(".*");
    }
    if (!config_.include_regex.empty()) {
      auto& patterns = find_or_add("default").tensors.include_regex;
      patterns.insert(patterns.end(), config_.include_regex.begin(),
                      config_.include_regex.end());
    }
  }

  Status finalize(Collection& collection) const {
    collection.save_config =
        collection.save_config.value_or(SaveConfig()).merged_with(save_config_);
    if (Status status = collection.save_config->check(); !status) {
      return std::move(status).error().within(
          fmt::format("collection '{}': save_config", collection.name()));
    }
    if (collection.max_elements < 0) {
      return Error{Error::Code::invalid_config,
                   fmt::format("collection '{}': max_elements is {}; it must "
                               "be 0 (all elements) or more",
                               collection.name(), collection.max_elements)};
    }
    if (!collection.reduction_config) {
      const ReductionConfig raw{.save_raw_tensor = true};
      collection.reduction_config =
          is_scalar_collection(collection.name())
              ? raw
              : config_.reduction_config.value_or(raw);
    }
    return {};
  }

  const HookConfig& config_;
  const Framework& framework_;
  SaveConfig save_config_;  // the hook's, complete
  std::vector<Collection> list_;
};

// Decides which tensors belong to a collection.
struct Matcher {
  std::vector<Regex> patterns;
  std::unordered_set<std::string> tensor_names;
};

Result<Matcher> make_matcher(const Collection& collection) {
  const auto& names = collection.tensors.tensor_names;
  Matcher matcher{{}, {names.begin(), names.end()}};
  for (const std::string& pattern : collection.tensors.include_regex) {
    auto regex = Regex::compile(pattern);
    if (!regex) {
      return std::move(regex).error().within(
          fmt::format("collection '{}': include_regex", collection.name()));
    }
    matcher.patterns.push_back(*std::move(regex));
  }
  return matcher;
}

// Whether the user or the framework wants `collection` to be saved.
bool wants(const HookConfig& config, const Framework& framework,
           std::string_view collection) {
  return config.save_all || contains(config.include_collections, "all") ||
         contains(config.include_collections, collection) ||
         contains(framework.default_saved, collection) ||
         (collection == "default" && !config.include_regex.empty());
}

}  // namespace

class __attribute__((visibility("hidden"))) Plan::Impl {
 public:
  static Result<std::unique_ptr<Impl>> build(const HookConfig& config,
                                             const Framework& framework) {
    SMD_CHECK_OK(check_size_limit(config));
    auto impl = std::make_unique<Impl>();
    impl->framework = framework;
    impl->writes_tensorboard = config.tensorboard_dir.has_value();
    impl->max_tensors_per_module = config.max_tensors_per_module;
    SMD_TRY(impl->collections, CollectionList(config, framework).build());
    for (std::size_t i = 0; i < impl->collections.size(); ++i) {
      // Compile the patterns of collections that are not saved as well, so that
      // mistakes show at once.
      SMD_TRY(Matcher matcher, make_matcher(impl->collections[i]));
      impl->matchers.push_back(std::move(matcher));
      if (wants(config, framework, impl->collections[i].name())) {
        impl->saved.insert(i);
      }
    }
    return impl;
  }

  bool matches(std::size_t collection, std::string_view tensor_name) const {
    const Matcher& matcher = matchers[collection];
    if (matcher.tensor_names.contains(std::string(tensor_name))) return true;
    for (const Regex& pattern : matcher.patterns) {
      const auto found = pattern.search(tensor_name);
      if (!found) {
        const std::lock_guard lock(pattern_errors_mutex);
        pattern_errors.emplace(pattern.pattern(), found.error().message);
        pattern_error_count = pattern_errors.size();
      } else if (*found) {
        return true;
      }
    }
    return false;
  }

  // Whether steps of `mode` save tensors of the collection at all.
  bool can_save(std::size_t collection, Mode mode) const {
    if (!saved.contains(collection)) return false;
    const bool is_training = mode != Mode::eval && mode != Mode::predict;
    return is_training || !is_training_only(collections[collection].name());
  }

  // Adds the TensorBoard summaries of a tensor of `collection`.
  void show(const Collection& collection, SaveSpec& spec) const {
    if (!writes_tensorboard) return;
    spec.scalar_summary |= has_scalar_summaries(collection.name());
    if (collection.save_histogram && spec.histogram_collection.empty())
      spec.histogram_collection = collection.name();
  }

  Framework framework;
  bool writes_tensorboard = false;
  std::uint32_t max_tensors_per_module = 0;
  std::vector<Collection> collections;
  CollectionSet saved;
  std::vector<Matcher> matchers;  // one per collection
  mutable std::mutex pattern_errors_mutex;
  mutable std::map<std::string, std::string> pattern_errors;  // by pattern
  mutable std::atomic<std::size_t> pattern_error_count = 0;
};

Plan::Plan(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Plan::~Plan() = default;

Result<std::shared_ptr<const Plan>> Plan::build(const HookConfig& config,
                                                const Framework& framework) {
  SMD_TRY(auto impl, Impl::build(config, framework));
  return std::shared_ptr<const Plan>(new Plan(std::move(impl)));
}

std::span<const Collection> Plan::collections() const {
  return impl_->collections;
}

bool Plan::is_saved(std::size_t collection) const {
  return impl_->saved.contains(collection);
}

const Framework& Plan::framework() const { return impl_->framework; }

std::uint32_t Plan::max_tensors_per_module() const {
  return impl_->max_tensors_per_module;
}

CollectionSet Plan::match(std::string_view tensor_name) const {
  CollectionSet matched;
  for (std::size_t i = 0; i < impl_->collections.size(); ++i) {
    if (is_saved(i) && impl_->matches(i, tensor_name)) matched.insert(i);
  }
  return matched;
}

CollectionSet Plan::due(const StepId& step) const {
  CollectionSet due;
  for (std::size_t i = 0; i < impl_->collections.size(); ++i) {
    if (impl_->can_save(i, step.mode) &&
        impl_->collections[i].save_config->is_due(step.mode, step.mode_step)) {
      due.insert(i);
    }
  }
  return due;
}

CollectionSet Plan::saved(Mode mode) const {
  CollectionSet saved;
  for (std::size_t i = 0; i < impl_->collections.size(); ++i) {
    if (impl_->can_save(i, mode)) saved.insert(i);
  }
  return saved;
}

SaveSpec Plan::save_spec(const CollectionSet& due) const {
  SaveSpec spec;
  bool is_sampled = true;
  for (std::size_t i = 0; i < impl_->collections.size(); ++i) {
    if (!due.contains(i)) continue;
    const std::int64_t most = impl_->collections[i].max_elements;
    is_sampled &= most > 0;
    spec.max_elements = std::max(spec.max_elements, most);
    const ReductionConfig& config = *impl_->collections[i].reduction_config;
    spec.raw |= config.save_raw_tensor;
    spec.shape |= config.save_shape;
    spec.is_loss |= impl_->collections[i].name() == "losses";
    spec.is_gradient |= impl_->collections[i].name() == "gradients";
    impl_->show(impl_->collections[i], spec);
    for (ReductionOp op : config.ordered_ops()) {
      auto& ops = spec.reductions;
      if (std::find(ops.begin(), ops.end(), op) == ops.end()) ops.push_back(op);
    }
  }
  if (!is_sampled) spec.max_elements = 0;
  return spec;
}

std::size_t Plan::pattern_error_count() const {
  return impl_->pattern_error_count.load(std::memory_order_relaxed);
}

std::vector<std::string> Plan::pattern_errors() const {
  const std::lock_guard lock(impl_->pattern_errors_mutex);
  std::vector<std::string> errors;
  for (const auto& [pattern, message] : impl_->pattern_errors) {
    errors.push_back(message);
  }
  return errors;
}

}  // namespace smdebug
