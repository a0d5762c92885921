"""A run as pandas tables: what was saved, the losses, and the statistics of the weights.

usage: tables.py RUN
"""

import sys

from smdebug import modes
from smdebug.trials import create_trial

trial = create_trial(sys.argv[1])

print(trial.to_pandas("names"))

losses = trial.to_pandas("scalars", mode=modes.TRAIN, collection="losses")
print(losses.pivot(index="mode_step", columns="name", values="value"))

weights = trial.to_pandas("statistics", regex=r"weight$")
print(weights.groupby("name")[["min", "max"]].agg({"min": "min", "max": "max"}))
