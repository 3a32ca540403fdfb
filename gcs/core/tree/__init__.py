"""The URL tree: which superpage a URL belongs to, what was counted there, and where to cut."""
