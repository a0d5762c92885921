#include "xgboost_report/sections.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "report/wording.h"
#include "xgboost_report/plot/markup.h"
#include "xgboost_report/plot/plots.h"

namespace smdebug {
namespace {

constexpr std::size_t kColumns = 40;   // classes in a column plot
constexpr std::size_t kFeatures = 20;  // features of an importance
constexpr std::size_t kMatrixClasses = 30;
constexpr std::size_t kTableClasses = 100;
constexpr std::size_t kDamageShown = 10;
constexpr double kPoorAuc = 0.6;  // builtin rules, section 8
constexpr const char* kRound = "boosting round";

std::string paragraph(std::string_view text, std::string_view kind = "") {
  if (kind.empty()) return fmt::format("<p>{}</p>\n", wrappable(text));
  return fmt::format("<p class=\"{}\">{}</p>\n", kind, wrappable(text));
}

std::string samples_text(std::uint64_t samples, std::uint64_t left_out,
                         Step round) {
  std::string text =
      fmt::format("{} at round {}", count_text(samples, "sample"), round);
  if (left_out > 0) {
    text +=
        fmt::format("; {} with numbers that are not finite left out", left_out);
  }
  return text + ".";
}

std::string score_text(double value) { return fmt::format("{:.4f}", value); }

std::vector<double> as_doubles(const std::vector<Step>& rounds) {
  return {rounds.begin(), rounds.end()};
}

// An axis from 0 to 1, with a small margin above.
PlotAxis share_axis(std::string label) {
  PlotAxis axis;
  axis.label = std::move(label);
  axis.high = 1.02;
  return axis;
}

void add_figures(const XgboostReport& report, HtmlTable& table) {
  if (report.scores.shown) {
    table.add({"accuracy", score_text(report.scores.shown->accuracy)});
    table.add({"macro F1", score_text(report.scores.shown->macro.f1)});
  }
  if (report.roc.shown) {
    table.add({"area under the ROC curve", score_text(report.roc.shown->auc)});
  }
  if (report.residuals.shown) {
    table.add({"root mean square error",
               number_text(report.residuals.shown->root_mean_square)});
    table.add({"mean absolute error",
               number_text(report.residuals.shown->mean_absolute)});
  }
}

std::string damage_list(const std::vector<Damage>& damage) {
  if (damage.empty()) return "";
  std::string html = "<h3>Unreadable data</h3>\n";
  HtmlTable table({"where", "problem"});
  for (std::size_t i = 0; i < std::min(damage.size(), kDamageShown); ++i) {
    table.add({damage[i].key, damage[i].what});
  }
  html += table.html();
  if (damage.size() > kDamageShown) {
    html += paragraph(fmt::format("And {} more.", damage.size() - kDamageShown),
                      "soft");
  }
  return html;
}

// Returns the `count` classes with the most samples, in ascending order.
std::vector<std::size_t> largest_classes(
    const XgboostReport::Confusion& confusion, std::size_t count) {
  const std::size_t n = confusion.classes.size();
  std::vector<std::uint64_t> samples(n);
  for (std::size_t i = 0; i < n * n; ++i) samples[i / n] += confusion.counts[i];
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [&](std::size_t i) { return samples[i]; });
  order.resize(std::min(n, count));
  std::ranges::sort(order);
  return order;
}

// Returns the `count` classes with the lowest final accuracy, in ascending
// order.
std::vector<std::size_t> poorest_classes(
    const XgboostReport::ClassAccuracy& accuracy, std::size_t count) {
  std::vector<std::size_t> order(accuracy.classes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) {
    const double last = accuracy.accuracy[i].back();
    return last >= 0 ? last : 2;  // a class without samples comes last
  });
  order.resize(std::min(order.size(), count));
  std::ranges::sort(order);
  return order;
}

// The hook saves shares of the sum; other writers may save the numbers.
bool are_shares(const XgboostReport::Importance& importance) {
  double sum = 0;
  for (const auto& feature : importance.features) sum += feature.value;
  return std::abs(sum - 1) < 1e-3;
}

