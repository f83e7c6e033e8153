"""Page of the baselines: the models' predictions, and their distance from the simulator."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from reference_sim.reproduction import baselines
from reference_sim.reproduction.baselines import MODELS
from reference_sim.reproduction.report import words
from reference_sim.reproduction.report.html import document, escape

if TYPE_CHECKING:
    from collections.abc import Sequence

    import altair as alt
    import polars as pl

    from reference_sim.reproduction.baselines import Row
    from reference_sim.reproduction.experiment import Effort
    from reference_sim.reproduction.report.charts import Drawing

__all__ = ["baselines_chart", "baselines_frame", "baselines_page", "typical_residuals"]

TITLE = "Analytic models beside the simulator"


def baselines_frame(rows: Sequence[Row]) -> pl.DataFrame:
    """Return one row per scenario and model."""
    import polars as pl

    return pl.DataFrame(
        [
            {
                "segments": row.cell.segments,
                "rtt_ms": row.cell.rtt_ms,
                "loss": row.cell.loss,
                "segments_per_ack": row.cell.acked,
                "simulated_s": row.simulated.value,
                "simulated_low_s": row.simulated.low,
                "simulated_high_s": row.simulated.high,
                "model": model,
                "modelled_s": seconds,
                "residual": row.residual(model),
            }
            for row in rows
            for model, seconds in row.modelled.items()
        ]
    )


def typical_residuals(rows: Sequence[Row]) -> dict[str, tuple[int, float]]:
    """Return, per model, the number of valid scenarios and the median absolute residual."""
    found = {
        model.name: [abs(row.residual(model.name)) for row in rows if model.name in row.modelled]
        for model in MODELS
    }
    return {name: (len(residuals), median(residuals)) for name, residuals in found.items()}


def baselines_chart(rows: Sequence[Row]) -> alt.TopLevelMixin:
    """Return the residuals of each model, except the bounds."""
    import altair as alt

    frame = baselines_frame(rows).filter(~baselines_frame(rows)["model"].str.ends_with("bound"))
    names = [model.name for model in MODELS if not model.name.endswith("bound")]
    chart: alt.Chart = (
        alt.Chart(frame)
        .mark_point()
        .encode(
            x=alt.X("residual:Q", title="residual: model time above simulated time", axis=alt.Axis(format="+.0%")),
            y=alt.Y("model:N", sort=names, title=None),
            yOffset=alt.YOffset("loss:N"),
            color=alt.Color("loss:N", title="lost", legend=alt.Legend(format=".0%")),
            shape=alt.Shape("rtt_ms:N", title="round trip, ms"),
        )
        .properties(height=420)
    )
    return chart


def baselines_page(rows: Sequence[Row], drawing: Drawing, effort: Effort) -> str:
    """Return the HTML of the page."""
    about = " ".join((baselines.__doc__ or "").partition("\n\n")[2].split())
    sources = "".join(
        f"<tr><th scope='row'>{escape(model.name)}</th><td>{escape(model.source)}</td>"
        f"<td class='n'>{count}</td><td class='n'>{words.percent(typical)}</td></tr>"
        for model, (count, typical) in zip(MODELS, typical_residuals(rows).values(), strict=True)
    )
    headings = "".join(f"<th scope='col' class='n'>{escape(model.name)}</th>" for model in MODELS)
    body = f"""<header><p class="up"><a href="index.html">All papers</a></p>
<h1>{TITLE}</h1>
<p>{escape(about)}</p></header>
<main><section id="models"><h2>The models</h2>
<div class="scroll table"><table><thead><tr><th scope="col">Model</th>
<th scope="col">Source, and where it is valid</th>
<th scope="col" class="n">Scenarios</th><th scope="col" class="n">Median residual</th></tr></thead>
<tbody>{sources}</tbody></table></div>
<figure><div class="scroll">{drawing.inline}</div>
<figcaption>{escape(drawing.title)}</figcaption></figure></section>
<section id="scenarios"><h2>The scenarios</h2>
<p class="note">Seconds of one response, and in brackets the residual.</p>
<div class="scroll table" tabindex="0" role="region" aria-label="Models and simulator"><table><thead><tr>
<th scope="col" class="n">Segments</th><th scope="col" class="n">RTT</th><th scope="col" class="n">Lost</th>
<th scope="col" class="n">Per ACK</th><th scope="col" class="n">Simulator</th><th scope="col" class="n">95 %</th>
{headings}</tr></thead>
<tbody>
{"".join(map(_row, rows))}</tbody></table></div></section></main>"""
    return document(TITLE, body, effort)


def _row(row: Row) -> str:
    cell = row.cell
    given = (str(cell.segments), f"{cell.rtt_ms} ms", f"{100 * cell.loss:g} %", str(cell.acked))
    simulated = (words.figure(row.simulated.value), words.interval(row.simulated))
    modelled = (
        f"{words.figure(row.modelled[model.name])} ({words.percent(row.residual(model.name), signed=True)})"
        if model.name in row.modelled
        else ""
        for model in MODELS
    )
    cells = "".join(f'<td class="n">{text}</td>' for text in (*given, *simulated, *modelled))
    return f"<tr>{cells}</tr>\n"
