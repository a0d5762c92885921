"""`HookStatus`: where a hook stands."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class HookStatus:
    """What a hook did, and what went wrong: nothing of it ever raises into a training.

    `state` is "active", "silent" (another process writes the run; `reason` says so), "failed"
    (`error` is the first error, at `error_step`) or "closed". `tensorboard_error` is the first
    error of the files for TensorBoard, with its step; the run itself goes on then. `removed_steps`
    counts published steps that `max_run_bytes` took away again; `first_kept_step` is the lowest
    that is still there. `replaced_tensors` counts values that a later one of the same name and step
    took the place of.
    """

    state: str
    error: str | None = None
    error_step: int | None = None
    tensorboard_error: str | None = None
    reason: str = ""
    last_step: int = -1
    steps: int = 0
    steps_saved: int = 0
    steps_published: int = 0
    tensors: int = 0
    records: int = 0
    bytes: int = 0
    removed_steps: int = 0
    first_kept_step: int | None = None
    replaced_tensors: int = 0
    dropped_tensors: int = 0
    dropped_bytes: int = 0
    calls_after_failure: int = 0
    skipped: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_core(cls, status):
        return cls(**{name: getattr(status, name) for name in cls.__dataclass_fields__})


@dataclass(frozen=True)
class HookCost:
    """What watching has cost so far. Seconds of the training are `step_thread_seconds`."""

    step_thread_seconds: float = 0.0
    wait_seconds: float = 0.0
    writer_cpu_seconds: float = 0.0
    bytes_captured: int = 0
    bytes_written: int = 0
    steps: int = 0
    run_seconds: float = 0.0

    @classmethod
    def from_core(cls, cost):
        return cls(**{name: getattr(cost, name) for name in cls.__dataclass_fields__})
