"""Ports: all that touches the world outside of the process. Roles use them as protocols or classes.

- `fetch`: one HTTP GET in, one Response or Failure out. `summarise`: what a document says. `reader`: the two together.
- `frontier`: the URLs of a gatherer, on disk, and its order over all of them. `records`: the pages it stored.
- `space`: the whiteboard. `errands`: work for helpers, from the whiteboard or through the gateway of a station.
- `url_registry`: the URLs of a seed-server, on disk. `shift_book`, `plain_jobs`: night shifts, with RQ.
- `plugins`, `own_code`: the user's own code. `system`: this process and its machine. `kubernetes`: the cluster.
"""
