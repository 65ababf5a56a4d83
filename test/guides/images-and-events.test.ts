// Guides on one server, in the reverse order.

import { programs, sharedGuides, testGuides } from "./test-guide.ts";

testGuides(sharedGuides.toReversed(), programs);
