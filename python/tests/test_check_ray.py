"""`smdebug check --ray`: the same answers as without it, from the processes of a Ray cluster."""

import json
import os
import secrets
import select
import signal
import socket
import subprocess
import sys
import textwrap

import pytest
import torch
from free_ports import free_port
from stores import connect, moto_server

import smdebug.pytorch as smd
from conftest import Net, train
from smdebug import ray_cluster, ray_worker

ray = pytest.importorskip("ray")

# Two processes judge at once.
WORKERS = 2
# Only these tests may use their clusters. Ray would write a token to the home folder otherwise.
RAY = {
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": secrets.token_hex(32),
    "RAY_USAGE_STATS_ENABLED": "0",
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """The address of a cluster, in processes of its own."""
    command = [sys.executable, "-m", "ray.scripts.scripts"]
    port, client_port = free_port(), free_port()
    options = {
        "--port": port,
        "--num-cpus": WORKERS,
        "--object-store-memory": 100 * 1024 * 1024,
        "--temp-dir": tmp_path_factory.mktemp("ray"),
        "--include-dashboard": False,
        "--ray-client-server-port": client_port,
    }
    words = [f"{name}={value}" for name, value in options.items()]
    # Its processes end with this one, so that no other cluster of the machine is stopped.
    with subprocess.Popen(
        [*command, "start", "--head", "--block", *words],
        env={**os.environ, **RAY},
        cwd="/",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        said = []
        for line in process.stdout:
            said.append(line)
            if "--block" in line:
                break
        else:
            pytest.fail("".join(said))
        yield f"127.0.0.1:{port}"
        process.terminate()
        process.stdout.read()


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A folder with a faulty run, a healthy one, and one that is damaged."""
    folder = tmp_path_factory.mktemp("runs")
    for name in ("faulty", "healthy", "damaged"):
        torch.manual_seed(1)
        model = Net()
        every_step = smd.SaveConfig(save_interval=1)
        with smd.Hook(folder / name, save_all=True, save_config=every_step) as hook:
            hook.register_module(model)
            if name == "faulty":
                torch.nn.init.constant_(model.fc1.weight, float("nan"))
            train(model, 8)
    (next((folder / "damaged").glob("index/*/*03_worker_0.json"))).write_text("{")
    return folder


def check(*words, cwd=None, **variables):
    command = [sys.executable, "-m", "smdebug", "check", *map(str, words)]
    env = {**os.environ, **RAY, "SMDEBUG_LOG_LEVEL": "warning", **variables}
    return subprocess.run(command, capture_output=True, text=True, timeout=100, cwd=cwd, env=env)


NAMES = ("healthy", "faulty", "nowhere", "damaged")


def test_the_answer_is_that_of_check(cluster, runs):
    # The processes of the cluster were started in another folder.
    here = check(*NAMES, "--json", cwd=runs)
    there = check(*NAMES, "--json", "--ray", cluster, cwd=runs)
    assert there.stdout == here.stdout
    assert there.returncode == here.returncode == 3
    streamed = there.stderr.splitlines()[: len(NAMES)]
    assert there.stderr == "".join(f"{line}\n" for line in streamed) + here.stderr
    found = {line.split(": ")[2]: line.split(": ", 3)[3] for line in streamed}
    assert found.keys() == set(NAMES)
    assert found["nowhere"] == "cannot be judged"
    assert "fired" in found["faulty"]
    counts = [line.split(": ")[1] for line in streamed]
    assert counts == [f"{number} of {len(NAMES)} runs" for number in range(1, len(NAMES) + 1)]
    damage = {run["run"]: run["damage"] for run in json.loads(there.stdout)}
    assert [name for name in NAMES if damage[name]] == ["damaged"]


@pytest.fixture(scope="module")
def rules(tmp_path_factory):
    """A file with rules that print, and that kill their process."""
    file = tmp_path_factory.mktemp("rules") / "mine.py"
    file.write_text(
        textwrap.dedent(
            '''
            import os
            import signal

            from smdebug.rules import Rule


            class Prints(Rule):
                """Fires at a step."""

                def __init__(self, base_trial, fires_at=3):
                    super().__init__(base_trial)
                    self.fires_at = fires_at

                def invoke_at_step(self, step):
                    if step == self.fires_at:
                        # In one piece: without Ray, rules judge at the same time.
                        print(f"printed by {self.base_trial.name}\\n", end="")
                    return step == self.fires_at


            class Dies(Rule):
                """Kills its process at step 4 of a run: of one the first time, of others always."""

                def __init__(self, base_trial, folder, once):
                    super().__init__(base_trial)
                    self.file = os.path.join(folder, self.base_trial.name)
                    self.once = once

                def invoke_at_step(self, step):
                    if step != 4 or os.path.exists(self.file) and self.base_trial.name == self.once:
                        return False
                    with open(self.file, "a") as file:
                        file.write(f"{os.getpid()} ")
                    os.kill(os.getpid(), signal.SIGKILL)


            class Waits(Rule):
                """Writes to a named pipe, and never returns."""

                def __init__(self, base_trial, pipe):
                    super().__init__(base_trial)
                    self.pipe = pipe

                def invoke_at_step(self, step):
                    with open(self.pipe, "w") as pipe:
                        pipe.write(str(os.getpid()))
                    signal.pause()
            '''
        )
    )
    return file


def test_a_rule_in_python_judges_and_prints_as_without_ray(cluster, runs, rules):
    words = ("healthy", "faulty", "--rule", f"{os.path.relpath(rules, runs)}:Prints")
    here = check(*words, "--set", "fires_at=5", cwd=runs)
    there = check(*words, "--set", "fires_at=5", "--ray", cluster, cwd=runs)
    assert there.stdout == here.stdout
    assert "met at step 5" in there.stdout
    assert there.returncode == here.returncode == 3
    for name in ("healthy", "faulty"):
        assert here.stderr.count(f"printed by {name}\n") == 1
        assert there.stderr.count(f"printed by {name}\n") == 1


def test_a_run_whose_process_is_killed_is_judged_again(cluster, runs, rules, tmp_path):
    options = ["--rule", f"{rules}:Dies", "--set", f"folder={tmp_path}", "--set", "once=healthy"]
    there = check("faulty", "healthy", *options, "--json", "--ray", cluster, cwd=runs)
    killed = {file.name: file.read_text().split() for file in tmp_path.iterdir()}
    assert len(killed["healthy"]) == 1
    assert len(set(killed["faulty"])) == 4
    faulty, healthy = json.loads(there.stdout)
    assert faulty["error"].startswith(
        "run 'faulty': the process that judged it was killed in each of 4 attempts"
    )
    # Now that its file exists, nothing kills this process.
    (here,) = json.loads(check("healthy", *options, "--json", cwd=runs).stdout)
    assert healthy == here
    assert healthy["verdicts"][0]["status"] == "NoIssuesFound"
    assert there.returncode == 1


def test_ctrl_c_ends_the_command_and_its_tasks(cluster, runs, rules, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    begun = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    words = ["check", "healthy", "--rule", f"{rules}:Waits", "--set", f"pipe={pipe}"]
    with subprocess.Popen(
        [sys.executable, "-m", "smdebug", *words, "--ray", cluster],
        cwd=runs,
        env={**os.environ, **RAY},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as command:
        assert select.select([begun], [], [], 60)[0], "the rule does not run"
        worker = int(os.read(begun, 100))
        ended = os.pidfd_open(worker)
        command.send_signal(signal.SIGINT)
        said, _ = command.communicate(timeout=60)
    assert command.returncode == -signal.SIGINT
    assert said == ""
    assert select.select([ended], [], [], 60)[0], "the task still runs"
    os.close(ended)
    os.close(begun)


def test_the_runs_of_a_prefix_are_judged(cluster, runs, monkeypatch):
    """The variables of the store are not those of the cluster's processes."""
    with moto_server() as server:
        store = connect(server, monkeypatch)
        for name in ("healthy", "faulty"):
            store.upload(runs / name, f"all/{name}")
        pattern = store.uri("all/*")
        here = check(pattern, "--json")
        there = check(pattern, "--json", "--ray", cluster)
        assert there.stdout == here.stdout
        names = [run["run"] for run in json.loads(there.stdout)]
        assert names == [store.uri("all/faulty"), store.uri("all/healthy")]
        assert there.returncode == here.returncode == 3
        nothing = check(store.uri("none/*"))
        assert nothing.returncode == 1
        assert "but it has none; check the name" in nothing.stderr


def test_local_starts_a_cluster_that_ends_with_the_command(runs):
    here = check("healthy", "faulty", "--json", cwd=runs)
    there = check("healthy", "faulty", "--json", "--ray", "local", cwd=runs)
    assert there.stdout == here.stdout
    assert there.returncode == here.returncode == 3
    assert len(there.stderr.splitlines()) == 2, there.stderr


def test_without_ray_a_sentence_says_what_to_install(runs, tmp_path):
    (tmp_path / "ray.py").write_text("raise ModuleNotFoundError(\"No module named 'ray'\")")
    there = check("healthy", "--ray", "local", cwd=runs, PYTHONPATH=str(tmp_path))
    assert there.returncode == 1
    assert there.stdout == ""
    assert there.stderr == (
        "smdebug: --ray needs Ray, which cannot be imported (No module named 'ray'); run pip "
        "install 'ray[client]', or omit --ray to judge the runs in this process\n"
    )


def test_an_address_without_a_cluster_is_an_error(runs):
    with socket.socket() as taken:  # bound, but nobody listens
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        for spelled in (address, f"ray://{address}"):
            there = check("healthy", "--ray", spelled, cwd=runs)
            assert there.returncode == 1
            assert there.stderr.startswith(f"smdebug: no Ray cluster at '{spelled}': ")
            assert "Connection refused" in there.stderr


def test_a_relative_run_needs_the_folder_on_the_worker(runs, tmp_path):
    where = os.getcwd()
    try:
        result, text = ray_worker.judge_run(["check", "healthy"], str(tmp_path / "gone"))
        assert result is None
        assert text.startswith("a worker of the Ray cluster has no folder '")
        result, text = ray_worker.judge_run(
            ["check", str(runs / "healthy")], str(tmp_path / "gone")
        )
        assert isinstance(result, bytes)
    finally:
        os.chdir(where)


def test_a_worker_without_smdebug_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "smdebug.ray_worker", None)
    result, text = ray_cluster._task()(["check", "run"], os.getcwd(), {})
    assert result is None
    assert text.startswith("a worker of the Ray cluster cannot import smdebug (")
    assert text.endswith("; install the same version of smdebug-ng there")


def test_only_variables_for_reading_runs_reach_the_workers():
    passed = [
        name
        for name in ("AWS_PROFILE", "SMDEBUG_STORAGE_TIMEOUT", "SMDEBUG_WEBHOOK_URL", "HOME", "AWS")
        if ray_cluster._VARIABLES.fullmatch(name)
    ]
    assert passed == ["AWS_PROFILE", "SMDEBUG_STORAGE_TIMEOUT"]
