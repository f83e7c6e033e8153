"""What cannot be inferred is said."""

import pytest

import tcptrace_http
from tcptrace_http.errors import ScenarioError
from tcptrace_http.inference import infer


@pytest.mark.parametrize("work", [infer, tcptrace_http.whatif])
def test_a_retrieval_by_streams_is_refused_in_words(sample_traces, work):
    analysis = tcptrace_http.analyze(sample_traces / "h2_nagle.pcap")
    with pytest.raises(ScenarioError, match="streams of HTTP/2"):
        work(analysis)
