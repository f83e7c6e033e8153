"""Invalid or multiple Content-Length (RFC 9112, section 6.3, item 5; RFC 9110, section 8.6)."""

from .bodies import answered
from .script import Case, Row, case

CLAUSE = "RFC 9112, section 6.3, item 5"


def lengths(*values: str) -> str:
    fields = "".join(f"Content-Length: {value}\r\n" for value in values)
    return f"HTTP/1.1 200 OK\r\n{fields}\r\nhello"


def invalid(*values: str, **more: object) -> Case:
    """Return a response that the recipient discards with its connection; rows show the data until then."""
    row = Row("GET /a", 200, (4, 5, 5), 5, "until_close")
    return answered(lengths(*values), row, anomalies=[("ambiguous_framing", 5)], **more)


@case(CLAUSE + ": not 1*DIGIT")
def negative() -> Case:
    return invalid("-5")


@case("RFC 9110, section 8.6: recipients must anticipate large numbers and prevent overflow")
def over_64_bits() -> Case:
    return invalid("18446744073709551621")


@case(CLAUSE + ": values that differ")
def doubled_and_differing() -> Case:
    return invalid("5", "6")


@case(CLAUSE + ": a list whose values differ")
def list_that_differs() -> Case:
    return invalid("5, 6")


@case(CLAUSE + ": identical values may be taken for one")
def doubled_and_equal() -> Case:
    return answered(lengths("5", "5"), Row("GET /a", 200, (4, 5, 5), 5, "content_length"))


@case(CLAUSE + ": a list of identical values may be taken for one")
def list_of_equals() -> Case:
    return answered(
        lengths("5, 5"),
        Row("GET /a", 200, (4, 5, 5), 5, "content_length"),
        tshark_differs={"responses": "tshark reads no list, and shows the response at the FIN"},
    )


@case("RFC 9110, section 8.6: leading zeros are digits")
def leading_zeros() -> Case:
    return answered(lengths("0000000000000000000000000000005"), Row("GET /a", 200, (4, 5, 5), 5, "content_length"))
