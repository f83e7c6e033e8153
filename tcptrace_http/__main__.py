"""``python -m tcptrace_http`` is ``tcptrace-http``, also where no script was installed."""

from tcptrace_http.cli.main import main

if __name__ == "__main__":
    main()
