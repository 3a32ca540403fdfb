"""The whiteboard: a tuple space on Redis streams. What members of a crawl say to one another passes through it.

    core.messages.tuples   what can be said                 port        the verbs and their values
    core.messages.template who wants what                   opening     a Space from a --space URL
    core.messages.outbox   blocks kept until committed      embedded    a private server for one crawl
    core.messages.election leases as holders see them       election    standing for leader
    streams, inbox, connection, keys, lua/         the Redis side
    memory, pile, clock                            the same in memory, for tests

Durability. Redis with appendfsync everysec, and any fail-over, may forget the last second. For coordination that is
harmless: leases are counted by their holders, heartbeats are posted again, and a plan's epoch is chosen above every
one that members report. For URLs it is not, so numbered senders keep blocks until the receiver has committed them:

    parcel = outbox.shipment(limit=64)
    numbered = Numbered(sender, parcel.base, parcel.first)
    receipt = await space.out_many(UrlBlock, parcel.blocks, to=owner, numbered=numbered)
    for block in outbox.settle(receipt.sent, receipt.committed): …      # may be dropped from disk now

and the receiver acks only after its own commit. What Redis forgets is due again by itself at the next receipt; so a
sender that keeps blocks asks for one now and then, with an empty shipment if nothing is due.
"""
