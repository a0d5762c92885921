// Bindings of include/smdebug/config: plain values. The classes that users
// edit are written in Python (smdebug/save_config.py and its neighbours) and
// are turned into these when they reach the core.

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
#include "smdebug/config/tensorboard_output.h"

#include "bindings.h"
#include "result_caster.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace smdebug {
namespace {

void bind_save_config(nb::module_& m) {
  nb::class_<SaveConfigMode>(m, "SaveConfigMode")
      .def(
          "__init__",
          [](SaveConfigMode* self, Step save_interval, Step start_step,
             std::optional<Step> end_step, std::vector<Step> save_steps) {
            new (self) SaveConfigMode{save_interval, start_step, end_step,
                                      std::move(save_steps)};
          },
          "save_interval"_a, "start_step"_a, "end_step"_a.none(),
          "save_steps"_a)
      .def_ro("save_interval", &SaveConfigMode::save_interval)
      .def_ro("start_step", &SaveConfigMode::start_step)
      .def_ro("end_step", &SaveConfigMode::end_step)
      .def_ro("save_steps", &SaveConfigMode::save_steps)
      .def("is_due", &SaveConfigMode::is_due, "mode_step"_a)
      .def("check", &SaveConfigMode::check);

  nb::class_<SaveConfig>(m, "SaveConfig")
      .def(
          "__init__",
          [](SaveConfig* self, const std::map<Mode, SaveConfigMode>& modes) {
            new (self) SaveConfig();
            for (const auto& [mode, config] : modes) {
              self->set_mode(mode, config);
            }
          },
          "modes"_a)
      .def("mode", &SaveConfig::mode, "mode"_a);
}

void bind_reduction_config(nb::module_& m) {
  nb::class_<ReductionConfig>(m, "ReductionConfig")
      .def_static(
          "parse",
          [](const std::string& ops, bool save_raw_tensor, bool save_shape,
             bool summary) -> Result<ReductionConfig> {
            SMD_TRY(auto parsed, ReductionConfig::parse_ops(ops));
            return ReductionConfig{std::move(parsed), save_raw_tensor,
                                   save_shape, summary};
          },
          "ops"_a, "save_raw_tensor"_a = false, "save_shape"_a = false,
          "summary"_a = false)
      .def_prop_ro("ops",
                   [](const ReductionConfig& self) {
                     std::vector<std::string> names;
                     for (const ReductionOp& op : self.ops) {
                       names.push_back(reduction_op_name(op));
                     }
                     return names;
                   })
      .def_ro("save_raw_tensor", &ReductionConfig::save_raw_tensor)
      .def_ro("save_shape", &ReductionConfig::save_shape)
      .def_ro("summary", &ReductionConfig::summary)
      .def("ops_text", &ReductionConfig::ops_text);
}

void bind_collection(nb::module_& m) {
  nb::class_<Collection>(m, "Collection")
      .def(
          "__init__",
          [](Collection* self, std::string name,
             std::vector<std::string> include_regex,
             std::vector<std::string> tensor_names,
             std::optional<SaveConfig> save_config,
             std::optional<ReductionConfig> reduction_config,
             bool save_histogram, bool is_optional) {
            new (self) Collection{{std::move(name), std::move(include_regex),
                                   std::move(tensor_names)},
                                  std::move(save_config),
                                  std::move(reduction_config),
                                  save_histogram,
                                  is_optional};
          },
          "name"_a, "include_regex"_a, "tensor_names"_a,
          "save_config"_a = nb::none(), "reduction_config"_a = nb::none(),
          "save_histogram"_a = true, "is_optional"_a = false)
      .def_prop_ro("name", &Collection::name)
      .def_prop_ro(
          "include_regex",
          [](const Collection& self) { return self.tensors.include_regex; })
      .def_prop_ro(
          "tensor_names",
          [](const Collection& self) { return self.tensors.tensor_names; })
      .def_ro("save_config", &Collection::save_config)
      .def_ro("reduction_config", &Collection::reduction_config)
      .def_ro("save_histogram", &Collection::save_histogram);

  m.def(
      "check_pattern",
      [](const std::string& collection, const std::string& pattern) -> Status {
        HookConfig config;
        config.collections = {Collection{{collection, {pattern}, {}}, {}, {}}};
        SMD_CHECK_OK(Plan::build(config, plain_framework()));
        return {};
      },
      "collection"_a, "pattern"_a,
      "Raises SMDebugValueError if `pattern` does not compile.");
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
             std::optional<SaveConfig> save_config,
             std::optional<ReductionConfig> reduction_config,
             std::vector<std::string> include_regex,
             std::vector<std::string> include_collections, bool save_all,
             bool dry_run, bool all_workers,
             std::vector<Collection> collections,
             std::optional<std::string> tensorboard_dir, bool true_checksum,
             std::optional<std::uint64_t> max_run_bytes, Step keep_every) {
            new (self) HookConfig();
            self->out_dir = std::move(out_dir);
            self->save_config = std::move(save_config);
            self->reduction_config = std::move(reduction_config);
            self->include_regex = std::move(include_regex);
            self->include_collections = std::move(include_collections);
            self->save_all = save_all;
            self->dry_run = dry_run;
            self->include_workers =
                all_workers ? IncludeWorkers::all : IncludeWorkers::one;
            self->collections = std::move(collections);
            self->tensorboard_dir = std::move(tensorboard_dir);
            self->checksum =
                true_checksum ? Checksum::crc32c : Checksum::constant;
            self->max_run_bytes = max_run_bytes;
            self->keep_every = keep_every;
          },
          "out_dir"_a, nb::kw_only(), "save_config"_a = nb::none(),
          "reduction_config"_a = nb::none(), "include_regex"_a,
          "include_collections"_a, "save_all"_a, "dry_run"_a, "all_workers"_a,
          "collections"_a, "tensorboard_dir"_a = nb::none(),
          "true_checksum"_a = false, "max_run_bytes"_a = nb::none(),
          "keep_every"_a = 0)
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
      .def_ro("gradients", &HookConfig::gradients);

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
  bind_save_config(m);
  bind_reduction_config(m);
  bind_collection(m);
  bind_hook_config(m);
  bind_job_environment(m);
  bind_hook_config_file(m);
  bind_logger(m);
}

}  // namespace smdebug
