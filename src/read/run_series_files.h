#pragma once

// `RunSeriesFiles` reads the scalar series of a run, of every worker. A file is
// written once and does not change. Samples of one series are in several files,
// usually one after the other. `SeriesCursor` passes them to a sink.

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "smdebug/base/result.h"
#include "smdebug/core/observation.h"
#include "smdebug/core/scalar_series.h"
#include "smdebug/store/storage.h"

#include "format/file_names.h"
#include "format/series_file.h"

namespace smdebug {

class RunSeriesFiles {
 public:
  struct Part {
    SeriesFileName name;
    std::vector<ScalarSeries> series;
  };

  // Never reads steps outside [first, end).
  RunSeriesFiles(std::optional<Step> first_step, std::optional<Step> end_step);

  // Reads the files that are new. Fails with `io` if they cannot be listed, but
  // not if their folder can never be listed (see `Storage::check_folder`).
  Status refresh(const Storage& storage);

  // In the order in which they were found.
  const std::vector<Part>& parts() const { return parts_; }
  std::vector<std::string> names() const;  // sorted
  // The samples of one series, sorted by worker; empty for an unknown name.
  std::vector<WorkerSeries> series(std::string_view name) const;

  const std::map<std::string, std::string>& broken_files() const {
    return broken_;
  }

 private:
  void read_file(const Storage& storage, const std::string& key);
  void limit_steps(std::vector<ScalarSeries>& series) const;

  Step first_step_, end_step_;
  std::optional<std::uint64_t> listed_version_;  // of the folder, before that
  std::set<std::string> known_;                  // keys
  std::vector<Part> parts_;
  std::map<std::string, std::string> broken_;  // key -> reason
};

// The samples that a sink has not received yet.
class SeriesCursor {
 public:
  // Samples of steps before `first` are left out.
  explicit SeriesCursor(Step first) : first_(first) {}

  // Passes on those of the steps before `end`, by worker.
  void report(const RunSeriesFiles& files, ObservationSink& sink,
              std::size_t run, Step end);

 private:
  struct Rest {
    std::size_t part;  // position
    Step from;         // the first step that was not passed on
  };
  void add_new(const RunSeriesFiles& files);
  std::vector<Rest> take_due(const RunSeriesFiles& files, Step end);

  Step first_;
  std::size_t known_parts_ = 0;
  std::multimap<Step, Rest> rest_;  // by `from`
};

}  // namespace smdebug
