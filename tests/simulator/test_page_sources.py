"""Pages from HAR files and from captures."""

import json

import pytest

from reference_sim.page_sources import page_from_har, page_from_retrieval
from reference_sim.pages import page
from reference_sim.simulation import simulate
from reference_sim.workloads import retrieval
from tcptrace_http import analyze
from tcptrace_http.errors import ScenarioError


def entry(url, size, *, kind="image/png", method="GET", status=200, referer=None, pageref="page_1", body=-1):
    headers = [{"name": "Referer", "value": referer}] if referer else []
    return {
        "pageref": pageref,
        "request": {"method": method, "url": url, "headers": headers},
        "response": {"status": status, "bodySize": body, "content": {"size": size, "mimeType": kind}},
    }


def har(tmp_path, entries, pages=("page_1",)):
    path = tmp_path / "shop.har"
    path.write_text(json.dumps({"log": {"pages": [{"id": name} for name in pages], "entries": entries}}))
    return path


def test_a_har_is_its_answered_get_requests(tmp_path):
    path = har(
        tmp_path,
        [
            entry("https://shop.example/a?b=1", 5000, kind="text/html; charset=utf-8", body=1200),
            entry("https://shop.example/style.css", 700, kind="text/css"),
            entry("https://shop.example/x.png", 90, referer="https://shop.example/style.css"),
            entry("https://shop.example/beacon", 1, method="POST"),
            entry("https://shop.example/aborted", 1, status=0),
            entry("data:image/png;base64,AA", 1),
            entry("https://shop.example/", 1, pageref="page_2"),
        ],
    )
    made = page_from_har(path)
    assert [part.target for part in made.objects] == ["/a?b=1", "/style.css", "/x.png"]
    assert [part.size.value for part in made.objects] == [1200, 700, 90]
    assert [part.found_in for part in made.objects] == [0, 0, 1]
    assert (made.host, made.objects[0].content_type) == ("shop.example", "text/html")
    assert simulate(retrieval(strategy="http11", page=made, network="wan")).truth.transactions.height == 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not a HAR file"),
        ('{"log": {}}', "not a HAR file"),
        ('{"log": {"entries": []}}', "no entry is a GET request"),
        ('{"log": {"entries": [{}]}}', "an entry violates HAR 1.2"),
    ],
)
def test_an_invalid_har_is_named(tmp_path, text, message):
    path = tmp_path / "broken.har"
    path.write_text(text)
    with pytest.raises(ScenarioError, match=rf"broken\.har: {message}"):
        page_from_har(path)


def test_a_page_that_the_har_has_not_is_named(tmp_path):
    with pytest.raises(ScenarioError, match=r"no page 'page_9' \(there are: page_1\)"):
        page_from_har(har(tmp_path, []), page="page_9")


def test_a_captured_retrieval_is_the_page_that_was_retrieved(tmp_path):
    path = tmp_path / "page.pcap"
    simulate(retrieval(strategy="http11", page="eggert-graphics", network="wan")).write_pcap(path)
    analysis = analyze(str(path))
    made = page_from_retrieval(analysis.transactions, analysis.retrieval_transactions)
    original = page("eggert-graphics")
    assert [part.target for part in made.objects] == [part.target for part in original.objects]
    assert [part.size for part in made.objects] == [part.size for part in original.objects]
    assert made.host == original.host


def test_a_retrieval_without_transactions_is_refused(tmp_path):
    path = tmp_path / "page.pcap"
    simulate(retrieval(strategy="http11", page="heidemann", network="wan")).write_pcap(path)
    analysis = analyze(str(path))
    with pytest.raises(ScenarioError, match="retrieval 9 has no complete GET"):
        page_from_retrieval(analysis.transactions, analysis.retrieval_transactions, retrieval=9)