std::string importance_label(const std::string& type) {
  if (type == "weight") return "weight: how often trees split on the feature";
  if (type == "gain") return "gain: mean gain of the feature's splits";
  if (type == "cover") return "coverage: mean cover of the feature's splits";
  if (type == "total_gain") return "total gain of the feature's splits";
  if (type == "total_cover") return "total coverage of the feature's splits";
  return type;
}

}  // namespace

std::string_view disclaimer() {
  return "The figures cover the rounds and samples that the training saved. "
         "They help to assess a model; they do not show that it is fit for a "
         "purpose, or that it treats people fairly.";
}

std::string run_section(const XgboostReport& report) {
  HtmlTable table;
  table.add({"run", report.overview.location});
  table.add({"report created", date_text(report.created_seconds)});
  table.add({"state", report.overview.has_ended
                          ? "ended"
                          : "no end marker: still running or killed"});
  if (report.overview.attempt) {
    const Attempt& attempt = *report.overview.attempt;
    table.add({"training started", date_text(attempt.started_seconds)});
    table.add({"command", fmt::format("{}", fmt::join(attempt.command, " "))});
  }
  table.add({"saved rounds", std::to_string(report.overview.steps)});
  if (report.overview.workers.size() > 1) {
    table.add({"workers", fmt::format("{}; tensors are those of the first "
                                      "worker that saved them",
                                      report.overview.workers.size())});
  }
  table.add({"task", fmt::format("{}, because {}", task_name(report.task),
                                 report.task_reason)});
  if (report.evaluated_rounds > 0) {
    table.add({"rounds with predictions",
               fmt::format("{}, of which {} are evaluated here",
                           report.prediction_rounds, report.evaluated_rounds)});
  }
  add_figures(report, table);
  std::string html = table.html() + "<h3>Hyperparameters</h3>\n";
  if (report.hyperparameters.shown) {
    HtmlTable parameters({"name", "value"});
    for (const auto& parameter : *report.hyperparameters.shown) {
      parameters.add({parameter.name, parameter.value});
    }
    html += parameters.html();
  } else {
    html += paragraph(report.hyperparameters.missing, "missing");
  }
  std::vector<Damage> damage = report.left_out;
  damage.insert(damage.end(), report.overview.damage.begin(),
                report.overview.damage.end());
  return html + damage_list(damage);
}

std::string labels_section(const XgboostReport::Labels& labels) {
  std::string html =
      paragraph(samples_text(labels.samples, labels.left_out, labels.round));
  if (labels.classes.empty()) {
    return html + histogram_svg("Histogram of the true labels", "true label",
                                labels.bins);
  }
  std::vector<std::pair<std::int64_t, std::uint64_t>> shown = labels.classes;
  if (shown.size() > kColumns) {
    std::ranges::stable_sort(shown, std::ranges::greater(),
                             &std::pair<std::int64_t, std::uint64_t>::second);
    html += paragraph(fmt::format("Showing the {} largest of {} classes.",
                                  kColumns, shown.size()),
                      "soft");
    shown.resize(kColumns);
  }
  std::vector<NamedBar> bars;
  for (const auto& [label, count] : shown) {
    bars.push_back({std::to_string(label), static_cast<double>(count)});
  }
  const auto [least, most] = std::ranges::minmax(
      labels.classes, {}, &std::pair<std::int64_t, std::uint64_t>::second);
  html +=
      columns_svg("Samples of each true class", "true class", "samples", bars);
  if (labels.classes.size() > 1) {
    html += paragraph(fmt::format(
        "The largest class ({}) has {:.3g} times as many samples as the "
        "smallest ({}).",
        most.first,
        static_cast<double>(most.second) / static_cast<double>(least.second),
        least.first));
  }
  return html;
}

