// The guides for whoever begins, looks after a server, or asks what happened on it.

import { suite } from "node:test";
import { testGuide } from "./test-guide.ts";

// Each on a server of its own.
suite("guides", { concurrency: 2 }, () => {
  testGuide("first-steps.md");
  testGuide("audit.md");
  testGuide("operations.md");
});
