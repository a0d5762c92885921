#include "smdebug/capture/capture_plan_view.h"

#include "capture/session_impl.h"

namespace smdebug {
namespace {

// Whether one of the collections in `due` has that name, or matches that name
// of a tensor.
bool is_among(const Plan& plan, const CollectionSet& due,
              std::string_view tensor_name, std::string_view collection) {
  for (std::size_t i = 0; i < plan.collections().size(); ++i) {
    if (due.contains(i) && plan.collections()[i].name() == collection)
      return true;
  }
  return !(due & plan.match(tensor_name)).empty();
}

}  // namespace

std::uint64_t CapturePlanView::version() const {
  return session_->steps.plan_version();
}

bool CapturePlanView::saves(std::string_view collection) const {
  const Plan& plan = session_->slots.plan();
  for (std::size_t i = 0; i < plan.collections().size(); ++i) {
    if (plan.collections()[i].name() == collection) return plan.is_saved(i);
  }
  return false;
}

bool CapturePlanView::is_due(std::string_view tensor_name,
                             std::string_view collection) const {
  if (!session_->sink.is_capturing()) return false;
  const Plan& plan = session_->slots.plan();
  return is_among(plan, plan.due(session_->context.steps.current()),
                  tensor_name, collection);
}

std::vector<std::string> CapturePlanView::due_collections() const {
  std::vector<std::string> names;
  if (!session_->sink.is_capturing()) return names;
  const Plan& plan = session_->slots.plan();
  const CollectionSet due = plan.due(session_->context.steps.current());
  for (std::size_t i = 0; i < plan.collections().size(); ++i) {
    if (due.contains(i)) names.push_back(plan.collections()[i].name());
  }
  return names;
}

bool CapturePlanView::is_next_due() const {
  return !session_->steps.next_due().empty();
}

bool CapturePlanView::is_next_due(std::string_view tensor_name,
                                  std::string_view collection) const {
  const CollectionSet due = session_->steps.next_due();
  return !due.empty() &&
         is_among(session_->steps.coming_plan(), due, tensor_name, collection);
}

}  // namespace smdebug
