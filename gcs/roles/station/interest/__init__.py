"""From pages to those who want them: search, profiles, and what matched them, as calls, feeds and live events."""
