"""The credentials of boto3 and botocore, which runs in S3 use (docs/storage.md)."""

import datetime
import getpass
import subprocess
import sys
import textwrap
import time

import boto3
import botocore.session
import pytest
from botocore.credentials import Credentials, RefreshableCredentials
from stores import VectorHook, connect, fault_proxy, keys_seen, moto_server

from smdebug import _core, aws_credentials
from smdebug.save_config import SaveConfig
from smdebug.trials import create_trial

PROFILE = "[chosen]\naws_access_key_id = AKIDPROFILE\naws_secret_access_key = secret\n"
ROLE = """[profile role]
role_arn = arn:aws:iam::123456789012:role/writer
source_profile = chosen
mfa_serial = arn:aws:iam::123456789012:mfa/person
"""
WARNING = "botocore cannot provide them"


class Session:
    """A session of boto3 with these credentials, which counts the questions."""

    def __init__(self, credentials):
        self.credentials = credentials
        self.questions = 0

    def get_credentials(self):
        self.questions += 1
        if isinstance(self.credentials, Exception):
            raise self.credentials
        return self.credentials


class Refreshed:
    """Credentials that expire after minutes: AKID1 after the first number of them, and so on."""

    def __init__(self, *minutes):
        self.made = 0
        self._minutes = iter(minutes)
        self.credentials = RefreshableCredentials(
            "AKID0", "secret", "token", self._time(-1), self._refresh, "custom"
        )

    def _refresh(self):
        expiry = self._time(next(self._minutes)).isoformat()
        self.made += 1
        return {
            "access_key": f"AKID{self.made}",
            "secret_key": "secret",
            "token": "token",
            "expiry_time": expiry,
        }

    @staticmethod
    def _time(minutes):
        now = datetime.datetime.now(datetime.timezone.utc)
        return now + datetime.timedelta(minutes=minutes)


@pytest.fixture(scope="module")
def server():
    with moto_server() as found:
        yield found


@pytest.fixture
def proxy(server, monkeypatch):
    with fault_proxy(server) as address:
        yield address


@pytest.fixture
def store(server, proxy, monkeypatch):
    """A bucket behind the proxy, the keys AKIDEXAMPLE in variables, and no default session."""
    store = connect(server, monkeypatch)
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    monkeypatch.setattr(aws_credentials, "_botocore", aws_credentials._Botocore())
    yield store
    _core.remove_aws_snapshot()


@pytest.fixture
def profiles(tmp_path, monkeypatch, store):
    path = tmp_path / "credentials"
    path.write_text(PROFILE)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(path))


@pytest.fixture
def role_with_device(profiles, tmp_path, monkeypatch):
    path = tmp_path / "config"
    path.write_text(ROLE)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(path))
    monkeypatch.setenv("AWS_PROFILE", "role")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")


def use(monkeypatch, credentials):
    """The default session that it makes, as boto3.setup_default_session does."""
    session = Session(credentials)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", session)
    return session


def record(address, steps=1):
    hook = VectorHook(
        address, save_config=SaveConfig(save_interval=1), include_collections=["gradients"]
    )
    for _ in range(steps):
        hook.step()
    hook.close()
    return hook


def read_value(address):
    return create_trial(address).tensor("gradient/a").value(0).tolist()


def test_a_run_is_written_and_read_with_the_profile_of_the_default_session(store, profiles, proxy):
    boto3.setup_default_session(profile_name="chosen")
    assert record(store.uri("run")).status().error is None
    assert read_value(store.uri("run")) == [1, 1, 1, 1]
    assert keys_seen(proxy) == ["AKIDPROFILE"]  # not AKIDEXAMPLE


def test_a_trial_uses_the_keys_of_the_default_session(store, proxy):
    record(store.uri("run"))
    boto3.setup_default_session(aws_access_key_id="AKIDTRIAL", aws_secret_access_key="secret")
    assert read_value(store.uri("run")) == [1, 1, 1, 1]
    assert keys_seen(proxy) == ["AKIDEXAMPLE", "AKIDTRIAL"]


