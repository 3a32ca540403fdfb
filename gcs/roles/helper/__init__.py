"""The helper: a machine that its owner lends. It takes errands at a desk, fetches, reads, and puts summaries.

    helper    take → fetch → read → put, within the lease and within what the owner allows
    summary   what it says of an answer

It knows nothing of the crawl but the terms of the desk, keeps nothing, and may vanish at any moment.
"""

from gcs.roles.helper.helper import FETCH, Helper

__all__ = ["FETCH", "Helper"]
