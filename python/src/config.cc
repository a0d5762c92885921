// Bindings of include/smdebug/config. The objects that users edit are in
// editable_config.h; here are the snapshots that a session takes of them.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "smdebug/base/logger.h"
#include "smdebug/config/collection.h"
#include "smdebug/config/framework.h"
#include "smdebug/config/hook_config.h"
#include "smdebug/config/hook_config_file.h"
#include "smdebug/config/job_environment.h"
#include "smdebug/config/plan.h"

#include "bindings.h"
#include "editable_config.h"
#include "result_caster.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace smdebug {
namespace {

std::optional<SaveConfig> snapshot(const editable::SaveConfig* config) {
  return config ? std::optional(config->value()) : std::nullopt;
}

std::optional<ReductionConfig> snapshot(
    const editable::ReductionConfig* config) {
  return config ? std::optional(config->value()) : std::nullopt;
}

using Patterns = std::map<std::string, std::vector<std::string>>;

// The collections at this moment. `further_patterns` holds, by the name of a
// collection, those that an adapter adds to the user's.
std::vector<Collection> snapshots(const nb::iterable& collections,
                                  const Patterns& further_patterns) {
  std::vector<Collection> found;
  for (nb::handle each : collections) {
    found.push_back(nb::cast<const editable::Collection&>(each).value());
    const auto further = further_patterns.find(found.back().name());
    if (further == further_patterns.end()) continue;
    auto& patterns = found.back().tensors.include_regex;
    patterns.insert(patterns.end(), further->second.begin(),
                    further->second.end());
  }
  return found;
}

void bind_hook_config(nb::module_& m) {
  nb::class_<Framework>(m, "Framework")
      .def_ro("name", &Framework::name)
      .def_ro("collections", &Framework::collections)
      .def_ro("default_saved", &Framework::default_saved)
      .def("find", &Framework::find, "collection"_a,
           nb::rv_policy::reference_internal,
           "The framework's own collection of that name, or None.")
      .def("knows", &Framework::knows, "collection"_a,
           "Whether a collection needs neither pattern nor tensor names.");
  m.def("pytorch_framework", &pytorch_framework, nb::rv_policy::reference);
  m.def("xgboost_framework", &xgboost_framework, nb::rv_policy::reference);
  m.def("mxnet_framework", &mxnet_framework, nb::rv_policy::reference);
  m.def("tensorflow_framework", &tensorflow_framework,
        nb::rv_policy::reference);

  nb::class_<HookConfig>(m, "HookConfig")
      .def(
          "__init__",
          [](HookConfig* self, std::string out_dir,
             const editable::SaveConfig* save_config,
             const editable::ReductionConfig* reduction_config,
             std::vector<std::string> include_regex,
             std::vector<std::string> include_collections, bool save_all,
             bool dry_run, bool all_workers, const nb::iterable& collections,
             const Patterns& further_patterns,
             std::optional<std::string> tensorboard_dir, bool true_checksum,
             std::optional<std::uint64_t> max_run_bytes, Step keep_every) {
            HookConfig made;
            made.out_dir = std::move(out_dir);
            made.save_config = snapshot(save_config);
            made.reduction_config = snapshot(reduction_config);
            made.include_regex = std::move(include_regex);
            made.include_collections = std::move(include_collections);
            made.save_all = save_all;
            made.dry_run = dry_run;
            made.include_workers =
                all_workers ? IncludeWorkers::all : IncludeWorkers::one;
            made.collections = snapshots(collections, further_patterns);
            made.tensorboard_dir = std::move(tensorboard_dir);
            made.checksum =
                true_checksum ? Checksum::crc32c : Checksum::constant;
            made.max_run_bytes = max_run_bytes;
            made.keep_every = keep_every;
            new (self) HookConfig(std::move(made));
          },
          "out_dir"_a, nb::kw_only(), "save_config"_a.none() = nb::none(),
          "reduction_config"_a.none() = nb::none(), "include_regex"_a,
          "include_collections"_a, "save_all"_a, "dry_run"_a, "all_workers"_a,
          "collections"_a, "further_patterns"_a = Patterns(),
          "tensorboard_dir"_a = nb::none(), "true_checksum"_a = false,
          "max_run_bytes"_a = nb::none(), "keep_every"_a = 0)
      .def_ro("out_dir", &HookConfig::out_dir)
      .def_ro("save_config", &HookConfig::save_config)
      .def_ro("reduction_config", &HookConfig::reduction_config)
      .def_ro("include_regex", &HookConfig::include_regex)
      .def_ro("include_collections", &HookConfig::include_collections)
      .def_ro("save_all", &HookConfig::save_all)
      .def_ro("dry_run", &HookConfig::dry_run)
      .def_prop_ro("all_workers",
                   [](const HookConfig& self) {
                     return self.include_workers == IncludeWorkers::all;
                   })
      .def_ro("collections", &HookConfig::collections)
      .def_ro("tensorboard_dir", &HookConfig::tensorboard_dir)
      .def_prop_ro("true_checksum",
                   [](const HookConfig& self) {
                     return self.checksum == Checksum::crc32c;
                   })
      .def_ro("max_run_bytes", &HookConfig::max_run_bytes)
      .def_ro("keep_every", &HookConfig::keep_every)
      .def_ro("step_on", &HookConfig::step_on)
      .def_ro("gradients", &HookConfig::gradients)
      .def(
          "__eq__",
          [](const HookConfig& self, const HookConfig& other) {
            return self == other;
          },
          nb::is_operator(),
          nb::sig("def __eq__(self, other: object) -> bool"));

  m.def(
      "saved_collections",
      [](const HookConfig& config,
         const Framework& framework) -> Result<std::vector<std::string>> {
        SMD_TRY(const auto plan, Plan::build(config, framework));
        std::vector<std::string> names;
        for (std::size_t i = 0; i < plan->collections().size(); ++i) {
          if (plan->is_saved(i)) names.push_back(plan->collections()[i].name());
        }
        return names;
      },
      "config"_a, "framework"_a,
      "The collections that a hook of this configuration saves.");
}

void bind_job_environment(nb::module_& m) {
  nb::class_<JobEnvironment>(
      m, "JobEnvironment",
      "Whether this is a SageMaker job, and where configuration files lie. "
      "JobEnvironment() holds the defaults, read() what the environment says.")
      .def(nb::init<>())
      .def_static("read", &JobEnvironment::read)
      .def_ro("is_enabled", &JobEnvironment::is_enabled)
      .def_ro("training_job_name", &JobEnvironment::training_job_name)
      .def_prop_ro("is_sagemaker_job", &JobEnvironment::is_sagemaker_job)
      .def_ro("hook_config_path", &JobEnvironment::hook_config_path)
      .def_ro("tensorboard_config_path",
              &JobEnvironment::tensorboard_config_path)
      .def_ro("checkpoint_config_path", &JobEnvironment::checkpoint_config_path)
      .def_ro("profiler_config_path", &JobEnvironment::profiler_config_path);
  m.attr("sagemaker_out_dir") = kSagemakerOutDir;
  m.def("resolve_tensorboard_dir", &resolve_tensorboard_dir,
        "export_tensorboard"_a, "tensorboard_dir"_a.none(), "out_dir"_a,
        "job"_a, "The directory for TensorBoard files, or None.");
}

void bind_hook_config_file(nb::module_& m) {
  nb::class_<HookConfigFile>(m, "HookConfigFile")
      .def_ro("config", &HookConfigFile::config)
      .def_ro("warnings", &HookConfigFile::warnings);
  m.def("parse_hook_config", &parse_hook_config, "text"_a, "file"_a,
        "framework"_a, "job"_a);
  m.def("load_hook_config", &load_hook_config, "path"_a, "framework"_a, "job"_a,
        "An empty path stands for the environment's.");
}

void bind_logger(nb::module_& m) {
  m.def(
      "log",
      [](int level, const std::string& message) {
        Logger& logger = default_logger();
        if (level >= 40) return logger.error(message);
        if (level >= 30) return logger.warning(message);
        if (level >= 20) return logger.info(message);
        logger.debug(message);
      },
      "level"_a, "message"_a,
      "Writes a line to the process's logger; levels as Python's `logging`.");
}

}  // namespace

void bind_config(nb::module_& m) {
  bind_editable_config(m);
  bind_hook_config(m);
  bind_job_environment(m);
  bind_hook_config_file(m);
  bind_logger(m);
}

}  // namespace smdebug