def test_a_command_uses_the_profile_of_the_default_session(store, profiles, proxy):
    record(store.uri("run"))
    script = f"""
        import boto3, sys
        boto3.setup_default_session(profile_name="chosen")
        from smdebug.cli import main
        sys.exit(main(["show", {store.uri("run")!r}]))
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True)
    assert keys_seen(proxy) == ["AKIDEXAMPLE", "AKIDPROFILE"]


def test_files_for_tensorboard_are_written_with_the_keys_of_the_default_session(
    store, proxy, monkeypatch, tmp_path
):
    use(monkeypatch, Credentials("AKIDBOARD", "secret"))
    hook = VectorHook(
        tmp_path / "run", tensorboard_dir=store.uri("board"), include_collections=["all"]
    )
    hook.step()
    hook.close()
    assert keys_seen(proxy) == ["AKIDBOARD"]


def test_without_a_default_session_variables_win_over_botocore(store, proxy, monkeypatch):
    credentials = Credentials("AKIDOWN", "secret")
    monkeypatch.setattr(botocore.session.Session, "get_credentials", lambda self: credentials)
    record(store.uri("variables"))
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    record(store.uri("botocore"))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDLATE")
    read_value(store.uri("botocore"))
    assert keys_seen(proxy) == ["AKIDEXAMPLE", "AKIDOWN", "AKIDLATE"]


def test_variables_that_a_session_of_boto3_has_found_are_read_again(store, proxy, monkeypatch):
    boto3.setup_default_session()
    record(store.uri("first"))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDNEXT")
    record(store.uri("second"))
    assert keys_seen(proxy) == ["AKIDEXAMPLE", "AKIDNEXT"]


def test_credentials_near_their_end_are_renewed_when_a_step_begins(store, proxy, monkeypatch):
    refreshed = Refreshed(5, 60)
    use(monkeypatch, refreshed.credentials)
    hook = VectorHook(store.uri("run"), include_collections=["gradients"])
    assert (refreshed.made, _core.is_aws_renewal_due()) == (1, True)
    hook.step()
    assert (refreshed.made, _core.is_aws_renewal_due()) == (2, False)
    hook.step()
    hook.close()
    assert refreshed.made == 2
    assert keys_seen(proxy) == ["AKID1", "AKID2"]


def test_credentials_near_their_end_are_renewed_when_a_hook_closes(store, monkeypatch):
    refreshed = Refreshed(60, 60)
    session = use(monkeypatch, refreshed.credentials)
    hook = VectorHook(store.uri("run"), include_collections=["gradients"])
    hook.step()
    assert session.questions == 1
    _core.set_aws_snapshot("AKID1", "secret", "token", time.time() + 60, True)
    hook.close()
    assert session.questions == 2
    assert not _core.is_aws_renewal_due()


def test_failing_renewals_are_tried_once_a_minute_and_three_times(store, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(aws_credentials.time, "monotonic", lambda: now[0])
    session = use(monkeypatch, Refreshed(5).credentials)  # the next refresh raises StopIteration
    hook = VectorHook(store.uri("run"), include_collections=["gradients"])
    asked = []
    for seconds in (0, 59, 1, 60, 60, 60):
        now[0] += seconds
        hook.step()
        asked.append(session.questions)
    assert asked == [2, 2, 3, 4, 4, 4]
    hook.close()
    assert hook.status().error is None


def test_an_error_of_botocore_is_logged_once_and_the_core_finds_credentials(
    store, proxy, monkeypatch, capfd
):
    use(monkeypatch, RuntimeError("no such plugin"))
    for name in ("first", "second"):
        assert record(store.uri(name)).status().error is None
        assert read_value(store.uri(name)) == [1, 1, 1, 1]
    assert keys_seen(proxy) == ["AKIDEXAMPLE"]
    written = "".join(capfd.readouterr())
    assert written.count(WARNING) == 1
    assert "RuntimeError: no such plugin" in written


def test_a_session_that_fails_does_not_leave_the_keys_of_the_last_one(store, proxy, monkeypatch):
    use(monkeypatch, Credentials("AKIDFIRST", "secret"))
    record(store.uri("first"))
    use(monkeypatch, RuntimeError("no such plugin"))
    record(store.uri("second"))
    assert keys_seen(proxy) == ["AKIDFIRST", "AKIDEXAMPLE"]


def test_a_default_session_without_credentials_is_asked_once(store, monkeypatch):
    session = use(monkeypatch, None)
    record(store.uri("first"))
    record(store.uri("second"))
    assert session.questions == 1
    monkeypatch.setenv("AWS_PROFILE", "other")  # it may find some now
    record(store.uri("third"))
    assert session.questions == 2


def test_the_metadata_service_is_left_to_the_core(store, monkeypatch):
    asked = []
    provider = botocore.credentials.InstanceMetadataProvider
    monkeypatch.setattr(provider, "load", lambda self: asked.append(self))
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")  # for the core
    record(store.uri("run"))
    assert asked == []
    botocore.session.Session().get_credentials()
    assert len(asked) == 1


def test_the_code_of_a_device_is_asked_for_once(store, role_with_device, proxy, monkeypatch):
    prompts = []
    monkeypatch.setattr(getpass, "getpass", lambda prompt: prompts.append(prompt) or "123456")
    assert record(store.uri("first")).status().error is None
    assert record(store.uri("second")).status().error is None
    assert len(prompts) == 1
    assert "mfa/person" in prompts[0]
    source, role = keys_seen(proxy)  # the first one asks for the second
    assert source == "AKIDPROFILE"
    assert role.startswith("ASIA")


def test_a_code_is_not_asked_for_without_a_terminal(store, role_with_device, monkeypatch, capfd):
    monkeypatch.setattr(aws_credentials, "_can_prompt", lambda: False)
    assert "mfa_serial" in record(store.uri("run")).status().error
    assert "found no terminal for the prompt 'Enter MFA code" in "".join(capfd.readouterr())


def test_a_process_without_a_terminal_cannot_prompt():
    script = "from smdebug import aws_credentials as c; assert not c._can_prompt()"
    subprocess.run([sys.executable, "-c", script], check=True, start_new_session=True)


def test_a_bucket_of_google_keeps_its_own_keys(store, proxy, monkeypatch):
    use(monkeypatch, Credentials("AKIDAMAZON", "secret"))
    record(store.uri("run"))
    store.scheme = "gs"
    record(store.uri("google"))
    assert keys_seen(proxy) == ["AKIDAMAZON", "AKIDEXAMPLE"]


def test_a_run_on_a_disk_never_imports_botocore(tmp_path):
    script = f"""
        import sys
        from smdebug import _core
        from smdebug.hook import BaseHook

        class Hook(BaseHook):
            make_framework = _core.pytorch_framework

        hook = Hook({str(tmp_path / "run")!r})
        hook._begin_step()
        hook.close()
        assert not {{"boto3", "botocore"}} & set(sys.modules)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True)


def test_a_run_is_written_where_botocore_is_not_installed(store, proxy, monkeypatch):
    monkeypatch.setitem(sys.modules, "botocore.session", None)  # its import fails
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    record(store.uri("run"))
    assert store.objects("run")
    assert keys_seen(proxy) == []  # moto takes requests without a signature
