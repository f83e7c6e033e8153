"""Documentation site: built without warnings, and without broken links."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import lxml.html
import pytest

from tcptrace_http.detectors import DETECTORS
from tcptrace_http.documentation import SITE, detector_page

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the pages as ``make docs`` does; warnings are errors."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "dirhtml", "docs", str(folder)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, lxml.html.HtmlElement]:
    return {path: lxml.html.fromstring(path.read_bytes()) for path in site.rglob("*.html")}


def test_every_detector_has_the_page_that_reports_link_to(site, pages):
    for name in DETECTORS:
        path = site / detector_page(name).removeprefix(SITE) / "index.html"
        assert pages[path].findtext(".//h1").startswith(name)


def test_every_link_within_the_site_leads_to_a_page_and_a_part_of_it(site, pages):
    ids = {path: set(page.xpath("//@id")) for path, page in pages.items()}
    dead = []
    for path, page in pages.items():
        for link in page.xpath("//a/@href"):
            url = urlsplit(link)
            if url.scheme or url.netloc:
                continue
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file() or (url.fragment and unquote(url.fragment) not in ids.get(target, ())):
                dead.append((str(path.relative_to(site)), link))
    assert dead == []


def test_every_link_out_of_the_site_is_a_well_formed_address(pages):
    links = {link for page in pages.values() for link in page.xpath("//a/@href") if urlsplit(link).scheme}
    assert len(links) > 100
    for link in links:
        url = urlsplit(link)
        assert url.scheme in {"http", "https"}
        assert "." in url.netloc
        assert not set(" ;,)'\"") & set(link[-1])


def test_groups_of_detectors_have_each_detector_once(pages, site):
    overview = pages[site / "detectors" / "index.html"]
    named = [link.text_content() for link in overview.xpath("//article//td//a")]
    assert sorted(named) == sorted(DETECTORS)


def test_no_page_has_markup_that_was_not_understood(pages):
    texts = {
        path: "".join(part.text_content() for part in page.xpath("//article")) for path, page in pages.items()
    }
    assert [path for path, text in texts.items() if "``" in text or "](" in text] == []
