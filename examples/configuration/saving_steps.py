"""Selects the steps to save: the examples of the SaveConfig documentation."""

import smdebug as smd

EXAMPLES = {
    "every 500th": smd.SaveConfig(),
    "every step": smd.SaveConfig(save_interval=1),
    "up to 200, exclusive": smd.SaveConfig(save_interval=100, end_step=200),
    "up to 201, exclusive": smd.SaveConfig(save_interval=100, end_step=201),
    "from 150": smd.SaveConfig(save_interval=100, start_step=150),
    "3, 7 and every 500th": smd.SaveConfig(save_steps=[3, 7]),
}

for name, config in EXAMPLES.items():
    steps = [step for step in range(1001) if config.should_save_step(smd.modes.TRAIN, step)]
    print(f"{name}: {', '.join(map(str, steps[:4]))} ({len(steps)} of 1001)")

by_mode = smd.SaveConfig(
    mode_save_configs={
        smd.modes.TRAIN: smd.SaveConfigMode(save_interval=1),
        smd.modes.EVAL: smd.SaveConfigMode(save_interval=2),
        smd.modes.PREDICT: smd.SaveConfigMode(save_interval=3),
        smd.modes.GLOBAL: smd.SaveConfigMode(save_interval=4),
    }
)
for mode in smd.modes:
    steps = [step for step in range(13) if by_mode.should_save_step(mode, step)]
    print(f"{mode.name}: {steps}")

# A mode that is left out takes the defaults.
only_train = smd.SaveConfig({smd.modes.TRAIN: smd.SaveConfigMode(save_interval=1)})
print(f"EVAL at 500: {only_train.should_save_step(smd.modes.EVAL, 500)}")
