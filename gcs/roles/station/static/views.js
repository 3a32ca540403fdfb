// The views of the station, in the order of their tabs. How to add one: see router.js.

import { audit } from "./views/audit.js";
import { crawls } from "./views/crawls.js";
import { downloads } from "./views/downloads.js";
import { host, hosts } from "./views/hosts.js";
import { log } from "./views/log.js";
import { fresh } from "./views/new.js";
import { overview } from "./views/overview.js";
import { page } from "./views/page.js";
import { pages } from "./views/pages.js";
import { profiles } from "./views/profiles.js";
import { search } from "./views/search.js";
import { settings } from "./views/settings.js";

export const VIEWS = [crawls, fresh, audit, overview, pages, page, search, hosts, host, settings, log, downloads, profiles];
