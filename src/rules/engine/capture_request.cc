#include "smdebug/rules/capture_request.h"

#include <algorithm>

#include "smdebug/core/tensor_names.h"

#include "base/environment.h"
#include "base/json.h"

namespace smdebug {

static_assert(std::string_view(kCaptureRequestVariable) == kLaunchVariable);

namespace {

constexpr const char* kLossesCollection = "losses";

RequestedCollection& collection(CaptureRequest& request,
                                const std::string& name) {
  for (RequestedCollection& known : request.collections) {
    if (known.name == name) return known;
  }
  RequestedCollection added;
  added.name = name;
  added.save_interval = 0;  // no rule has asked yet
  request.collections.push_back(std::move(added));
  return request.collections.back();
}

void require(RequestedCollection& collection, const RuleNeeds& needs,
             Step default_interval) {
  // The first rule sets the limit.
  const bool is_first = collection.save_interval == 0;
  if (is_first || needs.max_elements == 0) {
    collection.max_elements = needs.max_elements;
  } else if (collection.max_elements > 0) {
    collection.max_elements =
        std::max(collection.max_elements, needs.max_elements);
  }
  if (needs.depth == RuleNeeds::Depth::values) collection.summary = false;
  const Step wanted = needs.interval > 0 ? needs.interval : default_interval;
  if (collection.save_interval == 0 || wanted < collection.save_interval) {
    collection.save_interval = wanted;
  }
}

void require(CaptureRequest& request, const Rule& rule) {
  const RuleNeeds needs = rule.needs();
  for (const TensorSelector& selector : needs.selectors) {
    if (selector.if_saved) continue;
    for (const std::string& name : selector.collections) {
      require(collection(request, name), needs, request.save_interval);
    }
    if (selector.regexes.empty()) continue;
    auto& own = collection(request, selector.capture_as.empty()
                                        ? rule_collection(rule.name())
                                        : selector.capture_as);
    for (const std::string& regex : selector.regexes) {
      if (std::ranges::find(own.include_regex, regex) ==
          own.include_regex.end()) {
        own.include_regex.push_back(regex);
      }
    }
    // The user may not know the patterns of a built-in rule, and its verdict
    // names what it lacks.
    own.is_optional = rule.is_builtin() && rule.given().empty() &&
                      selector.capture_as.empty();
    require(own, needs, request.save_interval);
  }
}

Json to_json(const std::vector<std::string>& texts) {
  Json list = Json::Array();
  for (const std::string& text : texts) list.append(text);
  return list;
}

}  // namespace

CaptureRequest capture_request(std::span<const std::unique_ptr<Rule>> rules,
                               std::string out_dir) {
  CaptureRequest request;
  request.out_dir = std::move(out_dir);
  for (const auto& rule : rules) require(request, *rule);
  if (request.collections.empty()) collection(request, "gradients");
  auto& losses = collection(request, kLossesCollection);
  losses.summary = false;
  losses.max_elements = 0;
  for (RequestedCollection& wanted : request.collections) {
    if (wanted.save_interval == 0) {
      wanted.save_interval = request.save_interval;
    }
  }
  return request;
}

std::string CaptureRequest::json() const {
  Json request;
  request["out_dir"] = out_dir;
  if (!next_out_dir.empty()) request["next_out_dir"] = next_out_dir;
  request["save_interval"] = save_interval;
  request["first_steps"] = first_steps;
  request["collections"] = Json::Array();
  for (const RequestedCollection& wanted : collections) {
    Json collection;
    collection["name"] = wanted.name;
    if (!wanted.include_regex.empty()) {
      collection["include_regex"] = to_json(wanted.include_regex);
    }
    collection["summary"] = wanted.summary;
    collection["save_interval"] = wanted.save_interval;
    if (wanted.max_elements > 0)
      collection["max_elements"] = wanted.max_elements;
    if ((is_optional && wanted.name != kLossesCollection) || wanted.is_optional)
      collection["optional"] = true;
    request["collections"].append(std::move(collection));
  }
  request["include_workers"] = "all";
  return request.dump();
}

}  // namespace smdebug
