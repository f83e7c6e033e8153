"""Requests sent before the responses to earlier requests (RFC 9112, section 9.3.2)."""

from .script import Case, Row, Talk, case, get, response

REQUESTS = 1000
LOST = 500
NEVER_SEEN = "tshark shows some messages behind a hole in other frames, or not at all"


def thousand(*, resent: bool) -> tuple[Talk, list[int], list[int | None]]:
    """Return each request and response in a segment of its own, and the frames of both."""
    talk = Talk()
    talk.open()
    requests = []
    for number in range(REQUESTS):
        talk.C(get(f"/{number}"), "P.", after=1000)
        requests.append(len(talk.records))
    responses: list[int | None] = []
    for number in range(REQUESTS):
        start = talk.sent["S"]
        talk.S(response(f"{number:04}"), "P.", after=10_000, lost=number == LOST)
        responses.append(None if number == LOST else len(talk.records))
        if number == LOST:
            lost_start = start
    if resent:
        talk.C(ack=lost_start)
        talk.S(response(f"{LOST:04}"), "P.", seq=lost_start, after=50_000_000)
        responses[LOST] = len(talk.records)
    talk.C()
    return talk, requests, responses


@case("RFC 9112, section 9.3.2: responses come in the order of the requests")
def one_response_of_a_thousand_is_sent_again() -> Case:
    talk, requests, responses = thousand(resent=True)
    rows = [
        Row(f"GET /{at}", 200, (request, answer, answer), 4, "content_length", pipelined=at > 0)
        for at, (request, answer) in enumerate(zip(requests, responses, strict=True))
    ]
    return Case(
        talk.records,
        rows=rows,
        segments={"is_retransmission": [responses[LOST] or 0]},
        tshark_differs={"responses": "tshark shows all that waited for a segment in its frame"},
    )


@case("RFC 9112, section 9.3.2: only the order of responses identifies their requests")
def one_response_of_a_thousand_was_never_captured() -> Case:
    """Return responses after a hole of unknown content: no row pairs messages by counting."""
    talk, requests, responses = thousand(resent=False)
    before = [
        Row(f"GET /{at}", 200, (requests[at], responses[at], responses[at]), 4, "content_length", pipelined=at > 0)
        for at in range(LOST)
    ]
    requested = [
        Row(f"GET /{at}", None, (requests[at], None, None), complete=False, pipelined=True)
        for at in range(LOST, REQUESTS)
    ]
    alone = [
        Row(None, 200, (None, answer, answer), 4, "content_length", complete=False, request_body=None, host=None)
        for answer in responses[LOST + 1 :]
    ]
    return Case(
        talk.records,
        rows=before + requested + alone,
        anomalies=[("capture_gap", len(talk.records))],
        flows=[{"server_gap_bytes": len(response("0000"))}],
        tshark_differs={"responses": NEVER_SEEN},
    )


@case("RFC 9112, section 9.3.2: two requests in one segment, two responses in one")
def two_at_once() -> Case:
    talk = Talk()
    talk.open()
    talk.C(get("/a") + get("/b"), "P.")  # 4
    talk.S(response("a") + response("b"), "P.")  # 5
    return Case(
        talk.records,
        rows=[
            Row("GET /a", 200, (4, 5, 5), 1, "content_length"),
            Row("GET /b", 200, (4, 5, 5), 1, "content_length", pipelined=True),
        ],
    )
