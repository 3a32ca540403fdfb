"""The whole team in one process, on simulated time, network, disks and crashes: `scripts/simulate`, `simulate.py`."""
