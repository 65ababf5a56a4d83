// Loaded before a test file by test/run.ts. To name the test of an error that nobody awaits, node's runner follows every promise
// of the process by an asynchronous hook: measured, sixteen times the processor time of an await, and a tenth of all that the
// tests take. Without promises it follows timers and sockets still. An error that nobody catches fails its file all the same;
// it may be told of the file instead of the test.

import hooks from "node:async_hooks";
import { syncBuiltinESMExports } from "node:module";

const { createHook } = hooks;
hooks.createHook = (callbacks) => createHook({ ...callbacks, trackPromises: false });
syncBuiltinESMExports();
