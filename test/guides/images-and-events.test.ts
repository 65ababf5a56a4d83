// The README's first five minutes, and the guides on images, vulnerabilities and events.

import { testGuide } from "./test-guide.ts";

testGuide("README.md", ["skopeo", "tar"]);
testGuide("registry.md", ["skopeo", "tar"]);
testGuide("advisories.md");
testGuide("../how-to/author-advisories.md");
testGuide("events.md");
