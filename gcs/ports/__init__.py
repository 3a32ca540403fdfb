"""Ports: what touches the world outside of the process. Each port is a protocol or a class that roles use.

fetch        one HTTP GET in, one Response or Failure out      space       the whiteboard: tuples in and out
summarise    what a document says                              errands     errands for helpers
reader       fetch's responses made pages, by summarise        shift_book  night shifts, with RQ
frontier     the URLs of a gatherer, on disk                   kubernetes  secrets and scale of a deployment
disk_queue   a queue of `core.queues` on disk                  process     this process and the machine
url_registry the URLs of a seed-server, on disk                tasks       tasks in the background, and their end
records      what a gatherer has stored
"""
