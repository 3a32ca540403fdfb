"""Working in a team, or for a seed-server: plans, foreign links, ranges that change their owner, bulletins."""
