// The views of the station, in the order of their tabs. How to add one: see router.js.

import { crawls } from "./views/crawls.js";
import { overview } from "./views/overview.js";
import { profiles } from "./views/profiles.js";
import { search } from "./views/search.js";

export const VIEWS = [crawls, overview, search, profiles];
