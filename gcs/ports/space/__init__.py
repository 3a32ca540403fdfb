"""The whiteboard: a tuple space on Redis streams. What members of a crawl say to one another passes through it.

    core.messages.tuples     the tuples                       port             the verbs and their values
    core.messages.template   which tuples a taker wants       embedded_server  a private server for one crawl
    core.messages.outbox     blocks kept until committed      candidate        one gatherer's part in the election
    core.messages.election   leases as their holders see them crawl_control    pause, stop, seeds: commands to a crawl
    redis_space, redis_connection, address, lua/              the whiteboard on Redis; `open_space` opens it
    memory_space, clock                                       the same in memory, for tests

Durability. Redis with appendfsync everysec, and any fail-over, may forget the last second. For coordination that is
harmless: leases are counted by their holders, heartbeats are posted again, and a plan's epoch is chosen above every
one that members report. For URLs it is not, so numbered senders keep blocks until the receiver has committed them:

    shipment = outbox.shipment(limit=64)
    numbered = Numbered(sender, shipment.base, shipment.first)
    receipt = await space.out_many(UrlBlock, shipment.blocks, to=owner, numbered=numbered)
    for block in outbox.settle(receipt.sent, receipt.committed): …      # may be dropped from disk now

and the receiver acks only after its own commit. What Redis forgets is due again by itself at the next receipt; so a
sender that keeps blocks asks for one now and then, with an empty shipment if nothing is due.
"""
