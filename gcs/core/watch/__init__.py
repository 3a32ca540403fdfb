"""Profiles: standing interests of people, which pages match them, and what of a page has changed. All pure."""
