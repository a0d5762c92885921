"""What the commands print, word for word. `tools/rebase` writes the expected texts anew."""

import pytest
import sessions

from smdebug import _core

FILES = sessions.session_files()
NAMES = [str(file.relative_to(sessions.HERE).with_suffix("")) for file in FILES]


@pytest.fixture(scope="module")
def replayed():
    return sessions.replay_all(FILES)


@pytest.mark.parametrize("file", FILES, ids=NAMES)
def test_a_session_prints_what_its_file_holds(file, replayed):
    assert replayed[file] == file.read_text(), "if that is right: tools/rebase"


def test_each_rule_has_a_session():
    rules = {rule["name"] for rule in _core.builtin_rules()}
    assert len(rules) > 20
    assert {file.stem for file in FILES if file.parent.name == "rules"} == rules
