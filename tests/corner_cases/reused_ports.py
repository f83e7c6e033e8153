"""New connections on the same ports (RFC 9293, section 3.4.3; RFC 6191)."""

from .script import Case, Row, Talk, case, get, response


def exchange(talk: Talk, target: str) -> None:
    talk.C(get(target), "P.")
    talk.S(response("ok"), "P.")


@case("RFC 6191: a SYN with a greater number opens another connection in TIME-WAIT")
def after_the_fins() -> Case:
    talk = Talk()
    talk.open()
    exchange(talk, "/a")  # 4, 5
    talk.close()  # 6 to 8
    talk.again(initial=1_000_000)
    talk.open()  # 9 to 11
    exchange(talk, "/b")  # 12, 13
    return Case(
        talk.records,
        rows=[
            Row("GET /a", 200, (4, 5, 5), 2, "content_length"),
            Row("GET /b", 200, (12, 13, 13), 2, "content_length", flow=1),
        ],
        flows=[{"packets": 8, "closed_by": "client"}, {"packets": 5, "closed_by": "open"}],
    )


@case("RFC 9293, section 3.10.7.4: a reset leaves no TIME-WAIT")
def after_a_reset() -> Case:
    talk = Talk()
    talk.open()
    exchange(talk, "/a")  # 4, 5
    talk.C(flags="R.")  # 6
    talk.again(initial=77)
    talk.open()  # 7 to 9
    exchange(talk, "/b")  # 10, 11
    return Case(
        talk.records,
        rows=[
            Row("GET /a", 200, (4, 5, 5), 2, "content_length"),
            Row("GET /b", 200, (10, 11, 11), 2, "content_length", flow=1),
        ],
        flows=[{"packets": 6, "closed_by": "client_reset"}, {"packets": 5, "closed_by": "open"}],
    )


@case("RFC 9293, section 3.4.3: the old connection was never closed in this capture")
def without_an_end() -> Case:
    talk = Talk()
    talk.open()
    exchange(talk, "/a")  # 4, 5
    talk.again(initial=77)
    talk.open()  # 6 to 8
    exchange(talk, "/b")  # 9, 10
    return Case(
        talk.records,
        rows=[
            Row("GET /a", 200, (4, 5, 5), 2, "content_length"),
            Row("GET /b", 200, (9, 10, 10), 2, "content_length", flow=1),
        ],
        flows=[{"packets": 5}, {"packets": 5}],
    )


@case("RFC 9293, section 3.4.1: the same initial number cannot be told from a SYN that is sent again")
def with_the_same_initial_number() -> Case:
    talk = Talk()
    talk.open()
    exchange(talk, "/a")  # 4, 5
    talk.close()  # 6 to 8
    talk.again()
    talk.C(flags="S", after=60_000_000_000)  # 9
    return Case(
        talk.records,
        rows=[Row("GET /a", 200, (4, 5, 5), 2, "content_length")],
        flows=[{"packets": 9, "closed_by": "client"}],
    )
