// Public entry of the search over resources of all domains.

import { search } from "./search.ts";

export const searchResources = [search];
