#include "smdebug/config/hook_config_file.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "smdebug/base/try.h"

#include "base/regex.h"
#include "base/text_file.h"
#include "config/config_document.h"
#include "config/save_keys.h"

namespace smdebug {
namespace {

using Names = std::vector<std::string>;

const Names kTopKeys = {"LocalPath", "HookParameters",
                        "CollectionConfigurations", "S3OutputPath", "S3Path"};
const Names kEntryKeys = {"CollectionName", "CollectionParameters"};
const Names kReductionKeys = {"reductions", "save_raw_tensor", "save_shape",
                              "summary"};
const Names kHookKeys = {
    "save_all",        "include_regex", "include_collections",
    "include_workers", "dry_run",       "export_tensorboard",
    "tensorboard_dir", "max_run_bytes", "keep_every",
    "checksum",        "private",       "durability",
    "step_on",         "gradients"};
const Names kCollectionKeys = {"include_regex", "save_histogram"};

Names joined(const Names& own) {
  Names all = own;
  for (const Names* more : {&kReductionKeys, &SaveKeys::names()}) {
    all.insert(all.end(), more->begin(), more->end());
  }
  return all;
}

// Arguments of a collection in Python, whose settings have keys of their own in
// a file.
std::string remedy_for_argument(std::string_view key) {
  if (key == "reduction_config") {
    return "give its settings as 'reductions', 'save_raw_tensor' and "
           "'save_shape'";
  }
  if (key == "save_config") {
    return "give its settings as 'save_interval', 'start_step', 'end_step' and "
           "'save_steps'";
  }
  return key == "tensor_names" ? "select tensors with 'include_regex'" : "";
}

// What to do about a key that an object does not have: where it belongs, or
// what to write in its place; "" if unknown.
std::string remedy_for(std::string_view key) {
  const auto is_in = [key](const Names& names) {
    return std::ranges::find(names, key) != names.end();
  };
  if (is_in(kTopKeys)) return "it belongs at the top level";
  if (is_in(kHookKeys) || is_in(kReductionKeys) || is_in(SaveKeys::names()))
    return "it belongs in HookParameters";
  if (is_in(kCollectionKeys)) return "it belongs in CollectionParameters";
  if (is_in(kEntryKeys))
    return "it belongs in an entry of CollectionConfigurations";
  return remedy_for_argument(key);
}

// Detects a repetition such as "a{1,2}" that was split at its comma.
bool splits_a_repetition(std::string_view left, std::string_view right) {
  constexpr std::string_view kDigits = "0123456789";
  const auto brace = left.find_last_not_of(kDigits);
  const auto end = right.find_first_not_of(kDigits);
  return brace != std::string_view::npos && left[brace] == '{' &&
         end != std::string_view::npos && right[end] == '}';
}

Result<Names> parse_patterns(const ConfigObject& parameters) {
  constexpr std::string_view kKey = "include_regex";
  SMD_TRY(auto patterns, parameters.texts(kKey));
  if (!patterns) return Names();
  for (const std::string& pattern : *patterns) {
    if (const auto regex = Regex::compile(pattern); !regex) {
      return parameters.mistake(
          kKey, regex.error().message +
                    " (text is split at commas; use an array to keep them)");
    }
  }
  if (!parameters.is_text(kKey)) return *std::move(patterns);
  for (std::size_t i = 1; i < patterns->size(); ++i) {
    const std::string& left = (*patterns)[i - 1];
    const std::string& right = (*patterns)[i];
    if (splits_a_repetition(left, right)) {
      parameters.warn(kKey, fmt::format("text is split at commas, into '{}' "
                                        "and '{}'; use an array to keep them",
                                        left, right));
    }
  }
  return *std::move(patterns);
}

// None if there is no key about reductions.
Result<std::optional<ReductionConfig>> parse_reductions(
    const ConfigObject& parameters) {
  if (std::ranges::none_of(kReductionKeys, [&](const std::string& key) {
        return parameters.has(key);
      })) {
    return std::optional<ReductionConfig>();
  }
  ReductionConfig config;
  SMD_TRY(const auto names, parameters.texts("reductions"));
  if (names) {
    auto ops =
        ReductionConfig::parse_ops(fmt::format("{}", fmt::join(*names, ",")));
    if (!ops) return parameters.mistake("reductions", ops.error().message);
    config.ops = *std::move(ops);
  }
  SMD_TRY(const auto raw, parameters.flag("save_raw_tensor"));
  SMD_TRY(const auto shape, parameters.flag("save_shape"));
  SMD_TRY(const auto summary, parameters.flag("summary"));
  config.save_raw_tensor = raw.value_or(false);
  config.save_shape = shape.value_or(false);
  config.summary = summary.value_or(false);
  if (config == ReductionConfig()) {
    parameters.warn("",
                    "neither values nor reductions are requested: only "
                    "statistics are saved");
  }
  return std::optional(std::move(config));
}

class HookConfigParser {
 public:
  HookConfigParser(const Framework& framework, const JobEnvironment& job)
      : framework_(framework), job_(job) {}

