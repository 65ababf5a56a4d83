// The guides for new users, operators and auditors.

import { suite } from "node:test";
import { testGuide } from "./test-guide.ts";

// Each on its own server.
suite("every guide runs as written", { concurrency: 2 }, () => {
  testGuide("first-steps.md");
  testGuide("audit.md");
  testGuide("operations.md");
});
