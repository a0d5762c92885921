#include "smdebug/config/tensorboard_output.h"

#include "base/text_file.h"
#include "config/config_document.h"

namespace smdebug {
namespace {

Result<std::optional<std::string>> sagemaker_dir(const std::string& path) {
  const auto text = read_text_file(path);
  if (!text && text.error().code == Error::Code::not_found) {
    return std::optional<std::string>();
  }
  if (!text) return text.error();
  SMD_TRY(const Json json, parse_config_json(*text, path));
  ConfigDocument document(*text, path);
  SMD_TRY(auto dir, ConfigObject(document, json, "").text("LocalPath"));
  if (dir && dir->empty()) {
    return Error{Error::Code::invalid_config,
                 path + ": LocalPath names no folder for TensorBoard files"};
  }
  return std::optional(std::move(dir).value_or(kSagemakerTensorboardDir));
}

}  // namespace

Result<std::optional<std::string>> resolve_tensorboard_dir(
    bool export_tensorboard, const std::optional<std::string>& tensorboard_dir,
    const std::string& out_dir, const JobEnvironment& job) {
  if (job.is_sagemaker_job()) return sagemaker_dir(job.tensorboard_config_path);
  if (tensorboard_dir && !tensorboard_dir->empty()) return tensorboard_dir;
  if (!export_tensorboard) return std::optional<std::string>();
  const bool has_slash = out_dir.ends_with('/');
  return std::optional(out_dir + (has_slash ? "" : "/") + "tensorboard");
}

}  // namespace smdebug
