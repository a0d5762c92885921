#include "capture/scalar_notes.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "smdebug/base/escape.h"

#include "base/strings.h"

namespace smdebug {
namespace {

// The first step has a chunk of its own: whoever follows the run knows at once
// that it has series. A chunk per second lets a reader follow a new training. A
// chunk per 30 s keeps a training of a week at 20,000 files.
constexpr std::chrono::nanoseconds kShortestInterval = std::chrono::seconds(1);
constexpr std::chrono::nanoseconds kLongestInterval = std::chrono::seconds(30);

// With it, the largest chunk stays below the limit of readers.
constexpr std::size_t kMaxNameBytes = 1000;

}  // namespace

ScalarNotes::ScalarNotes(SessionContext& context, RunLifecycle& run,
                         CaptureSink& sink, LeapWatch& leaps)
    : context_(context), run_(run), sink_(sink), leaps_(leaps) {}

const ScalarName* ScalarNotes::series(std::string_view name, bool is_loss) {
  const auto known = by_name_.find(name);
  if (known != by_name_.end()) return &known->second;
  noted_.resize(kBuffer);
  std::string text(name);
  if (name.empty() || name.size() > kMaxNameBytes || !is_utf8(name)) {
    context_.logger.warning(fmt::format(
        "the scalar '{}' is not recorded: its name must be UTF-8 of 1 to {} "
        "bytes",
        printable(name.substr(0, kMaxNameBytes)), kMaxNameBytes));
    text.clear();
  }
  const auto number = static_cast<std::uint32_t>(names_.size());
  names_.push_back(std::make_shared<const std::string>(std::move(text)));
  ScalarName series{names_.back(), number, is_loss, nullptr};
  if (is_loss && watches_leaps_)
    series.recent = std::make_unique<RecentValues>();
  return &by_name_.emplace(name, std::move(series)).first->second;
}

void ScalarNotes::watch_leaps() {
  watches_leaps_ = true;
  for (auto& [name, series] : by_name_) {
    if (series.is_loss && !series.recent)
      series.recent = std::make_unique<RecentValues>();
  }
}

void ScalarNotes::begin_step(bool is_recorded) {
  is_recording_ = is_recorded;
  if (first_step_ >= 0 || !is_recorded) return;
  first_step_ = context_.steps.current().global;
  began_at_ = handed_over_at_ = context_.clock.monotonic();
}

std::chrono::nanoseconds ScalarNotes::interval() const {
  return std::clamp((handed_over_at_ - began_at_) / 100, kShortestInterval,
                    kLongestInterval);
}

void ScalarNotes::end_step() {
  if (used_ == 0) return;
  const auto now = context_.clock.monotonic();
  if (!has_handed_over_ || now >= handed_over_at_ + interval()) hand_over();
  if (unshown_.size() >= kBuffer) show();
}

ScalarChunk ScalarNotes::chunk(std::vector<NotedScalar> noted) const {
  return {std::move(noted), names_};
}

void ScalarNotes::hand_over() {
  if (used_ == 0) return;
  keep_unshown();
  const auto begin = noted_.begin();
  const auto end = begin + static_cast<std::ptrdiff_t>(used_);
  if (run_.recorder() != nullptr && run_.is_active())
    run_.recorder()->owner_lane->write(chunk({begin, end}));
  used_ = shown_ = 0;
  handed_over_at_ = context_.clock.monotonic();
  has_handed_over_ = true;
}

void ScalarNotes::keep_unshown() {
  if (!sink_.has_observer()) return;
  const auto begin = noted_.begin();
  unshown_.insert(unshown_.end(), begin + static_cast<std::ptrdiff_t>(shown_),
                  begin + static_cast<std::ptrdiff_t>(used_));
  shown_ = used_;
}

void ScalarNotes::show() {
  keep_unshown();
  shown_ = used_;
  if (unshown_.empty()) return;
  const std::vector<ScalarSeries> series =
      series_of(chunk(std::exchange(unshown_, {})));
  std::vector<ScalarSeriesView> views;
  for (const ScalarSeries& one : series)
    views.push_back({one.name, one.samples});
  if (!views.empty()) sink_.show_scalars(context_.worker.name, views);
}

void ScalarNotes::finish() {
  show();
  hand_over();
  stop();
}

void ScalarNotes::stop() {
  is_recording_ = false;
  used_ = 0;
}

void ScalarNotes::skip_to_now() {
  unshown_.clear();
  shown_ = used_;
}

}  // namespace smdebug
