"""The pure part of GCS: values, rules and algorithms. It reads no clock, and neither disk nor network."""
