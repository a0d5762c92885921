"""What is done when a rule fires, against real servers on this machine: a mail server, web servers
that answer, refuse and hang, and the cloud's services as moto plays them.
"""

import contextlib
import datetime
import email
import email.policy
import hashlib
import hmac
import http.server
import ipaddress
import itertools
import json
import os
import signal
import ssl
import subprocess
import sys
import threading
import time
import urllib.request

import boto3
import pytest
import smdebug_rulesconfig
from aiosmtpd.controller import Controller
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from free_ports import free_port
from moto.server import ThreadedMotoServer
from torch import nn

import smdebug.pytorch as smd
from conftest import Net, read, train
from smdebug import _core
from smdebug.exceptions import RuleEvaluationConditionMet, SMDebugTypeError, SMDebugValueError
from smdebug.rules import Rule
from smdebug.rules.action import (
    SMS,
    ActionList,
    Actions,
    Command,
    Email,
    MessageAction,
    StopTraining,
    Webhook,
)

JOB = "TRAINING_JOB_NAME"


@pytest.fixture(autouse=True)
def _settings_of_this_machine_do_not_count(monkeypatch):
    for name in list(os.environ):
        if name.startswith("AWS_") or name.lower().endswith("_proxy") or name == JOB:
            monkeypatch.delenv(name)
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, os.devnull)
    monkeypatch.setenv("SMDEBUG_ACTION_TIMEOUT", "1")


def vanishing(output, target):
    return nn.functional.cross_entropy(output, target) * 1e-12


def record(out_dir, steps=3):
    """A run whose gradients vanish. Its hook stays open."""
    hook = smd.Hook(
        out_dir, include_collections=["gradients"], save_config=smd.SaveConfig(save_interval=1)
    )
    model = Net()
    hook.register_module(model)
    train(model, steps, loss=vanishing)
    return hook


@pytest.fixture
def run(out_dir):
    record(out_dir).close()
    return out_dir


