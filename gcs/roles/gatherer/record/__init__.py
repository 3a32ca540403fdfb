"""Recording: responses become records, links become frontier entries, checkpoints make both durable."""
