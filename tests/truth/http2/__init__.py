"""Real HTTP/2 with a culprit that is known: what it costs against a twin without it, and what is named."""
