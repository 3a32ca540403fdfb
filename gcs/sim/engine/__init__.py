"""What several studies and benchmarks compute on a web graph: reach, supersteps, partitions, rounds, capacity."""
