"""GitHub action and the files in its documentation: their validity, and the effect of their steps."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

from tcptrace_http import __version__
from tcptrace_http.check import parse_policy

REPOSITORY = Path(__file__).resolve().parents[2]
ACTION = yaml.safe_load((REPOSITORY / "action.yml").read_text(encoding="utf-8"))
STEPS = {step["name"]: step for step in ACTION["runs"]["steps"]}


@pytest.fixture
def action(tmp_path):
    """Run the action's last step as a runner does, with this checkout's program installed."""
    program = tmp_path / "tcptrace-http" / "bin" / "tcptrace-http"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!{sys.executable}\nfrom tcptrace_http.cli.main import main\nmain()\n")
    program.chmod(0o755)
    step = STEPS["Judge"]
    files = {"GITHUB_OUTPUT": tmp_path / "output", "GITHUB_STEP_SUMMARY": tmp_path / "summary.md"}

    def ran(**inputs: str) -> tuple[int, dict[str, str], str, str]:
        for file in files.values():
            file.write_text("")
        known = {name: str(entry["default"]) for name, entry in ACTION["inputs"].items()}
        given = known | {name.replace("_", "-"): value for name, value in inputs.items()}
        environment = {
            name: given[re.fullmatch(r"\$\{\{ inputs\.([a-z-]+) \}\}", value)[1]]
            for name, value in step["env"].items()
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
            cwd=REPOSITORY,
            env=os.environ
            | environment
            | {"RUNNER_TEMP": str(tmp_path), **{name: str(file) for name, file in files.items()}},
            capture_output=True,
            text=True,
            check=False,
        )
        outputs = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())
        return done.returncode, outputs, files["GITHUB_STEP_SUMMARY"].read_text(), done.stdout

    return ran


def test_action_has_the_fields_that_github_needs():
    assert ACTION["name"]
    assert ACTION["description"]
    assert ACTION["runs"]["using"] == "composite"
    assert all(step["shell"] == "bash" for step in ACTION["runs"]["steps"] if "run" in step)
    assert all(entry["description"] for entry in (*ACTION["inputs"].values(), *ACTION["outputs"].values()))


def test_no_input_is_pasted_into_a_script():
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step.get("run", "")


@pytest.mark.parametrize(
    ("names", "code", "verdict"),
    [
        (["clean"], 0, "passed"),
        (["stalled"], 1, "failed"),
        (["none"], 2, "unusable"),
        (["other"], 3, "inconclusive"),
        (["clean", "stalled"], 1, "failed"),
    ],
)
def test_action_judges_captures(action, folder, names, code, verdict):
    found, outputs, summary, shown = action(
        captures="\n".join(str(folder / f"{name}.pcap") for name in names) + "\n"
    )
    assert (found, outputs["verdict"]) == (code, verdict)
    if verdict == "failed":
        assert "::error file=" in shown
        assert "short-initial-segment" in summary
        assert json.loads(Path(outputs["sarif"]).read_text())["runs"][0]["results"]


def test_action_passes_its_inputs_on(action, folder, tmp_path):
    stalled = str(folder / "stalled.pcap")
    assert action(captures=stalled, fail_on="never")[0] == 0
    assert "::error file=nginx.conf," in action(captures=stalled, location="nginx.conf")[3]
    (tmp_path / "own.toml").write_text('[rules]\nzero-window = "error"')
    assert action(captures=stalled, policy=str(tmp_path / "own.toml"))[0] == 0
    other = str(folder / "other.pcap")
    assert action(captures=other, fail_on_inconclusive="false")[:2] == (0, action(captures=other)[1])


def test_action_probes_a_server_that_is_not_there(action):
    assert action(url="http://127.0.0.1:9/")[1]["verdict"] == "unusable"


def test_action_without_anything_to_judge_says_which_inputs_there_are(action):
    code, outputs, _, shown = action(captures=" \n")
    assert (code, outputs) == (2, {"verdict": "unusable"})
    assert "'url' or 'captures'" in shown


def test_action_names_no_sarif_file_that_was_not_written(action, tmp_path):
    _, outputs, _, _ = action(captures=str(tmp_path / "none.pcap"))
    assert "sarif" not in outputs or Path(outputs["sarif"]).exists()


def wheel(folder: Path) -> Path:
    """Return a wheel of this version, whose program prints a line."""
    path = folder / f"tcptrace_http-{__version__}-py3-none-any.whl"
    info = f"tcptrace_http-{__version__}.dist-info"
    files = {
        "released.py": "def main():\n    print('from the release')\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: tcptrace-http\nVersion: {__version__}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": "[console_scripts]\ntcptrace-http = released:main\n",
    }
    record = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(name, text)
    return path


@pytest.fixture
def runner(tmp_path):
    """Run one of the action's steps on a runner with a script in place of ``gh``."""
    (tmp_path / "bin").mkdir()
    output = tmp_path / "output"

    def ran(name: str, *, gh: str, **environment: str) -> dict[str, str]:
        program = tmp_path / "bin" / "gh"
        program.write_text(f"#!/bin/bash\n{gh}\n")
        program.chmod(0o755)
        output.write_text("")
        subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", STEPS[name]["run"]],
            env=os.environ
            | environment
            | {
                "PATH": f"{program.parent}:{os.environ['PATH']}",
                "RUNNER_TEMP": str(tmp_path),
                "GITHUB_ACTION_PATH": str(REPOSITORY),
                "GITHUB_OUTPUT": str(output),
            },
            check=True,
        )
        return dict(line.split("=", 1) for line in output.read_text().splitlines())

    return ran


