"""Entry point of ``python -m tcptrace_http``, the equivalent of ``tcptrace-http`` without an installed script."""

from tcptrace_http.cli.main import main

if __name__ == "__main__":
    main()
