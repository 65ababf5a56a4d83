// Guides on one server, in the order of the contents.

import { testGuides } from "./test-guide.ts";

testGuides(["first-steps.md", "registry.md", "events.md", "audit.md"], ["skopeo", "tar"]);
testGuides(["operations.md"]);
