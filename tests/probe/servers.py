"""Real servers on loopback with one configuration each: nginx, Apache, lighttpd, nghttpd, and a custom server.

Each serves ``/large.html`` (120 kB of text) and ends with the ``with`` block.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from probe.tls_servers import Certificate

LARGE = "/large.html"
_START_SECONDS = 20
_LINE = b"<p>What a probe asks for, line by line, until it is large enough to take many segments.</p>\n"

NGINX = """
worker_processes 1; daemon off; pid {folder}/pid; error_log {folder}/error.log;
events {{}}
http {{
  access_log off; root {www}; types {{ text/html html; }} default_type text/html;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  {http}
  server {{ listen {address}:{port}; {server} }}
}}
"""
APACHE = """
ServerRoot {folder}
PidFile {folder}/pid
ErrorLog {folder}/error.log
Mutex file:{folder}
User www-data
Group www-data
Listen {address}:{port}
ServerName localhost
LoadModule mpm_{mpm}_module /usr/lib/apache2/modules/mod_mpm_{mpm}.so
LoadModule authz_core_module /usr/lib/apache2/modules/mod_authz_core.so
LoadModule mime_module /usr/lib/apache2/modules/mod_mime.so
LoadModule filter_module /usr/lib/apache2/modules/mod_filter.so
LoadModule deflate_module /usr/lib/apache2/modules/mod_deflate.so
TypesConfig /etc/mime.types
DocumentRoot {www}
{http}
"""
LIGHTTPD = """
server.document-root = "{www}"
server.port = {port}
server.bind = "{address}"
server.errorlog = "{folder}/error.log"
mimetype.assign = ( ".html" => "text/html" )
{http}
"""


HAPROXY = """global
    nbthread 1
defaults
    mode http
    timeout client 5s
    timeout server 5s
    timeout connect 5s
frontend front
    bind {address}:{clear} proto h2
    bind {address}:{secure} ssl crt {pem} alpn h2,http/1.1
    default_backend back
backend back
    server upstream {upstream}
"""
CADDY = """{{
    admin off
    auto_https off
    servers {{
        protocols h1 h2 h2c
    }}
}}
http://:{clear} {{
    reverse_proxy {upstream}
}}
https://:{secure} {{
    tls {public} {key}
    reverse_proxy {upstream}
}}
"""


def free_port(address: str = "127.0.0.1") -> int:
    with socket.socket() as taken:
        taken.bind((address, 0))
        return int(taken.getsockname()[1])


@contextmanager
def readable_folder() -> Iterator[Path]:
    """Yield a folder that any user may read: servers started by root run as another user."""
    with tempfile.TemporaryDirectory(prefix="tcptrace-http-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


def document(folder: Path, size: int = 120_000) -> Path:
    """Return a folder of documents."""
    www = folder / "www"
    www.mkdir(parents=True, exist_ok=True)
    (www / LARGE[1:]).write_bytes((_LINE * (size // len(_LINE) + 1))[:size])
    return www


@contextmanager
def nginx(folder: Path, *, http: str = "", server: str = "", port: int = 0) -> Iterator[str]:
    """Start nginx with directives of the contexts http and server; yield its base URL."""
    command = ["nginx", "-p", str(folder), "-c"]
    with _started(folder, NGINX, "nginx.conf", command, port=port, http=http, server=server) as url:
        yield url


@contextmanager
def nginx_within(folder: Path, namespace: str, address: str, *, server: str = "") -> Iterator[str]:
    """Start nginx in a network namespace, with directives of the context server."""
    path = folder / "nginx.conf"
    words = {"folder": folder, "www": document(folder), "address": address, "port": 80, "server": server}
    path.write_text(NGINX.format(http="", **words))
    command = ["ip", "netns", "exec", namespace, "nginx", "-p", str(folder), "-c", str(path)]
    with subprocess.Popen(command, start_new_session=True) as process:
        try:
            _wait_for_file(process, folder / "pid")
            yield f"http://{address}"
        finally:
            process.terminate()
            process.wait(_START_SECONDS)


@contextmanager
def apache(folder: Path, *, http: str = "", mpm: str = "prefork") -> Iterator[str]:
    """Start Apache httpd with further directives and a process model: mod_http2 needs ``event``."""
    command = ["apache2", "-D", "FOREGROUND", "-d", str(folder), "-f"]
    with _started(folder, APACHE, "apache.conf", command, http=http, mpm=mpm) as url:
        yield url


@contextmanager
def lighttpd(folder: Path, *, http: str = "") -> Iterator[str]:
    """Start lighttpd with further directives."""
    with _started(folder, LIGHTTPD, "lighttpd.conf", ["lighttpd", "-D", "-f"], http=http) as url:
        yield url


@contextmanager
def haproxy(folder: Path, upstream: str, certificate: Certificate) -> Iterator[tuple[str, str]]:
    """Start HAProxy in front of a server; yield its base URLs for HTTP/2 in cleartext and in TLS."""
    pem = folder / "haproxy.pem"
    pem.write_text(certificate.public.read_text() + certificate.key.read_text())
    clear, secure = free_port(), free_port()
    path = folder / "haproxy.cfg"
    words = {"address": "127.0.0.1", "clear": clear, "secure": secure, "pem": pem}
    path.write_text(HAPROXY.format(upstream=upstream.removeprefix("http://"), **words))
    with _running([shutil.which("haproxy") or "/usr/sbin/haproxy", "-db", "-f", str(path)], "127.0.0.1", secure):
        yield f"http://127.0.0.1:{clear}", f"https://127.0.0.1:{secure}"


@contextmanager
def caddy(folder: Path, upstream: str, certificate: Certificate) -> Iterator[tuple[str, str]]:
    """Start Caddy in front of a server, as :func:`haproxy` does."""
    clear, secure = free_port(), free_port()
    path = folder / "Caddyfile"
    words = {"clear": clear, "secure": secure, "public": certificate.public, "key": certificate.key}
    path.write_text(CADDY.format(upstream=upstream, **words))
    command = ["caddy", "run", "--adapter", "caddyfile", "--config", str(path)]
    with _running(command, "127.0.0.1", secure):
        yield f"http://127.0.0.1:{clear}", f"https://127.0.0.1:{secure}"


@contextmanager
def nghttpd(folder: Path, *options: str) -> Iterator[str]:
    """Start nghttp2's server, which speaks cleartext HTTP/2 without an Upgrade."""
    port = free_port()
    command = ["nghttpd", "--no-tls", "--address=127.0.0.1", f"--htdocs={document(folder)}", *options, str(port)]
    with _running(command, "127.0.0.1", port) as url:
        yield url


