"""Claims about speed and memory, one `bench_*.py` each; `make bench` runs them all."""