FIND = "Find the wheel"


def test_action_installs_the_wheel_of_the_release_that_its_tag_names(runner, tmp_path):
    (tmp_path / "released").mkdir()
    path = wheel(tmp_path / "released")
    gh = f'echo "$@" > {tmp_path}/asked; cp {path} "$9"'
    found = runner(FIND, gh=gh, REF="v0", REPOSITORY="OWNER/tcptrace-http")
    assert found["source"] == "release"
    requested = (tmp_path / "asked").read_text()
    assert requested.startswith(f"release download v{__version__} --repo OWNER/tcptrace-http ")
    runner("Install", gh="exit 1", FOLDER=found["folder"], VERSION=found["version"])
    program = tmp_path / "tcptrace-http" / "bin" / "tcptrace-http"
    assert subprocess.check_output([program], text=True) == "from the release\n"


@pytest.mark.parametrize(("reference", "gh"), [("v0", "exit 1"), ("main", "exit 0"), ("5f9ba148", "exit 0")])
def test_action_builds_without_a_release_or_tag(runner, reference, gh):
    found = runner(FIND, gh=gh, REF=reference, REPOSITORY="OWNER/tcptrace-http")
    assert found["source"] == "build"
    assert re.fullmatch(r"[0-9a-f]{32}", found["key"])
    condition = "steps.wheel.outputs.source == 'build'"
    assert STEPS["Take the wheel of an earlier run"]["if"] == condition
    assert STEPS["Build the wheel"]["if"].startswith(f"{condition} && ")


@pytest.fixture(scope="module")
def shown() -> dict[str, str]:
    """Return the files shown on the CI page, by name."""
    text = (REPOSITORY / "docs" / "ci.md").read_text(encoding="utf-8")
    return dict(re.findall(r"^```\w+\n# file: (\S+)\n(.*?)^```", text, re.DOTALL | re.MULTILINE))


def test_github_workflow_of_the_documentation_uses_the_actions_inputs(shown):
    workflow = yaml.safe_load(shown[".github/workflows/tcp.yml"])
    (job,) = workflow["jobs"].values()
    (used,) = [step for step in job["steps"] if "tcptrace-http@" in step.get("uses", "")]
    assert set(used["with"]) <= set(ACTION["inputs"])
    assert used["uses"].endswith(f"@v{__version__}")
    (upload,) = [step for step in job["steps"] if "upload-sarif" in step.get("uses", "")]
    assert upload["if"] == f"${{{{ !cancelled() && steps.{used['id']}.outputs.sarif != '' }}}}"
    assert job["permissions"] == {"contents": "read", "security-events": "write"}


def test_gitlab_job_of_the_documentation_runs_as_shown(shown, tmp_path):
    """Check the script against an absent server: the program, the options and the files are right."""
    job = yaml.safe_load(shown[".gitlab-ci.yml"])["tcp"]
    (install,) = job["before_script"]
    assert f'"tcptrace-http=={__version__}"' in install
    (script,) = job["script"]
    program = tmp_path / "tcptrace-http"
    program.write_text(f"#!{sys.executable}\nfrom tcptrace_http.cli.main import main\nmain()\n")
    program.chmod(0o755)
    (tmp_path / "tcptrace-http.toml").write_text(shown["tcptrace-http.toml"])
    done = subprocess.run(
        ["bash", "-c", script.replace("http://server:8080", "http://127.0.0.1:9")],
        cwd=tmp_path,
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "127.0.0.1:9" in done.stderr
    assert "Usage" not in done.stderr
    assert set(job["artifacts"]["reports"].values()) <= set(re.findall(r"--output-file \w+:(\S+)", script))


def test_pre_commit_file_of_the_documentation_names_a_hook_of_the_manifest(shown):
    (repository,) = yaml.safe_load(shown[".pre-commit-config.yaml"])["repos"]
    hooks = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert {hook["id"] for hook in repository["hooks"]} <= {hook["id"] for hook in hooks}
    assert repository["rev"] == f"v{__version__}"


def test_policy_of_the_documentation_can_be_read(shown):
    policy = shown["tcptrace-http.toml"]
    assert tomllib.loads(policy)
    assert parse_policy(policy)
