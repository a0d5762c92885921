#include "index/checked_index_file.h"

#include <fmt/format.h>

#include "smdebug/base/try.h"

namespace smdebug {
namespace {

// Returns the reason why an index file with the key of `name` is not its own.
// Empty if it is, and for a file that names no event file of the usual form.
std::string exchanged(const IndexFile& content, const StepFileName& name) {
  const auto events = parse_step_file_key(content.event_file_key.empty()
                                              ? content.absent_event_file_key
                                              : content.event_file_key);
  if (!events || *events == name) return "";
  return fmt::format(
      "it belongs to step {} of worker '{}', whose event file it names: it was "
      "renamed or exchanged",
      events->step, events->worker);
}

}  // namespace

Result<IndexFile> checked_index_file(const Result<Bytes>& bytes,
                                     const StepFileName& name,
                                     IndexParts parts) {
  if (!bytes) return bytes.error();
  SMD_TRY(IndexFile content, parse_index_file(bytes->text(), parts));
  if (std::string reason = exchanged(content, name); !reason.empty()) {
    return Error{Error::Code::corrupt, std::move(reason)};
  }
  return content;
}

}  // namespace smdebug