  Result<HookConfig> parse(const ConfigObject& top) {
    top.warn_of_unknown(kTopKeys, remedy_for);
    SMD_TRY(auto out_dir, top.text("LocalPath"));
    config_.out_dir = std::move(out_dir).value_or(kSagemakerOutDir);
    if (config_.out_dir.empty()) return top.expected("LocalPath", "a path");

    SMD_TRY(const auto parameters, top.object("HookParameters"));
    if (parameters) SMD_CHECK_OK(parse_hook(*parameters));
    SMD_CHECK_OK(find_tensorboard_dir(parameters));

    SMD_TRY(const auto entries, top.objects("CollectionConfigurations"));
    for (const ConfigObject& entry : entries) {
      SMD_CHECK_OK(parse_collection(entry));
    }
    return std::move(config_);
  }

 private:
  Status parse_hook(const ConfigObject& parameters) {
    static const Names& known = *new Names(joined(kHookKeys));
    parameters.warn_of_unknown(known, remedy_for);
    SMD_TRY(save_keys_, SaveKeys::parse(parameters));
    if (!save_keys_.empty()) {
      config_.save_config = save_keys_.config(framework_.default_save_interval);
    }
    SMD_TRY(config_.reduction_config, parse_reductions(parameters));
    SMD_TRY(config_.include_regex, parse_patterns(parameters));
    SMD_TRY(const auto save_all, parameters.flag("save_all"));
    SMD_TRY(const auto dry_run, parameters.flag("dry_run"));
    config_.save_all = save_all.value_or(false);
    config_.dry_run = dry_run.value_or(false);
    SMD_TRY(const auto collections, parameters.texts("include_collections"));
    for (const std::string& name : collections.value_or(Names())) include(name);
    SMD_CHECK_OK(parse_files(parameters));
    SMD_TRY(config_.step_on,
            parse_choice(parameters, "step_on", {"forward", "optimizer"}));
    SMD_TRY(config_.gradients,
            parse_choice(parameters, "gradients", {"backward", "final"}));
    return parse_workers(parameters);
  }

  Status parse_files(const ConfigObject& parameters) {
    SMD_TRY(const auto max_run_bytes, parameters.number("max_run_bytes"));
    if (max_run_bytes && *max_run_bytes < 1) {
      return parameters.expected("max_run_bytes", "a number of 1 or more");
    }
    if (max_run_bytes) {
      config_.max_run_bytes = static_cast<std::uint64_t>(*max_run_bytes);
    }
    SMD_TRY(const auto keep_every, parameters.number("keep_every"));
    config_.keep_every = keep_every.value_or(0);
    if (config_.keep_every < 0) {
      return parameters.expected("keep_every", "a number of 0 or more");
    }
    SMD_TRY(const auto checksum,
            parse_choice(parameters, "checksum", {"constant", "crc32c"}));
    if (checksum == "crc32c") config_.checksum = Checksum::crc32c;
    SMD_TRY(const auto is_private, parameters.flag("private"));
    config_.is_private = is_private.value_or(false);
    SMD_TRY(const auto durability,
            parse_choice(parameters, "durability", {"process", "step"}));
    if (durability == "step") config_.durability = Durability::step;
    return {};
  }

  static Result<std::optional<std::string>> parse_choice(
      const ConfigObject& parameters, std::string_view key,
      const Names& choices) {
    SMD_TRY(auto choice, parameters.text(key));
    if (choice && std::ranges::find(choices, *choice) == choices.end()) {
      return parameters.mistake(
          key, fmt::format("must be '{}', found '{}'",
                           fmt::join(choices, "' or '"), *choice));
    }
    return choice;
  }

