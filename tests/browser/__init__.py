"""Pages as people meet them: in Chromium, on a phone and on a desk, with and without scripts."""
