#include "capture/statistics_writer.h"

#include <utility>

#include "format/file_names.h"
#include "format/file_sizes.h"
#include "format/index_file.h"
#include "format/run_file.h"

namespace smdebug {

StatisticsWriter::StatisticsWriter(std::shared_ptr<Storage> storage,
                                   std::string worker)
    : storage_(std::move(storage)),
      worker_(std::move(worker)),
      builder_(worker_) {}

Status StatisticsWriter::published(Step step, std::string_view index_file) {
  // Steps that a program writes in another order stay in their index files.
  if (!builder_.empty() && step <= builder_.last()) return {};
  const auto content = parse_index_file(index_file, IndexParts::everything);
  if (!content || !content->damage.empty()) return {};
  builder_.add(step, index_file.size(), *content);
  return builder_.is_full() ? write() : Status();
}

Status StatisticsWriter::close() {
  return builder_.steps() < kMinStatisticsFileSteps ? Status() : write();
}

Status StatisticsWriter::write() {
  const std::string key = statistics_file_key(
      {worker_, attempt(), builder_.first(), builder_.last()});
  return put_object(*storage_, key, builder_.finish());
}

std::uint64_t StatisticsWriter::attempt() const {
  const auto bytes = get_object(*storage_, kRunFileKey, kMaxRunFileBytes);
  if (!bytes) return 0;
  const auto file = parse_run_file(bytes->text());
  return file ? file->attempts.size() : 0;
}

}  // namespace smdebug
