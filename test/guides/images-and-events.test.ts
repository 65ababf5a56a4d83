// The guides on images, what is known to be wrong with them, and events.

import { testGuide } from "./test-guide.ts";

testGuide("registry.md", ["skopeo", "tar"]);
testGuide("advisories.md");
testGuide("events.md");
