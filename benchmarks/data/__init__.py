"""What the workloads run on: generated rows, the same in every run."""
