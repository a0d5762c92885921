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
#include "smdebug/base/try.h"
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
  nb::class_<Framework>(m, "Framework",
                        "The collections and defaults of a framework.")
      .def_ro("name", &Framework::name, "The name of the framework.")
      .def_ro("collections", &Framework::collections,
              "The built-in collections.")
      .def_ro("default_saved", &Framework::default_saved,
              "The names of the collections that are saved by default.")
      .def_ro("default_save_interval", &Framework::default_save_interval,
              "The interval of steps that are saved by default.")
      .def("find", &Framework::find, "collection"_a,
           nb::rv_policy::reference_internal,
           "The framework's own collection of that name, or None.")
      .def("knows", &Framework::knows, "collection"_a,
           "Whether a collection needs neither pattern nor tensor names.");
  m.def("pytorch_framework", &pytorch_framework, nb::rv_policy::reference,
        "Returns the collections and defaults of PyTorch.");
  m.def("xgboost_framework", &xgboost_framework, nb::rv_policy::reference,
        "Returns the collections and defaults of XGBoost.");
  m.def("mxnet_framework", &mxnet_framework, nb::rv_policy::reference,
        "Returns the collections and defaults of MXNet.");
  m.def("tensorflow_framework", &tensorflow_framework, nb::rv_policy::reference,
        "Returns the collections and defaults of TensorFlow and Keras.");

  nb::class_<HookConfig>(
      m, "HookConfig",
      "A snapshot of the configuration of a hook. "
      "smdebug.hook_options.HookOptions describes the fields.")
      .def(
          "__init__",
          [](HookConfig* self, std::string out_dir,
             const editable::SaveConfig* save_config,
             const editable::ReductionConfig* reduction_config,
             std::vector<std::string> include_regex,
             std::vector<std::string> include_collections, bool save_all,
             bool dry_run, bool all_workers,
             const nb::typed<nb::iterable, editable::Collection>& collections,
             const Patterns& further_patterns,
             std::optional<std::string> tensorboard_dir, bool true_checksum,
             std::optional<std::uint64_t> max_run_bytes, Step keep_every,
             bool is_private, bool keeps_steps, bool announces_first_step,
             std::uint32_t max_tensors_per_module,
             std::uint32_t steps_after_leap, bool parameters_by_role) {
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
            made.is_private = is_private;
            made.durability =
                keeps_steps ? Durability::step : Durability::process;
            made.announces_first_step = announces_first_step;
            made.max_tensors_per_module = max_tensors_per_module;
            made.steps_after_leap = steps_after_leap;
            made.parameters_by_role = parameters_by_role;
            new (self) HookConfig(std::move(made));
          },
          "out_dir"_a, nb::kw_only(), "save_config"_a.none() = nb::none(),
          "reduction_config"_a.none() = nb::none(), "include_regex"_a,
          "include_collections"_a, "save_all"_a, "dry_run"_a, "all_workers"_a,
          "collections"_a, "further_patterns"_a = Patterns(),
          "tensorboard_dir"_a = nb::none(), "true_checksum"_a = false,
          "max_run_bytes"_a = nb::none(), "keep_every"_a = 0,
          "private"_a = false, "keeps_steps"_a = false,
          "announces_first_step"_a = true, "max_tensors_per_module"_a = 0,
          "steps_after_leap"_a = 0, "parameters_by_role"_a = false)
      .def_ro("out_dir", &HookConfig::out_dir, "The folder of the run.")
      .def_ro("save_config", &HookConfig::save_config,
              "The steps to save; None for the framework's default.")
      .def_ro("reduction_config", &HookConfig::reduction_config,
              "The reductions to save; None to save the elements.")
      .def_ro("include_regex", &HookConfig::include_regex,
              "Patterns of further tensor names to save.")
      .def_ro("include_collections", &HookConfig::include_collections,
              "Collections to save in addition to the framework's defaults.")
      .def_ro("save_all", &HookConfig::save_all,
              "Whether every tensor is saved.")
      .def_ro("dry_run", &HookConfig::dry_run, "Whether nothing is written.")
      .def_prop_ro(
          "all_workers",
          [](const HookConfig& self) {
            return self.include_workers == IncludeWorkers::all;
          },
          "Whether all workers are recorded, or only the first.")
      .def_ro("collections", &HookConfig::collections,
              "The collections that were created or edited.")
      .def_ro("tensorboard_dir", &HookConfig::tensorboard_dir,
              "The folder of TensorBoard files; None to write none.")
      .def_prop_ro(
          "true_checksum",
          [](const HookConfig& self) {
            return self.checksum == Checksum::crc32c;
          },
          "Whether records end with their true checksum.")
      .def_ro(
          "max_run_bytes", &HookConfig::max_run_bytes,
          "The size limit of the run per worker, in bytes; None for no limit.")
      .def_ro("keep_every", &HookConfig::keep_every,
              "Steps that are a multiple of it are removed last; 0 for none.")
      .def_ro("private", &HookConfig::is_private,
              "Whether only the owner may read the files.")
      .def_prop_ro(
          "keeps_steps",
          [](const HookConfig& self) {
            return self.durability == Durability::step;
          },
          "Whether a power failure keeps published steps.")
      .def_ro("step_on", &HookConfig::step_on,
              "The event that begins a step; None for the adapter's default.")
      .def_ro("gradients", &HookConfig::gradients,
              "The gradients to save; None for the adapter's default.")
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
      "The SageMaker job of this process, if any, and the paths of its "
      "configuration files. JobEnvironment() holds the defaults; read() reads "
      "the environment.")
      .def(nb::init<>())
      .def_static("read", &JobEnvironment::read,
                  "Reads the environment variables of this process.")
      .def_ro("is_enabled", &JobEnvironment::is_enabled,
              "Whether `get_hook` may create a hook: False if USE_SMDEBUG is "
              "false.")
      .def_ro("training_job_name", &JobEnvironment::training_job_name,
              "The name of the SageMaker job; None outside of a job.")
      .def_prop_ro("is_sagemaker_job", &JobEnvironment::is_sagemaker_job,
                   "Whether this process belongs to a SageMaker job.")
      .def_ro("hook_config_path", &JobEnvironment::hook_config_path,
              "The path of the JSON configuration of hooks.")
      .def_ro("tensorboard_config_path",
              &JobEnvironment::tensorboard_config_path,
              "The path of the configuration of TensorBoard.")
      .def_ro("checkpoint_config_path", &JobEnvironment::checkpoint_config_path,
              "The path of the configuration of checkpoints.")
      .def_ro("profiler_config_path", &JobEnvironment::profiler_config_path,
              "The path of the configuration of the profiler.");
  m.attr("sagemaker_out_dir") = kSagemakerOutDir;
  m.def("resolve_tensorboard_dir", &resolve_tensorboard_dir,
        "export_tensorboard"_a, "tensorboard_dir"_a.none(), "out_dir"_a,
        "job"_a, "The directory for TensorBoard files, or None.");
}

void bind_hook_config_file(nb::module_& m) {
  nb::class_<HookConfigFile>(m, "HookConfigFile",
                             "A parsed JSON configuration.")
      .def_ro("config", &HookConfigFile::config, "The configuration.")
      .def_ro("warnings", &HookConfigFile::warnings,
              "One sentence for each unknown or ignored key.");
  m.def("parse_hook_config", &parse_hook_config, "text"_a, "file"_a,
        "framework"_a, "job"_a,
        "Parses the text of a JSON configuration; `file` is its name in "
        "messages. Raises SMDebugValueError if it is not valid.");
  m.def("load_hook_config", &load_hook_config, "path"_a, "framework"_a, "job"_a,
        "Reads a JSON configuration; an empty path stands for that of `job`. "
        "Raises FileNotFoundError if there is no such file, and "
        "SMDebugValueError if it is not valid.");
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
