"""Retrievals: which transactions of a client made up one page.

The evidence, the strongest first: a response sends the client on to the target (``Location``); the
request says where its target was found (``Referer``); a document fetched before refers to it; and where
nothing does, time: a transaction belongs to the page before it unless the client was silent for a second.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urljoin

from tcptrace_http.schema import TABLES, polars_schema

if TYPE_CHECKING:
    import polars as pl

__all__ = ["Retrievals", "requests", "retrievals"]

#: A silence of the client from which on a transaction that nothing else explains begins a new page.
#: B. Mah, An Empirical Model of HTTP Network Traffic (INFOCOM 1997) divides pages at one second, and
#: P. Barford and M. Crovella (SIGMETRICS 1998) the off times of the browser from those of the user.
SILENCE_MIN_NS: Final = 1_000_000_000
#: After a silence this long it was the user or a timer, whatever Referer says: a page that stands open goes
#: on asking. Google's Time to Interactive takes a page as loaded when the network was quiet for 5 s.
LOADED_SILENCE_MIN_NS: Final = 5_000_000_000
#: How sure it is that a transaction belongs to the retrieval, by its evidence. A Location and a Referer
#: are what the peers themselves say; a link may be followed again by a later page; and time is a guess
#: of which Mah found no better.
CONFIDENCE: Final = {"base": 1.0, "redirect": 0.95, "referer": 0.95, "link": 0.9, "time": 0.6}

_HTML: Final = r"^(?i)\s*(text/html|application/xhtml\+xml)\b"
_ABSOLUTE: Final = r"^(?i)([a-z][a-z0-9+.-]*)://([^/?]*)(.*)$"
_REDIRECTS: Final = (301, 302, 303, 307, 308)
_SUCCESS_MAX: Final = 299
_REDIRECT_MAX: Final = 399


class Retrievals(NamedTuple):
    """The tables ``retrievals`` and ``retrieval_transactions``."""

    retrievals: pl.DataFrame
    transactions: pl.DataFrame


def requests(transactions: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """What of each transaction the grouping reads; those without a request are left out.

    The flows are those of the transactions; the result needs neither table any more.
    """
    import polars as pl

    of_flow = flows.select("flow", "client", "server", "server_port", "has_syn", "initial_rtt", flow_start="start")
    authority = pl.coalesce("host", pl.format("{}:{}", "server", "server_port"))
    target = pl.col("target")
    url = pl.when(target.str.contains("://", literal=True)).then(target).otherwise("http://" + authority + target)
    end = pl.coalesce("response_last_time", "response_first_time", "request_last_time", "request_time")
    return (
        transactions.lazy()
        .filter(pl.col("request_time").is_not_null() & (pl.col("method") != "CONNECT"))
        .join(of_flow.lazy(), on="flow", how="left", maintain_order="left")
        .select(
            "client",
            "flow",
            "request_time",
            "status",
            "location",
            transaction="index",
            url=_normal(url),
            referer=_normal(pl.col("referer")),
            is_html=pl.col("content_type").str.contains(_HTML).fill_null(value=False),
            start=_start(),
            answer_time=pl.col("response_first_time"),
            end=pl.max_horizontal("request_time", end),
            bytes=pl.col("response_wire_bytes").fill_null(0),
        )
        .collect()
    )


def _start() -> pl.Expr:
    """The SYN of a connection that was opened for the transaction; a spare one waited longer for a request."""
    import polars as pl

    spare = pl.col("request_time") - pl.col("flow_start") - pl.col("initial_rtt")
    is_opened = (pl.col("index") == 0) & pl.col("has_syn") & (spare.dt.total_nanoseconds() < SILENCE_MIN_NS)
    return pl.when(is_opened).then("flow_start").otherwise("request_time")


def _normal(url: pl.Expr) -> pl.Expr:
    """A URL as it is compared: without a fragment and the default port, the host in small letters."""
    import polars as pl

    bare = url.str.replace("#.*$", "")
    scheme = bare.str.extract(_ABSOLUTE, 1).str.to_lowercase()
    host = bare.str.extract(_ABSOLUTE, 2).str.to_lowercase().str.replace(":80$", "")
    rest = bare.str.extract(_ABSOLUTE, 3)
    rooted = pl.when(rest.str.starts_with("/")).then(rest).otherwise("/" + rest)
    return pl.coalesce(scheme + "://" + host + rooted, bare)


def _resolved_links(links: pl.DataFrame, of: pl.DataFrame) -> pl.DataFrame:
    """The links with absolute URLs, by client and with the row of their document."""
    import polars as pl

    documents = of.select("client", "flow", "transaction", "row", document="url")
    joined = links.join(documents, on=["flow", "transaction"], how="inner", maintain_order="left")
    places = zip(joined["document"], joined["base"], joined["url"], strict=True)
    urls = [_resolved(_resolved(document, base or ""), url) for document, base, url in places]
    return joined.select("client", "row", pl.Series("url", urls, dtype=pl.String), known="time").with_columns(
        url=_normal(pl.col("url"))
    )


def _resolved(base: str, url: str) -> str:
    """RFC 3986, section 5.2; what is no URL stays as it is."""
    try:
        return urljoin(base, url)
    except ValueError:
        return url


def _resolved_locations(ordered: pl.DataFrame) -> pl.DataFrame:
    """The redirects with the URL that they lead to."""
    import polars as pl

    redirects = ordered.filter(pl.col("status").is_in(_REDIRECTS), pl.col("location").is_not_null())
    places = zip(redirects["url"], redirects["location"], strict=True)
    urls = pl.Series("url", [_resolved(url, location) for url, location in places], dtype=pl.String)
    return redirects.with_columns(urls).with_columns(url=_normal(pl.col("url")))


def retrievals(requests: pl.DataFrame, links: pl.DataFrame) -> Retrievals:
    """The retrievals of all clients, from the :func:`requests` and ``links`` of a whole capture."""
    import polars as pl

    ordered = requests.sort("client", "request_time", "flow", "transaction").with_row_index("row")
    members = _grouped(_without_kept_style_sheets(_without_navigation(_caused(ordered, links))))
    by_start = (
        members.group_by("group", maintain_order=True)
        .agg(
            pl.col("client", "flow", "transaction", "url", "start").first(),
            end=pl.col("end").max(),
            transactions=pl.len(),
            flows=pl.col("flow").n_unique(),
            bytes=pl.col("bytes").sum(),
            how_grouped=pl.col("how").to_physical().max(),
            confidence=pl.col("how").replace_strict(CONFIDENCE, return_dtype=pl.Float64).mean(),
        )
        .sort("start", "flow", "transaction")
        .with_row_index("retrieval")
    )
    kinds = polars_schema(TABLES["retrievals"])
    pages = by_start.with_columns(
        pl.col("how_grouped").cat.to(kinds["how_grouped"]), elapsed=pl.col("end") - pl.col("start")
    )
    causes = members.select(initiator="row", initiator_flow="flow", initiator_transaction="transaction")
    of_pages = (
        members.join(by_start.select("group", "retrieval"), on="group", how="left")
        .join(causes, on="initiator", how="left")
        .sort("retrieval", "request_time", "flow", "transaction")
    )
    return Retrievals(_as(pages, "retrievals"), _as(of_pages, "retrieval_transactions"))


def _as(frame: pl.DataFrame, table: str) -> pl.DataFrame:
    import polars as pl

    return frame.select(pl.col(name).cast(dtype) for name, dtype in polars_schema(TABLES[table]).items())


def _caused(ordered: pl.DataFrame, links: pl.DataFrame) -> pl.DataFrame:
    """Adds what caused each request: the row ``initiator``, ``how`` that is known, and since when."""
    import polars as pl

    answered = ordered.filter(pl.col("answer_time").is_not_null())
    redirects = _resolved_locations(answered).select("client", "url", redirect="row", at="answer_time")
    documents = answered.select("client", referer="url", document="row", at="answer_time")
    found = _resolved_links(links, ordered).select("client", "url", linking="row", at="known", known="known")
    caused = _latest(ordered, redirects, "url", within_ns=SILENCE_MIN_NS)
    caused = _latest(caused, documents, "referer")
    caused = _latest(caused, found, "url").sort("row")
    ends = pl.col("end").gather(pl.col("initiator"))
    is_linked = pl.col("initiator") == pl.col("linking")
    return (
        caused.with_columns(
            initiator=pl.coalesce("redirect", "document", "linking"),
            how=pl.when(pl.col("redirect").is_not_null())
            .then(pl.lit("redirect"))
            .when(pl.col("document").is_not_null())
            .then(pl.lit("referer"))
            .when(pl.col("linking").is_not_null())
            .then(pl.lit("link")),
        )
        .with_columns(known=pl.min_horizontal(pl.when(is_linked).then("known").otherwise(ends), "request_time"))
        .with_columns(known=pl.when(pl.col("initiator").is_not_null()).then("known"))
    )


def _latest(left: pl.DataFrame, right: pl.DataFrame, url: str, *, within_ns: int | None = None) -> pl.DataFrame:
    """The latest row of ``right`` with the same client and ``url`` that was there ``at`` the request."""
    within = None if within_ns is None else f"{within_ns}ns"
    return (
        left.sort("request_time", "row")
        .join_asof(
            right.sort("at", maintain_order=True),
            left_on="request_time",
            right_on="at",
            by=["client", url],
            strategy="backward",
            tolerance=within,
            check_sortedness=False,
        )
        .drop("at")
    )


def _without_navigation(caused: pl.DataFrame) -> pl.DataFrame:
    """Takes the cause from what the user asked for: a page that the one before had a link to click on."""
    import polars as pl

    before = pl.col("end").cum_max().shift(1).over("client")
    silence = (pl.col("request_time") - before).dt.total_nanoseconds()
    is_page = pl.col("is_html") | pl.col("status").is_in(_REDIRECTS)
    is_clicked = (pl.col("how") == "referer") & pl.col("linking").is_null() & is_page & (silence >= SILENCE_MIN_NS)
    is_caused = ~(is_clicked & (pl.col("status") <= _REDIRECT_MAX)).fill_null(value=False)
    is_caused &= (silence < LOADED_SILENCE_MIN_NS) & (pl.col("initiator") < pl.col("row"))
    return caused.with_columns(
        pl.when(is_caused).then(pl.col("initiator", "how", "known")),
        is_first_after_silence=silence >= SILENCE_MIN_NS,
    )


def _without_kept_style_sheets(caused: pl.DataFrame) -> pl.DataFrame:
    """Takes the cause from what a style sheet of an earlier page refers to, if a newer page has begun.

    The client has kept the style sheet, and the newer page is what needs it now.
    """
    import polars as pl

    last_of_group = pl.col("end").cum_max().shift(1).over("group")
    is_silent = (pl.col("request_time") - last_of_group).dt.total_nanoseconds() >= SILENCE_MIN_NS
    is_of_object = ~pl.col("is_html").gather(pl.col("initiator"))
    is_newer = pl.col("newest") != pl.col("group")
    is_kept = (is_of_object & is_newer & is_silent).fill_null(value=False)
    kept = _grouped(caused).select(is_kept).to_series()
    return caused.with_columns(pl.when(~kept).then(pl.col("initiator", "how", "known")))


def _grouped(caused: pl.DataFrame) -> pl.DataFrame:
    """Adds the number ``group`` of the retrieval, the ``newest`` so far, and the words for ``how`` about time."""
    import polars as pl

    is_root = pl.col("initiator").is_null()
    to_page = caused.filter((pl.col("how") == "redirect") & pl.col("is_html"))["initiator"]
    has_objects = pl.col("row").is_in(caused["initiator"].drop_nulls().unique().implode())
    # A client that sends Referer leaves it out where the user named the page.
    is_named = pl.col("referer").is_not_null().any().over("client")
    is_document = pl.col("is_html") & (pl.col("status") <= _SUCCESS_MAX) & (has_objects | is_named)
    is_page = is_document | pl.col("row").is_in(to_page.implode())
    begun = caused.with_columns(
        begins=is_root & pl.col("is_first_after_silence").fill_null(value=True) | (is_root & is_page)
    ).with_columns(begins=pl.col("begins").fill_null(value=False))
    begun = begun.with_columns(run=pl.col("begins").cum_sum())
    # A page does not ask for its own document again.
    is_again = (pl.col("url") == pl.col("url").first().over("run")) & (
        pl.col("end").shift(1).over("run", "url") <= pl.col("request_time")
    )
    begun = begun.with_columns(begins=pl.col("begins") | (is_root & is_again).fill_null(value=False))
    numbers = begun.select(pl.col("begins").cum_sum()).to_series()
    roots = _roots(begun.select(pl.coalesce("initiator", "row")).to_series())
    how = pl.when("begins").then(pl.lit("base")).otherwise(pl.coalesce("how", pl.lit("time")))
    membership = polars_schema(TABLES["retrieval_transactions"])["how"]
    return begun.with_columns(newest=numbers, group=numbers.gather(roots), how=how.cast(membership))


def _roots(causes: pl.Series) -> pl.Series:
    """For each row where the chain of its causes begins; what has no cause is its own."""
    while True:
        # Each round doubles how far a row looks back.
        further = causes.gather(causes)
        if further.equals(causes):
            return causes
        causes = further
