// Loaded before test files by test/run.ts. node's runner tracks every promise to attribute unhandled errors to tests: sixteen
// times the CPU time of an await, and a tenth of all test time (measured). Without promises it still tracks timers and sockets.
// Unhandled errors still fail the file, though perhaps not the test.

import hooks from "node:async_hooks";
import { syncBuiltinESMExports } from "node:module";

const { createHook } = hooks;
hooks.createHook = (callbacks) => createHook({ ...callbacks, trackPromises: false });
syncBuiltinESMExports();
