"""Benchmarks: one file per workload, every figure beside what it is compared with, measured in the same run."""
