"""The simulator: web graphs, engines that crawl them without a network, and the studies of `gcs study`."""
