#pragma once

// The records of TensorBoard files (docs/format.md "TensorBoard files"): a
// number or a histogram under a tag. Unlike those of event files they carry
// the true checksum and no metadata, as every TFRecord tool expects.

#include <string>
#include <string_view>

#include "smdebug/core/mode.h"

#include "core/histogram.h"

namespace smdebug {

// "a:0 (b)" -> "a_0__b_": every character that is no letter, digit or one of
// "_-/." becomes '_', and slashes in front go. Letters and digits are
// Unicode's; each byte that is not UTF-8 counts as one character.
std::string clean_tag(std::string_view tag);

// Appends a record to `out`. `tag` is clean already.
void append_scalar_record(std::string_view tag, double value,
                          double wall_seconds, Step step, std::string& out);
void append_histogram_record(std::string_view tag, const Histogram& histogram,
                             double wall_seconds, Step step, std::string& out);

// The same of a message that others encoded: a tensorboard.Summary, or a
// tensorflow.GraphDef, which belongs to no step.
void append_summary_record(std::string_view summary, double wall_seconds,
                           Step step, std::string& out);
void append_graph_record(std::string_view graph, double wall_seconds,
                         std::string& out);

// Where the records of one step lie in the TensorBoard folder:
// "TRAIN/000000000007_4711_node.tfevents". `writer` tells processes apart.
std::string tensorboard_file_key(Mode mode, Step step, std::string_view writer);

}  // namespace smdebug
