#include "xgboost_report/plot/report_style.h"

namespace smdebug {

// Kinds: the palette of Okabe and Ito, and lines with dashes of their own, so
// that they differ in grey too. Orders: the colour map "plasma" of matplotlib,
// whose lightness only rises. Shades: from white to blue.
std::string_view report_style() {
  return R"css(
:root { --text: #1c1c1c; --soft: #595959; --page: #ffffff; --grid: #e4e4e4;
  --rule: #8a8a8a; --note: #f4f4f1; }
.kind0 { --colour: #0072b2; }
.kind1 { --colour: #d55e00; stroke-dasharray: 7 3; }
.kind2 { --colour: #009e73; stroke-dasharray: 2 2.5; }
.kind3 { --colour: #cc79a7; stroke-dasharray: 9 3 2 3; }
.kind4 { --colour: #b87f00; stroke-dasharray: 4 2; }
.kind5 { --colour: #3a9bd5; stroke-dasharray: 12 4; }
.kind6 { --colour: var(--text); stroke-dasharray: 1 2; }
.kind7 { --colour: #7a5195; stroke-dasharray: 6 2 2 2 2 2; }
.order0 { --colour: #0d0887; } .order1 { --colour: #41049d; }
.order2 { --colour: #6a00a8; } .order3 { --colour: #8f0da4; }
.order4 { --colour: #b12a90; } .order5 { --colour: #cc4778; }
.order6 { --colour: #e16462; } .order7 { --colour: #f2844b; }
.order8 { --colour: #fca636; } .order9 { --colour: #d9b40f; }
.shade0 { fill: #ffffff; } .shade1 { fill: #eff3fb; }
.shade2 { fill: #dbe6f5; } .shade3 { fill: #c3d8ee; }
.shade4 { fill: #a3c6e4; } .shade5 { fill: #4a8fc4; }
.shade6 { fill: #357fb8; } .shade7 { fill: #226dab; }
.shade8 { fill: #125c99; } .shade9 { fill: #08468b; }
@media screen and (prefers-color-scheme: dark) {
  :root { --text: #ececec; --soft: #b4b4b4; --page: #17181a; --grid: #33363a;
    --rule: #84878c; --note: #232529; color-scheme: dark; }
  .kind0 { --colour: #56b4e9; } .kind1 { --colour: #ff8c42; }
  .kind5 { --colour: #9ad0f5; } .kind7 { --colour: #b79bd1; }
  .order0 { --colour: #6f6bff; } .order1 { --colour: #8a5cf0; }
  .order2 { --colour: #a54ee0; }
}
body { color: var(--text); background: var(--page); margin: 0;
  font: 15px/1.5 system-ui, "DejaVu Sans", sans-serif; }
main { max-width: 720px; margin: 0 auto; padding: 24px 20px 60px; }
h1 { font-size: 25px; line-height: 1.25; margin: 0 0 4px; }
h2 { font-size: 18px; margin: 38px 0 8px; padding-bottom: 4px;
  border-bottom: 1px solid var(--grid); }
h3 { font-size: 15px; margin: 20px 0 4px; }
p { margin: 6px 0 10px; }
.soft { color: var(--soft); font-size: 13px; }
.missing, .reading { background: var(--note); padding: 9px 13px;
  border-left: 3px solid var(--rule); }
table { border-collapse: collapse; font-size: 13.5px; margin: 8px 0 12px;
  font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: 3px 18px 3px 0; vertical-align: top;
  border-bottom: 1px solid var(--grid); overflow-wrap: anywhere; }
th { font-weight: 600; }
td.number, th.number { text-align: right; }
svg { display: block; width: 100%; height: auto; margin: 10px 0 4px;
  font: 11.5px system-ui, "DejaVu Sans", sans-serif; }
svg text { fill: var(--text); }
svg .tick { fill: var(--soft); }
svg .label { font-size: 12.5px; }
svg .on-light { fill: #111111; }
svg .on-dark { fill: #ffffff; }
.grid { stroke: var(--grid); }
.axis { stroke: var(--rule); fill: none; }
.aid { stroke: var(--rule); stroke-dasharray: 3 3; }
.line { stroke: var(--colour); stroke-width: 1.9; stroke-linejoin: round;
  fill: none; }
.bar, .dot { fill: var(--colour); }
@media print {
  main { max-width: none; padding: 0; }
  svg, table, .reading { break-inside: avoid; }
  h2, h3 { break-after: avoid; }
}
)css";
}

}  // namespace smdebug