  Status parse_workers(const ConfigObject& parameters) {
    SMD_TRY(const auto workers, parameters.text("include_workers"));
    if (!workers || *workers == "one") return {};
    if (*workers == "all") {
      config_.include_workers = IncludeWorkers::all;
    } else {
      parameters.warn("include_workers", fmt::format("should be 'one' or 'all' "
                                                     "but is '{}'; using 'one'",
                                                     *workers));
    }
    return {};
  }

  Status find_tensorboard_dir(const std::optional<ConfigObject>& parameters) {
    std::optional<bool> is_wanted;
    std::optional<std::string> dir;
    if (parameters) {
      SMD_TRY(is_wanted, parameters->flag("export_tensorboard"));
      SMD_TRY(dir, parameters->text("tensorboard_dir"));
    }
    SMD_TRY(config_.tensorboard_dir,
            resolve_tensorboard_dir(is_wanted.value_or(false), dir,
                                    config_.out_dir, job_));
    return {};
  }

  Status parse_collection(const ConfigObject& entry) {
    entry.warn_of_unknown(kEntryKeys, remedy_for);
    SMD_TRY(const auto name, entry.text("CollectionName"));
    if (!name || name->empty()) {
      return entry.mistake(
          "CollectionName",
          std::string("a collection needs a name") +
              (entry.is_text("Name") ? "; write 'CollectionName' for 'Name'"
                                     : ""));
    }
    include(*name);
    Collection& collection = find_or_add(*name);
    // The last entry of a name decides when it is saved, even if it has no
    // keys.
    collection.save_config.reset();
    SMD_TRY(const auto parameters, entry.object("CollectionParameters"));
    return parameters ? edit(*parameters, collection) : Status();
  }

  Status edit(const ConfigObject& parameters, Collection& collection) const {
    static const Names& known = *new Names(joined(kCollectionKeys));
    parameters.warn_of_unknown(known, remedy_for);
    SMD_TRY(const SaveKeys keys, SaveKeys::parse(parameters));
    if (!keys.empty()) {
      collection.save_config =
          keys.over(save_keys_).config(framework_.default_save_interval);
    }
    SMD_TRY(auto reductions, parse_reductions(parameters));
    if (reductions) collection.reduction_config = *std::move(reductions);
    SMD_TRY(const Names patterns, parse_patterns(parameters));
    Names& all = collection.tensors.include_regex;
    all.insert(all.end(), patterns.begin(), patterns.end());
    SMD_TRY(const auto histogram, parameters.flag("save_histogram"));
    collection.save_histogram = histogram.value_or(collection.save_histogram);
    return {};
  }

  void include(const std::string& name) {
    if (included_.insert(name).second) {
      config_.include_collections.push_back(name);
    }
  }

  Collection& find_or_add(const std::string& name) {
    auto& edited = config_.collections;
    const auto [place, is_new] = indices_.try_emplace(name, edited.size());
    if (!is_new) return edited[place->second];
    if (const auto* built_in = framework_.find(name)) {
      edited.push_back(*built_in);
    } else {
      edited.emplace_back().tensors.name = name;
      edited.back().save_histogram = !is_scalar_collection(name);
    }
    return edited.back();
  }

  const Framework& framework_;
  const JobEnvironment& job_;
  HookConfig config_;
  SaveKeys save_keys_;  // of the hook
  // The names in `config_.include_collections`, and the index of each name in
  // `config_.collections`: a search of these lists would take quadratic time.
  std::unordered_set<std::string> included_;
  std::unordered_map<std::string, std::size_t> indices_;
};

}  // namespace

Result<HookConfigFile> parse_hook_config(std::string_view text,
                                         std::string_view file,
                                         const Framework& framework,
                                         const JobEnvironment& job) {
  SMD_TRY(const Json json, parse_config_json(text, file));
  ConfigDocument document(text, file);
  document.warn_of_repeated_keys(json);
  SMD_TRY(
      HookConfig config,
      HookConfigParser(framework, job).parse(ConfigObject(document, json, "")));
  return HookConfigFile{std::move(config), std::move(document.warnings)};
}

Result<HookConfigFile> load_hook_config(const std::string& path,
                                        const Framework& framework,
                                        const JobEnvironment& job) {
  const std::string& file = path.empty() ? job.hook_config_path : path;
  auto text = read_text_file(file);
  if (!text) {
    Error error = std::move(text).error().within("hook configuration");
    const bool is_missing = error.code == Error::Code::not_found;
    if (is_missing) error.detail = Error::Detail::file_missing;
    return error;
  }
  return parse_hook_config(*text, file, framework, job);
}

}  // namespace smdebug
