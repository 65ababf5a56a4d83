// The README and the guides on one server, in the order of the contents and in the opposite one: each page can be followed after any
// other. A short run takes one of the orders, by its seed.

import { oneOrAll } from "../length.ts";
import { testOrder } from "./test-guide.ts";

const pages = ["README.md", "first-steps.md", "registry.md", "advisories.md", "events.md", "audit.md", "api-tour.md", "operations.md"];

for (const order of oneOrAll([pages, pages.toReversed()])) testOrder(order);
