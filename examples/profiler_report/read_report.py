import sys

from smdebug.sagemaker.profiler_report import read_profiler_report

report = read_profiler_report(sys.argv[1])
print(report.summary_table())
for quantity in report.documents["BatchSize"].quantities():
    print(quantity.node, quantity.path, quantity.value, quantity.unit)
