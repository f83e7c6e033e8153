"""Configurations and command lines of nginx and HAProxy."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Final

from .scenario import FRONT_PORT, SERVER_PORT

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from .scenario import Proxy

__all__ = ["command", "nginx_command", "nginx_of_files", "write_files"]

_SBIN: Final = "/usr/sbin:/usr/local/sbin:/usr/bin"
_NGINX: Final = """daemon off; worker_processes 1; pid {folder}/nginx{port}.pid; user root;
error_log {folder}/nginx{port}.err;
events {{ worker_connections 256; }}
http {{
    access_log off; default_type application/octet-stream; keepalive_requests 100000;
    client_body_temp_path {folder}/body{port}; proxy_temp_path {folder}/proxy{port};
    fastcgi_temp_path {folder}/fcgi{port}; uwsgi_temp_path {folder}/uwsgi{port};
    scgi_temp_path {folder}/scgi{port};
    client_max_body_size 10m;
{http}
}}
"""
_NGINX_PROXY: Final = """    upstream u {{ server {upstream}:{server_port}; keepalive 8; }}
    server {{
        listen {port};
        location / {{ proxy_pass http://u; proxy_http_version 1.1; proxy_set_header Connection ""; }}
    }}"""
_HAPROXY: Final = """global
    maxconn 256
    nbthread 1
defaults
    mode http
    timeout connect 5s
    timeout client 60s
    timeout server 60s
{directives}
frontend front
    bind *:{port}
    default_backend back
backend back
    server up {upstream}:{server_port}
"""


def command(folder: Path, proxy: Proxy, upstream: str) -> list[str]:
    """Write the configuration of a proxy in front of ``upstream``; return its start command."""
    names = {"upstream": upstream, "port": FRONT_PORT, "server_port": SERVER_PORT}
    if proxy.software == "nginx":
        http = _lines(proxy.directives, ";") + "\n" + _NGINX_PROXY.format(**names)
        return nginx_command(_nginx(folder, FRONT_PORT, http))
    path = folder / "haproxy.cfg"
    path.write_text(_HAPROXY.format(directives=_lines(proxy.directives, ""), **names))
    return [_program("haproxy"), "-db", "-f", str(path)]


def nginx_command(configuration: Path) -> list[str]:
    folder = str(configuration.parent)
    return [_program("nginx"), "-p", folder, "-c", str(configuration), "-e", f"{configuration}.err"]


def nginx_of_files(folder: Path, files: Path, directives: Iterable[tuple[str, str]], port: int) -> Path:
    """Write the configuration of an nginx that serves a folder."""
    server = f"    server {{ listen {port}; root {files}; }}"
    return _nginx(folder, port, _lines(directives, ";") + "\n" + server)


def write_files(folder: Path, sizes: Iterable[int]) -> Path:
    files = folder / "files"
    files.mkdir()
    for size in sizes:
        (files / f"{size}.bin").write_bytes(b"x" * size)
    return files


def _nginx(folder: Path, port: int, http: str) -> Path:
    path = folder / f"nginx{port}.conf"
    path.write_text(_NGINX.format(folder=folder, port=port, http=http))
    return path


def _lines(directives: Iterable[tuple[str, str]], end: str) -> str:
    return "\n".join(f"    {name} {value}".rstrip() + end for name, value in directives)


def _program(name: str) -> str:
    return shutil.which(name, path=_SBIN) or name
