"""Scalar series: recorded through a session, and read with a trial."""

import math

import pytest

from smdebug import _core
from smdebug.exceptions import SMDebugError
from smdebug.trials import create_trial

TRAIN, EVAL = _core.ModeKeys.TRAIN, _core.ModeKeys.EVAL


@pytest.fixture
def session(tmp_path):
    config = _core.HookConfig(
        str(tmp_path / "run"),
        include_regex=["."],
        include_collections=[],
        save_all=False,
        dry_run=False,
        all_workers=False,
        collections=[],
    )
    return _core.Session.create(config, _core.pytorch_framework(), [], {}, {})


def test_the_values_of_every_step_come_back(session, tmp_path):
    loss = session.scalar("loss")
    assert loss.name == "loss"
    expected = []
    for step, value in enumerate([2.5, 0.1, math.inf, -0.0, 1e-320]):
        session.set_mode(EVAL if step == 3 else TRAIN)
        session.begin_step()
        loss.note(value)
        expected.append((step, value))
    session.close()
    trial = create_trial(str(tmp_path / "run"))
    assert trial.series_names() == ["loss"]
    assert trial.series("loss") == expected
    assert trial.series("loss", mode=TRAIN) == [(0, 2.5), (1, 0.1), (2, math.inf), (3, 1e-320)]
    assert trial.series("loss", mode=EVAL, worker="worker_0") == [(0, -0.0)]
    assert trial.damage() == []


def test_a_value_that_is_known_late_belongs_to_its_step(session, tmp_path):
    loss = session.scalar("loss")
    session.set_mode(TRAIN)
    session.begin_step()
    first = session.step
    session.begin_step()
    loss.note(2)
    loss.note_at(first, 1)
    loss.note_at((7, TRAIN, 7), 9)
    assert session.status().dropped_scalars == 1
    session.close()
    assert create_trial(str(tmp_path / "run")).series("loss") == [(0, 1.0), (1, 2.0)]


def test_an_unknown_series_or_worker_raises_an_error_that_names_the_known_ones(session, tmp_path):
    session.begin_step()
    session.scalar("loss").note(1)
    session.close()
    trial = create_trial(str(tmp_path / "run"))
    with pytest.raises(SMDebugError, match="no scalar series 'lost' .* did you mean 'loss'"):
        trial.series("lost")
    with pytest.raises(SMDebugError, match="by worker 'worker_9'; there are those of 'worker_0'"):
        trial.series("loss", worker="worker_9")


def test_a_run_without_scalars_has_no_series(session, tmp_path):
    session.begin_step()
    session.close()
    assert create_trial(str(tmp_path / "run")).series_names() == []
