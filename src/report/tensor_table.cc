#include "smdebug/report/tensor_table.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "smdebug/base/escape.h"
#include "smdebug/base/try.h"

#include "report/element_text.h"
#include "report/json_parts.h"
#include "report/other_kind.h"
#include "report/saved_steps.h"
#include "report/text_table.h"
#include "report/wording.h"

namespace smdebug {
namespace {

StepId step_id(Trial& trial, Step step, Mode mode) {
  const auto global = trial.global_step(mode, step);
  const auto id = trial.step_id(global.value_or(step));
  return id.value_or(StepId{step, mode, step});
}

void note_missing(TensorTable::Row& row, const Error& error) {
  row.missing = error.message;
  // `not_found`: it was not saved.
  row.is_unreadable = error.code != Error::Code::not_found;
}

// The row reports damage and missing data; only an unreadable run fails.
TensorTable::Row read_row(Tensor& tensor, const StepId& id,
                          const StepQuery& query, bool with_elements) {
  TensorTable::Row row;
  row.step = id;
  row.worker = *query.worker;
  if (auto shape = tensor.shape(query)) row.shape = *std::move(shape);
  if (auto reductions = tensor.reductions(query)) {
    row.reductions = *std::move(reductions);
  } else {
    note_missing(row, reductions.error());
  }
  const auto dtype = tensor.dtype(query);
  const bool has_numbers = !dtype || !is_string(*dtype);
  const auto statistics = tensor.statistics(query);
  if (statistics) {
    if (has_numbers) row.statistics = *statistics;
  } else if (row.reductions.empty()) {
    note_missing(row, statistics.error());
  }
  if (!with_elements) return row;
  const auto value = tensor.value(query);
  if (!value) {
    // A value may be missing as usual, while a reduction cannot be read.
    if (!row.is_unreadable) note_missing(row, value.error());
    return row;
  }
  row.dtype = dtype_name(value->dtype());
  row.elements = elements_text(*value);
  return row;
}

double deviation(const TensorStatistics& statistics) {
  const auto value = reduction_from(statistics, {Reduction::std, false},
                                    Deviation::population);
  return value.value_or(std::nan(""));
}

std::string reductions_text(const std::map<ReductionOp, double>& reductions) {
  std::string text;
  for (const auto& [op, value] : reductions) {
    if (!text.empty()) text += ", ";
    text += reduction_op_name(op) + " " + number_text(value);
  }
  return text;
}

std::string rest_text(const TensorTable::Row& row, bool with_missing) {
  std::string text = reductions_text(row.reductions);
  if (with_missing && !row.missing.empty()) {
    if (!text.empty()) text += "; ";
    text += row.missing;
  }
  return text;
}

std::string rows_text(const TensorTable& tensors) {
  TextTable table({">step", "worker", "shape", ">min", ">max", ">mean", ">std",
                   ">mean |x|", ">zeros", ">NaN", ">inf", ""});
  for (const TensorTable::Row& row : tensors.rows) {
    std::vector<std::string> cells = {step_number_text(row.step), row.worker,
                                      row.shape ? shape_text(*row.shape) : ""};
    if (row.statistics) {
      const TensorStatistics& s = *row.statistics;
      const auto finite = static_cast<double>(s.finite());
      for (const double number :
           {s.min, s.max, s.mean, deviation(s), s.sum_abs / finite}) {
        cells.push_back(finite > 0 ? number_text(number) : "-");
      }
      cells.push_back(std::to_string(s.zeros));
      cells.push_back(std::to_string(s.nan));
      cells.push_back(std::to_string(s.positive_inf + s.negative_inf));
    }
    cells.resize(11);
    cells.push_back(rest_text(row, !tensors.step));
    table.add(std::move(cells));
  }
  return table.text();
}

// Names the steps before and after the one that was asked for, or the same one
// in the count of another mode.
std::string other_steps_text(Tensor& tensor, const TensorQuery& query) {
  if (query.mode == Mode::global) {
    for (const Mode mode : {Mode::train, Mode::eval, Mode::predict}) {
      const auto steps = tensor.steps(mode, /*incomplete=*/true);
      if (std::ranges::find(steps, *query.step) == steps.end()) continue;
      return fmt::format("; --mode {} has a step {}", mode_name(mode),
                         *query.step);
    }
  }
  const auto steps = tensor.steps(query.mode, /*incomplete=*/true);
  const auto after = std::ranges::lower_bound(steps, *query.step);
  std::string nearest;
  if (after != steps.begin()) nearest = std::to_string(*std::prev(after));
  if (after != steps.end())
    nearest += (nearest.empty() ? "" : ", ") + std::to_string(*after);
  return nearest.empty() ? "" : "; nearest: " + nearest;
}

// Names the steps that exist instead.
Error not_saved(Trial& trial, Tensor& tensor, const TensorQuery& query) {
  const std::string asked =
      query.step ? fmt::format("{} step {}", mode_name(query.mode), *query.step)
                 : fmt::format("any {} step", mode_name(query.mode));
  std::string text =
      fmt::format("tensor '{}' was not saved at {}; saved: {}", query.tensor,
                  asked, saved_steps_text(tensor, query.mode));
  if (query.step) text += other_steps_text(tensor, query);
  return {Error::Code::not_found, text + damage_note(trial.damage().size())};
}

// Also finds out what else has the name.
Result<Tensor> find_tensor(Trial& trial, const std::string& name) {
  auto tensor = trial.tensor(name);
  if (tensor || tensor.error().code != Error::Code::not_found) return tensor;
  const std::string other = other_kind_text(trial, name);
  if (other.empty()) return tensor;
  return Error{Error::Code::not_found,
               fmt::format("'{}' in run '{}' is not a tensor but {}", name,
                           trial.location(), other)};
}

}  // namespace

Result<TensorTable> read_tensor_table(Trial& trial, const TensorQuery& query) {
  SMD_TRY(Tensor tensor, find_tensor(trial, query.tensor));
  TensorTable table{trial.location(), query.tensor, query.mode, query.step, {}};
  std::vector<Step> steps = tensor.steps(query.mode, /*incomplete=*/true);
  if (query.step) {
    const bool was_saved = std::ranges::find(steps, *query.step) != steps.end();
    steps = was_saved ? std::vector{*query.step} : std::vector<Step>();
  }
  if (steps.empty()) return not_saved(trial, tensor, query);
  std::vector<std::string> known = trial.workers();
  if (query.worker && std::ranges::find(known, *query.worker) == known.end()) {
    return Error{Error::Code::not_found,
                 fmt::format("the run has no worker '{}'; its workers: {}",
                             *query.worker, fmt::join(known, ", "))};
  }
  for (const Step step : steps) {
    SMD_TRY(const auto workers, tensor.workers(step, query.mode));
    for (const std::string& worker : workers) {
      if (query.worker && worker != *query.worker) continue;
      table.rows.push_back(read_row(tensor, step_id(trial, step, query.mode),
                                    {step, query.mode, worker},
                                    query.step.has_value()));
    }
  }
  if (table.rows.empty()) {
    return Error{Error::Code::not_found,
                 fmt::format("worker '{}' did not save tensor '{}'",
                             *query.worker, query.tensor)};
  }
  return table;
}

bool TensorTable::has_unreadable() const {
  return std::ranges::any_of(rows, &Row::is_unreadable);
}

std::string tensor_table_text(const TensorTable& table) {
  const std::string name = printable(table.tensor);
  std::string text = name + "\n" + rows_text(table);
  for (const TensorTable::Row& row : table.rows) {
    if (table.step && !row.missing.empty()) {
      text +=
          fmt::format("{} {}\n", printable(row.worker), printable(row.missing));
    }
    if (row.elements.empty()) continue;
    text += fmt::format("{} {}: {}\n", printable(row.worker), row.dtype,
                        printable(row.elements));
  }
  return text;
}

std::string tensor_table_json(const TensorTable& table) {
  Json json;
  json["run"] = table.run;
  json["tensor"] = table.tensor;
  json["rows"] = Json::Array();
  for (const TensorTable::Row& row : table.rows) {
    Json one;
    one["step"] = to_json(row.step);
    one["worker"] = row.worker;
    one["shape"] =
        row.shape ? to_json(std::span<const std::int64_t>(*row.shape)) : Json();
    one["statistics"] = row.statistics ? to_json(*row.statistics) : Json();
    one["reductions"] = Json::Object();
    for (const auto& [op, value] : row.reductions) {
      one["reductions"][reduction_op_name(op)] = value;
    }
    if (!row.elements.empty()) {
      one["dtype"] = row.dtype;
      one["elements"] = row.elements;
    }
    if (!row.missing.empty()) one["missing"] = row.missing;
    json["rows"].append(std::move(one));
  }
  return json.dump(JsonStyle::indented) + "\n";
}

}  // namespace smdebug
