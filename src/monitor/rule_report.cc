#include "smdebug/monitor/rule_report.h"

#include "smdebug/base/try.h"
#include "smdebug/store/bounded_storage.h"
#include "smdebug/store/open_storage.h"

namespace smdebug {

Result<std::string> write_report_files(const std::string& location,
                                       std::span<const ReportFile> files,
                                       std::optional<WaitLimit> limit) {
  if (files.empty()) return std::string();
  SMD_TRY(const auto storage,
          limit ? open_bounded_storage(location, *std::move(limit))
                : open_storage(location));
  for (const ReportFile& file : files) {
    SMD_CHECK_OK(put_object(*storage, file.key, file.text));
  }
  return storage->uri() + "/" + files.front().key;
}

}  // namespace smdebug
