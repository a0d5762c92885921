#pragma once

// Where TensorBoard files go. In a SageMaker job the platform decides, by a
// file of its own; elsewhere the user does.

#include <optional>
#include <string>

#include "smdebug/base/result.h"
#include "smdebug/config/job_environment.h"

namespace smdebug {

/// Returns the directory for TensorBoard files, or none where none are
/// wanted.
///
/// In a SageMaker job both wishes are ignored: the directory is `LocalPath` of
/// the JSON file at `job.tensorboard_config_path` (without that key SageMaker's
/// default), and there is none without the file. Elsewhere it is
/// `tensorboard_dir`, or "<out_dir>/tensorboard" where only
/// `export_tensorboard` is set.
///
/// Fails with `invalid_config` for a file that makes no sense, naming the
/// place in it, and with `io` for one that cannot be read.
Result<std::optional<std::string>> resolve_tensorboard_dir(
    bool export_tensorboard, const std::optional<std::string>& tensorboard_dir,
    const std::string& out_dir, const JobEnvironment& job);

}  // namespace smdebug
