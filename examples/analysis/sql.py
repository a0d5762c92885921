"""The statistics of a run in SQL, by DuckDB: when each gradient was the largest, and how large.

usage: sql.py RUN
"""

import sys

import duckdb

from smdebug.trials import create_trial

gradients = create_trial(sys.argv[1]).to_arrow(collection="gradients")

print(
    duckdb.sql("""
        select tensor, arg_max(step, l2) as step, max(l2) / median(l2) as times_its_median
        from gradients group by tensor order by tensor
    """)
)