std::string metrics_section(const std::vector<XgboostReport::Metric>& metrics) {
  std::string html;
  for (const auto& metric : metrics) {
    LinePlot plot;
    plot.title = metric.name + " by round";
    plot.x_label = kRound;
    plot.x_whole_numbers = true;
    std::vector<double> all;
    std::size_t longest = 0;
    for (const auto& line : metric.lines) {
      plot.lines.push_back({line.set, as_doubles(line.rounds), line.values});
      all.insert(all.end(), line.values.begin(), line.values.end());
      longest = std::max(longest, line.rounds.size());
    }
    plot.y = axis_over(metric.name, all);
    html += fmt::format("<h3>{}{}</h3>\n", wrappable(metric.name),
                        metric.is_deviation       ? ""
                        : metric.larger_is_better ? " (larger is better)"
                                                  : " (smaller is better)");
    html += line_plot_svg(plot);
    if (metric.lines.size() == 1) {
      html += paragraph("Evaluated on the set '" + metric.lines[0].set + "'.",
                        "soft");
    }
    if (longest > kPlottedPoints) {
      html += paragraph(
          fmt::format("The plot of {} rounds shows the highest and the lowest "
                      "value of each section, at most {} points.",
                      longest, kPlottedPoints),
          "soft");
    }
    html += paragraph(metric.reading, "reading");
  }
  return html;
}

std::string importance_section(
    const std::vector<XgboostReport::Importance>& all) {
  std::string html;
  for (const auto& importance : all) {
    const std::size_t shown = std::min(importance.features.size(), kFeatures);
    std::vector<NamedBar> bars;
    for (std::size_t i = 0; i < shown; ++i) {
      const auto& feature = importance.features[i];
      bars.push_back({feature.name, std::max(0.0, feature.value)});
    }
    const std::string label = importance_label(importance.type);
    html +=
        fmt::format("<h3>{}</h3>\n", escaped(label.substr(0, label.find(':'))));
    html +=
        rows_svg("Feature importance: " + importance.type,
                 label + (are_shares(importance) ? ", as a share" : ""), bars);
    std::string note = fmt::format("At round {}.", importance.round);
    if (shown < importance.features.size()) {
      note += fmt::format(" Showing the first {} of {} features.", shown,
                          importance.features.size());
    }
    html += paragraph(note, "soft");
  }
  return html;
}

std::string confusion_section(const XgboostReport::Confusion& confusion) {
  const auto chosen = largest_classes(confusion, kMatrixClasses);
  const std::size_t n = confusion.classes.size();
  HeatMap map;
  map.title = "Confusion matrix";
  map.row_label = "true class";
  map.column_label = "predicted class";
  for (const std::size_t row : chosen) {
    map.names.push_back(std::to_string(confusion.classes[row]));
    for (const std::size_t column : chosen) {
      map.counts.push_back(confusion.counts[row * n + column]);
    }
  }
  std::string html = paragraph(
      samples_text(confusion.samples, confusion.left_out, confusion.round));
  html += heat_map_svg(map);
  html += paragraph("Each row is shaded relative to its sum. " + confusion.cut,
                    "soft");
  if (chosen.size() < n) {
    html += paragraph(
        fmt::format("Showing the {} classes with the most samples, of "
                    "{}. The JSON file contains all.",
                    chosen.size(), n),
        "soft");
  }
  return html;
}

std::string scores_section(const XgboostReport::Scores& scores) {
  HtmlTable table({"", ">precision", ">recall", ">F1", ">samples"});
  std::uint64_t samples = 0;
  const auto add = [&](const std::string& name,
                       const XgboostReport::Scores::Triple& triple,
                       std::uint64_t support) {
    table.add({name, score_text(triple.precision), score_text(triple.recall),
               score_text(triple.f1), std::to_string(support)});
  };
  for (std::size_t i = 0; i < scores.classes.size(); ++i) {
    const auto& of_class = scores.classes[i];
    samples += of_class.support;
    if (i < kTableClasses) {
      add(fmt::format("class {}", of_class.label), of_class.triple,
          of_class.support);
    }
  }
  add("micro average", scores.micro, samples);
  add("macro average", scores.macro, samples);
  add("weighted average", scores.weighted, samples);
  std::string html = paragraph(fmt::format(
      "Accuracy: {} (the predicted class is right for {:.3g} % of the "
      "samples).",
      score_text(scores.accuracy), 100 * scores.accuracy));
  html += table.html();
  if (scores.classes.size() > kTableClasses) {
    html += paragraph(fmt::format("Showing the first {} of {} classes.",
                                  kTableClasses, scores.classes.size()),
                      "soft");
  }
  return html + paragraph(
                    "Scores without a denominator are 0: the precision of a "
                    "class that was never predicted, and the recall of one "
                    "without samples.",
                    "soft");
}

