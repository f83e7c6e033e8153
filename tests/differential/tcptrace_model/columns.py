"""Figures of a direction in tcptrace's output form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .numbers import LONG, WORD, elapsed

if TYPE_CHECKING:
    from .direction import Direction


def values_of(this: Direction, duration: int, idle: int, *, both_scaled: bool) -> dict[str, str]:
    n, stream = this.n, _stream(this)
    windows = n["scaled"] if both_scaled else n["packets"]
    whole: dict[str, int] = {
        "total_packets": n["packets"], "resets_sent": this.resets, "ack_pkts_sent": n["ack_packets"],
        "pure_acks_sent": n["pure_acks"], "sack_pkts_sent": n["sack_acks"], "dsack_pkts_sent": n["dsacks"],
        "max_sack_blks/ack": n["sack_blocks"], "unique_bytes_sent": n["unique"],
        "actual_data_pkts": n["data_packets"], "actual_data_bytes": n["data_bytes"],
        "rexmt_data_pkts": n["resent_packets"], "rexmt_data_bytes": n["resent_bytes"],
        "zwnd_probe_pkts": n["probes"], "zwnd_probe_bytes": n["probe_bytes"], "outoforder_pkts": n["late"],
        "pushed_data_pkts": n["pushed"], "adv_wind_scale": this.scale, "sacks_sent": n["sacks"],
        "urgent_data_pkts": n["urgent"], "urgent_data_bytes": n["urgent_bytes"], "mss_requested": this.mss,
        "max_segm_size": n["size_max"], "min_segm_size": n["size_min"],
        "avg_segm_size": int(n["data_bytes"] / (n["data_packets"] + 0.001)),
        "max_win_adv": n["window_max"], "min_win_adv": n["window_min"], "zero_win_adv": n["window_zero"],
        "avg_win_adv": n["window_total"] // windows if windows else 0,
        "max_owin": n["flight_max"], "min_non-zero_owin": n["flight_min"],
        "avg_owin": n["flight_total"] // n["flights"] if n["flights"] else 0,
        "initial_window_bytes": n["initial_bytes"], "initial_window_pkts": n["initial_packets"],
        "truncated_data": n["cut_bytes"], "truncated_packets": n["cut_packets"], "hardware_dups": n["copies"],
        "RTT_samples": this.rtt.count, "RTT_full_sz_smpls": this.full.count, "post-loss_acks": n["post_loss"],
        "ambiguous_acks": this.last.count, "segs_cum_acked": n["cumulative"], "duplicate_acks": n["duplicates"],
        "triple_dupacks": n["triples"], "max_#_retrans": n["resent_max"],
    }  # fmt: skip
    text = {
        "SYN/FIN_pkts_sent": f"{this.syns}/{this.fins}",
        "req_1323_ws/ts": f"{'NY'[this.has_scale]}/{'NY'[this.has_stamps]}",
        "req_sack": "NY"[this.may_sack],
        "wavg_owin": str(int(this.weighted / (duration / 1_000_000))) if duration else "NA",
        "ttl_stream_length": "NA" if stream is None else str(stream),
        "missed_data": "NA" if stream is None else str((stream - n["unique"]) % LONG),
        "data_xmit_time": f"{elapsed(this.first_data or 0, this.last_data) / 1_000_000:.3f}",
        "idletime_max": "NA" if this.time is None else f"{idle / 1000:.1f}",
        "throughput": f"{n['unique'] / (duration / 1_000_000):.0f}" if duration else "NA",
        "RTT_from_3WHS": f"{this.rtt_handshake / 1000:.1f}",
    }
    for times, least, most, mean, deviation in (
        (this.rtt, "RTT_min", "RTT_max", "RTT_avg", "RTT_stdev"),
        (this.full, "RTT_full_sz_min", "RTT_full_sz_max", "RTT_full_sz_avg", "RTT_full_sz_stdev"),
        (this.last, "RTT_min_(last)", "RTT_max_(last)", "RTT_avg_(last)", "RTT_sdv_(last)"),
        (this.resending, "min_retr_time", "max_retr_time", "avg_retr_time", "sdv_retr_time"),
    ):
        text[least], text[most] = f"{times.least / 1000:.1f}", f"{times.most / 1000:.1f}"
        text[mean], text[deviation] = f"{times.mean() / 1000:.1f}", f"{times.deviation() / 1000:.1f}"
    return {name: str(value) for name, value in whole.items()} | text


def _stream(this: Direction) -> int | None:
    if not (this.syns and this.fins):
        return None
    last = this.latest if this.resets else this.fin
    return last - this.syn - 1 if last > this.syn else WORD + last - this.syn - 1
