"""What `gcs study` needs of crawls and of disks: the times of a crawl, and the results of a study."""
