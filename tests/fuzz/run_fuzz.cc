// Reads a run of arbitrary bytes: splits the input into the files of a run,
// opens it and queries all of its contents, as the commands do. Each part is
// preceded by its size, a uint16; missing parts are empty.

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>

#include "smdebug/read/trial.h"
#include "smdebug/report/run_overview.h"
#include "smdebug/report/tensor_table.h"

#include "store/backends.h"
#include "tests/support/recording_logger_testing.h"

namespace smdebug {
namespace {

std::string_view take_part(std::string_view& rest) {
  if (rest.size() < 2) return {};
  const std::size_t size = static_cast<std::uint8_t>(rest[0]) |
                           static_cast<std::uint8_t>(rest[1]) << 8;
  const std::string_view part = rest.substr(2, size);
  rest.remove_prefix(2 + part.size());
  return part;
}

std::shared_ptr<Storage> run_of(std::string_view input) {
  auto storage = make_memory_storage("memory://fuzz");
  for (const char* key :
       {"index/000000000/000000000001_worker_0.json",
        "events/000000000001/000000000001_worker_0.tfevents",
        "collections/000000000/worker_0_collections.json", "run.json",
        "index/000000000/000000000002_worker_0.json"}) {
    if (!put_object(*storage, key, take_part(input))) std::abort();
  }
  return storage;
}

void ask_for_all(Trial& trial, const std::string& name) {
  auto tensor = trial.tensor(name);
  if (!tensor) std::abort();
  for (const Step step : tensor->steps()) {
    const auto value = tensor->value({step});
    if (value && value->dtype() != DType::string &&
        value->view().bytes() != value->bytes().size()) {
      std::abort();
    }
    (void)tensor->statistics({step});
    (void)tensor->reductions({step});
    (void)tensor->reduction({step}, {Reduction::median, false});
    TensorQuery query;
    query.tensor = name;
    query.step = step;
    const auto table = read_tensor_table(trial, query);
    if (!table) std::abort();
    (void)tensor_table_text(*table);
    (void)tensor_table_json(*table);
  }
}

void read_run(std::string_view input) {
  static NullLogger log;
  TrialOptions options;
  options.timeout = std::chrono::nanoseconds(0);
  options.logger = &log;
  const auto trial =
      Trial::open(std::shared_ptr<const Storage>(run_of(input)), options);
  if (!trial) std::abort();
  for (const std::string& name : (*trial)->tensor_names()) {
    ask_for_all(**trial, name);
  }
  const auto overview = read_run_overview(**trial);
  if (!overview) std::abort();
  const std::string text =
      run_overview_text(*overview) + run_overview_json(*overview);
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < ' ' && c != '\n') std::abort();
  }
}

}  // namespace
}  // namespace smdebug

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  smdebug::read_run({reinterpret_cast<const char*>(data), size});
  return 0;
}
