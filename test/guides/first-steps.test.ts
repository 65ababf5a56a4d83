// The guides for whoever begins, looks after a server, or asks what happened on it.

import { testGuide } from "./test-guide.ts";

testGuide("first-steps.md");
testGuide("audit.md");
testGuide("operations.md");
