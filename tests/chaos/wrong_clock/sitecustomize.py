"""For processes under libfaketime, which refuses the absolute times of `time.sleep` (EINVAL): sleep by select."""

import select
import time

time.sleep = lambda seconds: (select.select((), (), (), seconds), None)[1]
