"""This process and its machine: clock, files for writing, background tasks, what is used, the watchdog."""
