// Guides on one server, in the order of the contents.

import { programs, sharedGuides, testGuides } from "./test-guide.ts";

testGuides(sharedGuides, programs);
testGuides(["operations.md"]);
