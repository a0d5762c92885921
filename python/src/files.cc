// Bindings of FileWriter and FileReader: one event file, without a session or a
// run. Users see smdebug/file_writer.py and smdebug/file_reader.py.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "smdebug/base/try.h"
#include "smdebug/capture/file_writer.h"
#include "smdebug/read/file_reader.h"

#include "bindings.h"
#include "interrupt.h"
#include "result_caster.h"
#include "tensor_input.h"
#include "tensor_value.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace smdebug {
namespace {

// A writer may ask for signals while it holds its lock, and takes the GIL then:
// no call may wait for the lock with the GIL.
using WithoutGil = nb::call_guard<nb::gil_scoped_release>;

Result<std::unique_ptr<FileWriter>> create_writer(const std::string& run,
                                                  Step step, std::string worker,
                                                  bool write_checksum,
                                                  bool is_tensorboard,
                                                  Mode mode) {
  FileWriterOptions options;
  if (is_tensorboard) options.kind = FileWriterOptions::Kind::tensorboard;
  options.mode = mode;
  options.step = step;
  options.worker = std::move(worker);
  options.write_checksum = write_checksum;
  options.check_interrupt = &check_interrupt;
  return FileWriter::create(run, std::move(options));
}

Status write_imported(FileWriter& self, const std::string& name,
                      nb::handle tensor, const RecordLabel& label) {
  TensorImport imported;
  SMD_CHECK_OK(imported.load(tensor));
  const nb::gil_scoped_release without_gil;
  return self.write_tensor(name, imported.view(), label);
}

Status write_tensor(FileWriter& self, const std::string& name,
                    nb::handle tensor, Mode mode, std::optional<Step> mode_step,
                    std::optional<double> wall_seconds, bool is_indexed,
                    bool is_quantized) {
  Status status =
      write_imported(self, name, tensor,
                     {mode, mode_step, wall_seconds, is_indexed, is_quantized});
  if (status || status.error().code != Error::Code::unsupported) return status;
  return std::move(status)
      .error()
      .within("tensor '" + name + "' cannot be written")
      .with(Error::Detail::type_unsupported);
}

Result<bool> write_histogram_summary(FileWriter& self, const std::string& tag,
                                     nb::handle tensor,
                                     std::optional<Step> step,
                                     std::optional<double> wall_seconds) {
  TensorImport imported;
  SMD_CHECK_OK(imported.load(tensor));
  const nb::gil_scoped_release without_gil;
  return self.write_histogram_summary(tag, imported.view(),
                                      {step, wall_seconds});
}

std::string_view text_of(const nb::bytes& bytes) {
  return {bytes.c_str(), bytes.size()};
}

void bind_writer(nb::module_& m) {
  nb::class_<FileWriter>(
      m, "FileWriter",
      "Writes one event file. smdebug.file_writer.FileWriter wraps it.")
      .def_static(
          "create", &create_writer, "run"_a, "step"_a, "worker"_a,
          "write_checksum"_a, "is_tensorboard"_a, "mode"_a,
          "Creates the event file of one worker and step in the folder `run`. "
          "`write_checksum` writes the true checksum of each record.")
      .def("write_tensor", &write_tensor, "name"_a, "tensor"_a.none(), "mode"_a,
           "mode_step"_a.none(), "wall_seconds"_a.none(), "is_indexed"_a,
           "is_quantized"_a,
           "Writes the value of a tensor. `mode_step` None stands for the step "
           "of the file, `wall_seconds` None for the current time, in seconds "
           "since the epoch.")
      .def(
          "write_shape",
          [](FileWriter& self, const std::string& name,
             const std::vector<std::int64_t>& shape,
             const std::string& original_name, Mode mode,
             std::optional<Step> mode_step) {
            return self.write_shape(name, shape, original_name,
                                    {mode, mode_step});
          },
          "name"_a, "shape"_a, "original_name"_a, "mode"_a,
          "mode_step"_a.none(), WithoutGil(),
          "Writes only the shape of a tensor.")
      .def(
          "write_scalar_summary",
          [](FileWriter& self, const std::string& tag, double value,
             std::optional<Step> step, std::optional<double> wall_seconds) {
            return self.write_scalar_summary(tag, value, {step, wall_seconds});
          },
          "tag"_a, "value"_a, "step"_a.none(), "wall_seconds"_a.none(),
          WithoutGil(), "Writes a number for TensorBoard.")
      .def("write_histogram_summary", &write_histogram_summary, "tag"_a,
           "tensor"_a, "step"_a.none(), "wall_seconds"_a.none(),
           "Writes a histogram of the elements for TensorBoard. Returns "
           "whether the tensor has elements to count.")
      .def(
          "write_summary",
          [](FileWriter& self, const nb::bytes& summary,
             std::optional<Step> step, std::optional<double> timestamp) {
            const std::string_view text = text_of(summary);
            const nb::gil_scoped_release without_gil;
            return self.write_summary(text, {step, timestamp});
          },
          "summary"_a, "step"_a.none(), "timestamp"_a.none(),
          "Writes a serialized Summary message for TensorBoard.")
      .def(
          "write_graph",
          [](FileWriter& self, const nb::bytes& graph) {
            const std::string_view text = text_of(graph);
            const nb::gil_scoped_release without_gil;
            return self.write_graph(text);
          },
          "graph"_a, "Writes a serialized GraphDef message for TensorBoard.")
      .def("flush", &FileWriter::flush, WithoutGil(),
           "Writes buffered records to storage.")
      .def("close", &FileWriter::close, WithoutGil(),
           "Completes the file. Later calls raise.")
      .def("name", &FileWriter::name, WithoutGil(),
           "Returns the path of the file in the folder of the run.");
}

// (name, step, mode, mode step, wall time, value's parts), or None at the end.
Result<nb::object> next_tensor(FileReader& reader, bool skip_others) {
  auto next = reader.next();
  while (skip_others && !next &&
         next.error().detail == Error::Detail::not_a_tensor) {
    next = reader.next();
  }
  SMD_TRY(const auto tensor, std::move(next));
  if (!tensor) return nb::object(nb::none());
  const StepId& step = tensor->step;
  return nb::object(nb::make_tuple(tensor->name, step.global, step.mode,
                                   step.mode_step, tensor->wall_seconds,
                                   value_parts(tensor->value)));
}

void bind_reader(nb::module_& m) {
  nb::enum_<RecordCheck>(m, "RecordCheck",
                         "Which checksums a record must have.")
      .value("NONE", RecordCheck::none)
      .value("MINIMAL", RecordCheck::minimal)
      .value("FULL", RecordCheck::full);
  nb::class_<FileReader>(m, "FileReader",
                         "Reads one event file. smdebug.file_reader wraps it.")
      .def_static(
          "open",
          [](const std::string& path, RecordCheck check,
             const std::optional<std::vector<std::string>>& patterns)
              -> Result<FileReader> {
            SMD_TRY(FileReader reader, FileReader::open(path, check));
            if (patterns) SMD_CHECK_OK(reader.select(*patterns));
            return reader;
          },
          "path"_a, "check"_a, "patterns"_a.none(),
          "Opens an event file. With `patterns`, it returns only the tensors "
          "whose name matches one of them.")
      .def("next", &next_tensor, "skip_others"_a,
           "Returns the next tensor. With `skip_others`, records without a "
           "tensor are not an error.")
      .def_prop_ro("skipped_count", &FileReader::skipped_count,
                   "The number of ranges that were skipped.")
      .def_prop_ro(
          "skipped",
          [](const FileReader& self) {
            std::vector<std::tuple<std::uint64_t, std::uint64_t, std::string>>
                rows;
            for (const SkippedBytes& part : self.skipped())
              rows.emplace_back(part.start, part.bytes, part.what);
            return rows;
          },
          "The first 20 ranges that were skipped: (offset, bytes, reason).");
}

}  // namespace

void bind_files(nb::module_& m) {
  bind_writer(m);
  bind_reader(m);
}

}  // namespace smdebug
