"""What a user may choose about the record store."""

from dataclasses import dataclass

from gcs.errors import SettingsError


@dataclass(frozen=True, slots=True)
class StoreSettings:
    """Sizes are where a file is closed, not limits: a file ends with the flush that passes its size."""

    #: archive every HTTP exchange in warc/*.warc.gz
    warc: bool = True
    #: a WARC file is closed at this size
    warc_bytes: int = 1 << 30
    #: compression of the WARC, 0 (fastest) to 3 (smallest), of Intel's ISA-L
    warc_level: int = 1
    #: payloads remembered for revisit records; 0 stores every payload in full
    warc_digests: int = 16_384
    #: turn closed log files into summaries/*.parquet
    summaries: bool = True
    #: a log file is closed at this many page records …
    log_records: int = 5_000
    #: … or at this size
    log_bytes: int = 64 << 20
    #: keep a log file when its Parquet file is in place
    keep_logs: bool = False
    #: where finished files are moved to (s3://bucket/folder, any fsspec URL); "" leaves them in the crawl directory
    url: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.warc_level <= 3:
            raise SettingsError(f"warc_level is {self.warc_level}: it must be 0, 1, 2 or 3")
        for name in ("warc_bytes", "log_records", "log_bytes"):
            if getattr(self, name) <= 0:
                raise SettingsError(f"{name} is {getattr(self, name)}: it must be greater than 0")
