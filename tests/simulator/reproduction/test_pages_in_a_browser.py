"""Pages in a browser, in light and dark: they open without errors."""

import shutil
import subprocess

import pytest

from reference_sim.reproduction.experiment import Effort
from reference_sim.reproduction.registry import claims_named, experiments
from reference_sim.reproduction.report import write_report
from reference_sim.reproduction.runner import reproduce
from reference_sim.reproduction.store import Store

pytestmark = pytest.mark.slow
LIGHT, DARK = 1, 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("report")
    with Store(made / ".results") as store:
        outcomes = reproduce([experiments()[claim] for claim in claims_named(["heidemann"])], store=store)
    write_report(outcomes, made, effort=Effort())
    return made


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("name", ["index.html", "heidemann-1996.html"])
def test_a_page_opens_without_an_error_on_the_console(folder, tmp_path, name, scheme):
    browser = shutil.which("chromium")
    assert browser, "Debian's package chromium is missing"
    finished = subprocess.run(
        [
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-logging=stderr",
            f"--blink-settings=preferredColorScheme={scheme}",
            f"--user-data-dir={tmp_path}",
            "--dump-dom",
            (folder / name).as_uri(),
        ],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "CONSOLE" not in finished.stderr
    shown = finished.stdout
    assert "reproduced</span>" in shown
    assert shown.count("<svg ") == (5 if name.startswith("heidemann") else 0)