std::string class_accuracy_section(
    const XgboostReport::ClassAccuracy& accuracy) {
  LinePlot plot;
  plot.title = "Accuracy of each class by round";
  plot.x_label = kRound;
  plot.x_whole_numbers = true;
  plot.y = share_axis("correct / samples of the class");
  const auto chosen = poorest_classes(accuracy, kPlotKinds);
  for (const std::size_t i : chosen) {
    plot.lines.push_back({fmt::format("class {}", accuracy.classes[i]),
                          as_doubles(accuracy.rounds), accuracy.accuracy[i]});
  }
  std::string html = paragraph(
      "The diagonal of the confusion matrix, divided by the samples of the "
      "class, at each evaluated round.");
  html += line_plot_svg(plot);
  if (chosen.size() < accuracy.classes.size()) {
    html += paragraph(
        fmt::format("Showing the {} classes with the lowest final accuracy, "
                    "of {}.",
                    chosen.size(), accuracy.classes.size()),
        "soft");
  }
  return html;
}

std::string roc_section(const XgboostReport::Roc& roc) {
  LinePlot plot;
  plot.title = "ROC curve";
  plot.x_label = "false positive rate";
  plot.y = share_axis("true positive rate");
  plot.y.high = 1;
  plot.has_diagonal = true;
  plot.size.width = 460;
  plot.size.height = 420;
  plot.lines.push_back({"", roc.false_positive_rate, roc.true_positive_rate});
  std::string html = line_plot_svg(plot);
  html += paragraph(
      fmt::format(
          "Area under the curve: {} ({} of class 1, {} others, round "
          "{}). {}",
          score_text(roc.auc), count_text(roc.positives, "sample"),
          roc.negatives, roc.round,
          roc.auc < kPoorAuc
              ? "Below 0.6: the model underperforms. Guessing yields 0.5."
              : "Guessing yields 0.5, a perfect model 1."),
      "reading");
  return html;
}

std::string residuals_section(const XgboostReport::Residuals& residuals) {
  std::string html = paragraph(
      samples_text(residuals.samples, residuals.left_out, residuals.round));
  html += histogram_svg("Histogram of the residuals",
                        "residual: prediction minus truth, in units of the "
                        "label",
                        residuals.bins);
  HtmlTable table({">mean", ">standard deviation", ">median", ">mean absolute",
                   ">root mean square"});
  table.add(
      {number_text(residuals.mean), number_text(residuals.standard_deviation),
       number_text(residuals.median), number_text(residuals.mean_absolute),
       number_text(residuals.root_mean_square)});
  html += table.html();
  return html + paragraph(
                    "The residuals of a model without bias are centered at 0, "
                    "with as many above as below.",
                    "soft");
}

std::string binned_errors_section(const XgboostReport::BinnedErrors& errors) {
  LinePlot plot;
  plot.title = "Mean absolute error by label and round";
  plot.x_label = kRound;
  plot.x_whole_numbers = true;
  plot.is_ordered = true;
  std::vector<double> all;
  for (std::size_t bin = 0; bin < errors.errors.size(); ++bin) {
    plot.lines.push_back(
        {fmt::format("{} to {}", number_text(errors.labels.edges[bin]),
                     number_text(errors.labels.edges[bin + 1])),
         as_doubles(errors.rounds), errors.errors[bin]});
    all.insert(all.end(), errors.errors[bin].begin(), errors.errors[bin].end());
  }
  plot.y = axis_over("mean |prediction - truth|", all);
  std::string html = paragraph(
      "The labels of the last round in ten bins of equal width, from the "
      "smallest to the largest; errors are in units of the label. A bin whose "
      "error stays high is a range that the model does not learn.");
  html += line_plot_svg(plot);
  HtmlTable table({"label", ">samples", ">error at the last round"});
  for (std::size_t bin = 0; bin < errors.errors.size(); ++bin) {
    const double last = errors.errors[bin].back();
    table.add({plot.lines[bin].name, std::to_string(errors.labels.counts[bin]),
               last >= 0 ? number_text(last) : "no sample"});
  }
  return html + table.html();
}

}  // namespace smdebug
