// Bindings of include/smdebug/read/saved_collections.h: one worker's
// collections file.

#include "smdebug/read/saved_collections.h"

#include <string>
#include <utility>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include "smdebug/base/try.h"
#include "smdebug/store/open_storage.h"

#include "bindings.h"
#include "editable_config.h"
#include "result_caster.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace smdebug {

void bind_saved(nb::module_& m) {
  nb::class_<SavedCollections>(m, "SavedCollections",
                               "The collections file of one worker: the "
                               "collections and the number of workers.")
      .def(
          "__init__",
          [](SavedCollections* self, const nb::iterable& collections,
             int num_workers) {
            std::vector<Collection> found;
            for (nb::handle each : collections) {
              found.push_back(
                  nb::cast<const editable::Collection&>(each).value());
            }
            new (self) SavedCollections{std::move(found), num_workers};
          },
          "collections"_a, "num_workers"_a)
      .def_static("parse", &parse_collections, "text"_a,
                  "Parses the text of a collections file. Raises "
                  "SMDebugValueError for any other text.")
      .def_static(
          "read",
          [](const std::string& folder,
             const std::string& file_name) -> Result<SavedCollections> {
            SMD_TRY(const auto storage, open_storage(folder));
            return read_collections(*storage, file_name);
          },
          "folder"_a, "file_name"_a,
          "Reads a collections file. Raises SMDebugValueError for a file that "
          "is none, and SMDebugError for one that is too large or cannot be "
          "read.")
      .def("text", &collections_text, "Returns the text of the file.")
      .def(
          "write",
          [](const SavedCollections& self, const std::string& out_dir,
             const std::string& file_name) -> Status {
            SMD_TRY(const auto run, open_storage(out_dir));
            return write_collections(self, *run, file_name);
          },
          "out_dir"_a, "file_name"_a,
          "Writes the file into the collections folder of the run at "
          "`out_dir`.")
      .def_ro("collections", &SavedCollections::collections,
              "The collections, in the order of the file.")
      .def_ro("num_workers", &SavedCollections::num_workers,
              "The number of workers of the run.");
}

}  // namespace smdebug