def command_line(*arguments, **environment):
    return subprocess.run(
        [sys.executable, "-m", "smdebug", *map(str, arguments)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def check(run, *actions, **environment):
    """Checks a run, and returns what `--json` says was done."""
    options = [word for action in actions for word in ("--action", action)]
    done = command_line(
        "check", run, "--rule", "VanishingGradient", *options, "--json", **environment
    )
    assert done.returncode == 3, done.stderr
    (judged,) = json.loads(done.stdout)
    assert judged["verdicts"][0]["status"] == "IssuesFound"
    return judged["actions"]


def status_of(run, rule="VanishingGradient"):
    with open(f"{run}/rules/{rule}.json") as file:
        return json.load(file)


def wait_until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.02)


class Receiver:
    """A web server that keeps what it is sent, and answers from a list of statuses; `None` is no
    answer at all. The last one is given for ever.
    """

    def __init__(self, *statuses):
        self.requests = []
        self.ended = threading.Event()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.requests.append((dict(self.headers), body))
                status = statuses[min(len(receiver.requests), len(statuses)) - 1]
                if status is None:
                    receiver.ended.wait(60)
                    return
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook/secret"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.server.shutdown()
        self.server.server_close()


class Mailbox:
    def __init__(self):
        self.messages = []

    async def handle_DATA(self, server, session, envelope):
        self.messages.append((envelope, email.message_from_bytes(envelope.content, policy=POLICY)))
        return "250 taken"


POLICY = email.policy.default


@contextlib.contextmanager
def mail_server(mailbox):
    controller = Controller(mailbox, hostname="127.0.0.1", port=free_port())
    controller.start()
    try:
        yield f"smtp://127.0.0.1:{controller.port}"
    finally:
        controller.stop()


def test_a_webhook_gets_the_signed_verdict_once(run):
    with Receiver(200) as receiver:
        (done,) = check(run, f"webhook={receiver.url}", SMDEBUG_WEBHOOK_SECRET="key")
        assert (done["action"], done["status"]) == ("webhook", "done")
        assert "secret" not in json.dumps(done)
        (again,) = check(run, f"webhook={receiver.url}", SMDEBUG_WEBHOOK_SECRET="key")
        assert again["status"] == "not_repeated" and "performed it" in again["message"]
    ((headers, body),) = receiver.requests
    expected = hmac.new(b"key", body, hashlib.sha256).hexdigest()
    assert headers["X-Smdebug-Signature"] == f"sha256={expected}"
    assert headers["Content-Type"] == "application/json"
    alert = json.loads(body)
    assert alert["run"] == run
    assert alert["verdict"]["rule"] == "VanishingGradient"
    assert alert["verdict"]["evidence"]
    assert status_of(run)["actions"][0]["status"] == "not_repeated"


def write_certificate(folder):
    """Writes a certificate of 127.0.0.1 that signs itself, and its key. Returns both paths."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "test")])
    now = datetime.datetime.now(datetime.timezone.utc)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    encoding = serialization.Encoding.PEM
    key_format = serialization.PrivateFormat.PKCS8
    (folder / "trusted.pem").write_bytes(certificate.public_bytes(encoding))
    (folder / "key.pem").write_bytes(
        key.private_bytes(encoding, key_format, serialization.NoEncryption())
    )
    return folder / "trusted.pem", folder / "key.pem"


def test_a_webhook_over_tls_trusts_the_certificates_of_the_environment(run, tmp_path, monkeypatch):
    for variable in ("SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(variable, raising=False)
    certificate, key = write_certificate(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate, key)
    with Receiver(200) as receiver:
        receiver.server.socket = tls.wrap_socket(receiver.server.socket, server_side=True)
        url = receiver.url.replace("http://", "https://")
        (refused,) = check(run, f"webhook={url}")
        for variable in ("SSL_CERT_FILE", "CURL_CA_BUNDLE"):
            trusting = {variable: str(certificate)}
            (done,) = check(run, f"webhook={url}/{variable}", **trusting)
            assert done["status"] == "done", done["message"]
    assert refused["status"] == "failed"
    assert "certificate" in refused["message"]


def test_the_url_of_a_webhook_may_stay_off_the_command_line(run, tmp_path):
    with Receiver(200) as receiver:
        (tmp_path / "url").write_text(f"{receiver.url}\n")
        (from_file,) = check(run, f"webhook=@{tmp_path}/url")
        (from_variable,) = check(run, "webhook", SMDEBUG_WEBHOOK_URL=receiver.url)
    assert from_file["status"] == "done"
    assert from_variable["status"] == "not_repeated"  # the same webhook
    assert "secret" not in json.dumps([from_file, from_variable])
    assert len(receiver.requests) == 1


@pytest.mark.parametrize("given", ["missing", "not a url", ""])
def test_a_webhook_without_a_url_is_a_wrong_command_line(run, tmp_path, given):
    file = tmp_path / "url"
    if given != "missing":
        file.write_text(given)
    done = command_line("check", run, "--action", f"webhook=@{file}")
    assert done.returncode == 2 and str(file) in done.stderr
    done = command_line("check", run, "--action", "webhook", SMDEBUG_WEBHOOK_URL=given)
    assert done.returncode == 2 and "SMDEBUG_WEBHOOK_URL should contain one URL" in done.stderr
    assert not given or given not in done.stderr


def test_a_handler_written_for_the_clouds_event_understands_ours(run):
    stopped = []

    def handler(event, context):
        for status in event["detail"]["DebugRuleEvaluationStatuses"]:
            if status["RuleEvaluationStatus"] == "IssuesFound":
                stopped.append(event["detail"]["TrainingJobName"])

    with Receiver(200) as receiver:
        check(run, f"webhook={receiver.url}", TRAINING_JOB_NAME="my-job")
    handler(json.loads(receiver.requests[0][1])["event"], None)
    assert stopped == ["my-job"]
    events = sorted(os.listdir(f"{run}/rules/events"))
    assert [name.split("_")[-1] for name in events] == ["InProgress.json", "IssuesFound.json"]
    with open(f"{run}/rules/events/{events[-1]}") as file:
        handler(json.load(file), None)
    assert len(stopped) == 2


def test_a_webhook_that_answers_500_is_tried_three_times_and_told(run):
    with Receiver(500) as receiver:
        (failed,) = check(run, f"webhook={receiver.url}")
        assert failed["status"] == "failed"
        assert "answered 500 (tried 3 times)" in failed["message"]
        assert len(receiver.requests) == 3
        deliveries = {headers["X-Smdebug-Delivery"] for headers, _ in receiver.requests}
        assert len(deliveries) == 1
    with Receiver(500, 200) as receiver:
        (done,) = check(run, f"webhook={receiver.url}")
        assert (done["status"], len(receiver.requests)) == ("done", 2)


def test_a_webhook_that_hangs_holds_up_no_other_action(run, tmp_path):
    with Receiver(None) as receiver:
        hangs, told = check(run, f"webhook={receiver.url}", f"command=cat > {tmp_path}/seen")
    assert hangs["status"] == "failed" and "timed out" in hangs["message"].lower()
    assert told["status"] == "done"
    assert json.loads((tmp_path / "seen").read_text())["verdict"]["status"] == "IssuesFound"


def test_a_mail_is_read_by_a_mail_server(run):
    mailbox = Mailbox()
    with mail_server(mailbox) as url:
        (done,) = check(
            run,
            "email=Ann.B+x@example.com",
            SMDEBUG_SMTP_URL=url,
            SMDEBUG_EMAIL_FROM="smdebug@example.com",
        )
    assert done["status"] == "done", done["message"]
    ((envelope, message),) = mailbox.messages
    assert envelope.rcpt_tos == ["Ann.B+x@example.com"]
    assert envelope.mail_from == "smdebug@example.com"
    assert message["Subject"] == f"smdebug: VanishingGradient fired in {run}"
    assert message["To"] == "Ann.B+x@example.com"
    assert not message.defects and not message["Date"].defects
    text, verdict = message.iter_parts()
    assert "is below 1e-07 at step 0" in text.get_content()
    assert json.loads(verdict.get_payload(decode=True))["run"] == run
    assert verdict.get_filename() == "verdict.json"


def test_a_mail_server_that_is_down_is_told_and_tried_again_by_the_next_watch(run):
    port = free_port()
    settings = {"SMDEBUG_SMTP_URL": f"smtp://127.0.0.1:{port}"}
    (failed,) = check(run, "email=ann@example.com", **settings)
    assert failed["status"] == "failed"
    assert f"127.0.0.1:{port}" in failed["message"]
    mailbox = Mailbox()
    with mail_server(mailbox) as url:
        (done,) = check(run, "email=ann@example.com", SMDEBUG_SMTP_URL=url)
    assert done["status"] == "done" and len(mailbox.messages) == 1


def test_a_mail_server_that_refuses_is_quoted(run):
    class Refuses(Mailbox):
        async def handle_RCPT(self, server, session, envelope, address, options):
            return "550 nobody of that name"

    with mail_server(Refuses()) as url:
        (failed,) = check(run, "email=ann@example.com", SMDEBUG_SMTP_URL=url)
    assert failed["status"] == "failed" and "550" in failed["message"]


def test_an_action_that_could_never_be_performed_is_a_wrong_command_line(run):
    for action, words in (
        ("email=ann@example.com", "SMDEBUG_SMTP_URL"),
        ("email=ann", "ann@example.com"),
        ("call=5", "webhook=URL"),
    ):
        done = command_line("check", run, "--action", action)
        assert done.returncode == 2 and words in done.stderr
    assert not os.path.exists(f"{run}/rules")


@pytest.fixture
def cloud(monkeypatch):
    """The cloud's services on this machine."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    # What an earlier test left in this process.
    urllib.request.urlopen(f"http://{host}:{port}/moto-api/reset", data=b"").close()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    yield lambda service: boto3.client(service, region_name="eu-west-1")
    server.stop()


@pytest.mark.parametrize(
    "action, endpoint, attribute",
    [("email", "ann@example.com", "email"), ("sms", "+4912345678", "phone_num")],
)
def test_messages_go_through_the_originals_topic(run, cloud, action, endpoint, attribute):
    (done,) = check(run, f"{action}={endpoint}")
    assert done["status"] == "done", done["message"]
    sns = cloud("sns")
    (topic,) = sns.list_topics()["Topics"]
    assert topic["TopicArn"].endswith(":SMDebugRules") and "eu-west-1" in topic["TopicArn"]
    (subscription,) = sns.list_subscriptions()["Subscriptions"]
    assert (subscription["Protocol"], subscription["Endpoint"]) == (action, endpoint)
    attributes = sns.get_subscription_attributes(SubscriptionArn=subscription["SubscriptionArn"])[
        "Attributes"
    ]
    assert json.loads(attributes["FilterPolicy"]) == {attribute: [endpoint]}

    from moto.sns.models import sns_backends

    backend = sns_backends["123456789012"]["eu-west-1"]
    (sent,) = backend.topics[topic["TopicArn"]].sent_notifications
    text, subject, values = sent[1], sent[2], sent[3]
    assert subject == "SMDebugRule:VanishingGradient fired"
    assert text.startswith(subject + ". ")
    assert values[attribute]["Value"] == endpoint


def test_a_message_is_sent_with_the_role_of_a_profile(run, cloud, monkeypatch, tmp_path):
    config = tmp_path / "config"
    config.write_text(
        "[profile role]\nregion = us-west-2\nrole_arn = arn:aws:iam::111122223333:role/sender\n"
        "source_profile = keys\n"
        "[profile keys]\naws_access_key_id = AKIDEXAMPLE\naws_secret_access_key = secret\n"
    )
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("AWS_PROFILE", "role")
    (done,) = check(run, "email=ann@example.com")
    assert done["status"] == "done", done["message"]
    # moto puts what a role creates into the account of the role.
    assert "arn:aws:sns:us-west-2:111122223333:SMDebugRules" in done["message"]


def test_a_request_to_the_cloud_is_signed_as_boto_signs_it(run, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "a token")
    with Receiver(403) as receiver:
        check(run, "email=ann@example.com", AWS_ENDPOINT_URL_SNS=receiver.url.split("/hook")[0])
        host = receiver.url.split("/")[2]
    headers, body = receiver.requests[0]
    signer = SigV4Auth(Credentials("AKIDEXAMPLE", "secret", "a token"), "sns", "us-east-1")
    request = AWSRequest("POST", f"http://{host}/", data=body)
    for name in ("content-type", "x-amz-date", "x-amz-security-token"):
        request.headers[name] = headers[name]
    request.context["timestamp"] = headers["x-amz-date"]
    signature = signer.signature(
        signer.string_to_sign(request, signer.canonical_request(request)), request
    )
    assert headers["authorization"].endswith(f"Signature={signature}")


def test_a_message_through_the_topic_keeps_the_answers_that_scripts_look_at(cloud):
    action = MessageAction("MyRule", "sms", "+49123")
    assert action._last_subscription_response is None
    assert action._last_send_mesg_response is None
    action.invoke("it fired")
    (subscription,) = cloud("sns").list_subscriptions()["Subscriptions"]
    assert subscription["Endpoint"] == "+49123"
    assert "published to topic" in action._last_send_mesg_response
    assert action._last_subscription_response == action._last_send_mesg_response


@pytest.fixture
def stoppable(monkeypatch):
    """moto has no StopTrainingJob: its documented answer, played on moto's own jobs."""
    from moto.sagemaker.responses import SageMakerResponse

    def stop_training_job(self):
        name = json.loads(self.body)["TrainingJobName"]
        self.sagemaker_backend.training_jobs[name].training_job_status = "Stopping"
        return ""

    monkeypatch.setattr(SageMakerResponse, "stop_training_job", stop_training_job, raising=False)


def create_jobs(cloud, *names):
    """Jobs in progress; moto's own end at once."""
    from moto.sagemaker.models import sagemaker_backends

    backend = sagemaker_backends["123456789012"]["eu-west-1"]
    for name in names:
        cloud("sagemaker").create_training_job(
            TrainingJobName=name,
            AlgorithmSpecification={"TrainingImage": "x", "TrainingInputMode": "File"},
            RoleArn="arn:aws:iam::123456789012:role/r",
            OutputDataConfig={"S3OutputPath": "s3://b/o"},
            ResourceConfig={
                "InstanceType": "ml.m4.xlarge",
                "InstanceCount": 1,
                "VolumeSizeInGB": 1,
            },
            StoppingCondition={"MaxRuntimeInSeconds": 60},
        )
        backend.training_jobs[name].training_job_status = "InProgress"


def job_status(cloud, name):
    answer = cloud("sagemaker").describe_training_job(TrainingJobName=name)
    return answer["TrainingJobStatus"]


def test_the_one_job_of_a_prefix_is_stopped(cloud, stoppable, logged):
    create_jobs(cloud, "My-Job-1", "Other-My-Job")
    Actions(StopTraining("My-Job"), "MyRule").invoke()
    assert job_status(cloud, "My-Job-1") == "Stopping"
    assert job_status(cloud, "Other-My-Job") == "InProgress"
    assert "'My-Job-1' was asked to stop" in logged[-1]


def test_of_two_jobs_of_a_prefix_none_is_stopped(cloud, stoppable, logged):
    create_jobs(cloud, "My-Job-1", "My-Job-2")
    Actions(StopTraining("My-Job"), "MyRule").invoke()
    assert {job_status(cloud, f"My-Job-{i}") for i in (1, 2)} == {"InProgress"}
    assert "2 jobs in progress begin with 'My-Job'" in logged[-1]


TRAINING = """
import sys, torch
import smdebug.pytorch as smd
sys.path.insert(0, {tests!r})
from conftest import Net
hook = smd.Hook(
    {run!r}, include_collections=["gradients"], save_config=smd.SaveConfig(save_interval=1)
)
model = Net()
hook.register_module(model)
while True:
    (model(torch.zeros(2, 4)).sum() * 1e-12).backward()
"""


def test_watch_stops_a_training_that_it_did_not_start(out_dir):
    script = TRAINING.format(tests=os.path.dirname(__file__), run=out_dir)
    # A group of its own, as a shell gives it.
    training = subprocess.Popen([sys.executable, "-c", script], process_group=0)
    try:
        done = command_line(
            *("watch", out_dir, "--rule", "VanishingGradient", "--action", "stop", "--json"),
            *("--timeout", "60"),
        )
        assert done.returncode == 3, done.stderr
        (result,) = json.loads(done.stdout)[0]["actions"]
        assert result["status"] == "done"
        assert result["message"] == "the training was asked to stop and ended"
        assert training.wait(60) == -signal.SIGTERM
    finally:
        training.kill()
        training.wait()
    # What it had trained was published first.
    assert read(out_dir).steps()


def start_watch(run, *options):
    """A watch in a process of its own, once it watches."""
    watch = subprocess.Popen(
        [sys.executable, "-m", "smdebug", "watch", run, *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    rules = [word for flag, word in itertools.pairwise(options) if flag == "--rule"]
    wait_until(lambda: all(os.path.exists(f"{run}/rules/{rule}.json") for rule in rules))
    return watch


# It looks for losses, which are not recorded: the watch goes on.
PATIENT = ("--rule", "LossNotDecreasing", "--rule", "VanishingGradient")


def test_the_second_of_two_watches_says_so_and_does_not_act_twice(out_dir):
    with Receiver(200) as receiver, record(out_dir):
        action = ("--action", f"webhook={receiver.url}")
        first = start_watch(out_dir, *PATIENT, *action)
        try:
            wait_until(lambda: len(receiver.requests) == 1)
            second = command_line("watch", out_dir, *PATIENT, *action, "--timeout", "1", "--json")
            assert f"is already watched by process {first.pid} on" in second.stderr
            assert "already" in second.stderr
            (result,) = json.loads(second.stdout)[0]["actions"]
            assert result["status"] == "not_repeated"
        finally:
            first.send_signal(signal.SIGINT)
            first.communicate(timeout=60)
    assert len(receiver.requests) == 1


def test_a_watch_that_is_interrupted_leaves_its_rules_stopped(out_dir):
    with record(out_dir):
        watch = start_watch(out_dir, *PATIENT)
        wait_until(lambda: status_of(out_dir)["status"] == "IssuesFound")
        assert status_of(out_dir, "LossNotDecreasing")["status"] == "InProgress"
        watch.send_signal(signal.SIGINT)
        watch.communicate(timeout=60)
    assert status_of(out_dir, "LossNotDecreasing")["status"] == "Stopped"
    assert status_of(out_dir, "VanishingGradient")["status"] == "IssuesFound"
    assert not os.path.exists(f"{out_dir}/rules/LossNotDecreasing/watcher.json")


def test_a_run_that_vanishes_while_it_is_watched_is_told_and_not_made_anew(out_dir):
    hook = record(out_dir)
    watch = start_watch(out_dir, "--rule", "LossNotDecreasing")
    # Stopped anywhere, perhaps while it writes into the run, and never to see the end marker.
    watch.send_signal(signal.SIGSTOP)
    os.waitpid(watch.pid, os.WUNTRACED)
    hook.close()
    os.remove(f"{out_dir}/training_job_end.ts")
    os.rename(out_dir, f"{out_dir}.removed")
    watch.send_signal(signal.SIGCONT)
    out, err = watch.communicate(timeout=60)
    assert watch.returncode == 1
    assert f"the files of run '{out_dir}' were removed" in err
    assert out.startswith("smdebug: not judged to the end\n")
    assert not os.path.exists(out_dir)


UNMODIFIED = """
import torch
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(40):
    optimizer.zero_grad()
    (model(torch.ones(2, 4)).sum() * 1e-12).backward()
    optimizer.step()
"""


def test_run_acts_and_tells_in_its_summary(tmp_path):
    (tmp_path / "train.py").write_text(UNMODIFIED)
    with Receiver(200) as receiver:
        done = command_line(
            *("run", "--out", tmp_path / "run", "--rule", "VanishingGradient", "--json"),
            *("--action", f"webhook={receiver.url}", "--"),
            *(sys.executable, tmp_path / "train.py"),
        )
    assert done.returncode == 3, done.stderr
    assert "webhook http://127.0.0.1" in done.stderr and "answered 200" in done.stderr
    (result,) = json.loads(done.stdout)["actions"]
    assert (result["rule"], result["status"]) == ("VanishingGradient", "done")
    assert len(receiver.requests) == 1
    status = status_of(tmp_path / "run")
    assert (status["status"], status["training"]) == ("IssuesFound", "Completed")
    assert status["attempt"] == 1


class Fires(Rule):
    def invoke_at_step(self, step):
        return True


def test_a_rule_in_python_performs_its_actions_once(run, tmp_path):
    def told():
        return (tmp_path / "told").read_text().splitlines()

    rule = Fires(read(run), ActionList(Command(f"cat >> {tmp_path}/told")))
    for step in (0, 1):
        with pytest.raises(RuleEvaluationConditionMet):
            rule.invoke(step)
    (alert,) = map(json.loads, told())
    assert (alert["verdict"]["rule"], alert["verdict"]["step"]["global"]) == ("Fires", 0)
    assert alert["run"] == run
    # Another process, another day: the record beside the run is asked.
    with pytest.raises(RuleEvaluationConditionMet):
        Fires(read(run), Command(f"cat >> {tmp_path}/told").serialize()).invoke(1)
    assert len(told()) == 1


def test_a_failing_action_never_raises(run, logged):
    rule = Fires(read(run), ActionList(Command("exit 3"), Email("ann@example.com")))
    with pytest.raises(RuleEvaluationConditionMet):
        rule.invoke(0)
    assert "exit code 3" in logged[0] and "SMDEBUG_SMTP_URL" in logged[1]


def test_an_action_that_fails_three_times_is_given_up(run, logged):
    rule = Fires(read(run), ActionList(Command("exit 3")))
    for _ in range(5):
        with pytest.raises(RuleEvaluationConditionMet):
            rule.invoke(0)
    failed = [line for line in logged if "exit code 3" in line]
    assert len(failed) == 3
    assert failed[2].endswith("; given up after 3 failures")


def test_a_step_of_an_action_that_is_no_number_is_named(run, logged):
    Actions(Command("true").serialize(), "mine", read(run)).invoke("text", "one")
    assert "the step of an action is a whole number, found 'one'" in logged[0]


def test_a_webhook_in_an_action_string_needs_the_url_of_a_host(run, logged):
    Fires(read(run), '{"name": "webhook", "url": "SECRET"}')
    assert "a url that begins with http:// or https://" in logged[0]
    assert "SECRET" not in logged[0]


def test_the_actions_of_the_clouds_package_parse():
    theirs = smdebug_rulesconfig
    actions = theirs.ActionList(
        theirs.StopTraining("My-Job"), theirs.Email("ann@example.com"), theirs.SMS("+4912")
    )
    expected = [("stop", "My-Job"), ("email", "ann@example.com"), ("sms", "+4912")]
    assert _core.parse_action_string(actions.serialize()) == (expected, [])
    ours = ActionList(StopTraining("My-Job"), Email("ann@example.com"), SMS("+4912"))
    assert _core.parse_action_string(ours.serialize()) == (expected, [])
    prefixless = theirs.ActionList(theirs.StopTraining())
    assert _core.parse_action_string(prefixless.serialize()) == ([("stop", "")], [])
    prefixless.update_training_job_prefix_if_not_specified("job-7")
    assert _core.parse_action_string(prefixless.serialize()) == ([("stop", "job-7")], [])


def test_the_prefix_of_the_job_is_filled_in_where_none_was_given():
    given, open_ = StopTraining("mine"), StopTraining()
    actions = ActionList(given, open_, Webhook("http://host/"))
    actions.update_training_job_prefix_if_not_specified("job-7")
    assert [json.loads(actions.serialize())[i]["training_job_prefix"] for i in (0, 1)] == [
        "mine",
        "job-7",
    ]


@pytest.mark.parametrize(
    "make, value",
    [
        (StopTraining, "a b"),
        (Email, "ann"),
        (Email, "a@b\nBcc: c@d"),
        (SMS, "555"),
        (SMS, "+1234567890123456"),
        (Webhook, "ftp://x"),
        (Command, ""),
    ],
)
def test_a_configuration_that_makes_no_sense_is_refused(make, value):
    with pytest.raises(SMDebugValueError):
        make(value)
    with pytest.raises(SMDebugTypeError):
        make(5)


def test_addresses_that_the_original_refused_are_taken():
    for address in ("ann.b@example.com", "Ann+x@mail.example.co.uk"):
        assert Email(address).action_parameters == {"name": "email", "endpoint": address}
