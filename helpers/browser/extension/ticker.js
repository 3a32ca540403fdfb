// Ticks every second, also while the page is hidden: timers of hidden pages are slowed down, those of workers are not.

setInterval(() => postMessage(null), 1000);
