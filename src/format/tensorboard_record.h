#pragma once

// The records of TensorBoard files (docs/format.md, "TensorBoard files"): a
// number or a histogram with a tag. Unlike the records of event files, they
// have the true checksum and no metadata, as all TFRecord tools expect.

#include <cstdint>
#include <string>
#include <string_view>

#include "smdebug/core/mode.h"
#include "smdebug/core/statistics.h"

namespace smdebug {

// Returns "a_0__b_" for "a:0 (b)": replaces every character except letters,
// digits and "_-/." by '_', and removes leading slashes. Letters and digits are
// those of Unicode; each byte that is not UTF-8 counts as one character.
std::string clean_tag(std::string_view tag);

// Appends a record to `out`. `tag` must be clean.
void append_scalar_record(std::string_view tag, double value,
                          double wall_seconds, Step step, std::string& out);
void append_histogram_record(std::string_view tag, const Histogram& histogram,
                             double wall_seconds, Step step, std::string& out);

// Same for an encoded message: a tensorboard.Summary, or a tensorflow.GraphDef,
// which belongs to no step.
void append_summary_record(std::string_view summary, double wall_seconds,
                           Step step, std::string& out);
void append_graph_record(std::string_view graph, double wall_seconds,
                         std::string& out);

// Returns the file of one step in the TensorBoard folder:
// "TRAIN/000000000007_4711_node.tfevents". `writer` is unique to the process.
std::string tensorboard_file_key(Mode mode, Step step, std::string_view writer);

// Returns the name of a file of many steps, as TensorBoard's own writers choose
// it: files of a folder sort by the time of their first record. Workers other
// than the first have a folder of their own, because TensorBoard follows one
// growing file per folder. `number` counts the files of the process.
struct TensorBoardFileName {
  Mode mode = Mode::global;
  std::string worker;  // empty: the first
  double wall_seconds = 0;
  std::string host;
  std::int64_t process_id = 0;
  int number = 0;

  std::string key() const;
};

}  // namespace smdebug