@contextmanager
def written(
    folder: Path, *, nodelay: bool = True, chunk: int = 0, head_alone: bool = False, **more: object
) -> Iterator[str]:
    """Start ``written_server.py``, whose writes are configurable."""
    www = document(folder)
    port = free_port()
    options = [f"--{key.replace('_', '-')}={value}" for key, value in more.items()]
    options += ["--nodelay"] * nodelay + ["--head-alone"] * head_alone + [f"--chunk={chunk}"]
    script = Path(__file__).with_name("written_server.py")
    with _running(
        [sys.executable, str(script), f"--port={port}", f"--root={www}", *options], "127.0.0.1", port
    ) as url:
        yield url


@contextmanager
def _started(
    folder: Path, template: str, name: str, command: list[str], *, port: int = 0, **words: str
) -> Iterator[str]:
    www = document(folder)
    address, port = "127.0.0.1", port or free_port()
    path = folder / name
    path.write_text(template.format(folder=folder, www=www, address=address, port=port, **words))
    program = shutil.which(command[0]) or f"/usr/sbin/{command[0]}"
    with _running([program, *command[1:], str(path)], address, port) as url:
        yield url


@contextmanager
def _running(command: list[str], address: str, port: int) -> Iterator[str]:
    # Apache ends its whole process group, which must not be ours.
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True
    ) as process:
        try:
            _wait_for(process, address, port)
            yield f"http://{address}:{port}"
        finally:
            process.terminate()
            process.wait(_START_SECONDS)


def _wait_for_file(process: subprocess.Popen[bytes], path: Path) -> None:
    """Wait until the server has written its process number, which it does when it listens."""
    end = time.monotonic() + _START_SECONDS
    turn = threading.Event()
    while not path.exists():
        if process.poll() is not None or time.monotonic() > end:
            raise RuntimeError("the server does not start")
        turn.wait(0.02)


def _wait_for(process: subprocess.Popen[bytes], address: str, port: int) -> None:
    """Wait until the server accepts connections."""
    end = time.monotonic() + _START_SECONDS
    turn = threading.Event()
    while time.monotonic() < end:
        with socket.socket() as trial:
            if trial.connect_ex((address, port)) == 0:
                return
        if process.poll() is not None:
            said = process.stdout.read().decode() if process.stdout else ""
            raise RuntimeError(f"the server ended: {said}")
        turn.wait(0.02)
    raise RuntimeError("the server does not listen")
