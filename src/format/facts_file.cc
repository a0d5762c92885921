#include "format/facts_file.h"

#include <utility>

#include "smdebug/base/try.h"

#include "format/json_fields.h"

namespace smdebug {
namespace {

constexpr int kFactsVersion = 1;

// --- writing ---

Json settings_json(const Settings& settings) {
  Json::Object json;
  for (const auto& [name, value] : settings)
    json.push_back({name, number_json(value)});
  return json;
}

Json text_or_null(const std::string& text) {
  return text.empty() ? Json() : Json(text);
}

Json shape_json(const std::vector<std::int64_t>& sizes) {
  Json::Array shape;
  for (const std::int64_t size : sizes) shape.push_back(size);
  return shape;
}

Json number_or_null(const std::optional<double>& number) {
  return number ? number_json(*number) : Json();
}

Json to_json(const ParameterFacts& parameter) {
  Json json = Json::Object{{"tensor", parameter.tensor},
                           {"trainable", parameter.is_trainable},
                           {"dtype", text_or_null(parameter.dtype)},
                           {"device", text_or_null(parameter.device)},
                           {"shape", shape_json(parameter.shape)},
                           {"shared_with", text_or_null(parameter.shared_with)},
                           {"optimizer", Json()},
                           {"group", Json()}};
  if (parameter.updated_by) {
    json["optimizer"] = parameter.updated_by->optimizer;
    json["group"] = parameter.updated_by->group;
  }
  return json;
}

Json to_json(const OptimizerFacts& optimizer) {
  Json::Array groups;
  for (const OptimizerGroupFacts& group : optimizer.groups) {
    groups.push_back(
        Json::Object{{"parameters", group.parameters},
                     {"foreign_parameters", group.foreign_parameters},
                     {"settings", settings_json(group.settings)}});
  }
  return Json::Object{
      {"kind", optimizer.kind},
      {"groups", std::move(groups)},
      {"keeps_gradients", Json(optimizer.keeps_gradients)},
      {"discards_gradients", Json(optimizer.discards_gradients)},
      {"has_scheduler", Json(optimizer.has_scheduler)}};
}

Json to_json(const ModuleFacts& module) {
  Json json = Json::Object{{"path", module.path},
                           {"kind", module.kind},
                           {"training", Json(module.is_training)},
                           {"settings", settings_json(module.settings)}};
  if (!module.input_shape.empty())
    json["input_shape"] = shape_json(module.input_shape);
  return json;
}

Json to_json(const DataFacts& data) {
  return Json::Object{{"tensor", text_or_null(data.tensor)},
                      {"received_by", text_or_null(data.received_by)},
                      {"dtype", text_or_null(data.dtype)},
                      {"steps", data.steps},
                      {"repeats", data.repeats},
                      {"shape", shape_json(data.shape)},
                      {"mean", number_or_null(data.mean)},
                      {"deviation", number_or_null(data.deviation)},
                      {"low", number_or_null(data.low)},
                      {"high", number_or_null(data.high)},
                      {"median_feature_deviation",
                       number_or_null(data.median_feature_deviation)},
                      {"largest_feature_deviation",
                       number_or_null(data.largest_feature_deviation)},
                      {"not_finite", Json(data.not_finite)},
                      {"labels", data.labels},
                      {"classes", data.classes},
                      {"largest_class", data.largest_class},
                      {"smallest_class", data.smallest_class},
                      {"label_order", number_or_null(data.label_order)},
                      {"has_mixed_channels", Json(data.has_mixed_channels)}};
}

Json to_json(const LossInputFacts& input) {
  return Json::Object{
      {"function", input.function},
      {"steps", input.steps},
      {"shape", shape_json(input.shape)},
      {"target_shape",
       input.target_shape ? shape_json(*input.target_shape) : Json()},
      {"activation", text_or_null(input.activation)},
      {"values", text_or_null(input.values)},
      {"ignored", number_or_null(input.ignored)},
      {"fractional", number_or_null(input.fractional)},
      {"padding", number_or_null(input.padding)},
      {"padding_label", Json(input.padding_label)},
      {"equal_outputs", input.equal_outputs},
      {"outside", number_or_null(input.outside)},
      {"target_low", number_or_null(input.target_low)},
      {"target_high", number_or_null(input.target_high)},
      {"target_shift", Json(input.target_shift)},
      {"revealing_feature", Json(input.revealing_feature)},
      {"linear_layers", Json(input.linear_layers)},
      {"sees_later", Json(input.sees_later)},
      {"has_softmax_of_one", Json(input.has_softmax_of_one)},
      {"has_softmax_of_batch", Json(input.has_softmax_of_batch)},
      {"mixes_places", Json(input.mixes_places)},
      {"ignored_tokens", Json(input.ignored_tokens)},
      {"weight_of_largest_class",
       number_or_null(input.weight_of_largest_class)},
      {"weight_of_smallest_class",
       number_or_null(input.weight_of_smallest_class)},
      {"divergence_weight", number_or_null(input.divergence_weight)},
      {"targets", input.targets ? to_json(*input.targets) : Json()}};
}

Json to_json(const LossFacts& loss) {
  return Json::Object{{"tensor", loss.tensor},
                      {"kind", loss.kind},
                      {"reduction", text_or_null(loss.reduction)},
                      {"ignored_label", Json(loss.ignored_label)},
                      {"input", loss.input ? to_json(*loss.input) : Json()},
                      {"margin", number_or_null(loss.margin)}};
}

Json to_json(const SchedulerFacts& scheduler) {
  return Json::Object{{"kind", scheduler.kind},
                      {"optimizer", Json(scheduler.optimizer)},
                      {"steps", scheduler.steps},
                      {"updates", scheduler.updates},
                      {"settings", settings_json(scheduler.settings)}};
}

Json to_json(const MetricWatchFacts& watch) {
  return Json::Object{{"kind", watch.kind},
                      {"metric", watch.metric},
                      {"prefers_high", watch.prefers_high},
                      {"is_of_training", watch.is_of_training}};
}

template <typename Facts>
Json list_json(const std::vector<Facts>& all) {
  Json::Array list;
  for (const Facts& facts : all) list.push_back(to_json(facts));
  return list;
}

Json operation_json(const std::optional<OperationFacts>& operation) {
  if (!operation) return Json();
  return Json::Object{{"kind", operation->kind},
                      {"step", operation->step},
                      {"elements", operation->elements},
                      {"size", operation->size}};
}

Json texts_json(const std::vector<std::string>& texts) {
  Json::Array array;
  for (const std::string& text : texts) array.push_back(text);
  return array;
}

Json to_json(const LoopFacts& loop) {
  return Json::Object{
      {"autocast_dtype", text_or_null(loop.autocast_dtype)},
      {"schedulers", list_json(loop.schedulers)},
      {"scaled_clippings", loop.scaled_clippings},
      {"empty_clippings", loop.empty_clippings},
      {"scaled_clipping_limit", number_or_null(loop.scaled_clipping_limit)},
      {"gradient_norm_limit", number_or_null(loop.gradient_norm_limit)},
      {"gradient_value_limit", number_or_null(loop.gradient_value_limit)},
      {"log_hides_not_finite", loop.log_hides_not_finite},
      {"not_finite_by", operation_json(loop.not_finite_by)},
      {"short_lived_optimizers", Json(loop.short_lived_optimizers)},
      {"evaluations_in_training_mode", Json(loop.evaluations_in_training_mode)},
      {"data_passes", Json(loop.data_passes)},
      {"layers_outside", texts_json(loop.layers_outside)},
      {"summed_passes", Json(loop.summed_passes)},
      {"empty_loads", loop.empty_loads},
      {"metric_watches", list_json(loop.metric_watches)}};
}

// --- parsing ---

// Returns the text of a member that may be null.
Result<std::string> optional_text_at(const Json& json, std::string_view key) {
  const Json* value = json.find(key);
  if (value != nullptr && value->is_null()) return std::string();
  return json.string_at(key);
}

Result<Settings> settings_at(const Json& json) {
  SMD_TRY(const Json::Object* members, json.object_at("settings"));
  Settings settings;
  for (const Json::Member& member : *members) {
    const auto value = parse_number(member.value);
    if (!value) {
      return Error{Error::Code::corrupt,
                   "the setting '" + member.key +
                       "' should be a number but is " +
                       std::string(member.value.type_name())};
    }
    settings[member.key] = *value;
  }
  return settings;
}

Result<std::vector<std::int64_t>> shape_at(const Json& json,
                                           std::string_view key) {
  SMD_TRY(const Json::Array* shape, json.array_at(key));
  std::vector<std::int64_t> sizes;
  for (const Json& size : *shape) {
    const auto number = size.as_int();
    if (!number || *number < 0) return out_of_range(key);
    sizes.push_back(*number);
  }
  return sizes;
}

Result<std::vector<std::string>> texts_at(const Json& json,
                                          std::string_view key) {
  SMD_TRY(const Json::Array* list, json.array_at(key));
  std::vector<std::string> texts;
  for (const Json& each : *list) {
    const std::string* text = each.as_string();
    if (text == nullptr) return out_of_range(key);
    texts.push_back(*text);
  }
  return texts;
}

bool is_given(const Json& json, std::string_view key) {
  const Json* value = json.find(key);
  return value != nullptr && !value->is_null();
}

// Returns the number of a member that may be null.
Result<std::optional<double>> optional_number_at(const Json& json,
                                                 std::string_view key) {
  if (!is_given(json, key)) return std::optional<double>();
  const auto number = parse_number(*json.find(key));
  if (!number) return out_of_range(key);
  return number;
}

// Returns the count of a member that may be null.
Result<std::optional<std::uint64_t>> optional_count_at(const Json& json,
                                                       std::string_view key) {
  if (!is_given(json, key)) return std::optional<std::uint64_t>();
  SMD_TRY(const std::uint64_t count, count_at(json, key));
  return std::optional<std::uint64_t>(count);
}

// Returns the count of a member that runs of earlier versions lack: 0.
Result<std::uint64_t> later_count_at(const Json& json, std::string_view key) {
  SMD_TRY(const auto count, optional_count_at(json, key));
  return count.value_or(0);
}

// Returns the boolean of a member that may be null.
Result<std::optional<bool>> flag_at(const Json& json, std::string_view key) {
  if (!is_given(json, key)) return std::optional<bool>();
  SMD_TRY(const bool flag, json.bool_at(key));
  return std::optional<bool>(flag);
}

// Returns the share of a member that may be null.
Result<std::optional<double>> share_at(const Json& json, std::string_view key) {
  SMD_TRY(const std::optional<double> share, optional_number_at(json, key));
  if (share && !(*share >= 0 && *share <= 1)) return out_of_range(key);
  return share;
}

Status parse_into(const Json& json, ParameterFacts& parameter) {
  SMD_TRY(parameter.tensor, json.string_at("tensor"));
  SMD_TRY(parameter.is_trainable, json.bool_at("trainable"));
  SMD_TRY(parameter.dtype, optional_text_at(json, "dtype"));
  SMD_TRY(parameter.device, optional_text_at(json, "device"));
  SMD_TRY(parameter.shared_with, optional_text_at(json, "shared_with"));
  SMD_TRY(parameter.shape, shape_at(json, "shape"));
  const Json* optimizer = json.find("optimizer");
  if (optimizer == nullptr || optimizer->is_null()) return {};
  GroupPosition& position = parameter.updated_by.emplace();
  SMD_TRY(position.optimizer, count_at(json, "optimizer"));
  SMD_TRY(position.group, count_at(json, "group"));
  return {};
}

Status parse_into(const Json& json, OptimizerFacts& optimizer) {
  SMD_TRY(optimizer.kind, json.string_at("kind"));
  SMD_TRY(const Json::Array* groups, json.array_at("groups"));
  for (const Json& entry : *groups) {
    OptimizerGroupFacts& group = optimizer.groups.emplace_back();
    SMD_TRY(group.parameters, count_at(entry, "parameters"));
    SMD_TRY(group.foreign_parameters, count_at(entry, "foreign_parameters"));
    SMD_TRY(group.settings, settings_at(entry));
  }
  SMD_TRY(optimizer.keeps_gradients, flag_at(json, "keeps_gradients"));
  SMD_TRY(optimizer.discards_gradients, flag_at(json, "discards_gradients"));
  SMD_TRY(optimizer.has_scheduler, flag_at(json, "has_scheduler"));
  return {};
}

Status parse_into(const Json& json, ModuleFacts& module) {
  SMD_TRY(module.path, json.string_at("path"));
  SMD_TRY(module.kind, json.string_at("kind"));
  SMD_TRY(module.settings, settings_at(json));
  if (json.find("input_shape") != nullptr) {
    SMD_TRY(module.input_shape, shape_at(json, "input_shape"));
  }
  SMD_TRY(module.is_training, flag_at(json, "training"));
  return {};
}

Status parse_into(const Json& json, DataFacts& data) {
  SMD_TRY(data.tensor, optional_text_at(json, "tensor"));
  SMD_TRY(data.received_by, optional_text_at(json, "received_by"));
  SMD_TRY(data.dtype, optional_text_at(json, "dtype"));
  SMD_TRY(data.steps, count_at(json, "steps"));
  if (json.find("repeats") != nullptr) {
    SMD_TRY(data.repeats, count_at(json, "repeats"));
    if (data.repeats > 0 && data.repeats >= data.steps)
      return out_of_range("repeats");
  }
  SMD_TRY(data.shape, shape_at(json, "shape"));
  SMD_TRY(data.mean, optional_number_at(json, "mean"));
  SMD_TRY(data.deviation, optional_number_at(json, "deviation"));
  SMD_TRY(data.low, optional_number_at(json, "low"));
  SMD_TRY(data.high, optional_number_at(json, "high"));
  SMD_TRY(data.median_feature_deviation,
          optional_number_at(json, "median_feature_deviation"));
  SMD_TRY(data.largest_feature_deviation,
          optional_number_at(json, "largest_feature_deviation"));
  if (is_given(json, "not_finite")) {
    SMD_TRY(data.not_finite, json.int_at("not_finite"));
    if (*data.not_finite < 0) return out_of_range("not_finite");
  }
  SMD_TRY(data.labels, count_at(json, "labels"));
  SMD_TRY(data.classes, count_at(json, "classes"));
  if (data.classes > data.labels) return out_of_range("classes");
  SMD_TRY(data.largest_class, count_at(json, "largest_class"));
  if (data.largest_class > data.labels) return out_of_range("largest_class");
  SMD_TRY(data.smallest_class, count_at(json, "smallest_class"));
  if (data.smallest_class > data.largest_class)
    return out_of_range("smallest_class");
  SMD_TRY(data.label_order, share_at(json, "label_order"));
  SMD_TRY(data.has_mixed_channels, flag_at(json, "has_mixed_channels"));
  return {};
}

Status parse_into(const Json& json, LossInputFacts& input);

// Parses the object of a member that may be null.
template <typename Facts>
Status parse_optional(const Json& json, std::string_view key,
                      std::optional<Facts>& facts) {
  if (!is_given(json, key)) return {};
  SMD_TRY([[maybe_unused]] const Json::Object* members, json.object_at(key));
  return parse_into(*json.find(key), facts.emplace());
}

Status parse_into(const Json& json, LossInputFacts& input) {
  SMD_TRY(input.function, json.string_at("function"));
  SMD_TRY(input.steps, count_at(json, "steps"));
  SMD_TRY(input.shape, shape_at(json, "shape"));
  if (is_given(json, "target_shape")) {
    SMD_TRY(input.target_shape, shape_at(json, "target_shape"));
  }
  SMD_TRY(input.activation, optional_text_at(json, "activation"));
  SMD_TRY(input.values, optional_text_at(json, "values"));
  SMD_TRY(input.ignored, share_at(json, "ignored"));
  SMD_TRY(input.fractional, share_at(json, "fractional"));
  SMD_TRY(input.padding, share_at(json, "padding"));
  if (is_given(json, "padding_label")) {
    SMD_TRY(input.padding_label, json.int_at("padding_label"));
  }
  SMD_TRY(input.equal_outputs, count_at(json, "equal_outputs"));
  if (input.equal_outputs > input.steps) return out_of_range("equal_outputs");
  SMD_TRY(input.outside, share_at(json, "outside"));
  SMD_TRY(input.target_low, optional_number_at(json, "target_low"));
  SMD_TRY(input.target_high, optional_number_at(json, "target_high"));
  SMD_TRY(input.target_shift, optional_count_at(json, "target_shift"));
  SMD_TRY(input.revealing_feature,
          optional_count_at(json, "revealing_feature"));
  SMD_TRY(input.linear_layers, optional_count_at(json, "linear_layers"));
  SMD_TRY(input.sees_later, flag_at(json, "sees_later"));
  SMD_TRY(input.has_softmax_of_one, flag_at(json, "has_softmax_of_one"));
  SMD_TRY(input.has_softmax_of_batch, flag_at(json, "has_softmax_of_batch"));
  SMD_TRY(input.mixes_places, flag_at(json, "mixes_places"));
  SMD_TRY(input.ignored_tokens, optional_count_at(json, "ignored_tokens"));
  SMD_TRY(input.weight_of_largest_class,
          optional_number_at(json, "weight_of_largest_class"));
  SMD_TRY(input.weight_of_smallest_class,
          optional_number_at(json, "weight_of_smallest_class"));
  SMD_TRY(input.divergence_weight,
          optional_number_at(json, "divergence_weight"));
  return parse_optional(json, "targets", input.targets);
}

Status parse_into(const Json& json, LossFacts& loss) {
  SMD_TRY(loss.tensor, json.string_at("tensor"));
  SMD_TRY(loss.kind, json.string_at("kind"));
  SMD_TRY(loss.reduction, optional_text_at(json, "reduction"));
  if (is_given(json, "ignored_label")) {
    SMD_TRY(loss.ignored_label, json.int_at("ignored_label"));
  }
  SMD_TRY(loss.margin, optional_number_at(json, "margin"));
  return parse_optional(json, "input", loss.input);
}

Status parse_into(const Json& json, SchedulerFacts& scheduler) {
  SMD_TRY(scheduler.kind, json.string_at("kind"));
  SMD_TRY(scheduler.optimizer, optional_count_at(json, "optimizer"));
  SMD_TRY(scheduler.steps, count_at(json, "steps"));
  SMD_TRY(scheduler.updates, count_at(json, "updates"));
  SMD_TRY(scheduler.settings, settings_at(json));
  return {};
}

Status parse_into(const Json& json, MetricWatchFacts& watch) {
  SMD_TRY(watch.kind, json.string_at("kind"));
  SMD_TRY(watch.metric, json.string_at("metric"));
  SMD_TRY(watch.prefers_high, json.bool_at("prefers_high"));
  SMD_TRY(watch.is_of_training, json.bool_at("is_of_training"));
  return {};
}

template <typename Facts>
Status parse_list(const Json& json, std::string_view key,
                  std::vector<Facts>& list) {
  SMD_TRY(const Json::Array* entries, json.array_at(key));
  list.reserve(entries->size());
  for (const Json& entry : *entries) {
    if (Status parsed = parse_into(entry, list.emplace_back()); !parsed)
      return std::move(parsed).error().within(key);
  }
  return {};
}

Status parse_into(const Json& json, OperationFacts& operation) {
  SMD_TRY(operation.kind, json.string_at("kind"));
  SMD_TRY(operation.step, json.int_at("step"));
  if (operation.step < 0) return out_of_range("step");
  SMD_TRY(operation.elements, count_at(json, "elements"));
  SMD_TRY(operation.size, count_at(json, "size"));
  return {};
}

Status parse_into(const Json& json, LoopFacts& loop) {
  SMD_TRY(loop.autocast_dtype, optional_text_at(json, "autocast_dtype"));
  SMD_CHECK_OK(parse_list(json, "schedulers", loop.schedulers));
  SMD_TRY(loop.scaled_clippings, count_at(json, "scaled_clippings"));
  SMD_TRY(loop.empty_clippings, later_count_at(json, "empty_clippings"));
  SMD_TRY(loop.scaled_clipping_limit,
          optional_number_at(json, "scaled_clipping_limit"));
  SMD_TRY(loop.gradient_norm_limit,
          optional_number_at(json, "gradient_norm_limit"));
  SMD_TRY(loop.gradient_value_limit,
          optional_number_at(json, "gradient_value_limit"));
  SMD_TRY(loop.log_hides_not_finite, json.bool_at("log_hides_not_finite"));
  if (is_given(json, "not_finite_by")) {
    Status parsed =
        parse_into(*json.find("not_finite_by"), loop.not_finite_by.emplace());
    if (!parsed) return std::move(parsed).error().within("not_finite_by");
  }
  SMD_TRY(loop.short_lived_optimizers,
          optional_count_at(json, "short_lived_optimizers"));
  SMD_TRY(loop.evaluations_in_training_mode,
          optional_count_at(json, "evaluations_in_training_mode"));
  SMD_TRY(loop.data_passes, optional_count_at(json, "data_passes"));
  if (is_given(json, "layers_outside")) {
    SMD_TRY(loop.layers_outside, texts_at(json, "layers_outside"));
  }
  SMD_TRY(loop.summed_passes, optional_count_at(json, "summed_passes"));
  SMD_TRY(loop.empty_loads, later_count_at(json, "empty_loads"));
  if (is_given(json, "metric_watches")) {
    SMD_CHECK_OK(parse_list(json, "metric_watches", loop.metric_watches));
  }
  return {};
}

// A rule may look up what a position names.
Status check_positions(const RunFacts& facts) {
  for (const ParameterFacts& parameter : facts.parameters) {
    if (!parameter.updated_by) continue;
    const auto [optimizer, group] = *parameter.updated_by;
    if (optimizer >= facts.optimizers.size()) return out_of_range("optimizer");
    if (group >= facts.optimizers[optimizer].groups.size())
      return out_of_range("group");
  }
  for (const SchedulerFacts& scheduler : facts.loop.schedulers) {
    if (scheduler.optimizer &&
        *scheduler.optimizer >= facts.optimizers.size()) {
      return out_of_range("optimizer");
    }
  }
  return {};
}

Result<RunFacts> parse_facts(std::string_view text) {
  SMD_TRY(const Json json, Json::parse(text));
  SMD_CHECK_OK(check_version(json, kFactsVersion));
  RunFacts facts;
  SMD_TRY(facts.step, json.int_at("step"));
  if (facts.step < 0) return out_of_range("step");
  SMD_CHECK_OK(parse_list(json, "parameters", facts.parameters));
  SMD_CHECK_OK(parse_list(json, "optimizers", facts.optimizers));
  SMD_CHECK_OK(parse_list(json, "modules", facts.modules));
  SMD_CHECK_OK(parse_list(json, "losses", facts.losses));
  if (is_given(json, "inputs")) {
    SMD_CHECK_OK(parse_list(json, "inputs", facts.inputs));
  }
  if (is_given(json, "evaluation_inputs")) {
    SMD_CHECK_OK(
        parse_list(json, "evaluation_inputs", facts.evaluation_inputs));
  }
  if (is_given(json, "loop")) {
    SMD_TRY([[maybe_unused]] const Json::Object* members,
            json.object_at("loop"));
    if (Status parsed = parse_into(*json.find("loop"), facts.loop); !parsed)
      return std::move(parsed).error().within("loop");
  }
  if (is_given(json, "training_sets")) {
    SMD_TRY(facts.training_sets, texts_at(json, "training_sets"));
  }
  SMD_CHECK_OK(check_positions(facts));
  return facts;
}

}  // namespace

std::string write_facts_file(const RunFacts& facts) {
  const Json json =
      Json::Object{{"version", kFactsVersion},
                   {"step", facts.step},
                   {"parameters", list_json(facts.parameters)},
                   {"optimizers", list_json(facts.optimizers)},
                   {"modules", list_json(facts.modules)},
                   {"losses", list_json(facts.losses)},
                   {"inputs", list_json(facts.inputs)},
                   {"evaluation_inputs", list_json(facts.evaluation_inputs)},
                   {"loop", to_json(facts.loop)},
                   {"training_sets", texts_json(facts.training_sets)}};
  return json.dump(JsonStyle::spaced);
}

Result<RunFacts> parse_facts_file(std::string_view text) {
  auto facts = parse_facts(text);
  if (!facts) return std::move(facts).error().within("facts");
  return facts;
}

}  // namespace smdebug
