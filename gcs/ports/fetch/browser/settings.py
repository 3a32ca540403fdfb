"""How pages are rendered."""

from dataclasses import dataclass

from gcs.errors import SettingsError


@dataclass(frozen=True, slots=True)
class BrowserSettings:
    """Bounds of what one page may do to us. Time and size of each request are those of the fetch settings."""

    #: the browser to start; empty: the first of chromium, chromium-browser, google-chrome on PATH
    executable: str = ""
    #: pages rendered at once; more do not make one machine faster
    tabs: int = 2
    #: seconds for a page to load; then it counts as it stands
    load_s: float = 15.0
    #: a page that has loaded is ready when it has asked for nothing for so many seconds…
    quiet_s: float = 0.2
    #: …or, if it never rests, after so many
    settle_s: float = 3.0
    #: requests of one page, its scripts and theirs; further ones are refused
    max_requests: int = 100
    #: bytes of scripts and styles kept for the next page that asks for them
    cache_bytes: int = 32 << 20
    #: pages after which the browser is started anew, because it grows
    pages_per_browser: int = 1000

    def __post_init__(self) -> None:
        for name in ("tabs", "load_s", "max_requests", "pages_per_browser"):
            if getattr(self, name) <= 0:
                raise SettingsError(f"browser: {name} must be above 0, not {getattr(self, name)}")
