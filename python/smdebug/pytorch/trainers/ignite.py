"""A handler for PyTorch-Ignite.

    from smdebug.pytorch.ignite import SMDebugHandler

    handler = SMDebugHandler("runs/1", rules=["VanishingGradient"])
    handler.attach(trainer, model, evaluators=[evaluator])

Needs `pytorch-ignite`; see docs/trainers.md.
"""

from smdebug._core import ModeKeys
from smdebug.pytorch.trainers.requirement import require
from smdebug.pytorch.trainers.training_watch import TrainingWatch, contained

events = require(
    "ignite.engine", ["Events.TERMINATE", "Events.STARTED"], "pytorch-ignite", "0.4.10"
)


class SMDebugHandler:
    """Records what Ignite's engines do into `out_dir`.

    A step of training is one update of the parameters: one iteration of the trainer, or
    `gradient_accumulation_steps` of them, as given to `create_supervised_trainer`. A step of
    evaluation is one iteration of an evaluator.

    `rules` are judged when a saved step ends; where one fires, it is logged, and with `stop`
    (default True) the trainer is terminated. `hook_options` are those of smdebug.pytorch.Hook:
    `save_all`, `save_config`, `include_collections`, ...; the hook itself is the attribute
    `hook`, for its collections and `status()`.

    Several runs of the trainer follow each other in one run of ours, which ends with `close()`
    or the program. Mistakes in the arguments raise here; later nothing of ours does.
    """

    def __init__(self, out_dir, rules=(), stop=True, gradient_accumulation_steps=1, **hook_options):
        self.watch = TrainingWatch(out_dir, rules, stop, hook_options)
        self._batches = gradient_accumulation_steps

    @property
    def hook(self):
        return self.watch.hook

    def close(self):
        """Ends the run: publishes the last step. Also happens when the program ends."""
        self.watch.close()

    def attach(self, trainer, model, evaluators=()):
        """Follows the engine `trainer`, which trains `model`, and `evaluators`, which are run
        while it trains."""
        Events = events.Events
        trainer.add_event_handler(Events.STARTED, self._on_start, model)
        trainer.add_event_handler(Events.ITERATION_STARTED, self._on_iteration)
        trainer.add_event_handler(Events.ITERATION_COMPLETED, self._on_iteration_end)
        for event in (Events.COMPLETED, Events.TERMINATE, Events.INTERRUPT):
            trainer.add_event_handler(event, self._on_end)
        for evaluator in evaluators:
            evaluator.add_event_handler(Events.ITERATION_STARTED, self._on_evaluation)
            evaluator.add_event_handler(Events.COMPLETED, self._on_evaluation_end)

    @contained
    def _on_start(self, engine, model):
        self.watch.begin_fit(model)

    @contained
    def _on_iteration(self, engine):
        if (engine.state.iteration - 1) % self._batches == 0:
            self.hook.begin_update()

    @contained
    def _on_iteration_end(self, engine):
        if engine.state.iteration % self._batches == 0:
            self.watch.end_step()
            if self.watch.should_stop:
                engine.terminate()

    @contained
    def _on_evaluation(self, engine):
        self.hook.begin_batch(ModeKeys.EVAL)

    @contained
    def _on_evaluation_end(self, engine):
        if self.watch.is_fitting:
            self.watch.save_scalars(engine.state.metrics)

    @contained
    def _on_end(self, engine):
        self.watch.end_fit()
